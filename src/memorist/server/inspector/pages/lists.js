// @ts-check
/** @import { Shown } from '../types.js' */
// Lists and single things of the other kinds: learnings, working memory, documents, state, records, tasks,
// jobs, trails and keys.
import { html, useEffect, useState } from '../lib.js';
import * as f from '../format.js';
import { act, get, may, usePages, useView, view } from '../api.js';
import { put } from '../router.js';
import {
  Chunks,
  Confidence,
  Code,
  Dialog,
  Empty,
  EventRow,
  Failure,
  Icon,
  Json,
  Loaded,
  Loading,
  More,
  Table,
  When,
  copy,
  failed,
  owner,
  report,
  tableName,
  toast,
} from '../parts.js';
import { LearningRow, WorkingBox } from './people.js';
import { actorName, ownerName } from '../compute.js';
import { useRefresh } from './overview.js';

function Kind({ Top, main, name, lead, kind, params, empty, code, filter: Filter, children }) {
  const pages = usePages('list', { kind, ...(params.ns ? { ns: params.ns } : {}) });
  useRefresh(pages.reload);
  return html`<${Top} crumbs=${params.ns ? [{ text: name, href: `#/${kind}` }, params.ns] : [name]} />
      <main id="main" ref=${main} tabindex="-1">
        <h1>${name}</h1>
        <p class="lead" style=${{ marginBottom: '20px' }}>
          ${lead}
        </p>
        ${Filter && html`<${Filter} params=${params} />`}
        ${pages.error && html`<${Failure} error=${pages.error} again=${pages.reload} />`}
        ${pages.loading && !pages.items.length && html`<${Loading} />`}
        ${
          !pages.loading &&
          !pages.items.length &&
          !pages.error &&
          html`<${Empty}
            title=${params.ns ? `No ${name.toLowerCase()} for ${ownerName(params.ns)}` : empty[0]}
            code=${code}
          >
            ${empty[1]}
          </${Empty}>`
        }
        ${pages.items.length > 0 && children(pages)}
        <${More} pages=${pages} what=${name.toLowerCase()} />
      </main>`;
}

const Whose = ({ params }) =>
  html`<div class="filters">
    <input
      aria-label="Namespace"
      placeholder="About: everyone"
      value=${params.ns ? f.userOf(params.ns) || params.ns : ''}
      onChange=${(e) => {
        const typed = e.target.value.trim();
        put({ ns: typed && !typed.includes(':') && typed !== 'global' ? `user:${typed}` : typed });
      }}
    />
  </div>`;
export const Facts = (p) =>
  html`<${Kind}
    ...${p}
    name="Facts"
    kind="facts"
    lead="Everything Memorist believes about each user. Open a fact to see why it is believed."
    empty=${['No facts yet', 'Facts are extracted from messages, or set by your program.']}
    code=${'memory.facts.set("user:ada", "location", "Lisbon")'}
    filter=${Whose}
  >
    ${(pages) =>
      html`<${Table}
        label="Facts"
        more=${pages.next !== null}
        cols="minmax(70px,1fr) minmax(60px,1fr) minmax(80px,2fr) 84px 72px 64px"
        heads=${['Key', 'About', 'Value', 'Confidence', 'Set by', { text: 'Changed', right: true }]}
        rows=${pages.items}
        keyOf=${(x) => x.id}
        href=${(x) => f.factLink(x.ns, x.key)}
        cells=${(x) => [
          html`<a class="main strong" href=${f.factLink(x.ns, x.key)}>${x.key}</a>`,
          owner(x.ns),
          f.text(x.value).slice(0, 200),
          html`<${Confidence} of=${x.confidence} />`,
          x.actor,
          html`<${When} at=${x.at} />`,
        ]}
      />`}
  </${Kind}>`;
export const Threads = (p) =>
  html`<${Kind}
    ...${p}
    name="Threads"
    kind="threads"
    lead="Complete conversations. Each request selects from them; the stored messages never change."
    empty=${['No threads yet', 'A thread starts with its first message.']}
    code=${'memory.threads.append("talk", {"role": "user", "content": "Hello"}, create="user:ada")'}
    filter=${Whose}
  >
    ${(pages) =>
      html`<${Table}
        label="Threads"
        more=${pages.next !== null}
        cols="minmax(140px,2fr) minmax(100px,1fr) 90px 90px 90px"
        heads=${[
          'Title',
          'User',
          { text: 'Messages', right: true },
          { text: 'Tokens', right: true },
          { text: 'Last message', right: true },
        ]}
        rows=${pages.items}
        keyOf=${(x) => x.id}
        href=${(x) => f.threadLink(x.id)}
        cells=${(x) => [
          html`<a class="main strong" href=${f.threadLink(x.id)}>${x.title || f.shortId(x.id)}</a>`,
          owner(x.ns),
          f.num(x.length),
          f.num(x.tokens),
          html`<${When} at=${x.at} />`,
        ]}
      />`}
  </${Kind}>`;
export const Events = (p) =>
  html`<${Kind}
    ...${p}
    name="Events"
    kind="events"
    lead="Past and planned events, with their time, people and location."
    empty=${['No events yet', 'A model extracts events from messages, or your program adds them.']}
    code=${'memory.events.add("Ada flies to Porto", starts_at="2026-12-01T08:00Z", ns="user:ada")'}
    filter=${Whose}
  >
    ${(pages) =>
      html`<${Table}
        label="Events"
        more=${pages.next !== null}
        cols="minmax(110px,3fr) minmax(60px,1fr) 84px 84px minmax(70px,1fr) 64px"
        heads=${['Event', 'About', 'When', 'Status', 'People, location', 'Source']}
        rows=${pages.items}
        keyOf=${(x) => x.id}
        cells=${(x) => [
          html`<b class="strong">${x.text}</b>`,
          owner(x.ns),
          html`<${When} at=${x.starts} />${x.ends ? html` to <${When} at=${x.ends} />` : ''}`,
          html`<span class=${`pill ${x.status === 'cancelled' ? 'danger' : x.status === 'planned' ? 'warn' : 'ok'}`}>
            ${x.status}
          </span>`,
          [x.people.join(', '), x.location].filter(Boolean).join(' · ') || '–',
          x.sources.length && x.sources[0].includes('#')
            ? html`<a href=${f.messageLink(x.sources[0])}>${f.shortId(x.sources[0])}</a>`
            : x.actor,
        ]}
      />`}
  </${Kind}>`;
export const Learnings = (p) =>
  html`<${Kind}
    ...${p}
    name="Learnings"
    kind="learnings"
    lead="Lasting preferences, habits and corrections."
    empty=${[
      'No learnings yet',
      'Memorist learns them from messages such as “always…”, “never…” or “I prefer…”, or your program adds them.',
    ]}
    code=${'memory.learnings.add("Prefers short answers")'}
    filter=${Whose}
  >
    ${(pages) =>
      html`<${Chunks}
        rows=${pages.items.filter((one) => !p.params.id || one.id === p.params.id)}
        draw=${(one) =>
          html`<li key=${one.id} data-row=${one.id} tabindex="-1">
            <span class="r">${owner(one.ns)}</span>
            <${LearningRow} one=${one} reload=${pages.reload} />
          </li>`}
      />`}
  </${Kind}>`;
export const Working = (p) =>
  html`<${Kind}
    ...${p}
    name="Working memory"
    kind="working"
    lead="The current page, plan and recent actions of each user. It expires automatically."
    empty=${['No working memory', 'Store the page, the plan and the recent actions that your agent should know about.']}
    code=${'memory.working.update(current_page={"route": "/orders"})'}
  >
    ${(pages) =>
      html`<${Chunks}
        as="div"
        kind=""
        rows=${pages.items}
        draw=${(w) =>
          html`<section
            key=${`${w.user}/${w.session}`}
            data-row=${`${w.user}/${w.session}`}
            tabindex="-1"
            style=${{ maxWidth: '720px' }}
          >
            <div class="head">
              <h2>${owner(w.ns)}</h2>
              <span class="small ink2">
                ${w.session} expires ${f.until(w.expires)}
              </span>
            </div>
            <${WorkingBox} doc=${w} />
          </section>`}
      />`}
  </${Kind}>`;
export const Documents = (p) =>
  html`<${Kind}
    ...${p}
    name="Documents"
    kind="documents"
    lead="Long texts, split into chunks that recall can find."
    empty=${['No documents yet', 'Add handbooks, notes or pages that everyone, or one user, can ask about.']}
    code=${'memory.documents.add("global", text, title="Handbook")'}
  >
    ${(pages) =>
      html`<${Table}
        label="Documents"
        more=${pages.next !== null}
        cols="minmax(120px,2fr) minmax(90px,1fr) 70px 90px 80px"
        heads=${[
          'Title',
          'Namespace',
          { text: 'Chunks', right: true },
          { text: 'Characters', right: true },
          { text: 'Changed', right: true },
        ]}
        rows=${pages.items}
        keyOf=${(x) => `${x.ns}/${x.id}`}
        href=${(x) => f.link('document', { ns: x.ns, id: x.id })}
        cells=${(x) => [
          html`<a class="main strong" href=${f.link('document', { ns: x.ns, id: x.id })}>
              ${x.title || x.id}
            </a>
            <p class="small ink2">${x.source || ''}</p>`,
          owner(x.ns),
          f.num(x.chunks),
          f.num(x.characters),
          html`<${When} at=${x.at} />`,
        ]}
      />`}
  </${Kind}>`;
export const States = (p) =>
  html`<${Kind}
    ...${p}
    name="State"
    kind="state"
    lead="Small values and counters that your program stores."
    empty=${['No state yet', 'Your program stores and reads these values by key.']}
    code=${'memory.state.increment("orders.placed")'}
  >
    ${(pages) =>
      html`<${Table}
        label="State"
        more=${pages.next !== null}
        cols="minmax(120px,1fr) minmax(90px,1fr) minmax(120px,2fr) 60px 80px"
        heads=${[
          'Key',
          'Namespace',
          'Value',
          { text: 'Version', right: true },
          { text: 'Changed', right: true },
        ]}
        rows=${pages.items}
        keyOf=${(x) => `${x.ns}/${x.key}`}
        cells=${(x) => [
          html`<code>${x.key}</code>`,
          owner(x.ns),
          html`<code>${f.text(x.value).slice(0, 300)}</code>`,
          x.version,
          html`<${When} at=${x.at} />`,
        ]}
      />`}
  </${Kind}>`;
export const Records = (p) =>
  html`<${Kind}
    ...${p}
    name="Records"
    kind="records"
    lead="Data that integrations store under ordered keys, as JSON or bytes."
    empty=${['No records yet', 'Integrations, such as framework adapters, store their own data here.']}
    code=${'memory.records.put("user:ada", ("orders", 1187), {"ward": 3})'}
  >
    ${(pages) =>
      html`<${Table}
        label="Records"
        more=${pages.next !== null}
        cols="minmax(120px,1fr) minmax(90px,1fr) minmax(120px,2fr) 80px 80px"
        heads=${[
          'Key',
          'Namespace',
          'Value',
          { text: 'Size', right: true },
          { text: 'Changed', right: true },
        ]}
        rows=${pages.items}
        keyOf=${(x) => `${x.ns}/${JSON.stringify(x.key)}`}
        cells=${(x) => [
          html`<code>${x.key.join(' / ')}</code>`,
          owner(x.ns),
          html`<code>
            ${x.value === null ? `${x.form}, ${f.bytes(x.size)}` : f.text(x.value).slice(0, 300)}
          </code>`,
          f.bytes(x.size),
          html`<${When} at=${x.at} />`,
        ]}
      />`}
  </${Kind}>`;
const TASK_ACTIONS = { create: 'started', resume: 'resumed', finish: 'finished' };
const TASK_CODE = `with memory.tasks.run("import-crm") as task:
    for item in task.remaining(items):
        task.complete(item)`;
export const Tasks = (p) =>
  html`<${Kind}
    ...${p}
    name="Tasks"
    kind="tasks"
    lead="Long-running work that saves each step and can resume after a crash."
    empty=${['No tasks yet', 'A task saves its state after each step and resumes where it stopped.']}
    code=${TASK_CODE}
  >
    ${(pages) =>
      html`<${Table}
        label="Tasks"
        more=${pages.next !== null}
        cols="minmax(100px,2fr) minmax(60px,1fr) 76px 72px minmax(80px,1fr) 70px"
        heads=${[
          'Task',
          'Namespace',
          'Status',
          { text: 'Complete', right: true },
          'Worker',
          { text: 'Changed', right: true },
        ]}
        rows=${pages.items}
        keyOf=${(x) => x.id}
        href=${(x) => f.link('task', { id: x.id })}
        cells=${(x) => [
          html`<a class="main mono" href=${f.link('task', { id: x.id })}>
            ${x.id}
          </a>`,
          owner(x.ns),
          html`<span
            class=${x.status === 'done' ? 'pill ok' : x.status === 'failed' ? 'pill danger' : 'pill'}
          >
            ${x.status}
          </span>`,
          f.num(x.completed),
          x.owner ? `lease ends ${f.until(x.leased)}` : 'none',
          html`<${When} at=${x.at} />`,
        ]}
      />`}
  </${Kind}>`;

export function Document({ Top, main, params }) {
  const got = useView('document', { ns: params.ns || '', id: params.id || '' });
  const drop = async () => {
    try {
      await act('DELETE', 'document', { ns: params.ns, id: params.id });
      toast('Deleted the document and its chunks');
      location.hash = '#/documents';
    } catch (error) {
      failed(error);
    }
  };
  const [sure, ask] = useState(false);
  return html`<${Top}
        crumbs=${[{ text: 'Documents', href: '#/documents' }, (got.data && got.data.title) || '…']}
      >
        ${
          may('writer') &&
          html`<button class="btn harm" onClick=${() => ask(true)}>
            Delete…
          </button>`
        }
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${(d) =>
            html`<h1>${d.title || d.id}</h1>
              <p class="lead">
                ${owner(d.ns)} · ${f.plural(d.parts.length, 'chunk')}, ${f.num(d.characters)}${' '}
                characters · trust ${d.trust} · changed ${f.moment(d.at)}
                ${d.source ? ` · from ${d.source}` : ''}
              </p>
              <div style=${{ marginTop: '20px', maxWidth: '860px' }}>
                <${Chunks}
                  as="ol"
                  rows=${d.parts}
                  draw=${(c) =>
                    html`<li key=${c.id} data-row=${c.id} tabindex="-1">
                      <span class="r">${f.plural(c.tokens, 'token')}</span>
                      <b class="strong">${c.heading || ''}</b>
                      <p class="say">${c.text}</p>
                    </li>`}
                />
              </div>`}
        </${Loaded}>
        <${Dialog} open=${sure} label="Delete the document" onClose=${() => ask(false)}>
          <h2>Delete this document?</h2>
          <p class="ink2">
            This also deletes its chunks and index entries. To restore it, add it again.
          </p>
          <div class="row" style=${{ marginTop: '16px' }}>
            <span class="push" />
            <button class="btn" onClick=${() => ask(false)}>
              Cancel
            </button>
            <button class="btn harm primary" autofocus onClick=${drop}>
              Delete
            </button>
          </div>
        </${Dialog}>
      </main>`;
}

export function Task({ Top, main, params }) {
  const got = useView('task', { id: params.id || '' });
  useRefresh(got.reload);
  return html`<${Top}
        crumbs=${[
          { text: 'Tasks', href: '#/tasks' },
          { text: params.id, mono: true },
        ]}
      />
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${(d) => {
            const resumed = d.events.filter((e) => e.action === 'resume').length;
            return html`<h1 class="mono">${d.id}</h1>
                <p class="lead">
                  ${d.status}, step ${d.step} · ${f.plural(d.completed.length, 'subtask')} complete
                  ${resumed ? ` · resumed ${resumed === 1 ? 'once' : `${resumed} times`}` : ''}${' '}
                  · changed ${f.moment(d.at)}
                </p>
                <div class="two" style=${{ marginTop: '20px' }}>
                  <div>
                    <section>
                      <div class="head">
                        <h2>Steps</h2>
                        <span class="small ink2">what each step changed, newest first</span>
                      </div>
                      <ol class="vs">
                        ${d.steps.map((s, n) => {
                          const after = d.events.find(
                            (e) =>
                              e.action === 'resume' &&
                              new Date(e.at) <= new Date(s.at) &&
                              (!d.steps[n + 1] || new Date(e.at) > new Date(d.steps[n + 1].at)),
                          );
                          return html`<li data-row=${s.version} tabindex="-1">
                              <b class="strong">${s.step}</b>
                              <div>
                                ${s.changes.map(
                                  (c) =>
                                    html`<p style=${{ color: 'inherit' }}>
                                    <code class="ink2">${c.path || 'state'}</code>${' '}
                                    ${c.before !== null && html`<del>${f.text(c.before)}</del> →${' '}`}
                                    <ins>${f.text(c.after)}</ins>
                                  </p>`,
                                )}
                                ${s.completed.length > 0 && html`<p>completed: ${s.completed.join(', ')}</p>`}
                                ${
                                  s.status !== 'running' &&
                                  html`<p>
                                    <span class="pill ok">${s.status}</span>
                                  </p>`
                                }
                                ${
                                  after &&
                                  html`<p class="warn">
                                    resumed after the previous worker's lease had ended; fence${' '}
                                    ${after.detail && after.detail.fence}
                                  </p>`
                                }
                              </div>
                              <span class="small ink2">
                                <${When} at=${s.at} long />
                              </span>
                            </li>`;
                        })}
                      </ol>
                    </section>
                  </div>
                  <div>
                    <section>
                      <div class="head">
                        <h2>Lease</h2>
                      </div>
                      <dl class="kv">
                        <dt>worker</dt>
                        <dd>${d.owner || 'none'}</dd>
                        <dt>until</dt>
                        <dd>${d.leased ? f.moment(d.leased) : '–'}</dd>
                        <dt>fence</dt>
                        <dd>${d.fence}</dd>
                        <dt>namespace</dt>
                        <dd>${owner(d.ns)}</dd>
                      </dl>
                    </section>
                    <section>
                      <div class="head">
                        <h2>Current state</h2>
                      </div>
                      <${Json} of=${d.state} label="State" />
                    </section>
                    <section>
                      <div class="head">
                        <h2>Events</h2>
                      </div>
                      <ul>
                        ${d.events.map(
                          (e) =>
                            html`<li style=${{ padding: '3px 0' }}>
                            <span class="ink2">
                              <${When} at=${e.at} long />
                            </span>${' '}
${actorName(e)} ${TASK_ACTIONS[e.action] || e.action} the task
</li>`,
                        )}
                      </ul>
                    </section>
                  </div>
                </div>`;
          }}
        </${Loaded}>
      </main>`;
}

// Messages that could not be read wait in a queue of their own, which counts as part of "derive".
const queueName = (queue) => (queue === 'reread' ? 'derive' : queue);
export function Jobs({ Top, main }) {
  const got = useView('jobs', {});
  useRefresh(got.reload);
  const retry = async (item) => {
    try {
      const { revived } = await view('retry', item ? { item } : {});
      toast(`Retrying ${f.plural(revived, 'message')}`);
      got.reload();
    } catch (error) {
      failed(error, got.reload);
    }
  };
  return html`<${Top} crumbs=${['Jobs']} />
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${(d) => {
            const dead = d.jobs.filter((j) => j.status === 'dead'),
              waiting = d.jobs.filter((j) => j.status !== 'dead');
            return html`<h1>
                  ${
                    dead.length
                      ? `${f.plural(dead.length, 'job has', 'jobs have')} failed.`
                      : waiting.length
                        ? `${f.plural(waiting.length, 'job is', 'jobs are')} waiting.`
                        : 'All jobs are done.'
                  }
                </h1>
                <p class="lead">
                  Jobs index messages and extract facts from them.${' '}
                  ${d.queues
                    .map(
                      (q) =>
                        `${q.queue}: ${q.waiting} waiting` +
                        `${q.waiting ? ` for ${f.span(q.lag_seconds)}` : ''}, ${q.dead} failed`,
                    )
                    .join(' · ')}
                </p>
                ${
                  dead.length > 0 &&
                  html`<section style=${{ marginTop: '20px' }}>
                    <div class="head">
                      <h2>Failed</h2>
                      <span class="small ink2">the messages are stored; their facts are missing</span>
                      <span class="push">
                        <button class="btn primary" onClick=${() => retry(null)}>
                          Retry all
                        </button>
                      </span>
                    </div>
                    <ul class="list">
                      ${dead.map(
                        (j) =>
                          html`<li
                          data-row=${`${j.queue}/${j.item}`}
                          tabindex="-1"
                          data-href=${j.thread ? f.threadLink(j.thread, j.said[0] && j.said[0].seq) : null}
                        >
                          <span class="r">
                            <button class="btn" onClick=${() => retry(j.item)}>
                              Retry
                            </button>
                          </span>
                          <b class="strong">
                            ${
                              j.thread
                                ? html`<a href=${f.threadLink(j.thread, j.said[0] && j.said[0].seq)}>
                                ${j.title || f.shortId(j.thread)}
                              </a>`
                                : j.item
                            }
                          </b>${' '}
                          <span class="ink2">
                            of ${owner(j.ns)} · queue <code>${queueName(j.queue)}</code> ·${' '}
${f.plural(j.attempts, 'attempt')}, last <${When} at=${j.at} />
                          </span>
                          ${j.said.map((s) => html`<p>“${s.text}”</p>`)}
                          <p class="small danger">${j.error}</p>
                        </li>`,
                      )}
                    </ul>
                  </section>`
                }
                ${
                  waiting.length > 0 &&
                  html`<section style=${{ marginTop: '24px' }}>
                    <div class="head">
                      <h2>Waiting</h2>
                    </div>
                    <${Table}
                      label="Waiting"
                      cols="80px minmax(120px,2fr) 1fr 70px 90px"
                      heads=${['Queue', 'Item', 'User', 'Attempts', 'Due']}
                      rows=${waiting}
                      keyOf=${(j) => `${j.queue}/${j.ns}/${j.item}`}
                      cells=${(j) => [
                        queueName(j.queue),
                        html`<code>${j.title || j.item}</code>
                          ${j.error && html`<p class="small warn">${j.error}</p>`}`,
                        owner(j.ns),
                        j.attempts,
                        html`<${When} at=${j.run_at} />`,
                      ]}
                    />
                  </section>`
                }
                ${
                  !d.jobs.length &&
                  html`<div style=${{ marginTop: '20px' }}>
                    <${Empty} title="No jobs are waiting and none have failed" code="memorist worker">
                      A job appears here until the worker has indexed a message or extracted facts from it.
                      Failed jobs stay here with their error.
                    </${Empty}>
                  </div>`
                }`;
          }}
        </${Loaded}>
      </main>`;
}

function Trail({ Top, main, name, lead, viewName, params, filters }) {
  const asked = Object.fromEntries(
    Object.entries({ user: params.user, kind: params.kind, subject: params.subject }).filter(
      ([k, v]) => v && filters.includes(k),
    ),
  );
  const pages = usePages(viewName, asked);
  useRefresh(pages.reload);
  return html`<${Top} crumbs=${[name]} />
      <main id="main" ref=${main} tabindex="-1">
        <h1>${name}</h1>
        <p class="lead">${lead}</p>
        <div class="filters">
          ${
            filters.includes('user') &&
            html`<input
              aria-label="User"
              placeholder="User: all"
              value=${params.user || ''}
              onChange=${(e) => put({ user: e.target.value.trim() })}
            />`
          }
          ${
            filters.includes('kind') &&
            html`<select
              aria-label="Kind"
              value=${params.kind || ''}
              onChange=${(e) => put({ kind: e.target.value })}
            >
              <option value="">Kind: all</option>
              ${[
                'fact',
                'learning',
                'event',
                'candidate',
                'thread',
                'message',
                'task',
                'document',
                'user',
              ].map((k) => html`<option value=${k}>${k}</option>`)}
            </select>`
          }
          ${
            filters.includes('subject') &&
            html`<input
              aria-label="Subject"
              placeholder="Subject: any"
              value=${params.subject || ''}
              onChange=${(e) => put({ subject: e.target.value.trim() })}
            />`
          }
        </div>
        ${pages.error && html`<${Failure} error=${pages.error} again=${pages.reload} />`}
        ${pages.loading && !pages.items.length && html`<${Loading} />`}
        ${
          !pages.loading &&
          !pages.items.length &&
          !pages.error &&
          (Object.keys(asked).length
            ? html`<p class="ink2">No changes match these filters.</p>`
            : html`<${Empty}
                title="Nothing has changed yet"
                code=${'memory.remember("I live in Lisbon.", user="ada")'}
              >
                Every change to a memory appears here, with the person or program that made it.
              </${Empty}>`)
        }
        <${Chunks}
          rows=${pages.items}
          draw=${(e, n) =>
            html`${
              (n === 0 || f.dayOf(e.at) !== f.dayOf(pages.items[n - 1].at)) &&
              html`<li class="day" style=${{ paddingLeft: 0, borderTop: 0 }}>
                  ${f.dayOf(e.at)}
                </li>`
            }
              <${EventRow} e=${e} owner=${owner} clock />`}
        />
        <${More} pages=${pages} what="events" />
      </main>`;
}
export const Timeline = (p) =>
  html`<${Trail}
    ...${p}
    name="Timeline"
    viewName="timeline"
    filters=${['user']}
    lead="Everything that changed, whose record it was, and who changed it. Newest first."
  />`;
export const Audit = (p) =>
  html`<${Trail}
    ...${p}
    name="Audit"
    viewName="audit"
    filters=${['user', 'kind', 'subject']}
    lead="Who changed whose record, when, and from which source. The trail contains ids, never content."
  />`;

// Folders that the server was started with: a page may not name others, since it would read the server's disk.
function Folders({ done }) {
  const [found, set] = useState(null),
    [busy, work] = useState(null);
  const load = () =>
    get('analyses').then(
      (d) => set(d.items),
      () => set([]),
    );
  useEffect(() => {
    load();
  }, []);
  const run = async (name) => {
    work(name);
    try {
      await act('POST', 'analyses', {}, { name });
      toast(html`Analysed ${name}`, {
        link: { href: f.link('analyser', { name }), text: 'Show the report' },
      });
      load();
      done();
    } catch (error) {
      failed(error);
    }
    work(null);
  };
  if (!found) return null;
  return html`<section style=${{ marginTop: '24px' }}>
      <div class="head">
        <h2>Folders</h2>
        <span class="small ink2">named when the server was started</span>
      </div>
      ${
        found.length
          ? html`<ul class="list">
          ${found.map(
            (one) =>
              html`<li key=${one.name} data-row=${`folder ${one.name}`} tabindex="-1">
              <span class="r">
                <button
                  class="btn"
                  disabled=${busy !== null}
                  onClick=${() => run(one.name)}
                  aria-label=${`${one.analysed ? 'Run again' : 'Run'}: ${one.name}`}
                >
                  ${busy === one.name ? 'Reading…' : one.analysed ? 'Run again' : 'Run'}
                </button>
              </span>
              <b class="strong">${one.name}</b>
            </li>`,
          )}
        </ul>`
          : html`<p class="ink2">
          None. To add a folder, start the server with <code>memorist serve --analyze DIR</code>. You
          cannot add folders from this page, because a browser must not be able to read the server's disk.
        </p>`
      }
    </section>`;
}

export function Analyser({ Top, main, params }) {
  const got = useView('analyses', params.name ? { name: params.name } : {});
  return html`<${Top}
        crumbs=${params.name ? [{ text: 'Analyser', href: '#/analyser' }, params.name] : ['Analyser']}
      />
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${(d) =>
            params.name
              ? d.report
                ? html`<h1>${d.name}</h1>
                  <p class="lead">
                    ${d.report.files} files ·${' '}
                    ${
                      Array.isArray(d.report.languages)
                        ? d.report.languages.join(', ')
                        : Object.keys(d.report.languages || {}).join(', ')
                    }${' '}
                    · stored ${f.moment(d.at)}
                  </p>
                  <section style=${{ marginTop: '20px' }}>
                    <div class="head">
                      <h2>Checks</h2>
                    </div>
                    <ul class="list">
                      ${(d.report.checks || []).map(
                        (c) =>
                          html`<li data-row=${c.rule} tabindex="-1">
                          <span
                            class=${`r pill ${c.status === 'holds' ? 'ok' : c.status === 'fails' ? 'danger' : ''}`}
                          >
                            ${c.status}
                          </span>
                          <code>${c.rule}</code>
                          <p class="ink2">${c.message}</p>
                        </li>`,
                      )}
                    </ul>
                  </section>
                  <section>
                    <div class="head">
                      <h2>How the history is shortened</h2>
                      <span class="small ink2">${(d.report.possible || []).length} more possible</span>
                    </div>
                    ${
                      (d.report.eviction || []).length
                        ? html`<ul class="list">
                        ${d.report.eviction.map(
                          (e) =>
                            html`<li>
                            <b class="strong">${e.strategy || e.rule}</b>${' '}
                            <span class="ink2">${e.evidence || ''}</span>
                            <p class="small mono">${e.path ? `${e.path}:${e.line}` : ''}</p>
                          </li>`,
                        )}
                      </ul>`
                        : html`<p class="ink2">The analyser found no likely strategy.</p>`
                    }
                    ${
                      (d.report.possible || []).length
                        ? html`<h3>Possible strategies to check</h3>
                        <ul class="list">
                          ${d.report.possible.map(
                            (e) =>
                              html`<li>
                              ${e.strategy}${' '}
                              <span class="ink2">${Math.round(100 * e.probability)} %</span>
                              <p class="small mono">${`${e.path}:${e.line}`}</p>
                            </li>`,
                          )}
                        </ul>`
                        : ''
                    }
                  </section>
                  <section>
                    <div class="head">
                      <h2>Relevant files</h2>
                    </div>
                    <ul class="list">
                      ${Object.entries(d.report.map || {}).map(
                        ([path, roles]) =>
                          html`<li>
                          <span class="mono small">${path}</span>${' '}
                          <span class="ink2">${roles.join(', ')}</span>
                        </li>`,
                      )}
                    </ul>
                  </section>
                  <section>
                    <div class="head">
                      <h2>Full report</h2>
                    </div>
                    <${Json} of=${d.report} label="Report" />
                  </section>`
                : html`<${Loading} />`
              : html`<h1>Analyser</h1>
                <p class="lead" style=${{ marginBottom: '20px' }}>
                  How agent frameworks manage memory, according to their source code.
                </p>
                ${
                  d.items && d.items.length
                    ? html`<${Table}
                    label="Reports"
                    cols="2fr 1fr 1fr 1fr"
                    heads=${[
                      'Report',
                      { text: 'Files', right: true },
                      { text: 'Checks passed', right: true },
                      { text: 'Stored', right: true },
                    ]}
                    rows=${d.items}
                    keyOf=${(x) => x.name}
                    href=${(x) => f.link('analyser', { name: x.name })}
                    cells=${(x) => [
                      html`<a class="main strong" href=${f.link('analyser', { name: x.name })}>
                        ${x.name}
                      </a>`,
                      f.num(x.files),
                      `${x.passed} of ${x.checks}`,
                      html`<${When} at=${x.at} />`,
                    ]}
                  />`
                    : html`<${Empty} title="No reports yet" code="memorist analyze PATH --keep">
                    The analyser reads a framework's source code and reports what it stores, shortens and
                    forgets. Stored reports appear here.
                  </${Empty}>`
                }
                ${may('operator') && html`<${Folders} done=${got.reload} />`}`}
        </${Loaded}>
      </main>`;
}

export function Keys({ Top, main }) {
  const [state, set] = useState(/** @type {Shown} */ ({ items: null, error: null })),
    [made, show] = useState(null),
    [open, make] = useState(false),
    [ending, end] = useState(null);
  const load = () =>
    get('keys').then(
      (d) => set({ items: d.items, error: null }),
      (error) => set({ items: null, error }),
    );
  useEffect(() => {
    load();
  }, []);
  const create = async (e) => {
    e.preventDefault();
    const form = new FormData(e.target);
    try {
      const key = await act(
        'POST',
        'keys',
        {},
        {
          user: form.get('user') || null,
          roles: form.getAll('role'),
          note: form.get('note') || '',
        },
      );
      make(false);
      show(key);
      load();
    } catch (error) {
      failed(error);
    }
  };
  const revoke = async () => {
    try {
      await act('DELETE', 'keys', { id: ending.id });
      toast('Revoked the key');
      end(null);
      load();
    } catch (error) {
      end(null);
      failed(error);
    }
  };
  return html`<${Top} crumbs=${['Keys']}>
        ${
          may('admin') &&
          html`<button class="btn primary" onClick=${() => make(true)}>
Create a key
          </button>`
        }
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <h1>Keys</h1>
        <p class="lead" style=${{ marginBottom: '20px' }}>
          API keys, with their user and roles. A key is shown once; only its hash is stored.
        </p>
        ${state.error && html`<${Failure} error=${state.error} />`}
        ${!state.items && !state.error && html`<${Loading} />`}
        ${
          state.items &&
          !state.items.length &&
          html`<${Empty} title="No keys yet" code="memorist keys create --role operator">
            Until you create a key, only one-time links open this page. Programs need a key.
          </${Empty}>`
        }
        ${
          state.items &&
          state.items.length > 0 &&
          html`<${Table}
            label="Keys"
            cols="110px minmax(80px,1fr) minmax(140px,2fr) minmax(80px,1fr) 80px 90px 80px 90px"
            heads=${[
              'Id',
              'User',
              'Roles',
              'Note',
              { text: 'Created', right: true },
              { text: 'Last used', right: true },
              { text: 'Expires', right: true },
              '',
            ]}
            rows=${state.items}
            keyOf=${(k) => k.id}
            cells=${(k) => [
              html`<code>${k.id}</code>`,
              k.user || 'whole org',
              k.roles.join(', '),
              k.note || '–',
              html`<${When} at=${k.created_at} />`,
              k.used_at ? html`<${When} at=${k.used_at} />` : 'never',
              f.until(k.expires_at),
              html`<button class="btn harm" onClick=${() => end(k)}>
                Revoke
              </button>`,
            ]}
          />`
        }
        <${Dialog} open=${open} label="Create a key" onClose=${() => make(false)}>
          <form onSubmit=${create}>
            <h2>Create a key</h2>
            <label class="f" for="k-user" style=${{ marginTop: '10px' }}>
              User
            </label>
            <input id="k-user" name="user" class="t" autofocus placeholder="leave empty for the whole org" />
            <fieldset style=${{ margin: '12px 0' }}>
              <legend class="small ink2">Roles</legend>
              ${['reader', 'writer', 'forget', 'operator', 'admin'].map(
                (r) =>
                  html`<label class="check" style=${{ marginRight: '16px' }}>
                  <input type="checkbox" name="role" value=${r} checked=${r === 'reader'} />
                  ${r}
                </label>`,
              )}
            </fieldset>
            <label class="f" for="k-note">
              Note
            </label>
            <input id="k-note" name="note" class="t" />
            <div class="row" style=${{ marginTop: '16px' }}>
              <span class="push" />
              <button type="button" class="btn" onClick=${() => make(false)}>
                Cancel
              </button>
              <button class="btn primary">Create</button>
            </div>
          </form>
        </${Dialog}>
        <${Dialog} open=${!!made} label="Your new key" onClose=${() => show(null)}>
          ${
            made &&
            html`<h2>Your new key</h2>
              <p class="ink2">Copy it now. It is not shown again.</p>
              <${Code} text=${made.key} label="Key" />
              <div class="row" style=${{ marginTop: '12px' }}>
                <span class="push" />
                <button class="btn primary" autofocus onClick=${() => show(null)}>
                  Done
                </button>
              </div>`
          }
        </${Dialog}>
        <${Dialog} open=${!!ending} label="Revoke the key" onClose=${() => end(null)}>
          ${
            ending &&
            html`<h2>Revoke ${ending.id}?</h2>
              <p class="ink2">
                Programs that use this key, and browsers that logged in with it, lose access immediately.
              </p>
              <div class="row" style=${{ marginTop: '16px' }}>
                <span class="push" />
                <button class="btn" onClick=${() => end(null)}>
                  Cancel
                </button>
                <button class="btn harm primary" autofocus onClick=${revoke}>
                  Revoke
                </button>
              </div>`
          }
        </${Dialog}>
      </main>`;
}

export function Report({ Top, main, params }) {
  const r = report.value;
  return html`<${Top} crumbs=${[{ text: 'Users', href: '#/users' }, 'Report']} />
      <main id="main" ref=${main} tabindex="-1">
        ${
          !r
            ? html`<h1>No report to show</h1>
            <p class="lead">
              The report is shown once, after you forget something. The${' '}
<a href=${f.link('audit', {})}>audit trail</a> records what was forgotten and how many rows were deleted.
            </p>`
            : html`<h1>
              Forgot ${r.what}: ${f.plural(r.rows, 'row')} deleted
            </h1>
            <p class="lead">
              <span
                class=${r.found && r.found.length ? 'pill danger' : r.verified ? 'pill ok' : 'pill warn'}
              >
                ${r.found && r.found.length ? 'still found' : r.verified ? 'verified' : 'not fully searched'}
              </span>${' '}
              ${f.moment(r.at)}
            </p>
            <div class="card" style=${{ maxWidth: '640px', marginTop: '20px' }}>
              <div class="in">
                <dl class="countgrid" style=${{ marginTop: 0 }}>
                  ${Object.entries(r.counts)
                    .filter(([, n]) => n)
                    .map(
                      ([table, n]) =>
                        html`<div>
                        <dt>${tableName(table)}</dt>
                        <dd>
                          <b>${f.num(n)}</b>
                        </dd>
                      </div>`,
                    )}
                </dl>
                <p>
                  Deleted ${f.plural(r.rows, 'row')} from${' '}
                  ${f.plural(Object.values(r.counts).filter(Boolean).length, 'table')}.
                  ${
                    r.checked && r.checked.length
                      ? ` Memorist then searched for the deleted texts in: ${r.checked.join(', ')}.`
                      : ''
                  }${' '}
                  ${
                    r.found && r.found.length
                      ? `Some are still in ${r.found.join(', ')}.`
                      : r.checked && r.checked.length
                        ? 'Nothing was found.'
                        : ''
                  }
                </p>
                ${
                  r.unchecked &&
                  r.unchecked.length > 0 &&
                  html`<p class="ink2">Not searched: ${r.unchecked.join('; ')}.</p>`
                }
                <p class="ink2">
                  ${f.plural(r.tombstones, 'fingerprint remains', 'fingerprints remain')}, so that nothing is
                  derived again.
                </p>
                ${
                  r.complete === false &&
                  html`<p class="warn">Some derived records are in namespaces that this key may not change.</p>`
                }
                <div class="row" style=${{ marginTop: '12px' }}>
                  <button class="btn" onClick=${() => copy(JSON.stringify(r, null, 2))}>
                    <${Icon} name="copy" />
                    Copy as JSON
                  </button>
                  <a class="btn" href=${params.back || '#/users'}>
                    Back
                  </a>
                </div>
              </div>
            </div>`
        }
      </main>`;
}

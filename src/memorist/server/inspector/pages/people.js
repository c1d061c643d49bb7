// @ts-check
// Users, and one user: first the profile exactly as it is sent, then facts; beside them threads, learnings and
// working memory.
import { html, useEffect, useRef, useState } from '../lib.js';
import * as f from '../format.js';
import { act, may, usePages, useView } from '../api.js';
import { put } from '../router.js';
import {
  Chunks,
  Confidence,
  CopyLink,
  Empty,
  EventRow,
  Failure,
  Forget,
  Icon,
  Loaded,
  Loading,
  More,
  Table,
  When,
  failed,
  toast,
} from '../parts.js';
import { useRefresh } from './overview.js';

/** Scrolls the current tab into a strip that is wider than the page. */
const showCurrent = (strip) => {
  const current = strip && strip.querySelector('[aria-current]');
  if (current) strip.scrollLeft = current.offsetLeft - strip.offsetLeft - 16;
};

export function Users({ Top, main, params }) {
  const pages = usePages('users', params.q ? { prefix: params.q } : {});
  useRefresh(pages.reload);
  return html`<${Top} crumbs=${['Users']} />
      <main id="main" ref=${main} tabindex="-1">
        <div class="head">
          <h1>Users</h1>
          <div class="push" style=${{ width: '240px' }}>
            <div class="field">
              <${Icon} name="search" />
              <input
                class="t"
                type="search"
                aria-label="Users whose id begins with"
                placeholder="Id begins with"
                value=${params.q || ''}
                onInput=${(e) => put({ q: e.target.value })}
              />
            </div>
          </div>
        </div>
        ${pages.error && html`<${Failure} error=${pages.error} again=${pages.reload} />`}
        ${pages.loading && !pages.items.length && html`<${Loading} />`}
        ${
          !pages.loading &&
          !pages.items.length &&
          !pages.error &&
          (params.q
            ? html`<p class="ink2">No user's id begins with “${params.q}”.</p>`
            : html`<${Empty}
              title="No users yet"
              code=${'with memory.session(user="ada") as talk:\n    talk.add("Hi, I live in Lisbon.", "Noted.")'}
            >
              A user appears here after their first message or fact.
            </${Empty}>`)
        }
        ${
          pages.items.length > 0 &&
          html`<${Table}
              label="Users"
              more=${pages.next !== null}
              cols="minmax(90px,1.2fr) minmax(100px,2fr) 80px 90px 70px 100px"
              heads=${[
                'User',
                'Name',
                { text: 'Threads', right: true },
                { text: 'Messages', right: true },
                { text: 'Facts', right: true },
                { text: 'Last message', right: true },
              ]}
              rows=${pages.items}
              keyOf=${(u) => u.user}
              href=${(u) => f.link('user', { user: u.user })}
              cells=${(u) => [
                html`<a class="main strong" href=${f.link('user', { user: u.user })}>
                  ${u.user}
                </a>`,
                u.name || html`<span class="ink3">–</span>`,
                f.num(u.threads),
                f.num(u.messages),
                f.num(u.facts),
                html`<${When} at=${u.last} />`,
              ]}
            />
            <${More} pages=${pages} what="users" />`
        }
      </main>`;
}

const FEW = 12;
const LANES = {
  identity: 'identity',
  safety: 'safety',
  wishes: 'preference',
  corrections: 'correction',
  facts: 'fact',
  now: 'now',
};
export const laneName = (lane) => LANES[lane] || lane;
export const sourceLink = (source) => {
  const i = source.indexOf('/');
  if (i < 0) return null;
  const key = source.slice(i + 1);
  return /^[0-9a-f]{24}$/.test(key)
    ? {
        href: f.link('learnings', { ns: source.slice(0, i), id: key }),
        text: `learning …${key.slice(-4)}`,
      }
    : { href: f.factLink(source.slice(0, i), key), text: key };
};

function Profile({ d }) {
  const lines = d.profile.lines;
  if (!lines.length)
    return html`<p class="ink2">
        The profile is empty: no fact or preference of ${d.name || d.user} is certain enough yet.
      </p>`;
  return html`<div class="req">
      <section class="b-profile">
        <ul>
          ${lines.map((line, n) => {
            const from = sourceLink(line.source);
            const bad = line.replaced;
            return html`<li
                class=${bad ? 'it tint' : 'it'}
                style=${{ gridTemplateColumns: '96px minmax(0,1fr) fit-content(33%)' }}
              >
                <span class="p">
                  ${n === 0 || lines[n - 1].lane !== line.lane ? laneName(line.lane) : ''}
                </span>
                <p>
                  ${line.text}
                  ${
                    bad &&
                    html`${' '}<span class="ink2">
                      before: ${f.text(bad.value)}
                    </span>`
                  }
                </p>
                <span class="small ink2 from">
                  ${from ? html`<a href=${from.href}>${from.text}</a>` : line.source}
                </span>
              </li>`;
          })}
        </ul>
      </section>
    </div>`;
}

function AddFact({ ns, done }) {
  const [key, name] = useState(''),
    [value, say] = useState(''),
    [open, show] = useState(false);
  if (!open)
    return html`<button class="btn" onClick=${() => show(true)}>
        Add a fact
      </button>`;
  const go = async (e) => {
    e.preventDefault();
    try {
      await act('PUT', 'fact', { ns, key }, { value: value }, { 'If-None-Match': '*' });
      toast(html`Saved <code>${key}</code> = ${value}`, {
        undo: () => act('DELETE', 'fact', { ns, key }).then(done),
      });
      show(false);
      name('');
      say('');
      done();
    } catch (error) {
      failed(error, done);
    }
  };
  return html`<form class="row" onSubmit=${go}>
      <input
        class="t"
        style=${{ width: '130px' }}
        required
        aria-label="Key"
        placeholder="key"
        value=${key}
        onInput=${(e) => name(e.target.value)}
      />
      <input
        class="t"
        style=${{ width: '160px' }}
        required
        aria-label="Value"
        placeholder="value"
        value=${value}
        onInput=${(e) => say(e.target.value)}
      />
      <button class="btn primary">Save</button>
      <button type="button" class="btn bare" onClick=${() => show(false)}>
        Cancel
      </button>
    </form>`;
}

function Facts({ d, reload, all, showAll }) {
  const [word, filter] = useState('');
  const pages = usePages('facts', { ns: d.ns, ...(word.trim() ? { word: word.trim() } : {}) });
  useRefresh(pages.reload);
  const changed = () => {
    reload();
    pages.reload();
  };
  const rows = all || word ? pages.items : pages.items.slice(0, FEW);
  const count = `${f.num(d.facts)}${d.more_facts ? '+' : ''}`;
  return html`<section>
      <div class="head">
        <h2>Facts</h2>
        <span class="ink2 small">${count}</span>
        <div class="push row">
          ${
            d.facts > 8 &&
            html`<div class="field">
              <${Icon} name="search" />
              <input
                class="t"
                type="search"
                style=${{ width: '200px' }}
                aria-label="Filter by key or value"
                placeholder="Filter by key or value"
                value=${word}
                onInput=${(e) => filter(e.target.value)}
              />
            </div>`
          }
          ${may('writer') && html`<${AddFact} ns=${d.ns} done=${changed} />`}
        </div>
      </div>
      ${pages.error && html`<${Failure} error=${pages.error} again=${pages.reload} />`}
      ${
        d.facts === 0
          ? html`<${Empty}
          title=${`No facts about ${d.name || d.user} yet`}
          code=${`memory.facts.set("${d.ns}", "location", "Lisbon")`}
        >
          Facts are extracted from messages, or set by your program.
        </${Empty}>`
          : !rows.length && !pages.loading
            ? html`<p class="ink2">
          No key or value${pages.next === null ? '' : ' loaded so far'} contains “${word}”.
        </p>`
            : html`<${Table}
          label="Facts"
          more=${pages.next !== null}
          cols="minmax(110px,1.2fr) minmax(140px,2fr) 96px 60px 56px 72px"
          heads=${[
            'Key',
            'Value',
            'Confidence',
            'Trust',
            { text: 'Version', right: true },
            { text: 'Changed', right: true },
          ]}
          rows=${rows}
          keyOf=${(x) => x.key}
          href=${(x) => f.factLink(x.ns, x.key)}
          tint=${(x) => x.replaced}
          cells=${(x) => [
            html`<a class="main mono" href=${f.factLink(x.ns, x.key)}>
              ${x.key}
            </a>`,
            html`<span class=${typeof x.value === 'string' ? '' : 'mono'}>${f.text(x.value)}</span>${' '}
              ${
                x.replaced
                  ? html`<span class="pill warn">replaced a correction</span>`
                  : x.corrected
                    ? html`<span class="pill">corrected</span>`
                    : ''
              }
              ${x.expires && html`${' '}<span class="pill warn">expires ${f.until(x.expires)}</span>`}`,
            html`<${Confidence} of=${x.confidence} />`,
            x.trust,
            x.version,
            html`<${When} at=${x.at} />`,
          ]}
        />`
      }
      ${
        rows.length < pages.items.length
          ? html`<p class="small ink2" style=${{ paddingTop: '8px' }}>
          ${rows.length} of ${count} ·${' '}
          <button class="linkish" onClick=${showAll}>
            show all
          </button>
        </p>`
          : html`<${More} pages=${pages} what="facts" />`
      }
    </section>`;
}

export const WorkingBox = ({ doc }) => {
  const d = doc.doc;
  const plan = d.plan || [],
    acts = d.recent_actions || [];
  const rest = Object.entries(d).filter(
    ([k, v]) => !['plan', 'recent_actions', 'current_page', 'history', 'scratchpad', 'user'].includes(k) && v,
  );
  return html`<div class="card">
      <div class="in">
        <dl class="kv">
          ${
            d.current_page &&
            html`<dt>page</dt>
              <dd>${d.current_page.route}</dd>`
          }
          ${
            plan.length > 0 &&
            html`<dt>plan</dt>
              <dd>
                ${plan.map(
                  (step, n) =>
                    html`<span class=${step.status === 'active' ? '' : 'ink2'}>
                    ${n + 1}. ${step.text}${' '}
                  </span>`,
                )}
              </dd>`
          }
          ${
            acts.length > 0 &&
            html`<dt>actions</dt>
              <dd>${acts.map((a) => a.action).join(', ')}</dd>`
          }
          ${
            d.scratchpad &&
            html`<dt>notes</dt>
              <dd>${d.scratchpad}</dd>`
          }
          ${
            d.history &&
            d.history.length > 0 &&
            html`<dt>turns</dt>
              <dd>${d.history.length}</dd>`
          }
          ${rest.map(
            ([k, v]) =>
              html`<dt>${k}</dt>
              <dd class="mono">${f.text(v)}</dd>`,
          )}
        </dl>
      </div>
    </div>`;
};

const usesOf = ({ uses }) =>
  uses === 0 ? 'never used' : uses === 1 ? 'used once' : `used ${f.num(uses)} times`;
export function LearningRow({ one, reload }) {
  const user = f.userOf(one.ns);
  const move = (way, back) => async () => {
    try {
      await act('POST', `learning/${way}`, { id: one.id }, { user });
      toast(way === 'reinforce' ? 'Reinforced' : 'Weakened', {
        undo: () => act('POST', `learning/${back}`, { id: one.id }, { user }).then(reload),
      });
      reload();
    } catch (error) {
      failed(error, reload);
    }
  };
  const drop = async () => {
    try {
      await act('DELETE', 'learning', { id: one.id, user });
      toast('Deleted. The same words will not produce it again.');
      reload();
    } catch (error) {
      failed(error, reload);
    }
  };
  return html`<p>${one.content}</p>
      <p class="small ink2">
        ${one.type} · ${one.confidence.toFixed(2)} · ${usesOf(one)}
        ${one.last ? html`, last <${When} at=${one.last} />` : ''}
        ${
          one.sources.length > 0 &&
          html`${' '}
            · from${' '}
            <a href=${f.messageLink(one.sources[one.sources.length - 1])}>
              ${f.shortId(one.sources[one.sources.length - 1])}
            </a>`
        }
      </p>
      ${
        may('writer') &&
        html`<p class="small">
          <button class="linkish" onClick=${move('reinforce', 'weaken')}>
            reinforce
          </button>${' '}
          ·${' '}
          <button class="linkish" onClick=${move('weaken', 'reinforce')}>
            weaken
          </button>${' '}
          ·${' '}
          <button class="linkish danger" onClick=${drop}>
            delete
          </button>
        </p>`
      }`;
}

const ThreadItem = ({ t }) =>
  html`<li data-row=${t.id} data-href=${f.threadLink(t.id)} tabindex="-1">
    <span class="r">
      <${When} at=${t.at} />
      <br />
      <a href=${f.link('context', { thread: t.id })}>request</a>
    </span>
    <a class="main strong" style=${{ textDecoration: 'none' }} href=${f.threadLink(t.id)}>
      ${t.title || f.shortId(t.id)}
    </a>
    <p class="small ink2">
      ${f.plural(t.length, 'message')} · ${f.num(t.tokens)} tokens
      ${t.folded ? ` · ${t.folded} folded` : ''}
    </p>
  </li>`;

function UserThreads({ user }) {
  const pages = usePages('threads', { user });
  useRefresh(pages.reload);
  return html`${pages.error && html`<${Failure} error=${pages.error} again=${pages.reload} />`}
      <${Chunks} rows=${pages.items} draw=${(t) => html`<${ThreadItem} key=${t.id} t=${t} />`} />
      <${More} pages=${pages} what="threads" />`;
}

function UserTimeline({ user, trail }) {
  const pages = usePages(trail, { user });
  useRefresh(pages.reload);
  return html`<${Chunks}
        rows=${pages.items}
        draw=${(e) => html`<${EventRow} key=${e.id} e=${e} />`}
      />
      <${More} pages=${pages} what="events" />`;
}

export function User({ Top, main, params }) {
  const got = useView('user', { user: params.user || '' });
  const [forgetting, forget] = useState(false);
  useRefresh(got.reload);
  const tab = params.tab || 'memory';
  const strip = useRef(null);
  useEffect(() => showCurrent(strip.current), [tab, !got.data]);
  return html`<${Top} crumbs=${[{ text: 'Users', href: '#/users' }, params.user || '?']}>
        <${CopyLink} />
        ${
          may('forget') &&
          html`<button class="btn harm undocked" onClick=${() => forget(true)}>
            <${Icon} name="trash" />
            Forget this user…
          </button>`
        }
        <a
          class="btn primary undocked"
          href=${f.link(
            'context',
            got.data && got.data.threads[0] ? { thread: got.data.threads[0].id } : { user: params.user },
          )}
        >
          <${Icon} name="context" />
          See the next request
        </a>
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${(d) => {
            if (d.empty)
              return html`<h1>No memory of ${d.user}</h1>
                  <p class="lead">
                    No message, fact or learning is stored under <code>${d.ns}</code>. If you forgot this
                    user, that is expected.
                  </p>`;
            const tabs = [
              ['memory', 'Memory', null],
              ['threads', 'Threads', d.all_threads],
              ['learnings', 'Learnings', d.learnings.length],
              ['documents', 'Documents', d.documents.length],
              ['working', 'Working', d.working.length],
              ['state', 'State', d.states.length],
              ['timeline', 'Timeline', null],
              ...(may('operator') ? [['audit', 'Audit', null]] : []),
            ];
            const threads = (list) =>
              html`<ul class="list">
                ${list.map((t) => html`<${ThreadItem} t=${t} />`)}
              </ul>`;
            const learnings = (list) =>
              list.length
                ? html`<ul class="list">
                  ${list.map(
                    (one) =>
                      html`<li data-row=${one.id} tabindex="-1">
                      <${LearningRow} one=${one} reload=${got.reload} />
                    </li>`,
                  )}
                </ul>`
                : html`<p class="ink2">
                  No learnings yet. Memorist learns from lasting preferences and corrections, such as
                  “always answer briefly”.
                </p>`;
            return html`<div class="head" style=${{ marginBottom: 0 }}>
                  <h1>${d.name || d.user}</h1>
                  <code class="ink2">${d.ns}</code>
                </div>
                <p class="lead">
                  First seen ${f.date(d.since)}
                  ${d.last ? ` · last message ${f.moment(d.last)}` : ''} ·${' '}
                  ${f.plural(d.all_threads, 'thread')}, ${f.plural(d.messages, 'message')},${' '}
                  ${f.num(d.tokens)} tokens
                </p>
                <nav class="tabs" aria-label="This user's memory" ref=${strip}>
                  ${tabs.map(
                    ([id, name, n]) =>
                      html`<a
                      href=${f.link('user', { user: d.user, tab: id === 'memory' ? undefined : id })}
                      aria-current=${tab === id ? 'page' : null}
                    >
                      ${name}
                      ${n !== null && html`<span class="n">${n}</span>`}
                    </a>`,
                  )}
                </nav>
                ${
                  tab === 'memory' &&
                  html`<div class="two">
                    <div>
                      <section>
                        <div class="head">
                          <h2>What every request says about ${(d.name || d.user).split(' ')[0]}</h2>
                          <span class="ink2 small">the profile, as it is sent</span>
                          <span class="push small ink2">
                            <i class="sw c-profile" />
                            ${d.profile.tokens} of ${d.profile.most} tokens
                          </span>
                        </div>
                        <${Profile} d=${d} />
                      </section>
                      <${Facts}
                        d=${d}
                        reload=${got.reload}
                        all=${params.all}
                        showAll=${() => put({ all: 1 })}
                      />
                    </div>
                    <div>
                      <section>
                        <div class="head">
                          <h2>Threads</h2>
                          <span class="ink2 small">${f.num(d.all_threads)}</span>
                        </div>
                        ${
                          d.threads.length
                            ? threads(d.threads)
                            : html`<p class="ink2">No conversations yet.</p>`
                        }
                        ${
                          d.all_threads > d.threads.length &&
                          html`<p class="small">
                            <a href=${f.link('user', { user: d.user, tab: 'threads' })}>
                              ${f.num(d.all_threads - d.threads.length)} older
                            </a>
                          </p>`
                        }
                      </section>
                      <section>
                        <div class="head">
                          <h2>Learnings</h2>
                          <span class="ink2 small">${d.learnings.length}</span>
                        </div>
                        ${learnings(d.learnings.slice(0, 4))}
                      </section>
                      ${d.working.map(
                        (w) =>
                          html`<section>
                          <div class="head">
                            <h2>Working memory</h2>
                            <span class="ink2 small">
                              ${w.session || ''} expires ${f.until(w.expires)}
                            </span>
                          </div>
                          <${WorkingBox} doc=${w} />
                        </section>`,
                      )}
                    </div>
                  </div>`
                }
                ${tab === 'threads' && html`<${UserThreads} user=${d.user} />`}
                ${tab === 'learnings' && learnings(d.learnings)}
                ${
                  tab === 'documents' &&
                  (d.documents.length
                    ? html`<ul class="list">
                      ${d.documents.map(
                        (one) =>
                          html`<li>
                          <a href=${f.link('document', { ns: d.ns, id: one.id })}>
                            ${one.title || one.id}
                          </a>${' '}
                          <span class="ink2">${f.plural(one.chunks, 'chunk')}</span>
                        </li>`,
                      )}
                    </ul>`
                    : html`<${Empty}
                      title="This user has no documents"
                      code=${`memory.documents.add("${d.ns}", text, title="Notes")`}
                    >
                      Documents are long texts, split into chunks that recall can find.
                    </${Empty}>`)
                }
                ${
                  tab === 'working' &&
                  (d.working.length
                    ? d.working.map(
                        (w) =>
                          html`<section>
                        <div class="head">
                          <h2>${w.session || 'Working memory'}</h2>
                          <span class="ink2 small">expires ${f.until(w.expires)}</span>
                        </div>
                        <${WorkingBox} doc=${w} />
                      </section>`,
                      )
                    : html`<${Empty}
                      title="No working memory"
                      code="memory.working.update(current_page={...})"
                    >
                      Working memory contains the user's current page, plan and recent actions. It expires
                      automatically.
                    </${Empty}>`)
                }
                ${
                  tab === 'state' &&
                  (d.states.length
                    ? html`<${Table}
                      label="State"
                      cols="1fr 2fr 90px"
                      heads=${['Key', 'Value', 'Changed']}
                      rows=${d.states}
                      keyOf=${(s) => s.key}
                      cells=${(s) => [
                        html`<code>${s.key}</code>`,
                        html`<code>${f.text(s.value)}</code>`,
                        html`<${When} at=${s.at} />`,
                      ]}
                    />`
                    : html`<${Empty} title="No state" code=${'memory.state.set("ui.theme", "dark")'}>
                      State contains small values and counters that your program stores.
                    </${Empty}>`)
                }
                ${
                  (tab === 'timeline' || tab === 'audit') &&
                  html`<${UserTimeline} key=${tab} trail=${tab} user=${d.user} />`
                }
                <div class="docked">
                  <a
                    class="btn primary"
                    href=${f.link('context', d.threads[0] ? { thread: d.threads[0].id } : { user: d.user })}
                  >
                    See the next request
                  </a>
                  ${
                    may('forget') &&
                    html`<button class="btn harm" onClick=${() => forget(true)}>
                      Forget…
                    </button>`
                  }
                </div>`;
          }}
        </${Loaded}>
        ${
          forgetting &&
          html`<${Forget}
            what="user"
            name=${params.user}
            target=${{ user: params.user }}
            where=${`#/users`}
            onClose=${() => forget(false)}
          />`
        }
      </main>`;
}

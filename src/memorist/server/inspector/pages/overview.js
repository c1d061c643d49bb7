// @ts-check
// Overview: health in words, counts, what needs attention, what just happened; right: build a request, connect, store.
import { html, useEffect, useState } from '../lib.js';
import * as f from '../format.js';
import { may, useView, view } from '../api.js';
import { problemSentence } from '../compute.js';
import { Code, Empty, EventRow, Icon, Loaded, Segmented, failed, owner, toast } from '../parts.js';

const WORDS = ['', 'One thing needs', 'Two things need', 'Three things need', 'Four things need'];
const CONNECT = {
  Python: (at) => `# key: MEMORIST_API_KEY
from memorist import Memory

memory = Memory("${at}")
context = memory.context("Where are we?")
client.messages.create(**context.anthropic(), …)`,
  HTTP: (at) => `curl "${at}/v1/recall" \\
  -H "Authorization: Bearer $MEMORIST_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"query": "where do I live?"}'`,
  MCP: (at) => `{"mcpServers": {"memorist": {
  "url": "${at}/mcp",
  "headers": {"Authorization": "Bearer rk_…"}}}}`,
};
export function useRefresh(reload) {
  useEffect(() => {
    addEventListener('refresh', reload);
    return () => removeEventListener('refresh', reload);
  }, [reload]);
}

function Attention({ d, reload }) {
  const retry = async () => {
    try {
      const { revived } = await view('retry', {});
      toast(`Retrying ${f.plural(revived, 'message')}`);
      reload();
    } catch (error) {
      failed(error, reload);
    }
  };
  const rest = d.problems.filter((p) => !/dead letters|replaced a correction/.test(p));
  const keys = [...new Set(d.replaced.map((one) => one.key))];
  const shown = [];
  const n = d.stats.dead_letters;
  if (n)
    shown.push(
      html`<div class="in row alert">
        <span class="danger">
          <${Icon} name="warn" />
        </span>
        <div>
          <b class="strong">No facts could be extracted from ${f.plural(n, 'message')}</b>
          <p class="ink2">
            ${d.dead[0] ? d.dead[0].error : ''}.
The messages are stored; their facts are missing until a retry succeeds.
          </p>
        </div>
        <a class="btn" href="#/jobs">
          Show
        </a>
        ${
          may('operator') &&
          html`<button class="btn primary" onClick=${retry}>
            Retry ${n}
          </button>`
        }
      </div>`,
    );
  if (d.replaced.length)
    shown.push(
      html`<div class="in row alert">
        <span class="warn">
          <${Icon} name="warn" />
        </span>
        <div>
          <b class="strong">
            ${f.plural(d.replaced.length, 'correction')} ${d.replaced.length === 1 ? 'was' : 'were'} replaced this week
          </b>
          <p class="ink2">
            A processor later changed a value that a user had corrected.${' '}
            ${
              keys.length === 1
                ? html`The key is <code>${keys[0]}</code>.`
                : html`The keys are ${keys.map((key, n) => html`${n ? ', ' : ''}<code>${key}</code>`)}.`
            }
          </p>
        </div>
        <a class="btn" href=${f.factLink(d.replaced[0].ns, d.replaced[0].key)}>
          Review
        </a>
      </div>`,
    );
  for (const problem of rest)
    shown.push(
      html`<div class="in row alert">
        <span class="warn">
          <${Icon} name="warn" />
        </span>
        <p>${problemSentence(problem)}</p>
      </div>`,
    );
  if (!shown.length) return html`<p class="ink2">No problems found.</p>`;
  return html`<div class="card">${shown}</div>`;
}

function Build() {
  const [user, type] = useState('');
  const [said, say] = useState('');
  const [wrong, tell] = useState('');
  const go = async (e) => {
    e.preventDefault();
    try {
      const found = await view('find', { text: user });
      if (found.users[0]) {
        const seen = await view('user', { user: found.users[0].user });
        const thread = seen.threads[0];
        location.hash = f.link('context', {
          thread: thread ? thread.id : undefined,
          user: thread ? undefined : seen.user,
          input: said,
        });
      } else if (found.threads[0] || found.id)
        location.hash = f.link('context', {
          thread: found.id ? found.id.thread : found.threads[0].id,
          input: said,
        });
      else tell('No user or thread has that name.');
    } catch (error) {
      tell(/** @type {Error} */ (error).message);
    }
  };
  return html`<form class="card" onSubmit=${go}>
      <div class="in">
        <label class="f" for="b-user">
          User or thread
        </label>
        <div class="field">
          <${Icon} name="search" />
          <input
            id="b-user"
            class="t"
            required
            value=${user}
            onInput=${(e) => type(e.target.value)}
            autocomplete="off"
          />
        </div>
        <label class="f" for="b-say" style=${{ marginTop: '10px' }}>
          If they say next
        </label>
        <input
          id="b-say"
          class="t"
          placeholder="anything; you can leave it empty"
          value=${said}
          onInput=${(e) => say(e.target.value)}
        />
        ${
          wrong &&
          html`<p class="danger small" role="alert">
            ${wrong}
          </p>`
        }
        <div style=${{ marginTop: '12px' }}>
          <button class="btn primary">Build the request</button>
        </div>
      </div>
    </form>`;
}

export function Overview({ Top, main }) {
  const got = useView('overview', {});
  const [way, connect] = useState('Python');
  useRefresh(got.reload);
  const at = location.origin + location.pathname.replace(/\/[^/]*$/, '');
  return html`<${Top} crumbs=${['Overview']}>
        ${
          may('operator') &&
          html`<button class="btn bare" onClick=${got.reload}>
            Check again
          </button>`
        }
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${(d) => {
            const wrong =
              (d.stats.dead_letters ? 1 : 0) +
              (d.replaced.length ? 1 : 0) +
              d.problems.filter((p) => !/dead letters|replaced a correction/.test(p)).length;
            const s = d.stats,
              details = d.store.details;
            const waits = Object.entries(s.waiting)
              .map(([queue, n]) => `${queue} ${n}`)
              .join(', ');
            return html`<h1>
                  The memory works.${' '}
                  ${wrong ? WORDS[wrong] || `${wrong} things need` : 'Nothing needs'} your attention.
                </h1>
                <p class="lead">
                  Checked just now: the store responds,${' '}
                  ${
                    d.store.waiting
                      ? `${f.plural(d.store.waiting, 'entry is', 'entries are')} waiting for the index`
                      : 'the index is up to date'
                  }
                  , ${s.dead_letters ? f.plural(s.dead_letters, 'job has', 'jobs have') : 'no job has'} failed.
                </p>
                <div class="counts">
                  <div>
                    <b>${f.num(d.users)}</b>
                    <span>users</span>
                    <span class="small">${f.plural(d.others, 'other namespace')}</span>
                  </div>
                  <div>
                    <b>${f.num(s.threads)}</b>
                    <span>threads</span>
                    <span class="small">${f.plural(s.summaries, 'summary', 'summaries')}</span>
                  </div>
                  <div>
                    <b>${f.num(s.messages)}</b>
                    <span>messages</span>
                    <span class="small">${f.num(s.message_tokens)} tokens</span>
                  </div>
                  <div>
                    <b>${f.num(s.facts)}</b>
                    <span>facts</span>
                    <span class="small">${f.plural(s.learnings, 'learning')}</span>
                  </div>
                  <div>
                    <b>${f.num(s.documents)}</b>
                    <span>documents</span>
                    <span class="small">${f.plural(s.tasks, 'task')}</span>
                  </div>
                  <div>
                    <b>${f.span(d.lag)}</b>
                    <span>worker lag</span>
                    <span class="small">${waits} waiting</span>
                  </div>
                </div>
                <div class="two">
                  <div>
                    <section>
                      <div class="head">
                        <h2>Needs attention</h2>
                        <span class="ink2 small">found by memorist doctor</span>
                      </div>
                      <${Attention} d=${d} reload=${got.reload} />
                    </section>
                    <section>
                      <div class="head">
                        <h2>Latest changes</h2>
                        <span class="ink2 small">all users</span>
                        <a class="push ink2 small" href="#/timeline">
                          Timeline
                        </a>
                      </div>
                      ${
                        d.recent.length
                          ? html`<ul class="list">
                          ${d.recent.map((e) => html`<${EventRow} e=${e} owner=${owner} />`)}
                        </ul>`
                          : html`<${Empty}
                          title="Nothing has changed yet"
                          code=${'memory.remember("I live in Lisbon.", user="ada")'}
                        >
                          Store a first message or fact from your program, as below or as in Connect.
                        </${Empty}>`
                      }
                    </section>
                  </div>
                  <div>
                    <section>
                      <div class="head">
                        <h2>See what the model receives</h2>
                      </div>
                      <${Build} />
                    </section>
                    <section>
                      <div class="head">
                        <h2>Connect</h2>
                        <span class="push">
                          <${Segmented}
                            label="How to connect"
                            options=${Object.keys(CONNECT)}
                            value=${way}
                            onChange=${connect}
                          />
                        </span>
                      </div>
                      <${Code} text=${CONNECT[way](at)} />
                    </section>
                    <section>
                      <div class="head">
                        <h2>Store</h2>
                        <span class="pill ok">ready</span>
                      </div>
                      <dl class="kv">
                        <dt>kind</dt>
                        <dd>
                          ${d.store.kind}
                          ${details.sqlite ? ` ${details.sqlite}` : ''}
                          ${details.journal_mode ? `, ${details.journal_mode}` : ''}
                          ${details.durability ? `, durability ${details.durability}` : ''}
                        </dd>
                        ${
                          details.bytes &&
                          html`<dt>file</dt>
                            <dd>
                              ${f.bytes(details.bytes)}
                              ${
                                details.schema ? `, schema ${details.schema} of ${details.newest_schema}` : ''
                              }
                            </dd>`
                        }
                        <dt>embedder</dt>
                        <dd>
<code>${d.store.embedder || 'none: recall matches words only'}</code>
                        </dd>
                        <dt>index</dt>
                        <dd>
                          ${f.num(d.store.indexed)} entries, ${f.num(d.store.waiting)} waiting
                        </dd>
                      </dl>
                    </section>
                  </div>
                </div>`;
          }}
        </${Loaded}>
      </main>`;
}

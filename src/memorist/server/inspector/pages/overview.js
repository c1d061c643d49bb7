// @ts-check
// Overview: health in words, counts, what needs attention, what just happened; right: build a request, connect, store.
import { html, useEffect, useState } from '../lib.js';
import * as f from '../format.js';
import { may, useView, view } from '../api.js';
import { Code, EventLine, Icon, Loaded, Segmented, When, eventNote, toast, failed } from '../parts.js';

const WORDS = ['', 'One thing needs', 'Two things need', 'Three things need', 'Four things need'];
const CONNECT = {
  Python: (at) => `# key: MEMORIST_API_KEY
from memorist import Memory

memory = Memory("${at}")
made = memory.context("Where are we?")
client.messages.create(**made.anthropic(), …)`,
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
      toast(`${f.plural(revived, 'message')} will be tried again`);
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
          <b class="strong">${f.plural(n, 'message')} could not be derived from</b>
          <p class="ink2">
            ${d.dead[0] ? d.dead[0].error : ''}. The messages are safe; their facts are missing until
            a retry succeeds.
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
            ${f.plural(d.replaced.length, 'fact')} replaced a correction this week
          </b>
          <p class="ink2">
            What a user corrected was changed again by a processor.${' '}
            ${
              keys.length === 1
                ? html`It is in <code>${keys[0]}</code>.`
                : html`Most are in <code>${keys[0]}</code>.`
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
        <p>${problem}</p>
      </div>`,
    );
  if (!shown.length) return html`<p class="ink2">Nothing. Doctor found no problem.</p>`;
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
      else tell('There is no user and no thread of that name.');
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
          If they now say
        </label>
        <input
          id="b-say"
          class="t"
          placeholder="anything, or leave empty"
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
            Run doctor
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
                  Memory works.
                  ${wrong ? ` ${WORDS[wrong] || `${wrong} things need`} you.` : ' Nothing needs you.'}
                </h1>
                <p class="lead">
                  Checked just now: the store answers,${' '}
                  ${
                    d.store.waiting ? `${d.store.waiting} rows wait for the index` : 'the index is up to date'
                  }
                  , ${f.plural(s.dead_letters, 'job')} ${s.dead_letters === 1 ? 'is' : 'are'} dead.
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
                        <span class="ink2 small">what doctor found</span>
                      </div>
                      <${Attention} d=${d} reload=${got.reload} />
                    </section>
                    <section>
                      <div class="head">
                        <h2>Just now</h2>
                        <span class="ink2 small">all users</span>
                        <a class="push ink2 small" href="#/timeline">
                          Timeline
                        </a>
                      </div>
                      ${
                        d.recent.length
                          ? html`<ul class="list">
                          ${d.recent.map(
                            (e) =>
                              html`<li data-row=${e.id} tabindex="-1">
                              <span class="r">${eventNote(e)}</span>
                              <span class="ink2" style=${{ display: 'inline-block', width: '64px' }}>
                                <${When} at=${e.at} />
                              </span>
                              <span class="ink2" style=${{ display: 'inline-block', width: '90px' }}>
                                ${e.actor === 'user' && e.user ? e.user : e.actor}
                              </span>${' '}
                              <${EventLine} e=${e} />
                            </li>`,
                          )}
                        </ul>`
                          : html`<p class="ink2">Nothing was said or derived yet.</p>`
                      }
                    </section>
                  </div>
                  <div>
                    <section>
                      <div class="head">
                        <h2>See what a model would get</h2>
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
                          <code>${d.store.embedder || 'none: words only'}</code>
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

// @ts-check
// The context viewer: the request as it will be sent, where the tokens go, what became of every item, and why.
import { html, useEffect, useMemo, useState } from '../lib.js';
import * as f from '../format.js';
import { useView, view } from '../api.js';
import {
  absentSentence,
  askedOf,
  messageShare,
  pythonCall,
  sentMessages,
  settingsSentence,
} from '../compute.js';
import { put } from '../router.js';
import {
  Code,
  CopyLink,
  Dialog,
  Empty,
  Failure,
  Icon,
  Json,
  Loading,
  Segmented,
  Stack,
  State,
  TokenBar,
  copy,
  sectionName,
  strongest,
} from '../parts.js';
import { hitLink, hitName } from './search.js';
import { laneName, sourceLink } from './people.js';

// The policies to choose from, with the program's own if it is another.
export const PolicyOptions = ({ used }) => {
  const offered = used.policies || [];
  const own = offered.some(([short]) => short === used.policy)
    ? []
    : [[used.policy || '', used.policy_title || '']];
  return [...own, ...offered].map(([short, title]) => html`<option value=${short}>${title}</option>`);
};
export function Controls({ params, change, thread, settings }) {
  // What the page does not set is what the program used; it is shown, and changes nothing until it is touched.
  const used = settings || { budget: 8000, layout: 'cached', policy: null, recall: true };
  const usedBudget = String(used.budget);
  const [input, say] = useState(params.input || ''),
    [budget, spend] = useState(params.budget || usedBudget),
    [more, show] = useState(params.more === '1');
  const [system, instruct] = useState(params.system || ''),
    [tools, equip] = useState(params.tools || '');
  useEffect(() => {
    say(params.input || '');
  }, [params.input]);
  useEffect(() => {
    spend(params.budget || usedBudget);
  }, [params.budget, usedBudget]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (input !== (params.input || '')) change({ input });
      if (budget !== (params.budget || usedBudget)) change({ budget });
      if (system !== (params.system || '')) change({ system });
      if (tools !== (params.tools || '')) change({ tools });
    }, 150);
    return () => clearTimeout(timer);
  }, [input, budget, system, tools]);
  const numeric = /^\d+$/.test(budget);
  const slide = numeric
    ? Math.round((100 * Math.log(Math.max(500, Number(budget)) / 500)) / Math.log(400))
    : 50;
  const field = (name, label, hint) =>
    html`<div>
      <label class="f" for=${`m-${name}`}>
        ${label}
      </label>
      <input
        id=${`m-${name}`}
        class="t"
        inputmode="numeric"
        placeholder=${hint}
        value=${params[name] || ''}
        onChange=${(e) => change({ [name]: e.target.value.replace(/\D/g, '') })}
      />
    </div>`;
  return html`<form class="controls" onSubmit=${(e) => e.preventDefault()}>
        <div>
          <label class="f" for="c-input">
            If ${thread && f.userOf(thread.ns) ? f.userOf(thread.ns) : 'the user'} says next
          </label>
          <input
            id="c-input"
            class="t"
            autocomplete="off"
            disabled=${!!params.turn}
            value=${params.turn ? '(the stored message)' : input}
            placeholder="anything"
            onInput=${(e) => say(e.target.value)}
          />
        </div>
        <div>
          <label class="f row" for="c-budget" style=${{ justifyContent: 'space-between' }}>
            Budget${' '}
            <output for="c-budget">${numeric ? `${f.num(Number(budget))} tokens` : budget}</output>
          </label>
          <input
            id="c-budget"
            type="range"
            min="0"
            max="100"
            value=${slide}
            onInput=${(e) =>
              spend(String(Math.round((500 * 400 ** (Number(e.target.value) / 100)) / 100) * 100))}
          />
        </div>
        <div>
          <label class="f" for="c-policy">
            Policy
          </label>
          <select
            id="c-policy"
            class="t"
            value=${params.policy || used.policy || ''}
            onChange=${(e) => change({ policy: e.target.value })}
          >
            <${PolicyOptions} used=${used} />
          </select>
        </div>
        <div>
          <span
            class="f"
            style=${{
              display: 'block',
              fontSize: '.923rem',
              fontWeight: 500,
              color: 'var(--ink2)',
              marginBottom: '4px',
            }}
          >
            Layout
          </span>
          <${Segmented}
            label="Layout"
            options=${['standard', 'cached']}
            value=${params.layout || used.layout}
            onChange=${(layout) => change({ layout })}
          />
        </div>
        <button type="button" class="btn" aria-expanded=${String(more)} onClick=${() => show(!more)}>
          More <${Icon} name="down" />
        </button>
      </form>
      ${
        more &&
        html`<div class="more">
          <div>
            <label class="f" for="m-budget">
              Budget, or a model's name
            </label>
            <input
              id="m-budget"
              class="t"
              value=${budget}
              onInput=${(e) => spend(e.target.value.trim())}
            />
          </div>
          ${field('reserve', 'Reserve for the answer', '800')}
          ${field('memory', 'Limit for memory', 'none')}
          ${field('history', 'Limit for history', 'none')}
          ${field('profile', 'Limit for the profile', 'a sixth, at most 600')}
          ${field('k', 'Recall at most', 'as many as fit')}
          <div>
            <span class="f" style=${{ display: 'block', marginBottom: '8px' }}>
              Recall
            </span>
            <${Segmented}
              label="Recall"
              options=${[
                ['on', 'on'],
                ['off', 'off'],
              ]}
              value=${params.recall || (used.recall ? 'on' : 'off')}
              onChange=${(recall) => change({ recall })}
            />
          </div>
          <div class="wide">
            <label class="f" for="m-system">
              System prompt
            </label>
            <textarea
              id="m-system"
              class="t"
              placeholder="from the thread's metadata, or none"
              onInput=${(e) => instruct(e.target.value)}
            >
              ${system}
            </textarea>
          </div>
          <div class="wide">
            <label class="f" for="m-tools">
              Tools, as JSON
            </label>
            <textarea
              id="m-tools"
              class="t mono"
              placeholder='[{"name": "…", "description": "…", "input_schema": {}}]'
              onInput=${(e) => equip(e.target.value)}
            >
              ${tools}
            </textarea>
          </div>
        </div>`
      }`;
}

export function Sentence({ d }) {
  const sent = sentMessages(d);
  const summaries = d.history.filter((r) => r.summary).length,
    memories = d.memory.filter((m) => m.sent).length;
  const parts = [
    f.plural(sent, 'message'),
    summaries && f.plural(summaries, 'summary', 'summaries'),
    f.plural(memories, 'memory', 'memories'),
    d.profile.length && f.plural(d.profile.length, 'profile line'),
    d.tools.length && f.plural(d.tools.length, 'tool'),
  ].filter(Boolean);
  return html`<h1 class="light">
      The model receives <b>${f.num(d.tokens)} tokens</b>: ${parts.join(', ')}.
    </h1>`;
}
// Whose settings these are, and a way back to the program's own.
const OWN = [
  'budget',
  'reserve',
  'memory',
  'history',
  'profile',
  'policy',
  'layout',
  'recall',
  'k',
  'system',
  'tools',
];
const Settings = ({ d }) => {
  const absent = absentSentence(d.settings);
  const reset = () => put(Object.fromEntries(OWN.map((name) => [name, null])));
  return html`<p class="ink2 settings">
      ${settingsSentence(d.settings, !!d.thread)}
      ${
        d.settings.changed.length > 0 &&
        html`${' '}<button class="linkish" onClick=${reset}>
            ${d.settings.stored ? 'Use the program’s settings' : 'Use the defaults'}
          </button>`
      }
      ${absent && html`<br />${absent}`}
      ${
        d.settings.policy_functions &&
        html`<br />The policy’s model or function is not stored, so this page builds summaries from the text itself.`
      }
    </p>`;
};
export function tally(d) {
  const of = (state) => d.history.filter((r) => r.state === state && !r.summary);
  const sum = (rows) => rows.reduce((n, r) => n + r.count, 0);
  const folded = d.history.filter((r) => r.state === 'folded').reduce((n, r) => n + r.count, 0);
  const over = d.memory.filter((m) => m.state === 'dropped' && !m.reason.startsWith('in the')),
    marked = d.memory.filter((m) => m.superseded);
  return [
    ['folded', folded, `${f.plural(folded, 'message')} folded into the summary`],
    ['elided', of('elided').length, `${f.plural(of('elided').length, 'long tool result')} elided`],
    ['dropped', sum(of('dropped')), `${f.plural(sum(of('dropped')), 'message')} dropped`, 'dropped'],
    ['dropped', over.length, `${f.plural(over.length, 'memory', 'memories')} dropped`, 'memory'],
    [
      'shortened',
      d.memory.filter((m) => m.state === 'shortened').length,
      `${f.plural(d.memory.filter((m) => m.state === 'shortened').length, 'memory', 'memories')} shortened`,
    ],
    [
      'superseded',
      marked.length,
      `${marked.length} superseded, ${marked.filter((m) => m.sent).length} of them sent with a mark`,
    ],
    ['repaired', of('repaired').length, `${of('repaired').length} repaired`],
  ].filter(([, n]) => n);
}
export const Legend = ({ d, turn, onPick }) => {
  const over = d.sections.find((s) => s.name === 'overhead');
  const note = (s) =>
    s.name === 'tools'
      ? f.plural(s.kept, 'tool')
      : s.name === 'history'
        ? messageShare(d, turn)
        : s.name === 'input' && over
          ? `+${over.tokens} overhead`
          : s.ceiling
            ? `of ${f.num(s.ceiling)}`
            : '';
  return html`<dl class="legend">
      ${d.sections
        .filter((s) => s.name !== 'overhead')
        .map(
          (s) =>
            html`<div>
            <dt>
              ${
                onPick
                  ? html`<button class="bare0" onClick=${() => onPick(s.name)}>
                  <i class=${`sw c-${s.name}`} />
                  ${sectionName(s.name)}
                </button>`
                  : html`<i class=${`sw c-${s.name}`} />
                  ${sectionName(s.name)}`
              }
            </dt>
            <dd>
              <b>${f.num(s.tokens)}</b>
              <span>${note(s)}</span>
            </dd>
          </div>`,
        )}
      <div>
        <dt>
          <i class="sw free" />
          Free
        </dt>
        <dd>
          <b>${f.num(d.free)}</b>
          <span>${f.share(Math.max(0, d.free) / d.budget)}</span>
        </dd>
      </div>
      ${
        d.reserve > 0 &&
        html`<div>
          <dt>
            <i class="sw reserve" />
            Reserve
          </dt>
          <dd>
            <b>${f.num(d.reserve)}</b>
            <span>answer</span>
          </dd>
        </div>`
      }
    </dl>`;
};
export const CacheLine = ({ d }) =>
  d.prefix
    ? html`<div class="under">
      <span>
        <b>${f.share(d.prefix.share)} identical to the previous turn</b> (${f.num(d.prefix.tokens)} tokens
        from the provider’s prompt cache)
      </span>
      <span>new: ${f.num(d.tokens - d.prefix.tokens)}</span>
    </div>`
    : html`<div class="under">
      <span>This is the first turn, so nothing can come from the prompt cache</span>
    </div>`;

// Runs of one fate are one row; a click unfolds them.
function runs(rows) {
  const out = [];
  for (const row of rows) {
    const last = out[out.length - 1];
    const plain = (r) => r.state === 'kept' && !r.pinned;
    const same =
      last &&
      ((plain(row) && last.every(plain)) ||
        (row.state === 'dropped' && last[0].state === 'dropped' && row.reason === last[0].reason));
    if (same) last.push(row);
    else out.push([row]);
  }
  return out;
}
const numbers = (r) => (r.first === r.last ? `#${r.first}` : `#${r.first}–${r.last}`);
const what = (r) =>
  r.calls && r.calls.length
    ? html`<code>${r.calls.join(', ')}</code> → ${(r.results[0] || '').slice(0, 160)}`
    : r.text;

function HistoryRow({ r, thread }) {
  return html`<div
      class=${`it${r.state === 'dropped' ? ' out' : ''}`}
      data-row=${r.id}
      tabindex="-1"
      data-href=${thread ? f.threadLink(thread.id, r.first) : null}
    >
      <${State} of=${r.state} />
      <span class="p mono">
        ${numbers(r)} ${r.role || ''}
      </span>
      <div class="x">
        <p class="lines">${what(r)}</p>
        ${
          (r.reason || r.summary || r.attached || r.pinned) &&
          html`<span class="why">
            ${r.reason}
            ${r.method ? `, ${r.method}` : ''}
            ${r.at ? `, ${f.date(r.at)}` : ''}
            ${r.attached ? 'with the memory that was recalled for it' : ''}
            ${r.pinned ? ' pinned' : ''}
            ${
              r.summary && thread
                ? html`${' '}
                ·${' '}
                <a href=${f.link('thread', { id: thread.id, open: 1, at: r.first })}>
                  show the ${r.count} messages
                </a>`
                : ''
            }
            ${
              r.state === 'elided' && thread
                ? html`${' '}
                · <a href=${f.threadLink(thread.id, r.first)}>show what was elided</a>`
                : ''
            }
          </span>`
        }
      </div>
      <span class="n">
        ${r.was ? html`<span class="struck">${f.num(r.was)}</span>${' '}` : ''}
        ${f.num(r.tokens)}
      </span>
    </div>`;
}
function HistoryRun({ rows, thread }) {
  const [open, show] = useState(false);
  if (rows.length < 4 || open)
    return rows.map((r) => html`<${HistoryRow} key=${r.id} r=${r} thread=${thread} />`);
  const first = rows[0],
    last = rows[rows.length - 1],
    tools = rows.filter((r) => r.exchange).length;
  const quote = (r) =>
    r.text ? `“${r.text.slice(0, 50)}${r.text.length > 50 ? '…' : ''}”` : 'a tool exchange';
  return html`<div
      class=${`it${first.state === 'dropped' ? ' out' : ''}`}
      data-row=${`run${first.id}`}
      tabindex="-1"
    >
      <${State} of=${first.state} />
      <span class="p mono">
        #${first.first}–${last.last}
      </span>
      <div class="x">
        <p>
          <button class="linkish" aria-expanded="false" onClick=${() => show(true)}>
            ${f.plural(
              rows.reduce((n, r) => n + r.count, 0),
              'message',
            )}
          </button>${' '}
          <span class="quote">
            · ${quote(first)} … ${quote(last)}
            ${tools ? ` · includes ${f.plural(tools, 'tool exchange')}` : ''}
          </span>
        </p>
        ${first.reason && html`<span class="why">${first.reason}</span>`}
      </div>
      <span class="n">${f.num(rows.reduce((n, r) => n + r.tokens, 0))}</span>
    </div>`;
}

function PrefixLine({ d }) {
  return html`<div class="prefix dash" id="prefix">
      <b>Cache-stable prefix ends here</b>
      <span>${f.num(d.prefix.tokens)} tokens so far</span>
    </div>`;
}

function MemoryRows({ d, only }) {
  const [open, show] = useState(false);
  const wanted = d.memory.filter(
    (m) =>
      (only === 'sent' ? m.sent : only === 'out' ? !m.sent : true) &&
      (m.sent || !m.reason.startsWith('in the')),
  );
  const rows = open ? wanted : wanted.slice(0, 8);
  return html`${rows.map(
    (m) =>
      html`<div
          class=${`it${m.superseded ? ' tint' : ''}${m.sent ? '' : ' out'}`}
          key=${m.id}
          data-row=${m.id}
          tabindex="-1"
          data-href=${m.hit ? hitLink(m.hit) : null}
        >
          <${State} of=${m.superseded && m.sent ? 'superseded' : m.state} />
          <span class="p">${m.kind}</span>
          <div class="x">
            <p class="lines">${m.text}</p>
            ${
              (m.reason || m.superseded) &&
              html`<span class="why">
                ${
                  m.superseded
                    ? `${m.sent ? 'sent with the mark: ' : ''}replaced by ${m.superseded}`
                    : m.reason
                }
              </span>`
            }
          </div>
          <span class="n">${m.tokens ? f.num(m.tokens) : ''}</span>
        </div>`,
  )}
      ${
        wanted.length > rows.length &&
        html`<div class="it">
          <span />
          <span />
          <p>
            <button class="linkish" onClick=${() => show(true)}>
              ${wanted.length - rows.length} more
            </button>
          </p>
        </div>`
      }`;
}

function Request({ d, turn, only, form }) {
  if (form === 'anthropic' || form === 'openai')
    return html`<${Json} of=${d[form]} label=${`The ${form} request`} />`;
  if (form === 'text') return html`<${Code} text=${d.text} label="The request as text" />`;
  const { prefix, thread } = d;
  const keep = (r) => (only === 'sent' ? r.state !== 'dropped' : only === 'out' ? r.state !== 'kept' : true);
  const size = (name) => {
    const s = d.sections.find((one) => one.name === name);
    return s ? f.num(s.tokens) : '';
  };
  const head = (name, note, rest) =>
    html`<div class="sh" id=${`s-${name}`}>
      <h3 class=${`t-${name}`}>${sectionName(name)}</h3>
      ${note}
      <span class="n">${rest ?? size(name)}</span>
    </div>`;
  const after = (name) =>
    prefix && !prefix.whole && prefix.section === name && !(name === 'history' && prefix.seq);
  const list = d.history.filter(keep);
  const cut =
    prefix && !prefix.whole && prefix.section === 'history' && prefix.seq
      ? list.findIndex((r) => r.first > prefix.seq)
      : -1;
  const history = html`<section class="b-history hist" aria-label="History">
      ${head(
        'history',
        html`<span class="ink2">
          ${
            thread
              ? `${messageShare(d, turn)} messages${d.history.some((r) => r.summary) ? ', and a summary' : ''}`
              : 'no thread'
          }
        </span>`,
      )}
      ${
        cut < 0
          ? runs(list).map((rows) => html`<${HistoryRun} key=${rows[0].id} rows=${rows} thread=${thread} />`)
          : html`${runs(list.slice(0, cut)).map(
              (rows) => html`<${HistoryRun} key=${rows[0].id} rows=${rows} thread=${thread} />`,
            )}
          <${PrefixLine} d=${d} />
          ${runs(list.slice(cut)).map(
            (rows) => html`<${HistoryRun} key=${rows[0].id} rows=${rows} thread=${thread} />`,
          )}`
      }
    </section>`;
  const memory =
    d.memory.length > 0 &&
    html`<section class="b-memory" aria-label="Memory">
      ${head(
        'memory',
        html`<span class="ink2">
          ${d.memory.filter((m) => m.sent).length} of ${d.memory.length} found
          ${d.layout === 'cached' ? ', sent with this turn' : ''}, marked as data
        </span>`,
        size('memory') || '0',
      )}
      <${MemoryRows} d=${d} only=${only} />
    </section>`;
  const line = (name) => after(name) && html`<${PrefixLine} d=${d} />`;
  return html`<div class="req">
      ${
        d.tools.length > 0 &&
        only !== 'out' &&
        html`<section class="b-tools" aria-label="Tools">
            ${head(
              'tools',
              html`<span class="ink2 one">
                ${f.plural(d.tools.length, 'definition')}${' '}
                <code>${d.tools.map((t) => t.name).join('  ')}</code>
              </span>`,
            )}
          </section>
          ${line('tools')}`
      }
      ${
        d.system.length > 0 &&
        only !== 'out' &&
        html`<section class="b-system" aria-label="System">
            ${head(
              'system',
              html`<span class="one" title=${d.system.join('\n')}>
                ${d.system.join(' ')}
              </span>`,
            )}
          </section>
          ${line('system')}`
      }
      ${
        d.profile.length > 0 &&
        only !== 'out' &&
        html`<section class="b-profile" aria-label="Profile">
            ${head('profile', html`<span class="ink2">in every request, in a fixed order</span>`)}
            ${d.profile.map((p, n) => {
              const from = sourceLink(p.source);
              return html`<div
                  class=${p.replaced ? 'it tint' : 'it'}
                  key=${p.id}
                  data-row=${p.id}
                  tabindex="-1"
                  data-href=${from && from.href}
                >
                  <${State} of="kept" />
                  <span class="p">
                    ${n && d.profile[n - 1].lane === p.lane ? '' : laneName(p.lane)}
                  </span>
                  <p>
                    ${p.text}
                    ${
                      p.replaced &&
                      html`${' '}<span class="ink2">
                        before: ${f.text(p.replaced.value)}
                      </span>`
                    }
                  </p>
                  <span class="n small">
                    ${
                      from
                        ? html`<a href=${from.href} aria-label=${`why: ${p.text}`}>
                        why?
                      </a>`
                        : ''
                    }
                  </span>
                </div>`;
            })}
          </section>
          ${line('profile')}`
      }
      ${
        d.layout === 'cached'
          ? html`${thread && history}
          ${line('history')}
          ${memory}`
          : html`${memory}
          ${line('memory')}
          ${thread && history}
          ${line('history')}`
      }
      ${
        d.input.length > 0 &&
        only !== 'out' &&
        html`<section class="b-input" aria-label="Input">
          <div class="sh" id="s-input">
            <h3 class="t-input">Input</h3>
            <span class="wrap">${d.input.join('\n')}</span>
            <span class="n">${size('input')}</span>
          </div>
        </section>`
      }
    </div>`;
}

const fateWord = (m) =>
  m.sent
    ? m.superseded
      ? 'in, superseded'
      : m.state === 'shortened'
        ? 'in, shortened'
        : 'in'
    : m.superseded
      ? 'out, superseded'
      : m.reason.startsWith('in the')
        ? m.reason
        : 'dropped';
function HitRow({ m }) {
  const h = m.hit;
  return html`<div
      class=${m.sent ? 'hit' : 'hit out'}
      data-row=${`hit${m.id}`}
      tabindex="-1"
      data-href=${h ? hitLink(h) : null}
    >
      <b>${f.score(m.score)}</b>
      <div>
        <p class="m">
          <${State}
            of=${
              m.superseded
                ? 'superseded'
                : m.sent
                  ? m.state === 'shortened'
                    ? 'shortened'
                    : 'kept'
                  : m.reason.startsWith('in the')
                    ? 'kept'
                    : 'dropped'
            }
            word=${fateWord(m)}
          />${' '}
          · ${m.kind} ${h ? html`<a href=${hitLink(h)}>${hitName(h)}</a>` : ''} · ${m.trust} · ${f.date(m.at)}
        </p>
        <p class="wrap">${m.text.slice(0, 220)}</p>
        ${
          h &&
          html`<${Stack} signals=${h.signals} />
            <p class="m">${strongest(h.signals)}</p>`
        }
        ${
          !m.sent &&
          !m.reason.startsWith('in the') &&
          html`<p class=${m.superseded ? 'small warn' : 'small danger'}>
            ${m.reason}
            ${m.tokens && m.reason.startsWith('over') ? `: ${m.tokens} tokens` : ''}
          </p>`
        }
        ${m.superseded && html`<p class="small warn">replaced by ${m.superseded}</p>`}
      </div>
    </div>`;
}
function Recall({ d, params }) {
  const [all, show] = useState({ in: false, out: false, repeated: false });
  const sent = d.memory.filter((m) => m.sent),
    out = d.memory.filter((m) => !m.sent && !m.reason.startsWith('in the')),
    repeated = d.memory.filter((m) => m.reason.startsWith('in the') && !m.sent);
  const room = d.sections.find((s) => s.name === 'memory');
  const part = (rows, key, most) =>
    html`${(all[key] ? rows : rows.slice(0, most)).map((m) => html`<${HitRow} key=${m.id} m=${m} />`)}
      ${
        rows.length > most &&
        !all[key] &&
        html`<div class="hit">
          <b />
          <button class="linkish" onClick=${() => show({ ...all, [key]: true })}>
            ${rows.length - most} more (
            ${rows
              .slice(most, most + 3)
              .map((m) => f.score(m.score))
              .join(', ')}
            ${rows.length > most + 3 ? ', …' : ''})
          </button>
        </div>`
      }`;
  const query = (d.asked.input || d.input.join(' ')).trim();
  return html`<div class="head">
        <h2>What recall found</h2>
        <span class="small ink2">
          ${d.memory.length} in ${Math.round(d.milliseconds)} ms
        </span>
        ${
          query &&
          html`<a
            class="push small"
            href=${f.link('search', {
              q: query,
              user: d.thread ? f.userOf(d.thread.ns) : params.user,
              k: 20,
            })}
          >
            Open in Search
          </a>`
        }
      </div>
      ${
        !d.memory.length
          ? html`<p class="ink2">
          ${query ? 'No memory matches this input.' : 'Type an input above to see what recall finds.'}
        </p>`
          : html`<div class="row small">
            <b class="strong">In the request</b>
            <span class="ink2">${sent.length}, best first</span>
            <span class="push ink2">${room ? f.num(room.tokens) : 0}</span>
          </div>
          ${part(sent, 'in', 5)}
          ${
            out.length > 0 &&
            html`<div class="roomends dash">Not sent <span class="ink2">${out.length}</span></div>
              ${part(out, 'out', 3)}`
          }
          ${
            repeated.length > 0 &&
            html`<p class="strong small" style=${{ marginTop: '12px' }}>
                Already in the request <span class="ink2">${repeated.length}</span>
              </p>
              ${part(repeated, 'repeated', 2)}`
          }`
      }`;
}

function Replay({ params, change }) {
  const got = useView('turns', { thread: params.thread || '', limit: 100 }, { skip: !params.thread });
  const turns = got.data ? got.data.items : [];
  const here = params.turn ? turns.findIndex((t) => String(t.seq) === params.turn) : -1;
  if (!turns.length) return null;
  if (!params.turn)
    return html`<button class="btn bare opt" onClick=${() => change({ turn: turns[0].seq, input: '' })}>
        Replay
      </button>`;
  return html`<div class="replay" role="group" aria-label="Replay">
      <b class="strong">Turn #${params.turn}</b>
      <span class="ink2 wrap said">
        “${here >= 0 ? turns[here].text : ''}”${' '}
        <span class="small">
          ${here >= 0 ? f.moment(turns[here].at) : ''} · with the facts and summaries of that time
        </span>
      </span>
      <button
        class="btn"
        disabled=${here < 0 || here >= turns.length - 1}
        onClick=${() => change({ turn: turns[here + 1].seq })}
      >
        Earlier
      </button>
      <button
        class="btn"
        disabled=${here <= 0}
        onClick=${() => change({ turn: turns[here - 1].seq })}
      >
        Later
      </button>
      <button class="btn" data-key="Escape" onClick=${() => change({ turn: '' })}>
        Leave the replay
      </button>
    </div>`;
}

function Choose() {
  const [user, type] = useState(''),
    [found, set] = useState(null);
  const threads = useView('list', { kind: 'threads', limit: 1 });
  useEffect(() => {
    const timer = setTimeout(
      () => (user.trim() ? view('find', { text: user }).then(set, () => {}) : set(null)),
      150,
    );
    return () => clearTimeout(timer);
  }, [user]);
  return html`<h1>Whose next request?</h1>
      <p class="lead">
        Choose a user or a thread to see the request that would be sent now: every item, and what is left out and why.
      </p>
      <div style=${{ maxWidth: '480px', margin: '20px 0' }}>
        <label class="f" for="choose">
          User or thread
        </label>
        <input
          id="choose"
          class="t"
          autofocus
          autocomplete="off"
          value=${user}
          onInput=${(e) => type(e.target.value)}
        />
      </div>
      ${
        threads.data &&
        !threads.data.items.length &&
        html`<${Empty}
          title="No threads yet"
          code=${'memory.threads.append("talk", {"role": "user", "content": "Hello"}, create="user:ada")'}
        >
          Store a first message; then you can look at the next request of its user.
        </${Empty}>`
      }
      ${
        found &&
        html`<ul class="list" style=${{ maxWidth: '480px' }}>
          ${found.users.map(
            (u) =>
              html`<li data-row=${u.user} tabindex="-1" data-href=${f.link('context', { user: u.user })}>
              <a href=${f.link('context', { user: u.user })}>${u.user}</a>${' '}
              <span class="ink2">${u.name || ''} without a thread</span>
            </li>`,
          )}
          ${found.threads.map(
            (t) =>
              html`<li data-row=${t.id} tabindex="-1" data-href=${f.link('context', { thread: t.id })}>
              <a href=${f.link('context', { thread: t.id })}>${t.title || f.shortId(t.id)}</a>${' '}
              <span class="ink2">${t.ns}</span>
            </li>`,
          )}
          ${
            !found.users.length &&
            !found.threads.length &&
            html`<li class="ink2">No user or thread matches.</li>`
          }
        </ul>`
      }`;
}

export function Context({ Top, main, params }) {
  const chosen = params.thread || params.user;
  const asked = askedOf(params);
  const got = useView('context', asked, { skip: !chosen });
  const [only, filter] = useState('all'),
    [form, shape] = useState('readable'),
    [tab, turn] = useState('request'),
    [sheet, adjust] = useState(false);
  useEffect(() => {
    addEventListener('refresh', got.reload);
    return () => removeEventListener('refresh', got.reload);
  });
  const d = got.data,
    ok = d && d.tokens !== null;
  const user = d && d.thread ? f.userOf(d.thread.ns) : params.user;
  const compare = f.link('compare', {
    thread: params.thread,
    user: params.thread ? undefined : params.user,
    input: params.input,
    budget: params.budget,
    policy: params.policy,
    layout: params.layout,
    reserve: params.reserve,
    turn: params.turn,
  });
  const pick = (name) => {
    shape('readable');
    filter('all');
    requestAnimationFrame(() => {
      const at = document.getElementById(`s-${name}`);
      if (at) at.scrollIntoView({ block: 'center' });
    });
  };
  const replayed = Number(params.turn);
  const forms = [
    ['readable', 'Readable'],
    ['anthropic', 'Anthropic'],
    ['openai', 'OpenAI'],
    ['text', 'Text'],
  ];
  const narrow = useNarrow();
  const request =
    ok &&
    html`<div class="head" style=${{ alignItems: 'center' }}>
      <h2>The request, as sent</h2>
      ${
        !narrow &&
        html`<span class="push row">
          <${Segmented}
            label="Which items"
            options=${[
              ['all', 'All'],
              ['sent', 'Sent'],
              ['out', 'Not sent'],
            ]}
            value=${only}
            onChange=${filter}
          />
          <${Segmented} label="Shape" options=${forms} value=${form} onChange=${shape} />
        </span>`
      }
    </div>`;
  return html`<${Top}
        crumbs=${[
          ...(user ? [{ text: user, href: f.link('user', { user }) }] : []),
          ...(d && d.thread
            ? [{ text: d.thread.title || f.shortId(d.thread.id), href: f.threadLink(d.thread.id) }]
            : []),
          chosen ? 'Next request' : 'Context',
        ]}
      >
        ${
          chosen &&
          html`<${CopyLink} />
            <button
              class="btn bare opt"
              disabled=${!d || !d.settings}
              onClick=${() => copy(pythonCall(asked, d.settings))}
            >
              <${Icon} name="copy" />
              As Python
            </button>
            ${params.thread && !params.turn && html`<${Replay} params=${params} change=${put} />`}
            <a class="btn undocked" data-key="c" href=${compare}>
              <${Icon} name="compare" />
              Compare <kbd>c</kbd>
            </a>`
        }
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        ${
          !chosen
            ? html`<${Choose} />`
            : html`${
                narrow
                  ? html`<label class="f" for="n-input">
                  If the user says next
                </label>
                <input
                  id="n-input"
                  class="t"
                  disabled=${!!params.turn}
                  value=${params.turn ? '(the stored message)' : params.input || ''}
                  onChange=${(e) => put({ input: e.target.value })}
                />
                <p class="row" style=${{ margin: '8px 0 16px' }}>
                  <span class="pill">
                    ${d ? `${f.num(d.settings.budget)} tokens` : ''}
                  </span>
                  <span class="pill">${d ? d.settings.policy_title : ''}</span>
                  <span class="pill">${d ? d.settings.layout : ''}</span>
                </p>`
                  : html`<${Controls}
                    params=${params}
                    change=${put}
                    thread=${d && d.thread}
                    settings=${d && d.settings}
                  />`
              }
            ${params.turn && html`<${Replay} params=${params} change=${put} />`}
            ${got.error && html`<${Failure} error=${got.error} again=${got.reload} />`}
            ${!d && !got.error && html`<${Loading} />`}
            ${
              d &&
              d.error &&
              html`<div class="error" role="alert">
                <${Icon} name="warn" />
                <div>
                  <b class="strong">The required items do not fit into the budget</b>
                  <p class="ink2">${d.error.message}</p>
                  <div class="acts">
                    <button
                      class="btn primary"
                      onClick=${() =>
                        put({
                          budget: String(
                            Math.ceil(((d.error.needed + d.settings.reserve) * 1.15) / 100) * 100,
                          ),
                        })}
                    >
                      Budget${' '}
                      ${f.num(Math.ceil(((d.error.needed + d.settings.reserve) * 1.15) / 100) * 100)}
                    </button>
                  </div>
                  <p class="small ink2">BudgetError</p>
                </div>
              </div>`
            }
            ${
              ok &&
              html`<${Sentence} d=${d} />
                <${Settings} d=${d} />
                <p class="notas">
                  <span>Not sent in full:</span>
                  ${
                    tally(d).length
                      ? tally(d).map(
                          ([state, , words]) =>
                            html`<button
                        type="button"
                        onClick=${() => {
                          shape('readable');
                          filter(only === 'out' ? 'all' : 'out');
                          turn('out');
                        }}
                      >
                        <${State} of=${state} word=${words} />
                      </button>`,
                        )
                      : html`<span>nothing, everything is included</span>`
                  }
                </p>
                <${TokenBar} made=${d} onPick=${pick} />
                <${CacheLine} d=${d} />
                <${Legend} d=${d} turn=${replayed} onPick=${pick} />
                <div style=${{ height: '24px' }} />
                ${
                  narrow
                    ? html`<div class="tabs" role="group" aria-label="Part">
                      ${[
                        ['request', 'Request'],
                        ['recall', `Recall ${d.memory.length}`],
                        ['out', 'Not sent'],
                        ['json', 'JSON'],
                      ].map(
                        ([id, name]) =>
                          html`<a
                          href="#"
                          role="button"
                          aria-current=${tab === id ? 'true' : null}
                          onClick=${(e) => {
                            e.preventDefault();
                            turn(id);
                          }}
                        >
                          ${name}
                        </a>`,
                      )}
                    </div>
                    ${tab === 'request' && html`<${Request} d=${d} turn=${replayed} only="all" form="readable" />`}
                    ${tab === 'recall' && html`<${Recall} d=${d} params=${params} />`}
                    ${tab === 'out' && html`<${Request} d=${d} turn=${replayed} only="out" form="readable" />`}
                    ${
                      tab === 'json' &&
                      html`<p style=${{ marginBottom: '8px' }}>
                          <${Segmented}
                            label="Shape"
                            options=${forms.slice(1)}
                            value=${form === 'readable' ? 'anthropic' : form}
                            onChange=${shape}
                          />
                        </p>
                        <${Request}
                          d=${d}
                          turn=${replayed}
                          only="all"
                          form=${form === 'readable' ? 'anthropic' : form}
                        />`
                    }
                    <div class="docked">
                      <button class="btn primary" onClick=${() => adjust(true)}>
                        Budget, policy, layout
                      </button>
                      <a class="btn" href=${compare}>
                        Compare
                      </a>
                    </div>
                    <${Dialog}
                      open=${sheet}
                      label="Budget, policy, layout"
                      onClose=${() => adjust(false)}
                    >
                      <${Controls}
                        params=${params}
                        change=${put}
                        thread=${d.thread}
                        settings=${d.settings}
                      />
                      <div class="row">
                        <span class="push" />
                        <button class="btn primary" onClick=${() => adjust(false)}>
                          Done
                        </button>
                      </div>
                    </${Dialog}>`
                    : html`<div class="two ctx">
                    <div>
                      ${request}
                      <${Request} d=${d} turn=${replayed} only=${only} form=${form} />
                    </div>
                    <div>
                      <${Recall} d=${d} params=${params} />
                    </div>
                  </div>`
                }`
            }`
        }
      </main>`;
}
export function useNarrow() {
  const media = useMemo(() => matchMedia('(max-width: 699px)'), []);
  const [is, set] = useState(media.matches);
  useEffect(() => {
    const seen = () => set(media.matches);
    media.addEventListener('change', seen);
    return () => media.removeEventListener('change', seen);
  }, []);
  return is;
}

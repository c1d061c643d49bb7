// @ts-check
// Search: a row per hit, signals as columns, a dashed line where a hit is less likely than not, and why something
// expected is not there.
import { html, useEffect, useRef, useState } from '../lib.js';
import * as f from '../format.js';
import { useView, view } from '../api.js';
import { put } from '../router.js';
import { signalColumns } from '../compute.js';
import { CopyLink, Dialog, Empty, Failure, Icon, Loading, Marked, Stack, State, copy } from '../parts.js';

const KINDS = ['message', 'fact', 'learning', 'document', 'summary'];
const TRUSTS = ['user', 'assistant', 'tool', 'document', 'web', 'system'];
const SPANS = { '': 'any time', 1: 'last day', 7: 'last week', 30: 'last month', 365: 'last year' };
export const hitLink = (h) =>
  h.kind === 'message' || h.kind === 'summary'
    ? f.threadLink(h.thread, String(h.seq).split('-')[0])
    : h.kind === 'fact'
      ? f.factLink(h.ns, h.id.slice(h.ns.length + 1))
      : h.kind === 'learning'
        ? f.link('learnings', { ns: h.ns, id: h.id })
        : f.link('document', { ns: h.ns, id: h.id.split('#')[0] });
export const hitName = (h) =>
  h.kind === 'message'
    ? `${h.title || f.shortId(h.thread)} #${h.seq}`
    : h.kind === 'fact'
      ? h.id.slice(h.ns.length + 1)
      : h.kind === 'summary'
        ? `${h.title || ''} #${h.seq}`
        : h.kind === 'learning'
          ? `…${h.id.slice(-4)}`
          : h.source || h.id.split('#')[0];

function Signal({ value, most }) {
  if (value === undefined)
    return html`<span class="sig">
        –<i />
      </span>`;
  return html`<span class=${value < 0 ? 'sig neg' : 'sig'}>
      ${f.signed(value, 2)}
      <i>
        <b
          style=${{
            width: value < 0 ? `${Math.min(10, 10 * -value)}px` : `${Math.min(100, (100 * value) / most)}%`,
          }}
        />
      </i>
    </span>`;
}
function Row({ h, open, toggle, asked, words, most, columns }) {
  const rest = Object.entries(h.signals).filter(([k]) => !columns.includes(k));
  const other = rest.length ? rest.reduce((sum, [, w]) => sum + w, 0) : undefined;
  const total = Object.values(h.signals).reduce((a, b) => a + b, 0);
  return html`<div
      class=${`hr${open ? ' open' : ''}${h.score < 0.5 ? ' low' : ''}`}
      data-row=${h.id}
      data-href=${hitLink(h)}
      tabindex="-1"
    >
      <span class="sc">${f.score(h.score)}</span>
      <div>
        <p class="say">
          <${Marked} text=${h.text.slice(0, 400)} words=${words} />
        </p>
        <p class="small ink2">
          ${h.kind} · <a href=${hitLink(h)}>${hitName(h)}</a> · ${h.trust} · ${f.date(h.at)}${' '}
          ${h.superseded && html`<${State} of="superseded" word=${`superseded by ${h.superseded}`} />`} ·${' '}
          <button class="linkish" aria-expanded=${String(open)} onClick=${toggle}>
            ${open ? 'hide the sum' : 'show the sum'}
          </button>
        </p>
        <div class="stackcell">
          <${Stack} signals=${h.signals} />
        </div>
      </div>
      ${columns.map((name) => html`<${Signal} value=${h.signals[name]} most=${most} />`)}
      <${Signal} value=${other} most=${most} />
      ${
        open &&
        html`<div class="detail">
          <div>
            <p class="small ink2">
              ${h.ns}
              ${h.source ? ` · from ${h.source}` : ''}
            </p>
            <p class="say">${h.text.slice(0, 1200)}</p>
            <p class="row" style=${{ marginTop: '8px' }}>
              <a class="btn" href=${hitLink(h)}>
                Open the ${h.kind}
              </a>
              ${
                h.kind === 'message' &&
                html`<a class="btn" href=${f.link('context', { thread: h.thread, input: asked.query })}>
                  See it in a request
                </a>`
              }
            </p>
          </div>
          <div class="sum">
            ${Object.entries(h.signals).map(
              ([name, w]) =>
                html`<span class="ink2">${name}</span>
                <span class=${w < 0 ? 'danger' : ''}>${f.signed(w, 2)}</span>`,
            )}
            <span class="ink2 t">sum of the signals</span>
            <span class="t">${total.toFixed(2)}</span>
            <b>probability that it answers</b>
            <b>${f.score(h.score)}</b>
          </div>
        </div>`
      }
    </div>`;
}

function WhyNot({ asked, onClose }) {
  const [id, type] = useState(''),
    [answer, set] = useState(null),
    [error, fail] = useState(null);
  const go = async (e) => {
    e.preventDefault();
    fail(null);
    try {
      set(await view('whynot', { ...asked, id: id.trim() }));
    } catch (wrong) {
      fail(wrong);
    }
  };
  return html`<${Dialog} open onClose=${onClose} label="Why is it missing?">
      <form onSubmit=${go}>
        <h2>Why is it missing?</h2>
        <p class="ink2">
          Enter the id of the item you expected: a message (<code>thread#12</code>) or a fact (
          <code>user:ada/location</code>).
        </p>
        <label class="f" for="expected" style=${{ marginTop: '10px' }}>
          Id
        </label>
        <div class="row" style=${{ flexWrap: 'nowrap' }}>
          <input
            id="expected"
            class="t mono"
            autofocus
            required
            value=${id}
            onInput=${(e) => type(e.target.value)}
          />
          <button class="btn primary">Ask</button>
        </div>
      </form>
      <div aria-live="polite" style=${{ marginTop: '14px' }}>
        ${error && html`<${Failure} error=${error} />`}
        ${
          answer &&
          html`<p class="strong">${answer.reason}</p>
            ${
              answer.hit &&
              html`<p class="ink2">
                  It scored ${f.score(answer.hit.score)}. The last result shown scored${' '}
                  ${f.score(answer.cut)}.
                </p>
                <${Stack} signals=${answer.hit.signals} />
                <div class="sum">
                  ${Object.entries(answer.hit.signals).map(
                    ([name, w]) =>
                      html`<span class="ink2">${name}</span>
                      <span class=${w < 0 ? 'danger' : ''}>${f.signed(w, 2)}</span>`,
                  )}
                </div>`
            }`
        }
      </div>
      <div class="row">
        <span class="push"></span>
        <button class="btn" onClick=${onClose}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
    </${Dialog}>`;
}

export function Search({ Top, main, params }) {
  const [typed, type] = useState(params.q || '');
  const [open, unfold] = useState(null),
    [asking, ask] = useState(false);
  const box = useRef(null);
  useEffect(() => {
    type(params.q || '');
  }, [params.q]);
  useEffect(() => {
    const timer = setTimeout(() => typed !== (params.q || '') && put({ q: typed }), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    if (!params.q && box.current) box.current.focus();
  }, []);
  const asked = {
    query: params.q || '',
    user: params.user || null,
    namespaces: params.ns ? params.ns.split(',') : null,
    kinds: params.kind ? [params.kind] : null,
    trusts: params.trust ? [params.trust] : null,
    after: params.since
      ? new Date(Date.now() - 864e5 * Number(params.since)).toISOString().slice(0, 13) + ':00:00Z'
      : null,
    top_k: Number(params.k) || 8,
  };
  const got = useView('search', asked, { skip: !asked.query.trim() });
  const words = asked.query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(
      (w) =>
        w.length > 2 &&
        ![
          'the',
          'when',
          'what',
          'who',
          'where',
          'how',
          'was',
          'were',
          'and',
          'for',
          'did',
          'does',
          'has',
          'have',
          'with',
          'about',
          'are',
        ].includes(w),
    );
  const d = asked.query.trim() ? got.data : null;
  const most = d && d.hits.length ? Math.max(...d.hits.flatMap((h) => Object.values(h.signals)), 1) : 1;
  const columns = d ? signalColumns(d.hits) : [];
  const split = d ? d.hits.findIndex((h) => h.score < 0.5) : -1;
  const kinds = asked.kinds ? `, kinds="${asked.kinds[0]}"` : '';
  const source = `memory.recall(${JSON.stringify(asked.query)}, top_k=${asked.top_k}${kinds})`;
  return html`<${Top} crumbs=${['Search']}>
        <${CopyLink} />
        <button class="btn bare opt" onClick=${() => copy(source)}>
          <${Icon} name="copy" />
          As Python
        </button>
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <h1 class="hush">Search</h1>
        <form
          role="search"
          class="big"
          onSubmit=${(e) => {
            e.preventDefault();
            put({ q: typed });
          }}
        >
          <${Icon} name="search" />
          <input
            ref=${box}
            type="search"
            aria-label="What to recall"
            placeholder="Ask as your agent would"
            value=${typed}
            onInput=${(e) => type(e.target.value)}
          />
          <label class="small ink2 who">
            as user${' '}
            <input
              aria-label="As user"
              style=${{ width: '90px', flex: 'none', fontSize: '1rem', fontWeight: 600 }}
              placeholder="everyone"
              value=${params.user || ''}
              onChange=${(e) => put({ user: e.target.value.trim() })}
            />
          </label>
        </form>
        <div class="filters">
          <select
            aria-label="Namespace"
            value=${params.ns || ''}
            onChange=${(e) => put({ ns: e.target.value })}
          >
            <option value="">Namespace: all</option>
            ${d && d.namespaces.map((ns) => html`<option value=${ns}>${ns}</option>`)}
          </select>
          <select
            aria-label="Kind"
            value=${params.kind || ''}
            onChange=${(e) => put({ kind: e.target.value })}
          >
            <option value="">Kind: all</option>
            ${KINDS.map((k) => html`<option value=${k}>${k}</option>`)}
          </select>
          <select
            aria-label="Trust"
            value=${params.trust || ''}
            onChange=${(e) => put({ trust: e.target.value })}
          >
            <option value="">Trust: all</option>
            ${TRUSTS.map((k) => html`<option value=${k}>${k}</option>`)}
          </select>
          <select
            aria-label="Date"
            value=${params.since || ''}
            onChange=${(e) => put({ since: e.target.value })}
          >
            ${Object.entries(SPANS).map(([days, name]) => html`<option value=${days}>Date: ${name}</option>`)}
          </select>
          <select
            aria-label="How many"
            value=${params.k || '8'}
            onChange=${(e) => put({ k: e.target.value })}
          >
            ${[8, 20, 50].map((n) => html`<option value=${n}>First ${n}</option>`)}
          </select>
          ${
            d &&
            html`<button class="btn" onClick=${() => ask(true)}>
                Why is it missing?
              </button>
              <span class="push" role="status">
                ${d.hits.length} of ${f.plural(d.findable, 'searchable item')} · ${Math.round(d.milliseconds)} ms
              </span>`
          }
        </div>
        ${got.error && html`<${Failure} error=${got.error} again=${got.reload} />`}
        ${asked.query.trim() && !d && !got.error && html`<${Loading} />`}
        ${
          !asked.query.trim() &&
          html`<${Empty} title="Search what your agent remembers" code=${'memory.recall("when is the launch?")'}>
            Each result shows how much each signal, such as words, meaning, session and date, contributed to its score.
          </${Empty}>`
        }
        ${
          d &&
          !d.hits.length &&
          html`<${Empty} title="No results">
            No message, fact, learning or document matches. Remove filters, or use “Why is it missing?” for
            an item you expected.
          </${Empty}>`
        }
        ${
          d &&
          d.hits.length > 0 &&
          html`<div class="hits">
              <div class="hr h">
                <span>Score</span>
                <span>Result</span>
                ${[...columns, 'other'].map((name) => html`<span class="hs">${name}</span>`)}
              </div>
              ${d.hits.map(
                (h, n) =>
                  html`${n === split && html`<div class="roomends dash">Below 0.50: unlikely to answer</div>`}
                  <${Row}
                    key=${h.id}
                    h=${h}
                    words=${words}
                    asked=${asked}
                    open=${open === h.id}
                    toggle=${() => unfold(open === h.id ? null : h.id)}
                    most=${most}
                    columns=${columns}
                  />`,
              )}
            </div>
            <p class="small ink2" style=${{ paddingTop: '16px' }}>
              The sum of the signals determines the order. The score is the estimated probability that this
              result answers the question; it also depends on the other results. “other” is the sum of the
              weaker signals.
            </p>`
        }
        ${asking && html`<${WhyNot} asked=${asked} onClose=${() => ask(false)} />`}
      </main>`;
}

// @ts-check
/** @import { Shown, ToastRow } from './types.js' */
// Parts that several pages use.
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from './lib.js';
import * as f from './format.js';
import { act, may, view } from './api.js';
import { actorName } from './compute.js';

const PATHS = {
  overview: 'M3 3h4v4H3zM9.5 3h4v4h-4zM3 9.5h4v4H3zM9.5 9.5h4v4h-4z',
  users: 'M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8zM3 14c.4-3 2.2-4.2 5-4.2s4.6 1.2 5 4.2',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14',
  context: 'M2.5 3.5h11M2.5 6.5h7M2.5 9.5h11M2.5 12.5h5',
  learnings: 'M8 2v3M8 11v3M2 8h3M11 8h3M3.8 3.8l2 2M10.2 10.2l2 2M12.2 3.8l-2 2M5.8 10.2l-2 2',
  working: 'M4 3.5h8v10H4zM6.2 2h3.6v3H6.2z',
  documents: 'M4 2h5.5L12.5 5v9H4zM9.5 2v3h3',
  facts: 'M3 3.5h10v9H3zM5.5 6.5h5M5.5 9.5h3',
  threads: 'M3 3h10v7.5H7L4 13v-2.5H3z',
  events: 'M3 4h10v9.5H3zM3 7h10M5.5 2.5V5M10.5 2.5V5',
  review: 'M3 8.5l3.2 3L13 4.5',
  tidy: 'M4 13l5-5M8 3l5 5-3 1-3-3z',
  timeline: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.2l2 1.3',
  audit: 'M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z',
  tasks: 'M2.5 4l1 1 1.8-2M2.5 10l1 1 1.8-2M7.5 4.5H14M7.5 10.5H14',
  jobs: 'M2.5 4h11M2.5 8h11M2.5 12h6M11 12h2.5',
  analyser: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  keys: 'M9.5 9.5a3.2 3.2 0 1 0-3-3L2.5 10.5v3h3v-2h2z',
  state: 'M3 4.5c0-1.4 10-1.4 10 0v7c0 1.4-10 1.4-10 0zM3 4.5c0 1.4 10 1.4 10 0M3 8c0 1.4 10 1.4 10 0',
  records: 'M2.5 3h11v3.5h-11zM2.5 9.5h11V13h-11zM5 4.7h.1M5 11.3h.1',
  link:
    'M6.5 9.5a2.5 2.5 0 0 0 3.6 0l2.6-2.6a2.5 2.5 0 0 0-3.6-3.6l-.9.9' +
    'M9.5 6.5a2.5 2.5 0 0 0-3.6 0L3.3 9.1a2.5 2.5 0 0 0 3.6 3.6l.9-.9',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5V2.5h8',
  compare: 'M2.5 3h4.5v10H2.5zM9 3h4.5v10H9z',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.2 4.5l.6 9h6.4l.6-9M6.8 7v4M9.2 7v4',
  close: 'M4 4l8 8M12 4l-8 8',
  warn: 'M8 2.5 14.5 13.5H1.5zM8 6.5v3M8 11.4v.1',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  check: 'M3 8.5l3.2 3L13 4.5',
  down: 'M4.5 6.5 8 10l3.5-3.5',
  right: 'M6 4l4 4-4 4',
  thread: 'M3 3h10v7.5H7L4 13v-2.5H3z',
  pin: 'M6 2.5h4l-.5 4 2 2.5h-7l2-2.5zM8 9v4.5',
  kept: '',
  folded: 'M8 1.5v4.5M5.8 4 8 6.2 10.2 4M8 14.5V10M5.8 12 8 9.8 10.2 12M3 8h10',
  elided: 'M2 5v6M14 5v6M5.5 8h.1M8 8h.1M10.5 8h.1',
  dropped: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM4.2 11.8l7.6-7.6',
  superseded: 'M3.5 6.5h7a2.5 2.5 0 0 1 0 5.5H8M6 4 3.5 6.5 6 9',
  repaired: 'M8 3v6M8 12v.1',
  shortened: 'M2 5v6M14 5v6M5.5 8h.1M8 8h.1M10.5 8h.1',
};
export const Icon = ({ name }) =>
  html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    ${
      name === 'kept'
        ? html`<circle cx="8" cy="8" r="3" fill="currentColor" stroke="none" />`
        : html`<path d=${PATHS[name] || ''} />`
    }
  </svg>`;
export const Logo = () =>
  html`<svg viewBox="0 0 24 24" aria-hidden="true">
    <rect class="a" x="2" y="3" width="20" height="5" rx="1.5" />
    <rect class="b" x="2" y="10" width="11" height="4" rx="1.5" />
    <rect class="c" x="15" y="10" width="7" height="4" rx="1.5" />
    <rect class="a" x="2" y="16" width="17" height="5" rx="1.5" />
  </svg>`;
export const State = ({ of, word }) =>
  html`<span class=${`st ${of}`}>
    <${Icon} name=${of} />
    ${word || of}
  </span>`;
export const When = ({ at, long }) =>
  html`<time datetime=${at || ''} title=${f.utc(at)}>
    ${long ? f.moment(at) : f.date(at)}
  </time>`;
export const Confidence = ({ of, wide }) =>
  html`<span class=${wide ? 'conf wide' : 'conf'}>
    <i aria-hidden="true">
      <b style=${{ width: `${100 * of}%` }} />
    </i>
    ${of.toFixed(2)}
  </span>`;
export const Id = ({ id }) =>
  html`<button class="linkish mono" title=${`copy ${id}`} onClick=${() => copy(id, 'Copied the id')}>
    ${f.shortId(id)}
  </button>`;

// Toasts, with undo where the engine can undo

export const toasts = signal(/** @type {ToastRow[]} */ ([]));
let number = 0;
/** @param {unknown} said @param {Partial<ToastRow>} [options] */
export function toast(said, { undo, link, bad, action } = {}) {
  const id = ++number;
  const drop = () => {
    toasts.value = toasts.value.filter((one) => one.id !== id);
  };
  toasts.value = [...toasts.value.slice(-2), { id, said, undo, link, bad, action, drop }];
  return drop;
}
export const failed = (error, again) =>
  toast(
    error.status === 412 || error.status === 409
      ? `Changed meanwhile${error.facts.actual ? ` to version ${error.facts.actual}` : ''}.`
      : error.message,
    { bad: true, action: again },
  );
// The newest toast with a button stays until it is used or dismissed: by keyboard, reaching it takes a while.
const stays = (one) =>
  !!(one.undo || one.action) && one === toasts.value.findLast((other) => other.undo || other.action);
function Toast({ one }) {
  const [held, hold] = useState(false);
  const fixed = held || stays(one);
  useEffect(() => {
    if (fixed) return;
    const timer = setTimeout(one.drop, 8000);
    return () => clearTimeout(timer);
  }, [fixed]);
  const undo = async () => {
    one.drop();
    try {
      await one.undo();
      toast('Undone');
    } catch (error) {
      failed(error);
    }
  };
  return html`<div
      class=${one.bad ? 'toast bad' : 'toast'}
      onMouseEnter=${() => hold(true)}
      onMouseLeave=${() => hold(false)}
      onFocusIn=${() => hold(true)}
      onFocusOut=${() => hold(false)}
    >
      ${!one.bad && html`<${Icon} name="check" />`}
      <span>${one.said}</span>
      ${
        one.link &&
        html`<a href=${one.link.href} onClick=${one.drop}>
          ${one.link.text}
        </a>`
      }
      ${
        one.action &&
        html`<button
          onClick=${() => {
            one.drop();
            one.action();
          }}
        >
          Look again
        </button>`
      }
      ${
        one.undo &&
        html`<button data-key="z" onClick=${undo}>
          Undo <kbd>z</kbd>
        </button>`
      }
      ${
        (one.undo || one.action) &&
        html`<button class="drop" aria-label="Dismiss" onClick=${one.drop}>
          <${Icon} name="close" />
        </button>`
      }
    </div>`;
}
export const Toasts = () =>
  html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map((one) => html`<${Toast} key=${one.id} one=${one} />`)}
  </div>`;

export async function copy(said, words = 'Copied') {
  try {
    await navigator.clipboard.writeText(said);
    toast(words);
  } catch {
    toast('The browser refused to copy', { bad: true });
  }
}
export const CopyLink = () =>
  html`<button class="btn bare opt" onClick=${() => copy(location.href, 'Copied the link')}>
    <${Icon} name="link" />
    Copy link
  </button>`;

// Waiting, failing, being empty

export function Loading() {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return shown
    ? html`<div class="shape" role="status" aria-label="Loading">
      <i style=${{ width: '62%' }} />
      <i style=${{ width: '38%' }} />
      <i style=${{ width: '51%' }} />
    </div>`
    : html`<div class="shape" />`;
}
export const Failure = ({ error, again, children }) =>
  html`<div class="error" role="alert">
    <${Icon} name="warn" />
    <div>
      <b class="strong">${TITLES[error.status] || 'Something went wrong'}</b>
      <p class="ink2">${error.message}</p>
      <div class="acts">
        ${
          again &&
          html`<button class="btn" onClick=${again}>
            Try again
          </button>`
        }
        ${children}
      </div>
      ${
        error.request &&
        html`<p class="small ink2">
          ${error.title} · request <code>${error.request}</code>
        </p>`
      }
    </div>
  </div>`;
const TITLES = {
  404: 'Not found',
  403: 'Your key does not allow this',
  429: 'Too many requests at once',
  0: 'The server does not respond',
  503: 'The server is busy',
};
export const Empty = ({ title, code, children, button }) =>
  html`<div class="empty">
    <h2>${title}</h2>
    <p>${children}</p>
    ${code && html`<pre class="code">${code}</pre>`}
    ${button}
  </div>`;
export function Loaded({ of, children }) {
  if (of.error && !of.data) return html`<${Failure} error=${of.error} again=${of.reload} />`;
  if (!of.data) return html`<${Loading} />`;
  return children(of.data);
}

// Rows

// Rows are drawn in chunks, and only those near the screen: one further away is an empty space of its height.
const CHUNK = 50;
function Chunk({ rows, first, draw, as, kind, role }) {
  const box = useRef(null);
  const [room, leave] = useState(null);
  useEffect(() => {
    const seen = new IntersectionObserver(
      (found) => {
        const one = found[found.length - 1];
        // The last report may arrive after the chunk has left the page.
        if (box.current)
          leave(
            one.isIntersecting || box.current.contains(document.activeElement)
              ? null
              : one.boundingClientRect.height / Math.max(1, rows.length),
          );
      },
      { rootMargin: '1200px 0px' },
    );
    seen.observe(box.current);
    return () => seen.disconnect();
  }, [rows.length]);
  const far = room !== null;
  return html`<${as}
      ref=${box}
      class=${kind}
      role=${far ? 'presentation' : role}
      style=${far ? { height: `${room * rows.length}px` } : {}}
    >
      ${!far && rows.map((row, n) => draw(row, first + n))}
    </${as}>`;
}
export function Chunks({ rows, draw, as = 'ul', kind = 'list', role = null }) {
  const parts = [];
  for (let n = 0; n < rows.length; n += CHUNK)
    parts.push(
      html`<${Chunk}
        key=${n}
        rows=${rows.slice(n, n + CHUNK)}
        first=${n}
        draw=${draw}
        as=${as}
        kind=${kind}
        role=${role}
      />`,
    );
  return parts;
}
export function Table({ cols, heads, rows, cells, keyOf, href, tint, label, more }) {
  const draw = (row, n) =>
    html`<div
      role="row"
      key=${keyOf(row)}
      aria-rowindex=${n + 2}
      data-row=${keyOf(row)}
      tabindex="-1"
      data-href=${href ? href(row) : null}
      class=${tint && tint(row) ? 'tint' : ''}
    >
      ${cells(row).map(
        (cell, place) =>
          html`<div
          role="cell"
          data-head=${place && (cell || cell === 0) ? heads[place].text || heads[place] : null}
          class=${heads[place].right ? 'nums' : ''}
        >
          ${cell}
        </div>`,
      )}
    </div>`;
  return html`<div
      class="table"
      role="table"
      aria-label=${label}
      aria-rowcount=${more ? -1 : rows.length + 1}
      style=${{ '--cols': cols }}
    >
      <div role="rowgroup">
        <div role="row" aria-rowindex="1" class="h">
          ${heads.map(
            (head) =>
              html`<div role="columnheader" class=${head.right ? 'nums' : ''}>
              ${head.text || head}
            </div>`,
          )}
        </div>
      </div>
      <${Chunks} rows=${rows} draw=${draw} as="div" kind="" role="rowgroup" />
    </div>`;
}
export function More({ pages, what = 'rows' }) {
  const end = useRef(null);
  useEffect(() => {
    if (!end.current || pages.next === null) return;
    const seen = new IntersectionObserver(
      (found) => found.some((one) => one.isIntersecting) && pages.more(),
      { rootMargin: '600px' },
    );
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [pages.items.length, pages.next]);
  return html`<div ref=${end} class="ink2 small" style=${{ padding: '10px 0' }}>
      ${
        pages.next !== null
          ? html`<button class="linkish" onClick=${pages.more}>
          ${pages.loading ? 'Loading more…' : `${f.num(pages.items.length)} ${what} so far · show more`}
        </button>`
          : pages.items.length > 20
            ? `${f.num(pages.items.length)} ${what}, all shown`
            : ''
      }
    </div>`;
}
export const Segmented = ({ options, value, onChange, label }) =>
  html`<span class="seg" role="group" aria-label=${label}>
    ${options.map((option) => {
      const [id, name] = Array.isArray(option) ? option : [option, option];
      return html`<button type="button" aria-pressed=${String(id === value)} onClick=${() => onChange(id)}>
          ${name}
        </button>`;
    })}
  </span>`;

// The token bar: a segment per section in sending order, then free room and reserve

const NAMES = {
  tools: 'Tools',
  system: 'System',
  profile: 'Profile',
  history: 'History',
  memory: 'Memory',
  input: 'Input',
  scratchpad: 'Notes',
  overhead: 'Overhead',
};
export const sectionName = (name) => NAMES[name] || name;
export function TokenBar({ made, thin, onPick }) {
  const [tip, show] = useState(null);
  const box = useRef(null);
  const [wide, measure] = useState(800);
  useLayoutEffect(() => {
    const seen = new ResizeObserver(() => box.current && measure(box.current.offsetWidth));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  // A segment too small to hit is no button; its name in the legend is.
  const small = (one) => (wide * one.tokens) / made.budget < 30;
  const parts = made.sections.filter((one) => one.tokens && one.name !== 'overhead');
  const room = made.budget;
  const free = Math.max(0, made.free);
  const tell = (section) => (event) =>
    show({
      section,
      left: Math.min(event.currentTarget.offsetLeft, Math.max(0, box.current.offsetWidth - 260)),
    });
  const counts = (one) =>
    [
      ['kept', one.kept],
      ['shortened', one.shortened],
      ['dropped', one.dropped],
      ['folded', one.folded],
      ['elided', one.elided],
    ]
      .filter(([, n]) => n)
      .map(([word, n]) => `${n} ${word}`)
      .join(' · ');
  const cached = made.prefix ? made.prefix.tokens : 0;
  const tokensOf = (one) => `${f.num(one.tokens)} tokens, ${f.share(one.tokens / room)} of the room`;
  return html`<div class="barbox" ref=${box}>
      <ul class=${thin ? 'bar thin' : 'bar'} aria-label="Where the tokens go">
        ${parts.map(
          (one) =>
            html`<li key=${one.name} style=${{ flexGrow: one.tokens / room, flexBasis: 0 }}>
            ${
              thin || small(one)
                ? html`<span
                class=${`seg0 c-${one.name}`}
                onMouseEnter=${tell(one)}
                onMouseLeave=${() => show(null)}
              >
                <span class="hush">
                  ${sectionName(one.name)} ${one.tokens} tokens
                </span>
              </span>`
                : html`<button
                type="button"
                class=${`c-${one.name}${one.tokens / room > 0.06 ? ' named' : ''}`}
                onMouseEnter=${tell(one)}
                onFocus=${tell(one)}
                onMouseLeave=${() => show(null)}
                onBlur=${() => show(null)}
                onClick=${() => onPick && onPick(one.name)}
                aria-label=${`${sectionName(one.name)}: ${tokensOf(one)}`}
              >
                ${one.tokens / room > 0.06 ? sectionName(one.name) : ''}
              </button>`
            }
          </li>`,
        )}
        ${
          free > 0 &&
          html`<li key="free" style=${{ flexGrow: free / room, flexBasis: 0 }}>
            <span class=${free / room > 0.04 ? 'seg0 free named' : 'seg0 free'}>
              ${!thin && free / room > 0.04 ? 'Free' : html`<span class="hush">Free ${free}</span>`}
            </span>
          </li>`
        }
        ${
          made.reserve > 0 &&
          html`<li key="reserve" style=${{ flexGrow: made.reserve / room, flexBasis: 0 }}>
            <span class=${made.reserve / room > 0.06 ? 'seg0 reserve named' : 'seg0 reserve'}>
              ${
                !thin && made.reserve / room > 0.06
                  ? 'Reserve'
                  : html`<span class="hush">Reserve ${made.reserve}</span>`
              }
            </span>
          </li>`
        }
      </ul>
      ${
        made.prefix &&
        html`<div class="bracket" aria-hidden="true">
          <i style=${{ width: `${Math.max(0, (100 * cached) / room)}%` }} />
        </div>`
      }
      ${
        tip &&
        html`<div class="tip" style=${{ left: `${tip.left}px`, top: '40px' }}>
          <b>${sectionName(tip.section.name)}</b> ${f.num(tip.section.tokens)} tokens,${' '}
          ${f.share(tip.section.tokens / room)} of the room
          <br />
          ${counts(tip.section)}
          ${tip.section.ceiling ? ` · at most ${f.num(tip.section.ceiling)}` : ' · no ceiling'}
        </div>`
      }
    </div>`;
}

// The signals that speak for a hit, stacked
export function Stack({ signals, full = 12 }) {
  const up = Object.entries(signals)
    .filter(([, w]) => w > 0)
    .sort((a, b) => b[1] - a[1]);
  return html`<div class="stack" aria-hidden="true">
      ${up.map(([name, w]) => html`<i key=${name} style=${{ width: `${(100 * w) / full}%` }} />`)}
    </div>`;
}
export const strongest = (signals) => {
  const all = Object.entries(signals).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  return (
    all
      .slice(0, 3)
      .map(([name, w]) => `${name} ${f.signed(w, 2)}`)
      .join(' · ') + (all.length > 3 ? ` · ${all.length - 3} more` : '')
  );
};
// The words of a question, marked where they stand in a text
export function Marked({ text, words }) {
  const wanted = (words || []).filter((w) => w && w.length > 1);
  if (!wanted.length) return text;
  const pattern = new RegExp(
    `(${wanted.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`,
    'gi',
  );
  return text.split(pattern).map((part, place) => (place % 2 ? html`<mark>${part}</mark>` : part));
}

// Dialogs

export function Dialog({ open, onClose, label, children, kind = '' }) {
  const box = useRef(null);
  const from = useRef(null);
  useLayoutEffect(() => {
    if (!open) return;
    from.current = document.activeElement;
    box.current.showModal();
    const first = box.current.querySelector('[autofocus]');
    if (first) first.focus();
    // A dialog belongs to the page it was opened on, which the back button or a link may leave.
    addEventListener('hashchange', onClose);
    return () => {
      removeEventListener('hashchange', onClose);
      if (from.current && from.current.isConnected) from.current.focus();
    };
  }, [open]);
  if (!open) return null;
  return html`<dialog
      ref=${box}
      class=${kind}
      aria-label=${label}
      onCancel=${(e) => {
        e.preventDefault();
        onClose();
      }}
      onClick=${(e) => e.target === box.current && onClose()}
    >
      ${children}
    </dialog>`;
}

const COUNTED = {
  messages: 'messages',
  threads: 'threads',
  summaries: 'summaries',
  facts: 'facts',
  fact_versions: 'earlier versions of facts',
  learnings: 'learnings',
  documents: 'documents',
  chunks: 'chunks',
  entries: 'index entries and vectors',
  working: 'working memory',
  state: 'state',
  records: 'records',
  jobs: 'jobs',
  links: 'links',
  marks: 'marks',
  audit: 'audit events',
  tasks: 'tasks',
  checkpoint_steps: 'task steps',
  receipts: 'receipts',
  candidates: 'memories waiting for review',
  events: 'events',
  event_versions: 'earlier versions of events',
  derivations: 'progress of extraction',
  index_progress: 'progress of indexing',
  namespace_stats: 'statistics',
  request_logs: 'request settings and costs',
  pins: 'pins',
  message_parts: 'long parts of messages',
};
export const tableName = (table) => COUNTED[table] || table.replace(/_/g, ' ');
export const report = signal(null);
// Forgetting: counts first, the name typed, then the report.
export function Forget({ what, name, target, onClose, where }) {
  const [seen, set] = useState(/** @type {Shown} */ ({ preview: null, code: null, error: null }));
  const [typed, type] = useState('');
  const [busy, work] = useState(false);
  const [physical, scrub] = useState(false);
  const [left, tick] = useState(300);
  const count = () => {
    type('');
    act('POST', 'forget', {}, target).then(
      (answer) => {
        set({ preview: answer.erasure, code: answer.code, error: null });
        tick(300);
      },
      (error) => set({ preview: null, error }),
    );
  };
  useEffect(count, []);
  const field = useRef(null);
  useEffect(() => {
    if (field.current) field.current.focus();
  }, [!seen.preview]);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => Math.max(0, n - 1)), 1000);
    return () => clearInterval(timer);
  }, []);
  const rows = seen.preview ? Object.values(seen.preview.counts).reduce((a, b) => a + b, 0) : 0;
  const go = async (event) => {
    event.preventDefault();
    if (typed !== name || busy) return;
    work(true);
    try {
      const { erasure: done } = await act(
        'POST',
        'forget',
        {},
        { ...target, code: seen.code, ...(physical ? { physical } : {}) },
      );
      report.value = {
        ...done,
        what,
        rows: Object.values(done.counts).reduce((a, b) => a + b, 0),
        at: new Date().toISOString(),
      };
      onClose();
      location.hash = f.link('report', { back: where });
    } catch (error) {
      work(false);
      set({ ...seen, error });
    }
  };
  return html`<${Dialog} open onClose=${onClose} label=${`Forget ${what} ${name}`}>
      <form onSubmit=${go}>
        <h2>
          Forget ${what} ${name}?
        </h2>
        <p class="ink2">
          This deletes everything counted below and everything derived from it, in every namespace. You cannot undo it.
        </p>
        ${seen.error && html`<${Failure} error=${seen.error} again=${count} />`}
        ${!seen.preview && !seen.error && html`<${Loading} />`}
        ${
          seen.preview &&
          html`<div class="countgrid">
              ${Object.entries(seen.preview.counts)
                .filter(([, n]) => n)
                .map(
                  ([table, n]) =>
                    html`<div>
                    <span>${tableName(table)}</span>
                    <b>${f.num(n)}</b>
                  </div>`,
                )}
            </div>
            <p class="ink2 small">
              Memorist keeps fingerprints, so that nothing is derived again, and one audit event that
              contains only counts.
            </p>
            <label class="f" for="confirm" style=${{ marginTop: '12px' }}>
              Type <b>${name}</b> to confirm
            </label>
            <div class="row">
              <input
                id="confirm"
                ref=${field}
                class="t"
                style=${{ flex: 1, width: 'auto' }}
                autocomplete="off"
                spellcheck=${false}
                value=${typed}
                onInput=${(e) => type(e.target.value)}
              />
              ${
                may('operator') &&
                html`<label class="check">
                  <input
                    type="checkbox"
                    checked=${physical}
                    onChange=${(e) => scrub(e.target.checked)}
                  />
                  Also rewrite the files without the deleted bytes
                </label>`
              }
            </div>`
        }
        <div class="row" style=${{ marginTop: '16px' }}>
          <span class="ink2 small">
            ${
              seen.preview &&
              (left
                ? `The preview is valid for ${Math.floor(left / 60)} min ${left % 60} s`
                : html`The preview has expired.${' '}
                  <button type="button" class="linkish" onClick=${count}>
                    Count again
                  </button>`)
            }
          </span>
          <span class="push"></span>
          <button type="button" class="btn" onClick=${onClose}>
            Cancel <kbd>Esc</kbd>
          </button>
          <button
            class="btn harm primary"
            disabled=${typed !== name || busy || !seen.preview || !left}
          >
            ${busy ? 'Forgetting…' : `Forget ${f.plural(rows, 'row')}`}
          </button>
        </div>
      </form>
    </${Dialog}>`;
}

// A line of code with colours for its strings, and a way to copy it
export const Code = ({ text, label = 'Code' }) =>
  html`<div style=${{ position: 'relative' }}>
    <pre class="code copied" tabindex="0" role="region" aria-label=${label}>
      ${text
        .split(/("(?:[^"\\]|\\.)*")/)
        .map((part, n) => (n % 2 ? html`<span class="s">${part}</span>` : part))}
    </pre>
    <button
      class="btn bare"
      style=${{ position: 'absolute', right: '4px', top: '4px' }}
      onClick=${() => copy(text)}
      aria-label="Copy"
    >
      <${Icon} name="copy" />
    </button>
  </div>`;
export const Json = ({ of, label }) => html`<${Code} text=${JSON.stringify(of, null, 2)} label=${label} />`;

export const owner = (ns) =>
  f.userOf(ns) ? html`<a href=${f.link('user', { user: f.userOf(ns) })}>${f.userOf(ns)}</a>` : ns;

const VERBS = {
  add: 'added',
  approve: 'approved',
  cancel: 'cancelled',
  correct: 'corrected',
  create: 'created',
  delete: 'deleted',
  delete_messages: 'deleted messages of',
  derive: 'extracted',
  edit: 'edited',
  end: 'ended',
  expire: 'let expire',
  fail: 'failed',
  finish: 'finished',
  pin: 'pinned',
  pop: 'took the last message of',
  propose: 'proposed',
  redact: 'redacted',
  reinforce: 'reinforced',
  reject: 'rejected',
  replace: 'replaced',
  reset: 'reset',
  restore: 'restored',
  resume: 'resumed',
  retracted: 'withdrew',
  set: 'set',
  tidy: 'tidied up',
  undo: 'undid a change to',
  unpin: 'unpinned',
  update: 'changed',
  weaken: 'weakened',
};
const TASK_VERBS = { ...VERBS, create: 'started' };
// What happened, in plain verbs. `owner` draws whose record it is, where a page is not about one user alone.
export function EventLine({ e, owner }) {
  const verb = (e.kind === 'task' ? TASK_VERBS : VERBS)[e.action] || e.action;
  const about = (word) => (owner && e.of ? html`${' '}${word} ${owner(e.of)}` : '');
  const talk = (id, title) => html`<a href=${f.threadLink(id)}>${title || f.shortId(id)}</a>`;
  const from =
    e.source && e.source.includes('#')
      ? html`${' '}
        from${' '}
        <a href=${f.messageLink(e.source)}>
          ${e.title || f.shortId(e.source)} #${e.source.split('#')[1]}
        </a>`
      : '';
  if (e.action === 'said')
    return html`talked in ${talk(e.thread, e.title)} <span class="ink2">${f.plural(e.count, 'message')}</span>`;
  if (e.action === 'fold')
    return html`summarised ${talk(e.subject, e.title)}${' '}
        <span class="ink2">
          #${e.detail.first}–${e.detail.last}
        </span>
        ${about('of')}`;
  if (e.action === 'forget')
    return html`forgot a ${e.kind} <code class="ink2">(fingerprint ${e.subject.slice(0, 4)}…)</code>`;
  if (e.kind === 'task')
    return html`${verb} task${' '}
        <a href=${f.link('task', { id: e.subject })}>
          <code>${e.subject}</code>
        </a>`;
  if (e.kind === 'fact') {
    const slash = e.subject.indexOf('/');
    const key = e.subject.slice(slash + 1);
    return html`${verb}${' '}
        <a href=${f.factLink(e.subject.slice(0, slash), key)}>
          <code>${key}</code>
        </a>
        ${e.count > 1 ? ` and ${e.count - 1} more` : ''}
        ${about('of')}
        ${from}`;
  }
  if (e.kind === 'learning')
    return html`${verb}${' '}<a href=${f.link('learnings', { ns: e.of })}>a learning</a>${about('about')}${from}`;
  if (e.kind === 'candidate')
    return html`${verb}${' '}<a href="#/review">a memory for review</a>${about('about')}${from}`;
  if (e.kind === 'event')
    return html`${verb}${' '}<a href=${f.link('events', { ns: e.of })}>an event</a>${about('about')}${from}`;
  if (e.kind === 'thread') return html`${verb} ${talk(e.subject, e.title)}${about('of')}`;
  if (e.kind === 'facts') return html`${verb} ${f.plural(e.detail.facts, 'fact')}${about('of')}`;
  if (e.kind === 'message')
    return html`${verb} message${' '}<a href=${f.messageLink(e.subject)}>${f.shortId(e.subject)}</a>${about('of')}`;
  return html`${verb} ${e.kind} <code>${e.subject}</code>
      ${about('of')}
      ${from}`;
}
const eventNote = (e) =>
  e.action === 'forget' && e.rows
    ? f.plural(e.rows, 'row')
    : e.detail && e.detail.fence
      ? `fence ${e.detail.fence}`
      : '';
// One change of a list: when, by whom, what. `clock` leaves out the day, where a heading names it.
export const EventRow = ({ e, owner, clock }) =>
  html`<li class="change" data-row=${e.id} tabindex="-1">
    <time class="ink2" datetime=${e.at} title=${f.utc(e.at)}>${clock ? f.clock(e.at) : f.date(e.at)}</time>
    <span class="ink2 by">${actorName(e)}</span>
    <span class="what"><${EventLine} e=${e} owner=${owner} /></span>
    <span class="ink2 small">${eventNote(e)}</span>
  </li>`;

export { act, may, view };

// @ts-check
/** @import { Shown } from '../types.js' */
// A thread: a ruler for place and jumps, the summary over the range it stands for, messages, and what each yielded.
import { html, useEffect, useMemo, useRef, useState } from '../lib.js';
import * as f from '../format.js';
import { may, useView, view } from '../api.js';
import { put } from '../router.js';
import {
  CopyLink,
  Failure,
  Forget,
  Icon,
  Id,
  Loaded,
  Loading,
  Marked,
  State,
  When,
  failed,
  toast,
} from '../parts.js';
import { useRefresh } from './overview.js';

const PAGE = 60,
  MOST = 240,
  ELIDE = 500;

const fit = (rows, side) =>
  rows.length <= MOST ? rows : side === 'end' ? rows.slice(-MOST) : rows.slice(0, MOST);

// Messages around a place, at most a few pages of them: more are read as one scrolls, the far end is let go.
function useMessages(id, length, start) {
  const [state, set] = useState(
    /** @type {{rows: Shown[], error: Shown, loading: boolean}} */ ({ rows: [], error: null, loading: true }),
  );
  const box = useRef(state);
  box.current = state;
  const read = async (asked) => (await view('messages', { id, limit: PAGE, ...asked })).items;
  const jump = async (seq) => {
    set((old) => ({ ...old, loading: true }));
    try {
      const rows = await read({
        after: Math.max(0, Math.min(seq, Math.max(1, length)) - 1 - PAGE / 3),
      });
      set({ rows, error: null, loading: false });
      return rows;
    } catch (error) {
      set({ rows: [], error, loading: false });
      return [];
    }
  };
  const later = async () => {
    const { rows, loading } = box.current;
    if (loading || !rows.length || rows[rows.length - 1].seq >= length) return;
    set((old) => ({ ...old, loading: true }));
    const more = await read({ after: rows[rows.length - 1].seq });
    set((old) => ({ ...old, rows: fit([...old.rows, ...more], 'end'), loading: false }));
  };
  const earlier = async () => {
    const { rows, loading } = box.current;
    if (loading || !rows.length || rows[0].seq <= 1) return;
    set((old) => ({ ...old, loading: true }));
    const more = await read({ before: rows[0].seq });
    const top = document.documentElement.scrollHeight - scrollY;
    set((old) => ({ ...old, rows: fit([...more, ...old.rows], 'start'), loading: false }));
    requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight - top));
  };
  useEffect(() => {
    if (length) jump(start || Math.max(1, length - PAGE + 1));
    else set({ rows: [], error: null, loading: false });
  }, [id, length]);
  return { ...state, jump, later, earlier };
}

// A call and its results are one box; whatever stands alone is itself.
function exchanges(rows) {
  const out = [];
  for (const row of rows) {
    const last = out[out.length - 1];
    if (row.results.length && last && last.calls && !row.calls.length) {
      last.results.push(row);
      last.last = row.seq;
      last.tokens += row.tokens;
    } else if (row.calls.length) out.push({ ...row, own: row, results: [], last: row.seq });
    else out.push({ ...row, last: row.seq, calls: null, stray: row.results.length ? row : null });
  }
  return out;
}

function Long({ text, lines = 12, words }) {
  const [open, show] = useState(false);
  const all = text.split('\n');
  const long = all.length > lines || text.length > 1600;
  const cut = open || !long ? text : all.slice(0, lines).join('\n').slice(0, 1600);
  return html`<div class="say">
        <${Marked} text=${cut} words=${words} />
        ${long && !open ? '…' : ''}
      </div>
      ${
        long &&
        html`<button class="linkish small" onClick=${() => show(!open)}>
          ${open ? 'show less' : 'show all'}
        </button>`
      }`;
}
function Result({ text }) {
  const [open, show] = useState(false);
  const lines = text.split('\n');
  const long = lines.length > 4 || text.length > 400;
  return html`<div>
      <pre>${open || !long ? text : lines.slice(0, 3).join('\n').slice(0, 400)}</pre>
      ${
        long &&
        html`<button class="linkish small" onClick=${() => show(!open)}>
          ${open ? 'show less' : `… ${lines.length > 3 ? `${lines.length - 3} more lines · ` : ''}show all`}
        </button>`
      }
    </div>`;
}
const called = (call) =>
  `${call.name}(${
    call.arguments && typeof call.arguments === 'object'
      ? Object.entries(call.arguments)
          .map(([k, v]) => `${k}: ${f.text(v)}`)
          .join(', ')
      : call.arguments || ''
  })`;

const Yielded = ({ y }) =>
  y.kind === 'fact'
    ? html`<div class="yield">
      <b>fact</b>${' '}
      <a href=${f.factLink(y.ns, y.key)}>
        <code>${y.key}</code>
      </a>${' '}
      = ${f.text(y.value).slice(0, 60)}
      <span>
        confidence ${y.confidence.toFixed(2)}
        ${y.had ? `, replaced ${f.text(y.replaced).slice(0, 40)}` : ''}
        ${y.expires ? `, expires ${f.date(y.expires)}` : ''}
        ${y.holds ? '' : ' · no longer current'}
      </span>
    </div>`
    : html`<div class="yield learning">
      <b>learning</b> · ${y.type}
      <span>${y.content}</span>
    </div>`;

function Msg({ m, d, here, words, pin, folded }) {
  const user = f.userOf(d.ns);
  const who = m.name || (m.role === 'user' ? user || 'user' : m.role);
  const seq = m.last > m.seq ? `#${m.seq}–${m.last}` : `#${m.seq}`;
  const elided = m.calls && m.results.some((r) => r.tokens > ELIDE);
  return html`<div
      class=${`msg${here ? ' here' : ''}${folded ? ' in' : ''}${m.pinned ? ' pinned' : ''}`}
      data-row=${m.id}
      id=${`m${m.seq}`}
      tabindex="-1"
    >
      <div class="rail" />
      <div class="who">
        <b>${who}</b>
        <span>
          ${seq} ·${' '}
          <time datetime=${m.at} title=${f.utc(m.at)}>
            ${f.clock(m.at)}
          </time>
        </span>
        ${
          m.pinned &&
          html`<br />
            <span class="small">
              <${Icon} name="pin" /> pinned
            </span>`
        }
      </div>
      <div class="body">
        ${
          m.calls
            ? html`${m.text && html`<${Long} text=${m.text} />`}
            <div class="xch">
              ${m.calls.map(
                (call) =>
                  html`<div>
                  <span class="l">call</span>
                  <code class="wrap">${called(call)}</code>
                  <span class="ink2 small">${m.own.tokens}</span>
                </div>`,
              )}
              ${m.results.map(
                (r) =>
                  html`<div>
                  <span class="l">result</span>
                  <${Result} text=${r.text || f.text(r.results[0] && r.results[0].content)} />
                  <span class="ink2 small">${f.num(r.tokens)}</span>
                </div>`,
              )}
            </div>
            ${
              elided &&
              html`<p class="small">
                <${State} of="elided" word="elided in requests" />${' '}
                <span class="ink2">if the policy elides results over ${ELIDE} tokens</span>
              </p>`
            }`
            : html`<${Long} text=${m.text || (m.stray ? f.text(m.stray.results) : '')} words=${words} />`
        }
      </div>
      <div class="tok">
        ${f.num(m.tokens)}
        ${
          may('writer') &&
          html`<br />
            <button
              class="linkish small pinner"
              onClick=${() => pin(m)}
              aria-label=${`${m.pinned ? 'Unpin' : 'Pin'} #${m.seq}`}
            >
              ${m.pinned ? 'unpin' : 'pin'}
            </button>`
        }
      </div>
      <div class="margin">
        ${
          m.calls &&
          html`<div class="yield tool">
            trust: tool<span>a tool result alone never becomes a fact about ${user || 'the user'}</span>
          </div>`
        }
        ${
          m.attached &&
          html`<div class="yield summary">
            sent with recalled memory<span>later requests send the same bytes</span>
          </div>`
        }
        ${m.yields.map((y) => html`<${Yielded} y=${y} />`)}
      </div>
    </div>`;
}

export function Thread({ Top, main, params }) {
  const got = useView('thread', { id: params.id || '' });
  const d = got.data;
  const at = params.at ? Number(params.at) : null;
  const talk = useMessages(params.id, d ? d.length : 0, at);
  const [open, unfold] = useState(params.open === '1' || (d && at && d.summaries.some((s) => at <= s.last)));
  const [forgetting, forget] = useState(false);
  useRefresh(got.reload);
  const behind = d ? Math.max(0, ...d.summaries.map((s) => s.last)) : 0;
  const shown = useMemo(
    () => exchanges(talk.rows.filter((m) => open || m.seq > behind || (at && at <= behind))),
    [talk.rows, open, behind, at],
  );
  const ends = useRef(null),
    starts = useRef(null),
    went = useRef(null);
  useEffect(() => {
    const watch = new IntersectionObserver(
      (found) =>
        found.forEach(
          (one) => one.isIntersecting && (one.target === ends.current ? talk.later() : talk.earlier()),
        ),
      { rootMargin: '500px' },
    );
    if (ends.current) watch.observe(ends.current);
    if (starts.current && went.current) watch.observe(starts.current);
    return () => watch.disconnect();
  }, [talk.rows.length, talk.rows[0] && talk.rows[0].seq]);
  useEffect(() => {
    if (!at || went.current === at || !talk.rows.length) {
      if (talk.rows.length && !went.current) went.current = -1;
      return;
    }
    went.current = at;
    requestAnimationFrame(() => {
      const row = document.getElementById(`m${at}`) || document.getElementById(`m${at - 1}`);
      if (row) {
        row.scrollIntoView({ block: 'center' });
        row.focus({ preventScroll: true });
      }
    });
  }, [talk.rows.length, at]);
  const jump = async (seq) => {
    if (seq <= behind) unfold(true);
    if (!talk.rows.some((m) => m.seq === seq)) await talk.jump(seq);
    went.current = null;
    put({ at: seq });
  };
  const pin = async (m) => {
    try {
      await view('pin', { message: m.id, pinned: !m.pinned });
      toast(m.pinned ? 'Unpinned' : 'Pinned. Every later request in this thread contains this message.', {
        undo: () => view('pin', { message: m.id, pinned: m.pinned }).then(() => talk.jump(m.seq)),
      });
      talk.jump(m.seq);
    } catch (error) {
      failed(error);
    }
  };
  const user = d && f.userOf(d.ns);
  const summary = d && d.summaries[d.summaries.length - 1];
  const fact = params.mark ? [params.mark] : [];
  return html`<${Top}
        crumbs=${[
          { text: 'Users', href: '#/users' },
          ...(user ? [{ text: user, href: f.link('user', { user }) }] : []),
          (d && d.title) || f.shortId(params.id || ''),
        ]}
      >
        <${CopyLink} />
        ${
          may('forget') &&
          html`<button class="btn harm undocked" onClick=${() => forget(true)}>
            <${Icon} name="trash" />
            Forget this thread…
          </button>`
        }
        <a class="btn bare" href=${f.link('costs', { thread: params.id })}>Cost</a>
        <a class="btn primary undocked" href=${f.link('context', { thread: params.id })}>
          <${Icon} name="context" />
          See the next request
        </a>
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${() =>
            html`<div class="head" style=${{ marginBottom: 0 }}>
                <h1>${d.title || 'Untitled thread'}</h1>
                <${Id} id=${d.id} />
              </div>
              <p class="lead">
                ${f.plural(d.length, 'message')}, ${f.num(d.tokens)} tokens · ${f.date(d.created)} to${' '}
                ${f.moment(d.updated)}
                ${summary ? ` · 1 summary replaces #${summary.first}–${summary.last}` : ''}
                ${
                  Object.keys(d.yielded).length
                    ? ` · derived: ${Object.entries(d.yielded)
                        .filter(([k]) => k !== 'summary')
                        .map(([k, n]) => f.plural(n, k))
                        .join(', ')}`
                    : ''
                }
              </p>
              ${
                d.ruler.length > 1 &&
                html`<div
                    class="ruler"
                    role="group"
                    aria-label="Messages by tokens; choose one to go there"
                  >
                    ${d.ruler.map((bar, n) => {
                      const most = Math.max(...d.ruler.filter((b) => !b.tool).map((b) => b.tokens), 1);
                      const on = at && at >= bar.seq && at <= bar.last;
                      return html`<button
                          tabindex=${n === 0 || on ? 0 : -1}
                          class=${on ? 'he' : bar.tool ? 'to' : bar.last <= behind ? 'fo' : ''}
                          aria-label=${`#${bar.seq}, ${bar.tokens} tokens`}
                          title=${`#${bar.seq}`}
                          onClick=${() => jump(bar.seq)}
                          onKeyDown=${(e) => {
                            const to =
                              e.key === 'ArrowRight'
                                ? e.currentTarget.nextElementSibling
                                : e.key === 'ArrowLeft'
                                  ? e.currentTarget.previousElementSibling
                                  : null;
                            if (to) to.focus();
                          }}
                        >
                          <i
                            style=${{
                              height: `${Math.max(12, Math.min(100, (70 * bar.tokens) / most))}%`,
                            }}
                          />
                        </button>`;
                    })}
                  </div>
                  <div class="row small ink2" style=${{ marginBottom: '20px' }}>
                    <span>
                      <i class="sw" style=${{ background: 'light-dark(#9DB5E4, #33507F)' }} />
                      folded in requests
                    </span>
                    <span>
                      <i class="sw c-quiet" />
                      sent in full
                    </span>
                    <span>
                      <i class="sw c-tools" />
                      tool result
                    </span>
                    <span>
                      <i class="sw c-ink" />
this message
                    </span>
                    <span class="push">Height shows tokens. Click to jump.</span>
                  </div>`
              }
              <div class="talk">
                ${
                  summary &&
                  html`<div class="msg in" style=${{ contentVisibility: 'visible' }}>
                    <div class="rail" />
                    <div class="fold" style=${{ gridColumn: '2 / 5' }}>
                      <div class="row">
                        <${State} of="folded" word=${`Summary of #${summary.first}–${summary.last}`} />
                        <span class="small ink2">
                          ${summary.method} · ${summary.actor} · <${When} at=${summary.at} long />
                        </span>
                        <span class="push small">
                          ${summary.from && html`<span class="struck">${f.num(summary.from)}</span>${' '}`}
                          ${f.num(summary.tokens)} tokens
                        </span>
                      </div>
                      <p class="say">${summary.text}</p>
                      <p class="small">
                        <button
                          class="linkish"
                          onClick=${() => {
                            unfold(!open);
                            if (!open) talk.jump(summary.first);
                          }}
                        >
                          ${open ? 'Hide the' : 'Show the'} ${summary.last - summary.first + 1}${' '}
                          messages
                        </button>${' '}
                        <span class="ink2">
                          All of them are still stored; requests contain the summary instead.
                        </span>
                      </p>
                    </div>
                    <div class="margin">
                      <div class="yield summary">
                        ${summary.last - summary.first + 1} sources
                        <span>
                          #${summary.first}–${summary.last}
                        </span>
                      </div>
                    </div>
                  </div>`
                }
                ${talk.error && html`<${Failure} error=${talk.error} />`}
                ${d.length === 0 && html`<p class="ink2">This thread has no messages yet.</p>`}
                ${
                  talk.rows.length > 0 &&
                  talk.rows[0].seq > 1 &&
                  (open || talk.rows[0].seq > behind + 1) &&
                  html`<p ref=${starts} class="day">
                      <button class="linkish" onClick=${talk.earlier}>
                        ${f.num(talk.rows[0].seq - 1 - (open ? 0 : behind))} earlier messages
                      </button>
                    </p>`
                }
                ${shown.map(
                  (m, n) =>
                    html`${
                      (n === 0 || f.dayOf(shown[n - 1].at) !== f.dayOf(m.at)) &&
                      html`<p class="day">${f.dayOf(m.at)}</p>`
                    }
                    <${Msg}
                      key=${m.id}
                      m=${m}
                      d=${d}
                      here=${at !== null && at >= m.seq && at <= m.last}
                      folded=${m.seq <= behind}
                      words=${at === m.seq ? fact : null}
                      pin=${pin}
                    />`,
                )}
                ${
                  talk.rows.length > 0 &&
                  talk.rows[talk.rows.length - 1].seq < d.length &&
                  html`<p ref=${ends} class="day">
                    <button class="linkish" onClick=${talk.later}>
                      ${f.num(d.length - talk.rows[talk.rows.length - 1].seq)} later messages
                    </button>
                  </p>`
                }
                ${talk.loading && html`<${Loading} />`}
              </div>
              <div class="docked">
                <a class="btn primary" href=${f.link('context', { thread: d.id })}>
                  See the next request
                </a>
                ${
                  may('forget') &&
                  html`<button class="btn harm" onClick=${() => forget(true)}>
                    Forget…
                  </button>`
                }
              </div>`}
        </${Loaded}>
        ${
          forgetting &&
          html`<${Forget}
            what="thread"
            name=${(d && d.title) || params.id}
            target=${{ thread: params.id }}
            where=${user ? f.link('user', { user }) : '#/users'}
            onClose=${() => forget(false)}
          />`
        }
      </main>`;
}

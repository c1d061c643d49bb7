// @ts-check
// What waits for a person's approval: one row each, with the words it comes from; a approves, x rejects, e edits.
import { html, useEffect, useRef, useState } from '../lib.js';
import * as f from '../format.js';
import { act, may, usePages } from '../api.js';
import { candidateVerb, ownerName } from '../compute.js';
import { put } from '../router.js';
import { Confidence, Empty, Failure, Loading, More, When, failed, toast } from '../parts.js';
import { useRefresh } from './overview.js';

const CODE = `from memorist import Extraction, Memory

memory = Memory("agent.db", extract=Extraction(admit={"allergy": "review"}))`;

const hasValue = (one) => one.value !== null && one.value !== undefined;
function Edit({ one, onClose, reload }) {
  const [text, type] = useState(one.text);
  const [value, set] = useState(hasValue(one) ? f.text(one.value) : '');
  const keyed = one.kind === 'fact' && one.operation !== 'end';
  const save = async (e) => {
    e.preventDefault();
    const body = {
      ...(text === one.text ? {} : { text }),
      ...(keyed && value !== f.text(one.value) ? { value } : {}),
    };
    try {
      if (Object.keys(body).length) await act('PATCH', 'review/candidate', { id: one.id, ns: one.ns }, body);
      toast('Saved. It is still waiting for approval.');
      onClose();
      reload();
    } catch (error) {
      failed(error, reload);
    }
  };
  return html`<form onSubmit=${save} style=${{ maxWidth: '560px', marginTop: '8px' }}>
      <label class="f" for=${`r-text-${one.id}`}>Sentence</label>
      <textarea id=${`r-text-${one.id}`} class="t" autofocus onInput=${(e) => type(e.target.value)} value=${text} />
      ${
        keyed &&
        html`<label class="f" for=${`r-value-${one.id}`} style=${{ marginTop: '8px' }}>Value</label>
          <input id=${`r-value-${one.id}`} class="t" value=${value} onInput=${(e) => set(e.target.value)} />`
      }
      <div class="row" style=${{ marginTop: '8px' }}>
        <button class="btn primary">Save</button>
        <button type="button" class="btn" data-key="Escape" onClick=${onClose}>
          Cancel <kbd>Esc</kbd>
        </button>
      </div>
    </form>`;
}

function Row({ one, here, editing, edit, reload, choose, hide }) {
  const row = useRef(null);
  useEffect(() => {
    if (here && row.current && !row.current.contains(document.activeElement)) row.current.focus();
  }, [here, editing]);
  // Until the answer is there, the same key must not act on the same memory again.
  const [busy, work] = useState(false);
  const approve = async () => {
    if (busy) return;
    work(true);
    try {
      const memory = await act('POST', 'review/approve', { id: one.id, ns: one.ns }, {});
      const undo = async () => {
        await act('POST', 'memory/undo', { id: memory.id, ns: one.ns }, {});
        hide(one.id, false);
        reload();
      };
      toast('Approved. Recall and requests can now use it.', {
        undo: memory && memory.id ? undo : undefined,
      });
      hide(one.id, true);
      reload();
    } catch (error) {
      failed(error, reload);
    }
    work(false);
  };
  const reject = async () => {
    if (busy) return;
    work(true);
    try {
      await act('POST', 'review/reject', { id: one.id, ns: one.ns }, {});
      toast('Rejected. The same message will not propose it again.');
      hide(one.id, true);
      reload();
    } catch (error) {
      failed(error, reload);
    }
    work(false);
  };
  const source = one.sources[one.sources.length - 1];
  return html`<li ref=${row} data-row=${one.id} tabindex="-1" class=${here ? 'here' : ''} onFocusIn=${choose}>
      <span class="r">
        <a href=${f.link('user', { user: f.userOf(one.ns) })}>${ownerName(one.ns)}</a> · <${When} at=${one.at} />
      </span>
      <p>
        <span class="pill">${candidateVerb(one)}</span>${' '}
        <b class="strong">${one.text}</b>
      </p>
      ${
        one.key &&
        html`<p class="small ink2">
            <code>${one.key}</code>
            ${hasValue(one) && html` = <code>${f.text(one.value)}</code>`}
          </p>`
      }
      ${one.quote && html`<p class="ink2">“${one.quote}”</p>`}
      <p class="small ink2">
        ${one.reason ? `${one.reason} · ` : ''}${one.kind} · trust: ${one.trust} · confidence${' '}
        <${Confidence} of=${one.confidence} />
        ${
          source && source.includes('#')
            ? html` · <a data-key=${here ? 'w' : null} href=${f.messageLink(source)}>see the message</a>`
            : ''
        }
      </p>
      ${
        editing
          ? html`<${Edit} one=${one} onClose=${() => edit(null)} reload=${reload} />`
          : may('writer') &&
            html`<div class="row" style=${{ marginTop: '8px' }}>
              <button class="btn primary" data-key=${here ? 'a' : null} onClick=${approve}>
                Approve ${here && html`<kbd>a</kbd>`}
              </button>
              <button class="btn" data-key=${here ? 'x' : null} onClick=${reject}>
                Reject ${here && html`<kbd>x</kbd>`}
              </button>
              <button class="btn bare" data-key=${here ? 'e' : null} onClick=${() => edit(one.id)}>
                Edit ${here && html`<kbd>e</kbd>`}
              </button>
            </div>`
      }
    </li>`;
}

export function Review({ Top, main, params }) {
  const pages = usePages('list', {
    kind: 'candidates',
    ...(params.user ? { ns: `user:${params.user}` } : {}),
  });
  const [editing, edit] = useState(null);
  const [chosen, choose] = useState(null);
  useRefresh(pages.reload);
  // What was decided leaves the list at once, not when the list has been read again.
  const [decided, decide] = useState(/** @type {string[]} */ ([]));
  const hide = (id, hidden) => decide((ids) => (hidden ? [...ids, id] : ids.filter((other) => other !== id)));
  const rows = pages.items.filter((one) => !decided.includes(one.id));
  // After an act the next row is at hand, so that a queue can be worked through without the mouse.
  const index = Math.max(
    0,
    rows.findIndex((one) => one.id === chosen),
  );
  const last = useRef(0);
  useEffect(() => {
    if (rows.length && !rows.some((one) => one.id === chosen))
      choose(rows[Math.min(last.current, rows.length - 1)].id);
    else last.current = index;
  }, [pages.items, decided, index]);
  return html`<${Top} crumbs=${['Review']} />
      <main id="main" ref=${main} tabindex="-1">
        <h1>
          ${rows.length ? `${f.plural(rows.length, 'memory is', 'memories are')} waiting for approval.` : 'Review'}
        </h1>
        <p class="lead">Recall and requests ignore these memories until someone approves them.</p>
        <div class="filters">
          <input
            aria-label="User"
            placeholder="User: all"
            value=${params.user || ''}
            onChange=${(e) => put({ user: e.target.value.trim() })}
          />
          ${
            rows.length > 0 &&
            html`<span class="small ink2 opt">
              <kbd>j</kbd> <kbd>k</kbd> next or previous · <kbd>a</kbd> approve · <kbd>x</kbd> reject ·${' '}
              <kbd>e</kbd> edit · <kbd>w</kbd> see the message
            </span>`
          }
        </div>
        ${pages.error && html`<${Failure} error=${pages.error} again=${pages.reload} />`}
        ${pages.loading && !rows.length && html`<${Loading} />`}
        ${
          !pages.loading &&
          !rows.length &&
          !pages.error &&
          html`<${Empty} title="No memories are waiting" code=${CODE}>
            Memories wait here if your program's ${html`<code>admit=</code>`} setting returns “review” for
            them, for example for personal data or low confidence.
          </${Empty}>`
        }
        <ul class="list review">
          ${rows.map(
            (one, n) =>
              html`<${Row}
                key=${one.id}
                one=${one}
                here=${n === index}
                editing=${editing === one.id}
                edit=${edit}
                reload=${pages.reload}
                choose=${() => choose(one.id)}
                hide=${hide}
              />`,
          )}
        </ul>
        <${More} pages=${pages} what="candidates" />
      </main>`;
}

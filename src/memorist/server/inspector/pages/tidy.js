// @ts-check
// Tidying up: a plan of merges, endings and rewordings, each with its reason; applied and undone as one step.
import { html, useEffect, useRef, useState } from '../lib.js';
import * as f from '../format.js';
import { act, may, useView, view } from '../api.js';
import { OPERATIONS, planSentence } from '../compute.js';
import { put } from '../router.js';
import { Empty, Failure, Loading, When, failed, toast } from '../parts.js';

const memoryName = (id) => id.replace(/^fact:/, '');

function Line({ line, ns }) {
  return html`<li data-row=${line.ids.join(' ')} tabindex="-1">
      <span class="pill">${OPERATIONS[line.op] || line.op}</span>
      ${line.before.map((text) => html`<p><del class="diffline">- ${text}</del></p>`)}
      ${line.text && html`<p><ins class="diffline">+ ${line.text}</ins></p>`}
      <p class="small ink2">
        ${line.reason}${line.reason ? ' · ' : ''}${line.ids.map((id, n) =>
          id.startsWith('fact:')
            ? html`${n > 0 ? ', ' : ''}<a href=${f.factLink(ns, id.slice(5))}><code>${memoryName(id)}</code></a>`
            : html`${n > 0 ? ', ' : ''}${id.split(':')[0]} <code>${f.shortId(id)}</code>`,
        )}
        ${line.sources
          .filter((source) => source.includes('#'))
          .slice(0, 3)
          .map((source) => html` · <a href=${f.messageLink(source)}>${f.shortId(source)}</a>`)}
      </p>
    </li>`;
}

function Applied({ ns, turn, undo }) {
  const got = useView('plans', { ns, turn: undefined });
  useEffect(got.reload, [turn]);
  if (!got.data || !got.data.items.length) return null;
  return html`<section style=${{ marginTop: '32px' }}>
      <div class="head">
        <h2>Applied</h2>
        <span class="small ink2">you can undo each plan in one step</span>
      </div>
      <ul class="list">
        ${got.data.items.map(
          (plan) =>
            html`<li key=${plan.id} data-row=${plan.id} tabindex="-1">
              <span class="r">
                ${
                  may('writer') &&
                  html`<button
                    class="btn"
                    onClick=${() => undo(plan)}
                    aria-label=${`Undo the changes of ${f.moment(plan.at)}`}
                  >
                    Undo
                  </button>`
                }
              </span>
              ${planSentence(plan)} <span class="ink2"><${When} at=${plan.at} long /></span>
            </li>`,
        )}
      </ul>
    </section>`;
}

export function Tidy({ Top, main, params }) {
  const [plan, show] = useState(null),
    [error, fail] = useState(null),
    [busy, work] = useState(false),
    [turn, again] = useState(0),
    [typed, type] = useState(params.user || '');
  const ns = params.user ? `user:${params.user}` : null;
  const make = () => {
    if (!ns) return;
    show(null);
    fail(null);
    act('POST', 'tidy', {}, { ns }).then(show, fail);
  };
  useEffect(() => {
    type(params.user || '');
    make();
  }, [params.user]);
  // The messages that offer to undo a plan, which go once it is undone on the page.
  const applied = useRef(/** @type {Record<string, () => void>} */ ({}));
  const undo = async (done) => {
    await act('POST', 'tidy/undo', {}, { id: done.id, ns: done.ns });
    again((n) => n + 1);
    make();
  };
  const undoNow = async (done) => {
    try {
      await undo(done);
      applied.current[done.id]?.();
      toast('Undone. All memories are as they were before.');
    } catch (wrong) {
      failed(wrong, make);
    }
  };
  const apply = async () => {
    work(true);
    try {
      const done = await act('POST', 'tidy/apply', {}, { plan });
      applied.current[done.id] = toast(`Applied ${f.plural(plan.lines.length, 'change')} in one step`, {
        undo: () => undo(done),
      });
      again((n) => n + 1);
      make();
    } catch (wrong) {
      failed(wrong, make);
    }
    work(false);
  };
  const go = async (e) => {
    e.preventDefault();
    const found = await view('find', { text: typed }).catch(() => ({ users: [] }));
    put({ user: found.users[0] ? found.users[0].user : typed.trim() });
  };
  return html`<${Top} crumbs=${params.user ? [{ text: 'Tidy up', href: '#/tidy' }, params.user] : ['Tidy up']}>
        ${
          plan &&
          plan.lines.length > 0 &&
          may('writer') &&
          html`<button class="btn primary" disabled=${busy} onClick=${apply}>
            Apply ${f.plural(plan.lines.length, 'change')}
          </button>`
        }
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <h1>${plan ? planSentence(plan) : 'Tidy up'}</h1>
        <p class="lead">
          A plan merges duplicates. With a model, it also ends outdated memories and shortens long ones.
          Nothing changes until you apply the plan, and you can undo it in one step.
        </p>
        <form class="filters" onSubmit=${go}>
          <input aria-label="User" placeholder="A user" value=${typed} onInput=${(e) => type(e.target.value)} />
          <button class="btn">Make a plan</button>
        </form>
        ${error && html`<${Failure} error=${error} again=${make} />`}
        ${ns && !plan && !error && html`<${Loading} />`}
        ${
          !ns &&
          html`<${Empty} title="Choose a user" code=${'memory.tidy(user="ada")'}>
            A plan is for one user. You can also make it in Python or with memorist tidy.
          </${Empty}>`
        }
        ${
          plan &&
          html`<ul class="list">
              ${plan.lines.map((line) => html`<${Line} line=${line} ns=${plan.ns} />`)}
            </ul>
            ${
              plan.refused.length > 0 &&
              html`<p class="small ink2" style=${{ marginTop: '12px' }}>
                Rejected ${f.plural(plan.refused.length, 'proposal')} from the model: ${plan.refused.join('; ')}.
              </p>`
            }`
        }
        ${ns && html`<${Applied} ns=${ns} turn=${turn} undo=${undoNow} />`}
      </main>`;
}

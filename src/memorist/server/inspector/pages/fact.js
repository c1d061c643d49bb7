// @ts-check
// A fact: value, figures, why it is believed, history as differences.
// On the right: correct it with a preview, reject it, forget it, where it is used, its audit trail.
import { html, useEffect, useState } from '../lib.js';
import * as f from '../format.js';
import { actorName } from '../compute.js';
import { act, may, useView, view } from '../api.js';
import {
  Confidence,
  CopyLink,
  Dialog,
  EventLine,
  Forget,
  Icon,
  Loaded,
  Marked,
  Segmented,
  When,
  failed,
  toast,
} from '../parts.js';
import { useRefresh } from './overview.js';

const parsed = (typed, old) => {
  if (typeof old === 'string') return typed;
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
};
const SAVE_KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘↵' : 'Ctrl ↵';
const words = (value) =>
  typeof value === 'string' ? [value] : value && typeof value === 'object' ? [] : [String(value)];

function Preview({ ns, fact, value }) {
  const [seen, set] = useState(null);
  const key = JSON.stringify(value);
  useEffect(() => {
    if (key === JSON.stringify(fact.value) || value === '') {
      set(null);
      return;
    }
    const timer = setTimeout(
      () => view('suppose', { ns, key: fact.key, value }).then(set, () => set(null)),
      150,
    );
    return () => clearTimeout(timer);
  }, [key]);
  return html`<div class="in" aria-live="polite">
      <p class="ink2">The next request will say</p>
      ${
        !seen
          ? html`<p class="small ink2">Type a new value to see which line changes.</p>`
          : seen.gone.length || seen.new.length
            ? html`${seen.gone.map((line) => html`<del class="diffline">- ${line}</del>`)}
          ${seen.new.map((line) => html`<ins class="diffline">+ ${line}</ins>`)}
          <p class="small ink2">
            The profile changes from ${seen.before} to ${seen.after} tokens. The next request misses the
            prompt cache once, from the profile onwards.
          </p>`
            : html`<p class="small ink2">The profile does not change. Recall will find the new value.</p>`
      }
    </div>`;
}

function Correct({ d, reload, done, inDialog }) {
  const x = d.fact;
  const [typed, type] = useState(''),
    [reason, because] = useState(''),
    [busy, work] = useState(false),
    [how, choose] = useState('wrong');
  const value = parsed(typed, x.value);
  const go = async (e) => {
    e.preventDefault();
    work(true);
    try {
      const match = { 'If-Match': `"${d.live ? x.version : 0}"` };
      const made =
        how === 'wrong'
          ? await act(
              'POST',
              'fact/correct',
              { ns: x.ns, key: x.key },
              { value, ...(reason ? { reason } : {}) },
              match,
            )
          : await act('PUT', 'fact', { ns: x.ns, key: x.key }, { value }, match);
      const user = f.userOf(x.ns);
      toast(html`Saved <code>${x.key}</code> = ${f.text(value)} as version ${made.version}`, {
        undo: () =>
          view('restore', {
            ns: x.ns,
            key: x.key,
            version: x.version,
            expect: made.version,
          }).then(reload),
        link: user
          ? {
              href: f.link('compare', {
                user,
                at: new Date(new Date(made.updated_at).getTime() - 1).toISOString(),
                fact: `${x.ns}/${x.key}`,
                v: x.version,
              }),
              text: 'See the request',
            }
          : undefined,
      });
      type('');
      because('');
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      reload();
      if (done) done();
    } catch (error) {
      failed(error, reload);
    }
    work(false);
  };
  if (!may('writer'))
    return html`<div class="in">
        <h2>Correct it</h2>
        <p class="ink2">Your key can only read.</p>
      </div>`;
  const id = inDialog ? 'd' : 's';
  return html`<form class="in" onSubmit=${go}>
        <h2>${d.live ? 'Correct it' : 'Set a new value'}</h2>
        <label class="f" for=${`${id}-value`} style=${{ marginTop: '8px' }}>
          New value
        </label>
        <input
          id=${`${id}-value`}
          class="t"
          data-key=${inDialog ? null : 'e'}
          autofocus=${inDialog}
          required
          autocomplete="off"
          placeholder=${f.text(x.value)}
          value=${typed}
          onInput=${(e) => type(e.target.value)}
        />
        <p style=${{ marginTop: '10px' }}>
          <${Segmented}
            label="Why it changes"
            options=${[
              ['wrong', 'It was wrong'],
              ['changed', 'It changed'],
            ]}
            value=${how}
            onChange=${choose}
          />
        </p>
        ${
          how === 'wrong' &&
          html`<label class="f" for=${`${id}-reason`} style=${{ marginTop: '10px' }}>
              <b>Reason</b> stored in the history
            </label>
            <input
              id=${`${id}-reason`}
              class="t"
              autocomplete="off"
              value=${reason}
              onInput=${(e) => because(e.target.value)}
            />`
        }
        <p class="small ink2" style=${{ margin: '8px 0 12px' }}>
          “${f.text(x.value).slice(0, 60)}” stays in the history
          ${
            how === 'wrong' && x.sources.length
              ? ` and will not be extracted from ${f.sourceName(x.sources)} again`
              : ''
          }
          .
        </p>
        <div class="row">
          <button class="btn primary" disabled=${busy || !typed}>
            Save as version ${x.version + 1} <kbd>${SAVE_KEYS}</kbd>
          </button>
          <button
            type="button"
            class="btn bare"
            onClick=${() => {
              type('');
              because('');
              if (done) done();
            }}
          >
            Cancel
          </button>
        </div>
      </form>
      <${Preview} ns=${x.ns} fact=${x} value=${typed ? value : ''} />`;
}

function Why({ d }) {
  const x = d.fact;
  const said = d.why.filter((s) => s.message).length;
  const late = (s) => {
    const seconds = (new Date(x.at).getTime() - new Date(s.message.at).getTime()) / 1000;
    return seconds >= 0 && seconds < 86400 * 2 ? `${f.span(seconds)} after the message` : '';
  };
  return html`<section id="why">
      <div class="head">
        <h2>Why is this believed?</h2>
        <span class="small ink2">
          ${said ? f.plural(said, 'message') : 'no message'}
          ${
            d.why.length > said
              ? `, ${d.why.length - said} other or forgotten`
              : said
                ? ', no other evidence'
                : ''
          }
        </span>
      </div>
      <ol class="why">
        <li class="f">
          <b class="strong">
            ${x.key} = ${f.text(x.value)}
          </b>${' '}
          <span class="ink2">version ${x.version}</span>${' '}
          ${x.replaced && html`<span class="pill warn">replaced a correction</span>`}
          ${x.corrected && html`<span class="pill">corrected</span>`}
          ${
            x.replaced &&
            html`<p class="small ink2">
              before: <code>${f.text(x.replaced.value)}</code>, a correction on${' '}
              ${f.date(x.replaced.at)}, confidence ${x.replaced.confidence.toFixed(2)}
            </p>`
          }
        </li>
        <li class="a">
          ${
            x.actor === 'processor'
              ? html`Extracted by the <b class="strong">processor</b>${' '}
              <span class="ink2">
                queue <code>derive</code>
                ${d.why[0] && d.why[0].message ? ` · ${late(d.why[0])}` : ''}
              </span>
              <p class="small ink2">
                from${' '}
                ${d.why.length === 1 ? 'one source' : `${d.why.length} sources`}, shown below
              </p>`
              : html`Written by <b class="strong">${x.actor}</b> <span class="ink2">${f.moment(x.at)}</span>
              <p class="small ink2">${x.reason || 'set directly, without a source message'}</p>`
          }
        </li>
        ${d.why.map((s) =>
          s.message
            ? html`<li class="m">
Message from${' '}
              <b class="strong">${s.message.role === 'user' ? s.who || 'user' : s.message.role}</b>${' '}
              <span class="ink2">
                <${When} at=${s.message.at} long />
              </span>${' '}
              ·${' '}
              <a
                data-key="w"
                href=${f.link('thread', {
                  id: s.message.thread,
                  at: s.message.seq,
                  mark: words(x.value)[0],
                })}
              >
                ${s.title || f.shortId(s.message.thread)} #${s.message.seq}
              </a>
              <div class="near">
                ${s.near.map(
                  (m) =>
                    html`<div class=${m.seq === s.message.seq ? 'it0' : ''}>
                    <small>
                      #${m.seq} ${m.role === 'user' ? s.who || 'user' : m.role}
                    </small>
                    <span class="wrap">
                      <${Marked}
                        text=${(m.text || 'calls a tool').slice(0, 600)}
                        words=${m.seq === s.message.seq ? words(x.value) : []}
                      />
                    </span>
                  </div>`,
                )}
              </div>
            </li>`
            : html`<li class="g">
              ${
                s.present
                  ? html`<code>${s.kind}</code> ${s.id}`
                  : html`A message that has been forgotten <span class="ink2">${f.shortId(s.id)}</span>`
              }
            </li>`,
        )}
      </ol>
    </section>`;
}

function History({ d, reload }) {
  const [how, see] = useState('Changes');
  const x = d.fact;
  const restore = async (v) => {
    try {
      const made = await view('restore', { ns: x.ns, key: x.key, version: v.version });
      toast(
        html`Restored ${f.text(v.value)} as version ${made.version}, confidence ${v.confidence.toFixed(2)}`,
        {
          undo: () =>
            view('restore', {
              ns: x.ns,
              key: x.key,
              version: x.version,
              expect: made.version,
            }).then(reload),
        },
      );
      reload();
    } catch (error) {
      failed(error, reload);
    }
  };
  const change = (v) => {
    if (v.status !== 'active') return html`<del>${v.status}</del>`;
    if (how === 'Values' || v.first) return html`<ins>${f.text(v.value)}</ins>`;
    const parts = f.differences(v.before, v.value);
    if (!parts.length)
      return html`<code>${f.text(v.value)}</code> <span class="small ink2">same value</span>`;
    return parts.map(
      (p) =>
        html`<span>
        ${p.path && html`<code class="ink2">${p.path} </code>`}
        ${p.before !== undefined && html`<del>${f.text(p.before)}</del> →${' '}`}
        ${p.after !== undefined && html`<ins>${f.text(p.after)}</ins>`}${' '}
      </span>`,
    );
  };
  return html`<section>
      <div class="head">
        <h2>History</h2>
        <span class="small ink2">${f.plural(d.history.length, 'version')}, newest first</span>
        <span class="push">
          <${Segmented}
            label="How to show it"
            options=${['Changes', 'Values']}
            value=${how}
            onChange=${see}
          />
        </span>
      </div>
      <ol class="vs">
        ${d.history.map((v, n) => {
          const source = v.sources[v.sources.length - 1];
          return html`<li data-row=${`v${v.version}`} tabindex="-1">
              <b class="strong">v${v.version}</b>
              <div>
                ${change(v)}
                <p>
                  confidence${' '}
                  ${v.was !== null && v.was !== v.confidence ? `${v.was.toFixed(2)} → ` : ''}
                  ${v.confidence.toFixed(2)} ·${' '}
                  ${v.correction ? html`<b>correction</b> by${' '}` : ''}
                  ${v.actor}
                  ${v.reason && !/^(by |correction by )/.test(v.reason) ? ` · ${v.reason}` : ''}
                  ${v.quote ? ` · “${v.quote.slice(0, 90)}”` : ''}
                  ${
                    source
                      ? html`${' '}
                      · from${' '}
                      <a href=${source.includes('#') ? f.messageLink(source) : '#'}>
                        ${f.shortId(source)}
                      </a>`
                      : ''
                  }
                </p>
              </div>
              <div class="small ink2">
                <${When} at=${v.at} long />
                ${
                  may('writer') && (n > 0 || !d.live) && (v.status === 'active' || v.value !== null)
                    ? html`${' '}
                    ·${' '}
                    <button class="linkish" onClick=${() => restore(v)}>
                      Restore
                    </button>`
                    : ''
                }
              </div>
            </li>`;
        })}
      </ol>
    </section>`;
}

export function Fact({ Top, main, params }) {
  const got = useView('fact', { ns: params.ns || '', key: params.key || '' });
  const [forgetting, forget] = useState(false),
    [sheet, correct] = useState(false);
  useRefresh(got.reload);
  const user = f.userOf(params.ns);
  const reject = async () => {
    const x = got.data.fact;
    try {
      await act('POST', 'fact/reject', { ns: x.ns, key: x.key }, {}, { 'If-Match': `"${x.version}"` });
      toast(html`Rejected: <code>${x.key}</code> = ${f.text(x.value)} will not be extracted again`, {
        undo: () => view('restore', { ns: x.ns, key: x.key, version: x.version }).then(got.reload),
      });
      got.reload();
    } catch (error) {
      failed(error, got.reload);
    }
  };
  return html`<${Top}
        crumbs=${[
          { text: 'Users', href: '#/users' },
          ...(user
            ? [{ text: user, href: f.link('user', { user }) }]
            : [{ text: params.ns, href: f.link('facts', { ns: params.ns }) }]),
          { text: params.key, mono: true },
        ]}
      >
        <${CopyLink} />
        ${
          user &&
          html`<a class="btn bare opt" href=${f.link('context', { user })}>
            <${Icon} name="context" />
            See it in a request
          </a>`
        }
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <${Loaded} of=${got}>
          ${(d) => {
            const x = d.fact,
              long = f.text(x.value).length > 40;
            return html`<div class="two fact">
                  <div>
                    <section>
                      <p class="mono ink2">
                        ${x.ns} / ${x.key}${' '}
                        <span
                          class=${d.live ? 'pill ok' : 'pill danger'}
                          style=${{ fontFamily: 'var(--sans)' }}
                        >
                          ${d.live ? 'active' : x.status}
                        </span>
                      </p>
                      <h1 class=${long ? 'value long' : 'value'}>${f.text(x.value)}</h1>
                      <dl class="figs">
                        <div>
                          <dt>Confidence</dt>
                          <dd>
                            <${Confidence} of=${x.confidence} wide />
                          </dd>
                        </div>
                        <div>
                          <dt>Trust</dt>
                          <dd>${x.trust}</dd>
                        </div>
                        <div>
                          <dt>Written by</dt>
                          <dd>${x.actor}</dd>
                        </div>
                        <div>
                          <dt>Changed</dt>
                          <dd>
                            <${When} at=${x.at} long />
                          </dd>
                        </div>
                        <div>
                          <dt>Expires</dt>
                          <dd>${f.until(x.expires)}</dd>
                        </div>
                        <div>
                          <dt>Version</dt>
                          <dd>${x.version}</dd>
                        </div>
                      </dl>
                    </section>
                    <${Why} d=${d} />
                    <${History} d=${d} reload=${got.reload} />
                  </div>
                  <div>
                    <section class="undocked">
                      <div class="card">
                        <${Correct} d=${d} reload=${got.reload} />
                      </div>
                      <div class="row" style=${{ marginTop: '12px' }}>
                        ${
                          may('writer') &&
                          d.live &&
                          html`<button class="btn" onClick=${reject}>
                            Reject as untrue
                          </button>`
                        }
                        ${
                          may('forget') &&
                          html`<button class="btn harm" onClick=${() => forget(true)}>
                            <${Icon} name="trash" />
                            Forget…
                          </button>`
                        }
                      </div>
                    </section>
                    <section>
                      <div class="head">
                        <h2>Where it is used</h2>
                      </div>
                      <ul>
                        ${
                          d.used.profile
                            ? html`<li style=${{ padding: '5px 0' }}>
                            <i class="sw c-profile" />
                            In the profile, which every request for ${user} contains
                          </li>`
                            : html`<li style=${{ padding: '5px 0' }}>
                            <i class="sw c-system" />
                            Not in the profile; recall can find it
                          </li>`
                        }
                        <li style=${{ padding: '5px 0' }}>
                          <i class="sw c-memory" />
                          ${
                            d.used.supersedes.length
                              ? html`Marks ${f.plural(d.used.supersedes.length, 'message')} as superseded:${' '}
                              ${d.used.supersedes.map(
                                (id, n) =>
                                  html`${n ? ', ' : ''}
                                  <a href=${f.messageLink(id)}>${f.shortId(id)}</a>`,
                              )}`
                              : 'Does not mark any message as superseded'
                          }
                        </li>
                        <li style=${{ padding: '5px 0' }}>
                          <i class="sw c-system" />
                          ${
                            d.used.derived.length
                              ? `${f.plural(d.used.derived.length, 'other record')} derived from it`
                              : 'Nothing else is derived from it'
                          }
                        </li>
                      </ul>
                    </section>
                    <section>
                      <div class="head">
                        <h2>Audit</h2>
                      </div>
                      <ul>
                        ${d.audit.map(
                          (e) =>
                            html`<li
                            style=${{
                              padding: '3px 0',
                              display: 'grid',
                              gridTemplateColumns: '84px 1fr',
                              gap: '8px',
                            }}
                          >
                            <span class="ink2">
                              <${When} at=${e.at} />
                            </span>
                            <span>
                              ${actorName(e)} <${EventLine} e=${e} />
                            </span>
                          </li>`,
                        )}
                      </ul>
                    </section>
                  </div>
                </div>
                <div class="docked">
                  ${
                    may('writer') &&
                    html`<button class="btn primary" data-key="e" onClick=${() => correct(true)}>
                        Correct
                      </button>
                      ${
                        d.live &&
                        html`<button class="btn" onClick=${reject}>
                          Reject
                        </button>`
                      }`
                  }
                  ${
                    may('forget') &&
                    html`<button class="btn harm" onClick=${() => forget(true)}>
                      Forget…
                    </button>`
                  }
                </div>
                <${Dialog} open=${sheet} label="Correct it" onClose=${() => correct(false)}>
                  <${Correct} d=${d} reload=${got.reload} inDialog done=${() => correct(false)} />
                </${Dialog}>`;
          }}
        </${Loaded}>
        ${
          forgetting &&
          html`<${Forget}
            what="fact"
            name=${params.key}
            target=${{ fact: `${params.ns}/${params.key}` }}
            where=${user ? f.link('user', { user }) : '#/users'}
            onClose=${() => forget(false)}
          />`
        }
      </main>`;
}

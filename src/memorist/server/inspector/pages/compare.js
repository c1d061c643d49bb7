// @ts-check
// Compare: A and B on one scale, sections with their differences and why, then only the items that changed.
import { html, useEffect, useState } from '../lib.js';
import * as f from '../format.js';
import { useView, view } from '../api.js';
import { put } from '../router.js';
import { CopyLink, Failure, Icon, Loading, Segmented, State, TokenBar, sectionName } from '../parts.js';
import { PolicyOptions } from './context.js';
import { askedOf } from '../compute.js';

// A stands for the last request, another moment, or another setting; parameters with a leading a are A's own.
function sides(params) {
  const b = askedOf(params);
  const own = Object.fromEntries(
    Object.entries(params)
      .filter(([k]) => /^a[A-Z]/.test(k))
      .map(([k, v]) => [k[1].toLowerCase() + k.slice(2), v]),
  );
  const a = askedOf({ ...params, ...own, at: params.at });
  delete b.at;
  return { a, b };
}
const settings = (x) => {
  return `${f.num(x.budget)} tokens, ${x.policy_title}, ${x.layout}`;
};
// Why the two sides of a pair differ: what B says, else what left it out of A.
const LEFT_OUT = 'left out of A: ';
const why = ({ a, b }) => (b || a).reason || (a && a.reason ? `${LEFT_OUT}${a.reason}` : (b || a).state);
function reasons(section, d, params) {
  const changed = d.pairs.filter((p) => !p.same && (p.b || p.a).section === section);
  if (section === 'profile')
    return (
      changed
        .map((p) => ((p.b || p.a).source || '').split('/')[1] || (p.b || p.a).text)
        .slice(0, 3)
        .join(', ') + (params.at ? ' corrected' : ' changed')
    );
  if (section === 'memory') {
    const more = changed.filter(
        (p) => p.b && p.b.state !== 'dropped' && (!p.a || p.a.state === 'dropped'),
      ).length,
      less = changed.filter(
        (p) => p.a && p.a.state !== 'dropped' && (!p.b || p.b.state === 'dropped'),
      ).length,
      marks = changed.filter((p) => p.a && p.b && !!p.a.superseded !== !!p.b.superseded).length;
    return (
      [
        more && `${more} more ${more === 1 ? 'fits' : 'fit'}`,
        less && `${less} no longer ${less === 1 ? 'fits' : 'fit'}`,
        marks && f.plural(marks, 'mark') + ' changed',
      ]
        .filter(Boolean)
        .join(', ') || 'texts changed'
    );
  }
  if (section === 'history') {
    const all = [...new Set(changed.map((p) => why(p)))].slice(0, 2);
    return all.length === 2 && all.every((text) => text.startsWith(LEFT_OUT))
      ? `${all[0]}; ${all[1].slice(LEFT_OUT.length)}`
      : all.join(', ');
  }
  return 'changed';
}
// Messages that went the same way are one row.
const fate = (x) => (x ? `${x.state}/${x.reason}` : '');
const alike = (one, other) =>
  !one.same &&
  !other.same &&
  (one.b || one.a).section === 'history' &&
  (other.b || other.a).section === 'history' &&
  fate(one.a) === fate(other.a) &&
  fate(one.b) === fate(other.b);
const joined = (pairs, side) => {
  const all = pairs.map((p) => p[side]).filter(Boolean);
  return all.length < 2
    ? all[0]
    : {
        ...all[0],
        label: `${all[0].label}–${all[all.length - 1].label.slice(1)}`,
        text: `${all.length} messages: ${all[0].text.slice(0, 60)} … ${all[all.length - 1].text.slice(0, 60)}`,
        tokens: all.reduce((n, x) => n + (x.tokens || 0), 0),
      };
};
const Item = ({ x, side }) =>
  !x
    ? html`<div class=${side === 'a' ? 'not' : 'not'}>
      <span class="ink2 small">not included</span>
    </div>`
    : html`<div class=${x.state === 'dropped' ? 'not' : side}>
      <span class="n">${x.tokens === null || x.tokens === undefined ? '' : f.num(x.tokens)}</span>
      <p class="small">
        <b class=${`t-${x.section}`}>${sectionName(x.section)}</b>${' '}
        <span class="ink2">
          ${x.label}
          ${x.at ? ` · ${f.date(x.at)}` : ''}
          ${x.score ? ` · ${f.score(x.score)}` : ''}
        </span>
      </p>
      <p class="wrap">${(x.text || '').slice(0, 300)}</p>
      ${
        (x.state !== 'kept' || x.reason || x.superseded) &&
        html`<p class="small">
          <${State} of=${x.state} />${' '}
          <span class="ink2">${x.superseded ? `replaced by ${x.superseded}` : x.reason}</span>
        </p>`
      }
    </div>`;

export function Compare({ Top, main, params }) {
  const [found, meant] = useState(null);
  const [all, show] = useState(false);
  // A user alone stands for their newest thread.
  useEffect(() => {
    if (!params.thread && params.user)
      view('user', { user: params.user }).then(
        (u) => (u.threads[0] ? put({ thread: u.threads[0].id, user: '' }) : meant(true)),
        () => meant(true),
      );
  }, [params.user]);
  const ready = params.thread || found;
  const { a, b } = sides(params);
  const got = useView('compare', { a, b }, { skip: !ready });
  const d = ready ? got.data : null;
  const [usedA, usedB] = d ? [d.a.settings, d.b.settings] : [null, null];
  const change = (name) => (e) => put({ [`a${name[0].toUpperCase()}${name.slice(1)}`]: e.target.value });
  const back = f.link('context', {
    thread: params.thread,
    user: params.user,
    input: params.input,
    budget: params.budget,
    policy: params.policy,
    layout: params.layout,
  });
  const user = d && d.b.thread ? f.userOf(d.b.thread.ns) : params.user;
  const ok = d && d.a.tokens !== null && d.b.tokens !== null;
  const swap = () =>
    put({
      budget: String(usedA.budget),
      policy: usedA.policy,
      layout: usedA.layout,
      aBudget: String(usedB.budget),
      aPolicy: usedB.policy,
      aLayout: usedB.layout,
    });
  const sections = ok
    ? [...new Set([...d.a.sections, ...d.b.sections].map((s) => s.name))].map((name) => ({
        name,
        a: (d.a.sections.find((s) => s.name === name) || {}).tokens || 0,
        b: (d.b.sections.find((s) => s.name === name) || {}).tokens || 0,
        moved: d.pairs.some((p) => !p.same && (p.b || p.a).section === name),
      }))
    : [];
  const same = sections.filter((s) => !s.moved && s.a === s.b && s.name !== 'overhead');
  const groups = [];
  if (ok)
    for (const pair of d.pairs) {
      const last = groups[groups.length - 1];
      if (pair.same && !all) {
        if (last && last.same) last.pairs.push(pair);
        else groups.push({ same: true, pairs: [pair] });
      } else if (last && !all && alike(last.pairs[0], pair)) last.pairs.push(pair);
      else groups.push({ pairs: [pair] });
    }
  const told = (pairs) =>
    Object.entries(
      pairs.reduce((n, p) => ({ ...n, [(p.b || p.a).section]: (n[(p.b || p.a).section] || 0) + 1 }), {}),
    )
      .map(([name, n]) => `${sectionName(name)} (${n})`)
      .join(', ');
  const before = params.at ? `as of ${f.moment(params.at)}` : d ? settings(usedA) : '',
    after = params.at ? 'now' : d ? settings(usedB) : '';
  const saved = ok && params.at ? d.pairs.filter((p) => !p.same) : [];
  const say = saved
    .slice(0, 2)
    .map((p) =>
      p.b && p.b.section === 'profile'
        ? `the profile says “${p.b.text}”`
        : p.a && p.b && p.a.superseded && !p.b.superseded
          ? 'a message is no longer superseded'
          : p.b && p.b.state !== 'dropped' && (!p.a || p.a.state === 'dropped')
            ? 'one more memory fits'
            : null,
    )
    .filter(Boolean)
    .join(', ');
  return html`<${Top}
        crumbs=${[
          ...(user ? [{ text: user, href: f.link('user', { user }) }] : []),
          { text: 'Next request', href: back },
          'Compare',
        ]}
      >
        <${CopyLink} />
        ${
          !params.at &&
          html`<button class="btn bare opt" disabled=${!d} onClick=${swap}>
            Swap A and B
          </button>`
        }
        <a class="btn" data-key="Escape" href=${back}>
          Close <kbd>Esc</kbd>
        </a>
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        ${got.error && html`<${Failure} error=${got.error} again=${got.reload} />`}
        ${
          !params.thread &&
          !params.user &&
          html`<h1>Whose requests?</h1>
            <p class="lead">
              Open <a href="#/context">the next request</a> of a user or a thread, and press Compare there.
            </p>`
        }
        ${(params.thread || params.user) && !d && !got.error && html`<${Loading} />`}
        ${
          d &&
          !ok &&
          html`<h1>One of the two requests does not fit</h1>
            <p class="lead">${(d.a.error || d.b.error).message}</p>`
        }
        ${
          ok &&
          html`<h1 class="light">
              ${params.at ? 'The correction changes' : 'A and B differ in'}${' '}
              <b>
                ${d.changed} of ${f.plural(d.all, 'item')}
              </b>
              ${say ? `: ${say}` : ''}.
            </h1>
            <p class="lead">
              ${params.at ? 'The input, budget, policy and layout are the same. ' : ''}
              ${f.plural(d.all - d.changed, 'item is', 'items are')} byte-identical.
            </p>
            ${
              !params.at &&
              html`<div class="row" style=${{ marginTop: '12px' }}>
                <span class="strong">Settings of A</span>
                <select
                  class="t"
                  style=${{ width: 'auto' }}
                  aria-label="Budget of A"
                  value=${String(usedA.budget)}
                  onChange=${change('budget')}
                >
                  ${[...new Set([2000, 4000, 6000, 8000, 16000, 32000, usedA.budget])].map(
                    (n) => html`<option value=${n}>${f.num(n)} tokens</option>`,
                  )}
                </select>
                <select
                  class="t"
                  style=${{ width: 'auto' }}
                  aria-label="Policy of A"
                  value=${usedA.policy || ''}
                  onChange=${change('policy')}
                >
                  <${PolicyOptions} used=${usedA} />
                </select>
                <select
                  class="t"
                  style=${{ width: 'auto' }}
                  aria-label="Layout of A"
                  value=${usedA.layout}
                  onChange=${change('layout')}
                >
                  <option>standard</option>
                  <option>cached</option>
                </select>
              </div>`
            }
            <div class="cmp">
              ${[
                ['a', 'A', params.at ? 'Before' : 'A', d.a, before],
                ['b', 'B', params.at ? 'After' : 'B', d.b, after],
              ].map(
                ([id, letter, name, made, note]) =>
                  html`<div class="card">
                  <div class="in">
                    <div class="row" style=${{ marginBottom: '8px' }}>
                      <span class=${`ab ${id}`} aria-hidden="true">
                        ${letter}
                      </span>
                      ${params.at && html`<b class="strong">${name}</b>`}
                      <span class="small ink2">${note}</span>
                      <b class="push">${f.num(made.tokens)}</b>
                    </div>
                    <${TokenBar} made=${made} thin />
                    ${
                      made.prefix
                        ? html`<p class="small ink2" style=${{ marginTop: '4px' }}>
                        ${f.share(made.prefix.share)} from the prompt cache
                      </p>`
                        : ''
                    }
                  </div>
                </div>`,
              )}
            </div>
            <section>
              <div
                class="table"
                role="table"
                aria-label="Sections"
                style=${{ '--cols': 'minmax(90px,1fr) 60px 60px 70px minmax(0,4fr)' }}
              >
                <div role="row" class="h">
                  <span role="columnheader">Section</span>
                  <span role="columnheader" class="nums">
                    A
                  </span>
                  <span role="columnheader" class="nums">
                    B
                  </span>
                  <span role="columnheader" class="nums">
                    Change
                  </span>
                  <span role="columnheader">Why</span>
                </div>
                ${sections
                  .filter((s) => !same.includes(s) && s.name !== 'overhead')
                  .map(
                    (s) =>
                      html`<div role="row" data-row=${s.name} tabindex="-1">
                      <span role="cell">
                        <i class=${`sw c-${s.name}`} />
                        ${sectionName(s.name)}
                      </span>
                      <span role="cell" class="nums" data-head="A">
                        ${f.num(s.a)}
                      </span>
                      <span role="cell" class="nums" data-head="B">
                        ${f.num(s.b)}
                      </span>
                      <b role="cell" class="nums" data-head="Change">
                        ${f.signed(s.b - s.a)}
                      </b>
                      <span role="cell" class="ink2">
                        ${reasons(s.name, d, params)}
                      </span>
                    </div>`,
                  )}
                ${
                  d.a.prefix &&
                  d.b.prefix &&
                  d.a.prefix.tokens !== d.b.prefix.tokens &&
                  html`<div role="row">
                    <span role="cell">Cached prefix</span>
                    <span role="cell" class="nums" data-head="A">
                      ${f.num(d.a.prefix.tokens)}
                    </span>
                    <span role="cell" class="nums" data-head="B">
                      ${f.num(d.b.prefix.tokens)}
                    </span>
                    <b
                      role="cell"
                      class=${d.b.prefix.tokens < d.a.prefix.tokens ? 'nums warn' : 'nums'}
                      data-head="Change"
                    >
                      ${f.signed(d.b.prefix.tokens - d.a.prefix.tokens)}
                    </b>
                    <span role="cell" class="ink2">
                      ${
                        d.b.prefix.tokens < d.a.prefix.tokens
                          ? params.at
                            ? 'The change comes before the history, so the shared prefix ends there for one turn'
                            : 'B shares less of its beginning with the previous turn'
                          : 'B shares more of its beginning with the previous turn'
                      }
                    </span>
                  </div>`
                }
              </div>
              ${
                same.length > 0 &&
                html`<p class="ink2 small" style=${{ paddingTop: '6px' }}>
                  ${same.map((s) => sectionName(s.name)).join(', ')}: identical
                </p>`
              }
            </section>
            <section>
              <div class="head" style=${{ alignItems: 'center' }}>
                <h2>What changed</h2>
                <span class="small ink2">in the order in which items are sent</span>
                <span class="push">
                  <${Segmented}
                    label="Which items"
                    options=${[
                      ['some', 'Changes'],
                      ['all', `All ${d.all}`],
                    ]}
                    value=${all ? 'all' : 'some'}
                    onChange=${(v) => show(v === 'all')}
                  />
                </span>
              </div>
              <div class="pairs">
                <div class="pr">
                  <div>
                    <span class="ab a">A</span>${' '}
                    <b class="strong">${params.at ? 'Before' : before}</b>
                  </div>
                  <div>
                    <span class="ab">B</span>${' '}
                    <b class="strong">${params.at ? 'After' : after}</b>
                  </div>
                </div>
                ${groups.map((g) =>
                  g.same
                    ? html`<button class="same" onClick=${() => show(true)}>
                      <${Icon} name="right" /> Identical: ${told(g.pairs)}
                    </button>`
                    : html`<div class="pr" data-row=${(g.pairs[0].b || g.pairs[0].a).id} tabindex="-1">
                      <${Item} x=${joined(g.pairs, 'a')} side=${g.pairs[0].same ? '' : 'gone'} />
                      <${Item} x=${joined(g.pairs, 'b')} side=${g.pairs[0].same ? '' : 'new'} />
                    </div>`,
                )}
              </div>
            </section>`
        }
      </main>`;
}

// @ts-check
// The shell: navigation, keyboard, find, help, login. A page is a component that gets the parameters of its URL.
import { html, render, signal, useEffect, useRef, useState } from './lib.js';
import { leave, leftAt, route, steps } from './router.js';
import * as f from './format.js';
import { actedAt, liveOn, loggedOut, login, me, pulse, startPulse, view, who } from './api.js';
import { Dialog, Failure, Icon, Loading, Logo, Toasts } from './parts.js';
import { Overview } from './pages/overview.js';
import { Users, User } from './pages/people.js';
import { Thread } from './pages/thread.js';
import { Fact } from './pages/fact.js';
import { Search } from './pages/search.js';
import { Context } from './pages/context.js';
import { Compare } from './pages/compare.js';
import { Costs } from './pages/costs.js';
import { Review } from './pages/review.js';
import { Tidy } from './pages/tidy.js';
import {
  Analyser,
  Audit,
  Document,
  Documents,
  Events,
  Facts,
  Jobs,
  Keys,
  Learnings,
  Records,
  Report,
  States,
  Task,
  Tasks,
  Threads,
  Timeline,
  Working,
} from './pages/lists.js';

const PAGES = {
  overview: Overview,
  users: Users,
  user: User,
  thread: Thread,
  fact: Fact,
  search: Search,
  context: Context,
  compare: Compare,
  costs: Costs,
  review: Review,
  tidy: Tidy,
  facts: Facts,
  threads: Threads,
  events: Events,
  learnings: Learnings,
  working: Working,
  documents: Documents,
  document: Document,
  state: States,
  records: Records,
  timeline: Timeline,
  audit: Audit,
  tasks: Tasks,
  task: Task,
  jobs: Jobs,
  analyser: Analyser,
  keys: Keys,
  report: Report,
};
/** @type {[string, [string, string][]][]} */
const NAV = [
  [
    '',
    [
      ['overview', 'Overview'],
      ['users', 'Users'],
      ['search', 'Search'],
      ['context', 'Context'],
    ],
  ],
  [
    'Remembered',
    [
      ['facts', 'Facts'],
      ['threads', 'Threads'],
      ['events', 'Events'],
      ['learnings', 'Learnings'],
      ['working', 'Working memory'],
      ['documents', 'Documents'],
      ['state', 'State'],
      ['records', 'Records'],
    ],
  ],
  [
    'Maintenance',
    [
      ['review', 'Review'],
      ['tidy', 'Tidy up'],
    ],
  ],
  [
    'History',
    [
      ['timeline', 'Timeline'],
      ['audit', 'Audit'],
    ],
  ],
  [
    'Operations',
    [
      ['tasks', 'Tasks'],
      ['jobs', 'Jobs'],
      ['analyser', 'Analyser'],
      ['keys', 'Keys'],
    ],
  ],
];
const UNDER = {
  user: 'users',
  thread: 'threads',
  fact: 'facts',
  costs: 'threads',
  document: 'documents',
  task: 'tasks',
  compare: 'context',
  report: 'users',
};
const KEYS = [
  ['/', 'find a user, thread, fact or id'],
  ['g o', 'overview'],
  ['g u', 'users'],
  ['g s', 'search'],
  ['g c', 'context'],
  ['g f', 'facts'],
  ['g h', 'threads'],
  ['g e', 'events'],
  ['g l', 'learnings'],
  ['g r', 'review'],
  ['g t', 'timeline'],
  ['g j', 'jobs'],
  ['j k', 'next or previous row'],
  ['↵', 'open the row'],
  ['a x', 'approve or reject (in Review)'],
  ['e', 'edit or correct'],
  ['w', 'why is this believed?'],
  ['c', 'compare two settings'],
  ['r', 'show new rows'],
  ['z', 'undo'],
  ['Esc', 'close, or go back to the row you left'],
];
const GO = {
  o: 'overview',
  u: 'users',
  s: 'search',
  c: 'context',
  f: 'facts',
  h: 'threads',
  e: 'events',
  r: 'review',
  l: 'learnings',
  t: 'timeline',
  j: 'jobs',
  a: 'audit',
  d: 'documents',
  k: 'keys',
};

const finding = signal(false),
  helping = signal(false),
  drawer = signal(false);
const single = signal(localStorage.getItem('keys') !== 'off');
const theme = signal(localStorage.getItem('theme') || 'auto');
const paint = () => {
  document.documentElement.style.colorScheme = theme.value === 'auto' ? '' : theme.value;
};
paint();

function Nav() {
  const here = UNDER[route.value.page] || route.value.page;
  const count = (id) =>
    id === 'jobs' && pulse.value.dead ? html`<span class="n danger">${pulse.value.dead} failed</span>` : '';
  const turn = () => {
    theme.value = { auto: 'light', light: 'dark', dark: 'auto' }[theme.value];
    localStorage.setItem('theme', theme.value);
    paint();
  };
  return html`<nav
        class=${drawer.value ? 'nav open' : 'nav'}
        aria-label="Pages"
        id="nav"
        onClick=${(e) => e.target.closest('a') && (drawer.value = false)}
      >
        <a class="brand" href="#/overview" aria-label="Memorist">
          <${Logo} />
          <span>Memorist</span>
        </a>
        <button
          class="findbox"
          onClick=${() => {
            finding.value = true;
            drawer.value = false;
          }}
          aria-label="Find"
        >
          <${Icon} name="search" />
          <span>Find</span>
          <kbd>/</kbd>
        </button>
        ${NAV.map(
          ([head, pages]) =>
            html`${head && html`<h2>${head}</h2>`}
            <ul>
              ${pages
                .filter(([id]) => id !== 'analyser' || me.value?.analyser !== false)
                .map(
                  ([id, name]) =>
                    html`<li>
                    <a href=${`#/${id}`} aria-current=${id === here ? 'page' : null} title=${name}>
                      <${Icon} name=${id} />
                      <span class="t">${name}</span>
                      ${count(id)}
                    </a>
                  </li>`,
                )}
            </ul>`,
        )}
        <div class="foot">
          ${
            me.value &&
            html`<span class="small">
                ${me.value.org}
                ${me.value.user ? ` · ${me.value.user}` : ''}
              </span>
              <span class="small">
                ${
                  me.value.roles.includes('admin')
                    ? 'admin'
                    : me.value.roles.includes('operator')
                      ? 'operator'
                      : me.value.roles.join(', ')
                }${' '}
                key
              </span>`
          }
          <button
            onClick=${() => {
              helping.value = true;
            }}
            aria-label="Keyboard"
          >
            <kbd>?</kbd>
            <span>Keyboard shortcuts</span>
          </button>
          <br />
          <button onClick=${turn} aria-label=${`Colours: ${theme.value}`}>
            <span>Colours: ${theme.value}</span>
          </button>
        </div>
      </nav>
      ${
        drawer.value &&
        html`<button
          class="scrim"
          aria-label="Close the menu"
          onClick=${() => {
            drawer.value = false;
          }}
        />`
      }`;
}

// What a page shows: news of other namespaces do not concern it.
const spaceOf = ({ page, params }) =>
  page === 'user' && params.user ? `user:${params.user}` : page === 'fact' ? params.ns : null;
function Live() {
  const [seen, see] = useState(null),
    [changed, tell] = useState(false);
  const { mark, told, changed: news = [] } = pulse.value;
  const space = spaceOf(route.value);
  useEffect(() => {
    see(null);
    tell(false);
  }, [route.value.hash]);
  useEffect(() => {
    if (mark && seen === null) see(mark);
  }, [mark, seen]);
  useEffect(() => {
    if (seen === null) return;
    const fresh = news.length ? news.some(([, ns]) => !space || ns === space) : mark !== seen && !space;
    // Right after an act of this page the news are most likely its own: it is read again, and nobody is told.
    if (fresh && Date.now() - actedAt < 3000) dispatchEvent(new Event('refresh'));
    else if (fresh) tell(true);
    see(mark);
  }, [told]);
  const show = () => {
    see(mark);
    tell(false);
    dispatchEvent(new Event('refresh'));
  };
  return html`${
    changed &&
    html`<button class="fresh" data-key="r" onClick=${show}>
          New changes · show
        </button>`
  }
      <button
        class=${liveOn.value && pulse.value.ok !== false ? 'live' : 'live off'}
        aria-pressed=${String(liveOn.value)}
        title=${
          liveOn.value
            ? 'Live updates are on; click to switch them off'
            : 'Live updates are off; click to switch them on'
        }
        onClick=${() => {
          liveOn.value = !liveOn.value;
        }}
      >
        <span>live</span>
      </button>`;
}

export function Top({ crumbs, children }) {
  const last = crumbs[crumbs.length - 1];
  const name = typeof last === 'string' ? last : last.text;
  useEffect(() => {
    document.title = `${name} · Memorist`;
  }, [name]);
  return html`<header class="top">
      <button
        class="burger"
        aria-label="Menu"
        aria-expanded=${String(drawer.value)}
        aria-controls="nav"
        onClick=${() => {
          drawer.value = !drawer.value;
        }}
      >
        <${Icon} name="menu" />
      </button>
      <nav class="crumbs" aria-label="You are here">
        ${crumbs.map(
          (one, n) =>
            html`${
              n > 0 &&
              html`<span class="sep" aria-hidden="true">
                /
              </span>`
            }
            ${
              n === crumbs.length - 1
                ? html`<span aria-current="page" class=${one.mono ? 'mono' : ''}>
                ${one.text || one}
              </span>`
                : html`<a href=${one.href}>${one.text}</a>`
            }`,
        )}
      </nav>
      <div class="acts">
        <${Live} />
        ${children}
      </div>
    </header>`;
}

function Help() {
  return html`<${Dialog}
      open=${helping.value}
      kind="keys"
      label="Keyboard"
      onClose=${() => {
        helping.value = false;
      }}
    >
      <h2>Keyboard shortcuts</h2>
      <ul style=${{ margin: '10px 0' }}>
        ${KEYS.map(
          ([keys, does]) =>
            html`<li>
            <span>
              ${keys.split(' ').map((key) => html`<kbd>${key}</kbd>${' '}`)}
            </span>
            <span>${does}</span>
          </li>`,
        )}
      </ul>
      <label class="check">
        <input
          type="checkbox"
          checked=${single.value}
          onChange=${(e) => {
            single.value = e.target.checked;
            localStorage.setItem('keys', e.target.checked ? 'on' : 'off');
          }}
        />
        Use single-key shortcuts
      </label>
      <div class="row" style=${{ marginTop: '12px' }}>
        <span class="push"></span>
        <button
          class="btn"
          autofocus
          onClick=${() => {
            helping.value = false;
          }}
        >
          Close <kbd>Esc</kbd>
        </button>
      </div>
    </${Dialog}>`;
}

function Find() {
  const [typed, type] = useState('');
  const [found, set] = useState(null);
  const [at, move] = useState(0);
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    if (!typed.trim()) {
      set(null);
      return;
    }
    const timer = setTimeout(
      () =>
        view('find', { text: typed }).then(
          (data) => mine === turn.current && (set(data), move(0)),
          () => {},
        ),
      90,
    );
    return () => clearTimeout(timer);
  }, [typed]);
  const first = found && found.users[0] && typed.trim().split(/\s+/)[0];
  const rows = !found
    ? []
    : [
        ...found.users.map((u) => ({
          icon: 'users',
          href: f.link('user', { user: u.user }),
          text: html`<b>${u.user}</b> ${u.name && u.name !== u.user ? u.name : ''}`,
          note: 'user',
        })),
        ...found.facts.map((x) => ({
          icon: 'audit',
          href: f.factLink(x.ns, x.key),
          text: html`<code>
              ${x.ns}/${x.key}
            </code>`,
          note: `= ${f.text(x.value).slice(0, 40)}`,
        })),
        ...found.threads.map((t) => ({
          icon: 'thread',
          href: f.threadLink(t.id),
          text: t.title || f.shortId(t.id),
          note: `${f.userOf(t.ns) || t.ns}, ${f.date(t.at)}`,
        })),
        ...(found.id
          ? [
              {
                icon: 'link',
                href: f.threadLink(found.id.thread, found.id.seq),
                text: `${found.id.kind} ${found.id.title || ''}`,
                note: 'found by id',
              },
            ]
          : []),
        {
          icon: 'search',
          href: f.link('search', {
            q: typed,
            user: found.users.length === 1 ? found.users[0].user : undefined,
          }),
          text: `Recall “${typed}”${found.users.length === 1 ? ` as ${first}` : ''}`,
          note: 'with scores',
        },
      ];
  const close = () => {
    finding.value = false;
  };
  const keys = (e) => {
    if (e.key === 'ArrowDown') {
      e.preventDefault();
      move((at + 1) % rows.length);
    } else if (e.key === 'ArrowUp') {
      e.preventDefault();
      move((at + rows.length - 1) % rows.length);
    } else if (e.key === 'Enter' && rows[at]) {
      e.preventDefault();
      close();
      location.hash = rows[at].href;
    }
  };
  return html`<${Dialog} open kind="find" label="Find" onClose=${close}>
      <div class="find">
        <div class="field">
          <${Icon} name="search" />
          <input
            autofocus
            autocomplete="off"
            spellcheck=${false}
            role="combobox"
            aria-expanded=${String(rows.length > 0)}
            aria-controls="found"
            aria-activedescendant=${rows[at] ? `found-${at}` : null}
            aria-label="A user, thread, fact or id"
            placeholder="A user, thread, fact or id"
            value=${typed}
            onInput=${(e) => type(e.target.value)}
            onKeyDown=${keys}
          />
        </div>
        <ul id="found" role="listbox" aria-label="Found">
          ${rows.map(
            (row, n) =>
              html`<li role="option" id=${`found-${n}`} aria-selected=${String(n === at)}>
              <a
                tabindex="-1"
                class=${n === at ? 'on' : ''}
                href=${row.href}
                onClick=${close}
                onMouseEnter=${() => move(n)}
              >
                <${Icon} name=${row.icon} />
                <span>${row.text}</span>
                <span class="push">${row.note}</span>
              </a>
            </li>`,
          )}
        </ul>
      </div>
    </${Dialog}>`;
}

function Login() {
  const [key, type] = useState('');
  const [error, set] = useState(null);
  const expired = location.search.includes('login=expired');
  const go = async (e) => {
    e.preventDefault();
    try {
      await login(key.trim());
      history.replaceState(null, '', location.pathname + location.hash);
      await begin();
    } catch (wrong) {
      set(wrong);
    }
  };
  return html`<main class="login" id="main" tabindex="-1">
      <div class="brand">
        <${Logo} />
        <span>Memorist</span>
      </div>
      <h1>Log in</h1>
      <p class="lead">
        ${
          expired
            ? 'That link was used or is over ten minutes old. Create a new one on the server, or log in with a key.'
            : 'Open the one-time link that the server printed, or log in with a key.'
        }
      </p>
      <form onSubmit=${go} style=${{ margin: '20px 0' }}>
        <label class="f" for="key">
          Key
        </label>
        <input
          id="key"
          class="t"
          type="password"
          autocomplete="current-password"
          placeholder="rk_…"
          value=${key}
          onInput=${(e) => type(e.target.value)}
        />
        <div class="row" style=${{ marginTop: '12px' }}>
          <button class="btn primary">Log in</button>
        </div>
      </form>
      ${error && html`<${Failure} error=${error} />`}
      <p class="small ink2">
        To create a key, run <code>memorist keys create --role operator</code>. To create a link, run${' '}
        <code>memorist serve --link</code>.
      </p>
    </main>`;
}

function App() {
  const { page, params, hash } = route.value;
  const box = useRef(null);
  useEffect(() => {
    drawer.value = false;
    const row = leftAt(hash);
    if (!steps.value) return;
    let tries = row ? 30 : 0;
    const come = () => {
      const found = row && document.querySelector(`[data-row="${CSS.escape(row)}"]`);
      // The row may still be on its way from the server.
      if (row && !found && tries-- > 0) {
        timer = setTimeout(come, 100);
        return;
      }
      const into = found || document.querySelector('main h1') || box.current;
      if (!into || document.querySelector('dialog[open]')) return;
      if (!into.hasAttribute('tabindex')) into.tabIndex = -1;
      into.focus({ preventScroll: !found });
    };
    let timer = setTimeout(come, 30);
    return () => clearTimeout(timer);
  }, [page, page === 'thread' || page === 'context' ? '' : hash]);
  if (loggedOut.value && !me.value)
    return html`<${Login} />
        <${Toasts} />`;
  if (!me.value)
    return html`<div class="login">
        <${Loading} />
      </div>`;
  const Page = PAGES[page];
  return html`<a
        class="skip"
        href="#main"
        onClick=${(e) => {
          e.preventDefault();
          box.current.focus();
        }}
      >
        Skip to the content
      </a>
      <div class="shell">
        <${Nav} />
        <div>
          ${
            Page
              ? html`<${Page} key=${page} params=${params} Top=${Top} main=${box} />`
              : html`<${Top} crumbs=${['Not found']} />
              <main id="main" ref=${box} tabindex="-1">
                <h1>This page does not exist</h1>
                <p class="lead">
                  <a href="#/overview">Go to the overview</a>
                </p>
              </main>`
          }
        </div>
      </div>
      ${finding.value && html`<${Find} />`}
      <${Help} />
      <${Toasts} />`;
}

// Keys: off in fields; j and k move over the rows of a page, others press what carries their data-key.
let chord = false;
function rows(step) {
  /** @type {NodeListOf<HTMLElement>} */
  const drawn = document.querySelectorAll('[data-row]');
  const all = [...drawn].filter((row) => row.offsetParent !== null);
  if (!all.length) return;
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const next =
    all[Math.max(0, Math.min(all.length - 1, here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}
// The element of an event; one on the document itself has none.
const targetOf = (/** @type {Event} */ e) => (e.target instanceof HTMLElement ? e.target : null);
addEventListener('keydown', (e) => {
  const target = targetOf(e);
  /** @type {HTMLInputElement | null | undefined} */
  const field = target?.closest('input, textarea, select, [contenteditable]');
  if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && field && field.form) {
    e.preventDefault();
    field.form.requestSubmit();
    return;
  }
  if (e.key === 'Escape' && !document.querySelector('dialog[open]')) {
    if (drawer.value) {
      drawer.value = false;
      return;
    }
    if (field) {
      field.blur();
      /** @type {HTMLElement | null | undefined} */
      const cancel = field.form?.querySelector('[data-key="Escape"]');
      cancel?.click();
      return;
    }
    /** @type {HTMLElement | null} */
    const close = document.querySelector('[data-key="Escape"]');
    if (close) close.click();
    else if (steps.value) history.back();
    return;
  }
  if (field || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
  if (e.key === 'Enter') {
    /** @type {HTMLElement | null | undefined} */
    const row = target?.closest('[data-row]');
    if (row && row === target && row.dataset.href) {
      leave(row.dataset.row);
      location.hash = row.dataset.href;
    }
    return;
  }
  if (!single.value) return;
  if (chord) {
    chord = false;
    if (GO[e.key]) {
      e.preventDefault();
      location.hash = `#/${GO[e.key]}`;
    }
    return;
  }
  if (e.key === 'g') {
    chord = true;
    setTimeout(() => {
      chord = false;
    }, 1200);
    return;
  }
  if (e.key === '/') {
    e.preventDefault();
    finding.value = true;
  } else if (e.key === '?') {
    e.preventDefault();
    helping.value = true;
  } else if (e.key === 'j') rows(1);
  else if (e.key === 'k') rows(-1);
  else if (e.key.length === 1) {
    /** @type {NodeListOf<HTMLElement>} */
    /** @type {NodeListOf<HTMLElement>} */
    const keyed = document.querySelectorAll(`[data-key="${CSS.escape(e.key)}"]`);
    // Narrow pages hide the forms whose buttons are in the bar at the bottom.
    const last = [...keyed].filter((one) => one.getClientRects().length).pop();
    if (last) {
      e.preventDefault();
      last.click();
      last.focus();
    }
  }
});
addEventListener('click', (e) => {
  const target = targetOf(e);
  /** @type {HTMLElement | null | undefined} */
  const row = target?.closest('[data-row]');
  if (!row || !target) return;
  if (target.closest('a')) leave(row.dataset.row);
  else if (
    row.dataset.href &&
    !target.closest('button, input, select, label, time') &&
    !getSelection()?.toString()
  ) {
    leave(row.dataset.row);
    location.hash = row.dataset.href;
  }
});

async function begin() {
  try {
    await who();
    loggedOut.value = false;
    startPulse();
  } catch {
    loggedOut.value = true;
  }
}
render(html`<${App} />`, document.getElementById('app'));
begin();

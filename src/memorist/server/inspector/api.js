// @ts-check
/** @import { Listed, Loaded, Pulse, Read, Shown, Written } from './types.js' */
// Requests to our own server. What people type travels in bodies, never in URLs; a write by cookie carries X-Memorist.
import { effect, signal, useEffect, useRef, useState } from './lib.js';

export const me = signal(null);
export const loggedOut = signal(false);
export const pulse = signal(/** @type {Pulse} */ ({ mark: '', dead: 0 }));
export const liveOn = signal(true);

export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `the server answered ${status}`);
    this.status = status;
    this.title = body.title;
    this.facts = body.facts || {};
    this.request = body.request_id;
  }
}

/** @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] */
async function sent(method, path, body, headers = {}) {
  /** @type {RequestInit & {headers: Record<string, string>}} */
  const options = {
    method,
    headers: { 'X-Memorist': '1', ...headers },
    credentials: 'same-origin',
  };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers['Content-Type'] = 'application/json';
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Problem(
      { title: 'Unreachable', detail: 'The server does not respond. Is it still running?' },
      0,
    );
  }
  if (answer.status === 401) loggedOut.value = true;
  const text = await answer.text();
  /** @type {any} */
  let data;
  try {
    data = text ? JSON.parse(text) : {};
  } catch {
    data = { detail: text.slice(0, 200) };
  }
  if (!answer.ok) throw new Problem(data, answer.status);
  return data;
}

const query = (params) => {
  const pairs = Object.entries(params).filter(([, value]) => value !== undefined && value !== null);
  return pairs.length ? '?' + new URLSearchParams(pairs).toString() : '';
};
// When this page last changed something: the news of that are its own.
export let actedAt = 0;
const ACTS = ['restore', 'pin', 'retry'];
/** @param {string} name @param {object} [asked] @returns {Promise<Shown>} */
export const view = (name, asked = {}) => {
  if (ACTS.includes(name)) actedAt = Date.now();
  return sent('POST', `v1/inspect/${name}`, asked);
};
/** @template {keyof Read} P @param {P} path @param {object} [params] @returns {Promise<Read[P]>} */
export const get = (path, params = {}) => sent('GET', `v1/${path}${query(params)}`);
/**
 * @template {string} M @template {string} P
 * @param {M} method @param {P} path @param {object} [params] @param {any} [body]
 * @param {Record<string, string>} [headers]
 * @returns {Promise<`${M} ${P}` extends keyof Written ? Written[`${M} ${P}`] : Shown>}
 */
export const act = (method, path, params = {}, body, headers) => {
  actedAt = Date.now();
  return sent(method, `v1/${path}${query(params)}`, body, headers);
};
export const login = (key) => sent('POST', 'login', { key });

// Where things stand is read before any page: what changes after that is news to all of them.
export async function who() {
  const found = await get('me');
  pulse.value = { ...(await view('pulse')), changed: [], ok: true };
  me.value = { ...found, analyser: pulse.value.analyser };
  return found;
}
export const may = (role) =>
  !!me.value && (me.value.roles.includes(role) || me.value.roles.includes('admin'));

// One view for one page: the old answer stays until the new one is there; `reload` asks again.
export function useView(name, asked, { skip = false } = {}) {
  const [state, set] = useState(/** @type {Loaded} */ ({ data: null, error: null, loading: !skip }));
  const [turn, again] = useState(0);
  const last = useRef(0);
  const key = JSON.stringify(asked);
  useEffect(() => {
    if (skip) return;
    const mine = ++last.current;
    set((old) => ({ ...old, loading: true }));
    view(name, asked).then(
      (data) => mine === last.current && set({ data, error: null, loading: false, key }),
      (error) =>
        mine === last.current &&
        set((old) => ({
          data: error.status === 404 ? null : old.data,
          error,
          loading: false,
          key,
        })),
    );
  }, [name, key, turn, skip]);
  return { ...state, stale: state.key !== key, reload: () => again((n) => n + 1) };
}

// A list in pages, each beginning where the last one ended. Read again, it has as many rows as before: nothing moves.
export function usePages(name, asked, size = 100) {
  const [state, set] = useState(
    /** @type {Listed} */ ({ items: [], next: null, loading: true, error: null }),
  );
  const [turn, again] = useState(0);
  const last = useRef(0),
    shown = useRef(null);
  const key = JSON.stringify(asked);
  const load = async (after, before, wanted) => {
    const mine = ++last.current;
    set((old) => ({ ...old, loading: true }));
    try {
      let items = before,
        next = after;
      do {
        const page = await view(name, {
          ...asked,
          limit: Math.max(size, Math.min(500, wanted - items.length)),
          ...(next === null ? {} : { after: next }),
        });
        items = [...items, ...page.items];
        next = page.next;
      } while (next !== null && items.length < wanted && mine === last.current);
      if (mine === last.current) set({ items, next, loading: false, error: null });
    } catch (error) {
      if (mine === last.current) set({ items: before, next: null, loading: false, error });
    }
  };
  useEffect(() => {
    const same = shown.current === name + key;
    shown.current = name + key;
    load(null, [], same ? state.items.length : 0);
  }, [name, key, turn]);
  const more = () => {
    if (state.next !== null && !state.loading) load(state.next, state.items, 0);
  };
  return { ...state, more, reload: () => again((n) => n + 1) };
}

// News of the server: whether something changed since this page was drawn. The page itself is never moved by it.
/** @type {EventSource | null} */
let stream = null;
function listen() {
  if (stream) stream.close();
  stream = null;
  // A browser has few connections to one server, so a page that nobody looks at holds none.
  if (document.visibilityState !== 'visible' || !me.value || !liveOn.value) return;
  stream = new EventSource('v1/inspect/live');
  stream.onmessage = (event) => {
    const told = JSON.parse(event.data);
    pulse.value = { ...told, told: (pulse.value.told || 0) + 1, ok: true };
  };
  stream.onerror = () => {
    pulse.value = { ...pulse.value, changed: [], ok: false };
    // Closed for good: the session has ended, or the server is busy.
    if (stream && stream.readyState === EventSource.CLOSED)
      setTimeout(() => view('pulse').then(listen, () => {}), 2000);
  };
}
let started = false;
export function startPulse() {
  if (started) return;
  started = true;
  effect(() => {
    liveOn.value;
    me.value;
    listen();
  });
  document.addEventListener('visibilitychange', listen);
}

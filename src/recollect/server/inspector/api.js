// Requests to our own server. What people type travels in bodies, never in URLs; a write by cookie carries X-Recollect.
import { signal, useEffect, useRef, useState } from './lib.js';

export const me = signal(null);
export const loggedOut = signal(false);
export const pulse = signal({ mark: '', dead: 0 });
export const liveOn = signal(true);

export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `the server answered ${status}`);
    this.status = status; this.title = body.title; this.facts = body.facts || {}; this.request = body.request_id;
  }
}

async function sent(method, path, body, headers = {}) {
  const options = { method, headers: { 'X-Recollect': '1', ...headers }, credentials: 'same-origin' };
  if (body !== undefined) { options.body = JSON.stringify(body); options.headers['Content-Type'] = 'application/json'; }
  let answer;
  try { answer = await fetch(path, options); } catch { throw new Problem({ title: 'Unreachable', detail: 'The server does not answer. Is it still running?' }, 0); }
  if (answer.status === 401) loggedOut.value = true;
  const text = await answer.text();
  let data = {};
  try { data = text ? JSON.parse(text) : {}; } catch { data = { detail: text.slice(0, 200) }; }
  if (!answer.ok) throw new Problem(data, answer.status);
  return data;
}

const query = (params) => {
  const pairs = Object.entries(params).filter(([, value]) => value !== undefined && value !== null);
  return pairs.length ? '?' + new URLSearchParams(pairs).toString() : '';
};
export const view = (name, asked = {}) => sent('POST', `v1/inspect/${name}`, asked);
export const get = (path, params = {}) => sent('GET', `v1/${path}${query(params)}`);
export const act = (method, path, params = {}, body, headers) => sent(method, `v1/${path}${query(params)}`, body, headers);
export const login = (key) => sent('POST', 'login', { key });
export const logout = () => sent('POST', 'logout', {});

export async function who() { me.value = await get('me'); return me.value; }
export const may = (role) => !!me.value && (me.value.roles.includes(role) || me.value.roles.includes('admin'));

// One view for one page: the old answer stays until the new one is there; `reload` asks again.
export function useView(name, asked, { skip = false } = {}) {
  const [state, set] = useState({ data: null, error: null, loading: !skip });
  const [turn, again] = useState(0);
  const last = useRef(0);
  const key = JSON.stringify(asked);
  useEffect(() => {
    if (skip) return;
    const mine = ++last.current;
    set((old) => ({ ...old, loading: true }));
    view(name, asked).then(
      (data) => mine === last.current && set({ data, error: null, loading: false, key }),
      (error) => mine === last.current && set((old) => ({ data: error.status === 404 ? null : old.data, error, loading: false, key })),
    );
  }, [name, key, turn, skip]);
  return { ...state, stale: state.key !== key, reload: () => again((n) => n + 1) };
}

// A list in pages, each beginning where the last one ended.
export function usePages(name, asked, size = 100) {
  const [state, set] = useState({ items: [], next: null, loading: true, error: null });
  const [turn, again] = useState(0);
  const last = useRef(0);
  const key = JSON.stringify(asked);
  const load = (after, before) => {
    const mine = ++last.current;
    view(name, { ...asked, limit: size, ...(after === null ? {} : { after }) }).then(
      (page) => mine === last.current && set({ items: [...before, ...page.items], next: page.next, loading: false, error: null }),
      (error) => mine === last.current && set({ items: before, next: null, loading: false, error }),
    );
  };
  useEffect(() => { set((old) => ({ ...old, loading: true })); load(null, []); }, [name, key, turn]);
  const more = () => { if (state.next !== null && !state.loading) { set((old) => ({ ...old, loading: true })); load(state.next, state.items); } };
  return { ...state, more, reload: () => again((n) => n + 1) };
}

// Whether something changed since this page was drawn; the page itself is never moved by it.
let timer = null;
export function startPulse() {
  const beat = async () => {
    if (document.visibilityState === 'visible' && me.value && liveOn.value) {
      try { pulse.value = { ...(await view('pulse')), ok: true }; } catch { pulse.value = { ...pulse.value, ok: false }; }
    }
    timer = setTimeout(beat, 4000);
  };
  clearTimeout(timer); beat();
}

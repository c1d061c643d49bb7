// @ts-check
// Dates, numbers and ids as people read them.
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const LONG = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const two = (n) => String(n).padStart(2, '0');
const same = (a, b) =>
  a.getFullYear() === b.getFullYear() && a.getMonth() === b.getMonth() && a.getDate() === b.getDate();

export const clock = (at) => {
  const d = new Date(at);
  return `${two(d.getHours())}:${two(d.getMinutes())}`;
};
export function date(at, now = new Date()) {
  if (!at) return '–';
  const d = new Date(at);
  if (same(d, now)) return clock(at);
  const day = `${d.getDate()} ${MONTHS[d.getMonth()]}`;
  return d.getFullYear() === now.getFullYear() ? day : `${day} ${d.getFullYear()}`;
}
export const moment = (at) => {
  if (!at) return '–';
  const d = new Date(at);
  return `${d.getDate()} ${MONTHS[d.getMonth()]} ${d.getFullYear()}, ${clock(at)}`;
};
export const dayOf = (at) => {
  const d = new Date(at);
  return `${DAYS[d.getDay()]}, ${d.getDate()} ${LONG[d.getMonth()]}`;
};
export const utc = (at) =>
  at
    ? new Date(at)
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z/, ' UTC')
    : '';
export function until(at, now = Date.now()) {
  if (!at) return 'never';
  const s = (new Date(at).getTime() - now) / 1000;
  if (s <= 0) return 'expired';
  if (s < 3600) return `in ${Math.max(1, Math.round(s / 60))} min`;
  if (s < 48 * 3600) return `in ${Math.round(s / 3600)} h`;
  return `in ${Math.round(s / 86400)} days`;
}
export function span(seconds) {
  if (seconds < 60)
    return `${seconds < 10 && seconds % 1 >= 0.05 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 86400 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}
export function num(n) {
  if (n === null || n === undefined) return '–';
  if (Math.abs(n) >= 1e6) return `${(n / 1e6).toFixed(1)} M`;
  return Math.round(n).toLocaleString('en-US');
}
export const bytes = (n) =>
  n >= 1e6
    ? `${(n / 1e6).toFixed(n >= 1e7 ? 0 : 1)} MB`
    : n >= 1e3
      ? `${Math.round(n / 1e3)} KB`
      : `${n} bytes`;
export const signed = (n, digits = 0) =>
  `${n < 0 ? '−' : '+'}${digits ? Math.abs(n).toFixed(digits) : num(Math.abs(n))}`;
export const share = (x) => `${Math.round(100 * x)} %`;
export const score = (x) => (x === null || x === undefined ? '' : x >= 0.995 ? '0.99' : x.toFixed(2));
export const plural = (n, one, many = `${one}s`) => `${num(n)} ${n === 1 ? one : many}`;
export const shortId = (id) => {
  const [head, seq] = String(id).split('#');
  return `…\u2060${head.slice(-4)}${seq ? `#${seq}` : ''}`;
};
// The last source of a fact as a person would name it: a message of the thread by its number.
export const sourceName = (sources) => {
  const last = sources[sources.length - 1];
  return last ? (last.includes('#') ? `#${last.split('#')[1]}` : shortId(last)) : 'the same source';
};
export const text = (value) =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
export const userOf = (ns) => (ns && ns.startsWith('user:') ? ns.slice(5) : null);
export const link = (page, params = {}) => {
  const pairs = Object.entries(params).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return `#/${page}${pairs.length ? '?' + new URLSearchParams(pairs).toString() : ''}`;
};
export const threadLink = (id, seq) => link('thread', { id, at: seq });
export const messageLink = (id) => {
  const i = id.lastIndexOf('#');
  return threadLink(id.slice(0, i), id.slice(i + 1));
};
export const factLink = (ns, key) => link('fact', { ns, key });
// The JSON paths that differ between two values.
export function differences(a, b, path = '') {
  if (JSON.stringify(a) === JSON.stringify(b)) return [];
  const deep = (v) => v && typeof v === 'object' && !Array.isArray(v);
  if (deep(a) && deep(b))
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((k) =>
      differences(a[k], b[k], path ? `${path}.${k}` : k),
    );
  return [{ path, before: a, after: b }];
}

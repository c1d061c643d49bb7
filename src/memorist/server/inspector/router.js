// @ts-check
// Everything is a URL: the page and what it shows stand in the fragment, which no server and no log ever sees.
import { signal } from './lib.js';

const read = () => {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    page: path || 'overview',
    params: Object.fromEntries(new URLSearchParams(query)),
    hash: location.hash,
  };
};
export const route = signal(read());
export const steps = signal(0);
const left = new Map();
addEventListener('hashchange', () => {
  route.value = read();
  steps.value += 1;
});

// Change parameters in place, without a new entry in the history.
export function put(params) {
  const all = { ...route.value.params, ...params };
  const pairs = Object.entries(all).filter(([, v]) => v !== undefined && v !== null && v !== '');
  history.replaceState(
    null,
    '',
    `#/${route.value.page}${pairs.length ? '?' + new URLSearchParams(pairs) : ''}`,
  );
  route.value = read();
}
// The row one left a page from, to come back to it.
export const leave = (row) => left.set(location.hash, row);
export const leftAt = (hash) => left.get(hash);

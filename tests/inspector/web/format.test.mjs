// What format.js makes of dates, numbers, ids and values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as f from '../../../src/memorist/server/inspector/format.js';

const NOW = new Date(2026, 10, 18, 9, 41);
const DAY = 86_400_000;

test('a date is as long as it must be', () => {
  assert.equal(f.date(null), '–');
  assert.equal(f.date(new Date(2026, 10, 18, 8, 5), NOW), '08:05');
  assert.equal(f.date(new Date(2026, 10, 3), NOW), '3 Nov');
  assert.equal(f.date(new Date(2025, 10, 3), NOW), '3 Nov 2025');
  assert.equal(f.moment(new Date(2025, 0, 3, 4, 5)), '3 Jan 2025, 04:05');
  assert.equal(f.utc('2026-11-18T09:41:07.123456Z'), '2026-11-18 09:41:07 UTC');
  assert.equal(f.dayOf(NOW), 'Wednesday, 18 November');
});

test('what expires says when', () => {
  const now = NOW.getTime();
  assert.equal(f.until(null), 'never');
  assert.equal(f.until(new Date(now - 1), now), 'expired');
  assert.equal(f.until(new Date(now + 1000), now), 'in 1 min');
  assert.equal(f.until(new Date(now + DAY), now), 'in 24 h');
  assert.equal(f.until(new Date(now + 3 * DAY), now), 'in 3 days');
});

test('spans of time and counts read as people say them', () => {
  assert.deepEqual([0.25, 9, 61, 7200, 200_000].map(f.span), ['0.3 s', '9 s', '1 min', '2 h', '2 days']);
  assert.deepEqual([null, 0, 4601, 16_900_000].map(f.num), ['–', '0', '4,601', '16.9 M']);
  assert.deepEqual([17, 4200, 1_500_000, 24_000_000].map(f.bytes), ['17 bytes', '4 KB', '1.5 MB', '24 MB']);
  assert.deepEqual([f.signed(-12), f.signed(2.714, 2), f.signed(0)], ['−12', '+2.71', '+0']);
  assert.deepEqual(
    [f.plural(1, 'row'), f.plural(2, 'row'), f.plural(0, 'entry', 'entries')],
    ['1 row', '2 rows', '0 entries'],
  );
});

test('a score has two digits and never claims certainty', () => {
  assert.deepEqual([null, 0.5, 0.974, 0.9999, 1].map(f.score), ['', '0.50', '0.97', '0.99', '0.99']);
});

test('ids are shortened at the front, where they are alike', () => {
  assert.equal(f.shortId('01k9zzzzx9rt#85'), '…\u2060x9rt#85');
  assert.equal(f.sourceName(['a#1', 'thread#85']), '#85');
  assert.equal(f.sourceName(['document-01k9']), '…\u206001k9');
  assert.equal(f.sourceName([]), 'the same source');
});

test('links carry what is set, and a message leads to its thread', () => {
  assert.equal(f.link('users'), '#/users');
  assert.equal(f.link('user', { user: 'a b', tab: '', at: null }), '#/user?user=a+b');
  assert.equal(f.messageLink('t#1#7'), '#/thread?id=t%231&at=7');
  assert.equal(f.userOf('user:ada'), 'ada');
  assert.equal(f.userOf('global'), null);
});

test('two values differ by path', () => {
  assert.deepEqual(f.differences({ a: 1, b: { c: [1] } }, { a: 1, b: { c: [2] }, d: 3 }), [
    { path: 'b.c', before: [1], after: [2] },
    { path: 'd', before: undefined, after: 3 },
  ]);
  assert.deepEqual(f.differences('Porto', 'Porto'), []);
  assert.deepEqual(f.differences('Porto', { city: 'Porto' }), [
    { path: '', before: 'Porto', after: { city: 'Porto' } },
  ]);
});

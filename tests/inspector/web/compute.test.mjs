// What compute.js makes of URLs, settings, costs and plans.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as c from '../../../src/memorist/server/inspector/compute.js';

const REPORT = {
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  written_tokens: 0,
  cost: null,
  broken: null,
};
const SETTINGS = {
  stored: true,
  at: new Date(2026, 10, 18, 9, 41),
  changed: [],
  absent_tokens: 0,
  absent_tools: [],
};

test('a URL that sets nothing asks for the settings of the program', () => {
  assert.deepEqual(c.askedOf({ thread: 't', input: 'Hi' }), { input: 'Hi', thread: 't' });
  assert.deepEqual(c.askedOf({ user: 'ada', thread: 't' }), { input: '', thread: 't' });
});

test('what a URL sets is asked for', () => {
  const asked = c.askedOf({ user: 'ada', budget: '2600', recall: 'off', k: '3', turn: '7', tools: '[]' });
  assert.deepEqual(asked, {
    input: '',
    user: 'ada',
    budget: 2600,
    recall: false,
    top_k: 3,
    until: 7,
    tools: [],
  });
  assert.equal(c.askedOf({ budget: 'gpt-5' }).budget, 'gpt-5');
  assert.deepEqual(c.askedOf({ sfact: 'user:ada/a/b', svalue: 'x' }).suppose, {
    ns: 'user:ada',
    key: 'a/b',
    value: 'x',
  });
  assert.equal('tools' in c.askedOf({ tools: '[{' }), false);
});

test('a request is a call in Python', () => {
  const settings = {
    budget: 6000,
    memory: 900,
    reserve: 200,
    policy: 'elide:500+window',
    policy_python: 'Chain(ElideToolResults(max_tokens=500), SlidingWindow())',
    layout: 'cached',
    recall: true,
  };
  assert.equal(
    c.pythonCall({ input: 'When?', thread: 't' }, settings),
    'context = memory.context(\n    "When?",\n    thread="t",\n' +
      '    budget=TokenBudget(6000, memory=900, output_reserve=200),\n' +
      '    policy=Chain(ElideToolResults(max_tokens=500), SlidingWindow()),\n    layout="cached",\n)',
  );
  assert.ok(
    !c.pythonCall({}, { budget: 1, policy: null, layout: 'standard', recall: false }).includes('policy'),
  );
  assert.ok(
    c.pythonCall({}, { budget: 1, policy: null, layout: 'standard', recall: false }).includes('recall=False'),
  );
});

test('it is said whose settings a request was built with', () => {
  assert.equal(
    c.settingsSentence(SETTINGS),
    'Built with the settings that your program used on 18 Nov 2026, 09:41.',
  );
  assert.match(
    c.settingsSentence({ ...SETTINGS, changed: ['budget', 'top_k'] }),
    /except budget, number of recalled/,
  );
  assert.match(c.settingsSentence({ ...SETTINGS, stored: false }), /defaults of memory.context/);
  assert.equal(c.absentSentence(SETTINGS), '');
  const absent = { ...SETTINGS, absent_tokens: 300, absent_system: true, absent_tools: ['weather'] };
  assert.match(c.absentSentence(absent), /also sent a system prompt and 1 tool \(weather\), 300 tokens/);
  assert.match(c.absentSentence({ ...absent, absent_system: false }), /also sent 1 tool \(weather\), 300/);
  assert.match(c.absentSentence({ ...absent, absent_tools: [] }), /also sent a system prompt, 300 tokens/);
});

test('costs add up, and unknown prices stay unknown', () => {
  const broken = { section: 'profile', name: '#1', change: 'changed', tokens: 2450, cost: 0.0066 };
  const sums = c.costSums([
    { ...REPORT, input_tokens: 1000, written_tokens: 900, cost: 0.01 },
    { ...REPORT, input_tokens: 1000, cached_tokens: 500, output_tokens: 60, cost: 0.02, broken },
  ]);
  assert.deepEqual(
    [sums.requests, sums.input, sums.share, sums.output, sums.breaks, sums.lostTokens],
    [2, 2000, 0.25, 60, 1, 2450],
  );
  assert.deepEqual([c.dollars(sums.cost), c.dollars(sums.lostCost)], ['$0.0300', '$0.0066']);
  assert.deepEqual([c.costSums([REPORT]).cost, c.costSums([]).share], [null, 0]);
  assert.equal(c.uncached({ ...REPORT, input_tokens: 100, cached_tokens: 70, written_tokens: 20 }), 10);
  assert.deepEqual([null, 1.5, 0.0066].map(c.dollars), ['–', '$1.50', '$0.0066']);
});

test('the first item that broke a prefix is named', () => {
  const words = (section, name, change) => c.breakWords({ section, name, change });
  assert.equal(words('profile', '#1', 'changed'), 'the profile was changed');
  assert.equal(words('tools', 'weather', 'added'), 'the tool weather was added');
  assert.equal(words('history', 't#7', 'removed'), 'the message t#7 was removed');
  assert.equal(words('compaction', 't#9', 'added'), "the provider's compaction was added");
  assert.match(words('model', 'gpt-5', 'changed'), /the model changed to gpt-5/);
  assert.match(words('provider', 'cache', 'expired'), /no longer had the prefix/);
});

test('a plan and a candidate are told in words', () => {
  assert.equal(c.planSentence({ lines: [] }), 'Nothing to tidy up.');
  const lines = [{ op: 'merge' }, { op: 'merge' }, { op: 'end' }];
  assert.equal(c.planSentence({ lines }), '3 changes: 2 to merge, 1 to end.');
  assert.deepEqual(
    ['add', 'update', 'end'].map((operation) => c.candidateVerb({ operation })),
    ['Remember', 'Change', 'End'],
  );
});

test('it is said who did something and whose it is', () => {
  assert.equal(c.actorName({ actor: 'user', user: 'ada' }), 'ada');
  assert.equal(c.actorName({ actor: 'processor', user: 'ada' }), 'processor for ada');
  assert.equal(c.actorName({ actor: 'processor', user: null }), 'processor');
  assert.deepEqual(['user:ada', 'global', null].map(c.ownerName), ['ada', 'global', '']);
});

test('the columns of a search are the signals that weigh most', () => {
  const hits = [{ signals: { words: 1, meaning: 4, length: -2 } }, { signals: { meaning: 1, newest: 0.5 } }];
  assert.deepEqual(c.signalColumns(hits, 3), ['meaning', 'length', 'words']);
  assert.deepEqual(c.signalColumns([]), []);
});

test('messages are counted as the thread counts them', () => {
  const history = [
    { state: 'folded', count: 36 },
    { state: 'kept', count: 2 },
    { state: 'elided', count: 2 },
    { state: 'dropped', count: 5 },
  ];
  assert.equal(c.messageShare({ history, thread: { length: 1045 } }), '4 of 1,045');
  assert.equal(c.messageShare({ history, thread: { length: 1045 } }, 43), '4 of 42');
  assert.equal(c.messageShare({ history, thread: null }), '4 of 4');
});

test('a problem is a sentence without marks and seconds', () => {
  assert.equal(
    c.problemSentence('index lags 14955 s behind; start `memorist worker`'),
    'The queue index is 4 h behind; start memorist worker',
  );
});

test('a request without a thread does not speak of one', () => {
  const settings = { stored: false, changed: [] };
  assert.match(c.settingsSentence(settings), /for this thread yet\.$/);
  assert.match(
    c.settingsSentence(settings, false),
    /Without a thread, no settings of your program are stored\.$/,
  );
});

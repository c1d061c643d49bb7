// @ts-check
// What the pages compute before they draw: requests from URLs, sentences from data, sums. No page, no network.
import * as f from './format.js';

// What the URL says of a request, as the server is asked for it. What it does not say is as the program has it.
export function askedOf(params) {
  const n = (name) => (params[name] ? Number(params[name]) : undefined);
  /** @type {Record<string, any>} */
  const asked = {
    input: params.input || '',
    thread: params.thread,
    user: params.thread ? undefined : params.user,
    budget: /^\d+$/.test(params.budget || '') ? Number(params.budget) : params.budget || undefined,
    reserve: n('reserve'),
    policy: params.policy,
    layout: params.layout,
    recall: params.recall ? params.recall !== 'off' : undefined,
    top_k: n('k'),
    memory: n('memory'),
    history: n('history'),
    profile: n('profile'),
    system: params.system,
    until: n('turn'),
    at: params.at,
  };
  if (params.tools) {
    try {
      asked.tools = JSON.parse(params.tools);
    } catch {
      /* what is being typed is not JSON yet */
    }
  }
  if (params.sfact) {
    const i = params.sfact.indexOf('/');
    asked.suppose = { ns: params.sfact.slice(0, i), key: params.sfact.slice(i + 1), value: params.svalue };
  }
  return Object.fromEntries(Object.entries(asked).filter(([, v]) => v !== undefined && v !== null));
}

// The request as a call in Python, from what was asked and the settings that the server used.
export function pythonCall(asked, settings) {
  const ceilings = ['memory', 'history', 'profile']
    .filter((name) => settings[name] !== null && settings[name] !== undefined)
    .map((name) => `, ${name}=${settings[name]}`)
    .join('');
  const reserve = settings.reserve ? `, output_reserve=${settings.reserve}` : '';
  return [
    'context = memory.context(',
    `    ${JSON.stringify(asked.input || '')},`,
    ...(asked.thread ? [`    thread=${JSON.stringify(asked.thread)},`] : []),
    `    budget=TokenBudget(${settings.budget}${ceilings}${reserve}),`,
    ...(settings.policy ? [`    policy=${settings.policy_python},`] : []),
    `    layout=${JSON.stringify(settings.layout)},`,
    ...(settings.recall ? [] : ['    recall=False,']),
    ...(settings.stash ? [`    stash=${settings.stash},`] : []),
    ')',
  ].join('\n');
}

const OPTION_NAMES = { top_k: 'number of recalled items', system: 'system prompt' };
// A problem that `memorist doctor` found, with its times as people read them.
export const problemSentence = (problem) =>
  problem
    .replace(
      /^(\w+) lags (\d+) s behind/,
      (_, queue, seconds) => `The queue ${queue} is ${f.span(+seconds)} behind`,
    )
    .replaceAll('`', '');

// Whose settings a request was built with, in a sentence.
export function settingsSentence(settings, thread = true) {
  const own = settings.changed.map((name) => OPTION_NAMES[name] || name);
  const but = own.length ? `, except ${own.join(', ')}, which you set here` : '';
  return settings.stored
    ? `Built with the settings that your program used on ${f.moment(settings.at)}${but}.`
    : thread
      ? `Built with the defaults of memory.context${but}. Your program has not built a request for this thread yet.`
      : `Built with the defaults of memory.context${but}. Without a thread, no settings of your program are stored.`;
}
// What of the program's request is not stored, so that it cannot be shown.
export function absentSentence(settings) {
  if (!settings.absent_tokens) return '';
  const names = settings.absent_tools;
  const listed = names.slice(0, 4).join(', ') + (names.length > 4 ? ', …' : '');
  const parts = [
    settings.absent_system && 'a system prompt',
    names.length && `${f.plural(names.length, 'tool')} (${listed})`,
  ].filter(Boolean);
  return (
    `Your program also sent ${parts.join(' and ')}, ${f.num(settings.absent_tokens)} tokens. ` +
    'Only the size is stored, so this page leaves that much space free.'
  );
}

// Costs: what providers reported of a thread's requests, oldest first.
export const uncached = (report) =>
  Math.max(0, report.input_tokens - report.cached_tokens - report.written_tokens);
export const dollars = (cost) =>
  cost === null || cost === undefined ? '–' : `$${cost >= 1 ? cost.toFixed(2) : cost.toFixed(4)}`;
export function costSums(reports) {
  const sum = (of) => reports.reduce((total, report) => total + (of(report) || 0), 0);
  const input = sum((r) => r.input_tokens);
  const cached = sum((r) => r.cached_tokens);
  const broken = reports.filter((r) => r.broken);
  return {
    requests: reports.length,
    input,
    cached,
    output: sum((r) => r.output_tokens),
    share: input ? cached / input : 0,
    cost: reports.some((r) => r.cost !== null && r.cost !== undefined) ? sum((r) => r.cost) : null,
    breaks: broken.length,
    lostTokens: broken.reduce((total, r) => total + r.broken.tokens, 0),
    lostCost: broken.some((r) => r.broken.cost !== null && r.broken.cost !== undefined)
      ? broken.reduce((total, r) => total + (r.broken.cost || 0), 0)
      : null,
  };
}
const SECTIONS = {
  tools: 'the tool',
  system: 'the system prompt',
  profile: 'the profile',
  summary: 'the summary',
  memory: 'recalled memory',
  history: 'the message',
  input: 'the input',
  compaction: "the provider's compaction",
};
// The first item that differed from the request before, in words.
export function breakWords(broken) {
  if (broken.section === 'model') return `the model changed to ${broken.name}`;
  if (broken.section === 'provider') return 'nothing changed, but the provider no longer had the prefix';
  const named = broken.section === 'tools' || broken.section === 'history' ? ` ${broken.name}` : '';
  return `${SECTIONS[broken.section] || broken.section}${named} was ${broken.change}`;
}

// Tidying up: how many memories a plan touches, in words.
export const OPERATIONS = { merge: 'Merge', end: 'End', reword: 'Reword', learn: 'Learn' };
export function planSentence(plan) {
  if (!plan.lines.length) return 'Nothing to tidy up.';
  const counts = Object.entries(OPERATIONS)
    .map(([op, verb]) => [verb.toLowerCase(), plan.lines.filter((line) => line.op === op).length])
    .filter(([, n]) => n)
    .map(([verb, n]) => `${n} to ${verb}`);
  return `${f.plural(plan.lines.length, 'change')}: ${counts.join(', ')}.`;
}
// Review: what a candidate asks for.
export const candidateVerb = (one) =>
  ({ add: 'Remember', update: 'Change', end: 'End', confirm: 'Confirm' })[one.operation] || one.operation;

// Who did something: the kind of actor, and the user whose handle it was, where there was one.
export const actorName = (event) =>
  event.user && event.actor === 'user'
    ? event.user
    : event.user
      ? `${event.actor} for ${event.user}`
      : event.actor;
// Whose record it is.
export const ownerName = (ns) => (ns ? f.userOf(ns) || ns : '');

// How many messages of the thread a request contains as messages, and how many the thread had by then.
export const sentMessages = (d) =>
  d.history
    .filter((row) => row.state === 'kept' || row.state === 'elided')
    .reduce((count, row) => count + row.count, 0);
export const messageShare = (d, turn) =>
  `${f.num(sentMessages(d))} of ${f.num(turn ? turn - 1 : d.thread ? d.thread.length : sentMessages(d))}`;

// The signals that weigh most over all hits, in that order: the columns of a search.
export function signalColumns(hits, most = 6) {
  /** @type {Record<string, number>} */
  const weights = {};
  for (const hit of hits)
    for (const [name, weight] of Object.entries(hit.signals))
      weights[name] = (weights[name] || 0) + Math.abs(weight);
  return Object.keys(weights)
    .sort((a, b) => weights[b] - weights[a])
    .slice(0, most);
}

// Made by scripts/make-typescript from docs/openapi.json; do not edit.

import { Http, type CallOptions, type Listed, type ServerEvent, type Settings, type Upload } from "./http.ts";

/** Represents a request that can be sent unchanged to a provider. */
export type RenderedRequest = {
  format: "anthropic" | "context" | "openai";
  messages: Record<string, unknown>[];
  system: unknown;
  tools: unknown[];
  tokens: number;
  manifest: Record<string, unknown> | null;
};

/**
 * Represents a JSON value under a key in a namespace, with its sources and confidence.
 *
 *     `key` identifies the fact in its namespace. If the fact is not about the owner of the namespace, its key contains
 *     the `subject` (`birthday@Mia`), so facts about two sisters never overwrite each other.
 */
export type Fact = {
  org: string;
  ns: string;
  key: string;
  value: unknown;
  text: string | null;
  subject: string | null;
  valid_from: string | null;
  valid_until: string | null;
  scope: string;
  tags: string[];
  metadata: Record<string, unknown>;
  inferred: boolean;
  confidence: number;
  sources: string[];
  actor: string;
  trust: string;
  status: string;
  reason: string | null;
  indexed: string[] | null;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/**
 * Represents an ordered, append-only conversation in a namespace. `length` is the last sequence number.
 *
 *     If you create a thread with the id of a deleted one, its sequence numbers continue after `start`.
 */
export type Thread = {
  org: string;
  id: string;
  ns: string;
  title: string | null;
  metadata: Record<string, unknown>;
  length: number;
  start: number;
  tokens: number;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/**
 * Represents one message in a thread. You set the role and the content. The thread, the sequence number and the
 *     token count are set when it is appended.
 */
export type Message = {
  org?: string;
  thread?: string;
  seq?: number;
  role: string;
  content?: unknown;
  name?: string | null;
  extra?: Record<string, unknown>;
  shape?: string | null;
  metadata?: Record<string, unknown>;
  importance?: number | null;
  pinned?: boolean;
  trust?: string | null;
  tokens?: number | null;
  counter?: string | null;
  raw?: unknown;
  created_at?: string | null;
  expires_at?: string | null;
};

/** Represents a stored long text and the preview to send in its place. */
export type Stashed = {
  id: string;
  text: string;
  tokens: number;
  lines: number;
  stored: boolean;
};

/**
 * Represents one part of a request, such as a tool, a system message or another message. Parts are in the order in
 *     which they are sent.
 */
export type Piece = {
  section: string;
  name: string;
  digest: string;
  tokens: number;
};

/** Reports the cost of one request to a model. */
export type RequestReport = {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  written_tokens: number;
  shared_tokens: number;
  model: string | null;
  cost: number | null;
  broken: Break | null;
  at: string | null;
};

/**
 * Describes the first part of a request that differs from the previous request. After that point, a cache serves
 *     nothing.
 */
export type Break = {
  section: string;
  name: string;
  change: "added" | "changed" | "expired" | "moved" | "removed";
  tokens: number;
  cost: number | null;
};

/**
 * Holds the state of an appended message: whether it is durable and indexed, and how far derivation has
 *     progressed.
 */
export type MessageReceipt = {
  message: Message;
  durable: boolean;
  indexed: boolean;
  derived: "done" | "failed" | "none" | "pending" | "unread";
  replayed: boolean;
  ended: string[];
  masked: string[];
  read_by: "model" | "rules" | null;
  refused: string[];
};

/** Holds the text that replaces messages `first` to `last` of a thread. `sources` are the summaries it includes. */
export type Summary = {
  org: string;
  thread: string;
  last: number;
  first: number;
  text: string;
  tokens: number;
  ns: string;
  sources: string[];
  method: string;
  actor: string;
  created_at: string;
  version: number;
};

/** Represents a line of a summary, and the ids of the messages it is about, the most closely related first. */
export type SummaryLine = {
  text: string;
  messages: string[];
};

/** Describes a part of a thread that a provider compacted. */
export type Compaction = {
  provider: "anthropic" | "openai";
  id: string;
  first: number;
  last: number;
  summary: string | null;
  created_at: string | null;
};

/**
 * Represents a sentence about a user, such as a preference or a habit. Its `id` is a fingerprint of the content and
 *     the subject, so that duplicates share a row.
 */
export type Learning = {
  org: string;
  ns: string;
  id: string;
  content: string;
  type: string;
  subject: string | null;
  valid_from: string | null;
  valid_until: string | null;
  scope: string;
  inferred: boolean;
  confidence: number;
  usage_count: number;
  last_used: string | null;
  tags: string[];
  metadata: Record<string, unknown>;
  sources: string[];
  actor: string;
  trust: string;
  status: string;
  reason: string | null;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/** Represents something that happened or is planned, with its time, people and place. */
export type Event = {
  org: string;
  ns: string;
  id: string;
  text: string;
  starts_at: string;
  ends_at: string | null;
  status: string;
  scope: string;
  subject: string | null;
  people: string[];
  location: string | null;
  tags: string[];
  metadata: Record<string, unknown>;
  inferred: boolean;
  confidence: number;
  sources: string[];
  actor: string;
  trust: string;
  reason: string | null;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/** Represents a fact, an event or a learning. */
export type Remembered = {
  id: string;
  kind: "event" | "fact" | "learning";
  namespace: string;
  text: string;
  subject: string | null;
  key: string | null;
  value: unknown;
  type: string | null;
  status: string;
  superseded_by: number | null;
  scope: string;
  valid_from: string | null;
  valid_until: string | null;
  people: string[];
  location: string | null;
  tags: string[];
  metadata: Record<string, unknown>;
  confidence: number;
  inferred: boolean;
  sources: string[];
  actor: string;
  trust: string;
  reason: string | null;
  score: number | null;
  created_at: string;
  updated_at: string;
  version: number;
};

/**
 * Represents a memory that is waiting for a person's approval. It is never recalled or sent to a model.
 *
 *     `proposal` contains the arguments of the operation that runs on approval, and `reason` says why approval is needed.
 *     An approved candidate is kept, out of the queue, so that undoing the approval puts it back.
 */
export type Candidate = {
  org: string;
  ns: string;
  id: string;
  kind: string;
  operation: string;
  target: string | null;
  text: string;
  proposal: Record<string, unknown>;
  quote: string | null;
  reason: string | null;
  confidence: number;
  sources: string[];
  approved_as: string | null;
  actor: string;
  trust: string;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/**
 * Decides what may be written. Pass it as `Memory(gate=Gate(…))`, or store it for an org with `memory.gate.set(…)`.
 *
 *     Attributes:
 *         secrets: By kind (`openai-key`), by group (`api_key`, `token`, `private_key`, `password`, `card`, `iban`,
 *             `one_time_code`) or for all (`*`): `mask`, `refuse` or `allow`. The default is to mask. It applies to facts,
 *             events, learnings, summaries and documents. The index never contains a secret that is not allowed.
 *         messages: What happens to secrets in messages. `keep` stores the message unchanged. `mask` does what `secrets`
 *             says for each kind, and `refuse` raises `NotAdmitted` for every secret that is not allowed.
 *         personal: By class (`email`, `phone`, `address`, `health`, `government_id`): `allow`, `review`, `refuse` or
 *             `expire 30d`.
 *         namespaces: Rules for personal data by namespace (`{"user:*": {"health": "review"}}`), which replace the org's
 *             rules.
 *         retention: Rules by which the collector deletes old records.
 */
export type Gate = {
  secrets: Record<string, "allow" | "mask" | "refuse">;
  messages: "keep" | "mask" | "refuse";
  personal: Record<string, string>;
  namespaces: Record<string, Record<string, string>>;
  retention: Retention[];
};

/**
 * Deletes records older than a given age. If you set several conditions, all of them must be met.
 *
 *     Attributes:
 *         kind: `message`, `fact`, `event`, `learning`, `document` or `candidate`.
 *         older_than: The age, such as `"90d"`, counted from the last change (for a message, from when it was written).
 *         tag: Delete only records with this tag. For messages and documents, tags are in `metadata["tags"]`.
 *         personal: Delete only records that contain personal data of this class.
 *         namespace: Delete only in matching namespaces, such as `user:*`.
 */
export type Retention = {
  kind: string;
  older_than: string | number;
  tag: string | null;
  personal: string | null;
  namespace: string;
};

/** Holds the gate's findings for a text. */
export type GateCheck = {
  text: string;
  secrets: string[];
  personal: string[];
};

/**
 * Reports what the gate did, and which classes of personal data are stored. It contains counts by kind and class,
 *     never content.
 */
export type GateReport = {
  masked: Record<string, number>;
  refused: Record<string, number>;
  held: Record<string, number>;
  expiring: Record<string, number>;
  stored: Record<string, number>;
};

/** Represents a tidy-up plan for one namespace. */
export type Plan = {
  id: string;
  ns: string;
  lines?: PlanLine[];
  refused?: string[];
  versions?: Record<string, number>;
  applied?: boolean;
};

/** Holds one proposal in a plan: what happens to which memories, and why. */
export type PlanLine = {
  op: string;
  ids: string[];
  before: string[];
  text?: string | null;
  reason?: string;
  sources?: string[];
};

/** Holds everything known about one user. The `preferences` are facts whose keys begin with `preference.`. */
export type UserProfile = {
  user: string;
  facts: Fact[];
  preferences: Record<string, unknown>;
  learnings: Learning[];
};

/** Represents a line about a user and its source. */
export type ProfileLine = {
  text: string;
  lane: string;
  source?: string;
  trust?: string;
};

/** Holds the template of working memory. Subclass it to add your own fields, with defaults. */
export type Working = {
  user: WorkingUser | null;
  current_page: Page | null;
  recent_actions: Action[];
  plan: PlanStep[];
  scratchpad: string;
  history: Record<string, unknown>[];
};

/** Describes the user in the conversation. */
export type WorkingUser = {
  id: string | null;
  name: string | null;
  role: string | null;
  preferences: Record<string, unknown>;
};

/** Holds the page that the user is looking at. */
export type Page = {
  route: string;
  entity_type: string | null;
  entity_id: string | null;
};

/** Represents something that the user or the agent did. */
export type Action = {
  action: string;
  entity_id: string | null;
  at: string | null;
};

/** Represents a step of the plan. */
export type PlanStep = {
  text: string;
  status: "active" | "done" | "failed" | "pending" | "skipped";
};

/** Represents a small value or counter under a key. */
export type StateEntry = {
  org: string;
  ns: string;
  key: string;
  value: unknown;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/** Represents a long text, split into chunks for recall. */
export type Document = {
  org: string;
  ns: string;
  id: string;
  title: string | null;
  source: string | null;
  metadata: Record<string, unknown>;
  text: string;
  chunks: number;
  digest: string;
  actor: string;
  trust: string;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/** Represents bytes as JSON. */
export type SentBytes = {
  "$bytes": string;
};

/**
 * Represents a piece of a document that ends at a sentence or heading.
 *
 *     `part` is derived from the text, so a chunk that only moved keeps its row, its index entry and its vector.
 */
export type Chunk = {
  org: string;
  ns: string;
  document: string;
  part: string;
  position: number;
  text: string;
  heading: string | null;
  page: number | null;
  start: number;
  stop: number;
  tokens: number;
  created_at: string;
};

/**
 * Holds the progress and lease of a task. Its state is stored in CheckpointSteps, starting with the snapshot at
 *     `base`.
 */
export type Task = {
  org: string;
  task_id: string;
  ns: string;
  step: number;
  status: string;
  saved: number;
  base: number;
  keep: number | null;
  completed: number;
  size: number;
  owner: string | null;
  fence: number;
  leased_until: string | null;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  version: number;
};

/** Represents a task's progress: its step, its state and the completed subtasks. */
export type Checkpoint = {
  task_id: string;
  ns: string | null;
  step: number;
  state: unknown;
  completed_subtasks: string[];
  status: string;
  owner: string | null;
  fence: number;
  leased_until: string | null;
  created_at: string | null;
  updated_at: string | null;
  version: number;
};

/** A record as it was written. `data` is bytes or a JSON value, and `key` is the tuple under which it is stored. */
export type OpaqueRecord = {
  ns: string;
  key: (string | number)[];
  data: unknown;
  meta: Record<string, unknown>;
  size: number;
  version: number;
  existed: boolean;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
};

/** Represents one of several records put in one call. */
export type RecordItem = {
  key: (string | number)[];
  data?: unknown;
  meta?: Record<string, unknown> | null;
  ttl?: number | null;
  expect?: number | null;
  absent?: boolean;
};

/**
 * Represents an entry in the audit trail: who did what to which item, when and from which source. It contains no
 *     content.
 */
export type AuditEvent = {
  org: string;
  id: string;
  action: string;
  kind: string;
  subject: string;
  actor: string;
  user: string | null;
  source: string | null;
  detail: unknown;
  created_at: string;
  expires_at: string | null;
};

/**
 * Describes the state of one queue: how many jobs are waiting, failing or dead, and how long they have been
 *     waiting.
 */
export type Backlog = {
  queue: string;
  waiting: number;
  dead: number;
  lag_seconds: number;
  errors: string[];
  failing: number;
  reasons: string[];
};

/** Represents a row of the durable outbox: a unit of work, such as indexing one thread. */
export type Job = {
  org: string;
  queue: string;
  ns: string;
  item: string;
  status: string;
  attempts: number;
  run_at: string;
  owner: string | null;
  leased_until: string | null;
  payload: unknown;
  error: string | null;
  created_at: string;
  updated_at: string;
  version: number;
};

/** Represents one record that recall found for a question. `id` is the record's own id. */
export type Hit = {
  kind: string;
  id: string;
  text: string;
  score: number;
  cosine: number | null;
  namespace: string;
  org: string;
  created_at: string;
  source: string | null;
  superseded_by: string | null;
  reasons: Reason[];
  trust: string;
  speaker: string;
  place: number;
  heading: string | null;
  page: number | null;
};

/** Describes one signal behind a hit: its share of the score and the hit's rank by that signal alone. */
export type Reason = {
  signal: string;
  weight: number;
  rank: number;
  note: string;
};

/** Reports what `remember` stored and understood. */
export type Understood = {
  thread: string | null;
  receipts: MessageReceipt[];
  stored: Remembered[];
  waiting: Candidate[];
  ended: string[];
  refused: Refusal[];
};

/**
 * Describes something in a message that did not become a memory, such as a secret or a model's note that failed
 *     validation.
 */
export type Refusal = {
  message: string;
  reason: string;
};

/** Holds a request to a model, assembled to fit a token budget. */
export type Context = {
  tokens: number;
  layout: string;
  tools: Record<string, unknown>[];
  system_messages: Message[];
  memory_message: Message | null;
  summary_message: Message | null;
  history: Message[];
  input: Message[];
  scratchpad_message: Message | null;
  account: Account;
  lead: Message | null;
  lead_always: boolean;
  profile_message: Message | null;
  profile: ProfileLine[];
  recalled: Fate[];
  memory_text: string;
  memory_items: MemoryItem[];
  summary_text: string | null;
  inputs: InputFate[];
  broken: Break | null;
  view: Message[];
};

/** Holds the decisions made during assembly. The manifest is built from them on request. */
export type Account = {
  budget_tokens: number;
  output_reserve: number;
  counter: string;
  policy: string;
  section_tokens: Record<string, number>;
  ceilings: Record<string, number | null>;
  kept: Unit[];
  dropped: Left[];
  folded: Unit[];
  elided: Left[];
  repairs: Repair[];
  unread: [number, number, number] | null;
  memory_kept: number;
  memory_dropped: number;
  profile_kept: number;
  profile_dropped: number;
  tools_left: string[];
  method: string;
  behind: number;
  notes: string[];
};

/** Represents a message, or tool calls with their results. A request contains a unit as a whole or not at all. */
export type Unit = {
  messages: Message[];
  tokens: number;
  position: number;
  pinned: boolean;
  exchange: boolean;
  last: number;
};

/** Represents a dropped or shortened unit and the reason. */
export type Left = {
  unit: Unit;
  reason: string;
};

/** Represents a change to a message in the request that makes a provider accept it. */
export type Repair = {
  position: number;
  reason: string;
  tokens: number;
  message: string;
};

/** Records whether a recalled item was kept, shortened or dropped, and why. The manifest uses it. */
export type Fate = {
  item: MemoryItem;
  tokens: number;
  fate: string;
  reason: string;
};

/** Represents a recalled item, with its text, its source and its level of trust. */
export type MemoryItem = {
  text: string;
  kind: string;
  source: string;
  trust: string;
  created_at: string | null;
  speaker: string;
  superseded_by: string | null;
  score: number | null;
  id: string;
  place: number;
  gist: string;
  said_in: string;
};

/** Reports what `compress` did with one message, and why. */
export type InputFate = {
  position: number;
  fate: "dropped" | "elided" | "folded" | "kept";
  reason: string;
  message: Message | null;
};

/** Explains where an item came from: every step back to the messages, nearest first. */
export type Why = {
  kind: string;
  item: string;
  actor: string | null;
  created_at: string | null;
  sources: WhyStep[];
  correction: WhyCorrection | null;
};

/**
 * Describes one source in the chain. A direct source has `depth` 1. `present` is false if the source no longer
 *     exists.
 */
export type WhyStep = {
  kind: string;
  id: string;
  depth: number;
  actor: string | null;
  trust: string | null;
  created_at: string | null;
  present: boolean;
  message: Message | null;
};

/** Describes the correction that set a fact's current value: what it replaced, and who made it, when and why. */
export type WhyCorrection = {
  before: unknown;
  value: unknown;
  actor: string;
  corrected_at: string;
  reason: string | null;
};

/** Represents a processor's report: how many items it examined and changed, along with counts and notes. */
export type Report = {
  processor: string;
  seen: number;
  changed: number;
  counts: Record<string, number>;
  notes: string[];
};

/** Holds the report on a scrub, which contains names of files, tables and servers, but never content. */
export type Scrubbed = {
  done: string[];
  left: string[];
};

/** Counts the stored records by kind, and how many of them are indexed. */
export type Stats = {
  org: string;
  threads: number;
  messages: number;
  message_tokens: number;
  summaries: number;
  facts: number;
  events: number;
  learnings: number;
  documents: number;
  tasks: number;
  turns: Turns;
  reading: ReadingCost;
  indexed: number;
  waiting: Record<string, number>;
  dead_letters: number;
  namespaces: string[];
};

/** Counts the turns of ended sessions. */
export type Turns = {
  persisted: number;
  passing: number;
};

/** Reports the cost of extracting memories with a model, for all threads that still exist. */
export type ReadingCost = {
  calls: number;
  messages: number;
  input_tokens: number;
  output_tokens: number;
  input_tokens_per_1000: number;
  output_tokens_per_1000: number;
  cached_tokens: number;
  accepted: number;
  refused: number;
  accepted_per_1000: number;
  refused_per_1000: number;
  tokens_today: number;
};

/** Holds the `doctor` report on the store, the embedder, the queues and all problems. */
export type Diagnosis = {
  store: string;
  details: Record<string, unknown>;
  embedder: string | null;
  queues: Backlog[];
  retention: RetentionState[];
  problems: string[];
};

/** Represents a retention rule, and the number of rows that the collector will delete in its next run. */
export type RetentionState = {
  rule: string;
  due: number;
};

/** Holds the org, user and rights of the caller's key. */
export type Me = {
  id: string;
  org: string;
  user: string | null;
  actor: string;
  roles: ("admin" | "forget" | "operator" | "reader" | "writer")[];
  read: string[];
  write: string[];
  expires_at: string | null;
  version: string;
};

/** Describes an API key without its secret. */
export type KnownKey = {
  id: string;
  org: string;
  user: string | null;
  actor: string;
  roles: ("admin" | "forget" | "operator" | "reader" | "writer")[];
  read: string[];
  write: string[];
  expires_at: string | null;
  note: string;
  created_at: string;
  used_at: string | null;
};

/** Represents a new key with its secret, which is shown only here. */
export type NewKey = {
  key: string;
  id: string;
  org: string;
  user: string | null;
  actor: string;
  roles: ("admin" | "forget" | "operator" | "reader" | "writer")[];
  expires_at: string | null;
};

/** Represents one operation of a batch: its name, such as `facts.set`, and its arguments by name. */
export type Step = {
  operation: string;
  arguments?: Record<string, unknown>;
};

/** Holds the result of a batch. */
export type Committed = {
  count: number;
  results: unknown[];
  replayed: boolean;
};

/**
 * Represents a task whose lease a client holds, with the fencing token (`fence`) that its later requests must
 *     send.
 */
export type Held = {
  task_id: string;
  ns: string;
  step: number;
  fence: number;
  owner: string | null;
  leased_until: string | null;
  version: number;
  state: unknown;
  completed: string[];
  saved: boolean;
};

/** Represents a cached entity and its state. */
export type EntityView = {
  value: unknown;
  fresh: boolean;
  stale: boolean;
  leased: boolean;
  owner: string | null;
  version: number;
};

/** Holds the memory recalled for a user's message, as `context` returned it, with the server's signature. */
export type Carried = {
  place: number;
  kept: Record<string, unknown>;
  proof: string;
};

/** Represents a context and the recalled memory to send back with its turn. */
export type SessionContext = {
  context: Context;
  kept: Record<string, unknown> | null;
  proof: string;
};

/** Holds the result of a session. */
export type Ended = {
  thread: string;
  turns: number;
  summary: Summary | null;
  derived: number;
};

/** Contains the memories that a function receives, and the sources of its output. */
export type Recalled = {
  hits: Hit[];
  made: MadeFrom;
};

/** Describes the sources of an output, as `recall` returned them. The client sends it back with the output. */
export type MadeFrom = {
  since: string;
  sources?: string[];
  trust?: string | null;
};

/** Describes the fact in which an output is stored. */
export type RememberAs = {
  namespace: string;
  key: string;
  ttl?: number | null;
  confidence?: number;
};

/** Contains a preview with the code that confirms it, or (if `done`) the report on the deletion. */
export type Forgetting = {
  erasure: Erasure;
  code: string | null;
  done: boolean;
};

/**
 * Reports the result of `forget`: the number of deleted rows by table, and what a subsequent search of the files
 *     found.
 */
export type Erasure = {
  kind: string;
  counts: Record<string, number>;
  tombstones: number;
  physical: boolean;
  verified: boolean | null;
  found: string[];
  checked: string[];
  unchecked: string[];
  preview: boolean;
  shredded: string[];
  complete: boolean;
};

/** Reports the number of rows in an export or import, by table. */
export type Transfer = {
  rows: number;
  counts: Record<string, number>;
  resumed_at: number;
};

/** Reports what a source contains, what was imported, and what could not be imported. */
export type ImportReport = {
  kind: string;
  source: string;
  found: Record<string, number>;
  added: Record<string, number>;
  known: Record<string, number>;
  problems: ItemsProblem[];
  failed: number;
  namespaces: Record<string, number>;
  samples: Sample[];
  first_at: string | null;
  last_at: string | null;
  dry_run: boolean;
};

/** Describes something that cannot be imported, with its position in the source and the reason. */
export type ItemsProblem = {
  place: string;
  reason: string;
};

/** Holds one of the first items of its kind, as it would be stored. */
export type Sample = {
  what: string;
  id: string;
  namespace: string;
  text: string;
  at: string | null;
};

/** Holds the changes and the cursor (`seen`) to send with the next request. */
export type Watched = {
  notices: Notice[];
  seen: Record<string, number>;
};

/** Reports that a record of a given kind changed in a namespace. */
export type Notice = {
  kind: string;
  namespace: string;
};

/** Describes a folder that can be analysed, and whether a report on it exists. */
export type Checkout = {
  name: string;
  analysed: boolean;
};

/** Reads and writes facts: values under a namespace and a key. */
export class FactsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List the facts of a namespace, in the order of their keys.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     prefix: Return only keys that start with this.
   *     where: A filter on the value and other fields, such as `{"count": {"$gt": 2}}`.
   *     limit: The maximum number to return.
   *     after: The last key of the previous page.
   *     reverse: Whether to list in reverse order.
   *     as_of: Return the facts that were current at this time, with their values at that time.
   *
   * Returns:
   *     The facts.
   *
   * Raises:
   *     InvalidFilter: `where` is not a valid filter.
   *
   * Role: `reader`.
   */
  list(args: { ns?: string | null; prefix?: string | null; where?: Record<string, unknown> | null; limit?: number | null; after?: string | null; reverse?: boolean; as_of?: string | null } = {}, options: CallOptions = {}): Promise<Listed<Fact>> {
    return this.#http.call({"method": "GET", "path": "/v1/facts", "query": ["ns", "prefix", "after", "as_of"], "json": ["where", "limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Fact>>;
  }

  /**
   * Write several values in one transaction.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     items: The values by key.
   *     ttl: How long to keep each of them.
   *     index: Which parts of each value recall indexes, as in `set`.
   *
   * Returns:
   *     The stored facts, in the order of the items.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *     NotAdmitted: The gate refuses one of the values; nothing is written.
   *
   * Role: `writer`.
   */
  setMany(args: { ns?: string | null; items: Record<string, unknown> | [string, unknown][]; ttl?: number | null; index?: boolean | string[] }, options: CallOptions = {}): Promise<Listed<Fact>> {
    return this.#http.call({"method": "POST", "path": "/v1/facts", "query": ["ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Listed<Fact>>;
  }

  /**
   * Delete all facts whose key starts with `prefix`, as `delete` does, and return how many were deleted.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     prefix: The beginning of the keys; the default matches every key.
   *     history: Whether to keep the history.
   *
   * Returns:
   *     How many facts were deleted.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  deleteRange(args: { ns?: string | null; prefix?: string; history?: boolean } = {}, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "DELETE", "path": "/v1/facts", "query": ["ns", "prefix"], "json": ["history"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }

  /**
   * Return several facts at once, in the order of the keys, and None for each one that does not exist.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     keys: The keys to read.
   *
   * Returns:
   *     One fact or None per key.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  getMany(args: { ns?: string | null; keys: string[] }, options: CallOptions = {}): Promise<Listed<Fact | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/facts/get", "query": ["ns"], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Fact | null>>;
  }

  /**
   * Delete this org's expired facts now instead of waiting for the collector, and return how many were deleted.
   *
   * Returns:
   *     How many facts were deleted.
   *
   * Role: `writer`.
   */
  deleteExpired(args: Record<string, never> = {}, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "POST", "path": "/v1/facts/expire", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }

  /**
   * Return a fact, or None if it does not exist.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     as_of: Return the version that was current at this time.
   *
   * Returns:
   *     The fact, or None.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  get(args: { ns?: string | null; key: string; as_of?: string | null }, options: CallOptions = {}): Promise<Fact | null> {
    return this.#http.call({"method": "GET", "path": "/v1/fact", "query": ["ns", "key", "as_of"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Fact | null>;
  }

  /**
   * Write a value. The last write wins unless you pass the version to replace as `expect`.
   *
   * A rejected value is not written again from the same `source`, except by the user; the rejected version is
   * returned instead. The same applies to a fact whose `source` was forgotten, regardless of who writes it.
   *
   * Args:
   *     ns: The namespace, such as `user:ada`. On a user's handle you can leave it out in all methods:
   *         `ada.facts.set("city", "Lisbon")` writes to the user's own namespace.
   *     key: The name of the value, such as `city`.
   *     value: A JSON value.
   *     ttl: How long to keep it, in seconds or as a timedelta.
   *     confidence: How certain it is, from 0 to 1.
   *     source: The id of the message it was taken from.
   *     expect: The version to replace; 0 if there must be no fact yet.
   *     index: Which parts of the value recall indexes: all of it, some fields (`["title", "author.name"]`), or
   *         none.
   *     text: The fact as a sentence that makes sense on its own ("Ada lives in Lisbon").
   *     subject: The person or thing it is about, if not the owner of the namespace. It becomes part of the key
   *         (`birthday@Mia`), so that facts about two people stay apart.
   *     valid_from: When it became true.
   *     valid_until: When it stops being true; recall and contexts leave it out afterwards.
   *     scope: How long it matters: `standing`, `conversation` or `task`.
   *     tags: Your own labels.
   *     metadata: Anything else, as JSON.
   *
   * Returns:
   *     The stored fact, with its new version.
   *
   * Raises:
   *     Conflict: `expect` is not the current version.
   *     Forbidden: This handle may not write to the namespace.
   *     NotAdmitted: The gate refuses the value, for example because it is a secret.
   *
   * Role: `writer`.
   */
  set(args: { ns?: string | null; key: string; value: unknown; ttl?: number | null; confidence?: number; source?: string | null; index?: boolean | string[]; text?: string | null; subject?: string | null; valid_from?: string | null; valid_until?: string | null; scope?: "conversation" | "standing" | "task"; tags?: string[]; metadata?: Record<string, unknown> | null }, options: CallOptions = {}): Promise<Fact> {
    return this.#http.call({"method": "PUT", "path": "/v1/fact", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact>;
  }

  /**
   * Delete a fact. Memories derived from it stay; use `forget` to delete them too.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     expect: The version that you expect to be current.
   *     history: Whether to keep the older versions, for `history` and `as_of`.
   *
   * Returns:
   *     Whether the fact existed.
   *
   * Raises:
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  delete(args: { ns?: string | null; key: string; history?: boolean }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/fact", "query": ["ns", "key"], "json": ["history"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Change some fields of a fact and return its new version. Fields that you leave out stay as they are.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     value: The new value; to store null, use `set`.
   *     text: The fact as a sentence that makes sense on its own.
   *     valid_from: When it became true.
   *     valid_until: When it stops being true.
   *     tags: Your own labels, which replace the current ones.
   *     metadata: JSON values, which replace the current metadata.
   *     confidence: How certain it is, from 0 to 1.
   *     reason: The reason, for the history.
   *     expect: The version that you expect to be current.
   *
   * Returns:
   *     The fact with its new version.
   *
   * Raises:
   *     NotFound: There is no such fact.
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  update(args: { ns?: string | null; key: string; value?: unknown; text?: string | null; valid_from?: string | null; valid_until?: string | null; tags?: string[] | null; metadata?: Record<string, unknown> | null; confidence?: number | null; reason?: string | null }, options: CallOptions = {}): Promise<Fact> {
    return this.#http.call({"method": "PATCH", "path": "/v1/fact", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact>;
  }

  /**
   * Change how long a fact is kept, counting from now, without creating a new version.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     ttl: Seconds or a timedelta; None keeps it forever.
   *
   * Returns:
   *     The fact, or None if there is none.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  touch(args: { ns?: string | null; key: string; ttl: number | null }, options: CallOptions = {}): Promise<Fact | null> {
    return this.#http.call({"method": "POST", "path": "/v1/fact/touch", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact | null>;
  }

  /**
   * List every version of a fact, oldest first. The last one is current, or has the status `deleted`, `ended` or
   * `rejected`.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *
   * Returns:
   *     All versions, or an empty list.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  history(args: { ns?: string | null; key: string }, options: CallOptions = {}): Promise<Listed<Fact>> {
    return this.#http.call({"method": "GET", "path": "/v1/fact/history", "query": ["ns", "key"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Fact>>;
  }

  /**
   * Replace a wrong value with the right one.
   *
   * The wrong value stays in the history but is not derived again from the same sources.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     value: The right value.
   *     reason: The reason, for the history.
   *     expect: The version that you expect to be current.
   *
   * Returns:
   *     The corrected fact.
   *
   * Raises:
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  correct(args: { ns?: string | null; key: string; value: unknown; reason?: string | null }, options: CallOptions = {}): Promise<Fact> {
    return this.#http.call({"method": "POST", "path": "/v1/fact/correct", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact>;
  }

  /**
   * End a fact that used to be true. Its history is kept, and the same value may be stated again.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key of the fact.
   *     since: When it stopped being true; now by default.
   *     reason: Why it ended, for the history.
   *     expect: The version that you expect to be current.
   *
   * Returns:
   *     The last version, with the status `ended`.
   *
   * Raises:
   *     NotFound: There is no such fact.
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  end(args: { ns?: string | null; key: string; since?: string | null; reason?: string | null }, options: CallOptions = {}): Promise<Fact> {
    return this.#http.call({"method": "POST", "path": "/v1/fact/end", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact>;
  }

  /**
   * Reject a fact that was never true. It is removed and is not derived again from the same sources.
   *
   * If the user states it again, that counts as a new source, and the fact is remembered.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     reason: The reason, for the history.
   *     expect: The version that you expect to be current.
   *
   * Returns:
   *     The rejected version.
   *
   * Raises:
   *     NotFound: There is no such fact.
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  reject(args: { ns?: string | null; key: string; reason?: string | null }, options: CallOptions = {}): Promise<Fact> {
    return this.#http.call({"method": "POST", "path": "/v1/fact/reject", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact>;
  }

  /**
   * Undo a request to forget, and return the facts that came back.
   *
   * All facts, learnings and events that the request ended are restored, and the messages it marked lose their mark.
   * A fact that the user has stated again since then keeps its newer value.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The last id in the `ended` of the request's receipt.
   *
   * Returns:
   *     The restored facts.
   *
   * Raises:
   *     NotFound: There is no such request, or it has already been undone.
   *
   * Role: `writer`.
   */
  unforget(args: { ns?: string | null; key: string }, options: CallOptions = {}): Promise<Listed<Fact>> {
    return this.#http.call({"method": "POST", "path": "/v1/fact/unforget", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Listed<Fact>>;
  }

  /**
   * Make an earlier version of a fact the current one again, with its value, confidence, sources and expiry.
   *
   * A rejected value may then be derived from its sources again.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     version: The number of the version to restore.
   *     expect: The version that you expect to be current.
   *
   * Returns:
   *     The restored fact, with its new version.
   *
   * Raises:
   *     NotFound: There is no such version.
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  restore(args: { ns?: string | null; key: string; version: number }, options: CallOptions = {}): Promise<Fact> {
    return this.#http.call({"method": "POST", "path": "/v1/fact/restore", "query": ["ns", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact>;
  }
}

/** Reads and writes conversations. */
export class ThreadsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List the threads of a namespace, in the order of their ids. Generated ids sort by creation time.
   *
   * With `by`, all threads of the namespace are read and sorted, because an index would add a write to every append.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     where: A filter on title, metadata and the other fields.
   *     by: Sort by a time instead, such as `updated_at`.
   *     limit: The maximum number to return.
   *     after: The last thread of the previous page.
   *     reverse: Whether to list in reverse order.
   *
   * Returns:
   *     The threads.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *     InvalidFilter: `where` is not a valid filter.
   *
   * Role: `reader`.
   */
  list(args: { ns?: string | null; where?: Record<string, unknown> | null; by?: "created_at" | "id" | "updated_at"; limit?: number | null; after?: string | null; reverse?: boolean } = {}, options: CallOptions = {}): Promise<Listed<Thread>> {
    return this.#http.call({"method": "GET", "path": "/v1/threads", "query": ["ns", "by", "after"], "json": ["where", "limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Thread>>;
  }

  /**
   * Create a thread, or return the existing one with this id.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     title: A title for people.
   *     id: Your own id for the thread; generated by default.
   *     metadata: JSON values that you want to filter by.
   *     ttl: How long to keep it.
   *     new: Whether to raise an error if the id is taken.
   *     parent: The id of an existing thread; forgetting that thread forgets this one too.
   *
   * Returns:
   *     The thread.
   *
   * Raises:
   *     Conflict: With `new`, the id is taken.
   *
   * Role: `writer`.
   */
  create(args: { ns?: string | null; title?: string | null; id?: string | null; metadata?: Record<string, unknown> | null; ttl?: number | null; new?: boolean; parent?: string | null } = {}, options: CallOptions = {}): Promise<Thread> {
    return this.#http.call({"method": "POST", "path": "/v1/threads", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Thread>;
  }

  /**
   * Return several threads at once, in the order of the ids, and None for each one that does not exist.
   *
   * Args:
   *     ids: The ids of the threads.
   *
   * Returns:
   *     One thread or None per id.
   *
   * Role: `reader`.
   */
  getMany(args: { ids: string[] }, options: CallOptions = {}): Promise<Listed<Thread | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/threads/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Thread | null>>;
  }

  /**
   * Return a thread without its messages, or None if it does not exist.
   *
   * Args:
   *     id: The id of the thread.
   *
   * Returns:
   *     The thread, or None.
   *
   * Role: `reader`.
   */
  get(args: { id: string }, options: CallOptions = {}): Promise<Thread | null> {
    return this.#http.call({"method": "GET", "path": "/v1/thread", "query": ["id"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Thread | null>;
  }

  /**
   * Change a thread's title or metadata.
   *
   * Args:
   *     id: The thread.
   *     title: The new title.
   *     metadata: The new metadata.
   *     expect: The version that you expect to be current.
   *
   * Returns:
   *     The changed thread.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  update(args: { id: string; title?: string | null; metadata?: Record<string, unknown> }, options: CallOptions = {}): Promise<Thread> {
    return this.#http.call({"method": "PATCH", "path": "/v1/thread", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Thread>;
  }

  /**
   * Delete a thread and its messages, summaries and index entries, and return whether it existed.
   *
   * Args:
   *     id: The id of the thread.
   *
   * Returns:
   *     Whether the thread existed.
   *
   * Role: `writer`.
   */
  delete(args: { id: string }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/thread", "query": ["id"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Remove and return the newest message, or None if there is none. Memories derived from it stay.
   *
   * Args:
   *     id: The id of the thread.
   *
   * Returns:
   *     The removed message, or None.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *
   * Role: `writer`.
   */
  pop(args: { id: string }, options: CallOptions = {}): Promise<Message | null> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/pop", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Message | null>;
  }

  /**
   * Copy the messages of a thread, up to and including `at`, into a new thread in the same namespace.
   *
   * Args:
   *     id: The thread to copy.
   *     at: The last message to copy; all by default.
   *     new_id: The id of the copy.
   *     title: Its title.
   *     metadata: Its metadata; by default, a copy of the original's. `forked_from` names the original.
   *     ttl: How long to keep it.
   *     share: With `prefix`, contexts of the copy begin with the same bytes as those of the original, so that a
   *         provider's prompt cache can serve them.
   *
   * Returns:
   *     The new thread. Its messages have the same numbers.
   *
   * Role: `writer`.
   */
  fork(args: { id: string; at?: number | string | null; new_id?: string | null; title?: string | null; metadata?: Record<string, unknown> | null; ttl?: number | null; share?: "messages" | "prefix" }, options: CallOptions = {}): Promise<Thread> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/fork", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Thread>;
  }

  /**
   * Store a long tool result next to a thread, and return the preview to send to the model instead.
   *
   * The full text is stored in a separate thread, which is deleted and forgotten together with this one.
   * `memorist.read_back` reads it back by its id.
   *
   * Args:
   *     id: The thread.
   *     text: The tool result.
   *     over_tokens: Texts with at most this many tokens are returned unchanged and not stored.
   *     key: Makes the call idempotent.
   *     create: The namespace to store in, if the thread itself does not exist.
   *
   * Returns:
   *     The preview.
   *
   * Role: `writer`.
   */
  stash(args: { id: string; text: string; over_tokens?: number; key?: string | null; create?: string | null }, options: CallOptions = {}): Promise<Stashed> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/stash", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Stashed>;
  }

  /**
   * Record the cost of a request for this thread, and find out what broke the provider's prompt cache.
   *
   * Args:
   *     id: The thread.
   *     usage: The response from OpenAI, Anthropic or Gemini, or its `usage`.
   *     pieces: The `pieces` of the context you sent, which are compared with those of the previous request.
   *     model: The model that answered, which determines the prices.
   *
   * Returns:
   *     The report of the request.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *
   * Role: `writer`.
   */
  report(args: { id: string; usage: Record<string, unknown>; pieces?: Piece[] | null; model?: string | null }, options: CallOptions = {}): Promise<RequestReport> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/requests", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<RequestReport>;
  }

  /**
   * List the costs of a thread's last requests, oldest first, as recorded by `report`.
   *
   * Args:
   *     id: The id of the thread.
   *
   * Returns:
   *     One report per request.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *
   * Role: `reader`.
   */
  requests(args: { id: string }, options: CallOptions = {}): Promise<Listed<RequestReport>> {
    return this.#http.call({"method": "GET", "path": "/v1/thread/requests", "query": ["id"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<RequestReport>>;
  }

  /**
   * Replace all messages of a thread in one transaction. The new messages get new numbers.
   *
   * To change a thread safely, read the thread, then its messages, and pass the version you read as `expect`.
   * Summaries are deleted; other derived memories stay.
   *
   * Args:
   *     id: The thread.
   *     messages: The new messages.
   *     expect: Replace only if this is the thread's `version`.
   *
   * Returns:
   *     One receipt per message.
   *
   * Raises:
   *     Conflict: `expect` is not the thread's version.
   *
   * Role: `writer`.
   */
  replace(args: { id: string; messages: (string | Record<string, unknown>)[] }, options: CallOptions = {}): Promise<Listed<MessageReceipt>> {
    return this.#http.call({"method": "PUT", "path": "/v1/thread/messages", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Listed<MessageReceipt>>;
  }

  /**
   * List the messages of a thread, oldest first.
   *
   * Args:
   *     id: The thread.
   *     limit: The maximum number to return. With `before`, the messages nearest to it are returned.
   *     before: Return only messages before this number.
   *     after: Return only messages after this number.
   *     roles: Return only messages with these roles.
   *
   * Returns:
   *     The messages.
   *
   * Role: `reader`.
   */
  messages(args: { id: string; limit?: number | null; before?: number | string | null; after?: number | string | null; roles?: string[] | null }, options: CallOptions = {}): Promise<Listed<Message>> {
    return this.#http.call({"method": "GET", "path": "/v1/thread/messages", "query": ["id"], "json": ["limit", "before", "after", "roles"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Message>>;
  }

  /**
   * Append messages in one transaction, and return a receipt for each.
   *
   * Args:
   *     id: The thread.
   *     messages: Texts, or messages in OpenAI's or Anthropic's format.
   *     key: An idempotency key for the call, or a list with one per message. A message whose key the thread has
   *         seen is not added again, and its receipt says `replayed`.
   *     create: The namespace in which to create the thread if it does not exist.
   *     expect: Append only if this is the thread's `length` (the number of its last message).
   *
   * Returns:
   *     One receipt per message.
   *
   * Raises:
   *     NotFound: There is no such thread, and you did not pass `create`.
   *     Conflict: `expect` is not the length of the thread.
   *
   * Role: `writer`.
   */
  append(args: { id: string; messages?: (string | Record<string, unknown>)[]; key?: string | (string | null)[] | null; create?: string | null }, options: CallOptions = {}): Promise<Listed<MessageReceipt>> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/messages", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Listed<MessageReceipt>>;
  }

  /**
   * Delete messages from a thread, and return how many were deleted. `forget` also deletes everything derived
   * from them.
   *
   * Args:
   *     id: The thread.
   *     ids: The messages to delete.
   *     before: Delete all messages before this number.
   *
   * Returns:
   *     How many messages were deleted.
   *
   * Role: `writer`.
   */
  deleteMessages(args: { id: string; ids?: string[] | null; before?: number | string | null }, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "DELETE", "path": "/v1/thread/messages", "query": ["id"], "json": ["ids", "before"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }

  /**
   * Return the newest `n` messages, newest last.
   *
   * Args:
   *     id: The id of the thread.
   *     n: The maximum number of messages to return.
   *
   * Returns:
   *     The messages.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *
   * Role: `reader`.
   */
  recent(args: { id: string; n?: number }, options: CallOptions = {}): Promise<Listed<Message>> {
    return this.#http.call({"method": "GET", "path": "/v1/thread/recent", "query": ["id"], "json": ["n"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Message>>;
  }

  /**
   * List the summaries of a thread, oldest first, each with the messages it covers.
   *
   * Args:
   *     id: The id of the thread.
   *
   * Returns:
   *     The summaries.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *
   * Role: `reader`.
   */
  summaries(args: { id: string }, options: CallOptions = {}): Promise<Listed<Summary>> {
    return this.#http.call({"method": "GET", "path": "/v1/thread/summaries", "query": ["id"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Summary>>;
  }

  /**
   * List the lines of a thread's newest summary, each with the ids of the messages behind it.
   *
   * Args:
   *     id: The id of the thread.
   *
   * Returns:
   *     The lines.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *
   * Role: `reader`.
   */
  summaryLines(args: { id: string }, options: CallOptions = {}): Promise<Listed<SummaryLine>> {
    return this.#http.call({"method": "GET", "path": "/v1/thread/summaries/lines", "query": ["id"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<SummaryLine>>;
  }

  /**
   * List the parts of a thread compacted by a provider, oldest first, each with the message that contains its
   * item.
   *
   * Args:
   *     id: The id of the thread.
   *
   * Returns:
   *     The compacted parts.
   *
   * Raises:
   *     NotFound: There is no such thread.
   *
   * Role: `reader`.
   */
  compactions(args: { id: string }, options: CallOptions = {}): Promise<Listed<Compaction>> {
    return this.#http.call({"method": "GET", "path": "/v1/thread/compactions", "query": ["id"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Compaction>>;
  }

  /**
   * Return one message by its id, or None if it does not exist.
   *
   * Args:
   *     id: The id of the message, such as `talk#12`.
   *
   * Returns:
   *     The message, or None.
   *
   * Role: `reader`.
   */
  message(args: { id: string }, options: CallOptions = {}): Promise<Message | null> {
    return this.#http.call({"method": "GET", "path": "/v1/message", "query": ["id"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Message | null>;
  }

  /**
   * Remove the content of a message, and everything derived from it, but keep its position and its tool call ids.
   *
   * Args:
   *     message: The message, or its id.
   *
   * Returns:
   *     The redacted message.
   *
   * Raises:
   *     NotFound: There is no such thread or message.
   *
   * Role: `writer`.
   */
  redact(args: { message: string | Message }, options: CallOptions = {}): Promise<Message> {
    return this.#http.call({"method": "POST", "path": "/v1/message/redact", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Message>;
  }

  /**
   * Pin a message so that every later context of its thread contains it, or unpin it.
   *
   * Args:
   *     message: The message, or its id.
   *     pinned: False to unpin it.
   *
   * Returns:
   *     The message.
   *
   * Raises:
   *     NotFound: There is no such message.
   *
   * Role: `writer`.
   */
  pin(args: { message: string | Message; pinned?: boolean }, options: CallOptions = {}): Promise<Message> {
    return this.#http.call({"method": "POST", "path": "/v1/message/pin", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Message>;
  }
}

/** Reads and writes the learnings of the handle's user, or of a user that you name. */
export class LearningsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List learnings that have not ended by use (most used first), then by confidence, then by age.
   *
   * Args:
   *     min_confidence: Leave out learnings with a lower confidence.
   *     type: Return only learnings of type `preference`, `pattern` or `correction`.
   *     limit: The maximum number to return.
   *     after: The id of the last learning of the previous page. If it was deleted in the meantime, there is no next
   *         page.
   *     reverse: Whether to list in reverse order.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     The learnings.
   *
   * Role: `reader`.
   */
  list(args: { min_confidence?: number; type?: "correction" | "pattern" | "preference" | null; limit?: number | null; after?: string | null; reverse?: boolean; user?: string | null } = {}, options: CallOptions = {}): Promise<Listed<Learning>> {
    return this.#http.call({"method": "GET", "path": "/v1/learnings", "query": ["type", "after", "user"], "json": ["min_confidence", "limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Learning>>;
  }

  /**
   * Add a learning. If the same content about the same subject already exists (apart from case, width and
   * spacing), it is reinforced instead.
   *
   * A deleted learning is not derived again from the same source, and one whose source was forgotten is not stored
   * at all; both are returned with the status `rejected`.
   *
   * Args:
   *     content: The learning, in words.
   *     type: `preference`, `pattern` or `correction`.
   *     confidence: How certain it is, from 0 to 1.
   *     source: The id of the message it was taken from.
   *     corrects: The id of a learning that this one contradicts.
   *     subject: The person or thing it is about, if not the user.
   *     valid_from: When it became true.
   *     valid_until: When it stops being true; recall and contexts leave it out afterwards.
   *     scope: How long it matters: `standing`, or only for a `conversation` or a `task`.
   *     tags: Your own labels.
   *     metadata: Anything else, as JSON.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     The learning, new or reinforced.
   *
   * Role: `writer`.
   */
  add(args: { content: string; type?: "correction" | "pattern" | "preference"; confidence?: number; source?: string | null; corrects?: string | null; subject?: string | null; valid_from?: string | null; valid_until?: string | null; scope?: "conversation" | "standing" | "task"; tags?: string[]; metadata?: Record<string, unknown> | null; user?: string | null }, options: CallOptions = {}): Promise<Learning> {
    return this.#http.call({"method": "POST", "path": "/v1/learnings", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Learning>;
  }

  /**
   * Return several learnings at once, in the order of the ids, and None for each one that does not exist.
   *
   * Args:
   *     ids: The ids of the learnings.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     One learning or None per id.
   *
   * Role: `reader`.
   */
  getMany(args: { ids: string[]; user?: string | null }, options: CallOptions = {}): Promise<Listed<Learning | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/learnings/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Learning | null>>;
  }

  /**
   * Count a use of each learning, as a context does, and return how many of them exist.
   *
   * Args:
   *     ids: The ids of the learnings.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     How many of the learnings exist.
   *
   * Role: `writer`.
   */
  used(args: { ids: string[]; user?: string | null }, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "POST", "path": "/v1/learnings/used", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }

  /**
   * Return a learning by its id, or None if it does not exist.
   *
   * Args:
   *     id: The id of the learning.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     The learning, or None.
   *
   * Role: `reader`.
   */
  get(args: { id: string; user?: string | null }, options: CallOptions = {}): Promise<Learning | null> {
    return this.#http.call({"method": "GET", "path": "/v1/learning", "query": ["id", "user"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Learning | null>;
  }

  /**
   * Delete a learning so that it is not derived again from the same sources, and return whether it existed.
   *
   * Args:
   *     id: The id of the learning.
   *     history: Whether to keep it in the history, for `memories.history`, `memories.undo` and `as_of`.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     Whether the learning existed.
   *
   * Role: `writer`.
   */
  delete(args: { id: string; history?: boolean; user?: string | null }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/learning", "query": ["id", "user"], "json": ["history"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Change some fields of a learning and return it. Its id stays the same.
   *
   * Args:
   *     id: The id of the learning.
   *     content: The learning, in words.
   *     type: `preference`, `pattern` or `correction`.
   *     confidence: How certain it is, from 0 to 1.
   *     valid_from: When it became true.
   *     valid_until: When it stops being true.
   *     tags: Your own labels, which replace the current ones.
   *     metadata: JSON values, which replace the current metadata.
   *     reason: The reason, stored with the learning.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     The changed learning.
   *
   * Raises:
   *     NotFound: There is no such learning.
   *
   * Role: `writer`.
   */
  update(args: { id: string; content?: string | null; type?: "correction" | "pattern" | "preference" | null; confidence?: number | null; valid_from?: string | null; valid_until?: string | null; tags?: string[] | null; metadata?: Record<string, unknown> | null; reason?: string | null; user?: string | null }, options: CallOptions = {}): Promise<Learning> {
    return this.#http.call({"method": "PATCH", "path": "/v1/learning", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Learning>;
  }

  /**
   * Raise the confidence of a learning that proved right, and return the learning.
   *
   * Args:
   *     id: The id of the learning.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     The learning with its new confidence.
   *
   * Raises:
   *     NotFound: There is no such learning.
   *
   * Role: `writer`.
   */
  reinforce(args: { id: string; user?: string | null }, options: CallOptions = {}): Promise<Learning> {
    return this.#http.call({"method": "POST", "path": "/v1/learning/reinforce", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Learning>;
  }

  /**
   * Lower the confidence of a learning that proved wrong, and return the learning.
   *
   * Args:
   *     id: The id of the learning.
   *     user: The user it is about. Defaults to the user of this handle.
   *
   * Returns:
   *     The learning with its new confidence.
   *
   * Raises:
   *     NotFound: There is no such learning.
   *
   * Role: `writer`.
   */
  weaken(args: { id: string; user?: string | null }, options: CallOptions = {}): Promise<Learning> {
    return this.#http.call({"method": "POST", "path": "/v1/learning/weaken", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Learning>;
  }
}

/** Reads and writes the events of the handle's user, or those in a namespace that you name. */
export class EventsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return events, ordered by when they begin.
   *
   * Args:
   *     status: Return only events that are `planned`, `done` or `cancelled`.
   *     since: Return only events that begin at or after this time.
   *     until: Return only events that begin before this time.
   *     limit: The maximum number to return.
   *     after: The id of the last event of the previous page.
   *     reverse: Whether to list in reverse order.
   *     ns: The namespace.
   *
   * Returns:
   *     The events.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  list(args: { status?: "cancelled" | "done" | "planned" | null; since?: string | null; until?: string | null; limit?: number | null; after?: string | null; reverse?: boolean; ns?: string | null } = {}, options: CallOptions = {}): Promise<Listed<Event>> {
    return this.#http.call({"method": "GET", "path": "/v1/events/list", "query": ["status", "since", "until", "after", "ns"], "json": ["limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Event>>;
  }

  /**
   * Store an event and return it. Adding the same text again for the same day and subject changes nothing.
   *
   * Args:
   *     text: A sentence that makes sense on its own ("Ada flies to Porto").
   *     starts_at: When it begins. Defaults to now.
   *     ends_at: When it ends, if it lasts.
   *     status: `planned`, `done` or `cancelled`; by default `planned` for a time in the future, else `done`.
   *     people: The names of the people who take part.
   *     location: Where it takes place.
   *     subject: The person or thing it is about, if not the owner of the namespace.
   *     scope: How long it matters: `standing`, or only for a `conversation` or a `task`.
   *     tags: Your own labels.
   *     metadata: Anything else, as JSON.
   *     confidence: How certain it is, from 0 to 1.
   *     source: The id of the message it was taken from.
   *     ttl: How long to keep it.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The stored event.
   *
   * Raises:
   *     InvalidValue: A value is out of bounds, or `ends_at` is before `starts_at`.
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  add(args: { text: string; starts_at?: string | null; ends_at?: string | null; status?: "cancelled" | "done" | "planned" | null; people?: string[]; location?: string | null; subject?: string | null; scope?: "conversation" | "standing" | "task"; tags?: string[]; metadata?: Record<string, unknown> | null; confidence?: number; source?: string | null; ttl?: number | null; ns?: string | null }, options: CallOptions = {}): Promise<Event> {
    return this.#http.call({"method": "POST", "path": "/v1/events", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Event>;
  }

  /**
   * Return several events at once, in the order of the ids, and None for each one that does not exist.
   *
   * Args:
   *     ids: The ids of the events.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     One event or None per id.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  getMany(args: { ids: string[]; ns?: string | null }, options: CallOptions = {}): Promise<Listed<Event | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/events/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Event | null>>;
  }

  /**
   * Return an event by its id, or None if it does not exist.
   *
   * Args:
   *     id: The id of the event.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The event, or None.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  get(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<Event | null> {
    return this.#http.call({"method": "GET", "path": "/v1/event", "query": ["id", "ns"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Event | null>;
  }

  /**
   * Change some fields of an event and return its new version; the old version stays in its history.
   *
   * Args:
   *     id: The id of the event.
   *     text: A sentence that makes sense on its own.
   *     starts_at: When it begins.
   *     ends_at: When it ends.
   *     status: `planned`, `done` or `cancelled`.
   *     people: The names of the people who take part.
   *     location: Where it takes place.
   *     tags: Your own labels, which replace the current ones.
   *     metadata: JSON values, which replace the current metadata.
   *     reason: The reason, for the history.
   *     expect: The version that you expect to be current.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The event with its new version.
   *
   * Raises:
   *     NotFound: There is no such event.
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  update(args: { id: string; ns?: string | null; text?: string | null; starts_at?: string | null; ends_at?: string | null; status?: "cancelled" | "done" | "planned" | null; people?: string[] | null; location?: string | null; tags?: string[] | null; metadata?: Record<string, unknown> | null; reason?: string | null }, options: CallOptions = {}): Promise<Event> {
    return this.#http.call({"method": "PATCH", "path": "/v1/event", "query": ["id", "ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Event>;
  }

  /**
   * Delete an event, and return whether it existed.
   *
   * Args:
   *     id: The id of the event.
   *     history: Whether to keep the older versions, for `history`, `memories.undo` and `as_of`.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     Whether the event existed.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  delete(args: { id: string; history?: boolean; ns?: string | null }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/event", "query": ["id", "ns"], "json": ["history"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Mark an event as cancelled and return it. It stays in the store but is no longer recalled.
   *
   * Args:
   *     id: The event.
   *     reason: The reason, for the history.
   *     ns: The namespace.
   *
   * Returns:
   *     The cancelled event.
   *
   * Raises:
   *     NotFound: There is no such event.
   *
   * Role: `writer`.
   */
  cancel(args: { id: string; ns?: string | null; reason?: string | null }, options: CallOptions = {}): Promise<Event> {
    return this.#http.call({"method": "POST", "path": "/v1/event/cancel", "query": ["id", "ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Event>;
  }

  /**
   * Return every version of an event, oldest first.
   *
   * Args:
   *     id: The id of the event.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     All versions, or an empty list.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  history(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<Listed<Event>> {
    return this.#http.call({"method": "GET", "path": "/v1/event/history", "query": ["id", "ns"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Event>>;
  }
}

/** Lists, searches, changes and deletes facts, events and learnings through one interface. */
export class MemoriesNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return memories. Facts come first, ordered by key, then events, then learnings.
   *
   * Args:
   *     kinds: Return only these kinds.
   *     subject: Return only memories about this person or thing.
   *     tag: Return only memories with this tag.
   *     limit: The maximum number to return.
   *     after: The id of the last memory of the previous page.
   *     reverse: Whether to list in reverse order.
   *     ns: The namespace; by default the user's own.
   *
   * Returns:
   *     The memories.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  list(args: { kinds?: ("event" | "fact" | "learning")[]; subject?: string | null; tag?: string | null; limit?: number | null; after?: string | null; reverse?: boolean; ns?: string | null } = {}, options: CallOptions = {}): Promise<Listed<Remembered>> {
    return this.#http.call({"method": "GET", "path": "/v1/memories", "query": ["subject", "tag", "after", "ns"], "json": ["kinds", "limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Remembered>>;
  }

  /**
   * Return several memories at once, in the order of the ids, and None for each one that does not exist.
   *
   * Args:
   *     ids: The ids, such as `fact:city`.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     One memory or None per id.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  getMany(args: { ids: string[]; ns?: string | null }, options: CallOptions = {}): Promise<Listed<Remembered | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/memories/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Remembered | null>>;
  }

  /**
   * Return the memories most relevant to a query, best first, each with its score.
   *
   * Args:
   *     query: A question or a few words.
   *     kinds: Return only these kinds: `fact`, `event`, `learning`.
   *     top_k: How many to return.
   *     min_score: Leave out memories with a lower score. By default, nothing is returned for an unknown subject.
   *     ns: The namespace; by default the user's own.
   *
   * Returns:
   *     The memories with their scores.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  search(args: { query: string; kinds?: ("event" | "fact" | "learning")[]; top_k?: number; min_score?: number | null; ns?: string | null }, options: CallOptions = {}): Promise<Listed<Remembered>> {
    return this.#http.call({"method": "POST", "path": "/v1/memories/search", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Remembered>>;
  }

  /**
   * Return a memory by its id, or None if it does not exist.
   *
   * You can pass a bare key if only one memory has it: `city` for `fact:city`.
   *
   * Args:
   *     id: The id, such as `fact:city`.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The memory, or None.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  get(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<Remembered | null> {
    return this.#http.call({"method": "GET", "path": "/v1/memory", "query": ["id", "ns"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Remembered | null>;
  }

  /**
   * Change some fields of a memory and return its new version; the old version stays in the history.
   *
   * `value` is for facts; to store null, use `facts.set`. For events, `valid_from` and `valid_until` are the
   * beginning and end.
   *
   * Args:
   *     id: The id, such as `fact:city`.
   *     text: The memory as a sentence.
   *     value: The new value of a fact.
   *     valid_from: When it became true, or when the event begins.
   *     valid_until: When it stops being true, or when the event ends.
   *     tags: Your own labels, which replace the current ones.
   *     metadata: JSON values, which replace the current metadata.
   *     confidence: How certain it is, from 0 to 1.
   *     reason: The reason, for the history.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The memory with its new version.
   *
   * Raises:
   *     NotFound: There is no such memory.
   *     UsageError: The field does not apply to this kind of memory.
   *
   * Role: `writer`.
   */
  update(args: { id: string; ns?: string | null; text?: string | null; value?: unknown; valid_from?: string | null; valid_until?: string | null; tags?: string[] | null; metadata?: Record<string, unknown> | null; confidence?: number | null; reason?: string | null }, options: CallOptions = {}): Promise<Remembered> {
    return this.#http.call({"method": "PATCH", "path": "/v1/memory", "query": ["id", "ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Remembered>;
  }

  /**
   * Delete a memory, and return whether it existed. `forget` also deletes everything derived from it.
   *
   * Args:
   *     id: The id, such as `fact:city`.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     Whether the memory existed.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  delete(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/memory", "query": ["id", "ns"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Return every version of a memory, oldest first, including those of one that has ended or was deleted.
   *
   * Args:
   *     id: The id, such as `fact:city`.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     All versions.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  history(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<Listed<Remembered>> {
    return this.#http.call({"method": "GET", "path": "/v1/memory/history", "query": ["id", "ns"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Remembered>>;
  }

  /**
   * Undo the last change to a memory, and return the resulting memory, or None if it no longer exists.
   *
   * The undo is itself a new version, so it can be undone. If the last change added a fact, the fact is rejected and
   * is not derived from the same message again. If the change was approved in the review queue, it waits there
   * again.
   *
   * Args:
   *     id: The id, such as `fact:city`.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The memory after the undo, or None if it no longer exists.
   *
   * Raises:
   *     NotFound: There is no such memory.
   *
   * Role: `writer`.
   */
  undo(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<Remembered | null> {
    return this.#http.call({"method": "POST", "path": "/v1/memory/undo", "query": ["id", "ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Remembered | null>;
  }
}

/** Lists, approves, edits and rejects memories waiting for approval. */
export class ReviewNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the candidates waiting for approval, in the order of their ids.
   *
   * Args:
   *     limit: The maximum number to return.
   *     after: The id of the last candidate of the previous page.
   *     reverse: Whether to list in reverse order.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The candidates.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  list(args: { limit?: number | null; after?: string | null; reverse?: boolean; ns?: string | null } = {}, options: CallOptions = {}): Promise<Listed<Candidate>> {
    return this.#http.call({"method": "GET", "path": "/v1/review", "query": ["after", "ns"], "json": ["limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Candidate>>;
  }

  /**
   * Return several candidates at once, in the order of the ids, and None for each one that does not exist.
   *
   * Args:
   *     ids: The ids of the candidates.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     One candidate or None per id.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  getMany(args: { ids: string[]; ns?: string | null }, options: CallOptions = {}): Promise<Listed<Candidate | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/review/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Candidate | null>>;
  }

  /**
   * Return a candidate by its id, or None if it does not exist.
   *
   * Args:
   *     id: The id of the candidate.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The candidate, or None.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  get(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<Candidate | null> {
    return this.#http.call({"method": "GET", "path": "/v1/review/candidate", "query": ["id", "ns"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Candidate | null>;
  }

  /**
   * Change a candidate's proposal, and return the candidate, which stays in the queue.
   *
   * Args:
   *     id: The id of the candidate.
   *     text: The memory as a sentence.
   *     value: The new value of a fact.
   *     key: The new key of a fact.
   *     subject: The person or thing that it is about.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The changed candidate.
   *
   * Raises:
   *     NotFound: There is no such candidate.
   *
   * Role: `writer`.
   */
  edit(args: { id: string; ns?: string | null; text?: string | null; value?: unknown; key?: string | null; subject?: string | null }, options: CallOptions = {}): Promise<Candidate> {
    return this.#http.call({"method": "PATCH", "path": "/v1/review/candidate", "query": ["id", "ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Candidate>;
  }

  /**
   * Carry out a candidate's proposal, and return the memory, or None if the proposal only ended or confirmed one.
   *
   * Args:
   *     id: The id of the candidate.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The memory, or None.
   *
   * Raises:
   *     NotFound: There is no such candidate.
   *     Conflict: The memory that it would change has changed in the meantime.
   *
   * Role: `writer`.
   */
  approve(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<Remembered | null> {
    return this.#http.call({"method": "POST", "path": "/v1/review/approve", "query": ["id", "ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Remembered | null>;
  }

  /**
   * Delete a candidate so that it is not proposed again from the same message, and return whether it existed.
   *
   * Args:
   *     id: The id of the candidate.
   *     reason: The reason, for the audit trail.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     Whether the candidate existed.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  reject(args: { id: string; ns?: string | null; reason?: string | null }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "POST", "path": "/v1/review/reject", "query": ["id", "ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }
}

/** Reads and sets the policy for writes: secrets, personal data and retention. */
export class GateNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the policy of this org: the stored one, or the one with which the memory was opened.
   *
   * Returns:
   *     The policy.
   *
   * Role: `reader`.
   */
  get(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Gate> {
    return this.#http.call({"method": "GET", "path": "/v1/gate", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Gate>;
  }

  /**
   * Store the policy of this org.
   *
   * Parts that you leave out stay unchanged. Other processes notice the change within two seconds.
   *
   * Args:
   *     secrets: What happens to secrets in memory, by kind, by group or for all (`*`): `mask`, `refuse` or `allow`.
   *     messages: What happens to secrets in messages: `keep`, `mask` or `refuse`.
   *     personal: Rules by class of personal data: `allow`, `review`, `refuse` or `expire 30d`.
   *     namespaces: Such rules by namespace (`{"user:*": {"health": "review"}}`).
   *     retention: Rules such as `{"kind": "message", "older_than": "90d"}`; the collector applies them.
   *
   * Returns:
   *     The whole policy after the change.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  set(args: { secrets?: Record<string, string> | null; messages?: string | null; personal?: Record<string, string> | null; namespaces?: Record<string, Record<string, string>> | null; retention?: Record<string, unknown>[] | null } = {}, options: CallOptions = {}): Promise<Gate> {
    return this.#http.call({"method": "PATCH", "path": "/v1/gate", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<Gate>;
  }

  /**
   * Delete the stored policy of this org. The policy with which the memory was opened then applies again.
   *
   * Returns:
   *     Whether there was a stored policy.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  reset(args: Record<string, never> = {}, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/gate", "query": [], "json": [], "body": false, "writes": true, "keyed": false, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Return the secrets and personal data in a text, and how it would be stored. Nothing is written.
   *
   * Args:
   *     text: The text to check.
   *
   * Returns:
   *     The findings and the text as it would be stored.
   *
   * Role: `reader`.
   */
  check(args: { text: string }, options: CallOptions = {}): Promise<GateCheck> {
    return this.#http.call({"method": "POST", "path": "/v1/gate/check", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<GateCheck>;
  }

  /**
   * Count the gate's actions and the memories that contain personal data, by kind and class.
   *
   * Returns:
   *     The counts.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  report(args: Record<string, never> = {}, options: CallOptions = {}): Promise<GateReport> {
    return this.#http.call({"method": "GET", "path": "/v1/gate/report", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<GateReport>;
  }
}

/** Makes, applies and undoes plans that tidy up memories. */
export class PlansNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Look for memories in a namespace that can be tidied up, and return a plan. Nothing changes.
   *
   * Args:
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     The plan.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `writer`.
   */
  make(args: { ns?: string | null } = {}, options: CallOptions = {}): Promise<Plan> {
    return this.#http.call({"method": "POST", "path": "/v1/tidy", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Plan>;
  }

  /**
   * Carry out a plan in one transaction, and return the applied plan.
   *
   * Args:
   *     plan: The plan to carry out.
   *
   * Returns:
   *     The applied plan.
   *
   * Raises:
   *     Conflict: A memory that the plan changes has changed since the plan was made.
   *
   * Role: `writer`.
   */
  apply(args: { plan: Plan }, options: CallOptions = {}): Promise<Plan> {
    return this.#http.call({"method": "POST", "path": "/v1/tidy/apply", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Plan>;
  }

  /**
   * Restore everything that an applied plan changed, in one transaction, and return how many memories were
   * restored.
   *
   * Args:
   *     id: The id of the plan.
   *     ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.
   *
   * Returns:
   *     How many memories were restored.
   *
   * Raises:
   *     NotFound: No plan with this id was applied in the namespace.
   *
   * Role: `writer`.
   */
  undo(args: { id: string; ns?: string | null }, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "POST", "path": "/v1/tidy/undo", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }
}

/** Reads profiles and sets preferences. */
export class ProfileNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return all facts, preferences and learnings of a user.
   *
   * Args:
   *     user: The user it is about. Defaults to the user of this handle.
   *     min_confidence: Leave out memories with a lower confidence.
   *     as_of: Return the profile as it was at this time.
   *
   * Returns:
   *     The profile.
   *
   * Role: `reader`.
   */
  get(args: { user?: string | null; min_confidence?: number; as_of?: string | null } = {}, options: CallOptions = {}): Promise<UserProfile> {
    return this.#http.call({"method": "GET", "path": "/v1/profile", "query": ["user", "as_of"], "json": ["min_confidence"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<UserProfile>;
  }

  /**
   * Return the profiles of several users, in the order of their ids.
   *
   * Args:
   *     users: The ids of the users.
   *     min_confidence: Leave out memories with a lower confidence.
   *
   * Returns:
   *     One profile per user.
   *
   * Role: `reader`.
   */
  getMany(args: { users: string[]; min_confidence?: number }, options: CallOptions = {}): Promise<Listed<UserProfile>> {
    return this.#http.call({"method": "POST", "path": "/v1/profile/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<UserProfile>>;
  }

  /**
   * Return the profile lines that every context of a user contains, in order, each with its source.
   *
   * The lines are about safety, who the user is, preferences, corrections, other important facts, and the current
   * page and plan. Only lines that are certain and current are included. The block changes only when one of them
   * changes, so it stays in prompt caches.
   *
   * Args:
   *     user: The user it is about. Defaults to the user of this handle.
   *     max_tokens: The maximum size of the block.
   *     as_of: Return the block as it was at this time.
   *
   * Returns:
   *     The lines of the block.
   *
   * Role: `reader`.
   */
  block(args: { user?: string | null; max_tokens?: number; as_of?: string | null } = {}, options: CallOptions = {}): Promise<Listed<ProfileLine>> {
    return this.#http.call({"method": "GET", "path": "/v1/profile/block", "query": ["user", "as_of"], "json": ["max_tokens"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<ProfileLine>>;
  }

  /**
   * Set a user's preference. It is stored as the fact `preference.<key>` and sent with every request.
   *
   * Args:
   *     user: The user it is about. On a user's handle, you can leave it out.
   *     key: The name of the preference, such as `language`.
   *     value: A JSON value.
   *
   * Returns:
   *     The stored fact.
   *
   * Role: `writer`.
   */
  setPreference(args: { user?: string | null; key: string; value: unknown }, options: CallOptions = {}): Promise<Fact> {
    return this.#http.call({"method": "PUT", "path": "/v1/profile/preference", "query": ["user", "key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Fact>;
  }
}

/** Reads and writes a user's working memory: one document, which expires a day after the last write. */
export class WorkingNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the document, or None if there is none or it has expired.
   *
   * Args:
   *     user: The user whose document it is. Defaults to the user of this handle.
   *     session: The session; by default, the document that belongs to no session.
   *
   * Returns:
   *     The document, or None.
   *
   * Role: `reader`.
   */
  get(args: { user?: string | null; session?: string | null } = {}, options: CallOptions = {}): Promise<Working | null> {
    return this.#http.call({"method": "GET", "path": "/v1/working", "query": ["user", "session"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Working | null>;
  }

  /**
   * Write the whole document.
   *
   * Args:
   *     doc: The document, or its fields.
   *     user: The user whose document it is. Defaults to the user of this handle.
   *     session: The session; by default, the document that belongs to no session.
   *
   * Returns:
   *     The stored document.
   *
   * Raises:
   *     InvalidValue: A field's type differs from the one in the template.
   *
   * Role: `writer`.
   */
  set(args: { user?: string | null; session?: string | null; doc: Record<string, unknown> }, options: CallOptions = {}): Promise<Working> {
    return this.#http.call({"method": "PUT", "path": "/v1/working", "query": ["user", "session"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Working>;
  }

  /**
   * Set some fields and keep the others. `session=` and `user=` choose the document.
   *
   * Args:
   *     **fields: The fields to set.
   *
   * Returns:
   *     The changed document.
   *
   * Raises:
   *     InvalidValue: A field's type differs from the one in the template.
   *
   * Role: `writer`.
   */
  update(args: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Working> {
    return this.#http.call({"method": "PATCH", "path": "/v1/working", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Working>;
  }

  /**
   * Delete the document, and return whether it existed.
   *
   * Args:
   *     user: The user whose document it is. Defaults to the user of this handle.
   *     session: The session; by default, the document that belongs to no session.
   *
   * Returns:
   *     Whether the document existed.
   *
   * Role: `writer`.
   */
  clear(args: { user?: string | null; session?: string | null } = {}, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/working", "query": ["user", "session"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Return the documents of several sessions, in order, and None for each one that does not exist.
   *
   * Args:
   *     sessions: The sessions; None means the document that belongs to no session.
   *     user: The user whose document it is. Defaults to the user of this handle.
   *
   * Returns:
   *     One document or None per session.
   *
   * Role: `reader`.
   */
  getMany(args: { sessions: (string | null)[]; user?: string | null }, options: CallOptions = {}): Promise<Listed<Working | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/working/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Working | null>>;
  }

  /**
   * Add an action to the recent actions. Only the newest 20 are kept.
   *
   * Args:
   *     action: What the user did.
   *     entity_id: The id of the entity that the action concerned.
   *     user: The user whose document it is. Defaults to the user of this handle.
   *     session: The session; by default, the document that belongs to no session.
   *
   * Returns:
   *     The changed document.
   *
   * Role: `writer`.
   */
  recordAction(args: { action: string; entity_id?: string | null; user?: string | null; session?: string | null }, options: CallOptions = {}): Promise<Working> {
    return this.#http.call({"method": "POST", "path": "/v1/working/actions", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Working>;
  }

  /**
   * Remove the newest action and return it, or None if there is none.
   *
   * Args:
   *     user: The user whose document it is. Defaults to the user of this handle.
   *     session: The session; by default, the document that belongs to no session.
   *
   * Returns:
   *     The removed action, or None.
   *
   * Role: `writer`.
   */
  undoAction(args: { user?: string | null; session?: string | null } = {}, options: CallOptions = {}): Promise<Action | null> {
    return this.#http.call({"method": "DELETE", "path": "/v1/working/actions", "query": ["user", "session"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Action | null>;
  }

  /**
   * Add messages to the history. Only the newest 20 are kept, without tool results that have lost their call.
   *
   * Args:
   *     *messages: The messages of the turn.
   *     user: The user whose document it is. Defaults to the user of this handle.
   *     session: The session; by default, the document that belongs to no session.
   *
   * Returns:
   *     The changed document.
   *
   * Role: `writer`.
   */
  addTurn(args: { messages?: Record<string, unknown>[]; user?: string | null; session?: string | null } = {}, options: CallOptions = {}): Promise<Working> {
    return this.#http.call({"method": "POST", "path": "/v1/working/turns", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Working>;
  }
}

/** Reads and writes small values and counters. */
export class StateNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List the entries in the order of their keys.
   *
   * Args:
   *     prefix: Return only keys that start with this.
   *     limit: The maximum number to return.
   *     after: The last key of the previous page.
   *     reverse: Whether to list in reverse order.
   *
   * Returns:
   *     The entries.
   *
   * Role: `reader`.
   */
  list(args: { prefix?: string | null; limit?: number | null; after?: string | null; reverse?: boolean } = {}, options: CallOptions = {}): Promise<Listed<StateEntry>> {
    return this.#http.call({"method": "GET", "path": "/v1/states", "query": ["prefix", "after"], "json": ["limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<StateEntry>>;
  }

  /**
   * Return several values at once, in the order of the keys, and `default` for each one that does not exist.
   *
   * Args:
   *     keys: The keys to read.
   *     default: The value to return for keys that do not exist.
   *
   * Returns:
   *     One value per key.
   *
   * Role: `reader`.
   */
  getMany(args: { keys: string[]; default?: unknown }, options: CallOptions = {}): Promise<Listed<unknown>> {
    return this.#http.call({"method": "POST", "path": "/v1/states/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<unknown>>;
  }

  /**
   * Return a value with its version and times. Pass the version to `set` as `expect`.
   *
   * Args:
   *     key: The key.
   *
   * Returns:
   *     The entry, or None.
   *
   * Role: `reader`.
   */
  entry(args: { key: string }, options: CallOptions = {}): Promise<StateEntry | null> {
    return this.#http.call({"method": "GET", "path": "/v1/state", "query": ["key"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<StateEntry | null>;
  }

  /**
   * Write a value.
   *
   * Args:
   *     key: The key.
   *     value: A JSON value.
   *     ttl: How long to keep it.
   *     expect: Write only if this is the current version; 0 if there must be no entry yet.
   *
   * Returns:
   *     The stored entry, with its version.
   *
   * Raises:
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  set(args: { key: string; value: unknown; ttl?: number | null }, options: CallOptions = {}): Promise<StateEntry> {
    return this.#http.call({"method": "PUT", "path": "/v1/state", "query": ["key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<StateEntry>;
  }

  /**
   * Delete a key, and return whether it existed.
   *
   * Args:
   *     key: The key.
   *
   * Returns:
   *     Whether the key existed.
   *
   * Role: `writer`.
   */
  delete(args: { key: string }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/state", "query": ["key"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Add to a counter atomically, and return its new value.
   *
   * Args:
   *     key: The key; a new counter starts at 0.
   *     by: How much to add.
   *     ttl: How long to keep a new counter.
   *
   * Returns:
   *     The new value.
   *
   * Raises:
   *     InvalidValue: The value is not a whole number.
   *
   * Role: `writer`.
   */
  increment(args: { key: string; by?: number; ttl?: number | null }, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "POST", "path": "/v1/state/increment", "query": ["key"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }
}

/** Adds, reads and deletes documents. */
export class DocumentsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List the documents of a namespace, in the order of their ids.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     where: A filter on metadata and the other fields.
   *     limit: The maximum number to return.
   *     after: The last id of the previous page.
   *     reverse: Whether to list in reverse order.
   *
   * Returns:
   *     The documents.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *     InvalidFilter: `where` is not a valid filter.
   *
   * Role: `reader`.
   */
  list(args: { ns?: string | null; where?: Record<string, unknown> | null; limit?: number | null; after?: string | null; reverse?: boolean } = {}, options: CallOptions = {}): Promise<Listed<Document>> {
    return this.#http.call({"method": "GET", "path": "/v1/documents", "query": ["ns", "after"], "json": ["where", "limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Document>>;
  }

  /**
   * Add a document, or replace the one with the same source or id. Unchanged chunks are kept.
   *
   * Args:
   *     ns: The namespace it belongs to.
   *     text: The text, or a file as bytes or as a `Path`: Markdown, HTML, PDF, Word (.docx) or plain text. HTML,
   *         PDF and Word need the extra `documents`. The ending of `source` names the format of bytes; without one,
   *         the format is detected.
   *     title: The title. By default, this is the file's own title, or the last part of its source.
   *     source: Where it came from; by default, the path of the file. Adding the same source again replaces the
   *         document.
   *     metadata: JSON values that you want to filter by.
   *     id: Your own id for the document.
   *     ttl: How long to keep it.
   *
   * Returns:
   *     The stored document.
   *
   * Raises:
   *     InvalidValue: The file cannot be read, or has no text.
   *     Unsupported: The format needs an extra that is not installed.
   *
   * Role: `writer`.
   */
  add(args: { ns?: string | null; text: string | SentBytes; title?: string | null; source?: string | null; metadata?: Record<string, unknown> | null; id?: string | null; ttl?: number | null }, options: CallOptions = {}): Promise<Document> {
    return this.#http.call({"method": "POST", "path": "/v1/documents", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Document>;
  }

  /**
   * Return several documents at once, in the order of the ids, and None for each one that does not exist.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     ids: The ids of the documents.
   *
   * Returns:
   *     One document or None per id.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  getMany(args: { ns?: string | null; ids: string[] }, options: CallOptions = {}): Promise<Listed<Document | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/documents/get", "query": ["ns"], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Document | null>>;
  }

  /**
   * Return a document with its text, or None if it does not exist.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     id: The id of the document.
   *
   * Returns:
   *     The document, or None.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  get(args: { ns?: string | null; id: string }, options: CallOptions = {}): Promise<Document | null> {
    return this.#http.call({"method": "GET", "path": "/v1/document", "query": ["ns", "id"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Document | null>;
  }

  /**
   * Delete a document, its chunks and their index entries, and return whether it existed.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     id: The id of the document.
   *
   * Returns:
   *     Whether the document existed.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  delete(args: { ns?: string | null; id: string }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/document", "query": ["ns", "id"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * List the chunks of a document, in the order of the text.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     id: The id of the document.
   *
   * Returns:
   *     The chunks, or an empty list.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  chunks(args: { ns?: string | null; id: string }, options: CallOptions = {}): Promise<Listed<Chunk>> {
    return this.#http.call({"method": "GET", "path": "/v1/document/chunks", "query": ["ns", "id"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Chunk>>;
  }
}

/** Saves and resumes checkpoints, and runs tasks under a lease. */
export class TasksNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List tasks by id, without their states.
   *
   * Args:
   *     ns: The namespace; by default, all that this handle may read.
   *     limit: The maximum number to return.
   *     after: The last id of the previous page.
   *     reverse: Whether to list in reverse order.
   *
   * Returns:
   *     The tasks.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  list(args: { ns?: string | null; limit?: number | null; after?: string | null; reverse?: boolean } = {}, options: CallOptions = {}): Promise<Listed<Task>> {
    return this.#http.call({"method": "GET", "path": "/v1/tasks", "query": ["ns", "after"], "json": ["limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Task>>;
  }

  /**
   * Return the last checkpoints of several tasks, in the order of the ids, and None for each one that does not
   * exist.
   *
   * Args:
   *     task_ids: The ids of the tasks.
   *
   * Returns:
   *     One checkpoint or None per id.
   *
   * Role: `reader`.
   */
  getMany(args: { task_ids: string[] }, options: CallOptions = {}): Promise<Listed<Checkpoint | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/tasks/get", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Checkpoint | null>>;
  }

  /**
   * Return the last checkpoint of a task, or None if there is no such task.
   *
   * Args:
   *     task_id: The id of the task.
   *
   * Returns:
   *     The checkpoint, or None.
   *
   * Role: `reader`.
   */
  resume(args: { task_id: string }, options: CallOptions = {}): Promise<Checkpoint | null> {
    return this.#http.call({"method": "GET", "path": "/v1/task", "query": ["task_id"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Checkpoint | null>;
  }

  /**
   * Save a checkpoint.
   *
   * Args:
   *     checkpoint: A `Checkpoint`, or a dict with `task_id`, `step`, `state` and `completed_subtasks`.
   *     expect: Save only if this is the current version.
   *     keep: How many saved steps to keep: `all` (the default for a new task), `latest` or a number.
   *
   * Returns:
   *     The saved checkpoint, with its version.
   *
   * Raises:
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  save(args: { checkpoint: Record<string, unknown>; keep?: number | string | null }, options: CallOptions = {}): Promise<Checkpoint> {
    return this.#http.call({"method": "PUT", "path": "/v1/task", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Checkpoint>;
  }

  /**
   * Delete a task and its saved steps, and return whether it existed.
   *
   * Args:
   *     task_id: The id of the task.
   *
   * Returns:
   *     Whether the task existed.
   *
   * Role: `writer`.
   */
  delete(args: { task_id: string }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/task", "query": ["task_id"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * List the last `n` saved steps of a task, newest last.
   *
   * Args:
   *     task_id: The id of the task.
   *     n: The maximum number of steps to return.
   *
   * Returns:
   *     The saved steps.
   *
   * Raises:
   *     NotFound: There is no such task.
   *
   * Role: `reader`.
   */
  history(args: { task_id: string; n?: number }, options: CallOptions = {}): Promise<Listed<Checkpoint>> {
    return this.#http.call({"method": "GET", "path": "/v1/task/history", "query": ["task_id"], "json": ["n"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Checkpoint>>;
  }
}

/** Reads and writes bytes and JSON values under keys, which are tuples of texts and numbers. */
export class RecordsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List the records whose key starts with `prefix`, in the order of their keys.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     prefix: The beginning of the key.
   *     after: Return only keys after this one.
   *     before: Return only keys before this one.
   *     reverse: Whether to list in reverse order.
   *     limit: The maximum number to return.
   *     where: A filter on `meta`.
   *     keys_only: Whether to skip reading the data.
   *
   * Returns:
   *     The records.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *     InvalidFilter: `where` is not a valid filter.
   *
   * Role: `reader`.
   */
  scan(args: { ns?: string | null; prefix?: (string | number)[]; after?: (string | number)[] | null; before?: (string | number)[] | null; reverse?: boolean; limit?: number | null; where?: Record<string, unknown> | null; keys_only?: boolean } = {}, options: CallOptions = {}): Promise<Listed<OpaqueRecord>> {
    return this.#http.call({"method": "GET", "path": "/v1/records", "query": ["ns"], "json": ["prefix", "after", "before", "reverse", "limit", "where", "keys_only"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<OpaqueRecord>>;
  }

  /**
   * Delete all records whose key starts with `prefix` and is between the bounds, and return how many were
   * deleted.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     prefix: The beginning of the keys; the default matches every key.
   *     after: Delete only keys after this one.
   *     before: Delete only keys before this one.
   *
   * Returns:
   *     How many records were deleted.
   *
   * Raises:
   *     Forbidden: This handle may not write to the namespace.
   *
   * Role: `writer`.
   */
  deleteRange(args: { ns?: string | null; prefix?: (string | number)[]; after?: (string | number)[] | null; before?: (string | number)[] | null } = {}, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "DELETE", "path": "/v1/records", "query": ["ns"], "json": ["prefix", "after", "before"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }

  /**
   * Write several records in one transaction.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     items: Pairs of key and data, or `RecordPut` objects with their own options.
   *     ttl: How long to keep the records that are not passed as a `RecordPut`.
   *     absent: Leave existing records unchanged, unless they are passed as a `RecordPut`.
   *     expect: Other records and the versions they must have at the commit; 0 if they must not exist.
   *
   * Returns:
   *     The stored records, in the order of the items.
   *
   * Raises:
   *     Conflict: A record does not have the version that `expect` names. Nothing is written.
   *     TooLarge: The org's quota would be exceeded.
   *
   * Role: `writer`.
   */
  putMany(args: { ns?: string | null; items: RecordItem[]; ttl?: number | null; absent?: boolean; expect?: ([(string | number)[], number])[] }, options: CallOptions = {}): Promise<Listed<OpaqueRecord>> {
    return this.#http.call({"method": "POST", "path": "/v1/records", "query": ["ns"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Listed<OpaqueRecord>>;
  }

  /**
   * Return the records under several keys, in order, and None for each one that does not exist.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     keys: The keys to read.
   *
   * Returns:
   *     One record or None per key.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  getMany(args: { ns?: string | null; keys: ((string | number)[])[] }, options: CallOptions = {}): Promise<Listed<OpaqueRecord | null>> {
    return this.#http.call({"method": "POST", "path": "/v1/records/get", "query": ["ns"], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<OpaqueRecord | null>>;
  }

  /**
   * Return the record under a key, or None if it does not exist.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *
   * Returns:
   *     The record, or None.
   *
   * Raises:
   *     Forbidden: This handle may not read the namespace.
   *
   * Role: `reader`.
   */
  get(args: { ns?: string | null; key: (string | number)[] }, options: CallOptions = {}): Promise<OpaqueRecord | null> {
    return this.#http.call({"method": "GET", "path": "/v1/record", "query": ["ns"], "json": ["key"], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<OpaqueRecord | null>;
  }

  /**
   * Write bytes or a JSON value.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: A tuple of texts and numbers.
   *     data: Bytes or JSON.
   *     meta: JSON that `scan` can filter by.
   *     ttl: How long to keep it.
   *     expect: Write only if this is the current version; 0 if there must be no record yet.
   *     absent: Leave an existing record unchanged, and return it with `existed` set.
   *
   * Returns:
   *     The stored record, with its version.
   *
   * Raises:
   *     Conflict: `expect` is not the current version.
   *     TooLarge: The org's quota would be exceeded.
   *
   * Role: `writer`.
   */
  put(args: { ns?: string | null; key: (string | number)[]; data: unknown; meta?: Record<string, unknown> | null; ttl?: number | null; absent?: boolean }, options: CallOptions = {}): Promise<OpaqueRecord> {
    return this.#http.call({"method": "PUT", "path": "/v1/record", "query": ["ns"], "json": ["key"], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<OpaqueRecord>;
  }

  /**
   * Delete a record, and return whether it existed.
   *
   * Args:
   *     ns: The namespace. On a user's handle, it defaults to the user's own.
   *     key: The key.
   *     expect: Delete only if this is the current version.
   *
   * Returns:
   *     Whether the record existed.
   *
   * Raises:
   *     Conflict: `expect` is not the current version.
   *
   * Role: `writer`.
   */
  delete(args: { ns?: string | null; key: (string | number)[] }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/record", "query": ["ns"], "json": ["key"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }
}

/** Reads the audit trail, and deletes old events. */
export class AuditNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * List events in chronological order.
   *
   * A user's handle lists the events about the user's own records, whoever caused them, and what the handle itself
   * did. Events about a thread or a task that has since been deleted are listed only if the user deleted it.
   *
   * Args:
   *     subject: Return only events about this id, such as `user:ada/city`.
   *     kind: Return only events of this kind.
   *     limit: The maximum number to return.
   *     after: The id or time of the last event of the previous page.
   *     reverse: Whether to list the newest events first.
   *
   * Returns:
   *     The events.
   *
   * Role: `operator`.
   */
  list(args: { subject?: string | null; kind?: string | null; limit?: number | null; after?: string | null; reverse?: boolean } = {}, options: CallOptions = {}): Promise<Listed<AuditEvent>> {
    return this.#http.call({"method": "GET", "path": "/v1/audit", "query": ["subject", "kind", "after"], "json": ["limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<AuditEvent>>;
  }

  /**
   * Delete events older than a given age, and return how many were deleted.
   *
   * Args:
   *     older_than: Seconds or a timedelta.
   *
   * Returns:
   *     How many events were deleted.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  expire(args: { older_than: number }, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "POST", "path": "/v1/audit/expire", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<number>;
  }
}

/** Shows the jobs that writes leave behind, including failed ones, and runs them. */
export class JobsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the state of each of this org's queues, as far as this handle can see it.
   *
   * Returns:
   *     One entry per queue.
   *
   * Role: `operator`.
   */
  backlog(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Listed<Backlog>> {
    return this.#http.call({"method": "GET", "path": "/v1/jobs", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Backlog>>;
  }

  /**
   * List the abandoned jobs that this handle can see, and why they were abandoned.
   *
   * Returns:
   *     The jobs, each with its error.
   *
   * Role: `operator`.
   */
  dead(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Listed<Job>> {
    return this.#http.call({"method": "GET", "path": "/v1/jobs/dead", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Job>>;
  }

  /**
   * Retry abandoned jobs, and return how many there were.
   *
   * Args:
   *     item: Retry only the jobs of this item, such as `thread:<id>`; all by default.
   *
   * Returns:
   *     How many jobs will be retried.
   *
   * Role: `operator`.
   */
  retryDead(args: { item?: string | null } = {}, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "POST", "path": "/v1/jobs/retry", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<number>;
  }

  /**
   * Run waiting jobs now, and return how many were claimed.
   *
   * A handle for all orgs runs the jobs of all of them, as a worker does; any other handle runs those of its own
   * org.
   *
   * Args:
   *     seconds: The maximum number of seconds to work.
   *     lease: How many seconds a job is reserved for this call.
   *
   * Returns:
   *     How many jobs were claimed.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  drain(args: { seconds?: number | null; lease?: number } = {}, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "POST", "path": "/v1/jobs/drain", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<number>;
  }
}

/** Creates, lists, rotates and revokes the keys of an org. */
export class KeysNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the org, user and rights of this key.
   *
   * Role: `reader`.
   */
  me(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Me> {
    return this.#http.call({"method": "GET", "path": "/v1/me", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Me>;
  }

  /**
   * Return the keys of this org, without their secrets.
   *
   * Role: `admin`.
   */
  list(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Listed<KnownKey>> {
    return this.#http.call({"method": "GET", "path": "/v1/keys", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<KnownKey>>;
  }

  /**
   * Create a key for this org. Only the answer shows its secret.
   *
   * Role: `admin`.
   */
  create(args: { user?: string | null; actor?: string; roles?: ("admin" | "forget" | "operator" | "reader" | "writer")[] | null; read?: string[] | null; write?: string[] | null; note?: string; ttl?: number | null } = {}, options: CallOptions = {}): Promise<NewKey> {
    return this.#http.call({"method": "POST", "path": "/v1/keys", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<NewKey>;
  }

  /**
   * Revoke a key, and end the browser sessions opened with it.
   *
   * Role: `admin`.
   */
  revoke(args: { id: string }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/keys", "query": ["id"], "json": [], "body": false, "writes": true, "keyed": false, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Replace the secret of a key.
   *
   * The old secret stops working immediately on this server, and within 30 seconds on others.
   *
   * Role: `admin`.
   */
  rotate(args: { id: string }, options: CallOptions = {}): Promise<NewKey> {
    return this.#http.call({"method": "POST", "path": "/v1/keys/rotate", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<NewKey>;
  }
}

/** Commits several writes in one transaction. */
export class BatchesNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Commit several writes in one transaction. If one fails, nothing is committed.
   *
   * Role: `writer`.
   */
  commit(args: { operations: Step[] }, options: CallOptions = {}): Promise<Committed> {
    return this.#http.call({"method": "POST", "path": "/v1/batch", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Committed>;
  }

  /**
   * Return the result of the operation `last` as if these writes were committed, without committing anything.
   *
   * Role: `reader`.
   */
  read(args: { operations: Step[]; last: Step }, options: CallOptions = {}): Promise<unknown> {
    return this.#http.call({"method": "POST", "path": "/v1/batch/read", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<unknown>;
  }
}

/** Acquires, renews and releases task leases, and saves steps under them. */
export class LeasesNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Acquire the lease on a task and return its state. Returns 409 while another worker holds it.
   *
   * `owner` is a token chosen by the caller, unique to this run.
   *
   * Role: `writer`.
   */
  take(args: { task_id: string; owner: string; ns?: string | null; lease?: number; keep?: number | "all" | "latest" | null }, options: CallOptions = {}): Promise<Held> {
    return this.#http.call({"method": "POST", "path": "/v1/task/lease", "query": ["task_id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Held>;
  }

  /**
   * Renew the lease without saving.
   *
   * Role: `writer`.
   */
  renew(args: { task_id: string; owner: string; fence: number; lease?: number }, options: CallOptions = {}): Promise<Held> {
    return this.#http.call({"method": "PUT", "path": "/v1/task/lease", "query": ["task_id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Held>;
  }

  /**
   * Release the lease after a failure. Nothing is saved, and another worker can continue immediately.
   *
   * Role: `writer`.
   */
  release(args: { task_id: string; owner: string; fence: number }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/task/lease", "query": ["task_id", "owner"], "json": ["fence"], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Save a step and commit its effects (other writes) in one transaction. `finish` ends the task and its lease.
   *
   * Instead of sending a whole `state`, you can set top-level keys with `update` and append to top-level lists with
   * `extend`.
   *
   * Role: `writer`.
   */
  save(args: { task_id: string; owner: string; fence: number; step: number; done?: string[] | null; state?: unknown; update?: Record<string, unknown> | null; extend?: Record<string, unknown[]> | null; effects?: Step[] | null; finish?: boolean; lease?: number; keep?: number | "all" | "latest" | null }, options: CallOptions = {}): Promise<Held> {
    return this.#http.call({"method": "POST", "path": "/v1/task/steps", "query": ["task_id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Held>;
  }
}

/** Implements a read-through cache whose loads are coordinated by leases. */
export class EntityCacheNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the cached entity, whether fresh or stale.
   *
   * Role: `reader`.
   */
  look(args: { type: string; id: string }, options: CallOptions = {}): Promise<EntityView | null> {
    return this.#http.call({"method": "GET", "path": "/v1/entity", "query": ["type", "id"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<EntityView | null>;
  }

  /**
   * Store a value loaded under a lease. Returns False if the entity is no longer cached.
   *
   * Role: `writer`.
   */
  keep(args: { type: string; id: string; owner: string; value?: unknown; ttl?: number; stale?: number }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "PUT", "path": "/v1/entity", "query": ["type", "id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }

  /**
   * Remove one entity, or all entities of a type, and return how many were removed.
   *
   * Role: `writer`.
   */
  invalidate(args: { type: string; id?: string | null }, options: CallOptions = {}): Promise<number> {
    return this.#http.call({"method": "DELETE", "path": "/v1/entity", "query": ["type", "id"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<number>;
  }

  /**
   * Acquire the lease to load an entity. `owner` is set if you acquired it; otherwise, try again in a moment.
   *
   * Role: `writer`.
   */
  lease(args: { type: string; id: string }, options: CallOptions = {}): Promise<EntityView> {
    return this.#http.call({"method": "POST", "path": "/v1/entity/lease", "query": ["type", "id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<EntityView>;
  }

  /**
   * Release a lease after a failed load. Returns False if the entity is no longer cached.
   *
   * Role: `writer`.
   */
  giveBack(args: { type: string; id: string; owner: string }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "DELETE", "path": "/v1/entity/lease", "query": ["type", "id", "owner"], "json": [], "body": false, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }
}

/** Stores session turns and builds their requests. */
export class TurnsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Append a turn to the thread, which is created if it does not exist. `number` counts the turns of the session.
   *
   * A new thread belongs to the `user` if there is one, otherwise to the `agent`, and otherwise to everyone
   * (`global`). The call is idempotent, because session and number form its key. With `keep=false`, no facts or
   * learnings are derived from it.
   *
   * Role: `writer`.
   */
  add(args: { id: string; messages: (string | Record<string, unknown>)[]; session: string; number: number; keep?: boolean; key?: string | null; carried?: Carried | null; user?: string | null; agent?: string | null }, options: CallOptions = {}): Promise<Listed<MessageReceipt>> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/turns", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Listed<MessageReceipt>>;
  }

  /**
   * Assemble the request for the next input. A thread that has outgrown its room is summarised (folded) first.
   *
   * Without an `id`, this is the first request of a session whose thread has not been written yet.
   *
   * Role: `writer`.
   */
  context(args: { id?: string | null; input: string | Record<string, unknown> | (string | Record<string, unknown>)[] | null; system?: string | Record<string, unknown> | (string | Record<string, unknown>)[] | null; tools?: Record<string, unknown>[] | null; budget?: number | string | Record<string, unknown>; policy?: Record<string, unknown> | null; recall?: boolean | string | (string | Record<string, unknown>)[] | Record<string, unknown> | null; scratchpad?: unknown; layout?: "cached" | "standard"; compact_at?: number; compact_to?: number; stash?: number | null; pinned_tools?: string[] | null; earlier_tools?: string[] | null; profile?: boolean }, options: CallOptions = {}): Promise<SessionContext> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/context", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<SessionContext>;
  }

  /**
   * Summarise (fold) a thread's oldest messages once history uses more than `compact_at` of the room.
   *
   * Role: `writer`.
   */
  fold(args: { id: string; room_tokens: number; compact_at?: number; compact_to?: number }, options: CallOptions = {}): Promise<Summary | null> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/fold", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Summary | null>;
  }

  /**
   * End a session: archive it as a summary and extract facts and learnings.
   *
   * Role: `writer`.
   */
  end(args: { id: string; session: string; turns?: number; persisted?: number }, options: CallOptions = {}): Promise<Ended> {
    return this.#http.call({"method": "POST", "path": "/v1/thread/end", "query": ["id"], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Ended>;
  }
}

/** Provides memory to functions that run on clients. */
export class FunctionsNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Recall memories for a function. Send `made` from the answer together with the function's output, so that the
   * output can be traced and forgotten.
   *
   * Role: `reader`.
   */
  recall(args: { query: string; namespaces?: string | string[] | null; top_k?: number; kinds?: string[] | null; min_score?: number | null; where?: Record<string, unknown> | null }, options: CallOptions = {}): Promise<Recalled> {
    return this.#http.call({"method": "POST", "path": "/v1/function/recall", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Recalled>;
  }

  /**
   * Store a function's output as a fact, and the exchange in a thread, in one commit, with all their sources.
   *
   * Returns False if no fact was stored because one of its sources was forgotten in the meantime.
   *
   * Role: `writer`.
   */
  keep(args: { value: unknown; said: string; asked?: string; remember?: RememberAs | null; thread?: string | null; made?: MadeFrom | null }, options: CallOptions = {}): Promise<boolean> {
    return this.#http.call({"method": "POST", "path": "/v1/function/output", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<boolean>;
  }
}

/** Forgets after a confirmation. */
export class ErasingNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Forget one item and everything derived from it. Without a code, items are only counted, and a code is
   * returned.
   *
   * The code can be used once within five minutes, for this key and this target. `physical` also removes the bytes
   * from the store's files, which needs the operator role. `shred` also destroys the key of an encrypted user.
   *
   * Role: `forget`.
   */
  forget(args: { user?: string | null; thread?: string | null; message?: string | null; fact?: string | null; source?: string | null; shred?: boolean; code?: string | null } = {}, options: CallOptions = {}): Promise<Forgetting> {
    return this.#http.call({"method": "POST", "path": "/v1/forget", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Forgetting>;
  }
}

/** Waits for the outbox. */
export class OutboxNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Wait up to `timeout` seconds (30 at most) until messages are indexed and processed, and return their
   * receipts.
   *
   * Role: `reader`.
   */
  wait(args: { ids: string[]; timeout?: number }, options: CallOptions = {}): Promise<Listed<MessageReceipt>> {
    return this.#http.call({"method": "POST", "path": "/v1/messages/wait", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<MessageReceipt>>;
  }
}

/** Exports and imports an org. */
export class TransfersNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Stream every row of this org as JSON lines. The last line contains the number of rows.
   *
   * Role: `operator`.
   */
  export(args: Record<string, never> = {}, options: CallOptions = {}): AsyncGenerator<string> {
    return this.#http.lines({"method": "GET", "path": "/v1/export", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options);
  }

  /**
   * Load JSON lines that an export wrote. If a line is damaged, the error names it and nothing is written.
   *
   * The upload is buffered in a temporary file, so that everything is checked before anything is written.
   *
   * Role: `operator`.
   */
  import(content: Upload, args: Record<string, never> = {}, options: CallOptions = {}): Promise<Transfer> {
    return this.#http.upload({"method": "POST", "path": "/v1/import", "query": [], "json": [], "body": false, "writes": true, "keyed": false, "found": false}, "application/jsonl", content, args, options) as Promise<Transfer>;
  }

  /**
   * Import a file from another tool. The file is sent as the body, and `name` is its file name.
   *
   * Role: `operator`.
   */
  importFrom(content: Upload, args: { name: string; kind?: string; namespace?: string | null; users?: Record<string, string> | null; mapping?: Record<string, unknown> | null; source?: string | null; dry_run?: boolean; strict?: boolean }, options: CallOptions = {}): Promise<ImportReport> {
    return this.#http.upload({"method": "POST", "path": "/v1/import/from", "query": ["name", "kind", "namespace", "source"], "json": ["users", "mapping", "dry_run", "strict"], "body": false, "writes": true, "keyed": false, "found": false}, "application/octet-stream", content, args, options) as Promise<ImportReport>;
  }
}

/** Streams the events of an org. */
export class StreamNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Stream the events of this org as server-sent events, which contain ids and sizes but no content.
   *
   * `names` is a comma-separated list of the events to send. A client that reconnects with `Last-Event-ID` gets the
   * events it missed, or a `missed` event if they are no longer buffered; it should then read its data again.
   *
   * Role: `reader`.
   */
  follow(args: { names?: string } = {}, options: CallOptions & { lastEventId?: string } = {}): AsyncGenerator<ServerEvent> {
    return this.#http.events({"method": "GET", "path": "/v1/events", "query": ["names"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options);
  }
}

/** Follows changes made by any process. A notice names the kind of record and the namespace. */
export class WatchingNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the changes since the cursor `seen`, waiting up to `timeout` seconds (20 at most) for one.
   *
   * Without `seen`, it returns an initial cursor. If the next request comes within a minute, no change is missed.
   *
   * Role: `reader`.
   */
  look(args: { seen?: Record<string, number> | null; namespaces?: string[] | null; kinds?: string[] | null; timeout?: number } = {}, options: CallOptions = {}): Promise<Watched> {
    return this.#http.call({"method": "POST", "path": "/v1/watch", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Watched>;
  }
}

/** Runs the analyser, and stores its reports as records of the org. */
export class AnalysesNoun {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Return the folders that can be analysed, and whether a report on each exists.
   *
   * Role: `operator`.
   */
  list(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Listed<Checkout>> {
    return this.#http.call({"method": "GET", "path": "/v1/analyses", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Checkout>>;
  }

  /**
   * Analyse one of the folders passed to `memorist serve --analyze`, and store the report.
   *
   * Role: `operator`.
   */
  run(args: { name: string }, options: CallOptions = {}): Promise<Record<string, unknown>> {
    return this.#http.call({"method": "POST", "path": "/v1/analyses", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<Record<string, unknown>>;
  }

  /**
   * Return the last report on a folder.
   *
   * Role: `operator`.
   */
  get(args: { name: string }, options: CallOptions = {}): Promise<Record<string, unknown> | null> {
    return this.#http.call({"method": "GET", "path": "/v1/analysis", "query": ["name"], "json": [], "body": false, "writes": false, "keyed": false, "found": true}, args, options) as Promise<Record<string, unknown> | null>;
  }
}

/** A memory behind a URL: `new Memorist(url, { apiKey })`. */
export class Memorist {
  readonly #http: Http;
  readonly facts: FactsNoun;
  readonly threads: ThreadsNoun;
  readonly learnings: LearningsNoun;
  readonly events: EventsNoun;
  readonly memories: MemoriesNoun;
  readonly review: ReviewNoun;
  readonly gate: GateNoun;
  readonly plans: PlansNoun;
  readonly profile: ProfileNoun;
  readonly working: WorkingNoun;
  readonly state: StateNoun;
  readonly documents: DocumentsNoun;
  readonly tasks: TasksNoun;
  readonly records: RecordsNoun;
  readonly audit: AuditNoun;
  readonly jobs: JobsNoun;
  readonly keys: KeysNoun;
  readonly batches: BatchesNoun;
  readonly leases: LeasesNoun;
  readonly entityCache: EntityCacheNoun;
  readonly turns: TurnsNoun;
  readonly functions: FunctionsNoun;
  readonly erasing: ErasingNoun;
  readonly outbox: OutboxNoun;
  readonly transfers: TransfersNoun;
  readonly stream: StreamNoun;
  readonly watching: WatchingNoun;
  readonly analyses: AnalysesNoun;

  constructor(url: string, settings: Settings = {}) {
    this.#http = new Http(url, settings);
    this.facts = new FactsNoun(this.#http);
    this.threads = new ThreadsNoun(this.#http);
    this.learnings = new LearningsNoun(this.#http);
    this.events = new EventsNoun(this.#http);
    this.memories = new MemoriesNoun(this.#http);
    this.review = new ReviewNoun(this.#http);
    this.gate = new GateNoun(this.#http);
    this.plans = new PlansNoun(this.#http);
    this.profile = new ProfileNoun(this.#http);
    this.working = new WorkingNoun(this.#http);
    this.state = new StateNoun(this.#http);
    this.documents = new DocumentsNoun(this.#http);
    this.tasks = new TasksNoun(this.#http);
    this.records = new RecordsNoun(this.#http);
    this.audit = new AuditNoun(this.#http);
    this.jobs = new JobsNoun(this.#http);
    this.keys = new KeysNoun(this.#http);
    this.batches = new BatchesNoun(this.#http);
    this.leases = new LeasesNoun(this.#http);
    this.entityCache = new EntityCacheNoun(this.#http);
    this.turns = new TurnsNoun(this.#http);
    this.functions = new FunctionsNoun(this.#http);
    this.erasing = new ErasingNoun(this.#http);
    this.outbox = new OutboxNoun(this.#http);
    this.transfers = new TransfersNoun(this.#http);
    this.stream = new StreamNoun(this.#http);
    this.watching = new WatchingNoun(this.#http);
    this.analyses = new AnalysesNoun(this.#http);
  }

  /**
   * Find the memories most relevant to a query, best first. Everything written before the call is searched.
   *
   * Args:
   *     query: A question or a few words.
   *     namespaces: Where to search; by default everywhere this handle may read.
   *     kinds: Return only these kinds: `message`, `fact`, `event`, `learning`, `summary`, `document`.
   *     top_k: How many hits to return.
   *     offset: How many hits to skip, for the next page.
   *     max_tokens: Return only the best hits that fit into this many tokens.
   *     after: Return only items that are newer than this time.
   *     before: Return only items that are older than this time.
   *     where: A filter on metadata and fields, such as `{"berths": {"$gte": 2}}`.
   *     min_score: Leave out hits with a lower score. By default, nothing is returned for an unknown subject; 0
   *         always returns the best hits.
   *     vector: The query's vector, if you have already computed it.
   *     expand: Also search for other wordings, which the memory's model proposes.
   *     hops: With more than 1, the model names missing information, and recall searches for that too.
   *     as_of: Answer with the memories as they were at this time.
   *
   * Returns:
   *     Hits with their text, score, source and reasons.
   *
   * Raises:
   *     InvalidFilter: `where` is not a valid filter.
   *
   * Role: `reader`.
   */
  recall(args: { query: string; namespaces?: string | string[] | null; kinds?: string[] | string | null; top_k?: number; offset?: number; max_tokens?: number | null; after?: string | null; before?: string | null; where?: Record<string, unknown> | null; min_score?: number | null; vector?: number[] | null; expand?: boolean; hops?: number; as_of?: string | null }, options: CallOptions = {}): Promise<Listed<Hit>> {
    return this.#http.call({"method": "POST", "path": "/v1/recall", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Hit>>;
  }

  /**
   * Store a user's statement, process it immediately, and return what was understood.
   *
   * Args:
   *     messages: A text, a message, or a list of messages, in the user's own words.
   *     user: The user whose memory it is. Defaults to the user of this handle.
   *     thread: The thread to append to. By default, each user has a separate thread for such notes.
   *     infer: Whether to derive facts, events and preferences. If not, each message is stored word for word as a
   *         learning.
   *     key: Makes the call idempotent: a second call with the same key stores nothing and returns the same result.
   *
   * Returns:
   *     The receipts, the stored memories, those that are waiting for review, those that ended, and those that were
   *         refused,
   *     with the reason.
   *
   * Role: `writer`.
   */
  remember(args: { messages: string | Record<string, unknown> | (string | Record<string, unknown>)[]; user?: string | null; thread?: string | null; infer?: boolean; key?: string | null }, options: CallOptions = {}): Promise<Understood> {
    return this.#http.call({"method": "POST", "path": "/v1/remember", "query": [], "json": [], "body": true, "writes": true, "keyed": true, "found": false}, args, options) as Promise<Understood>;
  }

  /**
   * Build a request for an input, including recalled memory. It fits the token budget and is valid for the
   * provider.
   *
   * Args:
   *     input: What the user says now; None to continue after a tool result.
   *     thread: The conversation whose history to send.
   *     system: The system prompt.
   *     tools: Tool definitions, in OpenAI's or Anthropic's format.
   *     pinned_tools: Names of tools to send even if all tools together exceed the budget's `tools`. The request
   *         then contains these, the most relevant others, and `find_tool` for the rest
   *         (`memorist.tool_finder.ToolFinder`).
   *     budget: A number of tokens or a `TokenBudget`; 8,000 by default.
   *     policy: What to leave out of the history when it does not fit.
   *     recall: True for everything this handle may read, a `Recall`, namespaces, ready-made items, or False.
   *     profile: Whether to include the user's profile.
   *     scratchpad: The agent's notes, placed after the input.
   *     layout: `cached` keeps the beginning of requests stable for the provider's prompt cache; `standard` does
   *         not.
   *     as_of: Use history, profile and memory as they were at this time.
   *     stash: Send tool results of the thread over this many tokens as previews, with the tools `read_more` and
   *         `search_history` to open them (`memorist.read_back.ReadBack`).
   *
   * Returns:
   *     A context. `messages()`, `anthropic()` and `responses()` render it, and `explain()` says what was left out
   *     and why.
   *
   * Raises:
   *     BudgetError: The parts that must be sent are larger than the budget.
   *
   * Role: `reader`.
   */
  context(args: { input: string | Record<string, unknown> | (string | Record<string, unknown>)[] | null; thread?: string | null; system?: string | Record<string, unknown> | (string | Record<string, unknown>)[] | null; tools?: Record<string, unknown>[] | null; pinned_tools?: string[]; budget?: number | string | Record<string, unknown> | null; policy?: Record<string, unknown> | null; recall?: boolean | string | (string | Record<string, unknown>)[] | Record<string, unknown> | null; profile?: boolean | string | (string | ProfileLine)[]; scratchpad?: unknown; layout?: "cached" | "standard"; as_of?: string | null; stash?: number | null; format?: "anthropic" | "context" | "openai"; manifest?: boolean }, options: CallOptions = {}): Promise<Context | RenderedRequest> {
    return this.#http.call({"method": "POST", "path": "/v1/context", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Context | RenderedRequest>;
  }

  /**
   * Find the tools whose names, descriptions and parameters best match a query, best first.
   *
   * Args:
   *     query: What the tool should do.
   *     tools: Definitions in OpenAI's or Anthropic's format.
   *     top_k: How many to return.
   *
   * Returns:
   *     The definitions of the tools, in the format in which you passed them.
   *
   * Role: `reader`.
   */
  findTools(args: { query: string; tools: Record<string, unknown>[]; top_k?: number }, options: CallOptions = {}): Promise<Listed<Record<string, unknown>>> {
    return this.#http.call({"method": "POST", "path": "/v1/tools/find", "query": [], "json": [], "body": true, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<Record<string, unknown>>>;
  }

  /**
   * Trace a fact, learning, summary, hit or id back to the messages from which it was derived.
   *
   * Args:
   *     item: The record, a hit, or an id such as `user:ada/city`. An id of `memory.memories`, such as `fact:city`,
   *         is looked up in this handle's own namespace.
   *
   * Returns:
   *     Every step of the derivation, down to the messages.
   *
   * Raises:
   *     NotFound: It does not exist.
   *
   * Role: `reader`.
   */
  why(args: { item: string }, options: CallOptions = {}): Promise<Why> {
    return this.#http.call({"method": "GET", "path": "/v1/why", "query": ["item"], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Why>;
  }

  /**
   * List the non-empty namespaces that this handle may read, in order.
   *
   * Args:
   *     kind: List only this kind: `user`, `agent`, `workflow` or `global`.
   *     prefix: The beginning of the id if you pass a `kind`, otherwise of the whole namespace.
   *     limit: The maximum number to return.
   *     after: The last namespace of the previous page.
   *     reverse: Whether to list in reverse order.
   *
   * Returns:
   *     The namespaces, such as `user:ada`.
   *
   * Role: `reader`.
   */
  namespaces(args: { kind?: string | null; prefix?: string | null; limit?: number | null; after?: string | null; reverse?: boolean } = {}, options: CallOptions = {}): Promise<Listed<string>> {
    return this.#http.call({"method": "GET", "path": "/v1/namespaces", "query": ["kind", "prefix", "after"], "json": ["limit", "reverse"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Listed<string>>;
  }

  /**
   * Run maintenance processors in order and return a report from each.
   *
   * Args:
   *     processors: Objects, classes or names such as `"gc"`. By default, the usual ones run.
   *     progress: Called with each report.
   *
   * Returns:
   *     One report per processor.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  process(args: { processors?: string[] } = {}, options: CallOptions = {}): Promise<Listed<Report>> {
    return this.#http.call({"method": "POST", "path": "/v1/process", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<Listed<Report>>;
  }

  /**
   * Rewrite the store's files without the bytes of deleted rows. This command is for operators.
   *
   * On a server, it slows down or locks out all tenants, so it needs a handle opened with `all_orgs=True`.
   *
   * Returns:
   *     The files that were rewritten, and those that were not.
   *
   * Raises:
   *     Forbidden: This handle was not opened with `all_orgs=True`.
   *
   * Role: `operator`.
   */
  scrub(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Scrubbed> {
    return this.#http.call({"method": "POST", "path": "/v1/scrub", "query": [], "json": [], "body": true, "writes": true, "keyed": false, "found": false}, args, options) as Promise<Scrubbed>;
  }

  /**
   * Count the stored records by kind, and how many of them are indexed.
   *
   * Returns:
   *     The counts.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  stats(args: Record<string, never> = {}, options: CallOptions = {}): Promise<Stats> {
    return this.#http.call({"method": "GET", "path": "/v1/stats", "query": [], "json": [], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Stats>;
  }

  /**
   * Check the store and the waiting jobs: versions, settings, sizes and problems.
   *
   * Args:
   *     deep: Whether to read every row and verify its checksum.
   *
   * Returns:
   *     The report, with all problems in one list.
   *
   * Raises:
   *     Forbidden: This is a user's handle.
   *
   * Role: `operator`.
   */
  doctor(args: { deep?: boolean } = {}, options: CallOptions = {}): Promise<Diagnosis> {
    return this.#http.call({"method": "GET", "path": "/v1/doctor", "query": [], "json": ["deep"], "body": false, "writes": false, "keyed": false, "found": false}, args, options) as Promise<Diagnosis>;
  }
}

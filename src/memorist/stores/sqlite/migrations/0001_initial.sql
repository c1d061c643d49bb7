-- needs: 1
-- One table per record of records.py, with a column for each of its fields; a test proves that they agree.
-- Times are integer microseconds since the epoch; JSON columns hold exact JSON text; crc guards evidence.

CREATE TABLE migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  needs INTEGER NOT NULL,
  applied_at INTEGER NOT NULL
);

CREATE TABLE audit (
  org TEXT NOT NULL,
  id TEXT NOT NULL,
  action TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  actor TEXT NOT NULL,
  user TEXT,
  source TEXT,
  detail TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (org, id)
);
CREATE UNIQUE INDEX audit_by_subject ON audit (org, subject, id);
CREATE INDEX audit_expiry ON audit (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE checkpoint_steps (
  org TEXT NOT NULL,
  task_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  step INTEGER NOT NULL,
  snapshot INTEGER NOT NULL,
  body BLOB NOT NULL,
  completed TEXT,
  status TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, task_id, number)
);

CREATE TABLE chunks (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  document TEXT NOT NULL,
  part TEXT NOT NULL,
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  heading TEXT,
  page INTEGER,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, ns, document, part)
);

CREATE TABLE documents (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  title TEXT,
  source TEXT,
  metadata TEXT,
  text TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  digest TEXT NOT NULL,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, id)
);
CREATE INDEX documents_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE entities (
  org TEXT NOT NULL,
  type TEXT NOT NULL,
  id TEXT NOT NULL,
  value TEXT,
  status TEXT NOT NULL,
  fresh_until INTEGER NOT NULL,
  owner TEXT,
  leased_until INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, type, id)
) WITHOUT ROWID;
CREATE INDEX entities_expiry ON entities (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE entries (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  kind TEXT NOT NULL,
  parent TEXT NOT NULL,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  stamp INTEGER NOT NULL,
  terms TEXT NOT NULL,
  context_terms TEXT NOT NULL,
  signals BLOB NOT NULL,
  analysis TEXT NOT NULL,
  role TEXT,
  speaker TEXT,
  trust TEXT NOT NULL,
  confidence REAL NOT NULL,
  uses INTEGER NOT NULL,
  metadata TEXT,
  source TEXT,
  embedder TEXT,
  vector BLOB,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (org, ns, kind, parent, id)
);
CREATE UNIQUE INDEX entries_by_stamp ON entries (org, ns, stamp, kind, parent, id);
CREATE INDEX entries_expiry ON entries (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE fact_versions (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT,
  text TEXT,
  subject TEXT,
  valid_from INTEGER,
  valid_until INTEGER,
  scope TEXT NOT NULL,
  tags TEXT,
  metadata TEXT,
  inferred INTEGER NOT NULL,
  confidence REAL NOT NULL,
  sources TEXT,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  indexed TEXT,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, key, version)
) WITHOUT ROWID;
CREATE INDEX fact_versions_expiry ON fact_versions (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE facts (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT,
  text TEXT,
  subject TEXT,
  valid_from INTEGER,
  valid_until INTEGER,
  scope TEXT NOT NULL,
  tags TEXT,
  metadata TEXT,
  inferred INTEGER NOT NULL,
  confidence REAL NOT NULL,
  sources TEXT,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  indexed TEXT,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, key)
) WITHOUT ROWID;
CREATE INDEX facts_expiry ON facts (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE jobs (
  org TEXT NOT NULL,
  queue TEXT NOT NULL,
  ns TEXT NOT NULL,
  item TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  owner TEXT,
  leased_until INTEGER,
  payload TEXT,
  error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, queue, ns, item)
) WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_ready ON jobs (queue, status, run_at, org, ns, item);

CREATE TABLE learnings (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  content TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT,
  valid_from INTEGER,
  valid_until INTEGER,
  scope TEXT NOT NULL,
  inferred INTEGER NOT NULL,
  confidence REAL NOT NULL,
  usage_count INTEGER NOT NULL,
  last_used INTEGER,
  tags TEXT,
  metadata TEXT,
  sources TEXT,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, ns, id)
) WITHOUT ROWID;
CREATE INDEX learnings_expiry ON learnings (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE links (
  org TEXT NOT NULL,
  source_kind TEXT NOT NULL,
  source_ns TEXT NOT NULL,
  source_key TEXT NOT NULL,
  source_part TEXT NOT NULL,
  relation TEXT NOT NULL,
  target_kind TEXT NOT NULL,
  target_ns TEXT NOT NULL,
  target_key TEXT NOT NULL,
  target_part TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, source_ns, source_key, source_kind, source_part, relation, target_ns, target_key, target_kind, target_part)
) WITHOUT ROWID;
CREATE UNIQUE INDEX links_by_target ON links (org, target_ns, target_key, target_kind, target_part, relation, source_ns, source_key, source_kind, source_part);

CREATE TABLE derivations (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  position INTEGER NOT NULL,
  failed TEXT,
  unread TEXT,
  ended TEXT,
  refused TEXT,
  by_rules TEXT,
  cost TEXT,
  stuck INTEGER NOT NULL,
  again INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, thread)
) WITHOUT ROWID;

CREATE TABLE epochs (
  org TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, fingerprint)
) WITHOUT ROWID;

CREATE TABLE identities (
  org TEXT NOT NULL,
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (org, name)
) WITHOUT ROWID;

CREATE TABLE message_parts (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  digest TEXT NOT NULL,
  data BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, thread, digest)
);
CREATE INDEX message_parts_expiry ON message_parts (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE request_logs (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  reports TEXT,
  pieces TEXT,
  settings TEXT,
  model TEXT,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, thread)
) WITHOUT ROWID;

CREATE TABLE imported_digests (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  block INTEGER NOT NULL,
  digests BLOB NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, thread, block)
) WITHOUT ROWID;

CREATE TABLE index_progress (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  position INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, thread)
) WITHOUT ROWID;

CREATE TABLE namespace_stats (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  stamp INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  terms INTEGER NOT NULL,
  assistant INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  speakers TEXT,
  standing TEXT,
  languages TEXT,
  analysis TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, ns)
) WITHOUT ROWID;

CREATE TABLE notices (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  kind TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, ns, kind)
) WITHOUT ROWID;

CREATE TABLE pins (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  seqs TEXT,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, thread)
) WITHOUT ROWID;

CREATE TABLE request_keys (
  org TEXT NOT NULL,
  day INTEGER NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  outcome INTEGER,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, day, key)
) WITHOUT ROWID;

CREATE TABLE sweeps (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  processor TEXT NOT NULL,
  position INTEGER NOT NULL,
  maker TEXT,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, ns, processor)
) WITHOUT ROWID;

CREATE TABLE watermarks (
  org TEXT NOT NULL,
  name TEXT NOT NULL,
  item TEXT NOT NULL,
  position INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, name, item)
) WITHOUT ROWID;

CREATE TABLE messages (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  seq INTEGER NOT NULL,
  role TEXT NOT NULL,
  content TEXT,
  name TEXT,
  extra TEXT,
  shape TEXT,
  metadata TEXT,
  importance REAL,
  pinned INTEGER NOT NULL,
  trust TEXT,
  tokens INTEGER,
  counter TEXT,
  created_at INTEGER,
  expires_at INTEGER,
  raw TEXT,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, thread, seq)
);
CREATE INDEX messages_expiry ON messages (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE receipts (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  key TEXT NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, thread, key)
) WITHOUT ROWID;

CREATE TABLE state (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, ns, key)
) WITHOUT ROWID;
CREATE INDEX state_expiry ON state (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE summaries (
  org TEXT NOT NULL,
  thread TEXT NOT NULL,
  last INTEGER NOT NULL,
  first INTEGER NOT NULL,
  text TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  ns TEXT NOT NULL,
  sources TEXT,
  method TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, thread, last)
);

CREATE TABLE tasks (
  org TEXT NOT NULL,
  task_id TEXT NOT NULL,
  ns TEXT NOT NULL,
  step INTEGER NOT NULL,
  status TEXT NOT NULL,
  saved INTEGER NOT NULL,
  base INTEGER NOT NULL,
  keep INTEGER,
  completed INTEGER NOT NULL,
  size INTEGER NOT NULL,
  owner TEXT,
  fence INTEGER NOT NULL,
  leased_until INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, task_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX tasks_by_ns ON tasks (org, ns, task_id);
CREATE INDEX tasks_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE threads (
  org TEXT NOT NULL,
  id TEXT NOT NULL,
  ns TEXT NOT NULL,
  title TEXT,
  metadata TEXT,
  length INTEGER NOT NULL,
  start INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX threads_by_ns ON threads (org, ns, id);
CREATE INDEX threads_expiry ON threads (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE tombstones (
  org TEXT NOT NULL,
  kind TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, kind, fingerprint)
) WITHOUT ROWID;

CREATE TABLE working (
  org TEXT NOT NULL,
  user TEXT NOT NULL,
  session TEXT NOT NULL,
  doc TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, user, session)
) WITHOUT ROWID;
CREATE INDEX working_expiry ON working (expires_at) WHERE expires_at IS NOT NULL;

-- The text index over entries. It keeps no text (content = ''): only our own analysed terms, each under the code of its
-- namespace, so that searching one namespace costs the same whatever else is in the file. Places are kept (detail = full):
-- without them bm25() is 0 for every row, and the cut would keep the oldest instead of the best.
CREATE VIRTUAL TABLE entries_text USING fts5 (
  terms, context_terms,
  content = '', contentless_delete = 1, tokenize = 'ascii'
);
CREATE VIRTUAL TABLE entries_terms USING fts5vocab (entries_text, 'col');

-- Whatever deletes an entry takes it out of the index too. Adding is done by the store, which codes the terms.
CREATE TRIGGER entries_text_delete AFTER DELETE ON entries BEGIN
  DELETE FROM entries_text WHERE rowid = old.rowid;
END;

-- Records of integrations, and the pieces of those whose data is long.

CREATE TABLE records (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  key TEXT NOT NULL,
  data BLOB,
  form TEXT NOT NULL,
  size INTEGER NOT NULL,
  upload TEXT,
  pieces INTEGER NOT NULL,
  metadata TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, key)
);
CREATE INDEX records_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE record_pieces (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  key TEXT NOT NULL,
  upload TEXT NOT NULL,
  number INTEGER NOT NULL,
  data BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, key, upload, number)
);
CREATE INDEX record_pieces_expiry ON record_pieces (expires_at) WHERE expires_at IS NOT NULL;

-- Events with their history, and memories that wait for a person's approval.

CREATE TABLE events (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  text TEXT NOT NULL,
  starts_at INTEGER NOT NULL,
  ends_at INTEGER,
  status TEXT NOT NULL,
  scope TEXT NOT NULL,
  subject TEXT,
  people TEXT,
  location TEXT,
  tags TEXT,
  metadata TEXT,
  inferred INTEGER NOT NULL,
  confidence REAL NOT NULL,
  sources TEXT,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX events_by_start ON events (org, ns, starts_at, id);
CREATE INDEX events_expiry ON events (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE event_versions (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  text TEXT NOT NULL,
  starts_at INTEGER NOT NULL,
  ends_at INTEGER,
  status TEXT NOT NULL,
  scope TEXT NOT NULL,
  subject TEXT,
  people TEXT,
  location TEXT,
  tags TEXT,
  metadata TEXT,
  inferred INTEGER NOT NULL,
  confidence REAL NOT NULL,
  sources TEXT,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, id, version)
) WITHOUT ROWID;
CREATE INDEX event_versions_expiry ON event_versions (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE candidates (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  operation TEXT NOT NULL,
  target TEXT,
  text TEXT NOT NULL,
  proposal TEXT,
  quote TEXT,
  reason TEXT,
  confidence REAL NOT NULL,
  sources TEXT,
  approved_as TEXT,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (org, ns, id)
) WITHOUT ROWID;
CREATE INDEX candidates_expiry ON candidates (expires_at) WHERE expires_at IS NOT NULL;

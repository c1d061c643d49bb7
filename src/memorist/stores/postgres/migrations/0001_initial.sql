-- needs: 1
-- Memorist's tables: one per record, every key starting with org, so that they partition and distribute by it.
-- Times are microseconds since 1970; JSON is kept as the exact text that was written.
-- Text in keys is COLLATE "C": its order is the order of the code points, the same as in every other store.
--
-- `migrate --partitions N` runs this file with PARTITION BY HASH (org) on each table (see schema.py), so a table is
-- written as CREATE TABLE memorist.name (…) WITH (…); with the closing bracket on a line of its own.

-- The lexemes of an entry: our own analysed terms, taken exactly as they are, each under the code of its namespace, so
-- that searching one namespace costs the same whatever else is in the table. A dot marks an entry's own term, a comma
-- one of its context.

CREATE FUNCTION memorist.scope_code(p_org text, p_ns text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(md5(length(p_org) || ':' || p_org || p_ns), 12);

CREATE FUNCTION memorist.lexemes(p_org text, p_ns text, p_terms text, p_context text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(ARRAY(
  SELECT memorist.scope_code(p_org, p_ns) || '.' || own FROM unnest(string_to_array(p_terms, ' ')) AS own
  -- A lexeme has at most 2,046 bytes.
  WHERE own <> '' AND octet_length(own) <= 1024
  UNION
  SELECT memorist.scope_code(p_org, p_ns) || ',' || near FROM unnest(string_to_array(p_context, ' ')) AS near
  WHERE near <> '' AND octet_length(near) <= 1024
));

-- A thread's row changes with each append: room on its page keeps such updates off its indexes.
CREATE TABLE memorist.threads (
  org text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  title text,
  metadata text,
  length bigint NOT NULL,
  start bigint NOT NULL,
  tokens bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, id)
) WITH (fillfactor = 60);
CREATE INDEX threads_by_ns ON memorist.threads (org, ns, id);
CREATE INDEX threads_ends ON memorist.threads (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.messages (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  role text NOT NULL,
  content text,
  name text,
  extra text,
  shape text,
  metadata text,
  importance double precision,
  pinned boolean NOT NULL,
  trust text,
  tokens bigint,
  counter text,
  created_at bigint,
  expires_at bigint,
  raw text,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, thread, seq)
);
CREATE INDEX messages_ends ON memorist.messages (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.receipts (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  first bigint NOT NULL,
  count bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org, thread, key)
);

CREATE TABLE memorist.summaries (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  last bigint NOT NULL,
  first bigint NOT NULL,
  text text NOT NULL,
  tokens bigint NOT NULL,
  ns text NOT NULL,
  sources text,
  method text NOT NULL,
  actor text NOT NULL,
  created_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, thread, last)
);

CREATE TABLE memorist.facts (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text,
  text text,
  subject text,
  valid_from bigint,
  valid_until bigint,
  scope text NOT NULL,
  tags text,
  metadata text,
  inferred boolean NOT NULL,
  confidence double precision NOT NULL,
  sources text,
  actor text NOT NULL,
  trust text NOT NULL,
  status text NOT NULL,
  reason text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  indexed text,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, ns, key)
);
CREATE INDEX facts_ends ON memorist.facts (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.fact_versions (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text,
  text text,
  subject text,
  valid_from bigint,
  valid_until bigint,
  scope text NOT NULL,
  tags text,
  metadata text,
  inferred boolean NOT NULL,
  confidence double precision NOT NULL,
  sources text,
  actor text NOT NULL,
  trust text NOT NULL,
  status text NOT NULL,
  reason text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  indexed text,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, ns, key, version)
);
CREATE INDEX fact_versions_ends ON memorist.fact_versions (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.events (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  text text NOT NULL,
  starts_at bigint NOT NULL,
  ends_at bigint,
  status text NOT NULL,
  scope text NOT NULL,
  subject text,
  people text,
  location text,
  tags text,
  metadata text,
  inferred boolean NOT NULL,
  confidence double precision NOT NULL,
  sources text,
  actor text NOT NULL,
  trust text NOT NULL,
  reason text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, ns, id)
);
CREATE INDEX events_by_start ON memorist.events (org, ns, starts_at, id);
CREATE INDEX events_ends ON memorist.events (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.event_versions (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  text text NOT NULL,
  starts_at bigint NOT NULL,
  ends_at bigint,
  status text NOT NULL,
  scope text NOT NULL,
  subject text,
  people text,
  location text,
  tags text,
  metadata text,
  inferred boolean NOT NULL,
  confidence double precision NOT NULL,
  sources text,
  actor text NOT NULL,
  trust text NOT NULL,
  reason text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, ns, id, version)
);
CREATE INDEX event_versions_ends ON memorist.event_versions (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.candidates (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  operation text NOT NULL,
  target text,
  text text NOT NULL,
  proposal text,
  quote text,
  reason text,
  confidence double precision NOT NULL,
  sources text,
  approved_as text,
  actor text NOT NULL,
  trust text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, ns, id)
);
CREATE INDEX candidates_ends ON memorist.candidates (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.learnings (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  content text NOT NULL,
  type text NOT NULL,
  subject text,
  valid_from bigint,
  valid_until bigint,
  scope text NOT NULL,
  inferred boolean NOT NULL,
  confidence double precision NOT NULL,
  usage_count bigint NOT NULL,
  last_used bigint,
  tags text,
  metadata text,
  sources text,
  actor text NOT NULL,
  trust text NOT NULL,
  status text NOT NULL,
  reason text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, ns, id)
);
CREATE INDEX learnings_ends ON memorist.learnings (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.state (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, ns, key)
) WITH (fillfactor = 80);
CREATE INDEX state_ends ON memorist.state (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.working (
  org text COLLATE "C" NOT NULL,
  "user" text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  doc text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, "user", session)
);
CREATE INDEX working_ends ON memorist.working (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.entities (
  org text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  value text,
  status text NOT NULL,
  fresh_until bigint NOT NULL,
  owner text,
  leased_until bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, type, id)
);
CREATE INDEX entities_ends ON memorist.entities (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.documents (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  title text,
  source text,
  metadata text,
  text text NOT NULL,
  chunks bigint NOT NULL,
  digest text NOT NULL,
  actor text NOT NULL,
  trust text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, ns, id)
);
CREATE INDEX documents_ends ON memorist.documents (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.chunks (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  part text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  text text NOT NULL,
  heading text,
  page bigint,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  tokens bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org, ns, document, part)
);

CREATE TABLE memorist.records (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  data bytea,
  form text NOT NULL,
  size bigint NOT NULL,
  upload text,
  pieces bigint NOT NULL,
  metadata text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, ns, key)
);
CREATE INDEX records_ends ON memorist.records (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.record_pieces (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  upload text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  data bytea NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, ns, key, upload, number)
);
CREATE INDEX record_pieces_ends ON memorist.record_pieces (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.tasks (
  org text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  step bigint NOT NULL,
  status text NOT NULL,
  saved bigint NOT NULL,
  base bigint NOT NULL,
  keep bigint,
  completed bigint NOT NULL,
  size bigint NOT NULL,
  owner text,
  fence bigint NOT NULL,
  leased_until bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, task_id)
);
CREATE INDEX tasks_by_ns ON memorist.tasks (org, ns, task_id);
CREATE INDEX tasks_ends ON memorist.tasks (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.checkpoint_steps (
  org text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  step bigint NOT NULL,
  snapshot boolean NOT NULL,
  body bytea NOT NULL,
  completed text,
  status text NOT NULL,
  actor text NOT NULL,
  created_at bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, task_id, number)
);

CREATE TABLE memorist.jobs (
  org text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL,
  run_at bigint NOT NULL,
  owner text,
  leased_until bigint,
  payload text,
  error text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, queue, ns, item)
);
CREATE INDEX jobs_ready ON memorist.jobs (queue, status, run_at, org, ns, item);

CREATE TABLE memorist.derivations (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  failed text,
  unread text,
  ended text,
  refused text,
  by_rules text,
  cost text,
  stuck boolean NOT NULL,
  again boolean NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, thread)
) WITH (fillfactor = 80);

CREATE TABLE memorist.epochs (
  org text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, fingerprint)
) WITH (fillfactor = 80);

CREATE TABLE memorist.identities (
  org text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  id text NOT NULL,
  PRIMARY KEY (org, name)
);

CREATE TABLE memorist.message_parts (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  checksum bigint NOT NULL,
  PRIMARY KEY (org, thread, digest)
);
CREATE INDEX message_parts_ends ON memorist.message_parts (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.request_logs (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  reports text,
  pieces text,
  settings text,
  model text,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, thread)
) WITH (fillfactor = 80);

CREATE TABLE memorist.imported_digests (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  block bigint NOT NULL,
  digests bytea NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, thread, block)
);

CREATE TABLE memorist.index_progress (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, thread)
) WITH (fillfactor = 80);

CREATE TABLE memorist.namespace_stats (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  stamp bigint NOT NULL,
  entries bigint NOT NULL,
  terms bigint NOT NULL,
  assistant bigint NOT NULL,
  messages bigint NOT NULL,
  documents bigint NOT NULL,
  speakers text,
  standing text,
  languages text,
  analysis text NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, ns)
) WITH (fillfactor = 80);

CREATE TABLE memorist.notices (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, ns, kind)
) WITH (fillfactor = 80);

CREATE TABLE memorist.pins (
  org text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  seqs text,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, thread)
) WITH (fillfactor = 80);

CREATE TABLE memorist.request_keys (
  org text COLLATE "C" NOT NULL,
  day bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  digest text NOT NULL,
  outcome bigint,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, day, key)
) WITH (fillfactor = 80);

CREATE TABLE memorist.sweeps (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  processor text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  maker text,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, ns, processor)
) WITH (fillfactor = 80);

CREATE TABLE memorist.watermarks (
  org text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, name, item)
) WITH (fillfactor = 80);

CREATE TABLE memorist.links (
  org text COLLATE "C" NOT NULL,
  source_kind text COLLATE "C" NOT NULL,
  source_ns text COLLATE "C" NOT NULL,
  source_key text COLLATE "C" NOT NULL,
  source_part text COLLATE "C" NOT NULL,
  relation text COLLATE "C" NOT NULL,
  target_kind text COLLATE "C" NOT NULL,
  target_ns text COLLATE "C" NOT NULL,
  target_key text COLLATE "C" NOT NULL,
  target_part text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, source_ns, source_key, source_kind, source_part, relation, target_ns, target_key, target_kind, target_part)
);
CREATE INDEX links_by_target ON memorist.links (org, target_ns, target_key, target_kind, target_part, relation, source_ns, source_key, source_kind, source_part);

CREATE TABLE memorist.tombstones (
  org text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org, kind, fingerprint)
);

CREATE TABLE memorist.audit (
  org text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  action text NOT NULL,
  kind text NOT NULL,
  subject text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  "user" text,
  source text,
  detail text,
  created_at bigint NOT NULL,
  expires_at bigint,
  PRIMARY KEY (org, id)
);
CREATE INDEX audit_by_subject ON memorist.audit (org, subject, id);
CREATE INDEX audit_ends ON memorist.audit (expires_at) WHERE expires_at IS NOT NULL;

-- Entries come in large batches, and without fresh statistics the planner would pass the text index by.
CREATE TABLE memorist.entries (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  parent text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  stamp bigint NOT NULL,
  terms text NOT NULL,
  context_terms text NOT NULL,
  signals bytea NOT NULL,
  analysis text NOT NULL,
  role text,
  speaker text,
  trust text NOT NULL,
  confidence double precision NOT NULL,
  uses bigint NOT NULL,
  metadata text,
  source text,
  embedder text,
  vector bytea,
  created_at bigint NOT NULL,
  expires_at bigint,
  lexemes tsvector GENERATED ALWAYS AS (memorist.lexemes(org, ns, terms, context_terms)) STORED,
  PRIMARY KEY (org, ns, kind, parent, id)
) WITH (autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX entries_by_stamp ON memorist.entries (org, ns, stamp, kind, parent, id);
CREATE INDEX entries_ends ON memorist.entries (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX entries_lexemes ON memorist.entries USING gin (lexemes) WITH (gin_pending_list_limit = 64);

-- Data is opaque and often packed already: trying to compress it costs time and saves little. (Before Postgres 16 a
-- column's storage cannot be named where the table is created.)
ALTER TABLE memorist.records ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE memorist.record_pieces ALTER COLUMN data SET STORAGE EXTERNAL;

-- What people wrote must not be found in the planner's statistics, where it would outlive its deletion.
DO $$
DECLARE
  spot record;
BEGIN
  FOR spot IN
    SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'memorist'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname <> 'migrations' AND a.attnum > 0
      AND a.atttypid IN ('text'::regtype, 'bytea'::regtype, 'tsvector'::regtype)
      AND a.attcollation <> 'pg_catalog."C"'::regcollation
  LOOP
    EXECUTE format('ALTER TABLE memorist.%I ALTER COLUMN %I SET STATISTICS 0', spot.relname, spot.attname);
  END LOOP;
END $$;

-- Changes. Refusals are errors with a state of our own, so that the rest of the transaction is undone with them:
-- MM001 conflict (detail: the version there is), MM002 no such thread, MM003 replay (detail: first, count; the client
-- leaves that append out and sends the rest again),
-- MM004 not an integer, MM005 beyond 64 bits.

CREATE FUNCTION memorist.expect(wanted bigint, actual bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF wanted IS DISTINCT FROM actual THEN
    RAISE EXCEPTION 'conflict' USING ERRCODE = 'MM001', DETAIL = actual::text;
  END IF;
END $$;

CREATE FUNCTION memorist.lost_race() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a row appeared meanwhile' USING ERRCODE = 'serialization_failure';
END $$;

CREATE FUNCTION memorist.refuse_replay(p_org text, p_thread text, p_key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  done record;
BEGIN
  SELECT r.first, r.count INTO done FROM memorist.receipts r
  WHERE r.org = p_org AND r.thread = p_thread AND r.key = p_key;
  IF FOUND THEN
    RAISE EXCEPTION 'replay' USING ERRCODE = 'MM003', DETAIL = done.first || ',' || done.count;
  END IF;
END $$;

-- Takes the thread's row lock, gives the sequence numbers and writes the receipt.
CREATE FUNCTION memorist.begin_append(
  p_org text, p_thread text, p_key text, p_ns text, p_count bigint, p_tokens bigint, p_at bigint, p_now bigint,
  OUT o_first bigint, OUT o_expires bigint
) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE memorist.threads AS t
  SET length = t.length + p_count, tokens = t.tokens + p_tokens, updated_at = p_at, version = t.version + 1
  WHERE t.org = p_org AND t.id = p_thread AND (t.expires_at IS NULL OR t.expires_at > p_now)
    AND t.ns = coalesce(p_ns, t.ns)
  RETURNING t.length - p_count + 1, t.expires_at INTO o_first, o_expires;
  IF o_first IS NULL THEN
    RAISE EXCEPTION 'no such thread' USING ERRCODE = 'MM002';
  END IF;
  IF p_key IS NULL THEN
    RETURN;
  END IF;
  -- Under the thread's lock nobody else can be writing this receipt.
  INSERT INTO memorist.receipts (org, thread, key, first, count, created_at)
  VALUES (p_org, p_thread, p_key, o_first, p_count, p_at) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    PERFORM memorist.refuse_replay(p_org, p_thread, p_key);
  END IF;
END $$;

CREATE FUNCTION memorist.add_json(old text, plus numeric) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  total numeric;
BEGIN
  IF old !~ '^-?[0-9]+$' THEN
    RAISE EXCEPTION 'not an integer' USING ERRCODE = 'MM004';
  END IF;
  total := old::numeric + plus;
  IF total NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
    RAISE EXCEPTION 'beyond 64 bits' USING ERRCODE = 'MM005';
  END IF;
  RETURN total::text;
END $$;

-- The row that an update replaces goes to the history; a trigger sees the very row, whoever wrote it last. It is copied
-- by position, so that a column added to both tables is copied too. An import (Load) replaces rows without a history.
CREATE FUNCTION memorist.keep_fact_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('memorist.loading', true) = 'on' THEN
    RETURN NULL;
  END IF;
  DELETE FROM memorist.fact_versions v
  WHERE v.org = OLD.org AND v.ns = OLD.ns AND v.key = OLD.key AND v.version = OLD.version;
  INSERT INTO memorist.fact_versions SELECT OLD.*;
  RETURN NULL;
END $$;

CREATE FUNCTION memorist.keep_event_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('memorist.loading', true) = 'on' THEN
    RETURN NULL;
  END IF;
  DELETE FROM memorist.event_versions v
  WHERE v.org = OLD.org AND v.ns = OLD.ns AND v.id = OLD.id AND v.version = OLD.version;
  INSERT INTO memorist.event_versions SELECT OLD.*;
  RETURN NULL;
END $$;

CREATE TRIGGER facts_keep_version AFTER UPDATE ON memorist.facts
FOR EACH ROW EXECUTE FUNCTION memorist.keep_fact_version();
CREATE TRIGGER events_keep_version AFTER UPDATE ON memorist.events
FOR EACH ROW EXECUTE FUNCTION memorist.keep_event_version();

-- Text search. Under row-level security the index is not used, because the match operator is not leakproof. So
-- search_terms and count_terms run as their owner: where that role stands above the fence (superuser or BYPASSRLS) the
-- index serves, else the namespace is read. They see the org that the transaction named; no argument can name another.

-- A term as a query of one word; quoted, so that nothing in it is ever syntax.
CREATE FUNCTION memorist.one_word(p_lexeme text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('''' || replace(replace(p_lexeme, '\', '\\'), '''', '''''') || '''')::tsquery;

-- How the two name the namespace's columns: where the text index can be used, so that no other one can. The codes in it
-- are of one namespace already, and a planner without statistics would rather read that namespace whole.
CREATE FUNCTION memorist.searched(p_column text) RETURNS text LANGUAGE sql STABLE
RETURN CASE WHEN row_security_active('memorist.entries') THEN p_column ELSE p_column || ' || ''''' END;

-- The table or the partition in which the entries of an org are.
CREATE FUNCTION memorist.entries_of(p_org text) RETURNS regclass LANGUAGE plpgsql STABLE AS $$
DECLARE
  parts integer := (SELECT count(*) FROM pg_inherits WHERE inhparent = 'memorist.entries'::regclass);
  part regclass;
BEGIN
  FOR n IN 0 .. parts - 1 LOOP
    part := to_regclass('memorist.entries_' || n);
    EXIT WHEN part IS NULL;  -- split by someone else, with other names
    IF satisfies_hash_partition('memorist.entries'::regclass, parts, n, p_org COLLATE "C") THEN
      RETURN part;
    END IF;
  END LOOP;
  RETURN 'memorist.entries'::regclass;
END $$;

-- The same for a search as its owner; by itself a partition shows nothing to those whom the fence holds.
CREATE FUNCTION memorist.searched_part(p_org text) RETURNS regclass LANGUAGE plpgsql STABLE AS $$
DECLARE
  part regclass := memorist.entries_of(p_org);
BEGIN
  IF row_security_active('memorist.entries') OR NOT has_table_privilege(part, 'SELECT') THEN
    RETURN 'memorist.entries'::regclass;
  END IF;
  RETURN part;
END $$;

CREATE FUNCTION memorist.search_terms(
  p_ns text, p_terms text[], p_kinds text[], p_now bigint, p_total bigint, p_limit bigint
) RETURNS TABLE (kind text, parent text, id text) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  the_org text := current_setting('memorist.org', true);
  code text := memorist.scope_code(the_org, p_ns);
  own tsquery[];
  near tsquery[];
  any_word tsquery;
BEGIN
  SELECT array_agg(memorist.one_word(code || '.' || t) ORDER BY t), array_agg(memorist.one_word(code || ',' || t) ORDER BY t)
  INTO own, near FROM (SELECT DISTINCT t FROM unnest(p_terms) AS t WHERE t <> '' AND octet_length(t) <= 1024) AS terms;
  IF own IS NULL THEN
    RETURN;
  END IF;
  SELECT string_agg(q::text, ' | ')::tsquery INTO any_word FROM unnest(own || near) AS q;
  RETURN QUERY EXECUTE format($query$
    WITH hits AS MATERIALIZED (
      SELECT e.kind, e.parent, e.id, e.lexemes, length(e.lexemes)::float8 AS size
      FROM %s e
      WHERE e.lexemes @@ $1 AND %s = $2 AND %s = $3
        AND ($4::text[] IS NULL OR e.kind = ANY ($4)) AND (e.expires_at IS NULL OR e.expires_at > $5)
    ), matched AS MATERIALIZED (
      SELECT h.kind, h.parent, h.id, h.size, q.n, h.lexemes @@ q.o AS has_own, h.lexemes @@ q.c AS has_near
      FROM hits h CROSS JOIN unnest($6, $7) WITH ORDINALITY AS q(o, c, n)
    ), weights AS (
      SELECT m.n, ln(1 + greatest($8, count(*)) / (0.5 + count(*) FILTER (WHERE m.has_own OR m.has_near))::float8) AS idf
      FROM matched m GROUP BY m.n
    ), typical AS (
      SELECT avg(h.size) AS size FROM hits h
    )
    SELECT m.kind, m.parent, m.id
    FROM matched m JOIN weights w ON w.n = m.n CROSS JOIN typical t
    WHERE m.has_own OR m.has_near
    GROUP BY m.kind, m.parent, m.id
    ORDER BY sum(
      w.idf * (m.has_own::int + 0.5::float8 * m.has_near::int) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * m.size / t.size))
    ) DESC, m.kind, m.parent, m.id
    LIMIT $9
  $query$, memorist.searched_part(the_org), memorist.searched('e.org'), memorist.searched('e.ns'))
  USING any_word, the_org, p_ns, p_kinds, p_now, own, near, p_total, p_limit;
END $$;

CREATE FUNCTION memorist.count_terms(p_ns text, p_terms text[]) RETURNS TABLE (term text, entries bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  the_org text := current_setting('memorist.org', true);
  query text := format(
    'SELECT count(*) FROM %s e WHERE e.lexemes @@ $1 AND %s = $2 AND %s = $3',
    memorist.searched_part(the_org), memorist.searched('e.org'), memorist.searched('e.ns'));
BEGIN
  FOREACH term IN ARRAY p_terms LOOP
    entries := 0;
    IF term <> '' AND octet_length(term) <= 1024 THEN
      EXECUTE query INTO entries
      USING memorist.one_word(memorist.scope_code(the_org, p_ns) || '.' || term), the_org, p_ns;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Tenancy a second time: whatever a statement asks for, a transaction sees the rows of the one org it named.
-- memorist_app reads and writes rows; memorist_worker may also claim jobs, list orgs and purge, across orgs,
-- and only through the functions below. Neither can log in: grant them to the roles that do.
-- Where the migrating user may not create roles, an administrator does it first, or the owner serves alone under FORCE.

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['memorist_app', 'memorist_worker'] LOOP
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', name);
        IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
          EXECUTE format('GRANT %I TO %I', name, current_user);
        END IF;
      END IF;
      IF name = 'memorist_worker' AND NOT pg_has_role(name, 'memorist_app', 'MEMBER') THEN
        GRANT memorist_app TO memorist_worker;
      END IF;
    EXCEPTION
      -- Roles belong to the whole cluster: another database may be doing the same just now.
      WHEN duplicate_object OR unique_violation OR internal_error THEN NULL;
      WHEN insufficient_privilege OR undefined_object THEN
        RAISE NOTICE 'role % cannot be set up by %', name, current_user;
    END;
  END LOOP;
END $$;

-- Leases due jobs of any org to one worker at a time; each comes back as JSON by column name, so that a column added
-- later does not change this function. (For one org the client does the same under the fence.)
CREATE FUNCTION memorist.claim_jobs(p_queue text, p_owner text, p_now bigint, p_lease bigint, p_limit bigint)
RETURNS SETOF text LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM set_config('memorist.upkeep', 'on', true);
  RETURN QUERY
  WITH ready AS (
    SELECT j.org, j.ns, j.item, j.run_at FROM memorist.jobs j
    WHERE j.queue = p_queue AND j.status = 'ready' AND j.run_at <= p_now
    ORDER BY j.run_at, j.org, j.ns, j.item LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), left_behind AS (
    SELECT j.org, j.ns, j.item, j.run_at FROM memorist.jobs j
    WHERE j.queue = p_queue AND j.status = 'running' AND j.leased_until <= p_now
    ORDER BY j.run_at, j.org, j.ns, j.item LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), picked AS (
    SELECT * FROM ready UNION ALL SELECT * FROM left_behind ORDER BY run_at, org, ns, item LIMIT p_limit
  )
  UPDATE memorist.jobs j
  SET status = 'running', attempts = j.attempts + 1, owner = p_owner, leased_until = p_now + p_lease,
      updated_at = p_now, version = j.version + 1
  FROM picked p WHERE j.org = p.org AND j.queue = p_queue AND j.ns = p.ns AND j.item = p.item
  RETURNING row_to_json(j)::text;
  PERFORM set_config('memorist.upkeep', 'off', true);
END $$;

-- Walks from org to org over each key: the cost follows the orgs, not the rows.
CREATE FUNCTION memorist.all_orgs() RETURNS SETOF text LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name text;
  step text COLLATE "C";
  found_orgs text[] := '{}';
BEGIN
  PERFORM set_config('memorist.upkeep', 'on', true);
  FOR name IN
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'memorist'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname NOT IN ('migrations', 'identities')
  LOOP
    EXECUTE format('SELECT min(org) FROM memorist.%I', name) INTO step;
    WHILE step IS NOT NULL LOOP
      found_orgs := found_orgs || step;
      EXECUTE format('SELECT min(org) FROM memorist.%I WHERE org > $1', name) INTO step USING step;
    END LOOP;
  END LOOP;
  PERFORM set_config('memorist.upkeep', 'off', true);
  RETURN QUERY SELECT DISTINCT o COLLATE "C" AS org FROM unnest(found_orgs) AS o ORDER BY 1;
END $$;

-- Deletes up to p_limit expired rows of each table; says how many of which.
CREATE FUNCTION memorist.purge_expired(p_now bigint, p_limit bigint)
RETURNS TABLE (table_name text, gone bigint) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key text;
BEGIN
  PERFORM set_config('memorist.upkeep', 'on', true);
  FOR table_name, key IN
    SELECT c.relname, (
      SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n)
      FROM unnest(i.indkey) WITH ORDINALITY AS k(att, n)
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.att
    )
    FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE c.relnamespace = 'memorist'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'expires_at')
    ORDER BY c.relname
  LOOP
    EXECUTE format(
      'DELETE FROM memorist.%1$I WHERE (%2$s) IN ('
      'SELECT %2$s FROM memorist.%1$I WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)', table_name, key
    ) USING p_now, p_limit;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone > 0 THEN
      RETURN NEXT;
    END IF;
  END LOOP;
  PERFORM set_config('memorist.upkeep', 'off', true);
END $$;

-- Puts the fence around one table; a later migration that creates a table calls it too.
CREATE FUNCTION memorist.fence(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  part regclass;
BEGIN
  -- Partitions are fenced without a policy: they are read through their table, and by themselves show nothing to anyone.
  FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = format('memorist.%I', name)::regclass LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', part);
  END LOOP;
  EXECUTE format('ALTER TABLE memorist.%I ENABLE ROW LEVEL SECURITY', name);
  EXECUTE format('ALTER TABLE memorist.%I FORCE ROW LEVEL SECURITY', name);
  EXECUTE format(
    'CREATE POLICY one_org ON memorist.%I USING (org = current_setting(''memorist.org'', true)) '
    'WITH CHECK (org = current_setting(''memorist.org'', true))', name);
  -- For the owner inside the functions below, which alone switch this on.
  EXECUTE format(
    'CREATE POLICY upkeep ON memorist.%I TO CURRENT_USER USING (current_setting(''memorist.upkeep'', true) = ''on'')',
    name);
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memorist_app') THEN
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON memorist.%I TO memorist_app', name);
  END IF;
END $$;

SELECT memorist.fence(relname) FROM pg_class
WHERE relnamespace = 'memorist'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations';

REVOKE ALL ON FUNCTION memorist.fence(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.claim_jobs(text, text, bigint, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.all_orgs() FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.purge_expired(bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.search_terms(text, text[], text[], bigint, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.count_terms(text, text[]) FROM PUBLIC;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memorist_app') THEN
    GRANT USAGE ON SCHEMA memorist TO memorist_app;
    GRANT SELECT ON memorist.migrations TO memorist_app;
    GRANT EXECUTE ON FUNCTION memorist.search_terms(text, text[], text[], bigint, bigint, bigint) TO memorist_app;
    GRANT EXECUTE ON FUNCTION memorist.count_terms(text, text[]) TO memorist_app;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memorist_worker') THEN
    GRANT EXECUTE ON FUNCTION memorist.claim_jobs(text, text, bigint, bigint, bigint) TO memorist_worker;
    GRANT EXECUTE ON FUNCTION memorist.all_orgs() TO memorist_worker;
    GRANT EXECUTE ON FUNCTION memorist.purge_expired(bigint, bigint) TO memorist_worker;
  END IF;
END $$;

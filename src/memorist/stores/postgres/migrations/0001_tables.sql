-- needs: 1
-- Memorist's tables: one per record, every key starting with org, so that they partition and distribute by it.
-- Times are microseconds since 1970; JSON is kept as the exact text that was written.
-- Text in keys is COLLATE "C": its order is the order of the code points, the same as in every other store.

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
);
CREATE INDEX threads_by_ns ON memorist.threads (org, ns, id);
CREATE INDEX threads_expiry ON memorist.threads (org, expires_at) WHERE expires_at IS NOT NULL;

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
CREATE INDEX facts_expiry ON memorist.facts (org, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.fact_versions (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text,
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
CREATE INDEX fact_versions_expiry ON memorist.fact_versions (org, expires_at) WHERE expires_at IS NOT NULL;

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
);
CREATE INDEX state_expiry ON memorist.state (org, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.learnings (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  content text NOT NULL,
  type text NOT NULL,
  confidence double precision NOT NULL,
  usage_count bigint NOT NULL,
  last_used bigint,
  sources text,
  actor text NOT NULL,
  trust text NOT NULL,
  status text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  version bigint NOT NULL,
  PRIMARY KEY (org, ns, id)
);
CREATE INDEX learnings_expiry ON memorist.learnings (org, expires_at) WHERE expires_at IS NOT NULL;

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
CREATE INDEX working_expiry ON memorist.working (org, expires_at) WHERE expires_at IS NOT NULL;

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
CREATE INDEX entities_expiry ON memorist.entities (org, expires_at) WHERE expires_at IS NOT NULL;

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
CREATE INDEX documents_expiry ON memorist.documents (org, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.chunks (
  org text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  part text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  text text NOT NULL,
  heading text,
  start bigint NOT NULL,
  stop bigint NOT NULL,
  tokens bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org, ns, document, part)
);

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
CREATE INDEX tasks_expiry ON memorist.tasks (org, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memorist.checkpoint_steps (
  org text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  step bigint NOT NULL,
  snapshot boolean NOT NULL,
  body text NOT NULL,
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

CREATE TABLE memorist.marks (
  org text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  detail text,
  updated_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org, name, item)
);

CREATE TABLE memorist.links (
  org text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org, source, kind, target)
);
CREATE INDEX links_by_target ON memorist.links (org, target, source, kind);

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
CREATE INDEX audit_expiry ON memorist.audit (org, expires_at) WHERE expires_at IS NOT NULL;

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
  PRIMARY KEY (org, ns, kind, parent, id)
);
CREATE INDEX entries_by_stamp ON memorist.entries (org, ns, stamp, kind, parent, id);
CREATE INDEX entries_expiry ON memorist.entries (org, expires_at) WHERE expires_at IS NOT NULL;

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
CREATE INDEX messages_expiry ON memorist.messages (org, expires_at) WHERE expires_at IS NOT NULL;

-- A thread's row changes with each append: room on its page keeps such updates off its indexes.
ALTER TABLE memorist.threads SET (fillfactor = 60);
ALTER TABLE memorist.state SET (fillfactor = 80);
ALTER TABLE memorist.marks SET (fillfactor = 80);

-- What people wrote is not to be found in the planner's statistics, where it would outlive its deletion.
DO $$
DECLARE
  spot record;
BEGIN
  FOR spot IN
    SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'memorist'::regnamespace AND c.relkind = 'r' AND c.relname <> 'migrations' AND a.attnum > 0
      AND a.atttypid IN ('text'::regtype, 'bytea'::regtype) AND a.attcollation <> 'pg_catalog."C"'::regcollation
  LOOP
    EXECUTE format('ALTER TABLE memorist.%I ALTER COLUMN %I SET STATISTICS 0', spot.relname, spot.attname);
  END LOOP;
END $$;

-- Checksums. The client gives the CRC of a row without the numbers that only the server knows (sequence, version,
-- first creation, expiry of the thread); the server seals them in, so that one round trip is enough to write evidence.

CREATE FUNCTION memorist.seal(crc bigint, a bigint, b bigint, c bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN crc # ((
    (coalesce(a, -1) & 2147483647) * 536870909 + ((coalesce(a, -1) >> 31) & 4294967295) * 134217689
  + (coalesce(b, -1) & 2147483647) * 268435399 + ((coalesce(b, -1) >> 31) & 4294967295) * 67108859
  + (coalesce(c, -1) & 2147483647) * 402653189 + ((coalesce(c, -1) >> 31) & 4294967295) * 100663319
) & 4294967295);

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

CREATE TRIGGER facts_keep_version AFTER UPDATE ON memorist.facts
FOR EACH ROW EXECUTE FUNCTION memorist.keep_fact_version();

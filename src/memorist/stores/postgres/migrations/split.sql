-- Not numbered: run by `memorist partition`, and removed with its schema when the last table is split; see partitioning.py.
-- One schema holds each new table until it takes the name of the old one, another the old table until it is dropped. The
-- partitions are in `memorist` from the start, under their later names.

CREATE TABLE IF NOT EXISTS memorist_split.progress (
  name text PRIMARY KEY,
  parts integer NOT NULL,
  -- made: the new table is there; copying: so is the trigger, and rows up to `last` are copied; switched: the old table
  -- is still to be dropped.
  step text NOT NULL,
  last text[]
);

-- The columns of a table that are copied, its key, and those that can be hashed (a tsvector and a vector of pgvector
-- cannot; the one is made of other columns, the other of `vector`).
CREATE OR REPLACE FUNCTION memorist_split.columns_of(p_table regclass, OUT every text[], OUT key text[], OUT hashed text[])
LANGUAGE sql STABLE AS $$
  SELECT
    array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attgenerated = ''),
    (
      SELECT array_agg(k.attname::text ORDER BY n.place) FROM pg_index x CROSS JOIN unnest(x.indkey) WITH ORDINALITY AS n(att, place)
      JOIN pg_attribute k ON k.attrelid = x.indrelid AND k.attnum = n.att WHERE x.indrelid = p_table AND x.indisprimary
    ),
    array_agg(a.attname::text ORDER BY a.attnum) FILTER (
      WHERE a.atttypid IN ('text'::regtype, 'bigint'::regtype, 'boolean'::regtype, 'bytea'::regtype, 'float8'::regtype)
    )
  FROM pg_attribute a WHERE a.attrelid = p_table AND a.attnum > 0 AND NOT a.attisdropped
$$;

-- Gives those who may use the old table the same rights on another, but for those whom row-level security holds if p_above.
CREATE OR REPLACE FUNCTION memorist_split.grant_again(p_old regclass, p_new regclass, p_above boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  command text;
BEGIN
  FOR command IN
    SELECT format('GRANT %s ON %s TO %s', a.privilege_type, p_new, coalesce(quote_ident(r.rolname), 'PUBLIC'))
      || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
    FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE c.oid = p_old AND a.grantee <> c.relowner AND (NOT p_above OR r.rolbypassrls)
  LOOP
    EXECUTE command;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION memorist_split.listed(p_columns text[], p_form text DEFAULT '%I') RETURNS text
LANGUAGE sql IMMUTABLE
RETURN (SELECT string_agg(replace(p_form, '%I', quote_ident(c)), ', ' ORDER BY n) FROM unnest(p_columns) WITH ORDINALITY AS u(c, n));

-- Makes the new table with its partitions and its key, and the function that the trigger will run. Nothing waits for it.
CREATE OR REPLACE FUNCTION memorist_split.make(p_name text, p_parts integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  old regclass := format('memorist.%I', p_name)::regclass;
  every text[];
  key text[];
  rest text[];
  command text;
  options text := (SELECT ' WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class WHERE oid = old);
BEGIN
  SELECT c.every, c.key INTO every, key FROM memorist_split.columns_of(old) AS c;
  SELECT array_agg(c ORDER BY n) INTO rest FROM unnest(every) WITH ORDINALITY AS u(c, n) WHERE c <> ALL (key);
  EXECUTE format(
    'CREATE TABLE memorist_split.%I (LIKE memorist.%1$I INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE) '
    'PARTITION BY HASH (org)', p_name);
  FOR part IN 0 .. p_parts - 1 LOOP
    command := format('memorist.%I', p_name || '_' || part);
    EXECUTE format(
      'CREATE TABLE %s PARTITION OF memorist_split.%I FOR VALUES WITH (MODULUS %s, REMAINDER %s)%s',
      command, p_name, p_parts, part, coalesce(options, ''));
    -- Only through the whole: by itself a part shows nothing to anyone.
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', command);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', command);
    -- But to a role that searches above the fence, see searched_part.
    PERFORM memorist_split.grant_again(old, command::regclass, true);
  END LOOP;
  FOR command IN
    SELECT format('ALTER TABLE memorist_split.%I ADD CONSTRAINT %I %s', p_name, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid = old AND contype = 'p'
    UNION ALL
    SELECT format('ALTER TABLE memorist_split.%I ALTER COLUMN %I SET STATISTICS 0', p_name, attname)
    FROM pg_attribute WHERE attrelid = old AND attnum > 0 AND attstattarget = 0 AND NOT attisdropped
  LOOP
    EXECUTE command;
  END LOOP;
  -- It runs as the owner, because those who write to the old table may not write to the new one by name.
  EXECUTE format(
    $function$
    CREATE FUNCTION memorist_split.%1$I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $mirror$
    BEGIN
      IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND (%4$s) IS DISTINCT FROM (%5$s) THEN
        DELETE FROM memorist_split.%2$I WHERE (%3$s) = (%4$s);
      END IF;
      IF TG_OP <> 'DELETE' THEN
        INSERT INTO memorist_split.%2$I (%6$s) VALUES (%7$s) ON CONFLICT (%3$s) DO %8$s;
      END IF;
      RETURN NULL;
    END $mirror$
    $function$,
    'mirror_' || p_name, p_name, memorist_split.listed(key), memorist_split.listed(key, 'OLD.%I'),
    memorist_split.listed(key, 'NEW.%I'), memorist_split.listed(every), memorist_split.listed(every, 'NEW.%I'),
    coalesce('UPDATE SET ' || memorist_split.listed(rest, '%I = excluded.%I'), 'NOTHING'));
  EXECUTE format('REVOKE ALL ON FUNCTION memorist_split.%I() FROM PUBLIC', 'mirror_' || p_name);
  INSERT INTO memorist_split.progress VALUES (p_name, p_parts, 'made', NULL);
END $$;

-- From its commit on, every change of the old table is made in the new one too. Its lock waits for writers who have begun,
-- so that no change from before is missed by the copy.
CREATE OR REPLACE FUNCTION memorist_split.watch(p_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format(
    'CREATE TRIGGER memorist_split AFTER INSERT OR UPDATE OR DELETE ON memorist.%I '
    'FOR EACH ROW EXECUTE FUNCTION memorist_split.%I()', p_name, 'mirror_' || p_name);
  UPDATE memorist_split.progress SET step = 'copying' WHERE name = p_name;
END $$;

-- Copies the next rows in the order of the key; 0 at the end. FOR KEY SHARE holds off a deletion of these rows until the
-- commit, since the trigger would look for them in vain. An update goes on meanwhile: its copy is there first, and stays,
-- or comes after this one and replaces it.
CREATE OR REPLACE FUNCTION memorist_split.copy(p_name text, p_limit bigint) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
  place text[];
  every text[];
  key text[];
  beyond text;
  taken bigint;
BEGIN
  PERFORM set_config('memorist.upkeep', 'on', true);
  SELECT last INTO STRICT place FROM memorist_split.progress WHERE name = p_name FOR UPDATE;
  SELECT c.every, c.key INTO every, key FROM memorist_split.columns_of(format('memorist.%I', p_name)::regclass) AS c;
  SELECT string_agg(format('$1[%s]::%s', n, format_type(a.atttypid, NULL)), ', ' ORDER BY n) INTO beyond
  FROM unnest(key) WITH ORDINALITY AS k(name, n)
  JOIN pg_attribute a ON a.attrelid = format('memorist.%I', p_name)::regclass AND a.attname = k.name;
  EXECUTE format(
    'WITH page AS MATERIALIZED (SELECT %2$s FROM memorist.%1$I WHERE %4$s ORDER BY %3$s LIMIT $2 FOR KEY SHARE), '
    'copied AS (INSERT INTO memorist_split.%1$I (%2$s) SELECT %2$s FROM page ON CONFLICT DO NOTHING) '
    'SELECT (SELECT count(*) FROM page), (SELECT ARRAY[%5$s] FROM page ORDER BY %6$s LIMIT 1)',
    p_name, memorist_split.listed(every), memorist_split.listed(key),
    CASE WHEN place IS NULL THEN 'true' ELSE format('(%s) > (%s)', memorist_split.listed(key), beyond) END,
    memorist_split.listed(key, '%I::text'), memorist_split.listed(key, '%I DESC')
  ) INTO taken, place USING place, p_limit;
  IF taken > 0 THEN
    UPDATE memorist_split.progress SET last = place WHERE name = p_name;
  END IF;
  RETURN taken;
END $$;

-- Compares the rows of both tables; MM012 says that they differ. One statement sees both as they were at one moment, so
-- writers do not disturb it.
CREATE OR REPLACE FUNCTION memorist_split.compare(p_name text) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  hashed text[] := (SELECT c.hashed FROM memorist_split.columns_of(format('memorist.%I', p_name)::regclass) AS c);
  equal boolean;
BEGIN
  PERFORM set_config('memorist.upkeep', 'on', true);
  EXECUTE format(
    'SELECT (SELECT (count(*), sum(hash_record_extended(ROW(%2$s), 0)::numeric)) FROM memorist.%1$I) '
    'IS NOT DISTINCT FROM (SELECT (count(*), sum(hash_record_extended(ROW(%2$s), 0)::numeric)) FROM memorist_split.%1$I)',
    p_name, memorist_split.listed(hashed)
  ) INTO equal;
  IF NOT equal THEN
    RAISE EXCEPTION 'the copy differs' USING ERRCODE = 'MM012';
  END IF;
END $$;

-- The new table takes the place of the old one. To drop the old one, which takes long, is left to `retire`. MM011: the old table has changed its columns or indexes meanwhile, and the split begins anew.
CREATE OR REPLACE FUNCTION memorist_split.switch(p_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  old regclass := format('memorist.%I', p_name)::regclass;
  made regclass := format('memorist_split.%I', p_name)::regclass;
  again text[];
  command text;
BEGIN
  EXECUTE format('LOCK TABLE memorist.%I IN ACCESS EXCLUSIVE MODE', p_name);
  IF (SELECT array_agg((attname, atttypid, attnotnull)::text ORDER BY attnum) FROM pg_attribute
      WHERE attrelid = old AND attnum > 0 AND NOT attisdropped)
    IS DISTINCT FROM
     (SELECT array_agg((attname, atttypid, attnotnull)::text ORDER BY attnum) FROM pg_attribute
      WHERE attrelid = made AND attnum > 0 AND NOT attisdropped)
    OR (SELECT array_agg(c.relname ORDER BY c.relname) FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
        WHERE x.indrelid = old AND x.indisvalid)
    IS DISTINCT FROM
       (SELECT array_agg(c.relname ORDER BY c.relname) FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
        WHERE x.indrelid = made AND x.indisvalid)
  THEN
    RAISE EXCEPTION 'the table has changed' USING ERRCODE = 'MM011';
  END IF;
  SELECT array_agg(pg_get_triggerdef(oid)) INTO again FROM pg_trigger
  WHERE tgrelid = old AND NOT tgisinternal AND tgname <> 'memorist_split';
  PERFORM memorist_split.grant_again(old, made, false);
  EXECUTE format('ALTER TABLE memorist.%I SET SCHEMA memorist_split_old', p_name);
  EXECUTE format('ALTER TABLE memorist_split.%I SET SCHEMA memorist', p_name);
  FOREACH command IN ARRAY coalesce(again, '{}') LOOP
    EXECUTE command;
  END LOOP;
  PERFORM memorist.fence(p_name);
  UPDATE memorist_split.progress SET step = 'switched' WHERE name = p_name;
END $$;

CREATE OR REPLACE FUNCTION memorist_split.retire(p_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('DROP TABLE memorist_split_old.%I', p_name);
  EXECUTE format('DROP FUNCTION memorist_split.%I()', 'mirror_' || p_name);
  DELETE FROM memorist_split.progress WHERE name = p_name;
END $$;

-- Removes the new table; the old one stays as it was.
CREATE OR REPLACE FUNCTION memorist_split.discard(p_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- If someone split or rebuilt the old table by other means, the trigger went with it.
  EXECUTE format('DROP TRIGGER IF EXISTS memorist_split ON memorist.%I', p_name);
  EXECUTE format('DROP FUNCTION IF EXISTS memorist_split.%I()', 'mirror_' || p_name);
  EXECUTE format('DROP TABLE IF EXISTS memorist_split.%I', p_name);
  DELETE FROM memorist_split.progress WHERE name = p_name;
END $$;

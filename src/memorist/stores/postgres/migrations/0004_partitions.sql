-- needs: 3
-- Splits every table by org into hash partitions, or does the same with an empty schema; called by the owner, once:
-- SELECT memorist.partition_by_org(16). Keys, indexes, triggers, the fence and the rows move along; it takes exclusive
-- locks and as much free disk as the data. Nothing in the store changes: every key starts with org.

CREATE FUNCTION memorist.partition_by_org(parts integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
  columns text;
  after text[];
  command text;
  options text;
BEGIN
  IF parts NOT BETWEEN 1 AND 1024 THEN
    RAISE EXCEPTION 'between 1 and 1,024 partitions, not %', parts;
  END IF;
  PERFORM set_config('memorist.upkeep', 'on', true);
  FOR name IN
    SELECT relname FROM pg_class
    WHERE relnamespace = 'memorist'::regnamespace AND relkind = 'r' AND NOT relispartition AND relname <> 'migrations'
    ORDER BY relname
  LOOP
    -- What to do again on the new table: its key, its indexes, its triggers, and what the planner must not see.
    SELECT array_agg(c ORDER BY n, c) INTO after FROM (
      SELECT 1 AS n, format('ALTER TABLE memorist.%I ADD CONSTRAINT %I %s', name, conname, pg_get_constraintdef(oid)) AS c
      FROM pg_constraint WHERE conrelid = format('memorist.%I', name)::regclass AND contype = 'p'
      UNION ALL
      SELECT 2, pg_get_indexdef(indexrelid)
      FROM pg_index WHERE indrelid = format('memorist.%I', name)::regclass AND NOT indisprimary
      UNION ALL
      SELECT 3, pg_get_triggerdef(oid)
      FROM pg_trigger WHERE tgrelid = format('memorist.%I', name)::regclass AND NOT tgisinternal
      UNION ALL
      SELECT 4, format('ALTER TABLE memorist.%I ALTER COLUMN %I SET STATISTICS 0', name, attname)
      FROM pg_attribute WHERE attrelid = format('memorist.%I', name)::regclass AND attnum > 0 AND attstattarget = 0
    ) AS again;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
    WHERE attrelid = format('memorist.%I', name)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';

    SELECT ' WITH (' || array_to_string(reloptions, ', ') || ')' INTO options
    FROM pg_class WHERE oid = format('memorist.%I', name)::regclass AND reloptions IS NOT NULL;

    EXECUTE format('ALTER TABLE memorist.%I RENAME TO whole', name);
    EXECUTE format(
      'CREATE TABLE memorist.%I (LIKE memorist.whole INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE) '
      'PARTITION BY HASH (org)', name);
    FOR part IN 0 .. parts - 1 LOOP
      command := format('memorist.%I', name || '_' || part);
      EXECUTE format(
        'CREATE TABLE %s PARTITION OF memorist.%I FOR VALUES WITH (MODULUS %s, REMAINDER %s)%s',
        command, name, parts, part, coalesce(options, ''));
      -- Only through the whole: by itself a part shows nothing to anyone.
      EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', command);
      EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', command);
    END LOOP;
    EXECUTE format('INSERT INTO memorist.%I (%s) SELECT %2$s FROM memorist.whole', name, columns);
    EXECUTE 'DROP TABLE memorist.whole';
    FOREACH command IN ARRAY after LOOP
      EXECUTE command;
    END LOOP;
    PERFORM memorist.fence(name);
  END LOOP;
  PERFORM set_config('memorist.upkeep', 'off', true);
END $$;

REVOKE ALL ON FUNCTION memorist.partition_by_org(integer) FROM PUBLIC;

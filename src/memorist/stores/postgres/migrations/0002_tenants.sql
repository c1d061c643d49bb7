-- needs: 2
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

-- Puts the fence around one table; run again for a table that was rebuilt, as when partitioning it.
CREATE FUNCTION memorist.fence(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
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
WHERE relnamespace = 'memorist'::regnamespace AND relkind = 'r' AND relname <> 'migrations';

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
      AND c.relname NOT IN ('migrations', 'marks')
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

REVOKE ALL ON FUNCTION memorist.fence(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.claim_jobs(text, text, bigint, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.all_orgs() FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.purge_expired(bigint, bigint) FROM PUBLIC;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memorist_app') THEN
    GRANT USAGE ON SCHEMA memorist TO memorist_app;
    GRANT SELECT ON memorist.migrations TO memorist_app;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memorist_worker') THEN
    GRANT EXECUTE ON FUNCTION memorist.claim_jobs(text, text, bigint, bigint, bigint) TO memorist_worker;
    GRANT EXECUTE ON FUNCTION memorist.all_orgs() TO memorist_worker;
    GRANT EXECUTE ON FUNCTION memorist.purge_expired(bigint, bigint) TO memorist_worker;
  END IF;
END $$;

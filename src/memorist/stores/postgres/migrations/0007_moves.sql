-- needs: 3
-- Moving an org to another database: while it is copied, and ever after, nobody writes to it here.

-- The first thing that a transaction does which writes to an org. The lock is shared by all writers; whoever freezes the
-- org takes it alone, and so waits for those who have begun. The look is a statement of its own, and sees what was
-- committed while it waited. MM006 says that the org is being moved, or where it is (detail).
CREATE FUNCTION memorist.enter_write(p_org text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  place text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(726563681, hashtext(p_org));
  SELECT m.detail INTO place FROM memorist.marks m WHERE m.org = p_org AND m.name = 'move' AND m.item = 'org';
  IF FOUND THEN
    RAISE EXCEPTION 'moved' USING ERRCODE = 'MM006', DETAIL = coalesce(place, '');
  END IF;
END $$;

DO $$
BEGIN
  REVOKE ALL ON FUNCTION memorist.enter_write(text) FROM PUBLIC;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memorist_app') THEN
    GRANT EXECUTE ON FUNCTION memorist.enter_write(text) TO memorist_app;
  END IF;
END $$;

-- As before, but for orgs that are being moved: their jobs are copied as they are.
CREATE OR REPLACE FUNCTION memorist.claim_jobs(p_queue text, p_owner text, p_now bigint, p_lease bigint, p_limit bigint)
RETURNS SETOF text LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM set_config('memorist.upkeep', 'on', true);
  RETURN QUERY
  WITH ready AS (
    SELECT j.org, j.ns, j.item, j.run_at FROM memorist.jobs j
    WHERE j.queue = p_queue AND j.status = 'ready' AND j.run_at <= p_now
      AND NOT EXISTS (SELECT FROM memorist.marks m WHERE m.org = j.org AND m.name = 'move' AND m.item = 'org')
    ORDER BY j.run_at, j.org, j.ns, j.item LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), left_behind AS (
    SELECT j.org, j.ns, j.item, j.run_at FROM memorist.jobs j
    WHERE j.queue = p_queue AND j.status = 'running' AND j.leased_until <= p_now
      AND NOT EXISTS (SELECT FROM memorist.marks m WHERE m.org = j.org AND m.name = 'move' AND m.item = 'org')
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

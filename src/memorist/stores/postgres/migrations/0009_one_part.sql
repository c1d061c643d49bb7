-- needs: 3
-- Text search in the one partition that an org is in. The search must not name the columns of the namespace plainly, see
-- 0003, and so no partition would be left out.

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

-- Where these were given to another role that the migrating user is not, they stay as they were: right, and slow when split.
DO $outer$
BEGIN
EXECUTE $function$
CREATE OR REPLACE FUNCTION memorist.search_terms(
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
$function$;
EXECUTE $function$
CREATE OR REPLACE FUNCTION memorist.count_terms(p_ns text, p_terms text[]) RETURNS TABLE (term text, entries bigint)
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
$function$;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'memorist.search_terms belongs to another role; run this migration as a superuser to search partitions';
END $outer$;

-- needs: 3
-- Text search over entries: our own analysed terms, taken exactly as they are, each under the code of its namespace, so
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

ALTER TABLE memorist.entries ADD COLUMN lexemes tsvector
  GENERATED ALWAYS AS (memorist.lexemes(org, ns, terms, context_terms)) STORED;

ALTER TABLE memorist.entries ALTER COLUMN lexemes SET STATISTICS 0;

CREATE INDEX entries_lexemes ON memorist.entries USING gin (lexemes) WITH (gin_pending_list_limit = 64);
-- Entries come in large batches, and without fresh statistics the plan would pass the index by.
ALTER TABLE memorist.entries SET (autovacuum_analyze_scale_factor = 0.02);

-- A term as a query of one word; quoted, so that nothing in it is ever syntax.
CREATE FUNCTION memorist.one_word(p_lexeme text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('''' || replace(replace(p_lexeme, '\', '\\'), '''', '''''') || '''')::tsquery;

-- Under row-level security the index is not used, because the match operator is not leakproof. So these two run as their
-- owner: where that role stands above the fence (superuser or BYPASSRLS) the index serves, else the namespace is read.
-- They see the org that the transaction named, and no argument can name another.

-- How the two name the namespace's columns: where the text index can be used, so that no other one can. The codes in it
-- are of one namespace already, and a planner without statistics would rather read that namespace whole.
CREATE FUNCTION memorist.searched(p_column text) RETURNS text LANGUAGE sql STABLE
RETURN CASE WHEN row_security_active('memorist.entries') THEN p_column ELSE p_column || ' || ''''' END;

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
      FROM memorist.entries e
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
  $query$, memorist.searched('e.org'), memorist.searched('e.ns'))
  USING any_word, the_org, p_ns, p_kinds, p_now, own, near, p_total, p_limit;
END $$;

CREATE FUNCTION memorist.count_terms(p_ns text, p_terms text[]) RETURNS TABLE (term text, entries bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  the_org text := current_setting('memorist.org', true);
  query text := format(
    'SELECT count(*) FROM memorist.entries e WHERE e.lexemes @@ $1 AND %s = $2 AND %s = $3',
    memorist.searched('e.org'), memorist.searched('e.ns'));
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

REVOKE ALL ON FUNCTION memorist.search_terms(text, text[], text[], bigint, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION memorist.count_terms(text, text[]) FROM PUBLIC;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'memorist_app') THEN
    GRANT EXECUTE ON FUNCTION memorist.search_terms(text, text[], text[], bigint, bigint, bigint) TO memorist_app;
    GRANT EXECUTE ON FUNCTION memorist.count_terms(text, text[]) TO memorist_app;
  END IF;
END $$;

-- Not numbered: run by whoever migrates as soon as pgvector can be had, and never needed twice; see vectors.py.
-- Entries keep a vector as a scale and one signed byte per dimension; a half keeps such a byte exactly, and the scale does
-- not change an angle. So `embedding` is a copy for the index, made by the server itself: by a trigger, because adding a
-- generated column would rewrite the table under a lock that readers wait for.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE OR REPLACE FUNCTION memorist.halves(codes bytea) RETURNS public.halfvec LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
  SELECT array_agg((((get_byte(codes, n) + 128) % 256) - 128)::real ORDER BY n)::real[]
  FROM generate_series(4, length(codes) - 1) AS n
)::public.halfvec;

CREATE OR REPLACE FUNCTION memorist.copy_vector() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.embedding := CASE WHEN length(NEW.vector) > 4 THEN memorist.halves(NEW.vector) END;
  RETURN NEW;
END $$;

ALTER TABLE memorist.entries ADD COLUMN embedding public.halfvec;
ALTER TABLE memorist.entries ALTER COLUMN embedding SET STATISTICS 0;

-- It names the column, so that it goes when that goes, as when the extension is dropped.
CREATE TRIGGER copy_vector BEFORE INSERT OR UPDATE OF vector, embedding ON memorist.entries
FOR EACH ROW EXECUTE FUNCTION memorist.copy_vector();

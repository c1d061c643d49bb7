-- Not numbered: run by whoever migrates as soon as pgvector can be had, and never needed twice.
-- Entries keep a vector as a scale and one signed byte per dimension; a half keeps such a byte exactly, and the scale does
-- not change an angle. So `embedding` is a copy for the index, made by the server itself.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE FUNCTION recollect.halves(codes bytea) RETURNS public.halfvec LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
  SELECT array_agg((((get_byte(codes, n) + 128) % 256) - 128)::real ORDER BY n)::real[]
  FROM generate_series(4, length(codes) - 1) AS n
)::public.halfvec;

ALTER TABLE recollect.entries ADD COLUMN embedding public.halfvec
  GENERATED ALWAYS AS (CASE WHEN length(vector) > 4 THEN recollect.halves(vector) END) STORED;

ALTER TABLE recollect.entries ALTER COLUMN embedding SET STATISTICS 0;

-- An index needs a fixed number of dimensions: one for each in common use. Others are searched exactly.
DO $$
DECLARE
  width integer;
BEGIN
  FOREACH width IN ARRAY ARRAY[256, 384, 512, 768, 1024, 1536] LOOP
    EXECUTE format(
      'CREATE INDEX entries_near_%1$s ON recollect.entries '
      'USING hnsw ((embedding::public.halfvec(%1$s)) public.halfvec_cosine_ops) WITH (m = 12, ef_construction = 48) '
      'WHERE public.vector_dims(embedding) = %1$s', width);
  END LOOP;
END $$;

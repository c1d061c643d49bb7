-- needs: 3
-- Records of integrations, and the pieces of those whose data is long.

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
CREATE INDEX records_expiry ON memorist.records (org, expires_at) WHERE expires_at IS NOT NULL;

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
CREATE INDEX record_pieces_expiry ON memorist.record_pieces (org, expires_at) WHERE expires_at IS NOT NULL;

-- Data is opaque and often packed already: trying to compress it costs time and saves little.
ALTER TABLE memorist.records ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE memorist.record_pieces ALTER COLUMN data SET STORAGE EXTERNAL;

-- What was put is not to be found in the planner's statistics, where it would outlive its deletion.
ALTER TABLE memorist.records ALTER COLUMN data SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0,
  ALTER COLUMN form SET STATISTICS 0, ALTER COLUMN upload SET STATISTICS 0;
ALTER TABLE memorist.record_pieces ALTER COLUMN data SET STATISTICS 0;

SELECT memorist.fence('records');
SELECT memorist.fence('record_pieces');

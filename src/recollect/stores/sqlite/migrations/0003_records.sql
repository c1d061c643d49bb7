-- needs: 2
-- Records of integrations, and the pieces of those whose data is long.

CREATE TABLE records (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  key TEXT NOT NULL,
  data BLOB,
  form TEXT NOT NULL,
  size INTEGER NOT NULL,
  upload TEXT,
  pieces INTEGER NOT NULL,
  metadata TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, key)
);
CREATE INDEX records_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE record_pieces (
  org TEXT NOT NULL,
  ns TEXT NOT NULL,
  key TEXT NOT NULL,
  upload TEXT NOT NULL,
  number INTEGER NOT NULL,
  data BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (org, ns, key, upload, number)
);
CREATE INDEX record_pieces_expiry ON record_pieces (expires_at) WHERE expires_at IS NOT NULL;

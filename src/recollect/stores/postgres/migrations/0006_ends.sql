-- needs: 3
-- online: each statement is run by itself, outside a transaction, and may be run again.
-- What `purge` looks for, in the order in which it ends: the index that began with org had to be read whole.

CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_ends ON recollect.audit (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS documents_ends ON recollect.documents (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS entities_ends ON recollect.entities (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS entries_ends ON recollect.entries (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS fact_versions_ends ON recollect.fact_versions (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS facts_ends ON recollect.facts (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS learnings_ends ON recollect.learnings (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_ends ON recollect.messages (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS record_pieces_ends ON recollect.record_pieces (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS records_ends ON recollect.records (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS state_ends ON recollect.state (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_ends ON recollect.tasks (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS threads_ends ON recollect.threads (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS working_ends ON recollect.working (expires_at) WHERE expires_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS recollect.audit_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.documents_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.entities_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.entries_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.fact_versions_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.facts_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.learnings_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.messages_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.record_pieces_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.records_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.state_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.tasks_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.threads_expiry;
DROP INDEX CONCURRENTLY IF EXISTS recollect.working_expiry;

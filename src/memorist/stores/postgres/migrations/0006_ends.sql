-- needs: 3
-- online: each statement is run by itself, outside a transaction, and may be run again.
-- What `purge` looks for, in the order in which it ends: the index that began with org had to be read whole.

CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_ends ON memorist.audit (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS documents_ends ON memorist.documents (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS entities_ends ON memorist.entities (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS entries_ends ON memorist.entries (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS fact_versions_ends ON memorist.fact_versions (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS facts_ends ON memorist.facts (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS learnings_ends ON memorist.learnings (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_ends ON memorist.messages (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS record_pieces_ends ON memorist.record_pieces (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS records_ends ON memorist.records (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS state_ends ON memorist.state (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_ends ON memorist.tasks (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS threads_ends ON memorist.threads (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS working_ends ON memorist.working (expires_at) WHERE expires_at IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS memorist.audit_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.documents_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.entities_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.entries_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.fact_versions_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.facts_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.learnings_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.messages_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.record_pieces_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.records_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.state_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.tasks_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.threads_expiry;
DROP INDEX CONCURRENTLY IF EXISTS memorist.working_expiry;

"""A migration as one transaction that one process at a time runs, and that makes no one wait for long."""

from __future__ import annotations

import time

from ...backoff import pause
from .connection import Session
from .wire import Failed

MIGRATING = 7_265_636_811
"""The advisory lock that a process holds during one migration."""
LOCK_MS = 900
"""The lock timeout of a statement that takes an exclusive lock: while it waits, others queue up behind it."""
PATIENCE_SECONDS = 3600.0


def guarded(condition: str, sql: str, record: str) -> str:
    """A script that runs `sql` once: it takes the advisory lock first, and does nothing if `condition` is false by
    then. `record` is PL/pgSQL that runs after it."""
    return f"""
BEGIN;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = 0;
SET LOCAL client_min_messages = warning;
SELECT pg_advisory_xact_lock({MIGRATING});
-- While we wait for a table lock, others queue behind us: so we wait less than a second, and try again later.
SET LOCAL lock_timeout = {LOCK_MS};
CREATE SCHEMA IF NOT EXISTS memorist;
CREATE TABLE IF NOT EXISTS memorist.migrations (
  version integer PRIMARY KEY, name text NOT NULL, needs integer NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
DO $memorist$
BEGIN
  IF {condition} THEN
    EXECUTE $memorist_body${sql}$memorist_body$;
    {record}
  END IF;
END $memorist$;
COMMIT;
"""


async def patiently(session: Session, sql: str) -> float:
    """Run a script; try again with back-off while a lock timeout says that others hold a table. Returns the seconds of
    the longest try: no one waited longer for a lock of the script."""
    tries, longest, until = 0, 0.0, time.monotonic() + PATIENCE_SECONDS
    while True:
        tries += 1
        began = time.monotonic()
        try:
            await session.script(sql, patience=PATIENCE_SECONDS)
            return max(longest, time.monotonic() - began)
        except Failed as failed:
            longest = max(longest, time.monotonic() - began)
            if failed.state != "55P03" or time.monotonic() > until:
                raise
        await session.runtime.sleep(pause(tries, first=0.1, longest=2.0))

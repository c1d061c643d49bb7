"""Runs scripts that change the schema. Each script is one transaction, which runs in only one process at a time and
blocks nobody for long."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...backoff import pause
from ...errors import StoreError
from .pipeline import Failed, Step
from .pools import run_script, separate_connection
from .session import Session

LOCK_TIMEOUT_MS = 900
"""The lock timeout of a statement that needs an exclusive lock. While it waits, other statements queue up behind it."""
RETRY_SECONDS = 3600.0
UPKEEP = Step(b"SELECT set_config('memorist.upkeep', 'on', true)", ())
"""The step with which the owner of the tables sees the rows of all orgs until the end of the transaction."""
_MIGRATION_LOCK_ID = 7_265_636_811
"""The advisory lock that a process holds during one script."""
_INDEX_LOCK_ID = 7_265_636_812
"""The advisory lock that a process holds while it fills a column and builds indexes."""
_BUSY_SQLSTATE = "MM010"
# Try the lock without waiting. CREATE INDEX CONCURRENTLY waits for every open transaction, including one that waits
# here, and the server would not detect that deadlock.
_HOLD_LOCK_SQL = f"""
BEGIN;
SET LOCAL idle_in_transaction_session_timeout = 0;
DO $memorist$ BEGIN
  IF NOT pg_try_advisory_xact_lock({_INDEX_LOCK_ID}) THEN
    RAISE EXCEPTION 'busy' USING ERRCODE = '{_BUSY_SQLSTATE}';
  END IF;
END $memorist$;
"""


def make_once_script(condition: str, sql: str, record: str = "") -> str:
    """Return a script that runs `sql` once. It acquires the advisory lock first, and does nothing if `condition` is
    false by then. `record` is PL/pgSQL that runs after it."""
    # Another migration may take long, so the wait for the advisory lock is unlimited. Later locks are on tables in use,
    # and other statements would queue up behind a long wait.
    return f"""
BEGIN;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = 0;
SET LOCAL client_min_messages = warning;
SELECT pg_advisory_xact_lock({_MIGRATION_LOCK_ID});
SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS};
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


async def run_patiently(session: Session, *sql: str) -> None:
    """Run scripts on one connection. As long as a lock timeout shows that a table is locked by others, all of them are
    repeated with back-off."""
    tries, until = 0, time.monotonic() + RETRY_SECONDS
    while True:
        tries += 1
        try:
            return await session.pools.script(*sql)
        except Failed as failed:
            # 55P03 is a lock timeout, and 40P01 a deadlock.
            if failed.state not in ("55P03", "40P01") or time.monotonic() > until:
                raise
        await session.runtime.sleep(pause(tries, first=0.1, longest=2.0))


@asynccontextmanager
async def only_builder(session: Session) -> AsyncIterator[bool]:
    """Ensure that only one process builds. The context yields False if another process is building. The lock belongs to
    a transaction on its own connection, so it is released when the process ends."""
    async with separate_connection(session.options, session.runtime) as connection:
        ours = True
        try:
            await run_script(connection, session.runtime, _HOLD_LOCK_SQL)
        except Failed as failed:
            if failed.state != _BUSY_SQLSTATE:
                raise StoreError(f"a migration could not begin ({failed.state})") from failed
            ours = False
        yield ours

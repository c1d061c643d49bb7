"""Reads from a hot standby if it has replayed everything that this process has seen on the primary.

Every read from the primary also requests its write-ahead log position. After a write, the position is unknown until the
next such read. A read that may come from the replica sends the known position, and the replica answers only if it has
replayed the log up to that position. Otherwise, and whenever the replica is unavailable, the primary answers. A handle
therefore reads its own writes and never goes back in time, without an extra round trip. Writes by other processes
become visible after the replica's lag.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from msgspec.structs import replace

from ...errors import StoreError, UsageError
from ...runtime import Runtime
from ...values import JsonObject
from ..base import may_read_replicas
from .options import Options
from .pipeline import Reply, Step
from .session import Session

REPLICA_PAUSE_SECONDS = 5.0
"""The time for which no reads are sent to a replica after it has failed."""
MAX_CONNECT_SECONDS = 2.0
_POSITION_STEP = Step(b"SELECT pg_current_wal_insert_lsn()::text", ())
_REPLAYED_SQL = (
    b"SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END "
    b">= $1::pg_lsn"
)
_IDENTITY_SQL = (
    b"SELECT system_identifier::text, current_database()::text, pg_is_in_recovery(), "
    b"coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8, 0) FROM pg_control_system()"
)


class ReplicatedSession(Session):
    """Runs a session on the primary, and lets a standby answer reads inside `replica_reads`."""

    def __init__(self, options: Options, standby: Options, runtime: Runtime) -> None:
        timeout = min(standby.connect_timeout, MAX_CONNECT_SECONDS)
        self._standby = Session(replace(standby, connect_timeout=timeout), runtime)
        super().__init__(options, runtime)
        self._guard = threading.Lock()
        self._writes = 0
        """The number of writes by this process that have ended so far, committed or not."""
        self._covered = -1
        """The number of writes that had ended when `_position` was requested. A later write may be beyond that
        position."""
        self._position = 0
        self._checked = False
        self._away_until = 0.0
        self.counts = {"served": 0, "behind": 0, "failed": 0}
        """The numbers of reads that the standby answered, was too far behind to answer, or failed to answer."""

    def open(self) -> None:
        super().open()
        self._standby.open()

    def assume(self, app: str | None, worker: str | None) -> None:
        super().assume(app, worker)
        self._standby.assume(app, worker)

    async def close(self) -> None:
        await super().close()
        await self._standby.close()

    async def run(self, steps: Sequence[Step], *, repeatable: bool) -> list[Reply]:
        try:
            return await super().run(steps, repeatable=repeatable)
        finally:
            with self._guard:
                # Also after an error, because the write may have been committed.
                self._writes += 1

    async def read(self, org: str, *steps: Step) -> Reply:
        if may_read_replicas():
            reply = await self._from_standby(org, steps)
            if reply is not None:
                return reply
        # Count before the request: a write that ends while it runs may be beyond the position that comes back.
        writes = self._writes
        # The position comes last, so that it covers every commit that the other steps saw. `super()`, because our own
        # `run` counts a write.
        *_, reply, position = await super().run([self.reading(org), *steps, _POSITION_STEP], repeatable=True)
        high, _, low = position.rows[0][0].partition("/")
        with self._guard:
            # Replies of two reads may arrive in either order, so never go back to an older position.
            self._position = max(self._position, int(high, 16) << 32 | int(low, 16))
            self._covered = max(self._covered, writes)
        return reply

    async def _from_standby(self, org: str, steps: Sequence[Step]) -> Reply | None:
        """Return the reply to the last step, or None if the primary must answer."""
        with self._guard:
            position, current = self._position, self._covered == self._writes
        if not current or time.monotonic() < self._away_until:
            return None
        try:
            if not self._checked:
                await self._check()
            standby = self._standby
            replayed = Step(_REPLAYED_SQL, [b"%X/%X" % (position >> 32, position & 0xFFFFFFFF)])
            # The standby's position is read before the rows. It only moves forward, so the rows are at least as recent.
            _, reached, *replies = await standby.run([standby.reading(org), replayed, *steps], repeatable=True)
        except StoreError:
            # A standby also fails reads that conflict with what it replays. The primary has no such conflicts.
            self.counts["failed"] += 1
            self._away_until = time.monotonic() + REPLICA_PAUSE_SECONDS
            return None
        answered = bool(reached.rows[0][0])
        self.counts["served" if answered else "behind"] += 1
        return replies[-1] if answered else None

    async def _check(self) -> None:
        """Refuse a server that is not a standby of the primary, because log positions of two systems cannot be
        compared."""
        primary = (await super().run([Step(_IDENTITY_SQL, ())], repeatable=True))[0].rows[0]
        theirs = (await self._standby.query(_IDENTITY_SQL))[0]
        if primary[:2] != theirs[:2]:
            raise UsageError("read_url= is not a replica of this database; leave it out, or name a standby of it")
        self._checked = True

    async def add_to_report(self, report: JsonObject) -> JsonObject:
        """Return a report on the primary with the standby's state."""
        address = self._standby.options.address
        try:
            _, _, standby, lag = (await self._standby.query(_IDENTITY_SQL))[0]
        except StoreError as away:
            problem = f"the replica at {address} does not answer, the primary serves all reads: {away}"
            return {**report, "replica": {"server": address}, "problems": [*report["problems"], problem]}
        state = {"server": address, "standby": standby, "replayed_seconds_ago": round(lag, 1), **self.counts}
        return {**report, "replica": state}

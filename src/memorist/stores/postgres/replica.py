"""Reads from a hot standby, where that has replayed what this process has seen of the primary.

Every read of the primary also asks for its write-ahead log position; after a write the position is unknown until the
next such read. A read that may come from the replica sends the known position along, and the replica answers only if it
has replayed up to there; otherwise, and whenever the replica is away, the primary answers. So a handle reads its own
writes and never goes back in time, without an extra round trip; other processes' writes show up with the replica's lag.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...errors import StoreError, UsageError
from ...runtime import Runtime
from .connection import Session
from .options import Options
from .wire import Reply, Step

AWAY_SECONDS = 5.0
"""How long no reads are sent to a replica after it failed."""
CONNECT_SECONDS = 2.0
_REPLAYED = (
    b"SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END "
    b">= $1::pg_lsn"
)
_WHO = Step(
    b"SELECT system_identifier::text, current_database()::text, pg_is_in_recovery(), "
    b"coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8, 0) FROM pg_control_system()",
    (),
)


class Replica:
    """A hot standby, and how much of the primary's log this process has seen."""

    def __init__(self, primary: Session, options: Options, runtime: Runtime) -> None:
        timeout = min(options.connect_timeout, CONNECT_SECONDS)
        self._primary = primary
        self._session = Session(replace(options, connect_timeout=timeout), runtime)
        self._guard = threading.Lock()
        self._writes = 0
        self._covered = -1
        """How many writes had ended when `_position` was asked for; a later write may lie beyond that position."""
        self._position = 0
        self._known = False
        self._away_until = 0.0
        self.served = 0
        """How many reads the replica answered."""
        self.behind = 0
        """How many it could not, because it was behind what this process had seen."""
        self.failed = 0

    def assume(self, app: str | None, worker: str | None) -> None:
        """Use these database roles, see `Session.assume`."""
        self._session.pool.open()
        self._session.assume(app, worker)

    def close(self) -> None:
        """Close the connections to the replica."""
        self._session.pool.close()

    def writes(self) -> int:
        """How many writes of this process have ended so far."""
        return self._writes

    def wrote(self) -> None:
        """Count a write that ended, committed or not."""
        with self._guard:
            self._writes += 1

    def saw(self, writes: int, reply: Reply) -> None:
        """Note the write-ahead log position that a read of the primary returned; `writes` is the count at its start."""
        high, _, low = reply.rows()[0][0].partition("/")
        with self._guard:
            self._position = max(self._position, int(high, 16) << 32 | int(low, 16))
            self._covered = max(self._covered, writes)

    async def read(self, org: str, steps: Sequence[Step]) -> Reply | None:
        """The reply to the last step, or None where the primary must answer."""
        with self._guard:
            position, current = self._position, self._covered == self._writes
        if not current or time.monotonic() < self._away_until:
            return None
        try:
            if not self._known:
                await self._check()
            session = self._session
            check = Step(_REPLAYED, [b"%X/%X" % (position >> 32, position & 0xFFFFFFFF)])
            _, replayed, *replies = await session.run([session.reading(org), check, *steps], repeatable=True)
        except UsageError:
            raise
        except StoreError:
            self.failed += 1
            self._away_until = time.monotonic() + AWAY_SECONDS
            return None
        if not replayed.rows()[0][0]:
            self.behind += 1
            return None
        self.served += 1
        return replies[-1]

    async def _check(self) -> None:
        """Refuse a server that is not a standby of the primary, because log positions of two systems do not compare."""
        mine, theirs = [(await one.run([_WHO], repeatable=True))[0].rows()[0] for one in (self._primary, self._session)]
        if mine[:2] != theirs[:2]:
            raise UsageError("read_url= is not a replica of this database; leave it out, or name a standby of it")
        self._known = True

    async def diagnosed(self, found: dict[str, Any]) -> dict[str, Any]:
        """Add the replica's state to a report on the primary."""
        place = self._session.options.place
        try:
            _, _, standby, lag = (await self._session.run([_WHO], repeatable=True))[0].rows()[0]
        except StoreError as away:
            problem = f"the replica at {place} does not answer, the primary serves all reads: {away}"
            return {**found, "replica": {"server": place}, "problems": [*found["problems"], problem]}
        counts = {"served": self.served, "behind": self.behind, "failed": self.failed}
        return {
            **found,
            "replica": {"server": place, "standby": standby, "replayed_seconds_ago": round(lag, 1), **counts},
        }

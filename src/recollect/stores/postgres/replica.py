"""Reads from a hot standby, where that has replayed what this process has seen of the primary.

Every read of the primary also asks for its log position; a write makes that unknown until the next such read. A read
that may come from the replica brings the position along, and the replica answers only when it has replayed up to there.
Else, and whenever the replica is away, the primary answers. So a handle finds what it wrote and never goes back in time
at no further cost; what others wrote may be found as late as the replica is behind.
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
"""For so long a replica that failed is left alone."""
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
    """A read-only copy beside a primary."""

    def __init__(self, primary: Session, options: Options, runtime: Runtime) -> None:
        timeout = min(options.connect_timeout, CONNECT_SECONDS)
        self._primary = primary
        self._session = Session(replace(options, connect_timeout=timeout), runtime)
        self._guard = threading.Lock()
        self._writes = 0
        self._covered = -1
        """How many writes had ended when the position was asked for: what was written since may lie beyond it."""
        self._position = 0
        self._known = False
        self._away_until = 0.0
        self.served = 0
        """How many reads the replica answered."""
        self.behind = 0
        """How many it could not, because it was behind what this process had seen."""
        self.failed = 0

    def assume(self, app: str | None, worker: str | None) -> None:
        """Act as these roles."""
        self._session.assume(app, worker)

    def close(self) -> None:
        """Close the connections to the replica."""
        self._session.pool.close()

    def writes(self) -> int:
        """How many writes have ended so far."""
        return self._writes

    def wrote(self) -> None:
        """A write ended, done or not."""
        with self._guard:
            self._writes += 1

    def saw(self, writes: int, reply: Reply) -> None:
        """A read of the primary that began after so many writes had ended found its log at this position."""
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
        """Refuse a server that is no copy of the primary: its log positions would mean nothing."""
        mine, theirs = [(await one.run([_WHO], repeatable=True))[0].rows()[0] for one in (self._primary, self._session)]
        if mine[:2] != theirs[:2]:
            raise UsageError("read_url= is not a replica of this database; leave it out, or name a standby of it")
        self._known = True

    async def diagnosed(self, found: dict[str, Any]) -> dict[str, Any]:
        """A report of the primary, with what there is to say of the replica."""
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

"""Blocking jobs.

Made by scripts/generate-blocking from engine/derive/outbox.py; change that, then run the script.
"""

from __future__ import annotations

from ..engine.derive.outbox import LEASE, Backlog
from ..engine.derive.outbox import Jobs as EngineJobs
from ..records import Job
from ..runtime import run_blocking


class Jobs:
    """The outbox as users see it: its backlog, waiting for messages, and retrying dead letters."""

    def __init__(self, engine: EngineJobs) -> None:
        self._engine = engine

    def backlog(self) -> list[Backlog]:
        """The state of each queue of this org, as far as this handle may see.

        Examples:
            >>> jobs = memory.jobs.drain()
            >>> [queue.waiting for queue in memory.jobs.backlog()]
            [0, 0]
        """
        return run_blocking(self._engine.backlog())

    def dead(self) -> list[Job]:
        """List the dead letters that this handle may see, with their reasons.

        Examples:
            >>> memory.jobs.dead()
            []
        """
        return run_blocking(self._engine.dead())

    def retry_dead(self, *, item: str | None = None) -> int:
        """Retry every dead letter, or those of one item (`thread:<id>`, `fact:<key>`); returns how many.

        Examples:
            >>> memory.jobs.retry_dead()
            0
        """
        return run_blocking(self._engine.retry_dead(item=item))

    def drain(self, *, seconds: float | None = None, lease: float = LEASE / 1000000.0) -> int:
        """Do waiting jobs, for at most `seconds`; returns how many jobs were claimed.

        A handle over all orgs works for all of them, as a worker does, any other for its own.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> memory.jobs.drain(seconds=5) > 0
            True
        """
        return run_blocking(self._engine.drain(seconds=seconds, lease=lease))

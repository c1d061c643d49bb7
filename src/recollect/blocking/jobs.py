"""Blocking jobs.

Made by scripts/generate-blocking from engine/outbox.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.outbox import LEASE, Backlog
from ..engine.outbox import Jobs as EngineJobs
from ..engine.receipts import MessageReceipt
from ..records import Job
from ..runtime import run_blocking


class Jobs:
    """What users see of the outbox: how it stands, waiting for a message, and reviving dead letters."""

    def __init__(self, engine: EngineJobs) -> None:
        self._engine = engine

    def backlog(self) -> list[Backlog]:
        """How each queue of this org stands, as far as this handle may see.

        Examples:
            >>> jobs = memory.jobs.drain()
            >>> [queue.waiting for queue in memory.jobs.backlog()]
            [0, 0]
        """
        return run_blocking(self._engine.backlog())

    def dead(self) -> list[Job]:
        """The dead letters that this handle may see, with their reasons.

        Examples:
            >>> memory.jobs.dead()
            []
        """
        return run_blocking(self._engine.dead())

    def retry_dead(self, *, item: str | None = None) -> int:
        """Give every dead letter another chance, or those of one item (`thread:<id>`, `fact:<key>`); how many.

        Examples:
            >>> memory.jobs.retry_dead()
            0
        """
        return run_blocking(self._engine.retry_dead(item=item))

    def drain(self, *, seconds: float | None = None, lease: float = LEASE / 1000000.0) -> int:
        """Do what is waiting, for so long at most; how many jobs were claimed.

        A handle over all orgs works for all of them, as a worker does, any other for its own.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> memory.jobs.drain(seconds=5) > 0
            True
        """
        return run_blocking(self._engine.drain(seconds=seconds, lease=lease))

    def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Work until the messages are indexed and derived from (or given up), and say how they stand then.

        Examples:
            >>> receipts = memory.threads.append("talk", "I moved to Porto.")
            >>> [(receipt.indexed, receipt.derived) for receipt in memory.jobs.wait(receipts)]
            [(True, 'done')]
        """
        return run_blocking(self._engine.wait(receipts, timeout=timeout))

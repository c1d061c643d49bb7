"""Blocking jobs.

Made by scripts/generate-blocking from engine/derive/outbox.py; change that, then run the script.
"""

from __future__ import annotations

from ..engine.derive.outbox import JOB_LEASE_MICROSECONDS, Backlog
from ..engine.derive.outbox import Jobs as EngineJobs
from ..records import Job
from ..runtime import run_blocking


class Jobs:
    """Shows the jobs that writes leave behind, including failed ones, and runs them."""

    def __init__(self, engine: EngineJobs) -> None:
        self._engine = engine

    def backlog(self) -> list[Backlog]:
        """Return the state of each of this org's queues, as far as this handle can see it.

        Returns:
            One entry per queue.

        Examples:
            >>> jobs = memory.jobs.drain()
            >>> [queue.waiting for queue in memory.jobs.backlog()]
            [0, 0]
        """
        return run_blocking(self._engine.backlog())

    def dead(self) -> list[Job]:
        """List the abandoned jobs that this handle can see, and why they were abandoned.

        Returns:
            The jobs, each with its error.

        Examples:
            >>> memory.jobs.dead()
            []
        """
        return run_blocking(self._engine.dead())

    def retry_dead(self, *, item: str | None = None) -> int:
        """Retry abandoned jobs, and return how many there were.

        Args:
            item: Retry only the jobs of this item, such as `thread:<id>`; all by default.

        Returns:
            How many jobs will be retried.

        Examples:
            >>> memory.jobs.retry_dead()
            0
        """
        return run_blocking(self._engine.retry_dead(item=item))

    def drain(self, *, seconds: float | None = None, lease: float = JOB_LEASE_MICROSECONDS / 1000000.0) -> int:
        """Run waiting jobs now, and return how many were claimed.

        A handle for all orgs runs the jobs of all of them, as a worker does; any other handle runs those of its own
        org.

        Args:
            seconds: The maximum number of seconds to work.
            lease: How many seconds a job is reserved for this call.

        Returns:
            How many jobs were claimed.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.jobs.drain(seconds=5) > 0
            True
        """
        return run_blocking(self._engine.drain(seconds=seconds, lease=lease))

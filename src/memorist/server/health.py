"""Implements the readiness probe, which writes a row, reads it back, and checks how far behind the worker is."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import anyio
import msgspec

from ..errors import MemoristError

if TYPE_CHECKING:
    from ..memory import AsyncMemory
    from .metrics import Metrics

PROBE_ORG = "memorist.probe"
MAX_LAG_SECONDS = 60.0
CHECKED_SECONDS = 5.0
"""The time for which a result is cached, because a probe writes a row and load balancers probe often."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """Reports whether the server can serve requests, and if not, why."""

    ready: bool
    problems: tuple[str, ...] = ()


class Health:
    """Answers /readyz by writing and reading a row."""

    def __init__(self, memory: AsyncMemory, metrics: Metrics) -> None:
        self._memory = memory
        self._metrics = metrics
        self._last: tuple[float, Readiness] | None = None
        self._probing = anyio.Lock()

    async def ready(self, *, draining: bool) -> Readiness:
        """Return whether a row can be written and read back and the worker is keeping up."""
        if draining:
            return Readiness(ready=False, problems=("the server is stopping",))
        # Only one probe runs at a time, because anyone may ask and each probe writes a row.
        async with self._probing:
            now = time.monotonic()
            if self._last is None or now - self._last[0] > CHECKED_SECONDS:
                problems = tuple(await self._problems())
                self._last = (now, Readiness(ready=not problems, problems=problems))
            return self._last[1]

    async def _problems(self) -> list[str]:
        records = self._memory.scope(org=PROBE_ORG).records
        token = secrets.token_hex(8)
        try:
            await records.put("global", ("probe",), token, ttl=60)
            row = await records.get("global", ("probe",))
            if row is None:
                return ["the store lost a row that it had acknowledged"]
            return await self._lag()
        except MemoristError as error:
            return [f"{type(error).__name__}: {error}"]

    async def _lag(self) -> list[str]:
        backlog = await self._memory.jobs.backlog()
        worst = max((queue.lag_seconds or 0.0 for queue in backlog), default=0.0)
        self._metrics.gauge("worker_lag_seconds", worst)
        self._metrics.gauge("dead_jobs", sum(queue.dead for queue in backlog))
        return [f"the worker is {worst:.0f} s behind"] if worst > MAX_LAG_SECONDS else []

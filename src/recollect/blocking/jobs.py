"""Blocking view of the outbox."""

from __future__ import annotations

from collections.abc import Iterable

from ..engine import outbox as engine
from ..engine.outbox import LEASE, Backlog
from ..engine.threads import MessageReceipt
from ..records import Job
from ..runtime import run_blocking


class Jobs:
    """How the outbox stands, waiting for a message, and reviving dead letters."""

    def __init__(self, engine: engine.Jobs) -> None:
        self._engine = engine

    def backlog(self) -> list[Backlog]:
        return run_blocking(self._engine.backlog())

    def dead(self) -> list[Job]:
        return run_blocking(self._engine.dead())

    def retry_dead(self) -> int:
        return run_blocking(self._engine.retry_dead())

    def drain(self, *, seconds: float | None = None, lease: float = LEASE / 1e6) -> int:
        return run_blocking(self._engine.drain(seconds=seconds, lease=lease))

    def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        return run_blocking(self._engine.wait(receipts, timeout=timeout))

"""Blocking forgetting and provenance."""

from __future__ import annotations

from typing import Any

from ..engine import forget as engine
from ..engine import provenance
from ..engine.forget import Erasure
from ..engine.provenance import Why
from ..records import Fact
from ..runtime import run_blocking


class Forgetting:
    """Forgets users, threads, messages, facts and sources."""

    def __init__(self, engine: engine.Forgetting) -> None:
        self._engine = engine

    def forget(
        self,
        *,
        user: str | None = None,
        thread: str | None = None,
        message: str | None = None,
        fact: str | tuple[str, str] | Fact | None = None,
        source: str | None = None,
        physical: bool = False,
    ) -> Erasure:
        return run_blocking(
            self._engine.forget(user=user, thread=thread, message=message, fact=fact, source=source, physical=physical)
        )

    def resume(self) -> list[Erasure]:
        return run_blocking(self._engine.resume())

    def forgotten(self, *sources: str) -> bool:
        return run_blocking(self._engine.forgotten(*sources))


class Provenance:
    """Answers why."""

    def __init__(self, engine: provenance.Provenance) -> None:
        self._engine = engine

    def why(self, item: Any) -> Why:
        return run_blocking(self._engine.why(item))

"""Blocking learnings."""

from __future__ import annotations

from collections.abc import Iterable

from ..engine import learnings as engine
from ..records import Learning
from ..runtime import run_blocking


class Learnings:
    """What was learned of the user this handle is for, or of the one named."""

    def __init__(self, engine: engine.Learnings) -> None:
        self._engine = engine

    def add(
        self,
        content: str,
        *,
        type: str = "preference",
        confidence: float = 0.5,
        source: str | None = None,
        corrects: str | None = None,
        user: str | None = None,
    ) -> Learning:
        return run_blocking(
            self._engine.add(content, type=type, confidence=confidence, source=source, corrects=corrects, user=user)
        )

    def get(self, id: str, *, user: str | None = None) -> Learning | None:
        return run_blocking(self._engine.get(id, user=user))

    def reinforce(self, id: str, *, user: str | None = None) -> Learning:
        return run_blocking(self._engine.reinforce(id, user=user))

    def weaken(self, id: str, *, user: str | None = None) -> Learning:
        return run_blocking(self._engine.weaken(id, user=user))

    def used(self, ids: Iterable[str], *, user: str | None = None) -> int:
        return run_blocking(self._engine.used(ids, user=user))

    def delete(self, id: str, *, user: str | None = None) -> bool:
        return run_blocking(self._engine.delete(id, user=user))

    # Last: the name hides the builtin for annotations below it.
    def list(
        self,
        *,
        min_confidence: float = 0.7,
        type: str | None = None,
        limit: int | None = 5,
        user: str | None = None,
    ) -> list[Learning]:
        return run_blocking(self._engine.list(min_confidence=min_confidence, type=type, limit=limit, user=user))

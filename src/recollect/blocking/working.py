"""Blocking working memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

from ..engine import working as engine
from ..engine.working import Action, W
from ..runtime import run_blocking


class WorkingMemory(Generic[W]):
    """Reads and writes the working document of a user."""

    def __init__(self, engine: engine.WorkingMemory[W]) -> None:
        self._engine = engine

    def template(self, template: type[Any]) -> WorkingMemory[Any]:
        return WorkingMemory(self._engine.template(template))

    def get(self, user: str | None = None, session: str | None = None) -> W | None:
        return run_blocking(self._engine.get(user, session))

    def set(self, doc: W | Mapping[str, Any], *, user: str | None = None, session: str | None = None) -> W:
        return run_blocking(self._engine.set(doc, user=user, session=session))

    def update(self, **fields: Any) -> W:
        return run_blocking(self._engine.update(**fields))

    def record_action(
        self, action: str, entity_id: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> W:
        return run_blocking(self._engine.record_action(action, entity_id, user=user, session=session))

    def undo_action(self, *, user: str | None = None, session: str | None = None) -> Action | None:
        return run_blocking(self._engine.undo_action(user=user, session=session))

    def add_turn(self, *messages: Mapping[str, Any], user: str | None = None, session: str | None = None) -> W:
        return run_blocking(self._engine.add_turn(*messages, user=user, session=session))

    def clear(self, *, user: str | None = None, session: str | None = None) -> bool:
        return run_blocking(self._engine.clear(user=user, session=session))

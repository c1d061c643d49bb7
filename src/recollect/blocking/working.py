"""Blocking working.

Made by scripts/generate-blocking from engine/working.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic

from ..engine.working import Action, V, W
from ..engine.working import WorkingMemory as EngineWorkingMemory
from ..runtime import run_blocking
from ..values import Json


class WorkingMemory(Generic[W]):
    """Reads and writes the working document of a user."""

    def __init__(self, engine: EngineWorkingMemory[W]) -> None:
        self._engine = engine

    def template(self, template: type[V]) -> WorkingMemory[V]:
        """The same memory, typed and checked by a subclass of Working."""
        return WorkingMemory(self._engine.template(template))

    def get(self, user: str | None = None, session: str | None = None) -> W | None:
        """The document, or None where there is none (any more)."""
        return run_blocking(self._engine.get(user, session))

    def get_many(self, sessions: Iterable[str | None], *, user: str | None = None) -> list[W | None]:
        """The documents of several sessions in their order (None: the one without a session); None where none is."""
        return run_blocking(self._engine.get_many(sessions, user=user))

    def set(self, doc: W | Mapping[str, Json], *, user: str | None = None, session: str | None = None) -> W:
        """Write the whole document."""
        return run_blocking(self._engine.set(doc, user=user, session=session))

    def update(self, **fields: Json) -> W:
        """Set some fields and leave the others; `session=` (and `user=`, as text) say whose document."""
        return run_blocking(self._engine.update(**fields))

    def record_action(
        self, action: str, entity_id: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> W:
        """Add to the recent actions; the oldest beyond the newest 20 go."""
        return run_blocking(self._engine.record_action(action, entity_id, user=user, session=session))

    def undo_action(self, *, user: str | None = None, session: str | None = None) -> Action | None:
        """Take the newest action back and return it; None where there is none."""
        return run_blocking(self._engine.undo_action(user=user, session=session))

    def add_turn(self, *messages: Mapping[str, Json], user: str | None = None, session: str | None = None) -> W:
        """Add messages to the last turns; the oldest beyond the newest 20 go, results of a call that goes with it."""
        return run_blocking(self._engine.add_turn(*messages, user=user, session=session))

    def clear(self, *, user: str | None = None, session: str | None = None) -> bool:
        """Remove the document; whether there was one."""
        return run_blocking(self._engine.clear(user=user, session=session))

"""Blocking working.

Made by scripts/generate-blocking from engine/working.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from ..engine.working import Action, V, W
from ..engine.working import WorkingMemory as EngineWorkingMemory
from ..runtime import run_blocking
from ..values import Json, JsonMapping


class WorkingMemory(Generic[W]):
    """Reads and writes a user's working memory: one document, which expires a day after the last write."""

    def __init__(self, engine: EngineWorkingMemory[W]) -> None:
        self._engine = engine

    def template(self, template: type[V]) -> WorkingMemory[V]:
        """Return the same working memory, typed and validated by a subclass of `Working`.

        Args:
            template: A subclass of `Working`.

        Returns:
            The typed working memory.

        Examples:
            >>> from memorist import Working
            >>> class Shop(Working):
            ...     cart: list[str] = []
            >>> memory.working.template(Shop).set(Shop(cart=["tea"]), user="ada").cart
            ['tea']
        """
        return WorkingMemory(self._engine.template(template))

    def get(self, user: str | None = None, session: str | None = None) -> W | None:
        """Return the document, or None if there is none or it has expired.

        Args:
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The document, or None.

        Examples:
            >>> memory.working.get("ada") is None
            True
        """
        return run_blocking(self._engine.get(user, session))

    def get_many(self, sessions: Iterable[str | None], *, user: str | None = None) -> list[W | None]:
        """Return the documents of several sessions, in order, and None for each one that does not exist.

        Args:
            sessions: The sessions; None means the document that belongs to no session.
            user: The user whose document it is. Defaults to the user of this handle.

        Returns:
            One document or None per session.

        Examples:
            >>> memory.working.get_many(["morning", "evening"], user="ada")
            [None, None]
        """
        return run_blocking(self._engine.get_many(sessions, user=user))

    def set(self, doc: W | JsonMapping, *, user: str | None = None, session: str | None = None) -> W:
        """Write the whole document.

        Args:
            doc: The document, or its fields.
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The stored document.

        Raises:
            InvalidValue: A field's type differs from the one in the template.

        Examples:
            >>> from memorist import Working
            >>> memory.working.set(Working(scratchpad="the invoice"), user="ada").scratchpad
            'the invoice'
        """
        return run_blocking(self._engine.set(doc, user=user, session=session))

    def update(self, **fields: Json) -> W:
        """Set some fields and keep the others. `session=` and `user=` choose the document.

        Args:
            **fields: The fields to set.

        Returns:
            The changed document.

        Raises:
            InvalidValue: A field's type differs from the one in the template.

        Examples:
            >>> memory.working.update(user="ada", scratchpad="the invoice").scratchpad
            'the invoice'
        """
        return run_blocking(self._engine.update(**fields))

    def record_action(
        self, action: str, entity_id: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> W:
        """Add an action to the recent actions. Only the newest 20 are kept.

        Args:
            action: What the user did.
            entity_id: The id of the entity that the action concerned.
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The changed document.

        Examples:
            >>> memory.working.record_action("opened", "invoice-7", user="ada").recent_actions[-1].action
            'opened'
        """
        return run_blocking(self._engine.record_action(action, entity_id, user=user, session=session))

    def undo_action(self, *, user: str | None = None, session: str | None = None) -> Action | None:
        """Remove the newest action and return it, or None if there is none.

        Args:
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The removed action, or None.

        Examples:
            >>> doc = memory.working.record_action("opened", "invoice-7", user="ada")
            >>> memory.working.undo_action(user="ada").action
            'opened'
        """
        return run_blocking(self._engine.undo_action(user=user, session=session))

    def add_turn(self, *messages: JsonMapping, user: str | None = None, session: str | None = None) -> W:
        """Add messages to the history. Only the newest 20 are kept, without tool results that have lost their call.

        Args:
            *messages: The messages of the turn.
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The changed document.

        Examples:
            >>> len(memory.working.add_turn({"role": "user", "content": "Hi"}, user="ada").history)
            1
        """
        return run_blocking(self._engine.add_turn(*messages, user=user, session=session))

    def clear(self, *, user: str | None = None, session: str | None = None) -> bool:
        """Delete the document, and return whether it existed.

        Args:
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            Whether the document existed.

        Examples:
            >>> memory.working.clear(user="ada")
            False
        """
        return run_blocking(self._engine.clear(user=user, session=session))

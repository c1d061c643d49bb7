"""Blocking learnings.

Made by scripts/generate-blocking from engine/learnings.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.learnings import Learnings as EngineLearnings
from ..engine.learnings import LearningType
from ..engine.options import MemoryScope
from ..ports import When
from ..records import Learning
from ..runtime import run_blocking
from ..values import JsonMapping


class Learnings:
    """Reads and writes the learnings of the handle's user, or of a user that you name."""

    def __init__(self, engine: EngineLearnings) -> None:
        self._engine = engine

    def add(
        self,
        content: str,
        *,
        type: LearningType = "preference",
        confidence: float = 0.5,
        source: str | None = None,
        corrects: str | None = None,
        subject: str | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        scope: MemoryScope = "standing",
        tags: Iterable[str] = (),
        metadata: JsonMapping | None = None,
        user: str | None = None,
    ) -> Learning:
        """Add a learning. If the same content about the same subject already exists (apart from case, width and
        spacing), it is reinforced instead.

        A deleted learning is not derived again from the same source, and one whose source was forgotten is not stored
        at all; both are returned with the status `rejected`.

        Args:
            content: The learning, in words.
            type: `preference`, `pattern` or `correction`.
            confidence: How certain it is, from 0 to 1.
            source: The id of the message it was taken from.
            corrects: The id of a learning that this one contradicts.
            subject: The person or thing it is about, if not the user.
            valid_from: When it became true.
            valid_until: When it stops being true; recall and contexts leave it out afterwards.
            scope: How long it matters: `standing`, or only for a `conversation` or a `task`.
            tags: Your own labels.
            metadata: Anything else, as JSON.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning, new or reinforced.

        Examples:
            >>> ada = memory.scope(user="ada")
            >>> ada.learnings.add("Prefers tea", type="preference").content
            'Prefers tea'
        """
        return run_blocking(
            self._engine.add(
                content,
                type=type,
                confidence=confidence,
                source=source,
                corrects=corrects,
                subject=subject,
                valid_from=valid_from,
                valid_until=valid_until,
                scope=scope,
                tags=tags,
                metadata=metadata,
                user=user,
            )
        )

    def get(self, id: str, *, user: str | None = None) -> Learning | None:
        """Return a learning by its id, or None if it does not exist.

        Args:
            id: The id of the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning, or None.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.get(learning.id, user="ada").content
            'Prefers tea'
        """
        return run_blocking(self._engine.get(id, user=user))

    def get_many(self, ids: Iterable[str], *, user: str | None = None) -> list[Learning | None]:
        """Return several learnings at once, in the order of the ids, and None for each one that does not exist.

        Args:
            ids: The ids of the learnings.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            One learning or None per id.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> [one and one.content for one in memory.learnings.get_many([learning.id, "nothing"], user="ada")]
            ['Prefers tea', None]
        """
        return run_blocking(self._engine.get_many(ids, user=user))

    def update(
        self,
        id: str,
        *,
        content: str | None = None,
        type: LearningType | None = None,
        confidence: float | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        tags: Iterable[str] | None = None,
        metadata: JsonMapping | None = None,
        reason: str | None = None,
        user: str | None = None,
    ) -> Learning:
        """Change some fields of a learning and return it. Its id stays the same.

        Args:
            id: The id of the learning.
            content: The learning, in words.
            type: `preference`, `pattern` or `correction`.
            confidence: How certain it is, from 0 to 1.
            valid_from: When it became true.
            valid_until: When it stops being true.
            tags: Your own labels, which replace the current ones.
            metadata: JSON values, which replace the current metadata.
            reason: The reason, stored with the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The changed learning.

        Raises:
            NotFound: There is no such learning.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.update(learning.id, content="Prefers green tea", user="ada").content
            'Prefers green tea'
        """
        return run_blocking(
            self._engine.update(
                id,
                content=content,
                type=type,
                confidence=confidence,
                valid_from=valid_from,
                valid_until=valid_until,
                tags=tags,
                metadata=metadata,
                reason=reason,
                user=user,
            )
        )

    def reinforce(self, id: str, *, user: str | None = None) -> Learning:
        """Raise the confidence of a learning that proved right, and return the learning.

        Args:
            id: The id of the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning with its new confidence.

        Raises:
            NotFound: There is no such learning.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", confidence=0.5, user="ada")
            >>> memory.learnings.reinforce(learning.id, user="ada").confidence
            0.6
        """
        return run_blocking(self._engine.reinforce(id, user=user))

    def weaken(self, id: str, *, user: str | None = None) -> Learning:
        """Lower the confidence of a learning that proved wrong, and return the learning.

        Args:
            id: The id of the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning with its new confidence.

        Raises:
            NotFound: There is no such learning.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", confidence=0.5, user="ada")
            >>> memory.learnings.weaken(learning.id, user="ada").confidence
            0.35
        """
        return run_blocking(self._engine.weaken(id, user=user))

    def used(self, ids: Iterable[str], *, user: str | None = None) -> int:
        """Count a use of each learning, as a context does, and return how many of them exist.

        Args:
            ids: The ids of the learnings.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            How many of the learnings exist.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.used([learning.id], user="ada")
            1
        """
        return run_blocking(self._engine.used(ids, user=user))

    def delete(self, id: str, *, history: bool = True, user: str | None = None) -> bool:
        """Delete a learning so that it is not derived again from the same sources, and return whether it existed.

        Args:
            id: The id of the learning.
            history: Whether to keep it in the history, for `memories.history`, `memories.undo` and `as_of`.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            Whether the learning existed.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.delete(learning.id, user="ada")
            True
        """
        return run_blocking(self._engine.delete(id, history=history, user=user))

    def list(
        self,
        *,
        min_confidence: float = 0.0,
        type: LearningType | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
        user: str | None = None,
    ) -> list[Learning]:
        """List learnings that have not ended by use (most used first), then by confidence, then by age.

        Args:
            min_confidence: Leave out learnings with a lower confidence.
            type: Return only learnings of type `preference`, `pattern` or `correction`.
            limit: The maximum number to return.
            after: The id of the last learning of the previous page. If it was deleted in the meantime, there is no next
                page.
            reverse: Whether to list in reverse order.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learnings.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> [one.content for one in memory.learnings.list(user="ada", min_confidence=0.3)]
            ['Prefers tea']
        """
        return run_blocking(
            self._engine.list(
                min_confidence=min_confidence, type=type, limit=limit, after=after, reverse=reverse, user=user
            )
        )

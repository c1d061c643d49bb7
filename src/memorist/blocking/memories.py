"""Blocking memories.

Made by scripts/generate-blocking from engine/memories.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine.memories import KINDS, MemoryKind, Remembered, T
from ..engine.memories import Memories as EngineMemories
from ..ports import When
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json, JsonMapping


class Memories:
    """Lists, searches, changes and deletes facts, events and learnings through one interface."""

    def __init__(self, engine: EngineMemories) -> None:
        self._engine = engine

    def get(self, id: str, *, ns: Ns | None = None) -> Remembered | None:
        """Return a memory by its id, or None if it does not exist.

        You can pass a bare key if only one memory has it: `city` for `fact:city`.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The memory, or None.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.memories.get("fact:city", ns="user:ada").value
            'Lisbon'
        """
        return run_blocking(self._engine.get(id, ns=ns))

    def get_many(self, ids: Iterable[str], *, ns: Ns | None = None) -> list[Remembered | None]:
        """Return several memories at once, in the order of the ids, and None for each one that does not exist.

        Args:
            ids: The ids, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            One memory or None per id.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [item and item.value for item in memory.memories.get_many(["fact:city", "fact:age"], ns="user:ada")]
            ['Lisbon', None]
        """
        return run_blocking(self._engine.get_many(ids, ns=ns))

    def search(
        self,
        query: str,
        *,
        kinds: Iterable[MemoryKind] = KINDS,
        top_k: int = 10,
        min_score: float | None = None,
        ns: Ns | None = None,
    ) -> list[Remembered]:
        """Return the memories most relevant to a query, best first, each with its score.

        Args:
            query: A question or a few words.
            kinds: Return only these kinds: `fact`, `event`, `learning`.
            top_k: How many to return.
            min_score: Leave out memories with a lower score. By default, nothing is returned for an unknown subject.
            ns: The namespace; by default the user's own.

        Returns:
            The memories with their scores.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [item.id for item in memory.memories.search("which city?", ns="user:ada")]
            ['fact:city']
        """
        return run_blocking(self._engine.search(query, kinds=kinds, top_k=top_k, min_score=min_score, ns=ns))

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        value: Json = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        tags: Iterable[str] | None = None,
        metadata: JsonMapping | None = None,
        confidence: float | None = None,
        reason: str | None = None,
        ns: Ns | None = None,
    ) -> Remembered:
        """Change some fields of a memory and return its new version; the old version stays in the history.

        `value` is for facts; to store null, use `facts.set`. For events, `valid_from` and `valid_until` are the
        beginning and end.

        Args:
            id: The id, such as `fact:city`.
            text: The memory as a sentence.
            value: The new value of a fact.
            valid_from: When it became true, or when the event begins.
            valid_until: When it stops being true, or when the event ends.
            tags: Your own labels, which replace the current ones.
            metadata: JSON values, which replace the current metadata.
            confidence: How certain it is, from 0 to 1.
            reason: The reason, for the history.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The memory with its new version.

        Raises:
            NotFound: There is no such memory.
            UsageError: The field does not apply to this kind of memory.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.memories.update("fact:city", value="Porto", ns="user:ada").version
            2
        """
        return run_blocking(
            self._engine.update(
                id,
                text=text,
                value=value,
                valid_from=valid_from,
                valid_until=valid_until,
                tags=tags,
                metadata=metadata,
                confidence=confidence,
                reason=reason,
                ns=ns,
            )
        )

    def delete(self, id: str, *, ns: Ns | None = None) -> bool:
        """Delete a memory, and return whether it existed. `forget` also deletes everything derived from it.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            Whether the memory existed.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.memories.delete("fact:city", ns="user:ada")
            True
        """
        return run_blocking(self._engine.delete(id, ns=ns))

    def history(self, id: str, *, ns: Ns | None = None) -> list[Remembered]:
        """Return every version of a memory, oldest first, including those of one that has ended or was deleted.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            All versions.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> [item.value for item in memory.memories.history("fact:city", ns="user:ada")]
            ['Lisbon', 'Porto']
        """
        return run_blocking(self._engine.history(id, ns=ns))

    def undo(self, id: str, *, ns: Ns | None = None) -> Remembered | None:
        """Undo the last change to a memory, and return the resulting memory, or None if it no longer exists.

        The undo is itself a new version, so it can be undone. If the last change added a fact, the fact is rejected and
        is not derived from the same message again. If the change was approved in the review queue, it waits there
        again.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The memory after the undo, or None if it no longer exists.

        Raises:
            NotFound: There is no such memory.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> memory.memories.undo("fact:city", ns="user:ada").value
            'Lisbon'
        """
        return run_blocking(self._engine.undo(id, ns=ns))

    def typed(
        self,
        schema: type[T] | Mapping[str, Json],
        *,
        subject: str | None = None,
        user: str | None = None,
        ns: Ns | None = None,
    ) -> T | None:
        """Return what is known about somebody as an instance of a schema, or None while a required field is unknown.

        Args:
            schema: A msgspec struct, dataclass, TypedDict or Pydantic model, or a JSON Schema, for which a dict is
                returned.
            subject: The person it is about. Defaults to the user.
            user: Whose memory it is.
            ns: The namespace; by default the user's own.

        Returns:
            An instance of the schema, or None.

        Raises:
            Forbidden: This handle may not read the namespace.
            UsageError: The kind of schema is not supported.

        Examples:
            >>> import dataclasses
            >>> @dataclasses.dataclass
            ... class Customer:
            ...     tier: str
            ...     seats: int = 0
            >>> fact = memory.facts.set("user:ada", "customer.tier", "gold")
            >>> memory.memories.typed(Customer, user="ada")
            Customer(tier='gold', seats=0)
        """
        return run_blocking(self._engine.typed(schema, subject=subject, user=user, ns=ns))

    def list(
        self,
        *,
        kinds: Iterable[MemoryKind] = KINDS,
        subject: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
        ns: Ns | None = None,
    ) -> list[Remembered]:
        """Return memories. Facts come first, ordered by key, then events, then learnings.

        Args:
            kinds: Return only these kinds.
            subject: Return only memories about this person or thing.
            tag: Return only memories with this tag.
            limit: The maximum number to return.
            after: The id of the last memory of the previous page.
            reverse: Whether to list in reverse order.
            ns: The namespace; by default the user's own.

        Returns:
            The memories.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [(item.id, item.text) for item in memory.memories.list(ns="user:ada")]
            [('fact:city', 'city: Lisbon')]
        """
        return run_blocking(
            self._engine.list(kinds=kinds, subject=subject, tag=tag, limit=limit, after=after, reverse=reverse, ns=ns)
        )

"""Blocking review.

Made by scripts/generate-blocking from engine/review.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.memories import Remembered
from ..engine.review import Review as EngineReview
from ..records import Candidate
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json


class Review:
    """Lists, approves, edits and rejects memories waiting for approval."""

    def __init__(self, engine: EngineReview) -> None:
        self._engine = engine

    def get(self, id: str, *, ns: Ns | None = None) -> Candidate | None:
        """Return a candidate by its id, or None if it does not exist.

        Args:
            id: The id of the candidate.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The candidate, or None.

        Raises:
            Forbidden: This handle may not read the namespace.
        """
        return run_blocking(self._engine.get(id, ns=ns))

    def get_many(self, ids: Iterable[str], *, ns: Ns | None = None) -> list[Candidate | None]:
        """Return several candidates at once, in the order of the ids, and None for each one that does not exist.

        Args:
            ids: The ids of the candidates.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            One candidate or None per id.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> memory.review.get_many(["nothing"], ns="user:ada")
            [None]
        """
        return run_blocking(self._engine.get_many(ids, ns=ns))

    def approve(self, id: str, *, ns: Ns | None = None) -> Remembered | None:
        """Carry out a candidate's proposal, and return the memory, or None if the proposal only ended or confirmed one.

        Args:
            id: The id of the candidate.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The memory, or None.

        Raises:
            NotFound: There is no such candidate.
            Conflict: The memory that it would change has changed in the meantime.
        """
        return run_blocking(self._engine.approve(id, ns=ns))

    def edit(
        self,
        id: str,
        *,
        text: str | None = None,
        value: Json = None,
        key: str | None = None,
        subject: str | None = None,
        ns: Ns | None = None,
    ) -> Candidate:
        """Change a candidate's proposal, and return the candidate, which stays in the queue.

        Args:
            id: The id of the candidate.
            text: The memory as a sentence.
            value: The new value of a fact.
            key: The new key of a fact.
            subject: The person or thing that it is about.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The changed candidate.

        Raises:
            NotFound: There is no such candidate.
        """
        return run_blocking(self._engine.edit(id, text=text, value=value, key=key, subject=subject, ns=ns))

    def reject(self, id: str, *, reason: str | None = None, ns: Ns | None = None) -> bool:
        """Delete a candidate so that it is not proposed again from the same message, and return whether it existed.

        Args:
            id: The id of the candidate.
            reason: The reason, for the audit trail.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            Whether the candidate existed.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> memory.review.reject("nothing", ns="user:ada")
            False
        """
        return run_blocking(self._engine.reject(id, reason=reason, ns=ns))

    def list(
        self, *, limit: int | None = None, after: str | None = None, reverse: bool = False, ns: Ns | None = None
    ) -> list[Candidate]:
        """Return the candidates waiting for approval, in the order of their ids.

        Args:
            limit: The maximum number to return.
            after: The id of the last candidate of the previous page.
            reverse: Whether to list in reverse order.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The candidates.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> memory.review.list(ns="user:ada")
            []
        """
        return run_blocking(self._engine.list(limit=limit, after=after, reverse=reverse, ns=ns))

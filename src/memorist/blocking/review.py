"""Blocking review.

Made by scripts/generate-blocking from engine/review.py; change that, then run the script.
"""

from __future__ import annotations

from ..engine.memories import Remembered
from ..engine.review import Review as EngineReview
from ..records import Candidate
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json


class Review:
    """Lists, approves, edits and rejects memories that are waiting for approval."""

    def __init__(self, engine: EngineReview) -> None:
        self._engine = engine

    def get(self, id: str, *, ns: Ns | None = None) -> Candidate | None:
        """Return a candidate by its id, or None if there is none."""
        return run_blocking(self._engine.get(id, ns=ns))

    def approve(self, id: str, *, ns: Ns | None = None) -> Remembered | None:
        """Carry out what a candidate proposes, and return the memory, or None if it only ended or confirmed one.

        Raises:
            NotFound: There is no such candidate.
            Conflict: The memory that it would change has changed since.
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
        """Change what a candidate proposes, and return it. The candidate keeps waiting.

        Raises:
            NotFound: There is no such candidate.
        """
        return run_blocking(self._engine.edit(id, text=text, value=value, key=key, subject=subject, ns=ns))

    def reject(self, id: str, *, reason: str | None = None, ns: Ns | None = None) -> bool:
        """Delete a candidate, so that it is not proposed again from the same message, and return whether there was one.

        Examples:
            >>> memory.review.reject("nothing", ns="user:ada")
            False
        """
        return run_blocking(self._engine.reject(id, reason=reason, ns=ns))

    def list(self, *, limit: int | None = None, after: str | None = None, ns: Ns | None = None) -> list[Candidate]:
        """Return the candidates that are waiting for approval, in the order of their ids.

        Pass the last id as `after` for the next page.

        Examples:
            >>> memory.review.list(ns="user:ada")
            []
        """
        return run_blocking(self._engine.list(limit=limit, after=after, ns=ns))

"""The review queue contains memories that need a person's approval before they are used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from ..errors import InvalidValue, NotFound
from ..filters import parse_filter
from ..records import Candidate, Link, Ref
from ..scope import Ns
from ..stores.base import Change, Delete, Expect, Put
from ..values import Json, as_list, check_name, check_text
from .audit import audit
from .core import Core
from .memories import Remembered
from .options import check_reason, page
from .versions import MAX_TEXT_CHARACTERS

if TYPE_CHECKING:
    from ..extract.writer.checks import Note

WAITING = parse_filter({"approved_as": None})
"""The candidates that have not been approved."""


class Review:
    """Lists, approves, edits and rejects memories waiting for approval."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, id: str, *, ns: Ns | None = None) -> Candidate | None:
        """Return a candidate by its id, or None if it does not exist.

        Args:
            id: The id of the candidate.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The candidate, or None.

        Raises:
            Forbidden: This handle may not read the namespace.
        """
        space = self._core.scope.readable_or_own(ns)
        return _unless_approved(await self._core.get(Candidate, space, check_name(id, "candidate id")))

    async def get_many(self, ids: Iterable[str], *, ns: Ns | None = None) -> list[Candidate | None]:
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
        space = self._core.scope.readable_or_own(ns)
        keys = [(space, check_name(id, "candidate id")) for id in as_list(ids, "ids")]
        return [_unless_approved(candidate) for candidate in await self._core.get_many(Candidate, keys)]

    async def approve(self, id: str, *, ns: Ns | None = None) -> Remembered | None:
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
        from .derive.noting import Source, carry_out

        candidate = await self._existing(id, ns)
        note = _note_of(candidate)
        source = Source(
            candidate.sources[-1] if candidate.sources else "", candidate.created_at, candidate.trust, is_approved=True
        )
        changes, outcome = await carry_out(self._core, candidate.ns, [(note, source)])
        if outcome.refused:
            raise InvalidValue(f"the candidate can no longer be approved: {outcome.refused[0].reason}")
        memory = next(iter((*outcome.stored, *outcome.ended)), None)
        outcome_changes: list[Change] = (
            [Delete(Candidate, candidate.row_key)] if memory is None else self._retention_changes(candidate, memory)
        )
        await self._core.apply(*self._decision_changes(candidate, "approve"), *outcome_changes, *changes)
        return memory

    async def edit(
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
        candidate = await self._existing(id, ns)
        fields = {
            "text": None if text is None else check_text(text, "text", limit=MAX_TEXT_CHARACTERS),
            "value": value,
            "key": None if key is None else check_name(key, "fact key"),
            "subject": None if subject is None else check_name(subject, "subject"),
        }
        changed = {name: field for name, field in fields.items() if field is not None}
        edited = msgspec.structs.replace(
            candidate, text=changed.get("text", candidate.text), proposal={**candidate.proposal, **changed},
            updated_at=self._core.at(),
        )  # fmt: skip
        _note_of(edited)
        results = await self._core.apply(
            Expect(Candidate, candidate.row_key, candidate.version),
            Put(edited),
            audit(self._core, "edit", "candidate", f"{candidate.ns}/{candidate.id}"),
        )
        return results.written(edited)

    async def reject(self, id: str, *, reason: str | None = None, ns: Ns | None = None) -> bool:
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
        from .derive.noting import rejections

        check_reason(reason)
        candidate = await self.get(id, ns=ns)
        if candidate is None:
            return False
        self._core.scope.writable(candidate.ns)
        deletion = Delete(Candidate, candidate.row_key)
        marks = map(Put, rejections(self._core, candidate))
        await self._core.apply(*self._decision_changes(candidate, "reject"), deletion, *marks)
        return True

    # -- parts

    def _decision_changes(self, candidate: Candidate, action: str) -> list[Change]:
        source = (candidate.sources or (None,))[-1]
        return [
            # Expected without a retry: if two people decide about a candidate at once, the second gets a conflict.
            Expect(Candidate, candidate.row_key, candidate.version),
            audit(self._core, action, "candidate", f"{candidate.ns}/{candidate.id}", source),
        ]

    def _retention_changes(self, candidate: Candidate, memory: Remembered) -> list[Change]:
        """Return changes that keep an approved candidate, so that undoing the approval puts it back into the queue."""
        at = self._core.at()
        kind, _, key = memory.id.partition(":")
        # By this link the candidate is forgotten with the memory that it became.
        link = Link.of(candidate.org, Ref(kind, candidate.ns, key), Ref("candidate", candidate.ns, candidate.id), at)
        return [Put(msgspec.structs.replace(candidate, approved_as=memory.id, updated_at=at)), Put(link)]

    async def _existing(self, id: str, ns: Ns | None) -> Candidate:
        candidate = await self.get(id, ns=ns)
        if candidate is None:
            space = self._core.scope.own() if ns is None else ns
            elsewhere = "; for a candidate in another namespace, pass ns=" if ns is None else ""
            raise NotFound(f"no such candidate in {space}{elsewhere}", candidate=id)
        self._core.scope.writable(candidate.ns)
        return candidate

    # Last, because the name hides the builtin for the annotations below it.
    async def list(
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
        space = self._core.scope.readable_or_own(ns)
        return await self._core.listed(Candidate, space, where=WAITING, **page(limit, after, reverse))


def _unless_approved(candidate: Candidate | None) -> Candidate | None:
    """Return a candidate, or None if it has been approved."""
    return candidate if candidate is not None and candidate.approved_as is None else None


def _note_of(candidate: Candidate) -> Note:
    """Return the note that a candidate proposes, or raise InvalidValue if an edit has made it unusable."""
    from ..extract.writer.checks import Note

    try:
        return msgspec.convert(candidate.proposal, Note)
    except msgspec.ValidationError as problem:
        raise InvalidValue("the edited candidate is not a memory") from problem

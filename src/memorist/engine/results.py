"""Looks up the results of a commit by the change or the record that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import msgspec

from ..records import Record
from ..stores.base import Append, Appended, Change, ChangeResult, Delete, DeleteRange, Increment, Put, Stored

R = TypeVar("R", bound=Record)


class Results:
    """Holds the results of a commit, by change or by written record.

    They are not looked up by position, because guards would shift the positions.
    """

    def __init__(self, changes: Sequence[Change], results: Sequence[ChangeResult], passed: Sequence[Change]) -> None:
        self._changes = changes
        self._results = results
        self._passed = passed
        """The changes as they were written: the caller's, masked if the gate masked them, and those that were added."""
        self._positions: dict[int, int] | None = None

    def _index_of(self, target: object) -> int:
        first = self._changes[0]
        if first is target or (type(first) is Put and first.record is target):
            return 0  # as in most commits, which need no index
        if self._positions is None:
            # By identity: many records contain dicts, so they cannot be hashed, and equal changes may occur twice in
            # one commit.
            self._positions = {id(change): position for position, change in enumerate(self._changes)}
            self._positions |= {
                id(change.record): position for position, change in enumerate(self._changes) if isinstance(change, Put)
            }
        return self._positions[id(target)]

    def _of(self, target: object) -> ChangeResult:
        return self._results[self._index_of(target)]

    def stored(self, record: Record) -> Stored:
        """Return the result of the Put of this record."""
        stored = self._of(record)
        assert isinstance(stored, Stored)
        return stored

    def written(self, record: R) -> R:
        """Return a record as it was written (masked if the gate masked it), including the version and time from its
        Put.
        """
        # Masking replaces a record at its position, so the record as written is looked up where the caller's was.
        change, stored = self._passed[self._index_of(record)], self.stored(record)
        passed = cast("Any", change).record
        written: R = msgspec.structs.replace(
            passed, version=stored.version, created_at=stored.created_at or passed.created_at
        )
        return written

    def stored_if_absent(self, record: Record) -> Stored | None:
        """Return the result of a Put of this record with `absent`, or None if the row already existed."""
        stored = self._of(record)
        return stored if isinstance(stored, Stored) else None

    def appended(self, change: Append) -> Appended:
        """Return the sequence numbers that an Append assigned."""
        appended = self._of(change)
        assert isinstance(appended, Appended)
        return appended

    def existed(self, change: Delete) -> bool:
        """Return whether the row of a Delete existed."""
        return bool(self._of(change))

    def total(self, change: Delete | DeleteRange | Increment) -> int:
        """Return how many rows a deletion removed, or the total after an Increment."""
        total = self._of(change)
        return int(total) if isinstance(total, int) else 0

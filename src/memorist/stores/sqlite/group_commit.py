"""Commits in groups. Writes that wait for the file at the same time share one transaction and therefore one fsync."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw

from ...errors import MemoristError, StoreError, StoreTimeout, UnknownOutcome
from ...runtime import Failed, Outcome
from ..base import Change, ChangeResult
from .changes import encode_changes, run_changes
from .connection import Connections
from .fast_write import FastWrite, within

Unit = tuple[Sequence[Change], int]
"""One caller's changes and their time."""


class GroupCommit:
    """Applies the units of several callers in order, each atomically (a savepoint inside the shared transaction)."""

    def __init__(
        self, connections: Connections, fast: FastWrite, apply_alone: Callable[..., list[ChangeResult]]
    ) -> None:
        self._connections = connections
        self._fast = fast
        self._apply_alone = apply_alone

    def apply(self, units: Sequence[Unit]) -> list[Outcome[list[ChangeResult]]]:
        """Apply the units, and return the outcome of each once all of them are durable.

        A refusal of ours (a failed guard, a missing thread) affects only one unit. If the driver fails, the
        whole transaction is rolled back and each unit is applied separately, so that each has its own outcome.
        """
        if len(units) > 1:
            try:
                return self._connections.write(lambda cursor: [self._apply_within(cursor, *unit) for unit in units])
            except (StoreTimeout, UnknownOutcome) as error:
                return [Failed(error)] * len(units)  # each would wait just as long for the same lock again
            except StoreError:
                pass  # rolled back; applying them one by one shows which unit fails
        return [self._outcome_alone(*unit) for unit in units]

    def _apply_within(self, cursor: apsw.Cursor, changes: Sequence[Change], now: int) -> Outcome[list[ChangeResult]]:
        # The fast path is one statement, which SQLite undoes by itself if it fails, so it needs no savepoint.
        # If the shared transaction is rolled back, the lengths cached here are too long. The guard of the next fast
        # write then fails, which corrects them.
        results = self._fast.apply(changes, within(cursor))
        if results is not None:
            return results
        # A refusal rolls back to this savepoint and leaves the earlier units in the transaction.
        cursor.execute("SAVEPOINT unit")
        try:
            results = run_changes(cursor, changes, encode_changes(changes), now)
        except MemoristError as refused:
            cursor.execute("ROLLBACK TO unit; RELEASE unit")
            return Failed(refused)
        cursor.execute("RELEASE unit")
        self._fast.learn(changes, results)
        return results

    def _outcome_alone(self, changes: Sequence[Change], now: int) -> Outcome[list[ChangeResult]]:
        try:
            return self._apply_alone(changes, now)
        except Exception as error:
            return Failed(error)

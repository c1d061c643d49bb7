"""What a batch of messages produced, and how that becomes part of the thread's watermark."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...records import Derivation, Key
from ...stores.base import Change, Expect, Put
from ..core import Core

MAX_UNREAD_MESSAGES = 200
"""How many of the newest messages in unknown languages to remember for receipts."""
MAX_REFUSED_NOTES = 50
"""The number of recent messages for which to keep the reasons for refusals, for use in receipts."""
MAX_ENDED_MESSAGES = 50
"""How many of the newest requests to forget to keep for receipts, each with a list of what it ended."""


class BatchResult(msgspec.Struct):
    """Holds everything that one attempt to read a batch of messages has produced.

    It is committed as a whole or dropped as a whole. Each attempt begins with a new one, so neither the next attempt
    nor another thread inherits anything from one that failed.
    """

    changes: list[Change] = msgspec.field(default_factory=list)
    written: int = 0
    """The number of facts and learnings in `changes`."""
    forgotten: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """The memories that requests to forget have ended, by message number."""
    ended: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """The memories that other statements, such as "I no longer live in Oslo", have ended, by message number."""
    refused: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """The reasons why items were refused, by message number."""
    unread: list[int] = msgspec.field(default_factory=list)
    """The messages in languages for which there are no rules."""
    by_rules: list[int] = msgspec.field(default_factory=list)
    """The messages that the rules have read instead of the model."""
    by_model: list[int] = msgspec.field(default_factory=list)

    def add(self, other: BatchResult) -> None:
        """Add a result that is committed together with this one. Where both change a row, this one counts."""
        self.changes += without_guarded_rows(other.changes, self.changes)
        self.written += other.written
        for own, more in ((self.forgotten, other.forgotten), (self.ended, other.ended), (self.refused, other.refused)):
            for seq, items in more.items():
                own[seq] = [*own.get(seq, ()), *items]
        self.unread += other.unread
        self.by_rules += other.by_rules
        self.by_model += other.by_model

    def noted_in(self, before: Derivation) -> Derivation:
        """Return a thread's watermark with this result's notes for receipts, at the position where it was."""
        # What the model reads in the end was neither left to the rules nor unreadable, whoever tried before it.
        by_rules = ({*before.by_rules} - {*self.by_model}) | {*self.by_rules}
        unread = ({*before.unread} | {*self.unread}) - {*self.by_model}
        # The id of a request to forget is the last one, because `facts.unforget` needs it.
        ended = {
            seq: [*self.ended.get(seq, ()), *self.forgotten.get(seq, ())] for seq in self.ended | self.forgotten
        }  # fmt: skip
        return msgspec.structs.replace(
            before,
            unread=tuple(sorted(unread)[-MAX_UNREAD_MESSAGES:]),
            by_rules=tuple(sorted(by_rules)[-MAX_UNREAD_MESSAGES:]),
            ended=dict(list({**before.ended, **ended}.items())[-MAX_ENDED_MESSAGES:]),
            refused=dict(list({**before.refused, **self.refused}.items())[-MAX_REFUSED_NOTES:]),
        )


async def derivation_of(core: Core, thread: str) -> Derivation:
    """Return a thread's watermark, or a new one with version 0 if nothing was derived from the thread yet."""
    stored = await core.get(Derivation, thread)
    return stored or Derivation(org=core.org, thread=thread, updated_at=core.at())


def without_guarded_rows(changes: Sequence[Change], earlier: Sequence[Change]) -> list[Change]:
    """Return the changes, except those to rows that `earlier` changes of the same commit already guard.

    Both expect the version that was read, and the earlier write raises it, so the second Expect would always fail.
    """
    taken = _expected(changes) & _expected(earlier)
    remaining: list[Change] = []
    for change in changes:
        row = (change.kind, change.key) if isinstance(change, Expect) else None
        if isinstance(change, Put):
            row = (type(change.record), change.record.row_key)
        if row not in taken:
            remaining.append(change)
    return remaining


def _expected(changes: Sequence[Change]) -> set[tuple[type, Key]]:
    return {(change.kind, change.key) for change in changes if isinstance(change, Expect)}

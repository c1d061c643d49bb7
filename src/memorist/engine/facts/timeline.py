"""Inserts versions into a fact's history at the time they were stated, regardless of when they arrived.

Imported history and values derived late from old messages are ordered by time. The newest is the current value, and
`history` and `as_of` work as if everything had arrived in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ...kinds import entry_key
from ...records import Entry, Fact, FactVersion, Ref
from ...stores.base import Change, Delete, Expect, Load
from ..core import Core
from ..versions import version_as

_replace = msgspec.structs.replace


async def splice_versions(
    core: Core, current: Fact | None, new: Sequence[Fact], ns: str, key: str, *, before: bool = False
) -> list[Change]:
    """Return the changes that insert versions of a fact into its history, each at its `updated_at`.

    With `before`, all versions are placed before the last known version, even if it has the same time. Versions already
    known from the same source are left out. A version whose status is not `active` ends the fact at that time. Later
    versions are renumbered. The commit fails if the fact has changed since `current` was read.
    """
    past: list[Fact] = list(await core.scan(FactVersion, ns, key))
    rows = [*past, *([current] if current is not None else [])]
    first = rows[0].version if rows else 1
    for version in new:
        if not any(_is_same(version, row) for row in rows):
            rows.insert(min(_insertion_index(rows, version.updated_at), len(rows) - before), version)
    if len(rows) == len(past) + (current is not None):
        return []
    row_key = (core.org, ns, key)
    # All numbers below follow from the current version, so nobody may write another meanwhile.
    changes: list[Change] = [Expect(Fact, row_key, current.version if current is not None else 0)]
    # Versions are numbered by time, so those after an inserted one move up.
    for number, row in enumerate(rows[:-1], first):
        if row.version != number or row is current or type(row) is not FactVersion:
            changes.append(Load(version_as(FactVersion, row, version=number)))
    last, number = rows[-1], first + len(rows) - 1
    if last.status == "active" and not (current is None and last in past):
        return [*changes, Load(version_as(Fact, last, version=number))]
    gone: list[Change] = [Delete(Fact, row_key), Delete(Entry, entry_key(core.org, Ref("fact", ns, key)))]
    return [*changes, Load(version_as(FactVersion, last, version=number)), *(gone if current is not None else [])]


def ended(fact: Fact, at: datetime, status: str = "deleted") -> Fact:
    """Return the version that ends a fact at a given time."""
    return _replace(fact, value=None, status=status, updated_at=at)


def _is_same(fact: Fact, other: Fact) -> bool:
    shared = set(fact.sources) & set(other.sources)
    return (
        bool(shared)
        and fact.updated_at == other.updated_at
        and (fact.status, fact.value) == (other.status, other.value)
    )


def _insertion_index(rows: Sequence[Fact], at: datetime) -> int:
    """Return the index at which to insert a version: after the last version that is not later than it."""
    position = len(rows)
    while position and rows[position - 1].updated_at > at:
        position -= 1
    return position

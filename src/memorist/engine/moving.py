"""Moves an org to another store while it is in use: copy, freeze, copy what changed, compare, switch.

Rows are copied unchanged, with their versions, times and numbers. Most are copied while the org is still written to;
then the org is frozen, which waits for running writers, and the rows that changed meanwhile are copied. Reads continue
all the time. At the end the old store refuses writes and names the new one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, runtime_checkable

import msgspec

from ..errors import StoreError, Unsupported
from ..records import Mark, Record
from ..stores.base import Change, Delete, Load, Scan, Store
from ..stores.codec import kinds

PAGE = 500
PASSES = 5
"""How often a frozen org is compared before the move fails: if it still changes, an older version writes to it."""


class Moved(msgspec.Struct, frozen=True):
    """The report of a move."""

    org: str
    to: str
    rows: int
    """Rows that the org has."""
    copied: int
    """Rows written at the new place, those that changed meanwhile included."""
    frozen: int
    """How many of them while writers had to wait."""
    deleted: int
    """Rows removed at the old place."""


@runtime_checkable
class Freezes(Protocol):
    """Can freeze an org: refuse all writes to it."""

    async def freeze(self, org: str, *, now: int, to: str | None = None) -> None: ...

    async def unfreeze(self, org: str, *, now: int) -> None: ...

    async def clear(self, org: str, kind: type[Record], *, now: int) -> int: ...


async def move_org(
    source: Store,
    target: Store,
    org: str,
    *,
    place: str,
    now: Callable[[], int],
    delete: bool = False,
    progress: Callable[[int], Any] | None = None,
) -> Moved:
    """Move all rows of an org; `place` names the new store in the errors of later writers."""
    if not isinstance(source, Freezes):
        raise Unsupported(f"an org of a {source.name} store cannot be frozen; move it with export and import")
    copied, _ = await _copy(source, target, org, progress)
    await source.freeze(org, now=now())
    late = rows = 0
    try:
        for _ in range(PASSES):
            changed, rows = await _copy(source, target, org, progress)
            late += changed
            if not changed:
                break
        else:
            raise StoreError(
                f"org {org} still changes though it is frozen; do programs of an older version write to it?"
            )
    except BaseException:
        await source.unfreeze(org, now=now())
        raise
    await source.freeze(org, now=now(), to=place)
    deleted = 0
    if delete:
        for kind in kinds():
            if kind is not Mark:
                deleted += await source.clear(org, kind, now=now())
    return Moved(org, place, rows, copied + late, late, deleted)


async def _copy(source: Store, target: Store, org: str, progress: Callable[[int], Any] | None) -> tuple[int, int]:
    """Make the target's rows equal to the source's; returns how many changes that took, and how many rows there are."""
    changed = rows = 0
    for kind in kinds():
        batch: list[Change] = []
        async for change in _differences(source, target, org, kind):
            rows += change is None or isinstance(change, Load)
            if change is not None:
                batch.append(change)
            if len(batch) >= PAGE:
                await target.apply(batch, now=0)
                changed, batch = changed + len(batch), []
            if progress is not None and change is not None:
                progress(1)
        if batch:
            await target.apply(batch, now=0)
            changed += len(batch)
    return changed, rows


async def _differences(source: Store, target: Store, org: str, kind: type[Record]) -> AsyncIterator[Change | None]:
    """In the order of keys: what to do at the target, None for a row that is the same on both sides."""
    here, there = _rows(source, org, kind), _rows(target, org, kind)
    mine, theirs = await anext(here, None), await anext(there, None)
    while mine is not None or theirs is not None:
        if theirs is None or (mine is not None and mine.row_key < theirs.row_key):
            assert mine is not None
            yield Load(mine)
            mine = await anext(here, None)
        elif mine is None or theirs.row_key < mine.row_key:
            yield Delete(kind, theirs.row_key)
            theirs = await anext(there, None)
        else:
            yield None if mine == theirs else Load(mine)
            mine, theirs = await anext(here, None), await anext(there, None)


async def _rows(store: Store, org: str, kind: type[Record]) -> AsyncIterator[Record]:
    after: tuple[Any, ...] | None = None
    while page := await store.scan(Scan(kind, (org,), after=after, limit=PAGE), now=0):
        for record in page:
            # The mark of the move itself is not copied.
            if not (isinstance(record, Mark) and record.name == "move"):
                yield record
        if len(page) < PAGE:
            return
        after = page[-1].row_key[1:]

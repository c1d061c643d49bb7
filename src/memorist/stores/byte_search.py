"""Searches an org's live rows for bytes through the store's own reads, to find rows that a file search cannot see."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import Record
from .base import Scan, Store
from .codec import codec, kinds

PAGE_ROWS = 500


async def rows_holding(store: Store, org: str, needles: Sequence[bytes]) -> list[str]:
    """Return the tables in which a row of the org, expired or not, contains any of the needles."""
    if not needles:
        return []
    return [kind.table.name for kind in kinds() if await _holds(store, kind, org, needles)]


async def _holds(store: Store, record_type: type[Record], org: str, needles: Sequence[bytes]) -> bool:
    after = None
    encode = codec(record_type).encode
    # At time 0 no row has expired, so the scan also returns rows that the collector has yet to remove.
    while page := await store.scan(Scan(record_type, (org,), after=after, limit=PAGE_ROWS), now=0):
        for record in page:
            cells = [cell.encode() if isinstance(cell, str) else cell for cell in encode(record)]
            if any(needle in cell for cell in cells if isinstance(cell, bytes) for needle in needles):
                return True
        after = page[-1].row_key[1:]
    return False

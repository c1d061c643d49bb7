"""Turns stored rows into records, and verifies their checksums.

The client computes the checksum over the columns that it sends. It omits the few that the server fills in (a
message's sequence number and expiry, a row's version and first creation). A message can therefore be written in one
round trip, although only the server knows its position in the thread. The checksum covers everything that a person or a
model wrote.

A row may have been written by a version of the program with different columns. Its checksum identifies the set of
columns it covers (see `codec.Sum`). If that is not our set, the reader asks the server for the table's columns, and
reads the row again with the unknown columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from zlib import crc32

from ...messages.message import Message
from ...records import Key, Record
from ..codec import CRC32, Row, Sum, codec, columns_summed, damaged, decoded, pack, row_of
from .pipeline import Step, cell
from .session import Session
from .statements import column_list, key_match, table

_COLUMN_ORDER_SQL = (
    b"SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = ('memorist.' || quote_ident($1))::regclass "
    b"AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'checksum' ORDER BY a.attnum"
)


@cache
def server_columns(record_type: type[Record]) -> tuple[str, ...]:
    """Return the columns that the server fills in, which a checksum does not cover."""
    names = ("seq", "expires_at") if record_type is Message else ("version", "created_at")
    return tuple(name for name in names if name in codec(record_type).position_of)


@cache
def summed(record_type: type[Record]) -> Callable[[Row], Row]:
    """Empty the cells of a row that the server fills in. The function is compiled because it runs for each row read."""
    hidden = server_columns(record_type)
    cells = ("None" if c.name in hidden else f"r[{i}]" for i, c in enumerate(codec(record_type).columns))
    # Only column positions from our own declarations get into this text.
    empty: Callable[[Row], Row] = eval(f"lambda r: ({', '.join(cells)},)")
    return empty


class Reader:
    """Creates records from the rows of one database."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._summed: dict[tuple[str, int], tuple[str, ...]] = {}
        """The columns covered by the checksums of other versions, by table and shape."""

    async def records(self, record_type: type[Record], rows: list[Row]) -> list[Any]:
        """Return records from fetched rows, whose last cell is the checksum.

        Raises CorruptRecord for an altered row.
        """
        if record_type.table.checksum:
            strip, base = summed(record_type), codec(record_type).sum_base
            for number, row in enumerate(rows):
                # Without page checksums, Postgres returns a row with a flipped bit as if it were sound.
                if base | crc32(pack(strip(row))) != row[-1]:
                    rows[number] = await self._of_another_version(record_type, row)
        return records_of(record_type, rows)

    async def _of_another_version(self, record_type: type[Record], row: Row) -> Row:
        """Return the row if it matches the checksum computed by a program with different columns. Otherwise raise
        CorruptRecord."""
        key, positions, checksum = codec(record_type).key(row), codec(record_type).position_of, Sum.of(row[-1])
        if checksum.algorithm != CRC32 or checksum.shape == codec(record_type).shape:
            raise damaged(record_type, key)
        names = await self._names(record_type, checksum.shape, key)
        cells = dict(zip(codec(record_type).names, row, strict=False))
        total = row[-1]
        if not positions.keys() >= set(names):
            again = await self._with_unknown(record_type, key, names)
            if again is None:  # deleted since it was read
                return row
            cells, total = again
            row = (*row_of(record_type, cells), total)
        hidden = server_columns(record_type)
        crc = crc32(pack([None if name in hidden else cells[name] for name in names]))
        if crc != total & 0xFFFFFFFF:
            raise damaged(record_type, key)
        return row

    async def _names(self, record_type: type[Record], shape: int, key: Key) -> tuple[str, ...]:
        columns = self._summed.get((record_type.table.name, shape))
        if columns is None:
            rows = (await self._session.read(str(key[0]), Step(_COLUMN_ORDER_SQL, [cell(record_type.table.name)]))).rows
            columns = columns_summed(shape, [name for (name,) in rows])
            if columns is None:
                raise damaged(record_type, key)
            self._summed[(record_type.table.name, shape)] = columns
        return columns

    async def _with_unknown(
        self, record_type: type[Record], key: Key, names: Sequence[str]
    ) -> tuple[dict[str, Any], int] | None:
        """Return the cells of a row by name, including unknown ones, and its checksum, or None if the row no longer
        exists."""
        columns = [*names, *(name for name in codec(record_type).names if name not in names), "checksum"]
        sql = f"SELECT {column_list(columns)} FROM {table(record_type)} WHERE {key_match(record_type)}".encode()
        rows = (await self._session.read(str(key[0]), Step(sql, [cell(value) for value in key]))).rows
        if not rows:
            return None
        # The checksum was computed over 0 or 1 for a bool; see `codec`.
        row = (int(cell) if isinstance(cell, bool) else cell for cell in rows[0])
        cells = dict(zip(columns, row, strict=True))
        return cells, cells.pop("checksum")


def records_of(record_type: type[Record], rows: list[Row]) -> list[Any]:
    """Return records from rows whose checksums, if any, have been verified."""
    decode = codec(record_type).decode
    try:
        return [decode(row) for row in rows]
    except Exception:
        # Decode the rows again one by one, to raise the error that names the table.
        return [decoded(record_type, row) for row in rows]

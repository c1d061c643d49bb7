"""Turns stored rows into records, and verifies their checksums.

A version of the program with other columns may have written a row. Its checksum names the set of columns it
covers (see `codec.Sum`). If that is not our set, the reader looks up the table's columns, and reads the row again with
the unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import apsw

from ...records import Key, Record
from ..codec import CRC32, UNDECODABLE, Row, Sum, codec, columns_summed, damaged, decoded, pack, row_of
from .connection import Connections


class Reader:
    """Creates records from the rows of one file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._decoders: dict[type[Record], Callable[[Row], object]] = {}
        self._summed: dict[tuple[str, int], tuple[str, ...]] = {}
        """By table and shape: the columns that checksums of other versions cover."""

    def decoder(self, kind: type[Record]) -> Callable[[Row], Any]:
        """Return the function that turns a stored row into a record, after checking its checksum."""
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = self._checking(kind) if kind.table.checksum else _plain(kind)
        return decoder

    def decode_all(self, kind: type[Record], rows: Sequence[Row]) -> list[Any]:
        """Return the records of a page."""
        decode = self.decoder(kind)
        return [decode(row) for row in rows]

    def _checking(self, kind: type[Record]) -> Callable[[Row], object]:
        decode, base = codec(kind).decode, codec(kind).sum_base

        def checked(row: Row) -> Any:
            bare = row[:-1]
            if base | crc32(pack(bare)) != row[-1]:
                bare = self._of_another_version(kind, bare, row[-1])
            try:
                return decode(bare)
            except UNDECODABLE:
                return decoded(kind, bare)  # raises the error that names the table

        return checked

    def _of_another_version(self, kind: type[Record], row: Row, stored: int) -> Row:
        """Return the row if it matches the checksum that a program with other columns computed. Otherwise raise
        CorruptRecord."""
        key, positions = codec(kind).key(row), codec(kind).position_of
        if not isinstance(stored, int):
            raise damaged(kind, key)
        checksum = Sum.of(stored)
        if checksum.algorithm != CRC32 or checksum.shape == codec(kind).shape:
            raise damaged(kind, key)
        names = self._names(kind, checksum.shape, key)
        if positions.keys() >= set(names):
            cells: Row = tuple(row[positions[name]] for name in names)
        else:
            cells, stored, row = self._with_unknown(kind, key, names) or ((), stored, row)
            if not cells:  # deleted since it was read
                return row
        if crc32(pack(cells)) != stored & 0xFFFFFFFF:
            raise damaged(kind, key)
        return row

    def _names(self, kind: type[Record], shape: int, key: Key) -> tuple[str, ...]:
        columns = self._summed.get((kind.table.name, shape))
        if columns is None:
            physical = self._connections.read(lambda cursor: physical_columns(cursor, kind.table.name))
            columns = columns_summed(shape, [name for name in physical if name != "crc"])
            if columns is None:
                raise damaged(kind, key)
            self._summed[(kind.table.name, shape)] = columns
        return columns

    def _with_unknown(self, kind: type[Record], key: Key, names: tuple[str, ...]) -> tuple[Row, int, Row] | None:
        """Return the cells that a checksum covers, the checksum, and the row with our columns, or None if the row
        is gone.
        """
        wanted = (*names, *(name for name in codec(kind).names if name not in names), "crc")
        match = " AND ".join(f"{name} = ?" for name in kind.table.key)
        sql = f"SELECT {', '.join(wanted)} FROM {kind.table.name} WHERE {match}"
        rows = self._connections.read_rows(sql, key)
        if not rows:
            return None
        row = rows[0]
        return row[: len(names)], row[-1], row_of(kind, dict(zip(wanted, row, strict=True)))


def physical_columns(cursor: apsw.Cursor, table: str) -> list[str]:
    """Return the current columns of a table, in the order in which they were added."""
    return [str(row[1]) for row in cursor.execute(f"PRAGMA table_info({table})")]


def _plain(kind: type[Record]) -> Callable[[Row], Any]:
    decode_cells = codec(kind).decode

    def decode(row: Row) -> Any:
        try:
            return decode_cells(row)
        except UNDECODABLE:
            return decoded(kind, row)

    return decode

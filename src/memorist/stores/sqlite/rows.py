"""Turns stored rows into records, and verifies their checksums.

A row may have been written by a version of the program with different columns. Its checksum identifies the set of
columns it covers (see `codec.Sum`). If that is not our set, the reader looks up the table's columns, and reads the row
again with the unknown columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from zlib import crc32

from ...records import Key, Record
from ..codec import CRC32, UNDECODABLE, Row, Sum, codec, columns_summed, damaged, decoded, pack, row_of
from .connection import Connections


class Reader:
    """Creates records from the rows of one file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._decoders: dict[type[Record], Callable[[Row], object]] = {}
        self._summed: dict[tuple[str, int], tuple[str, ...]] = {}
        """The columns covered by the checksums of other versions, by table and shape."""

    def decoder(self, record_type: type[Record]) -> Callable[[Row], Any]:
        """Return the function that verifies a stored row's checksum and turns the row into a record."""
        decoder = self._decoders.get(record_type)
        if decoder is None:
            decoder = self._checking(record_type) if record_type.table.checksum else partial(decoded, record_type)
            self._decoders[record_type] = decoder
        return decoder

    def decode_all(self, record_type: type[Record], rows: Sequence[Row]) -> list[Any]:
        """Return the records on a page."""
        decode = self.decoder(record_type)
        return [decode(row) for row in rows]

    def _checking(self, record_type: type[Record]) -> Callable[[Row], object]:
        decode, base = codec(record_type).decode, codec(record_type).sum_base

        def checked(row: Row) -> object:
            bare = row[:-1]
            # The checksum is compared before anything is decoded: flipped bits may still be valid JSON.
            if base | crc32(pack(bare)) != row[-1]:
                bare = self._of_another_version(record_type, bare, row[-1])
            try:
                return decode(bare)
            except UNDECODABLE:
                return decoded(record_type, bare)  # raises the error that names the table

        return checked

    def _of_another_version(self, record_type: type[Record], row: Row, stored: int) -> Row:
        """Return the row if it matches the checksum computed by a program with different columns. Otherwise raise
        CorruptRecord."""
        key, positions = codec(record_type).key(row), codec(record_type).position_of
        if not isinstance(stored, int):
            raise damaged(record_type, key)
        checksum = Sum.of(stored)
        # Our own set of columns has already been checked, so the same shape here means that the content is damaged.
        if checksum.algorithm != CRC32 or checksum.shape == codec(record_type).shape:
            raise damaged(record_type, key)
        names = self._names(record_type, checksum.shape, key)
        if positions.keys() >= set(names):
            cells: Row = tuple(row[positions[name]] for name in names)
        else:
            cells, stored, row = self._with_unknown(record_type, key, names) or ((), stored, row)
            if not cells:  # deleted since it was read
                return row
        if crc32(pack(cells)) != stored & 0xFFFFFFFF:
            raise damaged(record_type, key)
        return row

    def _names(self, record_type: type[Record], shape: int, key: Key) -> tuple[str, ...]:
        columns = self._summed.get((record_type.table.name, shape))
        if columns is None:
            # The columns of the table, in the order in which they were added.
            rows = self._connections.read_rows(f"PRAGMA table_info({record_type.table.name})", ())
            columns = columns_summed(shape, [str(row[1]) for row in rows if row[1] != "crc"])
            if columns is None:
                raise damaged(record_type, key)
            self._summed[(record_type.table.name, shape)] = columns
        return columns

    def _with_unknown(self, record_type: type[Record], key: Key, names: tuple[str, ...]) -> tuple[Row, int, Row] | None:
        """Return the cells that a checksum covers, the checksum, and the row with our columns, or None if the row no
        longer exists.
        """
        columns = (*names, *(name for name in codec(record_type).names if name not in names), "crc")
        match = " AND ".join(f"{name} = ?" for name in record_type.table.key)
        sql = f"SELECT {', '.join(columns)} FROM {record_type.table.name} WHERE {match}"
        rows = self._connections.read_rows(sql, key)
        if not rows:
            return None
        row = rows[0]
        return row[: len(names)], row[-1], row_of(record_type, dict(zip(columns, row, strict=True)))

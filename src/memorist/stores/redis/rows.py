"""Converts records to the strings that Redis stores, and back. A string contains a few fields that scripts read or
change, followed by MessagePack.

A row is `1 [checksum] field; … shape; length; index members, body`:

- `1` is the number of this format. It determines the checksum, which consists of the first 8 hex digits of the SHA-1 of
  everything after it, in tables that declare one. SHA-1 is used because a script, which fills in sequence numbers, can
  compute it.
- The fields are columns that scripts must read or change. They are fixed for each table.
- `shape` is a hash of the writer's set of columns (see `codec.shape_of`). Before a script replaces a row of a shape
  that it does not know, it returns the body to the client, which merges the unknown cells into the new row
  (`Layout.merged`).
- The body contains all other cells by name, without empty ones. Columns can therefore be added, and rows of any version
  can be read.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from typing import Any

import msgspec

from ...errors import CorruptRecord
from ...records import Key, Record, is_view
from ..codec import Codec, codec, kinds, pack, unknown_cells
from .keys import AFTER_ALL, decode_key, encode_key, encode_number, encode_text, stamp, unstamp

_unpack = msgspec.msgpack.Decoder().decode
FORMAT = b"1"
_STANDARD = ("expires_at", "version", "created_at")
# Columns that scripts read or change, in addition to the three standard ones. apply.lua and claim.lua rely on their
# order.
_FIELDS = {
    "threads": ("length", "tokens", "updated_at"),
    "messages": ("seq",),
    "receipts": ("first", "count"),
    "state": ("value",),
    "jobs": ("status", "attempts", "owner", "leased_until", "updated_at"),
}
# The number of indexes that each table had in the first release, which contain every row. A row that an older version
# wrote is missing from later indexes; `RedisStore._bring_in` adds it before such an index is scanned.
_FIRST_INDEXES = {"threads": 1, "tasks": 1, "jobs": 1, "links": 1, "audit": 1, "entries": 1}
Argument = bytes | str | int | float
"""An argument of a command, as redis-py encodes it."""
_CELL_TYPES: dict[str, object] = {"real": float | None, "bytes": bytes | None, "text": str | None, "json": str | None}


class Layout:
    """Describes the stored form of one kind of record (fields, indexes and body), with compiled functions to encode and
    decode it."""

    def __init__(self, record_type: type[Record]) -> None:
        table, record_codec = record_type.table, codec(record_type)
        names = (*_STANDARD, *_FIELDS.get(table.name, ()))
        self.kind = record_type
        self.name = table.name
        self.width = len(names)
        self.checked = table.checksum or table.sealed
        self.expires = record_codec.position_of.get("expires_at")
        self.shape = record_codec.shape
        self.replaceable = {record_codec.shape}
        """Shapes of rows without unknown cells, which can be replaced without merging; more are added as rows are
        read."""
        # Which of these columns the script must fill in.
        self.flags = "v" * record_codec.versioned + "c" * ("created_at" in record_codec.position_of)
        self.history = (table.history or "").encode()
        # The org is in the name of the sorted set, so the members need not repeat it.
        self.indexes = {
            name: columns[1:] if columns[0] == "org" else columns for name, columns in table.indexes.items()
        }
        self.index_numbers = {name: number for number, name in enumerate(self.indexes, 1)}
        self.has_late_indexes = len(self.indexes) > _FIRST_INDEXES.get(table.name, 0)
        self._head = (table.name.encode(), b"%d" % self.width, b"1" if self.checked else b"0", len(self.indexes))
        self.prefix = table.name.encode() + b":"
        self.spec = self.spec_as(self.shape)
        self._encode_row, self._decode_row = record_codec.encode, record_codec.decode
        # If the table does not have a field's column, the field stays empty.
        fields = [_field(record_codec, name) for name in names]
        self._key = key = tuple(record_codec.position_of[name] for name in table.key[1:])
        indexes = [tuple(record_codec.position_of[name] for name in columns) for columns in self.indexes.values()]
        body = [
            (column.name, _CELL_TYPES.get(column.kind, int | None), None)
            for column in record_codec.columns
            if column.name not in names
        ]
        # By name and without empty cells, so that a column added later is merely missing from older rows.
        self._body = msgspec.defstruct(f"{record_type.__name__}Body", body, omit_defaults=True)
        self._unpack_body = msgspec.msgpack.Decoder(self._body).decode
        self.keys_only = {*record_codec.names} <= {*table.key, "expires_at"}
        """Whether this is a key-only view, so that scans fetch members instead of rows."""
        cell_names = ";" + "".join(f"{name};" for name, _, _ in body)
        self.cells = "none" if self.keys_only else cell_names if is_view(record_type) else "all"
        """The cells that scans fetch: `none`, `all`, or the names of those in a view."""
        self._key_is_text = [record_codec.columns[position].kind == "text" for position in key]
        self._missing = record_codec.missing
        self._org = record_codec.position_of["org"]
        self._split = _compile_split(record_codec, key, indexes, fields, self._body)
        self._join = _compile_join(record_codec, fields)

    def spec_as(self, shape: int) -> tuple[Argument, ...]:
        """Return the description of a table that scripts need: its name, the number of fields, whether it has a
        checksum, the number of indexes, the shape of the rows we write, and the shapes of rows that may be replaced
        without merging."""
        return (*self._head, shape, ";" + "".join(f"{shape_number};" for shape_number in sorted(self.replaceable)))

    def merge_cells(self, encoded: list[Any], old_shape: int, old_body: bytes) -> tuple[list[Any], int]:
        """Return an encoded record with the unknown cells of an old body added, and its resulting shape."""
        unknown = unknown_cells(self.kind, _unpack(old_body))
        if not unknown:
            self.replaceable.add(old_shape)
            self.spec = self.spec_as(self.shape)
            return encoded, self.shape
        return [*encoded[:-1], pack({**_unpack(encoded[-1]), **unknown})], old_shape

    def index_members(self, record: Record) -> bytes:
        """Return the index members of a row, as the row contains them."""
        return bytes(self.encode(record)[-2])

    def member(self, key: Key) -> bytes:
        """Return the member that represents a row in the sorted sets of its table."""
        return encode_key(key[1:])

    def encode(self, record: Record) -> list[Any]:
        """Return the member, fields, index members and body that a script needs to write the row."""
        parts: list[Any] = self._split(self._encode_row(record))
        return parts

    def decode(self, raw: bytes, now: int | None) -> Any:
        """Return the record from a stored row, or None if it has expired by `now`."""
        try:
            if raw[:1] != FORMAT:
                raise self.damage_error()
            start = 1
            if self.checked:
                # Before anything else is parsed, so that a flipped bit is reported and never served as another value.
                start = 9
                if sha1(raw[9:], usedforsecurity=False).hexdigest()[:8].encode() != raw[1:9]:
                    raise self.damage_error()
            # Split only the fields: index members and the body may contain semicolons.
            parts = raw[start:].split(b";", self.width + 2)
            row = self._join(parts, self._unpack_body(parts[-1][int(parts[-2]) :]))
            # The server keeps expired rows for a while (see SLACK_MS in store.py), so every read compares the times.
            if now is not None and self.expires is not None:
                ends = row[self.expires]
                if ends is not None and ends <= now:
                    return None
            return self._decode_row(row)
        except (ValueError, IndexError, TypeError, OverflowError, msgspec.MsgspecError) as cause:
            raise self.damage_error() from cause

    def decode_member(self, raw: bytes, org: str) -> Any:
        """Return the record of a key view, built from the expiry and the member of a row."""
        expires, _, member = raw.partition(b";")
        row = list(self._missing)
        row[self._org] = org
        for position, column in zip(self._key, decode_key(member, self._key_is_text), strict=True):
            row[position] = column
        if self.expires is not None and expires:
            row[self.expires] = unstamp(expires)
        return self._decode_row(row)

    def damage_error(self) -> CorruptRecord:
        """Return the error for a row whose checksum or structure is wrong."""
        return CorruptRecord(f"a row of {self.name} is damaged; restore it from a backup or delete it", table=self.name)


@cache
def layout(record_type: type[Record]) -> Layout:
    """Return the layout of a kind, which is created on first use."""
    return Layout(record_type)


@cache
def expiring_tables() -> dict[bytes, tuple[Argument, ...]]:
    """Return the descriptions (`Layout.spec`) of the tables whose rows may expire, by name."""
    layouts = [layout(record_type) for record_type in kinds()]
    return {table.name.encode(): table.spec for table in layouts if table.expires is not None}


def _escaped(text: str) -> str:
    if "%" not in text and ";" not in text:
        return text
    return text.replace("%", "%25").replace(";", "%3b")


def _unescaped(text: bytes) -> str:
    # The reverse order of `_escaped`: otherwise `%253b` would become `;` instead of `%3b`.
    return text.replace(b"%3b", b";").replace(b"%25", b"%").decode()


def quoted(text: str) -> str:
    """Return a string as a field. The leading quote distinguishes an empty string from NULL."""
    return "'" + _escaped(text)


def _unquoted(text: bytes) -> str:
    return _unescaped(text[1:])


_Field = tuple[int | None, str]
"""The column that a field contains, if any, and its format."""
_WRITERS = {"time": "stamp", "text": "quoted", "json": "escaped", "int": "str"}
_READERS = {"time": "unstamp", "text": "unquoted", "json": "unescaped", "int": "int"}
_SCOPE: dict[str, object] = {
    "pack": pack, "stamp": stamp, "unstamp": unstamp, "text": encode_text, "number": encode_number, "quoted": quoted,
    "unquoted": _unquoted, "escaped": _escaped, "unescaped": _unescaped, "after_all": AFTER_ALL,
}  # fmt: skip
"""The names that the compiled functions use."""


def _field(record_codec: Codec, name: str) -> _Field:
    position = record_codec.position_of.get(name)
    kind = "int" if position is None else record_codec.columns[position].kind
    return position, kind if kind in _WRITERS else "int"


def _compile_split(
    record_codec: Codec, key: tuple[int, ...], indexes: list[tuple[int, ...]], fields: list[_Field], body: type
) -> Any:
    """Create the function that turns a row into the arguments of a script.

    It is compiled like the codec. The source contains only numbers and our own names.
    """
    body_positions = sorted(set(range(len(record_codec.columns))) - {position for position, _ in fields})
    parts = [_key_source(record_codec, key)]
    for position, column_type in fields:
        write = f"{_WRITERS[column_type]}(row[{position}])"
        parts.append('""' if position is None else f'("" if row[{position}] is None else {write})')
    # rows.lua splits the index members at this byte, which occurs in none of them.
    parts.append(" + after_all + ".join([_key_source(record_codec, positions) for positions in indexes]) or 'b""')
    parts.append(f"pack(body({', '.join(f'row[{position}]' for position in body_positions)}))")
    return eval(f"lambda row: [{', '.join(parts)}]", {**_SCOPE, "body": body})


def _compile_join(record_codec: Codec, fields: list[_Field]) -> Any:
    """Create the function that turns fields and body into a row. Missing cells get their default."""
    cells = [
        f"body.{name}" if missing is None else f"(missing[{position}] if body.{name} is None else body.{name})"
        for position, (name, missing) in enumerate(zip(record_codec.names, record_codec.missing, strict=True))
    ]
    for number, (position, column_type) in enumerate(fields):
        if position is not None:
            cells[position] = f"({_READERS[column_type]}(parts[{number}]) if parts[{number}] else None)"
    return eval(f"lambda parts, body: ({', '.join(cells)},)", {**_SCOPE, "missing": record_codec.missing})


def _key_source(record_codec: Codec, positions: tuple[int, ...]) -> str:
    encoders = ["text" if record_codec.columns[position].kind == "text" else "number" for position in positions]
    return " + ".join(f"{encoder}(row[{position}])" for encoder, position in zip(encoders, positions, strict=True))

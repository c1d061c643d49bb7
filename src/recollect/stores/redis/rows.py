"""Between records and the strings Redis keeps: a few fields that scripts read and change, then the rest as msgpack.

A row is `[checksum] field; … length; index members, body`. Evidence carries the first 8 hex digits of the SHA-1 of all
that follows, which a script can compute when it fills in a sequence number; it is checked on every read.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from typing import Any

import msgspec

from ...errors import CorruptRecord
from ...records import Key, Record
from ..codec import Codec, codec
from .keys import AFTER_ALL, encode_key, encode_number, encode_text, stamp, unstamp

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode
_STANDARD = ("expires_at", "version", "created_at")
# Columns that scripts read or change, beside the three of every table; apply.lua and claim.lua know their places.
_FIELDS = {
    "threads": ("length", "tokens", "updated_at"),
    "messages": ("seq",),
    "receipts": ("first", "count"),
    "state": ("value",),
    "jobs": ("status", "attempts", "owner", "leased_until", "updated_at"),
}


class Layout:
    """How one kind of record is kept."""

    def __init__(self, kind: type[Record]) -> None:
        table, made = kind.table, codec(kind)
        names = (*_STANDARD, *_FIELDS.get(table.name, ()))
        self.kind = kind
        self.name = table.name
        self.width = len(names)
        self.checked = table.checksum
        self.expires = made.place.get("expires_at")
        self.spec = (table.name.encode(), b"%d" % self.width, b"1" if self.checked else b"0")
        self.flags = _flags(kind, made)
        self.history = (table.history or "").encode()
        self.indexes = {name: _without_org(columns) for name, columns in table.indexes.items()}
        self.index_numbers = {name: number for number, name in enumerate(self.indexes, 1)}
        self._encode_row, self._decode_row = made.encode, made.decode
        # A field of a column that this table does not have stays empty.
        fields = [_field(made, name) for name in names]
        key = tuple(made.place[name] for name in table.key[1:])
        indexes = [tuple(made.place[name] for name in columns) for columns in self.indexes.values()]
        self._split = _compile_split(made, key, indexes, fields)
        self._join = _compile_join(made, fields)

    def member(self, key: Key) -> bytes:
        """The place of a row among those of its org."""
        return encode_key(key[1:])

    def encode(self, record: Record) -> list[Any]:
        """Member, fields, index members and body: what a script takes to write the row."""
        made: list[Any] = self._split(self._encode_row(record))
        return made

    def decode(self, raw: bytes, now: int | None) -> Any:
        """The record of a stored row; None when it has ended by `now`."""
        try:
            if self.checked:
                body = raw[8:]
                if sha1(body, usedforsecurity=False).hexdigest()[:8].encode() != raw[:8]:
                    raise self.damaged()
                raw = body
            parts = raw.split(b";", self.width + 1)
            row = self._join(parts, _unpack(parts[-1][int(parts[-2]) :]))
            if now is not None and self.expires is not None:
                ends = row[self.expires]
                if ends is not None and ends <= now:
                    return None
            return self._decode_row(row)
        except (ValueError, IndexError, TypeError, OverflowError, msgspec.MsgspecError) as cause:
            raise self.damaged() from cause

    def damaged(self) -> CorruptRecord:
        """What a row raises that is not what was written."""
        return CorruptRecord(f"a row of {self.name} is damaged; restore it from a backup or delete it", table=self.name)


@cache
def layout(kind: type[Record]) -> Layout:
    """The layout of a kind, made on first use."""
    return Layout(kind)


_Field = tuple[int | None, str]
"""Which column a field holds, if any, and how it is written."""
_SCOPE: dict[str, Any] = {
    "pack": _pack,
    "stamp": stamp,
    "unstamp": unstamp,
    "text": encode_text,
    "number": encode_number,
}


def _field(made: Codec, name: str) -> _Field:
    place = made.place.get(name)
    kind = "int" if place is None else made.columns[place].kind
    return place, kind if kind in ("time", "text", "json") else "int"


def _compile_split(made: Codec, key: tuple[int, ...], indexes: list[tuple[int, ...]], fields: list[_Field]) -> Any:
    """From a row to what scripts take. Compiled, as the codec is; the source holds numbers and our own names only."""
    writers = {"time": "stamp", "text": "quoted", "json": "escaped", "int": "str"}
    held = {place for place, _ in fields}
    parts = [_key_source(made, key)]
    for place, kind in fields:
        parts.append('""' if place is None else f'("" if row[{place}] is None else {writers[kind]}(row[{place}]))')
    parts.append(" + after_all + ".join([_key_source(made, places) for places in indexes]) or 'b""')
    cells = ["None" if place in held else f"row[{place}]" for place in range(len(made.columns))]
    parts.append(f"pack(({', '.join(cells)},))")
    return eval(f"lambda row: [{', '.join(parts)}]", _scope())


def _compile_join(made: Codec, fields: list[_Field]) -> Any:
    """From the fields and the body of a stored row to the row."""
    readers = {"time": "unstamp", "text": "unquoted", "json": "unescaped", "int": "int"}
    cells = [f"body[{place}]" for place in range(len(made.columns))]
    for number, (place, kind) in enumerate(fields):
        if place is not None:
            cells[place] = f"({readers[kind]}(parts[{number}]) if parts[{number}] else None)"
    return eval(f"lambda parts, body: ({', '.join(cells)},)", _scope())


def _key_source(made: Codec, places: tuple[int, ...]) -> str:
    kinds = ["text" if made.columns[place].kind == "text" else "number" for place in places]
    return " + ".join(f"{kind}(row[{place}])" for kind, place in zip(kinds, places, strict=True))


def _scope() -> dict[str, Any]:
    more = {"quoted": _quoted, "escaped": _escaped, "unquoted": _unquoted, "unescaped": _unescaped}
    return {**_SCOPE, **more, "after_all": AFTER_ALL}


def _flags(kind: type[Record], made: Codec) -> str:
    given = "version" in made.place and "version" not in kind.table.key
    return ("v" if given else "") + ("c" if "created_at" in made.place else "")


def _without_org(columns: tuple[str, ...]) -> tuple[str, ...]:
    return columns[1:] if columns[0] == "org" else columns


def _escaped(text: str) -> str:
    if "%" not in text and ";" not in text:
        return text
    return text.replace("%", "%25").replace(";", "%3b")


def _unescaped(text: bytes) -> str:
    return text.replace(b"%3b", b";").replace(b"%25", b"%").decode()


def _quoted(text: str) -> str:
    # The mark tells an empty text from none.
    return "'" + _escaped(text)


def _unquoted(text: bytes) -> str:
    return _unescaped(text[1:])

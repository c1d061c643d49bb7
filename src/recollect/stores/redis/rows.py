"""Between records and the strings Redis keeps: a few fields that scripts read and change, then the rest as msgpack.

A row is `[checksum] field; … length; index members, body`. Evidence carries the first 8 hex digits of the SHA-1 of all
that follows, which a script can compute when it fills in a sequence number; it is checked on every read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec

from ...errors import CorruptRecord
from ...records import Key, Record
from ..codec import Codec, codec, decoded
from .keys import AFTER_ALL, encode_key, stamp, unstamp

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
        self._codec = made
        self._key = tuple(made.place[name] for name in table.key[1:])
        self._index_places = [tuple(made.place[name] for name in columns) for columns in self.indexes.values()]
        # A field of a column that this table does not have stays empty.
        self._fields = [_field(made, name) for name in names]

    def member(self, key: Key) -> bytes:
        """The place of a row among those of its org."""
        return encode_key(key[1:])

    def encode(self, record: Record) -> list[bytes | str]:
        """Member, fields, index members and body: what a script takes to write the row."""
        row = list(self._codec.encode(record))
        member = encode_key([row[place] for place in self._key])
        index = AFTER_ALL.join([encode_key([row[place] for place in places]) for places in self._index_places])
        fields = []
        for place, write, _ in self._fields:
            if place is None:
                fields.append("")
            else:
                fields.append("" if row[place] is None else write(row[place]))
                row[place] = None
        return [member, *fields, index, _pack(row)]

    def decode(self, raw: bytes, now: int | None) -> Any:
        """The record of a stored row; None when it has ended by `now`."""
        try:
            row = self._row(raw)
        except (ValueError, IndexError, TypeError, msgspec.MsgspecError) as cause:
            raise self.damaged() from cause
        if now is not None and self.expires is not None:
            ends = row[self.expires]
            if ends is not None and ends <= now:
                return None
        return decoded(self.kind, row)

    def _row(self, raw: bytes) -> Any:
        if self.checked:
            if hashlib.sha1(raw[8:], usedforsecurity=False).hexdigest()[:8].encode() != raw[:8]:
                raise self.damaged()
            raw = raw[8:]
        parts = raw.split(b";", self.width + 1)
        row = _unpack(parts[-1][int(parts[-2]) :])
        for (place, _, read), text in zip(self._fields, parts, strict=False):
            if place is not None:
                row[place] = read(text) if text else None
        return tuple(row)

    def damaged(self) -> CorruptRecord:
        """What a row raises that is not what was written."""
        return CorruptRecord(f"a row of {self.name} is damaged; restore it from a backup or delete it", table=self.name)


@cache
def layout(kind: type[Record]) -> Layout:
    """The layout of a kind, made on first use."""
    return Layout(kind)


def kinds() -> Iterator[type[Record]]:
    """Every kind of record there is, in a fixed order."""
    from ...messages import Message  # noqa: F401  # defined by being imported

    found: dict[str, type[Record]] = {}
    queue = list(Record.__subclasses__())
    while queue:
        kind = queue.pop(0)
        queue.extend(kind.__subclasses__())
        if "table" in vars(kind):
            found.setdefault(kind.table.name, kind)
    yield from found.values()


_Field = tuple[int | None, Callable[[Any], str], Callable[[bytes], Any]]


def _field(made: Codec, name: str) -> _Field:
    place = made.place.get(name)
    kind = "int" if place is None else made.columns[place].kind
    writers: dict[str, Callable[[Any], str]] = {"time": stamp, "text": _quoted, "json": _escaped}
    readers: dict[str, Callable[[bytes], Any]] = {"time": unstamp, "text": _unquoted, "json": _unescaped}
    return place, writers.get(kind, str), readers.get(kind, int)


def _flags(kind: type[Record], made: Codec) -> str:
    given = "version" in made.place and "version" not in kind.table.key
    return ("v" if given else "") + ("c" if "created_at" in made.place else "")


def _without_org(columns: tuple[str, ...]) -> tuple[str, ...]:
    return columns[1:] if columns[0] == "org" else columns


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace(";", "%3b")


def _unescaped(text: bytes) -> str:
    return text.replace(b"%3b", b";").replace(b"%25", b"%").decode()


def _quoted(text: str) -> str:
    # The mark tells an empty text from none.
    return "'" + _escaped(text)


def _unquoted(text: bytes) -> str:
    return _unescaped(text[1:])

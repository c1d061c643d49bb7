"""Stores a channel's value whole, or as a delta from an earlier version of the same channel.

A graph that appends to a list writes the whole list at every step, so a file would grow with the square of the number
of steps. Here a list is serialised item by item. A delta contains the items that are missing from its base, which is an
earlier version, and the numbers of the base's first and last items that surround them. When the deltas since a whole
version are larger than that version, the next version is stored whole again. So a file is at most three times the size
of the data, and reading a value means reading at most twice its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from langgraph.checkpoint.serde.base import SerializerProtocol

from ...errors import CorruptRecord

Version = str | int | float
Item = tuple[str, bytes]
"""One serialised item, as `dumps_typed` returns it."""
MAX_WHOLE_BYTES = 1024
"""Lists of up to this many bytes are always stored whole."""
MAX_LINKS = 256
"""The maximum length of a chain of deltas."""


class Stored(msgspec.Struct, array_like=True, frozen=True):
    """Represents one version of a channel: a whole value (`type`, `data`), or the items of a list, whole or as a
    delta."""

    type: str = ""
    data: bytes = b""
    items: tuple[Item, ...] = ()
    base: Version | None = None
    head: int = 0
    tail: int = 0
    """This is the number of the base's first and last items that are kept."""
    whole: Version | None = None
    """This is the whole version at the start of the chain, or None if this version is whole."""
    links: int = 0
    """This is the number of deltas in the chain."""
    since: int = 0
    """This is the size of all deltas in the chain, including this one, in bytes."""
    size: int = 0
    """This is the size of the whole version, in bytes."""
    wrapper: Item | None = None
    """This is the serialised named tuple that contained the list, with the list emptied, or None if there was no
    tuple."""


LIST = "memorist.list"
"""The type of a version that contains items."""
_decoder = msgspec.msgpack.Decoder(Stored)
encode = msgspec.msgpack.Encoder().encode
decode = _decoder.decode


class Known(msgspec.Struct, frozen=True):
    """Holds the last version of a list that this process wrote or read, which is the base of the next delta."""

    version: Version
    row: int
    """This is the version of its record, which must be unchanged when a delta to it is committed."""
    items: tuple[Item, ...]
    stored: Stored


def serialised(value: Any, serde: SerializerProtocol) -> tuple[Stored, tuple[Item, ...] | None]:
    """Return a value stored whole, and its items if it is a list large enough for deltas."""
    wrapper = _wrapper(value, serde)
    inner = value if wrapper is None else value[0]
    if type(inner) is not list or not inner:
        kind, data = serde.dumps_typed(value)
        return Stored(type=kind, data=data), None
    items = tuple(serde.dumps_typed(item) for item in inner)
    size = weight(items)
    return Stored(type=LIST, items=items, size=size, wrapper=wrapper), items if size > MAX_WHOLE_BYTES else None


def _wrapper(value: object, serde: SerializerProtocol) -> Item | None:
    """Return the serialised form of a named tuple with one field, a list, without that list.

    A delta channel's snapshot is one. It is recognised by its structure, because the framework's name for it is
    private, and only if the serialiser restores it unchanged.
    """
    if not (isinstance(value, tuple) and len(value) == 1 and hasattr(value, "_fields") and type(value[0]) is list):
        return None
    record: type[Any] = type(value)
    empty = serde.dumps_typed(record([]))
    return empty if type(serde.loads_typed(empty)) is record else None


def weight(items: Sequence[Item]) -> int:
    """Return the total size of items in bytes."""
    return sum(len(data) for _, data in items)


def spliced(version: Version, full: Stored, items: tuple[Item, ...], last: Known | None) -> Stored:
    """Return the value as a delta from a known version, or whole if the chain has become too long or too large."""
    if last is None or last.version == version:
        return full
    old, limit = last.items, min(len(last.items), len(items))
    head = 0
    while head < limit and old[head] == items[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == items[-1 - tail]:
        tail += 1
    new = items[head : len(items) - tail]
    base = last.stored
    since, size = base.since + weight(new), base.size
    if since > size or base.links >= MAX_LINKS or not head + tail:
        return full
    whole = last.version if base.whole is None else base.whole
    return Stored(
        type=LIST, items=new, base=last.version, head=head, tail=tail, whole=whole, links=base.links + 1, since=since,
        size=size, wrapper=full.wrapper,
    )  # fmt: skip


def joined(stored: Stored, versions: Mapping[Version, Stored]) -> tuple[Item, ...]:
    """Return the items of a list, rebuilt by applying its chain of deltas."""
    path = [stored]
    while path[-1].base is not None:
        base = versions.get(path[-1].base)
        if base is None:
            raise CorruptRecord("the base version of a channel's value is missing; restore it from a backup")
        path.append(base)
    items: list[Item] = []
    for part in reversed(path):
        items[part.head : len(items) - part.tail] = part.items
    return tuple(items)


def opened(stored: Stored, items: tuple[Item, ...], serde: SerializerProtocol) -> object:
    """Deserialise a value."""
    if stored.type != LIST:
        return serde.loads_typed((stored.type, stored.data))
    value = [serde.loads_typed(item) for item in items]
    return value if stored.wrapper is None else type(serde.loads_typed(stored.wrapper))(value)

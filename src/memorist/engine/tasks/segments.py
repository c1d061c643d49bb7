"""Keeps the JSON text of a task's state as segments (a rope), so that the next save finds what changed cheaply.

A JSON object is cut into one segment per key; small nested objects are cut too. A segment that only grew at its end is
the common case: only the new items are encoded, the old ones are compared. Values are validated when they change, not
again while they stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec

from ...errors import InvalidValue, TooLarge
from ...values import MAX_VALUE_BYTES, encode_json
from .deltas import Edits, add_copy, add_diff, add_insert
from .packed import Packed

_SMALL = 24
_DEEP = 3
_SHORT = 48
"""Values up to this many characters are written again rather than diffed."""
_LONG = 1024
"""Lists and objects with more text than this are compared in packed form."""
_encode = msgspec.json.Encoder().encode

Path = tuple[str | None, ...]
Rope = tuple[str, Any]
"""A rope: the text that was added last, and the rope before it (whose closing bracket is dropped), or None."""


class Segment(msgspec.Struct):
    """A piece of the text: the punctuation and key before a value, and the value. Its text never changes."""

    opening: str
    """The punctuation before the key; with the key and a colon it is the `lead`."""
    lead: str
    rope: Rope
    size: int
    """Characters of lead and value."""
    weight: int
    """Bytes of them."""
    items: int = -1
    """The number of items if the value is a list or an object, else -1."""
    kind: type = object
    packed: Packed | None = None
    """The packed form of a long value that was seen to stay the same or to grow."""

    def text(self) -> str:
        """The value's text; the rope is joined on first use."""
        last, before = self.rope
        if before is not None:
            parts = [last]
            while before is not None:
                added, before = before
                parts.append(added[:-1])
            self.rope = ("".join(reversed(parts)), None)
        return self.rope[0]

    def anew(self, text: str, value: Any) -> Segment:
        """The segment with another value."""
        return _segment(self.opening, self.lead, text, value)

    def longer(self, items: str, count: int, packed: Packed | None = None) -> Segment:
        """The segment with items appended, given as the text of a list or object."""
        added = f",{items[1:]}"
        return Segment(
            self.opening, self.lead, (added, self.rope), self.size + len(added) - 1, self.weight + _bytes(added) - 1,
            self.items + count, self.kind, packed,
        )  # fmt: skip


_CLOSING = Segment("}", "}", ("", None), 1, 1)
Pieces = dict[Path, tuple[int, Segment]]
"""The segments in the order of the text, each with its offset."""


class Image:
    """One saved text, immutable; each save makes the next."""

    __slots__ = ("_pieces", "size")

    def __init__(self, pieces: Pieces, size: int, weight: int) -> None:
        if weight > MAX_VALUE_BYTES:
            raise TooLarge(f"state takes {weight} bytes; the limit is {MAX_VALUE_BYTES}")
        self._pieces = pieces
        self.size = size

    @classmethod
    def of(cls, state: Any) -> Image:
        """The image of a state, which is validated."""
        encode_json(state, "state")
        return _Walk({}, lambda value, what: _text(value)).follow(state)

    def text(self) -> str:
        """The whole JSON text."""
        return "".join([part for _, piece in self._pieces.values() for part in (piece.lead, piece.text())])

    def follow(self, state: Any) -> tuple[Image, Edits]:
        """The image of a later state, and the edits that lead to it."""
        walk = _Walk(self._pieces)
        return walk.follow(state), walk.edits

    def grown(self, update: Mapping[str, Any], extend: Mapping[str, list[Any]]) -> tuple[Image, Edits] | None:
        """The image after setting some top-level keys and appending to some top-level lists, without looking at the
        rest.

        None if a key is not one segment (it is new, or a small object): then the whole state must be compared.
        """
        after: dict[Path, Segment] = {}
        for given in (extend, update):
            for key, value in given.items():
                path: Path = (key,)
                if path not in self._pieces:
                    return None
                old, text = self._pieces[path][1], encode_json(value, "state")
                if given is update or old.items <= 0:
                    after[path] = old.anew(text, value)
                elif value:
                    after[path] = old.longer(text, len(value))
        walk = _Walk(self._pieces)
        for path, (at, old) in self._pieces.items():
            walk.add(path, at, old, after.get(path, old))
        return walk.image(), walk.edits


class _Walk:
    """Walks over a state in the order of its text, and records the edits that make each segment from the old one."""

    __slots__ = ("_checked", "_old", "_pieces", "_size", "_weight", "edits")

    def __init__(self, old: Pieces, checked: Any = encode_json) -> None:
        self._old = old
        self._checked = checked
        self._pieces: Pieces = {}
        self._size = 0
        self._weight = 0
        self.edits: Edits = []

    def image(self) -> Image:
        """The image of what was walked over."""
        return Image(self._pieces, self._size, self._weight)

    def follow(self, state: Any) -> Image:
        """Walk over all of a state."""
        if type(state) is dict and 0 < len(state) <= _SMALL:
            self._object(state, (), "{")
        else:
            self._value((), "", state)
        return self.image()

    def _object(self, value: dict[str, Any], path: Path, opening: str) -> None:
        for key, item in value.items():
            if type(key) is not str:
                raise InvalidValue(f"state has a key that is not text ({type(key).__name__})")
            inner = (*path, key)
            if type(item) is dict and len(inner) < _DEEP and 0 < len(item) <= _SMALL:
                self._object(item, inner, f"{opening}{_text(key)}:{{")
            else:
                self._value(inner, opening, item)
            opening = ","
        path = (*path, None)
        if path in self._old:
            self.add(path, *self._old[path], _CLOSING)
        else:
            self._insert(path, _CLOSING)

    def _value(self, path: Path, opening: str, value: Any) -> None:
        at, old = self._old.get(path, (0, _CLOSING))
        if old.opening != opening or old is _CLOSING:
            lead = f"{opening}{_text(path[-1])}:" if path else ""
            self._insert(path, _segment(opening, lead, self._checked(value, "state"), value))
        else:
            packed = old.packed if type(value) is old.kind else None
            self.add(path, at, old, _later(old, value) if packed is None else _later_packed(old, packed, value))

    def _insert(self, path: Path, piece: Segment) -> None:
        add_insert(self.edits, piece.lead + piece.text())
        self._pieces[path] = (self._size, piece)
        self._size += piece.size
        self._weight += piece.weight

    def add(self, path: Path, at: int, old: Segment, new: Segment) -> None:
        """Add a segment that existed at an offset before: unchanged, longer, or with another value."""
        edits = self.edits
        if new is old:
            add_copy(edits, at, old.size)
        elif new.rope[1] is old.rope:
            end = old.size - 1
            add_copy(edits, at, end)
            add_insert(edits, new.rope[0][:-1])
            add_copy(edits, at + end, 1)
        else:
            add_copy(edits, at, len(old.lead))
            if new.size - len(new.lead) <= _SHORT:
                add_insert(edits, new.text())
            else:
                add_diff(edits, at + len(old.lead), old.text(), new.text())
        self._pieces[path] = (self._size, new)
        self._size += new.size
        self._weight += new.weight


def _later(old: Segment, value: Any) -> Segment:
    """The segment of a later value, compared by text; the old one itself if nothing changed."""
    text, before = _text(value), old.text()
    if text == before:
        if old.items > 0 and len(text) > _LONG:
            old.packed = Packed.of(value)  # only once it is seen to stay the same does packing pay
        return old
    if old.items > 0 and _appended(before, text):
        # The text before the comma equals the saved text, so it holds the same number of items.
        newer = _newer(value, old.items)
        packed = Packed.of(value) if len(text) > _LONG else None
        return old.longer(encode_json(newer, "state"), len(newer), packed)
    encode_json(value, "state")
    return old.anew(text, value)


def _later_packed(old: Segment, packed: Packed, value: Any) -> Segment:
    """The same, compared by packed form: old items are not encoded as text again."""
    later = packed.later(value)
    if later is packed:
        return old
    if later is None:
        return old.anew(encode_json(value, "state"), value)
    newer = _newer(value, old.items)
    return old.longer(encode_json(newer, "state"), len(newer), later)


def _segment(opening: str, lead: str, text: str, value: Any) -> Segment:
    items, size = _count(value), len(lead) + len(text)
    return Segment(opening, lead, (text, None), size, _bytes(lead) + _bytes(text), items, type(value))


def _appended(old: str, new: str) -> bool:
    """Whether a non-empty list or object only got items appended."""
    end = len(old) - 1
    return new[end : end + 1] == "," and new[-1] == old[-1] and new.startswith(old[:end])


def _newer(value: Any, count: int) -> Any:
    return value[count:] if isinstance(value, list) else dict(islice(value.items(), count, None))


def _count(value: Any) -> int:
    return len(value) if type(value) is list or type(value) is dict else -1


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _text(value: Any) -> str:
    try:
        data = _encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as cause:
        raise InvalidValue(f"state cannot be kept as JSON: {type(cause).__name__}") from cause
    if len(data) > MAX_VALUE_BYTES:
        raise TooLarge(f"state takes {len(data)} bytes; the limit is {MAX_VALUE_BYTES}")
    return data.decode()

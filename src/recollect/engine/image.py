"""The text of a state as last saved, in segments, so that the next save finds what changed without comparing it all.

A JSON object is cut into one segment per key; small objects inside are cut too. A segment that only grew at its end is
the common case, and costs one comparison. Only what changed is checked value by value: unchanged text was checked when
it was first saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from ..errors import InvalidValue, TooLarge
from ..values import MAX_VALUE_BYTES, encode_json
from .deltas import Edits, add_copy, add_diff, add_insert

_SMALL = 24
_DEEP = 3
_SHORT = 48
"""Values up to this long are written anew rather than compared."""
_encode = msgspec.json.Encoder().encode

Path = tuple[str | None, ...]


class Segment(NamedTuple):
    """A piece of the text: the punctuation and key before a value, the value, and how many items it has."""

    lead: str
    text: str
    items: int = -1


class Image:
    """One saved text; never changed, each save makes the next."""

    __slots__ = ("_segments", "size")

    def __init__(self, segments: dict[Path, Segment], size: int) -> None:
        if size > MAX_VALUE_BYTES:
            raise TooLarge(f"state takes {size} bytes; the limit is {MAX_VALUE_BYTES}")
        self._segments = segments
        self.size = size

    @classmethod
    def of(cls, state: Any) -> Image:
        """The image of a state, all of it checked."""
        encode_json(state, "state")
        segments: dict[Path, Segment] = {}
        for path, lead, value in _pieces(state):
            segments[path] = Segment(lead, "" if value is UNSET else _text(value), _count(value))
        return cls(segments, sum(len(piece.lead) + len(piece.text) for piece in segments.values()))

    def text(self) -> str:
        """The whole JSON text."""
        return "".join([part for piece in self._segments.values() for part in piece[:2]])

    def follow(self, state: Any) -> tuple[Image, Edits]:
        """The image of a later state, and the edits that lead to it."""
        after: dict[Path, Segment] = {}
        walk = _Walk(self._segments)
        for path, lead, value in _pieces(state):
            text = "" if value is UNSET else _text(value)
            piece = after[path] = Segment(lead, text, _count(value))
            how = walk.add(path, piece)
            if how == "changed" and value is not UNSET:
                encode_json(value, "state")
            elif how == "grown":
                # What stands before the comma is the text saved before, so it is as many items as before.
                encode_json(_newer(value, self._segments[path].items), "state")
        return Image(after, walk.size), walk.edits

    def grown(self, update: Mapping[str, Any], extend: Mapping[str, list[Any]]) -> tuple[Image, Edits] | None:
        """The image after setting some top-level keys and appending to some top-level lists, at the cost of these.

        None where a key is not one segment (it is new, or a small object): then the whole state must be compared.
        """
        after = self._segments.copy()
        for key, value in (*extend.items(), *update.items()):
            piece = after.get((key,))
            if piece is None:
                return None
            text = encode_json(value, "state")
            if key in extend and piece.items > 0:
                text = f"{piece.text[:-1]},{text[1:]}" if value else piece.text
                after[(key,)] = Segment(piece.lead, text, piece.items + len(value))
            else:
                after[(key,)] = Segment(piece.lead, text, _count(value))
        walk = _Walk(self._segments)
        for path, piece in after.items():
            walk.add(path, piece, grown=path[0] in extend)
        return Image(after, walk.size), walk.edits


class _Walk:
    """Goes through the segments of the new text in order and writes down how each comes from the old one."""

    def __init__(self, old: dict[Path, Segment]) -> None:
        self._old = old
        self._places = _places(old)
        self.edits: Edits = []
        self.size = 0

    def add(self, path: Path, piece: Segment, *, grown: bool = False) -> str:
        """Whether the segment is the `same`, has `grown` at its end, or is `changed` (or new).

        `grown` spares the comparison where the caller has just made it so.
        """
        self.size += len(piece.lead) + len(piece.text)
        old = self._old.get(path)
        if old is None or old.lead != piece.lead:
            add_insert(self.edits, piece.lead + piece.text)
            return "changed"
        start, before, after = self._places[path], old.text, piece.text
        add_copy(self.edits, start, len(old.lead))
        start += len(old.lead)
        if before is after or (not grown and before == after):
            add_copy(self.edits, start, len(before))
            return "same"
        if old.items > 0 and (grown or _appended(before, after)):
            end = len(before) - 1
            add_copy(self.edits, start, end)
            add_insert(self.edits, after[end:-1])
            add_copy(self.edits, start + end, 1)
            return "grown"
        if len(after) <= _SHORT:
            add_insert(self.edits, after)
        else:
            add_diff(self.edits, start, before, after)
        return "changed"


def _places(segments: dict[Path, Segment]) -> dict[Path, int]:
    places: dict[Path, int] = {}
    at = 0
    for path, piece in segments.items():
        places[path] = at
        at += len(piece.lead) + len(piece.text)
    return places


def _appended(old: str, new: str) -> bool:
    """Whether a list or object that was not empty got items at its end and is otherwise as it was."""
    end = len(old) - 1
    return new[end : end + 1] == "," and new[-1] == old[-1] and new.startswith(old[:end])


def _newer(value: Any, count: int) -> Any:
    return value[count:] if isinstance(value, list) else dict(islice(value.items(), count, None))


def _count(value: Any) -> int:
    return len(value) if type(value) is list or type(value) is dict else -1


def _pieces(state: Any) -> Iterator[tuple[Path, str, Any]]:
    """Path, lead and value of each segment, in the order of the text; UNSET where a segment is punctuation alone."""
    if type(state) is not dict or not _small(state):
        yield (), "", state
        return
    yield from _object(state, (), "")
    yield (None,), "}", UNSET


def _object(value: dict[str, Any], path: Path, before: str) -> Iterator[tuple[Path, str, Any]]:
    opening = before + "{"
    for key, item in value.items():
        if type(key) is not str:
            raise InvalidValue(f"state has a key that is not text ({type(key).__name__})")
        lead = f"{opening}{_text(key)}:"
        inner = (*path, key)
        if type(item) is dict and len(inner) < _DEEP and _small(item):
            yield from _object(item, inner, lead)
            yield (*inner, None), "}", UNSET
        else:
            yield inner, lead, item
        opening = ","


def _small(value: dict[Any, Any]) -> bool:
    return 0 < len(value) <= _SMALL


def _text(value: Any) -> str:
    try:
        data = _encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as cause:
        raise InvalidValue(f"state cannot be kept as JSON: {type(cause).__name__}") from cause
    if len(data) > MAX_VALUE_BYTES:
        raise TooLarge(f"state takes {len(data)} bytes; the limit is {MAX_VALUE_BYTES}")
    return data.decode()

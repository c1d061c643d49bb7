"""The text of a state as last saved, in segments, so that the next save finds what changed without comparing it all.

A JSON object is cut into one segment per key; small objects inside are cut too. A segment that only grew at its end is
the common case, and costs one comparison. Only what changed is checked value by value: unchanged text was checked when
it was first saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from ..errors import InvalidValue, TooLarge
from ..values import MAX_VALUE_BYTES, encode_json
from .deltas import Edits, add_copy, add_diff, add_insert

_SMALL = 24
_DEEP = 3
_encode = msgspec.json.Encoder().encode

Path = tuple[str | None, ...]
Segment = tuple[Path, str, Any]
"""Where it is, its text with the punctuation before it, and the value (UNSET for punctuation alone)."""


class Image:
    """One saved text; never changed, each save makes the next."""

    __slots__ = ("_counts", "_segments", "size")

    def __init__(self, segments: dict[Path, str], counts: dict[Path, int]) -> None:
        self._segments = segments
        self._counts = counts
        self.size = sum(map(len, segments.values()))
        if self.size > MAX_VALUE_BYTES:
            raise TooLarge(f"state takes {self.size} bytes; the limit is {MAX_VALUE_BYTES}")

    @classmethod
    def of(cls, state: Any) -> Image:
        """The image of a checked state."""
        encode_json(state, "state")
        return cls._made(_segments(state))

    @classmethod
    def _made(cls, pieces: Iterable[Segment]) -> Image:
        segments: dict[Path, str] = {}
        counts: dict[Path, int] = {}
        for path, text, value in pieces:
            segments[path] = text
            counts[path] = len(value) if isinstance(value, list | dict) else -1
        return cls(segments, counts)

    def text(self) -> str:
        """The whole JSON text."""
        return "".join(self._segments.values())

    def follow(self, state: Any) -> tuple[Image, Edits]:
        """The image of a later state, and the edits that lead to it."""
        pieces = list(_segments(state))
        for path, text, value in pieces:
            self._check(path, text, value)
        return self._edited(Image._made(pieces))

    def grown(self, update: Mapping[str, Any], extend: Mapping[str, list[Any]]) -> tuple[Image, Edits] | None:
        """The image after setting some top-level keys and appending to some top-level lists, at the cost of these.

        None where a key is not one segment (it is new, or a small object): then the whole state must be compared.
        """
        segments, counts = dict(self._segments), dict(self._counts)
        for key, value in (*extend.items(), *update.items()):
            path, text = (key,), segments.get((key,))
            if text is None:
                return None
            encode_json(value, "state")
            made = _text(value)
            if key in extend and counts[path] > 0:
                segments[path] = f"{text[:-1]},{made[1:]}" if value else text
                counts[path] += len(value)
            else:
                segments[path] = f"{text[: len(_name(key)) + 2]}{made}"
                counts[path] = len(value) if isinstance(value, list | dict) else -1
        return self._edited(Image(segments, counts))

    def _edited(self, after: Image) -> tuple[Image, Edits]:
        edits: Edits = []
        places = self._places()
        for path, text in after._segments.items():
            start = places.get(path)
            old = "" if start is None else self._segments[path]
            if start is None:
                add_insert(edits, text)
            elif text == old:
                add_copy(edits, start, len(old))
            elif _appended(old, text):
                add_copy(edits, start, len(old) - 1)
                add_insert(edits, text[len(old) - 1 : -1])
                add_copy(edits, start + len(old) - 1, 1)
            else:
                add_diff(edits, start, old, text)
        return after, edits

    def _places(self) -> dict[Path, int]:
        places: dict[Path, int] = {}
        at = 0
        for path, text in self._segments.items():
            places[path] = at
            at += len(text)
        return places

    def _check(self, path: Path, text: str, value: Any) -> None:
        old = self._segments.get(path)
        if value is msgspec.UNSET or text == old:
            return
        if old is not None and _appended(old, text) and isinstance(value, list | dict):
            count = self._counts[path]
            # What stands before the comma is the text saved before, so it is as many items as before.
            value = value[count:] if isinstance(value, list) else dict(islice(value.items(), count, None))
        encode_json(value, "state")


def _appended(old: str, new: str) -> bool:
    """Whether a list or object got items at its end and is otherwise as it was."""
    end = len(old) - 1
    grown = old[-1:] in ("]", "}") and new[end : end + 1] == "," and new[-1:] == old[-1:]
    return grown and old[end - 1] not in "[{" and new.startswith(old[:end])


def _name(key: str) -> str:
    return _encode(key).decode()


def _segments(state: Any) -> Iterator[Segment]:
    """The segments of a state, in the order of its text."""
    if type(state) is not dict or not _small(state):
        yield (), _text(state), state
        return
    yield from _object(state, (), "")
    yield (None,), "}", msgspec.UNSET


def _object(value: dict[str, Any], path: Path, before: str) -> Iterator[Segment]:
    opening = before + "{"
    for key, item in value.items():
        if type(key) is not str:
            raise InvalidValue(f"state has a key that is not text ({type(key).__name__})")
        prefix = f"{opening}{_name(key)}:"
        inner = (*path, key)
        if len(inner) < _DEEP and type(item) is dict and item and _small(item):
            yield from _object(item, inner, prefix)
            yield (*inner, None), "}", msgspec.UNSET
        else:
            yield inner, prefix + _text(item), item
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

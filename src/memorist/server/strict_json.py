"""Parses JSON and refuses objects that contain the same name twice. The decoder itself would use the last value and
drop the others."""

from __future__ import annotations

import json
import re

import msgspec

from ..errors import UsageError
from ..values import Json

_loads = msgspec.json.Decoder().decode
_NAMES = re.compile(rb'"[ \t\r\n]*:')
"""Matches the end of a name. In a string that quotes JSON, a backslash precedes these characters."""


class Malformed(UsageError):
    """Raised if a request's query, one of its headers or its JSON body cannot be decoded."""


def strict_json(text: bytes) -> Json:
    """Return the value of a JSON document. Raises `Malformed` if any object in it contains the same name twice."""
    value: Json = _loads(text)
    if len(_NAMES.findall(text)) > _names(value):
        # There are more ends of names than names, so a name occurs twice, or a string contains one. This slower pass
        # finds out which.
        json.loads(text, object_pairs_hook=_unique, parse_int=str, parse_float=str)
    return value


def _names(value: object) -> int:
    """Return the number of names in all objects of a value."""
    count, left = 0, [value]
    while left:
        item = left.pop()
        if type(item) is dict:
            count += len(item)
            left.extend(item.values())
        elif type(item) is list:
            left.extend(item)
    return count


def _unique(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Malformed(f"the name {name[:40]!r} occurs twice in one JSON object")
        seen.add(name)

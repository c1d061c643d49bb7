"""Checks and encodes values before they are stored, so that every store returns JSON exactly and names fit in a key.

The checks run before anything is written, so that all stores refuse the same inputs with the same errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from .errors import InvalidValue, TooLarge, UsageError

if TYPE_CHECKING:
    Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
else:
    Json = Any  # msgspec makes no decoder for a union that contains itself
"""A JSON value: None, a bool, a number, text, or lists and dicts of these; `encode_json` checks values from users."""
JsonObject = dict[str, Any]
"""A JSON object, as it occurs in providers' data, files, requests and metadata."""
JsonMapping = Mapping[str, Any]
"""A JSON object that is only read."""

MAX_NAME_BYTES = 512
MAX_TAGS = 50
RESERVED_PREFIX = "memorist."
"""The prefix of metadata keys that only Memorist sets."""
MAX_VALUE_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_UNCHECKED_CHARACTERS = MAX_VALUE_BYTES // 6
"""Text of up to this many ASCII characters is always accepted, because JSON needs at most six bytes per character."""
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
ENCODING_ERRORS = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)
"""What the encoder raises for values that JSON cannot express."""

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_encode_any = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder().decode
# Lone surrogates cannot be written as UTF-8; NUL cannot be kept in a Postgres text column.
_BAD_NAME = re.compile("[\x00\ud800-\udfff]")


def check_name(text: object, what: str, error: type[UsageError] = InvalidValue) -> str:
    """Return an id, key or namespace part: text of 1 to 512 bytes without NUL or lone surrogates."""
    if type(text) is str and 0 < len(text) <= MAX_NAME_BYTES and text.isascii() and "\x00" not in text:
        return text  # a fast path: names are checked on every call
    if not isinstance(text, str):
        raise error(f"{what} must be text, not {type(text).__name__}")
    if not text:
        raise error(f"{what} is empty")
    if len(text) > MAX_NAME_BYTES or (not text.isascii() and len(text.encode("utf-8", "replace")) > MAX_NAME_BYTES):
        raise TooLarge(f"{what} is over {MAX_NAME_BYTES} bytes")
    if _BAD_NAME.search(text):
        raise error(f"{what} contains a NUL or a lone surrogate, which no store can keep")
    return text


def check_text(text: object, what: str, *, limit: int = MAX_VALUE_BYTES) -> str:
    """Check free text for a plain column, which must contain no NUL and no lone surrogates, and be within the size
    limit."""
    if not isinstance(text, str):
        raise InvalidValue(f"{what} must be text, not {type(text).__name__}")
    if len(text) > limit:
        raise TooLarge(f"{what} has {len(text)} characters; the limit is {limit}")
    if _BAD_NAME.search(text):
        raise InvalidValue(f"{what} contains a NUL or a lone surrogate, which no store can keep")
    return text


def check_confidence(value: object) -> float:
    """Return a confidence as a float. Raises an error unless it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidValue("confidence must be a number from 0 to 1")
    return float(value)


def encode_json(value: object, what: str = "value") -> str:
    """Return the JSON text of a value, preserving the order of keys. Values that would not come back unchanged are
    refused."""
    return json_bytes(value, what, MAX_VALUE_BYTES).decode()


def json_bytes(value: object, what: str, limit: int) -> bytes:
    """Return the JSON of a value as UTF-8 bytes, with a size limit."""
    if isinstance(value, str):
        if len(value) > limit:
            raise TooLarge(f"{what} has {len(value)} characters; the limit is {limit} bytes")
    else:
        _check(value, what)
    try:
        data = _encode(value)
    except ENCODING_ERRORS as cause:
        raise InvalidValue(f"{what} cannot be stored as JSON: {type(cause).__name__}") from cause
    if len(data) > limit:
        raise TooLarge(f"{what} takes {len(data)} bytes; the limit is {limit}")
    return data


def check_metadata(metadata: Mapping[str, object] | None, what: str = "metadata") -> dict[str, object]:
    """Check a user's metadata, which must be JSON without reserved keys (`memorist.…`)."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidValue(f"{what} must be a dict")
    fields = dict(metadata)
    encode_json(fields, what)
    for key in fields:
        if key.startswith(RESERVED_PREFIX):
            raise InvalidValue(f"{what} keys that begin with {RESERVED_PREFIX!r} are reserved")
    return fields


def check_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Check tags, which must be short names, and return them in order, without duplicates."""
    if tags == ():
        return ()
    names = tuple(dict.fromkeys(check_name(tag, "tag") for tag in as_list(tags, "tags")))
    if len(names) > MAX_TAGS:
        raise TooLarge(f"at most {MAX_TAGS} tags, got {len(names)}")
    return names


def decode_json(text: str | bytes) -> object:
    """Return the value of JSON text that `encode_json` wrote."""
    return _decode(text)


def compact_json(value: object) -> str:
    """Return JSON without spaces for sending and counting. Values without a JSON form are written as text."""
    try:
        return _encode_any(value).decode()
    except RecursionError as cause:
        raise TooLarge("a value to send is nested too deeply") from cause
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError):
        return _any_json(value)


def _any_json(value: object) -> str:
    """Return the JSON of a value from a slower encoder, which also accepts lone surrogates (escaped), huge integers and
    keys that are not text."""
    import json

    try:
        return json.dumps(value, separators=(",", ":"), default=str)
    except RecursionError as cause:
        raise TooLarge("a value to send is nested too deeply") from cause
    except (TypeError, ValueError) as cause:
        raise InvalidValue(f"a value to send cannot be written as JSON: {type(cause).__name__}") from cause


def fingerprint_json(value: object) -> bytes:
    """Return canonical JSON, in which equal values have equal bytes, whatever the order of their keys."""
    return _encode_sorted(value)


def _check(value: object, what: str) -> None:
    """Raise an error for a value that JSON or a store cannot contain. An explicit stack prevents deep nesting from
    crashing."""
    open_: list[Iterator[Any]] = [iter((value,))]
    while open_:
        for item in open_[-1]:
            kind = type(item)
            if kind is str or item is None or kind is bool:
                continue
            if kind is int:
                if not INT_MIN <= item <= INT_MAX:
                    raise InvalidValue(f"{what} contains an integer beyond 64 bits; write it as text")
            elif kind is float:
                if not math.isfinite(item):
                    raise InvalidValue(f"{what} contains {item!r}; JSON has no such number")
            elif kind is dict or kind is list or kind is tuple:
                if len(open_) > MAX_DEPTH:
                    raise TooLarge(f"{what} is nested deeper than {MAX_DEPTH}")
                open_.append(_children(item, what) if kind is dict else iter(item))
                break
            else:
                raise InvalidValue(f"{what} contains a {kind.__name__}; only JSON types can be stored")
        else:
            open_.pop()


def _children(item: dict[Any, object], what: str) -> Iterator[object]:
    for key in item:
        if type(key) is not str:
            raise InvalidValue(f"{what} has a key that is not text ({type(key).__name__})")
    return iter(item.values())


def as_list(value: object, what: str) -> list[Any]:
    """Return the items as a list. A text is refused, because its letters would be mistaken for items."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidValue(f"{what} must be a list, not {type(value).__name__}")
    return list(value)


def check_prefix(prefix: object) -> str | None:
    """Return the prefix of the keys to list, or None for all of them."""
    return None if prefix is None or prefix == "" else check_name(prefix, "prefix")


def as_name(value: object, what: str) -> str:
    """Return a text or a number as a name."""
    try:
        return check_name(str(value), what)
    except ValueError as cause:  # Python does not write numbers of many thousand digits
        raise cause if isinstance(cause, UsageError) else TooLarge(f"{what} is over {MAX_NAME_BYTES} bytes") from cause

"""Encodes record keys so that their order is preserved. A tuple of texts and numbers becomes one text that sorts like
the tuple.

The text is the key in every store, so that all of them scan in the same order. An element consists of a tag and its
content:

- `a`, `b` and `c` mark a negative number, zero and a positive number, written as exponent and digits in decimal.
- `t` marks a text, which ends with a character that sorts below all characters a text may contain.

Numbers sort before texts and by value, so 9 comes before 10, and 1.5 between 1 and 2. Equal numbers are the same key,
so 1.0 comes back as 1. As in Python, a tuple sorts right before the longer tuples that start with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from .errors import InvalidValue, TooLarge

RecordKey = tuple[str | int | float, ...]
"""A key as users pass it and receive it."""

MAX_KEY_BYTES = 1536
"""The maximum size of a key. Together with an org and a namespace of 512 bytes each, it fits into an index entry of
Postgres (2,704 bytes)."""
AFTER_ELEMENTS = "u"
"""Sorts above the tag of every element, and is therefore the upper bound of all keys that start with a prefix."""
_END = "\x01"
_END_NEGATIVE = "~"
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_EXPONENT_OFFSET = 500
_SPECIAL = re.compile("[\x00-\x02]")
_ESCAPED = re.compile("\x02([\x02-\x04])")
_COMPLEMENT = str.maketrans("0123456789", "9876543210")


def encode_record_key(key: Sequence[str | int | float], what: str = "record key") -> str:
    """Return the text of a key. Raises an error unless it is a tuple of texts and finite numbers."""
    if not isinstance(key, tuple | list):
        raise InvalidValue(f"{what} must be a tuple of texts and numbers, not {type(key).__name__}")
    text = "".join([_encode(element, what) for element in key])
    if len(text) > MAX_KEY_BYTES or (not text.isascii() and len(_utf8(text, what)) > MAX_KEY_BYTES):
        raise TooLarge(f"{what} is over {MAX_KEY_BYTES} bytes; replace its long parts with a digest")
    return text


def decode_record_key(text: str) -> RecordKey:
    """Return the key that a text encodes."""
    key: list[str | int | float] = []
    position = 0
    while position < len(text):
        tag = text[position]
        if tag == "b":
            key.append(0)
            position += 1
            continue
        end = text.index(_END_NEGATIVE if tag == "a" else _END, position)
        key.append(_decode(tag, text[position + 1 : end]))
        position = end + 1
    return tuple(key)


def _encode(element: str | int | float, what: str) -> str:
    if type(element) is str:
        if not element.isascii():
            _utf8(element, what)
        return f"t{_SPECIAL.sub(_escape, element)}{_END}"
    if type(element) is int:
        if not _INT_MIN <= element <= _INT_MAX:
            raise InvalidValue(f"{what} contains an integer beyond 64 bits; write it as text")
        return _encode_digits(element < 0, str(abs(element)), 0)
    if type(element) is float:
        return _encode_float(element, what)
    raise InvalidValue(f"{what} contains a {type(element).__name__}; only texts and numbers are allowed")


def _encode_float(number: float, what: str) -> str:
    if not math.isfinite(number):
        raise InvalidValue(f"{what} contains {number!r}, which cannot be sorted")
    if number.is_integer():
        # Use exact digits, so that the key is the same as for the integer of this value.
        return _encode_digits(number < 0, str(abs(int(number))), 0)
    # repr returns the shortest digits that convert back to the same number, and they sort like the numbers.
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return _encode_digits(number < 0, whole + fraction, int(exponent or 0) - len(fraction))


def _encode_digits(negative: bool, digits: str, exponent: int) -> str:
    """Return the number `digits` times ten to the `exponent` as its magnitude and its digits, without leading zeros."""
    significant = digits.lstrip("0")
    if not significant:  # also -0.0, which equals 0
        return "b"
    magnitude = f"{len(significant) + exponent + _EXPONENT_OFFSET:03d}"
    body = magnitude + significant.rstrip("0")
    # The digits of a negative number are complemented, and its end sorts above all digits: -1.5 must come before -1.
    return f"a{body.translate(_COMPLEMENT)}{_END_NEGATIVE}" if negative else f"c{body}{_END}"


def _decode(tag: str, body: str) -> str | int | float:
    if tag == "t":
        return _ESCAPED.sub(lambda match: chr(ord(match[1]) - 2), body)
    if tag == "a":
        body = body.translate(_COMPLEMENT)
    digits, magnitude = body[3:], int(body[:3]) - _EXPONENT_OFFSET
    sign = "-" if tag == "a" else ""
    if magnitude >= len(digits):
        return int(sign + digits + "0" * (magnitude - len(digits)))
    return float(f"{sign}0.{digits}e{magnitude}")


def _escape(match: re.Match[str]) -> str:
    return "\x02" + chr(ord(match[0]) + 2)


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as cause:
        raise InvalidValue(f"{what} contains a lone surrogate, which no store can keep") from cause

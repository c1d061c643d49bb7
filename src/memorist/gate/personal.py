"""Finds personal data by class: email addresses, telephone numbers, postal addresses, health data and government ids.

The patterns are data (`personal.toml`). Ids with a check digit count only if that digit is correct.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

CLASSES = ("email", "phone", "address", "health", "government_id")
MAX_CHARACTERS = 20_000
"""Only this much of a text is checked. A memory is a sentence, and this much of a document is enough to show its
class."""


def personal_classes(text: str, *, key: str | None = None) -> frozenset[str]:
    """Return the classes of personal data in a text. `key` is the key of the fact that contains it."""
    text = text[:MAX_CHARACTERS]
    classes = {name for name, patterns in _patterns().items() if any(_matches(pattern, text) for pattern in patterns)}
    if key is not None:
        # A value alone often says nothing ("0+"), while the key does: `blood_type`.
        words = set(re.split(r"[^a-z]+", key.lower()))
        classes |= {name for name, keys in _keys().items() if words & keys or key.lower() in keys}
    return frozenset(classes)


class _Pattern:
    def __init__(self, expression: str, check: str | None) -> None:
        self.expression = re.compile(expression)
        self.check: Callable[[str], bool] | None = None if check is None else _CHECKS[check]


def _matches(pattern: _Pattern, text: str) -> bool:
    if pattern.check is None:
        return pattern.expression.search(text) is not None
    return any(pattern.check(match[0]) for match in pattern.expression.finditer(text))


@cache
def _data() -> dict[str, dict[str, object]]:
    import tomllib
    from pathlib import Path

    return tomllib.loads((Path(__file__).parent / "personal.toml").read_text("utf-8"))


@cache
def _patterns() -> dict[str, list[_Pattern]]:
    return {
        name: [_Pattern(entry["pattern"], entry.get("check")) for entry in section["patterns"]]  # type: ignore[attr-defined]
        for name, section in _data().items()
    }


@cache
def _keys() -> dict[str, frozenset[str]]:
    return {name: frozenset(section.get("keys", ())) for name, section in _data().items()}  # type: ignore[call-overload]


def is_phone_number(text: str) -> bool:
    """Return whether a run of digits has the length of a telephone number and is not a date, an amount or a range of
    years."""
    digits = re.sub(r"\D", "", text)
    return 8 <= len(digits) <= 15 and not re.fullmatch(
        r"\D*(?:19|20)\d\d[-/. ](?:0?[1-9]|1[0-2])[-/. ]\d{1,2}\D*", text
    )


def is_social_security_number(text: str) -> bool:
    """Return whether a text has the form of a valid US social security number."""
    # Numbers that were never assigned; they are common in examples and in order numbers.
    area, group, serial = re.split(r"[- ]", text)
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_german_tax_id(text: str) -> bool:
    """Return whether the last of eleven digits is the check digit of a German tax id (ISO 7064, mod 11, 10)."""
    digits = [int(sign) for sign in text if sign.isdecimal()]
    if len(digits) != 11 or digits[0] == 0:
        return False
    product = 10
    for digit in digits[:-1]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[-1]


def is_spanish_id(text: str) -> bool:
    """Return whether the letter of a Spanish DNI or NIE is correct."""
    plain = re.sub(r"[\s.-]", "", text).upper()
    number = {"X": "0", "Y": "1", "Z": "2"}.get(plain[0], plain[0]) + plain[1:-1]
    return number.isdecimal() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


# Below the functions that it names.
_CHECKS: dict[str, Callable[[str], bool]] = {
    "phone": is_phone_number,
    "ssn": is_social_security_number,
    "german-tax-id": is_german_tax_id,
    "spanish-id": is_spanish_id,
}

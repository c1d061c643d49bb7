"""Finds and masks secrets: keys, tokens, passwords, private keys, card numbers, IBANs and one-time codes.

The patterns are data (`secrets.toml`). Numbers count only if their checksum is correct, so order numbers and telephone
numbers are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import NamedTuple

from ..values import JsonObject

PIECE_CHARACTERS = 100_000
"""Longer texts are searched in overlapping pieces. The search time grows with the length, and Python switches threads
only between searches, so one long search would block all other threads."""
OVERLAP_CHARACTERS = 8_200
CARD_DIGITS = range(13, 20)
_LABELS_AS_WORDS = str.maketrans({"_": " ", ".": " ", '"': None})
_BEGINNINGS = re.compile(r"\d(?:[ -]?\d){12}|[A-Z]{2}\d{2}|(?:SK|AC)[0-9a-f]{32}")
"""Occurs in every match of the patterns without hints: card numbers, IBANs and Twilio's keys."""
_GENERATED = re.compile(
    r"(?=.{6})(?:[A-Za-z]+\d+[A-Za-z]|\d+[A-Za-z]+\d|[A-Za-z]{3,}\d{3,}|\d{3,}[A-Za-z]{3,}|[a-z]+[A-Z]{2,}[a-z]|[A-Z]{2,}[a-z]+[A-Z])"
)
"""Letters and digits, or capitals and small letters, in an order that no word has."""
_PLACEHOLDER = re.compile(
    r"[\W_]+|(.)\1+|[<${%\[].*|.*\b(?:your|my|example|placeholder|dummy)[_-].*|https?://.*|[a-z]+-[a-z]+|password|passwd|pass|secret|token|key|\.\.\..*",
    re.I,
)
ELLIPSIS = "…"
"""Replaces the middle of a masked secret."""


class Secret(NamedTuple):
    """Describes a secret in a text by its kind and position."""

    kind: str
    start: int
    stop: int


class Pattern(NamedTuple):
    """Describes what a kind of secret looks like."""

    kind: str
    source: str
    hints: tuple[str, ...]
    check: Callable[[str], bool] | None

    @property
    def expression(self) -> re.Pattern[str]:
        """This is the compiled pattern. It is compiled on first use, because most texts need no patterns, and compiling
        all of them takes a fifth of a hook's time."""
        return _compiled(self.source)


def find_secrets(text: str, patterns: Sequence[Pattern] | None = None) -> list[Secret]:
    """Return the secrets in a text, in order, without overlaps. Already masked secrets are not found again.

    `patterns` are those worth trying, if the caller has already asked `patterns_for` a longer text.
    """
    secrets: list[Secret] = []
    for offset in range(0, max(1, len(text)), PIECE_CHARACTERS):
        piece = text[offset : offset + PIECE_CHARACTERS + OVERLAP_CHARACTERS]
        for pattern in patterns_for(piece) if patterns is None else patterns:
            for match in pattern.expression.finditer(piece):
                group = 1 if match.re.groups and match[1] is not None else 0
                secret = match[group]
                if ELLIPSIS not in secret and (pattern.check is None or pattern.check(secret)):
                    secrets.append(Secret(pattern.kind, offset + match.start(group), offset + match.end(group)))
    if len(secrets) < 2:
        return secrets
    secrets.sort(key=lambda secret: (secret.start, -secret.stop))
    apart: list[Secret] = []
    for secret in secrets:
        if not apart or secret.start >= apart[-1].stop:
            apart.append(secret)
    return apart


def has_secret(text: str) -> bool:
    """Return whether a text contains a secret."""
    return bool(find_secrets(text))


def mask_secrets(
    text: str, allowed: Collection[str] = (), patterns: Sequence[Pattern] | None = None
) -> tuple[str, list[str]]:
    """Return the text with each secret replaced (`sk-…9f2a`), and the kinds of the secrets that were masked.

    Secrets of the `allowed` kinds stay.
    """
    secrets = [secret for secret in find_secrets(text, patterns) if secret.kind not in allowed]
    for secret in reversed(secrets):
        text = text[: secret.start] + mask(text[secret.start : secret.stop]) + text[secret.stop :]
    return text, [secret.kind for secret in secrets]


def mask(secret: str) -> str:
    """Mask a secret so that its owner can recognise it but nobody can use it. At most a quarter of it stays visible."""
    visible = min(4, len(secret) // 8)
    beginning = secret[: min(3, visible)]
    return f"{beginning}{ELLIPSIS}{secret[len(secret) - visible :]}" if visible else ELLIPSIS


def patterns_for(text: str) -> Sequence[Pattern]:
    """Return the patterns worth trying. Most texts contain neither a hint nor the beginning of a number or a key."""
    lowered = text.lower()
    unhinted = _unhinted_patterns() if _BEGINNINGS.search(text) is not None else ()
    # Every write passes here, so texts without a hint must not pay for a search per pattern. `in` is several times
    # faster than a regular expression with a hundred alternatives.
    if not any(map(lowered.__contains__, _shortest_hints())):
        return unhinted
    by_hint = _positions_by_hint()
    positions = {position for hint in filter(lowered.__contains__, by_hint) for position in by_hint[hint]}
    return [*map(_patterns().__getitem__, sorted(positions)), *unhinted]


def patterns_for_labelled(text: str) -> Sequence[Pattern]:
    """Return the patterns worth trying on the labelled texts of a record: JSON, or lines."""
    # The label `seed_phrase` counts as "seed phrase", and JSON puts a quotation mark between a label and its colon.
    return patterns_for(f"{text}\n{text.translate(_LABELS_AS_WORDS)}")


@cache
def _unhinted_patterns() -> tuple[Pattern, ...]:
    return tuple(pattern for pattern in _patterns() if not pattern.hints)


@cache
def _positions_by_hint() -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for position, pattern in enumerate(_patterns()):
        for hint in pattern.hints:
            positions.setdefault(hint, []).append(position)
    return positions


@cache
def _shortest_hints() -> list[str]:
    """Return the hints that contain no other hint. A text without these contains no hint at all."""
    hints = _positions_by_hint()
    return [hint for hint in hints if not any(other in hint for other in hints if other != hint)]


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


@cache
def _data() -> JsonObject:
    import tomllib
    from pathlib import Path

    return tomllib.loads((Path(__file__).parent / "secrets.toml").read_text("utf-8"))


@cache
def kind_groups() -> dict[str, str]:
    """Return every kind of secret and the group name that policies may use for it."""
    return {kind: entry["group"] for kind, entry in _data().items()}


@cache
def _patterns() -> tuple[Pattern, ...]:
    checks = {"luhn": is_card_number, "iban": is_iban, "opaque": is_opaque, "random": is_random}
    return tuple(
        Pattern(
            kind,
            entry["pattern"],
            tuple(entry.get("hints", ())),
            checks[entry["check"]] if "check" in entry else None,
        )
        for kind, entry in _data().items()
    )


def is_card_number(text: str) -> bool:
    """Return whether the digits in a text have the length and the check digit of a payment card number (Luhn)."""
    digits = [int(sign) for sign in text if sign.isdecimal()]
    if len(digits) not in CARD_DIGITS or len(set(digits)) < 2 or digits[0] not in (2, 3, 4, 5, 6):
        return False
    doubled = [digit if index % 2 == 0 else digit * 2 - 9 * (digit > 4) for index, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def is_opaque(text: str) -> bool:
    """Return whether a text may be a secret, and not a placeholder such as `your-api-key`, `${PASSWORD}` or `****`."""
    return _PLACEHOLDER.fullmatch(text) is None


def is_random(text: str) -> bool:
    """Return whether part of a text looks generated, which `launch-plan-2026` does not."""
    return is_opaque(text) and any(map(_GENERATED.search, re.split(r"[-_./+]", text)))


def is_iban(text: str) -> bool:
    """Return whether a text has the check digits of an IBAN (ISO 13616)."""
    plain = re.sub(r"\s", "", text).upper()
    if not 15 <= len(plain) <= 34:
        return False
    digits = "".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])
    return int(digits) % 97 == 1

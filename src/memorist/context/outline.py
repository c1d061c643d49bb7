"""Shortens long tool output according to its structure. It shows keys and sample values of JSON, the first and last
rows of tables, distinct lines of logs, or signatures of source code. A line or a value is shown in full or not at all.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from .tokens import Counter

MAX_JSON_CHARACTERS = 5_000_000
"""Longer text is shortened line by line instead of being parsed as JSON."""
MAX_LINE_CHARACTERS = 2_000
"""Longer lines are wrapped when they are read back; an outline mentions them but does not show them."""
MIN_ROWS = 5
"""The minimum number of lines for a text to be recognised as a table, a log or source code."""
REPEATED_SHARE = 0.5
"""The maximum share of distinct lines in a log."""
SIGNATURE_SHARE = 0.01
_JSON_STEPS = ((5, 200, 8), (3, 200, 6), (2, 120, 5), (2, 80, 4), (1, 80, 3), (1, 40, 2), (0, 40, 2), (0, 40, 1))
"""How much of a JSON value to show: the number of list items, text characters and levels. The first step that fits is
used."""
MAX_KEYS = 60
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8,}|\d+")
_SIGNATURE = re.compile(
    r"^\s*(?:@@ .*@@|diff --git |#{1,4} \S|(?:export\s+|default\s+|public\s+|private\s+|protected\s+|internal\s+|"
    r"static\s+|abstract\s+|final\s+|async\s+|pub(?:\(\w+\))?\s+|unsafe\s+|override\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|module|namespace|record|type)\s+[\w<(*])"
)


class Outline(msgspec.Struct, frozen=True):
    """Represents a shortened text and its detected form."""

    text: str
    form: str
    """This is `json`, `table`, `log`, `code` or `text`."""


def outline(text: str, max_tokens: int, counter: Counter) -> Outline:
    """Shorten a text to at most `max_tokens`, based on its structure; a text that fits is returned whole."""
    count = counter.count_once
    if count(text) <= max_tokens:
        return Outline(text, "text")
    shown = _outline_json(text, max_tokens, count)
    if shown is not None:
        return Outline(shown, "json")
    lines = text.splitlines()
    for form, choose in (("table", _table_rows), ("code", _signatures), ("log", _distinct_lines)):
        order = choose(lines)
        if order is not None:
            return Outline(_fill(lines, order, max_tokens, count), form)
    return Outline(_fill(lines, _ends_inwards(len(lines)), max_tokens, count), "text")


def reading_lines(text: str) -> list[str]:
    """Return the lines of a text for reading back: JSON on few lines is indented, and long lines are wrapped."""
    lines = text.splitlines() or [""]
    if max(map(len, lines)) <= MAX_LINE_CHARACTERS:
        return lines
    value = _parse_json(text)
    if value is not None:
        lines = msgspec.json.format(msgspec.json.encode(value), indent=1).decode().splitlines()
    return [part for line in lines for part in _wrap(line)]


def _wrap(line: str) -> Iterable[str]:
    """Split a line into parts of at most `MAX_LINE_CHARACTERS`, after white space if possible."""
    while len(line) > MAX_LINE_CHARACTERS:
        cut = line.rfind(" ", MAX_LINE_CHARACTERS // 2, MAX_LINE_CHARACTERS) + 1 or MAX_LINE_CHARACTERS
        yield line[:cut]
        line = line[cut:]
    yield line


# JSON


def _parse_json(text: str) -> Any:
    """Return the object or list that a text contains as JSON, or None for any other text."""
    start = text.lstrip()[:1]
    if start not in ("{", "[") or len(text) > MAX_JSON_CHARACTERS:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _outline_json(text: str, max_tokens: int, count: Callable[[str], int]) -> str | None:
    value = _parse_json(text)
    if value is None:
        return None
    for items, characters, levels in _JSON_STEPS:
        sample = msgspec.json.encode(_sample(value, items, characters, levels)).decode()
        if count(sample) <= max_tokens:
            return sample
    kind = "object" if isinstance(value, dict) else "list"
    return f"(JSON {kind} with {len(value):,} entries)"


def _sample(value: object, items: int, characters: int, levels: int) -> Any:
    """Replace long lists, long texts and deep levels of a value with notes about the omitted parts."""
    if isinstance(value, str):
        return value if len(value) <= characters else f"(text of {len(value):,} characters)"
    if isinstance(value, dict):
        if not levels:
            return f"(object with {len(value):,} keys)" if value else value
        shown = {key: _sample(entry, items, characters, levels - 1) for key, entry in list(value.items())[:MAX_KEYS]}
        return shown if len(value) <= MAX_KEYS else {**shown, "…": f"({len(value) - MAX_KEYS:,} more keys)"}
    if not isinstance(value, list) or not value:
        return value
    if not levels or not items:
        return f"(list of {len(value):,})"
    if len(value) <= items + 1:
        return [_sample(entry, items, characters, levels - 1) for entry in value]
    head = [_sample(entry, items, characters, levels - 1) for entry in value[:items]]
    return [*head, f"({len(value) - items - 1:,} more)", _sample(value[-1], items, characters, levels - 1)]


# Lines, in the order in which they are worth showing


def _table_rows(lines: Sequence[str]) -> list[int] | None:
    """Return the header and the first and last rows of a table, or None for text that is not a table."""
    rows = [line for line in lines if line.strip()]
    if len(rows) < MIN_ROWS:
        return None
    for separator in ("\t", "|", ",", ";"):
        columns = Tally(line.count(separator) for line in rows)
        width, times = columns.most_common(1)[0]
        if width and times >= 0.9 * len(rows) and (width > 1 or separator == "\t"):
            return _ends_inwards(len(lines))
    return None


def _signatures(lines: Sequence[str]) -> list[int] | None:
    """Return signatures of source code, hunks of a diff or headings, then the first and last lines."""
    chosen = [number for number, line in enumerate(lines) if _SIGNATURE.match(line)]
    if len(chosen) < 3 or len(chosen) < SIGNATURE_SHARE * len(lines):
        return None
    # If not all fit, those of the outer level come first.
    chosen.sort(key=lambda number: len(lines[number]) - len(lines[number].lstrip()))
    return list(dict.fromkeys([*chosen, *_ends_inwards(len(lines))]))


def _distinct_lines(lines: Sequence[str]) -> list[int] | None:
    """Return one line from each group of lines that differ only in numbers, rarest first, or None if few lines
    repeat."""
    shapes = [_VARIABLE.sub("#", line).strip() for line in lines]
    counts = Tally(shapes)
    if len(lines) < MIN_ROWS or len(counts) > REPEATED_SHARE * len(lines):
        return None
    first: dict[str, int] = {}
    for number, shape in enumerate(shapes):
        first.setdefault(shape, number)
    rare = sorted((number for shape, number in first.items() if shape), key=lambda number: counts[shapes[number]])
    return list(dict.fromkeys([0, len(lines) - 1, *rare, *_ends_inwards(len(lines))]))


def _ends_inwards(length: int) -> list[int]:
    """Return all line numbers in the order first, last, second, last but one, and so on."""
    half = (length + 1) // 2
    pairs = zip(range(half), range(length - 1, length - 1 - half, -1), strict=True)
    return list(dict.fromkeys(number for pair in pairs for number in pair))


def _fill(lines: Sequence[str], order: Sequence[int], max_tokens: int, count: Callable[[str], int]) -> str:
    """Select whole lines in `order` while they fit, and return them in their original order with notes about gaps."""
    room, chosen = max_tokens - count(_gap(len(lines))), set[int]()
    gap_tokens = count("\n" + _gap(len(lines)))
    for number in order:
        line = _shown(lines, number)
        cost = count(line) + 1
        # A line whose neighbours are not shown adds one more note of a gap.
        cost += 0 if number - 1 in chosen or number + 1 in chosen or number == 0 else gap_tokens
        if cost > room:
            break
        room -= cost
        chosen.add(number)
    return "\n".join(_with_gaps(lines, sorted(chosen)))


def _shown(lines: Sequence[str], number: int) -> str:
    line = lines[number].rstrip()
    if len(line) > MAX_LINE_CHARACTERS:
        return f"{number + 1}: (a line of {len(line):,} characters)"
    return f"{number + 1}: {line}"


def _with_gaps(lines: Sequence[str], numbers: Sequence[int]) -> Iterable[str]:
    before = -1
    for number in numbers:
        if number - before > 1:
            yield _gap(number - before - 1)
        yield _shown(lines, number)
        before = number
    if len(lines) - before > 1:
        yield _gap(len(lines) - before - 1)


def _gap(count: int) -> str:
    return f"… {count:,} lines left out …"

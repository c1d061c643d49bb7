"""Shortens long tool output according to its structure. It shows keys and sample values of JSON, the first and last
rows of tables, distinct lines of logs, signatures of source code, or the beginning and end of other text. A line or a
value is shown in full or not at all, and so is a value that takes several lines, such as a quoted field of a CSV file.
Only text in very long lines is shown by sentences.
"""

from __future__ import annotations

import csv
import re
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any

import msgspec

from .tokens import Counter

MAX_JSON_CHARACTERS = 5_000_000
"""Longer text is shortened line by line instead of being parsed as JSON."""
MAX_LINE_CHARACTERS = 2_000
"""Longer lines are wrapped when they are read back; an outline mentions them but does not show them."""
MAX_END_CHARACTERS = 20_000
"""How far from the ends of a text to look for sentences that an outline can show."""
MIN_ROWS = 5
"""The minimum number of lines for a text to be recognised as a table, a log or source code."""
REPEATED_SHARE = 0.5
"""The maximum share of distinct lines in a log."""
SIGNATURE_SHARE = 0.01
MAX_SIGNATURE_LINES = 20
"""The maximum number of lines to search for the bracket that closes a signature."""
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
_DECODER, _ENCODER = msgspec.json.Decoder(float_hook=Decimal), msgspec.json.Encoder(decimal_format="number")
"""Numbers keep all their digits."""
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+|[。！？]\s*|\n+|>(?=<)")
_WORD_END = re.compile(r"\s+")
_STRING_MARKS = ('"""', "'''")
"""Marks around strings of several lines in source code."""
_Spans = list[range]
"""Consecutive ranges of line numbers, each shown in full or not at all."""


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
        choice = choose(lines)
        if choice is not None:
            return Outline(_fill(lines, *choice, max_tokens, count), form)
    ends = (lines[0], lines[-1])
    if max(map(len, ends)) > MAX_LINE_CHARACTERS or count("\n".join(ends)) > max_tokens // 2:
        return Outline(_both_ends(text, max_tokens, count), "text")
    return Outline(_fill(lines, _single_lines(lines), _ends_inwards(len(lines)), max_tokens, count), "text")


def reading_lines(text: str) -> list[str]:
    """Return the lines of a text for reading back: JSON on few lines is indented, and long lines are wrapped."""
    lines = text.splitlines() or [""]
    if max(map(len, lines)) <= MAX_LINE_CHARACTERS:
        return lines
    value = _parse_json(text)
    if value is not None:
        lines = msgspec.json.format(_ENCODER.encode(value), indent=1).decode().splitlines()
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
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _outline_json(text: str, max_tokens: int, count: Callable[[str], int]) -> str | None:
    value = _parse_json(text)
    if value is None:
        return None
    for items, characters, levels in _JSON_STEPS:
        sample = _ENCODER.encode(_sample(value, items, characters, levels)).decode()
        if count(sample) <= max_tokens:
            return sample
    kind = "object" if isinstance(value, dict) else "list"
    return f"(JSON {kind} with {len(value):,} entries)"


def _sample(value: object, items: int, characters: int, levels: int) -> object:
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


# Spans of lines, and the order in which they are worth showing


def _single_lines(lines: Sequence[str]) -> _Spans:
    return [range(number, number + 1) for number in range(len(lines))]


def _table_rows(lines: Sequence[str]) -> tuple[_Spans, list[int]] | None:
    """Return the rows of a table, starting with the header and the first and last rows, or None for text that is not a
    table."""
    for separator in ("\t", "|", ",", ";"):
        spans, widths = _quoted_rows(lines, separator) or _plain_rows(lines, separator)
        tally = Tally(width for width in widths if width >= 0)
        if tally.total() < MIN_ROWS:
            continue
        width, times = tally.most_common(1)[0]
        if width and times >= 0.9 * tally.total() and (width > 1 or separator == "\t"):
            return spans, _ends_inwards(len(spans))
    return None


def _plain_rows(lines: Sequence[str], separator: str) -> tuple[_Spans, list[int]]:
    """Return the lines and the number of separators in each, or -1 for a blank line."""
    return _single_lines(lines), [line.count(separator) if line.strip() else -1 for line in lines]


def _quoted_rows(lines: Sequence[str], separator: str) -> tuple[_Spans, list[int]] | None:
    """Return the rows of a CSV file and the number of separators in each, or None if no field is quoted correctly.

    A quoted field may contain separators and line breaks.
    """
    if not any(line.startswith('"') or f'{separator}"' in line for line in lines):
        return None
    reader = csv.reader(lines, delimiter=separator, strict=True)
    spans, widths, start = _Spans(), list[int](), 0
    try:
        for fields in reader:
            spans.append(range(start, reader.line_num))
            widths.append(len(fields) - 1)
            start = reader.line_num
    except csv.Error:  # a quotation mark that is part of the text, such as the one in 5" pipes
        return None
    return spans, widths


def _signatures(lines: Sequence[str]) -> tuple[_Spans, list[int]] | None:
    """Return the parts of source code, starting with signatures, hunks of a diff or headings, then the first and last
    lines."""
    spans = _code_spans(lines)
    chosen = [index for index, span in enumerate(spans) if _SIGNATURE.match(lines[span.start])]
    if len(chosen) < 3 or len(chosen) < SIGNATURE_SHARE * len(lines):
        return None
    # If not all fit, those of the outer level come first.
    chosen.sort(key=lambda index: len(lines[spans[index].start]) - len(lines[spans[index].start].lstrip()))
    return spans, list(dict.fromkeys([*chosen, *_ends_inwards(len(spans))]))


def _code_spans(lines: Sequence[str]) -> _Spans:
    """Split source code into spans: one per line, except that a signature or string of several lines is one span."""
    starts: list[int] = []
    number = 0
    while number < len(lines):
        starts.append(number)
        is_signature = _SIGNATURE.match(lines[number]) is not None
        number = _closing_bracket(lines, number) if is_signature else _closing_mark(lines, number)
    return [range(start, stop) for start, stop in pairwise([*starts, len(lines)])]


def _closing_bracket(lines: Sequence[str], start: int) -> int:
    """Return the number of the line after a signature, which ends when its brackets are closed."""
    depth = 0
    for number in range(start, min(start + MAX_SIGNATURE_LINES, len(lines))):
        line = lines[number]
        depth += line.count("(") + line.count("[") - line.count(")") - line.count("]")
        if depth <= 0:
            return number + 1
    return start + 1


def _closing_mark(lines: Sequence[str], start: int) -> int:
    """Return the number of the line after a string of several lines, or the next line if none begins here."""
    mark = next((mark for mark in _STRING_MARKS if lines[start].count(mark) % 2), None)
    if mark is None:
        return start + 1
    ends = (number for number in range(start + 1, len(lines)) if lines[number].count(mark) % 2)
    return next(ends, start) + 1


def _distinct_lines(lines: Sequence[str]) -> tuple[_Spans, list[int]] | None:
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
    order = list(dict.fromkeys([0, len(lines) - 1, *rare, *_ends_inwards(len(lines))]))
    return _single_lines(lines), order


def _both_ends(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """Return as many whole sentences (or tags, or words) from both ends of a text as fit, and how much is left out."""
    for border in (_SENTENCE_END, _WORD_END):
        parts = _end_parts(text, border)
        left = _characters_left_out(len(text))
        room, sizes = max_tokens - count(left) - 2, [0, 0]
        for number in range(len(parts) // 2 * 2):
            end = number % 2
            cost = count(parts[-1 - sizes[1] if end else sizes[0]])
            if cost > room:
                break
            room -= cost
            sizes[end] += 1
        if sizes[0]:
            head, tail = "".join(parts[: sizes[0]]).rstrip(), "".join(parts[len(parts) - sizes[1] :]).strip()
            return "\n".join(filter(None, (head, _characters_left_out(len(text) - len(head) - len(tail)), tail)))
    return _characters_left_out(len(text))


def _end_parts(text: str, border: re.Pattern[str]) -> list[str]:
    """Return the parts of a text that may be shown. Of a very long text, only its two ends are searched for them."""
    if len(text) <= 2 * MAX_END_CHARACTERS:
        return _parts(text, border)
    head = _parts(text[:MAX_END_CHARACTERS], border)[:-1]
    tail = _parts(text[-MAX_END_CHARACTERS:], border)[1:]
    return [*head, *tail]


def _parts(text: str, border: re.Pattern[str]) -> list[str]:
    stops = [0, *(match.end() for match in border.finditer(text)), len(text)]
    return [text[start:stop] for start, stop in pairwise(stops) if start < stop]


def _characters_left_out(count: int) -> str:
    return f"… {count:,} characters left out …"


def _ends_inwards(length: int) -> list[int]:
    """Return all indices in the order first, last, second, last but one, and so on."""
    half = (length + 1) // 2
    pairs = zip(range(half), range(length - 1, length - 1 - half, -1), strict=True)
    return list(dict.fromkeys(number for pair in pairs for number in pair))


def _fill(
    lines: Sequence[str], spans: Sequence[range], order: Sequence[int], max_tokens: int, count: Callable[[str], int]
) -> str:
    """Select whole spans in `order` while they fit, and return them in their original order with notes about gaps."""
    # Lines are numbered as they are read back, where a long line takes several numbers.
    numbers = list(accumulate((sum(1 for _ in _wrap(line)) for line in lines), initial=1))
    gap = _gap(numbers[-1] - 1)
    room, chosen = max_tokens - count(gap), set[int]()
    gap_tokens = count(f"\n{gap}")
    for index in order:
        cost = count(_shown(lines, numbers, spans[index])) + 1
        # A span whose neighbours are not shown adds one more note of a gap.
        cost += 0 if index - 1 in chosen or index + 1 in chosen or index == 0 else gap_tokens
        if cost > room:
            break
        room -= cost
        chosen.add(index)
    return "\n".join(_with_gaps(lines, numbers, [spans[index] for index in sorted(chosen)]))


def _shown(lines: Sequence[str], numbers: Sequence[int], span: range) -> str:
    """Return the numbered lines of a span, or a note if they are too long."""
    length = sum(len(lines[index].rstrip()) for index in span)
    if length <= MAX_LINE_CHARACTERS:
        return "\n".join(f"{numbers[index]}: {lines[index].rstrip()}" for index in span)
    size = f"a line of {length:,}" if len(span) == 1 else f"{len(span):,} lines of {length:,}"
    return f"{numbers[span.start]}: ({size} characters)"


def _with_gaps(lines: Sequence[str], numbers: Sequence[int], spans: Sequence[range]) -> Iterable[str]:
    shown_to = 0
    for span in spans:
        if span.start > shown_to:
            yield _gap(numbers[span.start] - numbers[shown_to])
        yield _shown(lines, numbers, span)
        shown_to = span.stop
    if len(lines) > shown_to:
        yield _gap(numbers[-1] - numbers[shown_to])


def _gap(count: int) -> str:
    return f"… {count:,} lines left out …"

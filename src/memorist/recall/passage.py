"""Cuts a long text to the run of sentences or lines that best matches a question.

Code and tables are cut between lines, never inside one. A passage keeps the heading above it, and a table row keeps its
table's header. The result depends only on the text, the terms and the room.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from memorist.recall.analyze import stemming_language, tokens

CUT = "…"
"""Marks where text was left out."""
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*\|[\s:|-]+\|\s*$")
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+")
ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|cf|No|Fig|approx|ca|bzw|usw|z\.B))\.$"
)
"""Matches an abbreviation with its full stop; search for it in the last eight characters of a sentence."""
HEAD_PIECES = 8
"""How many pieces of a text are used to guess its language."""
_MAX_CHARACTERS = 400
"""A longer sentence is cut at a comma or at a space."""


class _Piece(msgspec.Struct, frozen=True):
    """Represents a sentence or line and its offsets in the text."""

    text: str
    start: int
    stop: int
    heading: int = -1
    """This is the index of the heading above it, or -1 if there is none."""
    table: int = -1
    """This is the index of the first row of its table, or -1 outside tables."""


Read = tuple[list[_Piece], list[float], list[int]]
"""The pieces of a text, with the relevance and the token count of each piece."""


def passage(
    text: str,
    terms: Sequence[str],
    max_tokens: int,
    count: Callable[[str], int],
    cache: dict[str, Read] | None = None,
) -> str:
    """Return the text if it fits. Otherwise return its best passage in at most `max_tokens`, or "" if none fits.

    `cache` stores how texts were split and scored, for a caller that needs several lengths with the same terms.
    """
    if count(text) <= max_tokens:
        return text
    read = cache.get(text) if cache is not None else None
    pieces, worth, costs = read or _read(text, terms, count)
    if cache is not None:
        cache[text] = pieces, worth, costs
    if not pieces:
        return ""
    # A mark on either side, and one token because joining texts may cost more than counting them apart.
    room = max_tokens - 2 * count(CUT) - 1
    order = sorted(range(len(pieces)), key=lambda index: (-worth[index], index))
    # If the best piece does not fit with its marks, another one may. After a few, even short pieces do not fit.
    for index in order[:8]:
        first, last = _grow_run(index, worth, costs, room)
        while last >= first:
            cut = _write_run(text, pieces, first, last, max_tokens, count)
            if cut:
                return cut
            # Counts of pieces only estimate the count of the whole, so the run is shortened at its less relevant end.
            first, last = (first + 1, last) if index > first and worth[first] <= worth[last] else (first, last - 1)
    return _letters(pieces[order[0]].text, room, count)


def _read(text: str, terms: Sequence[str], count: Callable[[str], int]) -> Read:
    pieces = _pieces(text)
    return pieces, _worth(pieces, terms), [count(piece.text) + 1 for piece in pieces]


def _grow_run(index: int, worth: Sequence[float], costs: Sequence[int], room: int) -> tuple[int, int]:
    """Return the first and last piece of the run that grows from a piece while it fits. At each step, the better
    neighbour is added, or the following one if both are equally good."""
    first = last = index
    spent = costs[index]
    while True:
        after = worth[last + 1] if last + 1 < len(costs) and spent + costs[last + 1] <= room else -1.0
        before = worth[first - 1] if first > 0 and spent + costs[first - 1] <= room else -1.0
        if after < 0 and before < 0:
            return first, last
        if after >= before:
            last += 1
            spent += costs[last]
        else:
            first -= 1
            spent += costs[first]


def _write_run(
    text: str, pieces: Sequence[_Piece], first: int, last: int, max_tokens: int, count: Callable[[str], int]
) -> str:
    """Return the text of a run, with its heading and table header if they fit, or "" if the run alone does not fit."""
    body = text[pieces[first].start : pieces[last].stop].strip("\n")
    opened = first > 0 and not body.startswith(CUT)
    closed = last + 1 < len(pieces)
    bare = f"{CUT + ' ' if opened else ''}{body}{' ' + CUT if closed else ''}"
    # A row without its table's header, or a paragraph without its heading, may mean something else.
    lead = [p for p in (pieces[first].heading, pieces[first].table) if 0 <= p < first]
    heads: list[str] = []
    for head in lead:
        heads.append(pieces[head].text.strip("\n"))
        rule = head + 1
        if rule < first and _RULE.match(pieces[rule].text):
            heads.append(pieces[rule].text.strip("\n"))
    if heads:
        full = "\n".join([*heads, CUT, f"{body}{' ' + CUT if closed else ''}"])
        if count(full) <= max_tokens:
            return full
    return bare if count(bare) <= max_tokens else ""


def _letters(text: str, room: int, count: Callable[[str], int]) -> str:
    """Return the start of an overlong piece, cut after any character."""
    if room < 1:
        return ""
    # Text without sentence ends, such as base64 or logs, is cut between any two characters.
    size = min(len(text), 4 * room)
    while size > 0 and count(text[:size] + " " + CUT) > room:
        size = size * 3 // 4
    return f"{text[:size].rstrip()} {CUT}" if size >= 8 else ""


def _worth(pieces: Sequence[_Piece], terms: Sequence[str]) -> list[float]:
    """Return the relevance of each piece, which is the sum of the weights of the question's terms in it. Rare terms
    weigh more."""
    term_set = set(terms)
    language = stemming_language(" ".join(piece.text for piece in pieces[:HEAD_PIECES]))
    has = [term_set.intersection(tokens(piece.text, language)) for piece in pieces]
    spread = {term: sum(term in matches for matches in has) for term in term_set}
    weight = {term: math.log(1 + len(pieces) / n) for term, n in spread.items() if n}
    return [sum(weight[term] for term in matches) for matches in has]


def sentences(text: str) -> list[str]:
    """Return the sentences of prose and the lines of code and tables, in order."""
    return [piece.text for piece in _pieces(text)]


def alone(text: str, number: int) -> str:
    """Return one of the `sentences` of a text, by its index, with its heading, its table header and marks where text is
    left out."""
    return _write_run(text, _pieces(text), number, number, len(text) + 1, len)


def _pieces(text: str) -> list[_Piece]:
    """Return the pieces of a text: sentences of prose, lines of code and tables."""
    out: list[_Piece] = []
    at, fenced = 0, False
    heading = table = -1
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        row = bool(ROW.match(line))
        # The first of several adjacent rows is the header.
        table = (table if table >= 0 else len(out)) if row else -1
        if _FENCE.match(line):
            fenced = not fenced
        if not line.strip():
            continue
        # In a code fence, a line that begins with # is a comment.
        if not fenced and _HEADING.match(line):
            heading = len(out)
        for begin, end in [(0, len(line))] if fenced or row else _sentences(line):
            out.append(_Piece(line[begin:end], start + begin, start + end, heading, table))
    return out


def _sentences(line: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    begin = 0
    for end in [*_ends(line), len(line)]:
        if not line[begin:end].strip():
            continue
        while end - begin > _MAX_CHARACTERS:
            cut = max(line.rfind(", ", begin, begin + _MAX_CHARACTERS), begin)
            cut = cut if cut > begin + _MAX_CHARACTERS // 4 else line.rfind(" ", begin, begin + _MAX_CHARACTERS)
            cut = cut + 1 if cut > begin else begin + _MAX_CHARACTERS
            spans.append((begin, cut))
            begin = cut
        spans.append((begin, end))
        begin = end
    return spans


def _ends(line: str) -> Iterator[int]:
    """Yield the ends of the sentences in a line."""
    for match in _END.finditer(line):
        end = match.end()
        if match[0] != "." or not ABBREVIATION.search(line, max(0, end - 8), end):
            yield end

"""Splits text into chunks at sentences and headings, up to a target size in tokens. Each chunk overlaps the previous
one.

The result is deterministic. A heading always begins a chunk, so an edit in one section does not change the chunks of
the others. A heading directly followed by another heading shares a chunk with it. Table rows and lines of code are
never split. Every chunk is an exact slice of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import msgspec

from ...recall.passage import ABBREVIATION

TARGET_TOKENS = 96
OVERLAP_TOKENS = 16
_WINDOW, _WINDOW_MARGIN = 100_000, 500
_LONG_SENTENCE_CHARACTERS = 4000
"""A sentence with more characters than this is split without counting its tokens first."""

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]++(?=\S)(.+)$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")
# A sentence ends with its mark, closing quotes or brackets, and white space; unspaced scripts need no space.
# Possessive quantifiers keep the match linear on long runs of marks, such as a page of dots.
_SENTENCE_END = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’)\]]*+(?=\s)|[。！？．｡]++["”’）」』】]*+|"""
    r"""\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•]|\d+[.)])[ \t])"""
)
_ROW = re.compile(r"[ \t]*\|")


class Piece(msgspec.Struct, frozen=True):
    """Represents one chunk: text[start:stop] under a heading."""

    start: int
    stop: int
    text: str
    heading: str | None
    tokens: int


class _Section(msgspec.Struct, frozen=True):
    start: int
    stop: int
    heading: str | None


def chunk(
    text: str,
    count: Callable[[str], int],
    *,
    page_starts: Sequence[int] = (),
    target_tokens: int = TARGET_TOKENS,
    overlap_tokens: int = OVERLAP_TOKENS,
) -> list[Piece]:
    """Split a text into chunks, in order. `count` returns the number of tokens in a piece of text, and `page_starts`
    are the offsets of its pages. No chunk continues on the next page.
    """
    pieces: list[Piece] = []
    for section in _sections(text):
        inside = [at for at in page_starts if section.start < at < section.stop]
        for start, stop in pairwise([section.start, *inside, section.stop]):
            spans = list(_sentences(text, start, stop, count, target_tokens))
            pieces.extend(_pack_sentences(text, section, spans, count, target_tokens, overlap_tokens))
    return pieces


def _sections(text: str) -> Iterator[_Section]:
    """Yield each stretch of text between headings, together with the path of the headings above it."""
    path: list[tuple[int, str]] = []
    # Only the text since the last heading is looked at for words: a page of headings would be read again for each.
    start = last = 0
    heading = None
    for at, level, title in _headings(text):
        path = [(depth, name) for depth, name in path if depth < level] + [(level, title)]
        if _has_words(text[last:at], heading is not None):
            yield _Section(start, at, heading)
            start = at
        last = at
        heading = " > ".join(name for _, name in path)
    if start < len(text):
        yield _Section(start, len(text), heading)


def _has_words(part: str, headed: bool) -> bool:
    """Return whether there is any text between one heading and the next.

    Headings without text belong to the section after them.
    """
    lines = [line for line in part.splitlines() if line.strip()]
    if headed and len(lines) == 2 and _SETEXT.match(lines[1]):
        return False
    return any(not _ATX.match(line) for line in lines)


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offset, level and title of each heading, ignoring lines inside code fences."""
    at, fenced = 0, None
    before: tuple[int, str] | None = None
    for line in text.splitlines(keepends=True):
        if line.isspace():
            before, at = None, at + len(line)
            continue
        bare = line.rstrip("\r\n")
        # Only the mark that opened a fence closes it, so that one may show the other.
        fence = _FENCE.match(bare)
        if fence and fenced in (None, fence[1]):
            fenced = None if fenced else fence[1]
        elif fenced is None:
            atx, setext = _ATX.match(bare), _SETEXT.match(bare)
            if atx:
                yield at, len(atx[1]), _title(atx[2])
            elif setext and before is not None and len(setext[1]) >= 3:
                yield before[0], 1 if setext[1][0] == "=" else 2, before[1].strip()
        before = (at, bare) if bare.strip() and fenced is None and not _ATX.match(bare) else None
        at += len(line)


def _title(written: str) -> str:
    """Return a heading's title without closing hashes."""
    words = written.rstrip(" \t")
    bare = words.rstrip("#")
    return bare.rstrip(" \t") if bare == "" or bare[-1] in " \t" else words


def _sentences(
    text: str, start: int, stop: int, count: Callable[[str], int], target: int
) -> Iterator[tuple[int, int, int]]:
    """Return the spans of sentences with their token counts. A sentence longer than a chunk is split between words."""
    at = start
    for end, mark in _ends(text, start, stop):
        # "Dr. Smith" does not end after "Dr.", so the sentence goes on to the next mark.
        if mark == "." and ABBREVIATION.search(text, max(at, end - 8), end):
            continue
        left, right = _trim_span(text, at, end)
        if left < right:
            yield from _short_enough(text, left, right, count, target)
        at = end


def _ends(text: str, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """Yield each position where a sentence may end, together with its punctuation mark. Table rows and lines of code
    end only at the end of their line.
    """
    at, prose, fenced = start, start, False
    for line in text[start:stop].splitlines(keepends=True):
        begin, at = at, at + len(line)
        if line.isspace() and not fenced:
            continue
        fence = bool(_FENCE.match(line))
        if fence or fenced or _ROW.match(line):
            yield from _sentence_ends(text, prose, begin)
            yield begin, ""
            yield at, ""
            prose, fenced = at, fenced != fence
    yield from _sentence_ends(text, prose, stop)
    yield stop, ""


def _sentence_ends(text: str, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """Yield the ends of sentences in prose.

    The search works window by window, because a single long search would block the interpreter. A mark longer than
    `_WINDOW_MARGIN` may count as two at the end of a window.
    """
    for window in range(start, stop, _WINDOW):
        end = window + _WINDOW
        for sentence_end in _SENTENCE_END.finditer(text, window, min(end + _WINDOW_MARGIN, stop)):
            if sentence_end.start() >= end:
                break
            yield sentence_end.end(), sentence_end[0]


def _short_enough(
    text: str, start: int, stop: int, count: Callable[[str], int], target: int
) -> Iterator[tuple[int, int, int]]:
    tokens = count(text[start:stop]) if stop - start <= _LONG_SENTENCE_CHARACTERS else target + 1
    if tokens <= target or stop - start < 2:
        yield start, stop, tokens
        return
    # In halves, so that a text without any border is still cut in logarithmic depth.
    middle = _border_near(text, start, stop)
    for left, right in ((start, middle), (middle, stop)):
        left, right = _trim_span(text, left, right)
        if left < right:
            yield from _short_enough(text, left, right, count, target)


def _border_near(text: str, start: int, stop: int) -> int:
    """Return a place near the middle to cut: after a line, a comma or a word, or anywhere if there is no such place."""
    middle = (start + stop) // 2
    for mark in ("\n", ", ", " "):
        before, after = text.rfind(mark, start + 1, middle), text.find(mark, middle, stop - 1)
        near = [at + len(mark) for at in (before, after) if at > start and abs(at - middle) < (stop - start) // 4]
        if near:
            return min(near, key=lambda at: abs(at - middle))
    return middle


def _trim_span(text: str, start: int, stop: int) -> tuple[int, int]:
    piece = text[start:stop]
    left = len(piece) - len(piece.lstrip())
    return start + left, stop - (len(piece) - len(piece.rstrip())) if left < len(piece) else start + left


def _pack_sentences(
    text: str,
    section: _Section,
    spans: list[tuple[int, int, int]],
    count: Callable[[str], int],
    target: int,
    overlap: int,
) -> Iterator[Piece]:
    """Pack sentences into chunks of up to the target size.

    Each chunk begins with the last few sentences of the previous one.
    """
    first = 0
    while first < len(spans):
        last, tokens = first, spans[first][2]
        while last + 1 < len(spans) and tokens + spans[last + 1][2] <= target:
            last += 1
            tokens += spans[last][2]
        start, stop = spans[first][0], spans[last][1]
        # Counted as a whole: the tokens of the sentences do not add up, because a tokenizer joins across their borders.
        yield Piece(start, stop, text[start:stop], section.heading, count(text[start:stop]))
        if last + 1 >= len(spans):
            return
        first = _find_overlap(spans, first, last, overlap, target)


def _find_overlap(spans: list[tuple[int, int, int]], first: int, last: int, overlap: int, target: int) -> int:
    """Return the first sentence of the next chunk: as far back as the overlap allows, provided that the next new
    sentence still fits.
    """
    begin, room = last + 1, min(overlap, target - spans[last + 1][2])
    while begin - 1 > first and spans[begin - 1][2] <= room:
        begin -= 1
        room -= spans[begin][2]
    return begin

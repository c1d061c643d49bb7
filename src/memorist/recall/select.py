"""Chooses hits from a ranking by dropping near-duplicates, merging neighbouring chunks, and filling a token budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from memorist.recall.passage import passage
from memorist.recall.ranking import Row

DUPLICATE_SIMILARITY = 0.9
"""Two texts are near-duplicates if the Jaccard similarity of their terms is at least this value."""
MIN_OVERLAP_CHARACTERS = 12
"""The minimum number of characters for text to count as repeated where two chunks meet."""
MAX_MERGED_CHUNKS = 4
"""The maximum number of chunks from one document to merge into one hit."""
MIN_HIT_TOKENS = 24
"""A hit is never cut to fewer tokens than this."""
Position = tuple[tuple[str, str, str], int]
"""The (kind, namespace, document) of a chunk, and its number in the document."""


def distinct(ranked: Iterable[Row], limit: int | None = None) -> tuple[list[Row], list[Row]]:
    """Return the best of each group of near-duplicates, up to `limit`, and the others."""
    unique: list[Row] = []
    repeats: list[Row] = []
    seen: dict[str, dict[int, list[frozenset[str]]]] = {}
    for row in ranked:
        if limit is not None and len(unique) >= limit:
            break
        terms = frozenset(row.entry.terms.split())
        others = seen.setdefault(row.entry.speaker or "", {})
        low, high = math.ceil(DUPLICATE_SIMILARITY * len(terms)), math.floor(len(terms) / DUPLICATE_SIMILARITY)
        if any(_is_same(terms, other) for size in range(low, high + 1) for other in others.get(size, ())):
            repeats.append(row)
        else:
            unique.append(row)
            others.setdefault(len(terms), []).append(terms)
    return unique, repeats


def chosen(ranked: Iterable[Row], count: int, most: int) -> list[Row]:
    """Return up to `most` hits, best first.

    Near-duplicates are included only if there are fewer than `count` other hits.
    """
    unique, repeats = distinct(ranked, most)
    if len(unique) >= count:
        return unique
    taken = unique + repeats[: most - len(unique)]
    return sorted(taken, key=lambda row: -row.score)


def without_repeats(rows: Iterable[Row]) -> list[Row]:
    """Return the rows, except messages that repeat an earlier one word for word.

    Messages are compared by text rather than by terms, because "I don't live in Porto" has the same terms as "I live in
    Porto".
    """
    statements: set[tuple[str, str]] = set()
    unique: list[Row] = []
    for row in rows:
        words = (row.entry.speaker or "", row.text)
        if row.entry.kind != "message" or not row.text or words not in statements:
            unique.append(row)
        statements.add(words)
    return unique


def _is_same(a: frozenset[str], b: frozenset[str]) -> bool:
    # Texts without any term, such as images, are never duplicates of each other.
    shared = len(a & b)
    return shared > 0 and shared >= DUPLICATE_SIMILARITY * (len(a) + len(b) - shared)


def merge_chunks(ranked: Sequence[Row]) -> list[Row]:
    """Merge consecutive chunks of one document into one hit, at the rank of the best chunk."""
    chunks = {_position(row): row for row in ranked if row.entry.kind == "document"}
    out: list[Row] = []
    used: set[Position] = set()
    for row in ranked:
        key = _position(row)
        if key in used:
            continue
        if key not in chunks:
            out.append(row)
            continue
        run = _run(key, chunks, used)
        used.update(map(_position, run))
        text = _join_texts([part.text for part in run])
        out.append(msgspec.structs.replace(row, text=text))
    return out


def _position(row: Row) -> Position:
    # Ids are unique only within a kind and a namespace.
    entry = row.entry
    return (entry.kind, entry.ns, entry.parent), entry.seq


def _run(key: Position, chunks: dict[Position, Row], used: set[Position]) -> list[Row]:
    """Return at most `MAX_MERGED_CHUNKS` consecutive chunks around one chunk, adding later ones first."""
    whole, first = key
    last = first
    while last - first + 1 < MAX_MERGED_CHUNKS:
        if (whole, last + 1) in chunks and (whole, last + 1) not in used:
            last += 1
        elif (whole, first - 1) in chunks and (whole, first - 1) not in used:
            first -= 1
        else:
            break
    return [chunks[whole, number] for number in range(first, last + 1)]


def _join_texts(texts: Sequence[str]) -> str:
    """Join texts, dropping the text that chunking repeats where they meet."""
    out = texts[0]
    for text in texts[1:]:
        longest = min(len(out), len(text))
        overlap = next((n for n in range(longest, MIN_OVERLAP_CHARACTERS - 1, -1) if out.endswith(text[:n])), 0)
        out += text[overlap:] if overlap else "\n" + text
    return out


def fill(ranked: Sequence[Row], max_tokens: int, count: Callable[[str], int], terms: Sequence[str] = ()) -> list[Row]:
    """Return the best hits that fit a token budget. An overlong hit is cut to its best passage."""
    out: list[Row] = []
    room = max_tokens
    for row in ranked:
        text = row.text
        cost = count(text)
        if cost > room and (not out or room >= MIN_HIT_TOKENS):
            text = passage(text, terms, room, count)
            cost = count(text) if text else room + 1
        if cost <= room:
            out.append(msgspec.structs.replace(row, text=text))
            room -= cost
    return out

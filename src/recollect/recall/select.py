"""From a ranking to an answer: near-duplicates out, neighbouring chunks merged, a token budget filled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from recollect.recall.passage import passage
from recollect.recall.rank import Scored

DUPLICATE = 0.9
"""Two texts that share this much of their terms say the same."""
OVERLAP = 12
"""Characters that must repeat at a border before they are taken for an overlap."""
MIN_SHARE = 0.35
"""A budget is not filled up with hits that score less than this share of the best."""
MOST_MERGED = 4
"""Chunks of one document that become one hit at most: a passage, not the document."""
LEAST_TOKENS = 24
"""What is left of a hit that was cut must be worth reading."""
Place = tuple[tuple[str, str, str], int]
"""What a chunk is part of, and its place in that."""


def distinct(ranked: Iterable[Scored], limit: int | None = None) -> tuple[list[Scored], list[Scored]]:
    """The first of each group of near-duplicates, in order, up to `limit`; and the repeats that were passed over."""
    kept: list[Scored] = []
    repeats: list[Scored] = []
    seen: dict[str, dict[int, list[frozenset[str]]]] = {}
    for scored in ranked:
        if limit is not None and len(kept) >= limit:
            break
        terms = frozenset(scored.entry.terms.split())
        others = seen.setdefault(scored.entry.speaker, {})
        low, high = math.ceil(DUPLICATE * len(terms)), math.floor(len(terms) / DUPLICATE)
        if any(_same(terms, other) for size in range(low, high + 1) for other in others.get(size, ())):
            repeats.append(scored)
        else:
            kept.append(scored)
            others.setdefault(len(terms), []).append(terms)
    return kept, repeats


def chosen(ranked: Iterable[Scored], count: int, most: int) -> list[Scored]:
    """Up to `most`, best first; repeats come in only where `count` is not reached without them."""
    kept, repeats = distinct(ranked, most)
    if len(kept) >= count:
        return kept
    taken = kept + repeats[: most - len(kept)]
    return sorted(taken, key=lambda scored: -scored.score)


def _same(a: frozenset[str], b: frozenset[str]) -> bool:
    # Two texts without a word, such as pictures, are not told apart by their terms.
    shared = len(a & b)
    return shared > 0 and shared >= DUPLICATE * (len(a) + len(b) - shared)


def merge_chunks(ranked: Sequence[Scored], *, separator: str = "\n") -> list[Scored]:
    """Chunks of one document that follow each other become one hit, at the place of the best of them."""
    chunks = {_place(s): s for s in ranked if s.entry.kind == "chunk" and s.entry.thread}
    out: list[Scored] = []
    used: set[Place] = set()
    for scored in ranked:
        key = _place(scored)
        if key in used:
            continue
        if key not in chunks:
            out.append(scored)
            continue
        run = _run(key, chunks, used)
        used.update(map(_place, run))
        text = _joined([part.entry.text for part in run], separator)
        out.append(msgspec.structs.replace(scored, entry=msgspec.structs.replace(scored.entry, text=text)))
    return out


def _place(scored: Scored) -> Place:
    # Documents of two namespaces may have one id, and a thread may have it too.
    entry = scored.entry
    return (entry.kind, entry.namespace, entry.thread), entry.seq


def _run(key: Place, chunks: dict[Place, Scored], used: set[Place]) -> list[Scored]:
    """The chunks around one that may join it: what follows before what precedes."""
    whole, first = key
    last = first
    while last - first + 1 < MOST_MERGED:
        if (whole, last + 1) in chunks and (whole, last + 1) not in used:
            last += 1
        elif (whole, first - 1) in chunks and (whole, first - 1) not in used:
            first -= 1
        else:
            break
    return [chunks[whole, place] for place in range(first, last + 1)]


def _joined(texts: Sequence[str], separator: str) -> str:
    """Texts one after the other, without the words that chunking repeats at their borders."""
    out = texts[0]
    for text in texts[1:]:
        longest = min(len(out), len(text))
        overlap = next((n for n in range(longest, OVERLAP - 1, -1) if out.endswith(text[:n])), 0)
        out += text[overlap:] if overlap else separator + text
    return out


def fill(
    ranked: Sequence[Scored], max_tokens: int, count: Callable[[str], int], terms: Sequence[str] = ()
) -> list[Scored]:
    """The most useful set that fits: best first, the best cut to its passage rather than left out."""
    out: list[Scored] = []
    left = max_tokens
    for scored in ranked:
        if out and scored.score < MIN_SHARE * out[0].score:
            break
        text = scored.entry.text
        cost = count(text)
        if cost > left and (not out or left >= LEAST_TOKENS):
            text = passage(text, terms, left, count)
            cost = count(text) if text else left + 1
        if cost <= left:
            out.append(msgspec.structs.replace(scored, entry=msgspec.structs.replace(scored.entry, text=text)))
            left -= cost
    return out

"""Chooses hits from a ranking: drops near-duplicates, merges neighbouring chunks, fills a token budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from memorist.recall.passage import passage
from memorist.recall.rank import Scored

DUPLICATE = 0.9
"""Two texts are near-duplicates if the Jaccard similarity of their terms is at least this."""
OVERLAP = 12
"""The fewest characters that count as text repeated by chunking where two chunks meet."""
MIN_SHARE = 0.35
"""A token budget is not filled with hits that score less than this share of the best."""
MOST_MERGED = 4
"""The most chunks of one document that are merged into one hit."""
LEAST_TOKENS = 24
"""A hit is not cut to fewer tokens than this."""
Place = tuple[tuple[str, str, str], int]
"""The (kind, namespace, document) of a chunk, and its number in the document."""


def distinct(ranked: Iterable[Scored], limit: int | None = None) -> tuple[list[Scored], list[Scored]]:
    """(kept, repeats): the best of each group of near-duplicates, up to `limit`, and the duplicates left out."""
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
    """Up to `most` hits, best first; near-duplicates are included only if there are fewer than `count` without."""
    kept, repeats = distinct(ranked, most)
    if len(kept) >= count:
        return kept
    taken = kept + repeats[: most - len(kept)]
    return sorted(taken, key=lambda scored: -scored.score)


def _same(a: frozenset[str], b: frozenset[str]) -> bool:
    # Texts without any term, such as images, are never duplicates of each other.
    shared = len(a & b)
    return shared > 0 and shared >= DUPLICATE * (len(a) + len(b) - shared)


def merge_chunks(ranked: Sequence[Scored], *, separator: str = "\n") -> list[Scored]:
    """Merge consecutive chunks of one document into one hit, at the rank of the best of them."""
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
    # Ids are unique only within a kind and a namespace.
    entry = scored.entry
    return (entry.kind, entry.namespace, entry.thread), entry.seq


def _run(key: Place, chunks: dict[Place, Scored], used: set[Place]) -> list[Scored]:
    """The consecutive chunks around one, at most `MOST_MERGED`, later ones taken first."""
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
    """Texts joined, without the text that chunking repeats where they meet."""
    out = texts[0]
    for text in texts[1:]:
        longest = min(len(out), len(text))
        overlap = next((n for n in range(longest, OVERLAP - 1, -1) if out.endswith(text[:n])), 0)
        out += text[overlap:] if overlap else separator + text
    return out


def fill(
    ranked: Sequence[Scored], max_tokens: int, count: Callable[[str], int], terms: Sequence[str] = ()
) -> list[Scored]:
    """The best hits that fit a token budget; one that is too long is cut to its best passage."""
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

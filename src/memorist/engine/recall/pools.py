"""Prepares candidates for ranking: stored entries as the columns that `memorist.recall` ranks.

Production and benchmark both use `Pool`, so that weights are trained on exactly what is ranked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from ...ports import to_micros
from ...records import Entry, Mark
from .candidates import SUPERSEDED, Found

TRUST = {"user": 1.0, "system": 1.0, "assistant": 1.0, "processor": 1.0, "document": 0.9, "tool": 0.8, "web": 0.7}


class Pool(msgspec.Struct):
    """Candidates of one question with all that ranking needs; the first `allowed` may be hits, the rest lend
    evidence."""

    query: Any
    entries: list[Entry]
    allowed: int
    columns: Any
    stats: Any
    counts: dict[str, int]
    similarity: Any = None
    embedder: str | None = None
    """The name of the embedder that made the question's vector."""

    def features(self) -> Any:
        """Every feature by name."""
        from ...recall.features import features

        return features(self.query, self.columns, self.stats, self.counts, self.similarity)

    def ranking(self) -> Any:
        """The candidates in order."""
        from ...recall.rank import ranking

        return ranking(self.query, self.columns, self.stats, self.counts, self.similarity)

    def cosine(self, place: int) -> float | None:
        """The cosine of a candidate to the question; None if there are no vectors to compare."""
        entry, similarity = self.entries[place], self.similarity
        if similarity is None or entry.vector is None or entry.embedder != self.embedder:
            return None
        return float(similarity.cosine[place])


def make_pool(
    query: Any,
    vector: tuple[str, Any] | None,
    entries: Sequence[Entry],
    leads: Sequence[Entry],
    scopes: Sequence[tuple[str, Mark]],
    found: Found,
    contextual: bool,
) -> Pool:
    """Candidates of all namespaces together; statistics are those of the namespaces together.

    `vector` is the question's, with the name of the embedder that made it.
    """
    both = [*entries, *leads]
    similarity = _similarity(both, vector, found, contextual)
    name = None if vector is None else vector[0]
    return Pool(query, both, len(entries), _columns(both), statistics_of(scopes), found.counts, similarity, name)


def statistics_of(scopes: Sequence[tuple[str, Mark]]) -> Any:
    """The counts of several namespaces as one."""
    from ...recall.entry import ScopeStats

    details = [mark.detail for _, mark in scopes]
    total = sum(detail.get("entries", 0) for detail in details)
    return ScopeStats(
        entries=total,
        mean_terms=sum(detail.get("terms", 0) for detail in details) / max(total, 1),
        assistant_entries=sum(detail.get("assistant", 0) for detail in details),
        message_entries=sum(detail.get("messages", 0) for detail in details),
        speakers=tuple(dict.fromkeys(name for detail in details for name in detail.get("speakers", ()))),
    )


def _similarity(entries: Sequence[Entry], vector: tuple[str, Any] | None, found: Found, contextual: bool) -> Any:
    """Cosines on one scale: those of an earlier embedder are rescaled to the mean and deviation of the present one."""
    from ...recall.features import Similarity

    if vector is None:
        return None
    name, unit = vector
    kinds = [(name, unit, _spread(found.spread))]
    kinds += [(other, by, _spread(spread)) for other, (by, spread) in found.earlier.items() if by is not None]
    scale = next((spread for _, _, spread in kinds if spread is not None), None)
    if scale is None:
        return None
    mean, std = scale
    cosines = _cosines(entries, name, unit, mean)
    for other, by, spread in kinds[1:]:
        if spread is not None:
            place, theirs = [i for i, entry in enumerate(entries) if entry.embedder == other], spread
            raw = _cosines([entries[i] for i in place], other, by, theirs[0])
            cosines[place] = mean + std * (raw - theirs[0]) / (theirs[1] + 1e-6)
    return Similarity(cosines, mean, std, contextual)


def _spread(parts: Sequence[tuple[int, float, float]]) -> tuple[float, float] | None:
    """Mean and deviation over several namespaces; None where none has vectors."""
    weight = sum(count for count, _, _ in parts)
    if not weight:
        return None
    return sum(n * mean for n, mean, _ in parts) / weight, sum(n * std for n, _, std in parts) / weight


def _columns(entries: Sequence[Entry]) -> Any:
    """Entries as a table of columns; making an object of each would cost as much as ranking them."""
    from ...recall.features import table

    return table(
        kind=[e.kind for e in entries],
        id=[e.id for e in entries],
        thread=[e.parent or e.id for e in entries],
        seq=[e.seq for e in entries],
        role=[e.role or "user" for e in entries],
        speaker=[e.speaker or "" for e in entries],
        created_at=[to_micros(e.created_at) for e in entries],
        terms=[e.terms for e in entries],
        context_terms=[e.context_terms for e in entries],
        signals=[e.signals for e in entries],
        prior=[(e.confidence, e.uses, TRUST.get(e.trust, 0.8)) for e in entries],
        source=[e.source for e in entries],
        replaced_by=[e.metadata.get(SUPERSEDED) for e in entries],
    )


def _cosines(entries: Sequence[Entry], name: str, unit: Any, missing: float) -> Any:
    """The cosine of each entry; `missing` where it has no vector of this embedder."""
    import numpy as np

    out = np.full(len(entries), missing, np.float64)
    width = len(unit) + 4
    have = [
        i
        for i, entry in enumerate(entries)
        if entry.vector is not None and entry.embedder == name and len(entry.vector) == width
    ]
    if have:
        raw = np.frombuffer(b"".join([entries[i].vector or b"" for i in have]), np.uint8).reshape(len(have), width)
        scales = raw[:, :4].copy().view("<f4")[:, 0]
        out[have] = (raw[:, 4:].view(np.int8).astype(np.float32) @ unit) * scales
    return out


def in_order(pool: Pool, ranking: Any, min_score: float | None) -> Iterator[Any]:
    """The candidates that may be hits, best first, made lazily."""
    from ...recall.rank import Scored

    for place in ranking.order:
        score = float(ranking.score[place])
        if min_score is not None and score < min_score:
            return
        if place < pool.allowed:
            yield Scored(_seen(pool.entries[place]), score, place)


def _seen(entry: Entry) -> Any:
    """A stored entry as ranking sees it."""
    return _seen_type()(
        kind="chunk" if entry.kind == "document" else entry.kind,
        id=entry.id,
        namespace=entry.ns,
        thread=entry.parent,
        seq=entry.seq,
        role=entry.role or "user",
        speaker=entry.speaker or "",
        created_at=to_micros(entry.created_at),
        confidence=entry.confidence,
        uses=entry.uses,
        trust=TRUST.get(entry.trust, 0.8),
        source=entry.source,
        metadata={"trust": entry.trust, "superseded": entry.metadata.get(SUPERSEDED)},
        terms=entry.terms,
        context_terms=entry.context_terms,
        signals=entry.signals,
    )


@cache
def _seen_type() -> Any:
    from ...recall.entry import Candidate as Seen

    return Seen

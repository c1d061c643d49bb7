"""Defines a pool, which contains the candidates for one question as stored entries and everything else that ranking
needs.

Production and benchmarks both rank pools, so that weights are fitted on exactly the data that is ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from memorist.recall.features import Floats, Matches, ScopeStats, Similarity, Table, features, match, table_of
from memorist.recall.query import Query
from memorist.records import Entry, NamespaceStats

Vectors = NDArray[np.float32]
"""Unit vectors of the whole question and then of each of its parts."""
Spread = tuple[int, float, float]
"""The number of vectors in a namespace, and the mean and standard deviation of their cosine similarities to the
question."""


class QuestionVectors(msgspec.Struct, frozen=True):
    """Holds a question's vectors from one embedder and the spread of their cosines in each namespace."""

    embedder: str
    vectors: Vectors
    spread: Sequence[Spread]


class Pool:
    """Holds the candidates for one question."""

    def __init__(
        self,
        query: Query,
        entries: Sequence[Entry],
        stats: ScopeStats,
        counts: Mapping[str, int],
        searches: Sequence[QuestionVectors] = (),
    ) -> None:
        self.query = query
        self.entries = list(entries)
        self.stats = stats
        self.counts = dict(counts)
        self.embedder = searches[0].embedder if searches else None
        """The name of the embedder that computed the question's vector."""
        self.similarity = _similarity(self.entries, searches)

    @cached_property
    def table(self) -> Table:
        """These are the candidates as columns."""
        return table_of(self.entries)

    @cached_property
    def matches(self) -> Matches:
        """This describes how the words of the question match."""
        return match(self.query, self.table, self.stats, self.counts)

    def features(self) -> dict[str, Floats]:
        """Return every feature by name."""
        return features(self.query, self.table, self.stats, self.matches, self.similarity)

    def cosine(self, index: int) -> float | None:
        """Return the cosine similarity between a candidate and the question, or None if there are no vectors to
        compare."""
        entry = self.entries[index]
        if self.similarity is None or entry.vector is None or entry.embedder != self.embedder:
            return None
        return float(self.similarity.cosine[index])


def stats_of(namespaces: Sequence[NamespaceStats]) -> ScopeStats:
    """Return the combined counts of several namespaces."""
    total = sum(stats.entries for stats in namespaces)
    return ScopeStats(
        entries=total,
        mean_terms=sum(stats.terms for stats in namespaces) / max(total, 1),
        assistant_entries=sum(stats.assistant for stats in namespaces),
        speakers=tuple(dict.fromkeys(name for stats in namespaces for name in stats.speakers)),
    )


def _similarity(entries: Sequence[Entry], searches: Sequence[QuestionVectors]) -> Similarity | None:
    """Return all cosines on the same scale. Those from an earlier embedder are rescaled to the mean and deviation of
    the current one."""
    scales = [(question, scale) for question in searches if (scale := _joined_spread(question.spread)) is not None]
    if not scales:
        return None
    mean, std = scales[0][1]
    # A candidate without a vector gets the mean, so that it is neither near nor far.
    whole, part = np.full(len(entries), mean, np.float64), np.full(len(entries), mean, np.float64)
    for question, (own_mean, own_std) in scales:
        indices, cosines = _cosines(entries, question)
        if not indices:
            continue
        # Cosines of two embedders cannot be compared. Their distances from their own means, in deviations, can.
        level = mean + std * (cosines - own_mean) / (own_std + 1e-6)
        whole[indices], part[indices] = level[:, 0], level.max(axis=1)
    return Similarity(whole, part, mean, std)


def _joined_spread(parts: Sequence[Spread]) -> tuple[float, float] | None:
    """Return the mean and deviation over several namespaces, or None if none has vectors."""
    weight = sum(count for count, _, _ in parts)
    if not weight:
        return None
    return sum(n * mean for n, mean, _ in parts) / weight, sum(n * std for n, _, std in parts) / weight


def _cosines(entries: Sequence[Entry], search: QuestionVectors) -> tuple[list[int], Floats]:
    """Return the positions of the entries that have a vector from this embedder, and their cosines to each of the
    question's vectors."""
    width = search.vectors.shape[1] + 4
    indices = [
        index
        for index, entry in enumerate(entries)
        if entry.vector is not None and entry.embedder == search.embedder and len(entry.vector) == width
    ]
    # One product for all candidates: decoding each vector by itself would cost more than all else in ranking.
    raw = np.frombuffer(b"".join([entries[index].vector or b"" for index in indices]), np.uint8)
    raw = raw.reshape(len(indices), width)
    scales = raw[:, :4].copy().view("<f4")
    return indices, ((raw[:, 4:].view(np.int8).astype(np.float32) @ search.vectors.T) * scales).astype(np.float64)

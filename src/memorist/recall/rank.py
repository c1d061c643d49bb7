"""Ranks candidates by a weighted sum of their features (a linear model), and says which features moved each hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from memorist.recall.entry import Candidate, ScopeStats
from memorist.recall.features import Columns, Floats, Similarity, columns, features, matrix, talk
from memorist.recall.hit import Reason
from memorist.recall.query import Query
from memorist.recall.weights import CENTRE, TABLE

GROUPS = {
    "text": ("text", "text_best", "both", "both_best", "pairs"),
    "context": ("context", "before", "after", "cosine_previous", "cosine_around"),
    "vector": ("cosine", "cosine_standard"),
    "session": ("session_terms", "session_best", "session_cosine"),
    "speaker": ("speaker", "speaker_first", "second_other", "user", "own", "own_first"),
    "date": ("date", "date_near", "when_times"),
    "recency": ("recency",),
    "standing": ("standing", "standing_near", "orders", "orders_near"),
    "fact": ("fact", "led"),
    "superseded": ("superseded",),
    "replaces": ("replaces",),
    "confidence": ("confidence", "uses", "trust"),
}
"""Features grouped into the signals that `Hit.reasons` shows; features in no group are shown as `form`."""

AHEAD = 0.1
"""By how much what replaced a statement outranks it, in log-odds."""

Weights = Mapping[str, tuple[tuple[float, float, float], ...]]


class Scored(msgspec.Struct, frozen=True):
    """A candidate with its score between 0 and 1; `place` is its index among the candidates."""

    entry: Candidate
    score: float
    place: int
    reasons: tuple[Reason, ...] = ()
    pool: int = 0
    """Index of the question that found it, where several were asked."""


class Ranking(msgspec.Struct, frozen=True):
    """The order and scores of candidates, with the contribution of each feature (column) to each of them (row)."""

    order: list[int]
    score: Floats
    parts: Floats
    names: list[str]

    def reasons(self, places: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
        """The reasons of the candidates at these indices."""
        return _reasons(self.parts, self.names, places)


def ranking(
    query: Query,
    table: Columns,
    stats: ScopeStats,
    frequency: Mapping[str, int],
    similarity: Similarity | None = None,
    *,
    weights: Weights = TABLE,
) -> Ranking:
    """Score every candidate."""
    found = features(query, table, stats, frequency, similarity)
    column = 1 if similarity is None else 2 if similarity.contextual else 0
    names = [name for name in weights if name in found]
    kind = talk(query, stats)
    parts = matrix(found, names) * np.array([weights[name][kind][column] for name in names])
    raw = parts.sum(axis=1)
    if len(table.replaced[0]) and not query.past:
        lift = _lift(raw, table)
        parts, names, raw = np.column_stack([parts, lift]), [*names, "replaces"], raw + lift
    score = 1.0 / (1.0 + np.exp(np.clip(CENTRE - raw, -60, 60)))
    return Ranking(_order(raw, table), score, parts, names)


def _lift(raw: Floats, table: Columns) -> Floats:
    """What each candidate gains so that a fact, and the message that says it, outrank the statements it replaced."""
    out = np.zeros(table.size)
    said = dict(zip(table.leads[0].tolist(), table.leads[1].tolist(), strict=True))
    for old, fact in zip(*table.replaced, strict=True):
        for new in {fact, said.get(int(fact), fact)}:
            out[new] = max(out[new], raw[old] + AHEAD - raw[new])
    return out


def rank(
    query: Query,
    candidates: Sequence[Candidate],
    stats: ScopeStats,
    frequency: Mapping[str, int],
    similarity: Similarity | None = None,
    *,
    weights: Weights = TABLE,
    explain: int = 0,
) -> list[Scored]:
    """Every candidate, best first; the first `explain` with reasons."""
    if not candidates:
        return []
    ranked = ranking(query, columns(candidates), stats, frequency, similarity, weights=weights)
    reasons = ranked.reasons(ranked.order[:explain])
    return [Scored(candidates[i], float(ranked.score[i]), i, reasons.get(i, ())) for i in ranked.order]


def _order(raw: Floats, table: Columns) -> list[int]:
    """Indices best first; ties by newest, then by kind and id, so that every store gives the same order."""
    value = -raw.round(9)
    order = np.lexsort((-table.created_at, value))
    by_value, by_time = value[order], table.created_at[order]
    if not ((np.diff(by_value) == 0) & (np.diff(by_time) == 0)).any():
        return [int(i) for i in order]
    keys = list(zip(value.tolist(), (-table.created_at).tolist(), table.kind, table.id, strict=True))
    return sorted(range(table.size), key=keys.__getitem__)


def _reasons(parts: Floats, names: Sequence[str], places: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
    """For each index, the signals that moved its score by 0.05 or more, strongest first."""
    if not places:
        return {}
    groups, members = _grouping(tuple(names))
    shares = parts @ members
    chosen = shares[list(places)]
    ranks = ((shares[None] > chosen[:, None]).sum(axis=1) + 1).tolist()
    out: dict[int, tuple[Reason, ...]] = {}
    for place, values, above in zip(places, chosen.tolist(), ranks, strict=True):
        found = [
            Reason(group, round(value, 4), rank)
            for group, value, rank in zip(groups, values, above, strict=True)
            if abs(value) >= 0.05
        ]
        out[place] = tuple(sorted(found, key=lambda reason: -abs(reason.weight)))
    return out


@lru_cache(64)
def _grouping(names: tuple[str, ...]) -> tuple[tuple[str, ...], Floats]:
    """The names of the groups, and a 0/1 matrix of which feature (row) is in which group (column)."""
    grouped = {name for members in GROUPS.values() for name in members}
    groups = {**GROUPS, "form": tuple(name for name in names if name not in grouped)}
    inside = [[float(name in members) for members in groups.values()] for name in names]
    return tuple(groups), np.array(inside)

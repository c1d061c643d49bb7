"""Candidates to ranked hits: a weighted blend of features, each hit with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from recollect.recall.entry import Entry, ScopeStats
from recollect.recall.features import Floats, Similarity, features, matrix
from recollect.recall.hit import Reason
from recollect.recall.query import Query
from recollect.recall.weights import CENTRE, TABLE

GROUPS = {
    "text": ("text", "text_best", "both", "both_best", "pairs"),
    "context": ("context", "before", "after", "cosine_previous", "cosine_around"),
    "vector": ("cosine", "cosine_standard"),
    "session": ("session_terms", "session_best", "session_cosine"),
    "speaker": ("speaker", "speaker_first", "second_other", "user"),
    "date": ("date", "date_near", "when_times"),
    "recency": ("recency", "recency_people"),
    "standing": ("standing",),
    "confidence": ("confidence", "uses", "trust"),
}
"""Signals shown to people; what is in none of them is `form`: length, questions, reactions."""

Weights = Mapping[str, tuple[float, float]]


class Scored(msgspec.Struct, frozen=True):
    """A candidate with its score between 0 and 1; `place` is where it was in the candidates."""

    entry: Entry
    score: float
    place: int
    reasons: tuple[Reason, ...] = ()


def rank(
    query: Query,
    candidates: Sequence[Entry],
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
    found = features(query, candidates, stats, frequency, similarity)
    column = 0 if similarity is not None else 1
    names = [name for name in weights if name in found]
    parts = matrix(found, names) * np.array([weights[name][column] for name in names])
    raw = parts.sum(axis=1)
    order = _order(raw, candidates)
    reasons = _reasons(parts, names, order[:explain])
    score = 1.0 / (1.0 + np.exp(np.clip(CENTRE - raw, -60, 60)))
    return [Scored(candidates[i], float(score[i]), i, reasons.get(i, ())) for i in order]


def _order(raw: Floats, candidates: Sequence[Entry]) -> list[int]:
    """Best first; of equals the newest, then by identity, so that no store's own order shows."""
    keys = [(-value, -e.created_at, e.kind, e.id) for value, e in zip(raw.round(9).tolist(), candidates, strict=True)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _reasons(parts: Floats, names: Sequence[str], places: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
    """For each place, the groups that moved it, strongest first."""
    if not places:
        return {}
    grouped = {name for members in GROUPS.values() for name in members}
    groups = {**GROUPS, "form": tuple(name for name in names if name not in grouped)}
    shares: dict[str, Floats] = {}
    ranks: dict[str, Floats] = {}
    for group, members in groups.items():
        share = parts[:, [names.index(m) for m in members if m in names]].sum(axis=1)
        if np.abs(share).max(initial=0.0) >= 0.05:
            shares[group] = share
            ranks[group] = (share[None, :] > share[np.asarray(places), None]).sum(axis=1) + 1
    out: dict[int, tuple[Reason, ...]] = {}
    for at, place in enumerate(places):
        found = [
            Reason(group, round(float(share[place]), 4), int(ranks[group][at]))
            for group, share in shares.items()
            if abs(float(share[place])) >= 0.05
        ]
        out[place] = tuple(sorted(found, key=lambda reason: -abs(reason.weight)))
    return out

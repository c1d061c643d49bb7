"""Ranks a pool: a weighted sum of features, the newest of equal statements first, and a calibrated score.

The weights and the calibration are in `weights.json`, which `make recall-fit` makes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec
import numpy as np

from memorist.recall.features import Flags, Floats
from memorist.recall.hit import Reason
from memorist.recall.pool import Pool
from memorist.records import SUPERSEDED, Entry

AHEAD = 0.1
"""By how much what replaced a statement outranks it, in the units of the weighted sum."""
COMPARED = 40
"""Among so many of the best candidates, the newest of equal statements comes first."""
EQUAL_WORDS, EQUAL_TERMS = 0.2, 0.4
"""Two statements are equal if they match the same words, at least this share of the question, and share at least this
share of their terms."""
PLAIN_COSINE, UNUSUAL_MEANING = 0.3, 0.0
"""From which cosine on, and how far above the mean of the scope, a candidate without a shared word is near enough."""
SMALL_MEMORY_ENTRIES, SMALL_MEMORY_ODDS = 400, 1.2
"""In a memory of fewer entries, rarity and nearness say less, so that less evidence is asked for. Set by hand: the
conversations of the fit have hundreds of entries."""
SHOWN_WEIGHT = 0.05
"""Smaller contributions are not given as reasons."""


class Weights(msgspec.Struct, frozen=True):
    """The weights of one kind of embedder, and its calibration."""

    features: dict[str, float]
    evidence: dict[str, float]
    """What the best candidates say about whether the question has an answer at all: log-odds = Σ weight · value."""
    hit: dict[str, float]
    """Log-odds that one candidate is relevant to a question that has an answer."""


class WeightsFile(msgspec.Struct, frozen=True):
    """`weights.json`: what made it, and one table per kind of embedder."""

    made: dict[str, object]
    tables: dict[str, Weights]


@cache
def weights_file() -> WeightsFile:
    """The weights that this version ranks by."""
    return msgspec.json.decode((files("memorist.recall") / "weights.json").read_bytes(), type=WeightsFile)


def table_name(pool: Pool) -> str:
    """Which table of weights a pool is ranked by.

    Cosines are measured by their spread in the scope, so that one table serves every embedder.
    """
    return "none" if pool.similarity is None else "default"


class Row(msgspec.Struct, frozen=True):
    """A ranked entry with its score between 0 and 1; `place` is its index in the pool."""

    entry: Entry
    score: float
    place: int
    pool: int = 0
    """Index of the question that found it, where several were asked."""
    text: str = ""
    heading: str = ""
    page: int | None = None
    answer: str = ""
    """The sentence of a passage that answers."""


class Ranking(msgspec.Struct, frozen=True):
    """The order and scores of candidates, with the contribution of each feature (column) to each of them (row)."""

    order: list[int]
    raw: Floats
    score: Floats
    parts: Floats
    names: list[str]
    has_evidence: Flags
    """Whether anything connects a candidate with the question: a word, its meaning, a date, or an instruction."""

    def reasons(self, places: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
        """The reasons of the candidates at these indices, strongest first."""
        if not places:
            return {}
        chosen = self.parts[list(places)]
        ranks = ((self.parts[None] > chosen[:, None]).sum(axis=1) + 1).tolist()
        out: dict[int, tuple[Reason, ...]] = {}
        for place, values, above in zip(places, chosen.tolist(), ranks, strict=True):
            shown = [
                Reason(name, round(value, 4), rank)
                for name, value, rank in zip(self.names, values, above, strict=True)
                if abs(value) >= SHOWN_WEIGHT
            ]
            out[place] = tuple(sorted(shown, key=lambda reason: -abs(reason.weight)))
        return out


def rank(pool: Pool, weights: Weights | None = None) -> Ranking:
    """Score every candidate."""
    weights = weights or weights_file().tables[table_name(pool)]
    values = pool.features()
    names = [name for name in weights.features if name in values]
    parts = np.array([values[name] for name in names]).T * np.array([weights.features[name] for name in names])
    raw = parts.sum(axis=1)
    lift = newest_first(pool, raw) + replacements_first(pool, raw)
    raw = raw + lift
    score = calibrate(pool, values, raw, weights)
    return Ranking(
        _order(pool, raw), raw, score, np.column_stack([parts, lift]), [*names, "newest"], has_evidence(pool, values)
    )


def has_evidence(pool: Pool, values: Mapping[str, Floats]) -> Flags:
    """Which candidates share a word with the question, are near it in meaning, or are of the time that it names.

    A recall without `min_score` leaves out the others: of a subject that nothing is known about, nothing is found.
    """
    zero = np.zeros(len(pool.entries))
    out = np.asarray(((pool.matches.own > 0) | (pool.matches.context > 0)).any(axis=1), np.bool_)
    out |= (values.get("date", zero) >= 1.0) | (values.get("instruction", zero) > 0)
    if pool.similarity is not None:
        # Two words are often alike by chance in a small memory, so that nearness must be plain as well as unusual.
        out |= (pool.similarity.part >= PLAIN_COSINE) & (values["meaning"] >= UNUSUAL_MEANING)
    return out


def newest_first(pool: Pool, raw: Floats) -> Floats:
    """What candidates gain so that of two statements that say the same of another thing the newer comes first."""
    out = np.zeros(len(raw))
    if pool.query.past:
        return out
    best = np.argsort(-raw, kind="stable")[:COMPARED]
    matches = pool.matches
    covered = matches.covered
    groups: dict[bytes, list[int]] = {}
    for place in best[covered[best] >= EQUAL_WORDS].tolist():
        groups.setdefault((matches.own[place] > 0).tobytes(), []).append(place)
    for group in groups.values():
        terms = {place: frozenset(pool.entries[place].terms.split()) for place in group}
        for newer in group:
            for older in group:
                surer = pool.entries[newer].confidence >= pool.entries[older].confidence
                later = pool.table.created_at[newer] > pool.table.created_at[older]
                if surer and later and _equal(terms[newer], terms[older]):
                    out[newer] = max(out[newer], raw[older] - raw[newer] + AHEAD)
    return out


def _equal(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= EQUAL_TERMS * max(len(one), len(other))


def replacements_first(pool: Pool, raw: Floats) -> Floats:
    """What facts gain so that they outrank the statements that they replaced."""
    out = np.zeros(len(raw))
    if pool.query.past:
        return out
    places = {entry.id: place for place, entry in enumerate(pool.entries) if entry.kind == "fact"}
    for old, entry in enumerate(pool.entries):
        new = places.get(entry.metadata.get(SUPERSEDED, ""))
        if new is not None:
            out[new] = max(out[new], raw[old] + AHEAD - raw[new])
    return out


def evidence_of(pool: Pool, values: Mapping[str, Floats], raw: Floats) -> dict[str, float]:
    """What the candidates together say about whether the question has an answer here."""
    covered, zero = pool.matches.covered, np.zeros(1)
    count = len(pool.query.terms)
    return {
        "constant": 1.0,
        "best score": float(raw.max(initial=-10.0)),
        "best words": float(covered.max(initial=0.0)),
        "unknown words": pool.matches.unknown,
        "matched terms": float(np.log1p((pool.matches.own > 0).sum(axis=1).max(initial=0))),
        "meaning": float(values.get("meaning", zero).max(initial=0.0)),
        "cosine": 0.0 if pool.similarity is None else float(pool.similarity.part.max(initial=0.0)),
        "few terms": 1.0 / (1.0 + count),
        "instruction": float(values.get("instruction", zero).max(initial=0.0)),
    }


def calibrate(pool: Pool, values: Mapping[str, Floats], raw: Floats, weights: Weights) -> Floats:
    """The probability that each candidate is relevant: that the question has an answer here, times that this is it."""
    evidence = evidence_of(pool, values, raw)
    odds = sum(weights.evidence.get(name, 0.0) * value for name, value in evidence.items())
    odds += SMALL_MEMORY_ODDS * math.log(max(1.0, SMALL_MEMORY_ENTRIES / max(1, pool.stats.entries)))
    answerable = _sigmoid(np.array(odds))
    best = float(raw.max(initial=0.0))
    hit = weights.hit
    relevant = hit["constant"] + hit["score"] * raw + hit["behind"] * (raw - best)
    result: Floats = answerable * _sigmoid(relevant)
    return result


def _sigmoid(value: Floats) -> Floats:
    result: Floats = 1.0 / (1.0 + np.exp(-np.clip(value, -60.0, 60.0)))
    return result


def _order(pool: Pool, raw: Floats) -> list[int]:
    """Indices best first; ties by newest, then by kind and id, so that every store gives the same order."""
    value = (-raw.round(9)).tolist()
    created = (-pool.table.created_at).tolist()
    keys = [
        (value[place], created[place], entry.kind, entry.parent, entry.id) for place, entry in enumerate(pool.entries)
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)

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

from memorist.recall.analyze import words
from memorist.recall.features import Flags, Floats, Ints
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
NEAR_COSINE = 0.4
"""From which cosine of the nearest candidate on a small memory is searched, whatever words it shares."""
SMALL_MEMORY_ENTRIES = 400
"""In a memory of fewer entries rarity and nearness say less; the fit says how much less evidence is asked for."""
FEW_ENTRIES, OWN_STATEMENTS = 100, 6
"""In a memory of fewer entries, a question of the user's own ("What should I cook?"), or one that shares a word with
what they stated, brings so many of the best statements, though nothing says that these matter to it."""
TELLING = 0.5
"""Words of a lower rarity ("behind", "day") tell nothing about what a question is about."""
COVERED_WORDS, EVERYDAY_WEIGHT = 0.5, 0.1
"""The share of a question's words, by their rarity, that one record must have for a recall of any question; and what
the words count that have no rarity at all."""
SEARCH_TERMS, RARE = 0.7, 0.7
"""A text is a search if this share of its words are no small ones, or if one of them is at least so rare."""
PASSAGE_WORDS = 0.2
"""The share of a question's words, by their rarity, that one passage must have for documents to be recalled."""
INSTRUCTIONS_AMONG = 10
"""Standing instructions count for a request by their share among so many of the best candidates."""
SHOWN_WEIGHT = 0.05
"""Smaller contributions are not given as reasons."""


class Weights(msgspec.Struct, frozen=True):
    """The weights of one kind of embedder, and its calibration."""

    features: dict[str, float]
    evidence: dict[str, float]
    """What the candidates say about whether the question has an answer at all: log-odds = Σ weight · value.

    `instructions` is added for each candidate alone.
    """
    hit: dict[str, float]
    """Log-odds that one candidate is relevant to a question that has an answer."""
    floors: dict[str, float]
    """What a context asks for: of the `question`, how probably it has an answer here; of a `hit`, its score."""


class WeightsFile(msgspec.Struct, frozen=True):
    """`weights.json`: what made it, and one table per kind of embedder."""

    made: dict[str, object]
    tables: dict[str, Weights]


@cache
def weights_file() -> WeightsFile:
    """Return the weights that this version ranks by."""
    return msgspec.json.decode((files("memorist.recall") / "weights.json").read_bytes(), type=WeightsFile)


def table_name(pool: Pool) -> str:
    """Return which table of weights a pool is ranked by.

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
    findable: Flags
    """Whether a recall returns a candidate: something connects it with a question that seems to have an answer here."""
    above_floor: Flags
    """Whether a context may send a candidate: the question seems to have an answer here, and this may be it."""

    def reasons(self, places: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
        """Return the reasons of the candidates at these indices, strongest first."""
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
    related, score = calibrate(pool, values, raw, weights)
    order, connected = _order(pool, raw), _connected(pool, values)
    known = related >= weights.floors["question"]
    special = _passages(pool) | _of_a_time(pool, values)
    above = ((score >= weights.floors["hit"]) & known) | special
    if pool.stats.entries < FEW_ENTRIES:
        own = _own_statements(pool, order)
        telling = (pool.matches.own > 0)[own] @ (np.array(pool.query.rarity, np.float64) >= TELLING) > 0
        above[own[: OWN_STATEMENTS * (pool.query.personal or bool(telling.any()))]] = True
    findable = connected & (known | special | _is_near(pool) | _is_covered(pool))
    return Ranking(order, raw, score, np.column_stack([parts, lift]), [*names, "newest"], findable, above)


def _connected(pool: Pool, values: Mapping[str, Floats]) -> Flags:
    """Return which candidates share a word with the question, are near it in meaning, or are of a time it names."""
    zero = np.zeros(len(pool.entries))
    out = np.asarray(((pool.matches.own > 0) | (pool.matches.context > 0)).any(axis=1), np.bool_)
    out |= (values.get("date", zero) >= 1.0) | (values.get("instruction", zero) > 0)
    if pool.similarity is not None:
        # Two words are often alike by chance in a small memory, so that nearness must be plain as well as unusual.
        out |= (pool.similarity.part >= PLAIN_COSINE) & (values["meaning"] >= UNUSUAL_MEANING)
    return out


def _of_a_time(pool: Pool, values: Mapping[str, Floats]) -> Flags:
    """Return the candidates of the time a question names, if it names no subject: "What happened last Tuesday?"."""
    timely = bool(pool.query.dates) and max(pool.query.rarity, default=0.0) < RARE
    return (values["date"] >= 1.0) & timely


def _is_near(pool: Pool) -> bool:
    """Return whether a small memory has something plainly near the question: in a large one, something always is."""
    near = pool.similarity
    return near is not None and pool.stats.entries < FEW_ENTRIES and float(near.part.max(initial=0.0)) >= NEAR_COSINE


def _is_covered(pool: Pool) -> bool:
    """Return whether one record has half of the words of a question or of a search for a word or two.

    So few words say too little about whether the memory knows their subject. A remark ("See you this afternoon.") is
    no search: it asks nothing, most of its words are small ones, and none of the others is rare.
    """
    query, rarity = pool.query, np.array(pool.query.rarity, np.float64)
    searches = query.asks or len(query.terms) >= SEARCH_TERMS * len(words(query.text))
    if not (searches or rarity.max(initial=0.0) >= RARE):
        return False
    weight = rarity + EVERYDAY_WEIGHT
    return bool(((pool.matches.own > 0) @ weight >= COVERED_WORDS * weight.sum()).any()) and weight.size > 0


def _passages(pool: Pool) -> Flags:
    """Return the passages of documents, if one of them has a fair share of the question's words; none otherwise.

    The weights come from chats alone. In documents the answer often stands in other words, beside what the question
    names, and the order of passages is found by their sentences.
    """
    rarity = np.array(pool.query.rarity, np.float64)
    share = (pool.matches.own > 0) @ rarity / (float(rarity.sum()) or 1.0)
    passage = np.array([entry.kind == "document" for entry in pool.entries], np.bool_)
    return passage & bool((share[passage] >= PASSAGE_WORDS).any())


def _own_statements(pool: Pool, order: Sequence[int]) -> list[int]:
    """Return what the user stated, and what was taken from it, best first.

    A question counts if it tells much about them.
    """
    table = pool.table
    states = (table.signals["asks"] == 0) | (table.signals["first"] == 1.0)
    own = ~table.assistant & states
    # What was replaced, or was to be forgotten, is sent only if the question itself finds it.
    holds = [entry.kind != "document" and SUPERSEDED not in entry.metadata for entry in pool.entries]
    return [place for place in order if own[place] and holds[place]]


def newest_first(pool: Pool, raw: Floats) -> Floats:
    """Return what candidates gain so that of two statements that say the same of another thing the newer comes
    first.
    """
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
    """Return what facts gain so that they outrank the statements that they replaced."""
    out = np.zeros(len(raw))
    if pool.query.past:
        return out
    places = {entry.id: place for place, entry in enumerate(pool.entries) if entry.kind == "fact"}
    for old, entry in enumerate(pool.entries):
        new = places.get(entry.metadata.get(SUPERSEDED, ""))
        if new is not None:
            out[new] = max(out[new], raw[old] + AHEAD - raw[new])
    return out


def evidence_of(pool: Pool, values: Mapping[str, Floats]) -> dict[str, float]:
    """Return what the candidates together say about whether the question has an answer here.

    Words count by their rarity in any text, because in a small memory every word is rare.
    """
    rarity = np.array(pool.query.rarity, np.float64)
    total = float(rarity.sum())
    own = pool.matches.own > 0
    shared = own @ rarity
    in_session = _session_sets(own, pool.table.session) @ rarity
    similarity = pool.similarity
    nearness = np.zeros(1) if similarity is None else np.maximum(similarity.part, 0.0)
    return {
        "constant": 1.0,
        "words of a session": float(in_session.max(initial=0.0)) / (total or 1.0),
        "rare words": math.log1p(float(shared.max(initial=0.0))),
        "few words": 1.0 / (1.0 + total),
        "many words": math.log1p(total),
        "words and meaning": float((shared * nearness).max(initial=0.0)) / (total or 1.0),
        "spread of meaning": 0.0 if similarity is None else similarity.std,
        "phrase": float(values["phrase"].max(initial=0.0)),
        "speaker": float(bool(pool.query.speakers)),
        "small memory": math.log(max(1.0, SMALL_MEMORY_ENTRIES / max(1, pool.stats.entries))),
    }


def _session_sets(own: Flags, session: Ints) -> Flags:
    """Return which terms (columns) each session (row) has among its candidates."""
    out = np.zeros((int(session.max(initial=-1)) + 1, own.shape[1]), np.bool_)
    row, term = np.nonzero(own)
    out[session[row], term] = True
    return out


def instructions(values: Mapping[str, Floats], raw: Floats) -> Floats:
    """For each standing instruction, the share of such among the best candidates: many are no chance matches."""
    instructs = values["instruction"] > 0
    best = np.argsort(-raw, kind="stable")[:INSTRUCTIONS_AMONG]
    return np.where(instructs, float(instructs[best].mean()) if best.size else 0.0, 0.0)


def calibrate(pool: Pool, values: Mapping[str, Floats], raw: Floats, weights: Weights) -> tuple[Floats, Floats]:
    """Return how probably the question has to do with this memory, and that times the probability that a candidate is
    it.

    Both are arrays: a standing instruction has to do with a request whatever the rest of the memory is about.
    """
    odds = sum(weights.evidence[name] * value for name, value in evidence_of(pool, values).items())
    related = _sigmoid(odds + weights.evidence["instructions"] * instructions(values, raw))
    hit = weights.hit
    relevant = hit["constant"] + hit["score"] * raw + hit["behind"] * (raw - float(raw.max(initial=0.0)))
    return related, related * _sigmoid(relevant)


def _sigmoid(value: Floats) -> Floats:
    result: Floats = 1.0 / (1.0 + np.exp(-np.clip(value, -60.0, 60.0)))
    return result


def _order(pool: Pool, raw: Floats) -> list[int]:
    """Return indices best first; ties by newest, then by kind and id, so that every store gives the same order."""
    value = (-raw.round(9)).tolist()
    created = (-pool.table.created_at).tolist()
    keys = [
        (value[place], created[place], entry.kind, entry.parent, entry.id) for place, entry in enumerate(pool.entries)
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)

"""Ranks a pool by a weighted sum of features, puts the newest of equal statements first, and computes a calibrated
score.

The weights and the calibration are in `weights.json`, which `make recall-fit` generates.
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

LEAD_SCORE = 0.1
"""The difference by which a replacement outranks the statement it replaced, in units of the weighted sum."""
COMPARED_CANDIDATES = 40
"""How many of the best candidates to compare, so that the newest of equal statements comes first."""
EQUAL_WORDS, EQUAL_TERMS = 0.2, 0.4
"""Two statements are equal if they match the same words of the question (at least the first share of them), and have at
least the second share of their terms in common."""
PLAIN_COSINE, UNUSUAL_MEANING = 0.3, 0.0
"""The minimum cosine similarity and the minimum distance above the scope's mean for a candidate that shares no
word with the question."""
NEAR_COSINE = 0.4
"""The minimum cosine similarity of the nearest candidate for which a small memory is searched even without shared
words."""
SMALL_MEMORY_ENTRIES = 400
"""In a memory with fewer entries, rarity and nearness mean less, and fewer others could be the answer. The fit
determines how much less evidence is required, and how much more likely the best hits are."""
FEW_ENTRIES, OWN_STATEMENTS = 100, 6
"""In a memory with fewer entries than the first number, a question about the user ("What should I cook?"), or one that
shares a word with something they stated, recalls up to the second number of their best statements, even if nothing
connects them with the question."""
TELLING_RARITY = 0.5
"""Words with a lower rarity ("behind", "day") do not indicate what a question is about."""
COVERED_WORDS, EVERYDAY_WEIGHT = 0.5, 0.1
"""The share of a question's words, weighted by rarity, that one record must contain for any question to be recalled,
and the weight of words that have no rarity at all."""
SEARCH_TERMS, RARE = 0.7, 0.7
"""A text counts as a search if at least this share of its words are content words, or if one of them is at least this
rare."""
MIN_PASSAGE_WORD_SHARE = 0.2
"""The share of a question's words, weighted by rarity, that one passage must contain for documents to be recalled."""
INSTRUCTION_CANDIDATES = 10
"""The weight of standing instructions for a request depends on their share of this many of the best candidates."""
SHOWN_WEIGHT = 0.05
"""Contributions smaller than this are not listed as reasons."""


class Weights(msgspec.Struct, frozen=True):
    """Holds the weights and the calibration for one kind of embedder."""

    features: dict[str, float]
    evidence: dict[str, float]
    """These weights determine whether the question has an answer at all, given the candidates: log-odds = Σ weight ·
    value.

    `instructions` is added for each candidate separately.
    """
    hit: dict[str, float]
    """These are the log-odds that one candidate is relevant to a question that has an answer."""
    floors: dict[str, float]
    """These are the minimum values for a context. `question` is the minimum probability that the question has an answer
    here, and `hit` is the minimum score."""


class WeightsFile(msgspec.Struct, frozen=True):
    """Represents `weights.json`, which describes its origin and has one table per kind of embedder."""

    origin: dict[str, object] = msgspec.field(name="made")
    tables: dict[str, Weights]


@cache
def weights_file() -> WeightsFile:
    """Return the weights that this version uses."""
    return msgspec.json.decode((files("memorist.recall") / "weights.json").read_bytes(), type=WeightsFile)


def table_name(pool: Pool) -> str:
    """Return the name of the weight table for a pool.

    Cosines are measured relative to their spread in the scope, so one table serves every embedder.
    """
    return "none" if pool.similarity is None else "default"


class Row(msgspec.Struct, frozen=True):
    """Represents a ranked entry with its score between 0 and 1. `index` is its position in the pool."""

    entry: Entry
    score: float
    index: int
    pool: int = 0
    """This is the index of the question that found it, if several were asked."""
    text: str = ""
    heading: str = ""
    page: int | None = None
    answer: str = ""
    """This is the sentence of a passage that answers the question."""


class Ranking(msgspec.Struct, frozen=True):
    """Holds the order and scores of candidates, and the contribution of each feature (column) to each candidate
    (row)."""

    order: list[int]
    raw: Floats
    score: Floats
    parts: Floats
    names: list[str]
    connected: Flags
    """For each candidate, this says whether it has something in common with the question."""
    findable: Flags
    """For each candidate, this says whether recall returns it. This requires a connection with the question, which must
    seem to have an answer here."""
    above_floor: Flags
    """For each candidate, this says whether a context may send it. This requires that the question seems to have an
    answer here, and that the candidate may be that answer."""

    def reasons(self, indices: Sequence[int]) -> dict[int, tuple[Reason, ...]]:
        """Return the reasons for the candidates at these indices, strongest first."""
        if not indices:
            return {}
        chosen = self.parts[list(indices)]
        ranks = ((self.parts[None] > chosen[:, None]).sum(axis=1) + 1).tolist()
        out: dict[int, tuple[Reason, ...]] = {}
        for index, values, above in zip(indices, chosen.tolist(), ranks, strict=True):
            signals = [
                Reason(name, round(value, 4), rank)
                for name, value, rank in zip(self.names, values, above, strict=True)
                if abs(value) >= SHOWN_WEIGHT
            ]
            out[index] = tuple(sorted(signals, key=lambda reason: -abs(reason.weight)))
        return out


def rank(pool: Pool, weights: Weights | None = None) -> Ranking:
    """Score every candidate."""
    weights = weights or weights_file().tables[table_name(pool)]
    values = pool.features()
    names = [name for name in weights.features if name in values]
    parts = np.array([values[name] for name in names]).T * np.array([weights.features[name] for name in names])
    raw = parts.sum(axis=1)
    # Certain knowledge comes after the fitted weights: what replaced a statement outranks it whatever the weights say.
    lift = newest_first(pool, raw) + replacements_first(pool, raw)
    raw = raw + lift
    related, score = calibrate(pool, values, raw, weights)
    order, connected = _order(pool, raw), _find_connected(pool, values)
    is_related = related >= weights.floors["question"]
    special = _passages(pool) | _of_a_time(pool, values)
    above = ((score >= weights.floors["hit"]) & is_related) | special
    # A small memory says too little for the calibrated floors, which were fitted on long conversations. There, what the
    # user said themselves is worth sending even if it shares few words with the question.
    if pool.stats.entries < FEW_ENTRIES:
        own = _own_statements(pool, order)
        telling = (pool.matches.own > 0)[own] @ (np.array(pool.query.rarity, np.float64) >= TELLING_RARITY) > 0
        above[own[: OWN_STATEMENTS * (pool.query.personal or bool(telling.any()))]] = True
    near_passage = _is_passage(pool) & _is_plainly_near(pool, values)
    findable = connected & (is_related | special | near_passage | _is_near(pool) | _is_covered(pool))
    return Ranking(order, raw, score, np.column_stack([parts, lift]), [*names, "newest"], connected, findable, above)


def _find_connected(pool: Pool, values: Mapping[str, Floats]) -> Flags:
    """Return which candidates share a word with the question, are near it in meaning, or are from a time that it
    names."""
    zero = np.zeros(len(pool.entries))
    out = np.asarray(((pool.matches.own > 0) | (pool.matches.context > 0)).any(axis=1), np.bool_)
    out |= (values.get("date", zero) >= 1.0) | (values.get("instruction", zero) > 0)
    return out | _is_plainly_near(pool, values)


def _is_plainly_near(pool: Pool, values: Mapping[str, Floats]) -> Flags:
    """Return which candidates are near the question in meaning.

    In a small memory, words are often similar by chance, so a candidate must be near in absolute terms as well as
    compared with others.
    """
    if pool.similarity is None:
        return np.zeros(len(pool.entries), np.bool_)
    return np.asarray((pool.similarity.part >= PLAIN_COSINE) & (values["meaning"] >= UNUSUAL_MEANING), np.bool_)


def _is_passage(pool: Pool) -> Flags:
    return np.array([entry.kind == "document" for entry in pool.entries], np.bool_)


def _of_a_time(pool: Pool, values: Mapping[str, Floats]) -> Flags:
    """Return the candidates from the time that a question names, if it names no subject, as in "What happened last
    Tuesday?"."""
    timely = bool(pool.query.dates) and max(pool.query.rarity, default=0.0) < RARE
    return (values["date"] >= 1.0) & timely


def _is_near(pool: Pool) -> bool:
    """Return whether a small memory has an entry clearly near the question. In a large memory there is always
    one."""
    near = pool.similarity
    return near is not None and pool.stats.entries < FEW_ENTRIES and float(near.part.max(initial=0.0)) >= NEAR_COSINE


def _is_covered(pool: Pool) -> bool:
    """Return whether one record contains half of the words in a question or a short search.

    A few words say too little about whether the memory knows their subject. A remark ("See you this afternoon.") is not
    a search. It asks nothing, most of its words are stop words, and none of the other words is rare.
    """
    query, rarity = pool.query, np.array(pool.query.rarity, np.float64)
    searches = query.asks or len(query.terms) >= SEARCH_TERMS * len(words(query.text))
    if not (searches or rarity.max(initial=0.0) >= RARE):
        return False
    weight = rarity + EVERYDAY_WEIGHT
    return bool(((pool.matches.own > 0) @ weight >= COVERED_WORDS * weight.sum()).any()) and weight.size > 0


def _passages(pool: Pool) -> Flags:
    """Return the document passages if one of them contains a fair share of the question's words; otherwise return none.

    The weights were fitted only on chats. In documents, the answer often uses other words near those of the question,
    and passages are ordered by their sentences.
    """
    rarity = np.array(pool.query.rarity, np.float64)
    share = (pool.matches.own > 0) @ rarity / (float(rarity.sum()) or 1.0)
    passage = _is_passage(pool)
    return passage & bool((share[passage] >= MIN_PASSAGE_WORD_SHARE).any())


def _own_statements(pool: Pool, order: Sequence[int]) -> list[int]:
    """Return the user's statements, and the memories extracted from them, best first.

    A question by the user counts as a statement if it says a lot about them.
    """
    table = pool.table
    states = (table.signals["asks"] == 0) | (table.signals["first"] == 1.0)
    own = ~table.assistant & states
    # What was replaced, or was to be forgotten, is sent only if the question itself finds it.
    holds = [entry.kind != "document" and SUPERSEDED not in entry.metadata for entry in pool.entries]
    return [index for index in order if own[index] and holds[index]]


def newest_first(pool: Pool, raw: Floats) -> Floats:
    """Return a bonus for each candidate. If two statements differ only in their value, the newer one comes first."""
    out = np.zeros(len(raw))
    if pool.query.past:
        return out
    # Comparing every pair would be quadratic in the candidates; only the best can change what is returned.
    best = np.argsort(-raw, kind="stable")[:COMPARED_CANDIDATES]
    matches = pool.matches
    covered = matches.covered
    groups: dict[bytes, list[int]] = {}
    for index in best[covered[best] >= EQUAL_WORDS].tolist():
        # Statements that differ only in their value share the same words of the question.
        groups.setdefault((matches.own[index] > 0).tobytes(), []).append(index)
    for group in groups.values():
        terms = {index: frozenset(pool.entries[index].terms.split()) for index in group}
        for newer in group:
            for older in group:
                surer = pool.entries[newer].confidence >= pool.entries[older].confidence
                later = pool.table.created_at[newer] > pool.table.created_at[older]
                if surer and later and _equal(terms[newer], terms[older]):
                    out[newer] = max(out[newer], raw[older] - raw[newer] + LEAD_SCORE)
    return out


def _equal(terms: frozenset[str], other_terms: frozenset[str]) -> bool:
    return len(terms & other_terms) >= EQUAL_TERMS * max(len(terms), len(other_terms))


def replacements_first(pool: Pool, raw: Floats) -> Floats:
    """Return a bonus for each fact, so that facts outrank the statements that they replaced."""
    out = np.zeros(len(raw))
    if pool.query.past:
        return out
    index_of = {entry.id: index for index, entry in enumerate(pool.entries) if entry.kind == "fact"}
    for old, entry in enumerate(pool.entries):
        new = index_of.get(entry.metadata.get(SUPERSEDED, ""))
        if new is not None:
            out[new] = max(out[new], raw[old] + LEAD_SCORE - raw[new])
    return out


def evidence_of(pool: Pool, values: Mapping[str, Floats]) -> dict[str, float]:
    """Return the evidence from all candidates on whether the question has an answer here.

    Words are weighted by their general rarity, because in a small memory every word is rare.
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
        "small memory": _smallness(pool),
    }


def _smallness(pool: Pool) -> float:
    return math.log(max(1.0, SMALL_MEMORY_ENTRIES / max(1, pool.stats.entries)))


def _session_sets(own: Flags, session: Ints) -> Flags:
    """Return which terms (columns) each session (row) contains among its candidates."""
    out = np.zeros((int(session.max(initial=-1)) + 1, own.shape[1]), np.bool_)
    row, term = np.nonzero(own)
    out[session[row], term] = True
    return out


def instructions(values: Mapping[str, Floats], raw: Floats) -> Floats:
    """Return, for each standing instruction, the share of instructions among the best candidates. If there are many,
    the match is not a coincidence."""
    instructs = values["instruction"] > 0
    best = np.argsort(-raw, kind="stable")[:INSTRUCTION_CANDIDATES]
    return np.where(instructs, float(instructs[best].mean()) if best.size else 0.0, 0.0)


def calibrate(pool: Pool, values: Mapping[str, Floats], raw: Floats, weights: Weights) -> tuple[Floats, Floats]:
    """Return the probability that the question is related to this memory, and that probability multiplied by the
    probability that a candidate is the answer. Both are arrays, because a standing instruction applies to a request no
    matter what the rest of the memory is about.
    """
    odds = sum(weights.evidence[name] * value for name, value in evidence_of(pool, values).items())
    related = _sigmoid(odds + weights.evidence["instructions"] * instructions(values, raw))
    likely: Floats = np.sum([value * weights.hit[name] for name, value in likelihood_of(pool, raw).items()], axis=0)
    return related, related * _sigmoid(likely)


def likelihood_of(pool: Pool, raw: Floats) -> dict[str, Floats]:
    """Return what determines how likely each candidate is the answer, if there is one. In a small memory, few others
    could be."""
    return {
        "constant": np.ones(len(raw)),
        "score": raw,
        "behind": raw - float(raw.max(initial=0.0)),
        "small memory": np.full(len(raw), _smallness(pool)),
    }


def _sigmoid(value: Floats) -> Floats:
    # Beyond 60, `exp` may overflow, and the result no longer changes.
    result: Floats = 1.0 / (1.0 + np.exp(-np.clip(value, -60.0, 60.0)))
    return result


def _order(pool: Pool, raw: Floats) -> list[int]:
    """Return indices, best first. Ties are broken by time (newest first), then by kind and id, so that every store
    returns the same order."""
    # Rounded, because sums of floats in another order differ in their last digits, and stores list candidates in
    # different orders.
    value = (-raw.round(9)).tolist()
    created = (-pool.table.created_at).tolist()
    keys = [
        (value[index], created[index], entry.kind, entry.parent, entry.id) for index, entry in enumerate(pool.entries)
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)

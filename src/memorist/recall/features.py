"""Computes the features of each candidate for a question from the candidates alone, without access to the store.

A feature is about 0 if it says nothing about a candidate, and about 1 if it supports the candidate. `FEATURES` contains
the names that hits show. `weights.json` determines which of them count, and how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from memorist.ports import to_micros
from memorist.recall.analyze import SIGNALS
from memorist.recall.query import Query
from memorist.records import SUPERSEDED, Entry

K1, B, CONTEXT_SHARE = 1.2, 0.5, 0.5
LENGTH_SHARE = 0.75
"""How much less a long text counts than a short one that contains the same words (BM25's b). The searches use `B`."""
SESSION_GAP_MICROSECONDS = 4 * 3600 * 1_000_000
"""A pause of this length in a thread, in microseconds, starts another session."""
DAY_MICROSECONDS = 86_400_000_000.0
OFFSETS = ((-1, 0.5), (1, 1.0), (2, 0.5))
"""The distances to neighbouring turns whose matches are added to a turn's own, and the share that is added."""
LONG_WORDS = 40
"""Words beyond this number do not raise a turn's score."""
ASSISTANT_NAMES = frozenset({"assistant", "ai", "bot", "chatbot", "model", "system", "tool"})
SUPERSEDED_DOUBT = 2.0
TRUST = {"user": 1.0, "system": 1.0, "assistant": 1.0, "processor": 1.0, "document": 0.9, "tool": 0.8, "web": 0.7}

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FEATURES = (
    "words", "part", "phrase", "session", "neighbours", "meaning", "speaker", "person", "first person",
    "length", "statement", "date", "recency", "instruction", "confidence",
)  # fmt: skip


class Similarity(msgspec.Struct, frozen=True):
    """Holds the cosine similarity of each candidate to the question, and the mean and standard deviation over the whole
    scope."""

    cosine: Floats
    part: Floats
    """This is the highest cosine similarity to the question or to one of its parts."""
    mean: float
    std: float


class ScopeStats(msgspec.Struct, frozen=True, kw_only=True):
    """Holds statistics on all indexed records in a scope, which make scores the same on every store."""

    entries: int
    mean_terms: float
    """This is the average number of index terms per entry."""
    assistant_entries: int = 0
    speakers: tuple[str, ...] = ()
    """These are the distinct names of speakers."""


class Table(msgspec.Struct, frozen=True):
    """Holds candidates as columns, for vectorised ranking."""

    entries: Sequence[Entry]
    terms: list[str]
    context_terms: list[str]
    session: Ints
    position: Ints
    """This combines the thread and the sequence number in one integer, so that neighbours differ by one."""
    names: tuple[str, ...]
    speaker: Ints
    """These are indices into `names`."""
    assistant: Flags
    message: Flags
    created_at: Ints
    signals: dict[str, Floats]
    lengths: Floats
    """This is the number of terms in each text."""

    @property
    def size(self) -> int:
        """This is the number of candidates."""
        return len(self.entries)


@lru_cache(1024)
def is_assistant(role: str, speaker: str) -> bool:
    """Return whether a machine wrote an entry, judging by its role or by a speaker's name such as `assistant`."""
    return role in ("assistant", "tool", "system") or speaker.lower() in ASSISTANT_NAMES


def table_of(entries: Sequence[Entry]) -> Table:
    """Return stored entries as columns."""
    size, width = len(entries), len(SIGNALS)
    threads = _encode([entry.parent or entry.id for entry in entries])[1]
    names, speaker = _encode([entry.speaker or "" for entry in entries])
    created = np.array([to_micros(entry.created_at) for entry in entries], np.int64)
    raw = b"".join([entry.signals[:width].ljust(width, b"\0") for entry in entries])
    signals = (np.frombuffer(raw, np.uint8).reshape(size, width) / 255.0).T
    seqs = np.array([entry.seq for entry in entries], np.int64)
    terms = [entry.terms for entry in entries]
    return Table(
        entries,
        terms,
        [entry.context_terms for entry in entries],
        _sessions(threads, created),
        (threads << 40) + np.clip(seqs, 0, (1 << 39) - 1),
        names,
        speaker,
        np.array([is_assistant(entry.role or "user", entry.speaker or "") for entry in entries], np.bool_),
        np.array([entry.kind == "message" for entry in entries], np.bool_),
        created,
        dict(zip(SIGNALS, signals, strict=True)),
        np.array([text.count(" ") + 1.0 if text else 0.0 for text in terms]),
    )


def _encode(values: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return a dictionary encoding: the distinct values, and the index of each value among them."""
    codes: dict[str, int] = {}
    places = [codes.setdefault(value, len(codes)) for value in values]
    return tuple(codes), np.array(places, np.int64)


def idf(count: int, frequency: int) -> float:
    """Return the inverse document frequency (as in BM25) of a term that occurs in `frequency` of `count` entries."""
    return math.log(1.0 + (count - frequency + 0.5) / (frequency + 0.5))


class Matches(msgspec.Struct, frozen=True):
    """Describes how the terms of a question match the candidates."""

    weights: Floats
    """This is the rarity of each term."""
    exists: Flags
    """This is True for each term that occurs in any record in the scope."""
    own: Floats
    """This is BM25's saturated count of each term (column) in each candidate (row), between 0 and 1."""
    context: Floats
    """This is the same for the turn before each candidate."""

    @property
    def covered(self) -> Floats:
        """This is the share of the question's words, weighted by rarity, that each candidate contains. It includes
        unknown words, and is between 0 and 1."""
        result: Floats = self.own @ self.weights / (float(self.weights.sum()) or 1.0)
        return result


def match(query: Query, table: Table, stats: ScopeStats, frequency: Mapping[str, int]) -> Matches:
    """Compare the terms of a question with those of the candidates."""
    count = max(stats.entries, table.size)
    frequencies = [min(frequency.get(term, 0), count) for term in query.terms]
    weights = np.array([idf(count, number) for number in frequencies], np.float64)
    norm = K1 * (1 - LENGTH_SHARE + LENGTH_SHARE * table.lengths / max(stats.mean_terms, 1.0))[:, None]
    own, context = _occurrences(table.terms, query.terms), _occurrences(table.context_terms, query.terms)
    return Matches(weights, np.array(frequencies, np.int64) > 0, own / (own + norm), context / (context + K1))


def features(
    query: Query, table: Table, stats: ScopeStats, matches: Matches, similarity: Similarity | None = None
) -> dict[str, Floats]:
    """Return every feature by name."""
    out = _words(query, table, matches)
    if similarity is not None:
        out["meaning"] = _meaning(similarity)
        out["neighbours"] = out["neighbours"] + _neighbours(out["meaning"], table)
    out["speaker"] = _speaker(query, table)
    out.update(_form(query, table, stats))
    out.update(_time(query, table))
    near = 1.0 + np.maximum(out.get("meaning", out["words"]), 0.0)
    out["instruction"] = out["instruction"] * near
    return out


def _words(query: Query, table: Table, matches: Matches) -> dict[str, Floats]:
    weights = np.where(matches.exists, matches.weights, 0.0)
    total = float(weights.sum()) or 1.0
    own, context = matches.own @ weights, matches.context @ weights
    both = own + CONTEXT_SHARE * context
    share = own / (float(both.max(initial=0.0)) or 1.0)
    return {
        "words": both / (float(both.max(initial=0.0)) or 1.0),
        "part": _part_words(query, matches, weights, own / total),
        "phrase": _phrases(query, table, matches, weights) / total,
        "session": _session_terms(matches.own > 0, table.session),
        "neighbours": _neighbours(share, table),
    }


def _part_words(query: Query, matches: Matches, weights: Floats, whole: Floats) -> Floats:
    """Return the share of the question, or of its best matching part, that a candidate contains."""
    best = np.zeros_like(whole) if query.parts else whole
    column = {term: number for number, term in enumerate(query.terms)}
    for part in query.parts:
        columns = [column[term] for term in part if term in column]
        total = float(weights[columns].sum())
        if total:
            best = np.maximum(best, matches.own[:, columns] @ weights[columns] / total)
    return best


def _phrases(query: Query, table: Table, matches: Matches, weights: Floats) -> Floats:
    """Return the rarity of the pairs of terms that are adjacent both in the question and in a candidate."""
    out = np.zeros(table.size)
    column = {term: number for number, term in enumerate(query.terms)}
    for first, second in sorted(query.pairs):
        a, b = column.get(first), column.get(second)
        if a is None or b is None:
            continue
        for row in np.nonzero((matches.own[:, a] > 0) & (matches.own[:, b] > 0))[0].tolist():
            out[row] += (weights[a] + weights[b]) * (f" {first} {second} " in f" {table.terms[row]} ")
    return out


def _occurrences(texts: Sequence[str], terms: Sequence[str]) -> Floats:
    """Return how often each text (row) contains each term (column).

    One search through all the texts joined together is many times faster than a separate search of each text. A term
    that occurs twice in a row counts once, because the two occurrences share the space between them.
    """
    joined = " " + " \n ".join(texts) + " "
    places: list[int] = []
    columns: list[int] = []
    for column, term in enumerate(terms):
        string, step = f" {term} ", len(term) + 2
        at = joined.find(string)
        while at >= 0:
            places.append(at)
            columns.append(column)
            at = joined.find(string, at + step)
    starts = np.cumsum([0, *[len(text) + 3 for text in texts[:-1]]])
    rows = np.searchsorted(starts, np.array(places, np.int64), side="right") - 1
    cells = rows * len(terms) + np.array(columns, np.int64)
    shape = (len(texts), len(terms))
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def _meaning(similarity: Similarity) -> Floats:
    """Return how near each candidate is to the question and to its nearest part, relative to all records in the
    scope."""
    both = (similarity.cosine + similarity.part) / 2
    result: Floats = (both - similarity.mean) / (3 * (similarity.std + 1e-6))
    return result


def _speaker(query: Query, table: Table) -> Floats:
    """Return 1 for statements by the person that the question names, -1 for those by another person, and 0 if it names
    several people."""
    if len(query.speakers) != 1:
        return np.zeros(table.size)
    speakers = set(query.speakers)
    sign = [0.0 if not name else 1.0 if name in speakers else -1.0 for name in table.names]
    result: Floats = np.array(sign)[table.speaker]
    return result


def _form(query: Query, table: Table, stats: ScopeStats) -> dict[str, Floats]:
    length = table.signals["words"] * 10.2  # undo the scaling of `signals`: back to log(1 + words)
    person = table.message & ~table.assistant
    assisted = stats.assistant_entries > 0
    own = np.where(table.message, np.where(person, 0.0, -1.0), 0.0)
    own_words = np.where(person, 1.0, 0.0)
    return {
        "person": own if not query.asks_assistant else -own,
        "first person": own_words * table.signals["first"],
        "length": np.where(table.message, np.minimum(length, math.log(LONG_WORDS)) / math.log(LONG_WORDS) - 1.0, 0.0),
        "statement": np.where(table.message, -table.signals["asks"], 0.0),
        "instruction": own_words * table.signals["instructs"] * (assisted and not query.asks),
        "confidence": np.array([_confidence(entry, past=query.past) for entry in table.entries]),
    }


def _confidence(entry: Entry, *, past: bool) -> float:
    """Return 0 for an ordinary record, and a negative value for a doubtful or superseded one. For a question about the
    past, superseded records are not doubtful."""
    doubt = entry.confidence - 1.0 + 0.5 * (TRUST.get(entry.trust, 0.8) - 1.0)
    return doubt - (SUPERSEDED_DOUBT if SUPERSEDED in entry.metadata and not past else 0.0)


def _time(query: Query, table: Table) -> dict[str, Floats]:
    near = np.zeros(table.size)
    for start, end in query.dates:
        away = np.maximum(np.maximum(start - table.created_at, table.created_at - end), 0) / DAY_MICROSECONDS
        near = np.maximum(near, np.exp(-away / 7.0))
    age = np.maximum(query.now - table.created_at, 0) / DAY_MICROSECONDS if query.now else np.zeros(table.size)
    # The next turn of a conversation goes on with what was said last; a bare question may be about any time.
    return {"date": near, "recency": -np.log1p(age) / 5 * (not query.bare)}


def _sessions(thread: Ints, created: Ints) -> Ints:
    """Return session numbers. A thread is split into sessions at pauses longer than `SESSION_GAP_MICROSECONDS`."""
    if not thread.size:
        return thread
    order = np.lexsort((created, thread))
    fresh = np.ones(thread.size, np.bool_)
    fresh[1:] = (np.diff(thread[order]) != 0) | (np.diff(created[order]) > SESSION_GAP_MICROSECONDS)
    out = np.empty(thread.size, np.int64)
    out[order] = np.cumsum(fresh) - 1
    return out


def _session_terms(has: Flags, session: Ints) -> Floats:
    """Return the share of the question's terms that each candidate's session contains, weighted by rarity among
    sessions.
    """
    if not has.size:
        return np.zeros(len(session))
    sessions = int(session.max()) + 1
    seen = np.zeros((sessions, has.shape[1]), np.bool_)
    row, term = np.nonzero(has)
    seen[session[row], term] = True
    having = seen.sum(0)
    weight = np.where(having > 0, np.log(1.0 + (sessions - having + 0.5) / (having + 0.5)), 0.0)
    share: Floats = (seen @ weight / (float(weight.sum()) or 1.0))[session]
    return share


def _neighbours(value: Floats, table: Table) -> Floats:
    """Return the weighted sum of the values of neighbouring turns in the same session that are also candidates."""
    out = np.zeros(table.size)
    if not table.size:
        return out
    order = np.argsort(table.position, kind="stable")
    places = table.position[order]
    for offset, weight in OFFSETS:
        positions = table.position + offset
        other = order[np.minimum(np.searchsorted(places, positions), table.size - 1)]
        beside = (table.position[other] == positions) & (table.session[other] == table.session) & table.message
        out += np.where(beside, weight * value[other], 0.0)
    return out

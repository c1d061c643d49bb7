"""Computes the ranking features of each candidate for a query, from the candidates alone (no store access)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from memorist.recall.entry import Candidate, ScopeStats, is_assistant
from memorist.recall.query import Query
from memorist.recall.reach import DERIVED
from memorist.recall.signals import NAMES as SIGNALS

K1, B, CONTEXT_SHARE = 1.2, 0.5, 0.5
SESSION_GAP = 4 * 3600 * 1_000_000
"""A silence this long in one thread starts another session, in microseconds."""
DAY = 86_400_000_000.0
PASSAGE_SESSION, PASSAGE_COSINE = 0.6, 4.0
"""Factors on the session and cosine features of a document's passages, relative to messages."""
OFFSETS = (-3, -2, -1, 1, 2)
"""Distances of the neighbouring turns whose scores add to a turn's own."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Similarity(msgspec.Struct, frozen=True):
    """Cosine of each candidate to the query, with mean and standard deviation of cosines over the whole scope."""

    cosine: Floats
    mean: float
    std: float
    contextual: bool = False
    """Whether the embedder encodes whole sentences, rather than averaging word vectors."""


class Columns(msgspec.Struct, frozen=True):
    """The candidates as columns, for vectorised ranking."""

    size: int
    kind: Sequence[str]
    id: Sequence[str]
    terms: Sequence[str]
    context_terms: Sequence[str]
    session: Ints
    place: Ints
    """Thread and sequence number in one integer, so that neighbours differ by one."""
    names: tuple[str, ...]
    speaker: Ints
    """Indices into `names`."""
    assistant: NDArray[np.bool_]
    message: NDArray[np.bool_]
    created_at: Ints
    signals: Floats
    prior: Floats
    """Three columns, each 0 for an ordinary record: confidence - 1, log(1 + uses), trust - 1."""
    beside: Mapping[int, tuple[Ints, NDArray[np.bool_]]]
    """For each of `OFFSETS`: the row of each candidate's neighbour, and whether that neighbour is a candidate."""
    leads: tuple[Ints, Ints]
    """Rows of facts and learnings, and for each the row of the message it was extracted from."""
    superseded: NDArray[np.bool_]
    replaced: tuple[Ints, Ints]
    """Rows of superseded statements, and for each the row of the fact that replaced it."""


def columns(entries: Sequence[Candidate]) -> Columns:
    """Turn candidates into columns."""
    return table(
        kind=[e.kind for e in entries],
        id=[e.id for e in entries],
        thread=[e.thread or e.id for e in entries],
        seq=[e.seq for e in entries],
        role=[e.role for e in entries],
        speaker=[e.speaker for e in entries],
        created_at=[e.created_at for e in entries],
        terms=[e.terms for e in entries],
        context_terms=[e.context_terms for e in entries],
        signals=[e.signals for e in entries],
        prior=[(e.confidence, e.uses, e.trust) for e in entries],
        source=[e.source for e in entries],
        replaced_by=[None] * len(entries),
    )


def table(
    *,
    kind: Sequence[str],
    id: Sequence[str],
    thread: Sequence[str],
    seq: Sequence[int],
    role: Sequence[str],
    speaker: Sequence[str],
    created_at: Sequence[int],
    terms: Sequence[str],
    context_terms: Sequence[str],
    signals: Sequence[bytes],
    prior: Sequence[tuple[float, float, float]],
    source: Sequence[str | None],
    replaced_by: Sequence[str | None],
) -> Columns:
    """Build `Columns` from plain lists, one value per candidate."""
    size = len(kind)
    threads = _coded(thread)[1]
    names, said_by = _coded(speaker)
    created = np.array(created_at, np.int64)
    width = len(SIGNALS)
    # Entries indexed before a signal was added have fewer bytes: the missing ones are zero.
    raw = b"".join([part[:width].ljust(width, b"\0") for part in signals])
    known = np.array(prior, np.float64).reshape(size, 3)
    known[:, 0] -= 1.0
    known[:, 1] = np.log1p(known[:, 1])
    known[:, 2] -= 1.0
    sessions = _sessions(threads, created)
    place = (threads << 40) + np.clip(np.array(seq, np.int64), 0, (1 << 39) - 1)
    return Columns(
        size,
        kind,
        id,
        terms,
        context_terms,
        sessions,
        place,
        names,
        said_by,
        np.array([is_assistant(r, s) for r, s in zip(role, speaker, strict=True)], np.bool_),
        np.array([k == "message" for k in kind], np.bool_),
        created,
        np.frombuffer(raw, np.uint8).reshape(size, width) / 255.0,
        known,
        _beside(place, sessions),
        _leads(kind, id, source),
        np.array([one is not None for one in replaced_by], np.bool_),
        _replaced(id, replaced_by),
    )


def _replaced(id: Sequence[str], replaced_by: Sequence[str | None]) -> tuple[Ints, Ints]:
    old = [row for row, by in enumerate(replaced_by) if by is not None]
    places = {name: row for row, name in enumerate(id)} if old else {}
    pairs = [(row, places[by]) for row in old if (by := replaced_by[row]) in places]
    return np.array([row for row, _ in pairs], np.int64), np.array([new for _, new in pairs], np.int64)


def _leads(kind: Sequence[str], id: Sequence[str], source: Sequence[str | None]) -> tuple[Ints, Ints]:
    """(rows of facts and learnings, rows of their source messages), for those whose source is a candidate too."""
    at = {name: place for place, name in enumerate(id) if kind[place] == "message"}
    pairs = [(i, at[s]) for i, s in enumerate(source) if s is not None and kind[i] in DERIVED and s in at]
    found = np.array(pairs, np.int64).reshape(len(pairs), 2)
    return found[:, 0], found[:, 1]


def _coded(values: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Dictionary encoding: the distinct values, and for each value its index among them."""
    codes: dict[str, int] = {}
    places = [codes.setdefault(value, len(codes)) for value in values]
    return tuple(codes), np.array(places, np.int64)


def features(
    query: Query,
    table: Columns,
    stats: ScopeStats,
    frequency: Mapping[str, int],
    similarity: Similarity | None = None,
) -> dict[str, Floats]:
    """All features by name; `frequency` is the document frequency of each query term in the scope."""
    out = _lexical(query, table, stats, frequency)
    if similarity is not None:
        out.update(_vector(table, similarity))
    out.update(_speaker(query, table))
    out.update(_form(query, table, stats))
    out["led"] = _led(table, out)
    out["orders_near"] = out["orders"] * np.maximum(out.get("cosine_standard", out["text_best"]), 0.0)
    out["standing_near"] = out["standing"] * np.maximum(out.get("cosine_standard", out["text_best"]), 0.0)
    out.update(_time(query, table, stats))
    _of_documents(table, out)
    out["confidence"], out["uses"], out["trust"] = table.prior.T
    return out


def _of_documents(table: Columns, out: dict[str, Floats]) -> None:
    """Rescale features of document passages: a document covers many topics, so its other passages count less than
    the other turns of a session do, and the passage's own cosine counts more."""
    passages = np.array([kind == "document" or kind == "chunk" for kind in table.kind], np.bool_)
    if not passages.any():
        return
    for name in ("session_terms", "session_best", "session_cosine"):
        if name in out:
            out[name] = np.where(passages, PASSAGE_SESSION * out[name], out[name])
    if "cosine_standard" in out:
        out["cosine_standard"] = np.where(passages, PASSAGE_COSINE * out["cosine_standard"], out["cosine_standard"])


def _led(table: Columns, found: Mapping[str, Floats]) -> Floats:
    """For each message the score of the best fact extracted from it; 0 for the facts themselves."""
    facts, messages = table.leads
    out = np.zeros(table.size)
    if facts.size:
        strength = found["both"] + np.maximum(found.get("cosine_standard", out), 0.0)
        np.maximum.at(out, messages, strength[facts])
    return out


def idf(count: int, frequency: int) -> float:
    """Inverse document frequency (BM25's) of a term that `frequency` of `count` entries have."""
    return math.log(1.0 + (count - frequency + 0.5) / (frequency + 0.5))


def _lexical(query: Query, table: Columns, stats: ScopeStats, frequency: Mapping[str, int]) -> dict[str, Floats]:
    count = max(stats.entries, table.size)
    weight = {t: idf(count, min(frequency.get(t, 0), count)) for t in query.terms}
    total = sum(w for t, w in weight.items() if frequency.get(t, 0)) or 1.0
    own, context, lengths, pairs = _counts(query, table, weight)
    weights = np.array([weight[t] for t in query.terms], np.float64)
    norm = K1 * (1 - B + B * lengths / max(stats.mean_terms, 1.0))[:, None]
    by_own = _saturate(own, norm) @ weights
    by_both = _saturate(own + CONTEXT_SHARE * context, norm) @ weights
    best = float(by_both.max(initial=0.0)) or 1.0
    shared = by_own / best
    return {
        "text": by_own / total,
        "text_best": by_own / (float(by_own.max(initial=0.0)) or 1.0),
        "context": _saturate(context, K1) @ weights / total,
        "both": by_both / total,
        "both_best": by_both / best,
        "pairs": pairs / total,
        "session_terms": _session_terms(own > 0, table.session),
        "session_best": _session_top(by_both / best, table.session),
        "before": _neighbours(shared, table, ((-2, 1.0), (-3, 0.7))),
        "after": _neighbours(shared, table, ((1, 1.0), (2, 0.6))),
    }


def _counts(query: Query, table: Columns, weight: Mapping[str, float]) -> tuple[Floats, Floats, Floats, Floats]:
    """Counts of each term in text and in context, lengths of the texts, and the weight of adjacent query pairs."""
    own = _occurrences(table.terms, query.terms)
    together = np.zeros(table.size)
    column = {term: i for i, term in enumerate(query.terms)}
    for a, b in sorted(query.pairs):
        has = [own[:, column[term]] > 0 for term in (a, b) if term in column]
        if has:  # neither word is a query term: the pair has no weight
            worth = weight.get(a, 0.0) + weight.get(b, 0.0)
            for row in np.nonzero(has[0] & has[-1])[0].tolist():
                together[row] += worth * (f" {a} {b} " in f" {table.terms[row]} ")
    lengths = np.array([terms.count(" ") + 1.0 if terms else 0.0 for terms in table.terms])
    return own, _occurrences(table.context_terms, query.terms), lengths, together


def _occurrences(texts: Sequence[str], terms: Sequence[str]) -> Floats:
    """How often each text (row) has each term (column).

    One search through all texts joined is many times faster than a search in each. A term repeated directly counts
    once, because the two occurrences share the space between them.
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


def _saturate(count: Floats, norm: Floats | float) -> Floats:
    """BM25's term saturation: each further occurrence of a term adds less."""
    result: Floats = count * (K1 + 1) / (count + norm)
    return result


def _vector(table: Columns, similarity: Similarity) -> dict[str, Floats]:
    cosine = similarity.cosine
    standard = (cosine - similarity.mean) / (similarity.std + 1e-6) / 3
    top = _session_top(standard, table.session)
    return {
        "cosine": cosine,
        "cosine_standard": standard,
        "cosine_previous": _neighbours(standard, table, ((-1, 1.0),)),
        "cosine_around": _neighbours(standard, table, ((-2, 1.0), (-3, 0.6), (1, 1.0), (2, 0.5))),
        "session_cosine": top - float(top.mean()) if table.size else top,
    }


def _speaker(query: Query, table: Columns) -> dict[str, Floats]:
    asked = set(query.speakers)
    by = _said(table, [name in asked for name in table.names])
    known = _said(table, [bool(name) for name in table.names])
    zero = np.zeros(table.size)
    others = bool((known & ~by).any()) or not asked
    if len(asked) == 1 or (asked and others):
        return {"speaker": np.where(known, np.where(by, 1.0, -1.0), 0.0), "speaker_first": zero}
    if not asked:
        return {"speaker": zero, "speaker_first": zero}
    first = _said(table, [name == query.speakers[0] for name in table.names])
    return {"speaker": zero, "speaker_first": np.where(known, np.where(first, 1.0, -1.0), 0.0)}


def _said(table: Columns, which: Sequence[bool]) -> NDArray[np.bool_]:
    """Whether each candidate was said by one of the names marked."""
    result: NDArray[np.bool_] = np.array(which, np.bool_)[table.speaker]
    return result


def mixed(stats: ScopeStats) -> float:
    """1 where people talk with an assistant, 0 where they talk with each other."""
    return float(0.1 < stats.assistant_share < 0.9)


def talk(query: Query, stats: ScopeStats) -> int:
    """Which set of weights applies: 0 people talking, 1 a turn of a chat with an assistant, 2 a bare question to it."""
    return 0 if not mixed(stats) else 2 if query.bare else 1


def _form(query: Query, table: Columns, stats: ScopeStats) -> dict[str, Floats]:
    said = dict(zip(SIGNALS, table.signals.T, strict=True))
    assisted = mixed(stats)
    people = np.where(table.message, 1.0 - assisted, 0.0)
    user = np.where(table.message & ~table.assistant, assisted, 0.0)
    length = said["words"] * 10.2  # undo the scaling of `signals`: back to log(1 + words)
    other = _said(table, [bool(name) and name not in query.speakers for name in table.names])
    # Where the assistant's own words are asked for, their length does not count against them.
    long = np.where(
        table.message & ~(table.assistant & query.asks_assistant), np.maximum(length - math.log(40), 0.0), 0.0
    )
    return {
        "asks": said["asks"] * people,
        "user": (-user if query.asks_assistant else user) * query.bare,
        "short": np.where(table.message, np.minimum(length, math.log(13)) - math.log(13), 0.0),
        "long": long,
        "length": length / 3 * people,
        "times": said["times"] * people,
        "when_times": said["times"] * (query.kind == "when"),
        "numbers": said["numbers"] * (query.kind in ("when", "count")),
        "reacts": said["reacts"] * people,
        "first": said["first"] * people,
        "second": said["second"] * people,
        "second_other": said["second"] * (other & bool(query.speakers)),
        "names": said["names"] * people,
        "name_names": said["names"] * (query.kind == "name"),
        "user_first": said["first"] * user,
        "user_reacts": said["reacts"] * user,
        "user_asks": said["asks"] * user,
        "user_short": np.minimum(length - math.log(25), 0.0) * user,
        "user_gather": user * (query.form in ("order", "summary", "count", "list")),
        "short_gather": np.minimum(length - math.log(25), 0.0) * user * (query.form in ("order", "summary")),
        "numbers_count": said["numbers"] * user * (query.form == "count"),
        "assistant_long": np.where(table.assistant, long, 0.0),
        "standing": said["standing"] * user,
        "orders": said["orders"] * user,
        "own": user * (1.0 - said["asks"]),
        "own_first": said["first"] * user * (1.0 - said["asks"]),
        "fact": np.array([k in DERIVED for k in table.kind], np.float64),
        "superseded": np.where(table.superseded, 0.0 if query.past else -1.0, 0.0),
    }


def _time(query: Query, table: Columns, stats: ScopeStats) -> dict[str, Floats]:
    inside = np.zeros(table.size)
    near = np.zeros(table.size)
    for start, end in query.dates:
        at = table.created_at
        inside = np.maximum(inside, ((at >= start) & (at < end)).astype(np.float64))
        away = np.maximum(np.maximum(start - at, at - end), 0) / DAY
        near = np.maximum(near, np.exp(-away / 7.0))
    age = np.maximum(query.now - table.created_at, 0) / DAY if query.now else np.zeros(table.size)
    recency = -np.log1p(age) / 5
    # The next turn of a chat with an assistant goes on with what was said last; a bare question may be about any time.
    return {"date": inside, "date_near": near, "recency": recency * mixed(stats) * (not query.bare)}


def _sessions(thread: Ints, created: Ints) -> Ints:
    """Session numbers: a thread is cut into sessions where it was silent for longer than `SESSION_GAP`."""
    if not thread.size:
        return thread
    order = np.lexsort((created, thread))
    fresh = np.ones(thread.size, np.bool_)
    fresh[1:] = (np.diff(thread[order]) != 0) | (np.diff(created[order]) > SESSION_GAP)
    out = np.empty(thread.size, np.int64)
    out[order] = np.cumsum(fresh) - 1
    return out


def _session_terms(has: NDArray[np.bool_], session: Ints) -> Floats:
    """The share of query terms that each candidate's session contains, weighted by their rarity among sessions."""
    if not has.size:
        return np.zeros(len(session))
    sessions = int(session.max()) + 1
    seen = np.zeros((sessions, has.shape[1]), np.bool_)
    row, term = np.nonzero(has)
    seen[session[row], term] = True
    df = seen.sum(0)
    weight = np.where(df > 0, np.log(1.0 + (sessions - df + 0.5) / (df + 0.5)), 0.0)
    share: Floats = (seen @ weight / (weight.sum() or 1.0))[session]
    return share


def _session_top(value: Floats, session: Ints, take: int = 3) -> Floats:
    """For each candidate, the mean of the best `take` values in its session."""
    if not value.size:
        return value
    order = np.lexsort((-value, session))
    ordered = session[order]
    start = np.searchsorted(ordered, ordered)
    top = np.arange(len(order)) - start < take
    total = np.bincount(ordered[top], value[order][top], minlength=int(session.max()) + 1)
    result: Floats = (total / take)[session]
    return result


def _neighbours(value: Floats, table: Columns, offsets: tuple[tuple[int, float], ...]) -> Floats:
    """Weighted sum of the values of neighbouring turns that are candidates too."""
    out = np.zeros(table.size)
    for offset, weight in offsets:
        other, found = table.beside[offset]
        out += np.where(found, weight * value[other], 0.0)
    return out


def _beside(place: Ints, session: Ints) -> dict[int, tuple[Ints, NDArray[np.bool_]]]:
    """For each of `OFFSETS`: the row of each candidate's neighbour, and whether it is a candidate of the session."""
    order = np.argsort(place, kind="stable")
    places = place[order]
    out = {}
    for offset in OFFSETS if place.size else ():
        wanted = place + offset
        other = order[np.minimum(np.searchsorted(places, wanted), place.size - 1)]
        out[offset] = other, (place[other] == wanted) & (session[other] == session)
    return out


def matrix(found: Mapping[str, Any], names: Sequence[str]) -> Floats:
    """The named features as columns of a matrix; zeros for one that was not computed."""
    zero = np.zeros(len(next(iter(found.values()))))
    return np.array([found.get(name, zero) for name in names]).T

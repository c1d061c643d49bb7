"""Recall: find what matters for a query in the namespaces of this scope, by words and by meaning, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from ..errors import UsageError
from ..filters import Filter, matches, parse_filter
from ..messages import Message, message_id
from ..ports import to_micros
from ..records import Chunk, Entry, Fact, Job, Key, Learning, Mark, Summary
from ..scope import Namespace
from .core import Core
from .indexing import Indexer, fact_text

Spaces = Sequence[str | Namespace] | str | Namespace | None
KINDS = ("message", "fact", "learning", "summary", "document")
CANDIDATES = 150
MOST_CANDIDATES = 5_000
TRUST = {"user": 1.0, "system": 1.0, "assistant": 1.0, "processor": 1.0, "document": 0.9, "tool": 0.8, "web": 0.7}
_COUNTED_AGAIN = 1.1
"""How far a namespace may grow before a term is counted anew."""


class Scoped(msgspec.Struct):
    """One namespace as this process knows it: vectors (and words, for stores without a text index) up to a stamp."""

    org: str
    ns: str
    stamp: int = 0
    embedder: str | None = None
    vectors: Any = None
    lexical: Any = None
    counts: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    sample: Any = None


class Asked(msgspec.Struct, frozen=True):
    """A recall's arguments, checked."""

    kinds: tuple[str, ...] | None
    after: int | None
    before: int | None
    where: Filter | None

    def allows(self, entry: Entry) -> bool:
        """Whether an entry passes the filters."""
        created = to_micros(entry.created_at)
        if (self.kinds is not None and entry.kind not in self.kinds) or (
            self.after is not None and created <= self.after
        ):
            return False
        if self.before is not None and created >= self.before:
            return False
        return self.where is None or matches(self.where, {**_fields(entry), **entry.metadata})


class Recalling:
    """Finds what is remembered."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def recall(
        self,
        query: str,
        *,
        namespaces: Spaces = None,
        kinds: Sequence[str] | str | None = None,
        top_k: int = 10,
        max_tokens: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        where: Mapping[str, Any] | None = None,
        min_score: float | None = None,
    ) -> list[Any]:
        """The hits that matter most, best first; everything written before the call can be found."""
        from ..recall.query import analyse

        if not isinstance(query, str):
            raise UsageError("a query is text")
        asked = _asked(kinds, after, before, where)
        _check_counts(top_k, max_tokens, min_score)
        spaces = await self._namespaces(namespaces)
        await Indexer(self._core).catch_up(spaces)
        scopes = [(ns, mark) for ns, mark in zip(spaces, await self._marks(spaces), strict=True) if mark is not None]
        if not scopes or not query.strip() or top_k == 0:
            return []
        speakers = [name for _, mark in scopes for name in mark.detail.get("speakers", ())]
        now = to_micros(before) if before is not None else self._core.now()
        read = analyse(query, speakers=dict.fromkeys(speakers), now=now)
        vector = await self._embedded(read.embed_text)
        ranked = await self._ranked(read, vector, scopes, asked, top_k)
        return await self._answers(ranked, top_k, max_tokens, min_score)

    # -- scope

    async def _namespaces(self, given: Any) -> list[str]:
        scope = self._core.scope
        if given is not None:
            many = [given] if isinstance(given, str | Namespace) else list(given)
            return list(dict.fromkeys(scope.namespace(ns) for ns in many))
        marks = await self._core.scan(Mark, "scope")
        waiting = await self._core.scan(Job, "index")
        found = {mark.item for mark in marks} | {job.ns for job in waiting}
        return sorted(ns for ns in found if scope.may_touch(ns))

    async def _marks(self, spaces: Sequence[str]) -> list[Mark | None]:
        return await self._core.get_many(Mark, [("scope", ns) for ns in spaces])

    async def _embedded(self, text: str) -> Any:
        embedder = self._core.shared.embedder
        if embedder is None:
            return None
        from ..errors import ModelError

        try:
            return (await embedder.embed([text]))[0]
        except ModelError as problem:
            self._core.shared.note("embedder", problem)
            return None

    # -- candidates

    async def _ranked(
        self, query: Any, vector: Any, scopes: Sequence[tuple[str, Mark]], asked: Asked, top_k: int
    ) -> list[Any]:
        """Candidates of all namespaces in one ranking; more are taken while filters leave too few."""
        take = max(CANDIDATES, 3 * top_k)
        while True:
            found: dict[Key, Entry] = {}
            counts: dict[str, int] = {}
            spread: list[tuple[int, float, float]] = []
            full = False
            for ns, mark in scopes:
                seen = await self._candidates(query, vector, ns, mark, asked, take, found, counts, spread)
                full = full or seen >= take
            allowed = [entry for entry in found.values() if asked.allows(entry)]
            if len(allowed) >= min(3 * top_k, CANDIDATES) or not full or take >= MOST_CANDIDATES:
                break
            take *= 4
        return await self._core.runtime.call(_rank, query, vector, allowed, scopes, counts, spread, top_k)

    async def _candidates(
        self,
        query: Any,
        vector: Any,
        ns: str,
        mark: Mark,
        asked: Asked,
        take: int,
        found: dict[Key, Entry],
        counts: dict[str, int],
        spread: list[tuple[int, float, float]],
    ) -> int:
        core = self._core
        scoped = await self._scoped(ns, mark, vector is not None)
        entries = mark.detail.get("entries", 0)
        frequency = await self._frequency(scoped, query.terms, entries)
        for term, count in frequency.items():
            counts[term] = counts.get(term, 0) + count
        from ..recall.lexical import select_terms

        worth = select_terms(query.terms, frequency, entries)
        by_words = await self._by_words(scoped, worth, asked, take)
        found.update((entry.row_key, entry) for entry in by_words)
        if query.kind == "request":
            lane = [tuple(item[1:]) for item in mark.detail.get("standing", ())]
            standing = await core.get_many(Entry, [(ns, *key) for key in lane])
            found.update((entry.row_key, entry) for entry in standing if entry is not None)
        by_meaning = 0
        if vector is not None:
            by_meaning = await self._by_meaning(scoped, vector, asked, take, found, spread)
        return max(len(by_words), by_meaning)

    async def _frequency(self, scoped: Scoped, terms: Sequence[str], entries: int) -> dict[str, int]:
        if scoped.lexical is not None:
            counted: dict[str, int] = scoped.lexical.frequency(terms)
            return counted
        fresh = [t for t in terms if t not in scoped.counts or entries > scoped.counts[t][0] * _COUNTED_AGAIN]
        if fresh:
            found = await self._core.store.term_counts(scoped.org, scoped.ns, fresh)  # type: ignore[attr-defined]
            scoped.counts.update((term, (entries, count)) for term, count in found.items())
        return {term: scoped.counts[term][1] for term in terms}

    async def _by_words(self, scoped: Scoped, terms: Sequence[str], asked: Asked, take: int) -> list[Entry]:
        core = self._core
        if scoped.lexical is None:
            searching: Any = core.store
            found: list[Entry] = await searching.search_text(
                scoped.org, scoped.ns, terms, limit=take, now=core.now(), kinds=asked.kinds
            )
            return found
        keys = [key for key, _ in scoped.lexical.search(terms, take)]
        return await self._living(scoped, keys)

    async def _by_meaning(
        self,
        scoped: Scoped,
        vector: Any,
        asked: Asked,
        take: int,
        found: dict[Key, Entry],
        spread: list[tuple[int, float, float]],
    ) -> int:
        core = self._core
        searching: Any = core.store
        if scoped.vectors is None:
            near = await searching.search_vector(
                scoped.org, scoped.ns, scoped.embedder, vector.tolist(), limit=take, now=core.now(), kinds=asked.kinds
            )
            found.update((entry.row_key, entry) for entry, _ in near)
            spread.append(await core.runtime.call(_sampled, scoped.sample, vector))
            return len(near)
        if not len(scoped.vectors):
            return 0
        nearest = await core.runtime.call(scoped.vectors.search, vector, take)
        spread.append((len(scoped.vectors), nearest.mean, nearest.std))
        missing = [key for key in nearest.keys if (scoped.org, scoped.ns, *key) not in found]
        found.update((entry.row_key, entry) for entry in await self._living(scoped, missing))
        return len(nearest.keys)

    async def _living(self, scoped: Scoped, keys: Sequence[Key]) -> list[Entry]:
        """Entries that are still there; those that are not leave the index of this process too."""
        got = await self._core.get_many(Entry, [(scoped.ns, *key) for key in keys])
        gone = [key for key, entry in zip(keys, got, strict=True) if entry is None]
        if gone:
            if scoped.vectors is not None:
                scoped.vectors.remove(gone)
            if scoped.lexical is not None:
                for key in gone:
                    scoped.lexical.remove(key)
        return [entry for entry in got if entry is not None]

    # -- what this process keeps in RAM

    async def _scoped(self, ns: str, mark: Mark, wants_vectors: bool) -> Scoped:
        core = self._core
        embedder = core.shared.embedder
        name = embedder.name if embedder is not None and wants_vectors else None
        async with core.shared.recall_lock:
            scoped: Scoped | None = core.shared.scopes.get((core.org, ns))
            if scoped is None or (name is not None and scoped.embedder != name) or scoped.stamp > mark.position:
                scoped = self._fresh(ns, name, embedder)
                core.shared.scopes.put((core.org, ns), scoped)
            if scoped.stamp < mark.position:
                await self._refresh(scoped, mark)
        return scoped

    def _fresh(self, ns: str, name: str | None, embedder: Any) -> Scoped:
        from ..recall.lexical import LexicalIndex
        from ..recall.vectors import VectorIndex
        from ..stores.base import SearchesText, SearchesVectors

        store = self._core.store
        scoped = Scoped(self._core.org, ns, embedder=name)
        if not isinstance(store, SearchesText):
            scoped.lexical = LexicalIndex()
        if name is not None and not isinstance(store, SearchesVectors):
            scoped.vectors = VectorIndex(embedder.dimensions)
        return scoped

    async def _refresh(self, scoped: Scoped, mark: Mark) -> None:
        core = self._core
        if scoped.vectors is None and scoped.lexical is None:
            if scoped.embedder is not None:
                found = await core.scan(Entry, scoped.ns, index="by_stamp", limit=512)
                scoped.sample = [entry.vector for entry in found if entry.embedder == scoped.embedder]
            scoped.stamp = mark.position
            return
        after: Key = (scoped.stamp,)
        while True:
            page = await core.scan(Entry, scoped.ns, index="by_stamp", after=after, limit=5000)
            await core.runtime.call(_take_in, scoped, page)
            if len(page) < 5000:
                break
            last = page[-1]
            after = (last.stamp, last.kind, last.parent, last.id)
        scoped.stamp = mark.position

    # -- answers

    async def _answers(
        self, ranked: list[Any], top_k: int, max_tokens: int | None, min_score: float | None
    ) -> list[Any]:
        from ..recall.select import distinct, fill, merge_chunks

        if min_score is not None:
            ranked = [scored for scored in ranked if scored.score >= min_score]
        kept, repeats = distinct(ranked, None if max_tokens is not None else 2 * top_k)
        pool = (kept if len(kept) >= top_k else kept + repeats)[: 4 * top_k if max_tokens is not None else 2 * top_k]
        pool = await self._with_texts(pool)
        pool = merge_chunks(pool)
        if max_tokens is not None:
            pool = fill(pool, max_tokens, self._core.shared.counter.count)
        return [_hit(scored) for scored in pool[:top_k]]

    async def _with_texts(self, ranked: Sequence[Any]) -> list[Any]:
        """The same, each with its text; what is no longer there is left out."""
        texts: dict[tuple[str, str, str], str] = {}
        for kind in {scored.entry.kind for scored in ranked}:
            mine = [scored.entry for scored in ranked if scored.entry.kind == kind]
            texts.update(await self._texts(kind, mine))
        return [
            msgspec.structs.replace(scored, entry=msgspec.structs.replace(scored.entry, text=text))
            for scored in ranked
            if (text := texts.get((scored.entry.kind, scored.entry.namespace, scored.entry.id))) is not None
        ]

    async def _texts(self, kind: str, entries: Sequence[Any]) -> dict[tuple[str, str, str], str]:
        core = self._core
        got: list[Any]
        if kind == "message":
            got = await core.get_many(Message, [message_id(entry.id) for entry in entries])
            texts = [None if message is None else message.text for message in got]
        elif kind == "fact":
            got = await core.get_many(Fact, [(e.namespace, e.id[len(e.namespace) + 1 :]) for e in entries])
            texts = [None if fact is None else fact_text(fact) for fact in got]
        elif kind == "learning":
            got = await core.get_many(Learning, [(entry.namespace, entry.id) for entry in entries])
            texts = [None if learning is None else learning.content for learning in got]
        elif kind == "summary":
            got = await core.get_many(Summary, [(entry.thread, entry.seq) for entry in entries])
            texts = [None if summary is None else summary.text for summary in got]
        else:
            keys = [(e.namespace, e.thread, e.id[len(e.thread) + 1 :]) for e in entries]
            got = await core.get_many(Chunk, keys)
            texts = [None if chunk is None else chunk.text for chunk in got]
        return {
            (entry.kind, entry.namespace, entry.id): text
            for entry, text in zip(entries, texts, strict=True)
            if text is not None
        }


def _take_in(scoped: Scoped, page: Sequence[Entry]) -> None:
    """Add a page of entries to the indexes of this process."""
    keys = [(entry.kind, entry.parent, entry.id) for entry in page]
    if scoped.lexical is not None:
        for key, entry in zip(keys, page, strict=True):
            scoped.lexical.remove(key)
            scoped.lexical.add(key, entry.terms, entry.context_terms)
    if scoped.vectors is not None:
        mine = [
            (key, entry.vector)
            for key, entry in zip(keys, page, strict=True)
            if entry.vector is not None and entry.embedder == scoped.embedder
        ]
        scoped.vectors.remove([key for key, _ in mine])
        scoped.vectors.add_encoded([key for key, _ in mine], [vector for _, vector in mine])


def _sampled(sample: Any, vector: Any) -> tuple[int, float, float]:
    """How cosines lie over a namespace, from some of its vectors."""
    import numpy as np

    from ..recall.vectors import decode

    if not sample:
        return 0, 0.0, 0.0
    cosines = np.array([decode(data) @ vector for data in sample])
    return len(sample), float(cosines.mean()), float(cosines.std())


def _rank(
    query: Any,
    vector: Any,
    entries: Sequence[Entry],
    scopes: Sequence[tuple[str, Mark]],
    counts: Mapping[str, int],
    spread: Sequence[tuple[int, float, float]],
    top_k: int,
) -> list[Any]:
    """All candidates in one ranking: statistics are those of the namespaces together."""
    import numpy as np

    from ..recall.entry import ScopeStats
    from ..recall.features import Similarity
    from ..recall.rank import rank

    details = [mark.detail for _, mark in scopes]
    total = sum(detail.get("entries", 0) for detail in details)
    stats = ScopeStats(
        entries=total,
        mean_terms=sum(detail.get("terms", 0) for detail in details) / max(total, 1),
        assistant_entries=sum(detail.get("assistant", 0) for detail in details),
        speakers=tuple(dict.fromkeys(name for detail in details for name in detail.get("speakers", ()))),
    )
    similarity = None
    weight = sum(count for count, _, _ in spread)
    if vector is not None and weight:
        mean = sum(count * mean for count, mean, _ in spread) / weight
        std = sum(count * std for count, _, std in spread) / weight
        unit = np.asarray(vector, np.float32)
        similarity = Similarity(_cosines(entries, unit, mean), mean, std)
    return rank(query, [_seen(entry) for entry in entries], stats, counts, similarity, explain=2 * top_k)


def _cosines(entries: Sequence[Entry], unit: Any, missing: float) -> Any:
    """The cosine of each entry; `missing` where it has no vector of this length."""
    import numpy as np

    out = np.full(len(entries), missing, np.float64)
    width = len(unit) + 4
    have = [i for i, entry in enumerate(entries) if entry.vector is not None and len(entry.vector) == width]
    if have:
        raw = np.frombuffer(b"".join([entries[i].vector or b"" for i in have]), np.uint8).reshape(len(have), width)
        scales = raw[:, :4].copy().view("<f4")[:, 0]
        out[have] = (raw[:, 4:].view(np.int8).astype(np.float32) @ unit) * scales
    return out


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
        metadata={"trust": entry.trust},
        terms=entry.terms,
        context_terms=entry.context_terms,
        signals=entry.signals,
    )


@cache
def _seen_type() -> Any:
    from ..recall.entry import Entry as Seen

    return Seen


def _hit(scored: Any) -> Any:
    from ..ports import to_datetime
    from ..recall.hit import Hit

    entry = scored.entry
    kind = "document" if entry.kind == "chunk" else entry.kind
    source = entry.source or (entry.id if kind == "message" else None)
    return Hit(
        kind, entry.id, entry.text, scored.score, entry.namespace, to_datetime(entry.created_at), source,
        scored.reasons, entry.metadata["trust"],
    )  # fmt: skip


def _fields(entry: Entry) -> dict[str, Any]:
    names = ("kind", "id", "ns", "parent", "role", "speaker", "trust", "confidence", "created_at", "source")
    return {name: getattr(entry, name) for name in names}


def _asked(kinds: Any, after: datetime | None, before: datetime | None, where: Any) -> Asked:
    chosen = None if kinds is None else tuple([kinds] if isinstance(kinds, str) else kinds)
    unknown = [kind for kind in chosen or () if kind not in KINDS]
    if unknown:
        raise UsageError(f"kinds are {', '.join(KINDS)}")
    return Asked(
        chosen,
        None if after is None else to_micros(after),
        None if before is None else to_micros(before),
        parse_filter(where),
    )


def _check_counts(top_k: Any, max_tokens: Any, min_score: Any) -> None:
    for name, value in (("top_k", top_k), ("max_tokens", max_tokens)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise UsageError(f"{name} must be a whole number from 0 up")
    if min_score is not None and not isinstance(min_score, int | float):
        raise UsageError("min_score must be a number")

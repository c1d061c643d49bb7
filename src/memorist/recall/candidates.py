"""Finds the candidates for a question by text search, by vector search and by dates, and adds the neighbours of the
best ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

import msgspec

from memorist.filters import Filter, parse_filter
from memorist.ports import TokenCounter, to_datetime, to_micros
from memorist.recall.embedding import Embedding
from memorist.recall.index_cache import IndexCache
from memorist.recall.lexical import LexicalIndex, select_terms
from memorist.recall.pool import QuestionVectors, Spread, Vectors
from memorist.recall.query import Query
from memorist.recall.reranking import Reranking
from memorist.recall.vectors import Nearest, VectorIndex, decode
from memorist.records import SUPERSEDED, Entry, Key, NamespaceStats, Record
from memorist.runtime import Runtime
from memorist.stores.base import EntryFilter, SearchesText, SearchesVectors, Store

from ..kinds import FINDABLE
from ..messages.message import message_id

KINDS = tuple(FINDABLE)
MIN_CANDIDATES = 40
"""How many candidates each search (text and vector) returns. If three times the number of requested hits is higher,
that number is used instead."""
NEIGHBOURS_OF = 4
"""The number of best candidates from each search whose neighbours are also added."""
NEIGHBOUR_OFFSETS = (-2, -1, 1, 2, 3)
"""The offsets of these neighbouring turns. The answer often follows the turn that mentions the subject."""
MAX_DATED_ENTRIES = 40
"""How many of the nearest vectors to add from a time mentioned in the question."""
MAX_SCANNED_ENTRIES = 5_000
"""A namespace with at most this many entries is scanned completely if a question names a date, or after a deletion. Its
document frequencies are always exact."""
PAGE_ENTRIES = 2_000
SAMPLE_ENTRIES = 512
COUNT_GROWTH = 1.1
"""The factor by which a large namespace may grow before a cached document frequency is refreshed."""
MAX_CACHED_COUNTS = 50_000
R = TypeVar("R", bound=Record)
ShortKey = str | tuple[str, str, str]
"""A compact key of an entry in an index in RAM; see `shorten_key`."""


class Scoped(msgspec.Struct):
    """Holds the in-process index of one namespace: vectors (and terms, for stores without a text index) up to a
    stamp."""

    org: str
    ns: str
    stamp: int = 0
    embedder: str | None = None
    vectors: VectorIndex[ShortKey] | None = None
    earlier: dict[str, VectorIndex[ShortKey] | list[bytes]] = msgspec.field(default_factory=dict)
    """This maps the names of earlier embedders to indexes of their vectors that have not been replaced yet. If the
    store searches vectors itself, an index contains only a sample."""
    lexical: LexicalIndex[ShortKey] | None = None
    counts: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    sample: list[bytes] = msgspec.field(default_factory=list)
    entries: int = 0
    """This is the number of entries in the namespace when it was last searched."""

    @property
    def size(self) -> int:
        """This is the number of indexed entries. It exceeds the number of stored ones after a deletion."""
        if self.vectors is None:
            return self.entries
        return len(self.vectors) + sum(len(earlier) for earlier in self.earlier.values())

    def drop(self, key: Key) -> None:
        """Remove a deleted entry. The key begins with the namespace."""
        short = shorten_key(str(key[1]), str(key[2]), str(key[3]))
        for vectors in (self.vectors, *self.earlier.values()):
            if isinstance(vectors, VectorIndex):
                vectors.remove([short])
        if self.lexical is not None:
            self.lexical.remove(short)


class Parts(Protocol):
    """Lists the parts of a memory that recall uses."""

    @property
    def embedder(self) -> Embedding | None: ...

    @property
    def reranker(self) -> Reranking | None: ...

    @property
    def counter(self) -> TokenCounter: ...

    def note(self, part: str, problem: Exception) -> None: ...


class Reader(Protocol):
    """Lists what the search needs from its handle."""

    org: str
    store: Store
    runtime: Runtime
    now: Callable[[], int]

    @property
    def shared(self) -> Parts: ...

    def get(self, record_type: type[R], *key: str | int) -> Awaitable[R | None]: ...

    async def get_many(self, record_type: type[R], keys: Sequence[Key]) -> list[R | None]: ...

    def scan(
        self,
        record_type: type[R],
        *prefix: str | int,
        index: str | None = None,
        after: Key | None = None,
        where: Filter | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Awaitable[list[R]]: ...


class SearchResults(msgspec.Struct):
    """Holds the candidates found in all namespaces of a recall and statistics for ranking."""

    entries: dict[Key, Entry] = msgspec.field(default_factory=dict)
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    spread: list[Spread] = msgspec.field(default_factory=list)
    """For each namespace with vectors, this contains their number and the mean and standard deviation of their
    cosines."""
    earlier: dict[str, tuple[Vectors | None, list[Spread]]] = msgspec.field(default_factory=dict)
    """This contains the same for earlier embedders, each with its vectors for the question."""
    full: bool = False
    """This is True if a search returned as many entries as its limit, so that there may be more."""

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, each once."""
        for entry in entries:
            self.entries[entry.ns, entry.kind, entry.parent, entry.id] = entry

    def question_vectors(self, embedder: str | None, vectors: Vectors | None) -> list[QuestionVectors]:
        """Return the question's vectors from each embedder, the current one first."""
        present = [] if embedder is None or vectors is None else [QuestionVectors(embedder, vectors, self.spread)]
        return present + [
            QuestionVectors(name, by, spread) for name, (by, spread) in self.earlier.items() if by is not None
        ]


class Candidates:
    """Finds the candidates for one question, namespace by namespace."""

    def __init__(
        self,
        reader: Reader,
        indexes: IndexCache,
        lock: AbstractAsyncContextManager[object],
        query: Query,
        only: EntryFilter,
        *,
        embedder: str | None = None,
        vectors: Vectors | None = None,
        embed_earlier: Callable[[str], Awaitable[Vectors | None]] | None = None,
    ) -> None:
        self._reader = reader
        self._indexes = indexes
        self._lock = lock
        self._query = query
        self._only = only
        self._embedder = embedder if vectors is not None else None
        self._vectors = vectors
        self._embed_earlier = embed_earlier
        """Embeds the question with an earlier embedder. It is None if the caller passes a vector."""

    async def take(self, namespaces: Sequence[tuple[str, NamespaceStats]], count: int) -> SearchResults:
        """Return up to `count` candidates from each search and namespace, with their neighbours and replacements."""
        results = SearchResults()
        scopes_by_key: dict[Key, Scoped | None] = {}
        for ns, stats in namespaces:
            scoped = await self._scoped(ns, stats)
            worded = await self._by_words(scoped, stats.entries, count, results)
            near, dated = await self._by_meaning(scoped, stats.entries, count, results)
            results.full = results.full or max(len(worded), len(near)) >= count
            scopes_by_key.update(((ns, *key), scoped) for key in [*near, *dated])
            beside = _neighbours(ns, [*worded[:NEIGHBOURS_OF], *near[:NEIGHBOURS_OF]])
            if stats.assistant:
                # Standing instructions to an assistant may matter for any request, whatever its words.
                beside += [(ns, *item[1:]) for item in stats.standing]
            for key in beside:
                scopes_by_key.setdefault(key, None)
        await self._add(scopes_by_key, results)
        await self._add(dict.fromkeys(_replacements(results.entries.values())), results)
        return results

    async def _add(self, scopes_by_key: Mapping[Key, Scoped | None], results: SearchResults) -> None:
        """Fetch entries by key in one read. Keys that the store lacks are removed from the
        index in RAM."""
        missing = [key for key in scopes_by_key if key not in results.entries]
        if not missing:
            return
        for key, entry in zip(missing, await self._reader.get_many(Entry, missing), strict=True):
            if entry is not None:
                results.entries[key] = entry
            elif (scoped := scopes_by_key[key]) is not None:
                scoped.drop(key)

    # -- words

    async def _by_words(self, scoped: Scoped, entries: int, count: int, results: SearchResults) -> list[Key]:
        """Add entries that share terms with the question or one of its parts, and return their keys, best first."""
        frequency = await self._frequency(scoped, self._query.terms, entries)
        for term, number in frequency.items():
            results.counts[term] = results.counts.get(term, 0) + number
        keys: dict[Key, None] = {}
        for number, terms in enumerate((self._query.terms, *self._query.parts)):
            for key in await self._search_text(scoped, terms, frequency, entries, count >> bool(number), results):
                keys.setdefault(key)
        return list(keys)

    async def _search_text(
        self,
        scoped: Scoped,
        terms: Sequence[str],
        frequency: Mapping[str, int],
        entries: int,
        count: int,
        results: SearchResults,
    ) -> list[Key]:
        chosen = select_terms(terms, frequency, entries)
        if scoped.lexical is not None:
            keys: list[Key] = [(scoped.ns, *restore_key(key)) for key, _ in scoped.lexical.search(terms, count)]
            await self._add(dict.fromkeys(keys, scoped), results)
            return [key[1:] for key in keys if key in results.entries]
        store = self._reader.store
        assert isinstance(store, SearchesText)
        now = self._reader.now()
        rows = await store.search_text(scoped.org, scoped.ns, chosen, limit=count, now=now, only=self._only)
        results.add(rows)
        return [(entry.kind, entry.parent, entry.id) for entry in rows]

    async def _frequency(self, scoped: Scoped, terms: Sequence[str], entries: int) -> dict[str, int]:
        if scoped.lexical is not None:
            return scoped.lexical.frequency(terms)
        cached = scoped.counts
        fresh = [term for term in terms if term not in cached or entries > cached[term][0] * COUNT_GROWTH]
        if fresh:
            if len(cached) > MAX_CACHED_COUNTS:
                cached.clear()
                fresh = list(terms)
            # Without an index in the process the store has its own (SearchesText).
            store = self._reader.store
            assert isinstance(store, SearchesText)
            counts = await store.term_counts(scoped.org, scoped.ns, fresh)
            cached.update((term, (entries, count)) for term, count in counts.items())
        return {term: cached[term][1] for term in terms if term in cached}

    # -- meaning

    async def _by_meaning(
        self, scoped: Scoped, entries: int, count: int, results: SearchResults
    ) -> tuple[list[Key], list[Key]]:
        """Return the keys of entries near the question, nearest first, and of entries from the times that it names."""
        call, vectors = self._reader.runtime.call, self._vectors
        before = await self._by_earlier(scoped, count, results) if scoped.earlier else []
        if scoped.vectors is not None and vectors is not None and len(scoped.vectors):
            near, spread, dated = await call(_nearest, scoped.vectors, vectors, count, self._only, self._query)
            results.spread.append(spread)
            return near + before, dated
        if self._query.dates and entries <= MAX_SCANNED_ENTRIES:
            await self._at_dates(scoped.ns, results)
        if vectors is None or scoped.embedder is None or scoped.vectors is not None:
            return before, []
        near = await self._search_vectors(scoped, scoped.embedder, vectors, count, results)
        results.spread.append(await call(_sample_cosines, scoped.sample, vectors))
        return near + before, []

    async def _search_vectors(
        self, scoped: Scoped, embedder: str, vectors: Vectors, count: int, results: SearchResults
    ) -> list[Key]:
        """Add entries near any of the question's vectors, found by a store that can search vectors, and return their
        keys."""
        store = self._reader.store
        assert isinstance(store, SearchesVectors)
        keys: dict[Key, None] = {}
        for number, vector in enumerate(vectors):
            rows = await store.search_vector(
                scoped.org, scoped.ns, embedder, vector.tolist(), limit=count >> bool(number), now=self._reader.now(),
                only=self._only,
            )  # fmt: skip
            results.add(entry for entry, _ in rows)
            keys.update(dict.fromkeys((entry.kind, entry.parent, entry.id) for entry, _ in rows))
        return list(keys)

    async def _by_earlier(self, scoped: Scoped, count: int, results: SearchResults) -> list[Key]:
        """Return the keys of entries near the question according to earlier embedders, whose vectors have not
        been replaced yet."""
        keys: list[Key] = []
        call = self._reader.runtime.call
        for name, index in scoped.earlier.items():
            vectors = await self._earlier_vectors(name, results)
            if vectors is None:
                continue
            if isinstance(index, list):
                keys += await self._search_vectors(scoped, name, vectors, count, results)
                results.earlier[name][1].append(await call(_sample_cosines, index, vectors))
            elif len(index):
                near, spread, dated = await call(_nearest, index, vectors, count, self._only, self._query)
                results.earlier[name][1].append(spread)
                keys += [*near, *dated]
        return keys

    async def _earlier_vectors(self, name: str, results: SearchResults) -> Vectors | None:
        """Return the question's vectors from an earlier embedder, or None if it cannot be opened or fails."""
        if self._embed_earlier is None:
            return None
        if name not in results.earlier:
            results.earlier[name] = (await self._embed_earlier(name), [])
        return results.earlier[name][0]

    async def _at_dates(self, ns: str, results: SearchResults) -> None:
        """Add entries from the times that the question names without using an index in RAM. This is done only for small
        namespaces."""
        for start, end in self._query.dates:
            within = parse_filter({"created_at": {"$gte": to_datetime(start), "$lt": to_datetime(end)}})
            results.add(await self._reader.scan(Entry, ns, where=within, limit=MAX_DATED_ENTRIES))

    # -- what this process keeps in RAM

    async def _scoped(self, ns: str, stats: NamespaceStats) -> Scoped:
        name = self._embedder
        key = (self._reader.org, ns)
        async with self._lock:
            scoped = self._indexes.get(key)
            if scoped is None or (name is not None and scoped.embedder != name) or scoped.stamp > stats.stamp:
                scoped = self._fresh(ns, name)
                self._indexes.put(key, scoped)
            if scoped.stamp < stats.stamp:
                await self._refresh(scoped, stats)
            if stats.entries < min(scoped.size, MAX_SCANNED_ENTRIES + 1):
                # Deleted entries would still count in the spread of cosines. In a large namespace, they hardly matter.
                scoped = self._fresh(ns, name)
                self._indexes.put(key, scoped)
                await self._refresh(scoped, stats)
            scoped.entries = stats.entries
        return scoped

    def _fresh(self, ns: str, name: str | None) -> Scoped:
        store = self._reader.store
        scoped = Scoped(self._reader.org, ns, embedder=name)
        if not isinstance(store, SearchesText):
            scoped.lexical = LexicalIndex()
        if name is not None and self._vectors is not None and not isinstance(store, SearchesVectors):
            scoped.vectors = VectorIndex(self._vectors.shape[1])
        return scoped

    async def _refresh(self, scoped: Scoped, stats: NamespaceStats) -> None:
        reader = self._reader
        if stats.entries <= MAX_SCANNED_ENTRIES:
            scoped.counts.clear()
        if scoped.vectors is None and scoped.lexical is None:
            # New entries have newer stamps than the sample, so a full one need not be read again with every message.
            if scoped.embedder is not None and (len(scoped.sample) < SAMPLE_ENTRIES or scoped.earlier):
                some = await reader.scan(Entry, scoped.ns, index="by_stamp", limit=SAMPLE_ENTRIES)
                scoped.sample = [e.vector for e in some if e.vector is not None and e.embedder == scoped.embedder]
                # Re-embedding gives an entry a new stamp, so vectors left of another embedder have the oldest stamps.
                scoped.earlier = dict(_by_embedder(some, scoped.embedder))
            scoped.stamp = stats.stamp
            return
        if scoped.vectors is not None and not len(scoped.vectors):
            scoped.vectors.reserve(stats.entries)
        after: Key = (scoped.stamp,)
        while True:
            page = await reader.scan(Entry, scoped.ns, index="by_stamp", after=after, limit=PAGE_ENTRIES)
            await reader.runtime.call(_take_in, scoped, page)
            if len(page) < PAGE_ENTRIES:
                break
            last = page[-1]
            after = (last.stamp, last.kind, last.parent, last.id)
        scoped.stamp = stats.stamp


def shorten_key(kind: str, parent: str, id: str) -> ShortKey:
    """Return a compact key of an entry for the index in RAM, because a message's id already contains its thread."""
    return id if kind == "message" else (kind, parent, id)


def restore_key(key: ShortKey) -> tuple[str, str, str]:
    """Return the kind, parent and id of a key that `shorten_key` created."""
    return key if isinstance(key, tuple) else ("message", message_id(key)[0], key)


def _short(entry: Entry) -> ShortKey:
    return shorten_key(entry.kind, entry.parent, entry.id)


def _replacements(entries: Iterable[Entry]) -> list[Key]:
    """Return the keys of the facts that replaced the statements in messages."""
    return [(entry.ns, "fact", "", fact) for entry in entries if (fact := entry.metadata.get(SUPERSEDED)) is not None]


def _neighbours(ns: str, keys: Iterable[Key]) -> list[Key]:
    """Return the keys of the messages around the given messages."""
    beside: list[Key] = []
    for kind, parent, id in keys:
        if kind == "message":
            _, seq = message_id(str(id))
            beside += [(ns, kind, parent, f"{parent}#{seq + step}") for step in NEIGHBOUR_OFFSETS if seq + step > 0]
    return beside


def _nearest(
    index: VectorIndex[ShortKey], vectors: Vectors, count: int, only: EntryFilter, query: Query
) -> tuple[list[Key], Spread, list[Key]]:
    """Return the keys of the nearest vectors that the filters allow, their spread, and keys of entries from the times
    that the question names."""
    after = None if only.after is None else only.after + 1
    groups = None if only.kinds is None else [KINDS.index(kind) for kind in only.kinds]
    mask = index.between(after, only.before, groups)
    dated: dict[Key, None] = {}
    for start, end in query.dates:
        within = index.between(start, end)
        both = within if mask is None or within is None else within & mask
        dated.update((restore_key(key), None) for key in index.search(vectors[0], MAX_DATED_ENTRIES, mask=both).keys)
    first: Nearest[ShortKey] = index.search(vectors[0], count, mask=mask)
    near: dict[Key, None] = dict.fromkeys(restore_key(key) for key in first.keys)
    for vector in vectors[1:]:
        near.update((restore_key(key), None) for key in index.search(vector, count // 2, mask=mask).keys)
    return list(near), (len(index), first.mean, first.std), list(dated)


def _take_in(scoped: Scoped, page: Sequence[Entry]) -> None:
    """Add a page of entries to the indexes of this process."""
    if scoped.lexical is not None:
        for entry in page:
            scoped.lexical.add(_short(entry), entry.terms, entry.context_terms)
    if scoped.vectors is None:
        return
    _add_vectors(scoped.vectors, [entry for entry in page if entry.embedder == scoped.embedder])
    scoped.vectors.remove([_short(entry) for entry in page if entry.vector is None])
    for index in scoped.earlier.values():
        if isinstance(index, VectorIndex):
            index.remove([_short(entry) for entry in page])
    for name, data in _by_embedder(page, scoped.embedder).items():
        earlier = scoped.earlier.setdefault(name, VectorIndex(len(data[0]) - 4))
        if isinstance(earlier, VectorIndex):
            _add_vectors(earlier, [entry for entry in page if entry.embedder == name])


def _add_vectors(index: VectorIndex[ShortKey], entries: Sequence[Entry]) -> None:
    embedded = [(entry, entry.vector) for entry in entries if entry.vector is not None]
    index.add_encoded(
        [_short(entry) for entry, _ in embedded],
        [vector for _, vector in embedded],
        times=[to_micros(entry.created_at) for entry, _ in embedded],
        groups=[KINDS.index(entry.kind) for entry, _ in embedded],
    )


def _by_embedder(entries: Sequence[Entry], present: str | None) -> dict[str, list[bytes]]:
    """Return encoded vectors of embedders other than the current one, by the embedder's name."""
    out: dict[str, list[bytes]] = {}
    for entry in entries:
        if entry.vector is not None and entry.embedder is not None and entry.embedder != present:
            out.setdefault(entry.embedder, []).append(entry.vector)
    return out


def _sample_cosines(sample: Sequence[bytes], vectors: Vectors) -> Spread:
    """Return the number, mean and standard deviation of cosines in a namespace, estimated from a sample of its
    vectors."""
    import numpy as np

    if not sample:
        return 0, 0.0, 0.0
    cosines = np.array([decode(data) @ vectors[0] for data in sample])
    return len(sample), float(cosines.mean()), float(cosines.std())

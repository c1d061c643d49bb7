"""Finds the candidates of a recall: by text search, by vector search, by dates, and their neighbours and links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ...errors import ModelError
from ...filters import parse_filter
from ...kinds import FINDABLE
from ...ports import to_datetime, to_micros
from ...recall.reach import DATED, DERIVED, NEAR, NEIGHBOURS_OF
from ...records import Entry, Key, Mark
from ...stores.base import EntryFilter
from ..core import Core

KINDS = tuple(FINDABLE)
SUPERSEDED = "memorist.superseded"
"""The metadata key of an entry that names the fact which replaced what was said there."""
READABLE = 5_000
"""A namespace with at most so many entries is scanned whole for a date."""
PAGE = 2_000
SAMPLE = 512
_COUNTED_AGAIN = 1.1
"""By what factor a namespace may grow before a cached document frequency is refreshed."""
_MOST_COUNTS = 50_000


class Asked(EntryFilter, frozen=True):
    """A recall's filters, checked."""

    @property
    def searched(self) -> tuple[str, ...] | None:
        """The kinds to search: facts and learnings too if messages are wanted, because they lead to their sources."""
        if self.kinds is None or "message" not in self.kinds:
            return self.kinds
        return tuple(dict.fromkeys((*self.kinds, *DERIVED)))

    @property
    def searches(self) -> tuple[EntryFilter, EntryFilter | None]:
        """What to search in a store that filters: what may be a hit, and beside it facts and learnings that do not pass
        the filter but lead to their sources. Without a filter beyond kinds, one search finds both."""
        if not self.beyond_kinds:
            return EntryFilter(self.searched), None
        searched = self.searched
        leading = tuple(kind for kind in DERIVED if searched is None or kind in searched)
        return EntryFilter(self.kinds, self.after, self.before, self.where), EntryFilter(leading) if leading else None

    def allowed(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that pass the filters."""
        bare = self.kinds is None and not self.beyond_kinds
        return list(entries) if bare else [entry for entry in entries if self.allows(entry)]


class Scoped(msgspec.Struct):
    """The in-process index of one namespace: vectors (and terms, for stores without a text index) up to a stamp."""

    org: str
    ns: str
    stamp: int = 0
    embedder: str | None = None
    vectors: Any = None
    earlier: dict[str, Any] = msgspec.field(default_factory=dict)
    """By embedder name: an index of vectors that earlier embedders made and that are not replaced yet; only a sample of
    them if the store searches vectors itself."""
    lexical: Any = None
    counts: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    sample: Any = None

    def drop(self, key: Key) -> None:
        """Remove a deleted entry; the key begins with the namespace."""
        short = slim(*key[1:])
        for vectors in (self.vectors, *self.earlier.values()):
            if vectors is not None:
                vectors.remove([short])
        if self.lexical is not None:
            self.lexical.remove(short)


class Found(msgspec.Struct):
    """The candidates found in all namespaces of a recall, and statistics for ranking."""

    entries: dict[Key, Entry] = msgspec.field(default_factory=dict)
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    spread: list[tuple[int, float, float]] = msgspec.field(default_factory=list)
    """For each namespace with vectors: their number, and the mean and standard deviation of their cosines."""
    earlier: dict[str, tuple[Any, list[tuple[int, float, float]]]] = msgspec.field(default_factory=dict)
    """The same for earlier embedders, each with its vector of the question."""
    full: bool = False
    """Whether a search returned as many as its limit, so that there may be more."""

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, each once."""
        for entry in entries:
            self.entries[entry.ns, entry.kind, entry.parent, entry.id] = entry


class Candidates:
    """Searches the candidates of one question, namespace by namespace."""

    def __init__(self, core: Core, query: Any, vector: Any, asked: Asked, *, beside: bool = True) -> None:
        self._core = core
        self._beside = beside
        """Whether vectors of earlier embedders are searched too; not possible with a vector given by the caller."""
        self._query = query
        self._vector = vector
        self._asked = asked

    async def take(self, scopes: Sequence[tuple[str, Mark]], count: int) -> Found:
        """Up to `count` candidates of each search and namespace, with their neighbours and linked entries."""
        found = Found()
        wanted: dict[Key, Scoped | None] = {}
        for ns, mark in scopes:
            scoped = await self._scoped(ns, mark)
            worded = await self._by_words(scoped, mark, count, found)
            near, dated = await self._by_meaning(scoped, mark, count, found)
            found.full = found.full or max(len(worded), len(near)) >= count
            wanted.update(((ns, *key), scoped) for key in [*near, *dated])
            best = [*worded[:NEIGHBOURS_OF], *near[:NEIGHBOURS_OF]]
            beside = _neighbours(ns, best)
            if mark.detail.get("assistant", 0):
                # Standing wishes to an assistant may matter for any question, whatever its words.
                beside += [(ns, *item[2:]) for item in mark.detail.get("standing", ())]
            for key in beside:
                wanted.setdefault(key, None)
        await self._add(wanted, found)
        await self._add(dict.fromkeys(_linked(found.entries.values())), found)
        return found

    async def _add(self, wanted: Mapping[Key, Scoped | None], found: Found) -> None:
        """Fetch entries known only by their keys, in one read; keys that the store lacks leave the index in RAM."""
        missing = [key for key in wanted if key not in found.entries]
        if not missing:
            return
        for key, entry in zip(missing, await self._core.get_many(Entry, missing), strict=True):
            if entry is not None:
                found.entries[key] = entry
            elif (scoped := wanted[key]) is not None:
                scoped.drop(key)

    # -- words

    async def _by_words(self, scoped: Scoped, mark: Mark, count: int, found: Found) -> list[Key]:
        """Add entries that share terms with the question; returns their keys, best first."""
        from ...recall.lexical import select_terms

        entries = mark.detail.get("entries", 0)
        frequency = await self._frequency(scoped, self._query.terms, entries)
        for term, number in frequency.items():
            found.counts[term] = found.counts.get(term, 0) + number
        if scoped.lexical is not None:
            keys = [(scoped.ns, *whole(key)) for key, _ in scoped.lexical.search(self._query.terms, count)]
            await self._add(dict.fromkeys(keys, scoped), found)
            return [key[1:] for key in keys if key in found.entries]
        searching: Any = self._core.store
        terms = select_terms(self._query.terms, frequency, entries)

        async def search(only: EntryFilter) -> list[Entry]:
            got: list[Entry] = await searching.search_text(
                scoped.org, scoped.ns, terms, limit=count, now=self._core.now(), only=only
            )
            return got

        return await self._searched(search, found)

    async def _searched(self, search: Callable[[EntryFilter], Awaitable[list[Entry]]], found: Found) -> list[Key]:
        """Add what a store's search finds; returns the keys of those that pass the filters, best first."""
        wanted, leading = self._asked.searches
        got = await search(wanted)
        found.add(got)
        if leading is not None:
            found.add(await search(leading))
        return [(entry.kind, entry.parent, entry.id) for entry in got]

    async def _frequency(self, scoped: Scoped, terms: Sequence[str], entries: int) -> dict[str, int]:
        if scoped.lexical is not None:
            counted: dict[str, int] = scoped.lexical.frequency(terms)
            return counted
        known = scoped.counts
        fresh = [term for term in terms if term not in known or entries > known[term][0] * _COUNTED_AGAIN]
        if fresh:
            if len(known) > _MOST_COUNTS:
                known.clear()
                fresh = list(terms)
            # Without an index in the process the store has its own (SearchesText).
            searching: Any = self._core.store
            got = await searching.term_counts(scoped.org, scoped.ns, fresh)
            known.update((term, (entries, count)) for term, count in got.items())
        return {term: known[term][1] for term in terms}

    # -- meaning

    async def _by_meaning(self, scoped: Scoped, mark: Mark, count: int, found: Found) -> tuple[list[Key], list[Key]]:
        """Keys of entries near the question, nearest first, and of entries from the times that it names."""
        core, vector = self._core, self._vector
        before = await self._by_earlier(scoped, count, found) if scoped.earlier else []
        if scoped.vectors is not None and vector is not None and len(scoped.vectors):
            nearest, dated = await core.runtime.call(_nearest, scoped.vectors, vector, count, self._asked, self._query)
            found.spread.append((len(scoped.vectors), nearest.mean, nearest.std))
            return [whole(key) for key in nearest.keys] + before, [whole(key) for key in dated]
        if self._query.dates:
            await self._at_dates(scoped.ns, mark, found)
        if vector is None or scoped.embedder is None or scoped.vectors is not None:
            return before, []
        near = await self._near(scoped, scoped.embedder, vector, count, found)
        found.spread.append(await core.runtime.call(_sampled, scoped.sample, vector))
        return near + before, []

    async def _near(self, scoped: Scoped, embedder: str, vector: Any, count: int, found: Found) -> list[Key]:
        """Add entries near a vector, found by a store that searches vectors; returns their keys, nearest first."""
        searching: Any = self._core.store

        async def search(only: EntryFilter) -> list[Entry]:
            near = await searching.search_vector(
                scoped.org, scoped.ns, embedder, vector.tolist(), limit=count, now=self._core.now(), only=only
            )
            return [entry for entry, _ in near]

        return await self._searched(search, found)

    async def _by_earlier(self, scoped: Scoped, count: int, found: Found) -> list[Key]:
        """Keys of entries near the question by earlier embedders, whose vectors are not replaced yet."""
        keys: list[Key] = []
        for name, vectors in scoped.earlier.items():
            vector = await self._earlier(name, found)
            if vector is None:
                continue
            if isinstance(vectors, list):
                keys += await self._near(scoped, name, vector, count, found)
                found.earlier[name][1].append(await self._core.runtime.call(_sampled, vectors, vector))
            elif len(vectors):
                nearest, dated = await self._core.runtime.call(
                    _nearest, vectors, vector, count, self._asked, self._query
                )
                found.earlier[name][1].append((len(vectors), nearest.mean, nearest.std))
                keys += [whole(key) for key in [*nearest.keys, *dated]]
        return keys

    async def _earlier(self, name: str, found: Found) -> Any:
        """The question's vector by an earlier embedder; None if that cannot be opened or fails."""
        if not self._beside:
            return None
        if name not in found.earlier:
            embedder = self._core.shared.earlier.get(name)
            try:
                vector = None if embedder is None else await embedder.ask(self._query)
            except ModelError as problem:
                self._core.shared.note("embedder", problem)
                vector = None
            found.earlier[name] = (vector, [])
        return found.earlier[name][0]

    async def _at_dates(self, ns: str, mark: Mark, found: Found) -> None:
        """Add entries from the times that the question names, without an index in RAM; for small namespaces only."""
        if mark.detail.get("entries", 0) > READABLE:
            return
        for start, end in self._query.dates:
            within = parse_filter({"created_at": {"$gte": to_datetime(start), "$lt": to_datetime(end)}})
            found.add(await self._core.scan(Entry, ns, where=within, limit=DATED))

    # -- what this process keeps in RAM

    async def _scoped(self, ns: str, mark: Mark) -> Scoped:
        core = self._core
        embedder = core.shared.embedder
        name = embedder.name if embedder is not None and self._vector is not None else None
        async with core.shared.recall_lock:
            scoped: Scoped | None = core.shared.scopes.get((core.org, ns))
            if scoped is None or (name is not None and scoped.embedder != name) or scoped.stamp > mark.position:
                scoped = self._fresh(ns, name)
                core.shared.scopes.put((core.org, ns), scoped)
            if scoped.stamp < mark.position:
                await self._refresh(scoped, mark)
        return scoped

    def _fresh(self, ns: str, name: str | None) -> Scoped:
        from ...recall.lexical import LexicalIndex
        from ...recall.vectors import VectorIndex
        from ...stores.base import SearchesText, SearchesVectors

        store = self._core.store
        scoped = Scoped(self._core.org, ns, embedder=name)
        if not isinstance(store, SearchesText):
            scoped.lexical = LexicalIndex()
        if name is not None and not isinstance(store, SearchesVectors):
            scoped.vectors = VectorIndex(len(self._vector))
        return scoped

    async def _refresh(self, scoped: Scoped, mark: Mark) -> None:
        core = self._core
        if scoped.vectors is None and scoped.lexical is None:
            if scoped.embedder is not None:
                some = await core.scan(Entry, scoped.ns, index="by_stamp", limit=SAMPLE)
                scoped.sample = [entry.vector for entry in some if entry.embedder == scoped.embedder]
                # Re-embedding gives an entry a new stamp, so vectors left of another embedder have the oldest stamps.
                scoped.earlier = _by_embedder(some, scoped.embedder)
            scoped.stamp = mark.position
            return
        if scoped.vectors is not None and not len(scoped.vectors):
            scoped.vectors.reserve(mark.detail.get("entries", 0))
        after: Key = (scoped.stamp,)
        while True:
            page = await core.scan(Entry, scoped.ns, index="by_stamp", after=after, limit=PAGE)
            await core.runtime.call(_take_in, scoped, page)
            if len(page) < PAGE:
                break
            last = page[-1]
            after = (last.stamp, last.kind, last.parent, last.id)
        scoped.stamp = mark.position


def slim(kind: Any, parent: Any, id: Any) -> Any:
    """A compact key of an entry for the index in RAM: a message's id contains its thread already."""
    return id if kind == "message" else (kind, parent, id)


def whole(key: Any) -> Key:
    """The kind, parent and id of a key made by `slim`."""
    return ("message", key.rpartition("#")[0], key) if isinstance(key, str) else key


def _linked(entries: Iterable[Entry]) -> list[Key]:
    """Keys of linked entries: the source messages of facts and learnings, and the facts that replaced messages."""
    found: list[Key] = []
    for entry in entries:
        if entry.kind in DERIVED and entry.source is not None and "#" in entry.source:
            found.append((entry.ns, "message", entry.source.rpartition("#")[0], entry.source))
        elif (fact := entry.metadata.get(SUPERSEDED)) is not None:
            found.append((entry.ns, "fact", "", fact))
    return found


def _neighbours(ns: str, keys: Iterable[Key]) -> list[Key]:
    """Keys of the messages around some messages."""
    found: list[Key] = []
    for kind, parent, id in keys:
        if kind == "message":
            seq = int(str(id).rpartition("#")[2])
            found += [(ns, kind, parent, f"{parent}#{seq + step}") for step in NEAR if seq + step > 0]
    return found


def _nearest(vectors: Any, vector: Any, count: int, asked: Asked, query: Any) -> tuple[Any, list[Any]]:
    """The nearest vectors that the filters allow, and the nearest from the times that the question names."""
    after = None if asked.after is None else asked.after + 1
    groups = None if asked.searched is None else [KINDS.index(kind) for kind in asked.searched]
    mask = vectors.between(after, asked.before, groups)
    dated: list[Any] = []
    for start, end in query.dates:
        within = vectors.between(start, end)
        dated += vectors.search(vector, DATED, mask=within if mask is None else within & mask).keys
    return vectors.search(vector, count, mask=mask), dated


def _take_in(scoped: Scoped, page: Sequence[Entry]) -> None:
    """Add a page of entries to the indexes of this process."""
    if scoped.lexical is not None:
        for entry in page:
            scoped.lexical.add(slim(entry.kind, entry.parent, entry.id), entry.terms, entry.context_terms)
    if scoped.vectors is None:
        return
    mine = [entry for entry in page if entry.vector is not None and entry.embedder == scoped.embedder]
    scoped.vectors.add_encoded(
        [slim(entry.kind, entry.parent, entry.id) for entry in mine],
        [entry.vector for entry in mine],
        times=[to_micros(entry.created_at) for entry in mine],
        groups=[KINDS.index(entry.kind) for entry in mine],
    )
    bare = [slim(entry.kind, entry.parent, entry.id) for entry in page if entry.vector is None]
    scoped.vectors.remove(bare)
    _take_in_earlier(scoped, page)


def _take_in_earlier(scoped: Scoped, page: Sequence[Entry]) -> None:
    """Keep vectors of earlier embedders in separate indexes, until their entries are embedded again."""
    from ...recall.vectors import VectorIndex

    for vectors in scoped.earlier.values():
        vectors.remove([slim(entry.kind, entry.parent, entry.id) for entry in page])
    if all(entry.embedder in (None, scoped.embedder) for entry in page):
        return
    for name, data in _by_embedder(page, scoped.embedder).items():
        others = [entry for entry in page if entry.embedder == name and entry.vector is not None]
        vectors = scoped.earlier.setdefault(name, VectorIndex(len(data[0]) - 4))
        vectors.add_encoded(
            [slim(entry.kind, entry.parent, entry.id) for entry in others],
            data,
            times=[to_micros(entry.created_at) for entry in others],
            groups=[KINDS.index(entry.kind) for entry in others],
        )


def _by_embedder(entries: Sequence[Entry], present: str | None) -> dict[str, list[bytes]]:
    """Encoded vectors of other embedders than the present one, by the embedder's name."""
    out: dict[str, list[bytes]] = {}
    for entry in entries:
        if entry.vector is not None and entry.embedder is not None and entry.embedder != present:
            out.setdefault(entry.embedder, []).append(entry.vector)
    return out


def _sampled(sample: Any, vector: Any) -> tuple[int, float, float]:
    """The number, mean and standard deviation of cosines in a namespace, estimated from a sample of its vectors."""
    import numpy as np

    from ...recall.vectors import decode

    if not sample:
        return 0, 0.0, 0.0
    cosines = np.array([decode(data) @ vector for data in sample])
    return len(sample), float(cosines.mean()), float(cosines.std())

"""Recall searches the namespaces of this scope, by words and by meaning, for the memories relevant to a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..errors import ModelError, StoreError, UsageError
from ..filters import Where, parse_filter
from ..kinds import FINDABLE
from ..ports import When, as_datetime, as_micros, to_micros
from ..recall.hit import Hit
from ..recall.hits import Hits, Wanted
from ..records import Entry, Job, NamespaceStats, view_of
from ..scope import Namespace, Ns
from ..stores.base import EntryFilter, replica_reads
from ..values import as_list
from .core import Core
from .derive.catching_up import catch_up
from .derive.indexing import INDEX, Draft, analyse_drafts, unindexed_drafts, usual_language
from .past import changed_drafts, core_at, mark_as_then

if TYPE_CHECKING:
    from ..recall.embedding import Embedding
    from ..recall.pool import Pool, Vectors
    from ..recall.query import Query

Spaces = Sequence[Ns] | Ns | None
"""Where to search: one or more namespaces, or None for all that the handle may read."""
NAMESPACES = view_of(NamespaceStats)
"""The names of namespaces that have index entries, without their statistics."""
MAX_CANDIDATES = 5_000
MAX_HOPS = 4
HITS_FOR_MODEL = 8
"""How many hits the model reads before it proposes the next search."""
MAX_PAST_ENTRIES = 200
"""For a question about an earlier time: how many of the facts and events that have changed since then become
candidates."""
MAX_REINDEXED_ENTRIES = 5_000
"""A recall rebuilds the outdated entries of a namespace if there are at most this many. That takes about a second."""
MAX_HITS_WITH_THREE_CANDIDATES = 60
"""For up to this many hits, recall considers three candidates per hit; for more, it considers two."""


class Recalling:
    """Searches for the memories relevant to a query."""

    def __init__(self, core: Core) -> None:
        # An index has neither the rows of an open batch nor those of the past.
        self._core = core.committed() if core.moment is None else Core(core.shared, core.scope)
        self._past = None if core.moment is None else core

    async def recall(
        self,
        query: str,
        *,
        namespaces: Spaces = None,
        kinds: Sequence[str] | str | None = None,
        top_k: int = 10,
        offset: int = 0,
        max_tokens: int | None = None,
        after: When | None = None,
        before: When | None = None,
        where: Where | None = None,
        min_score: float | None = None,
        vector: Sequence[float] | None = None,
        expand: bool = False,
        hops: int = 1,
        as_of: When | None = None,
        bare: bool = False,
        floored: bool = False,
    ) -> list[Hit]:
        """Find the memories most relevant to a query, best first. Everything written before the call is searched.

        `offset` skips the first hits, `vector` replaces the query's embedding, and a namespace that ends in `*` is a
        prefix. With `expand`, the memory's model proposes other wordings, which are searched too. With `hops` greater
        than 1, the model reads the first hits and proposes the next search, `hops - 1` times. `bare` hits are for a
        context: chunks of a document are not merged, and hits do not include reasons. Without `min_score`, nothing is
        returned for a question that seems to have no answer here, unless `where` is passed; `floored` uses the floor of
        contexts. With `as_of`, recall uses the memory as it was at that time.
        """
        if as_of is not None:
            past = Recalling(core_at(self._core, as_datetime(as_of, "as_of")))
            return await past.recall(
                query, namespaces=namespaces, kinds=kinds, top_k=top_k, offset=offset, max_tokens=max_tokens,
                after=after, before=before, where=where, min_score=min_score, vector=vector, expand=expand, hops=hops,
                bare=bare, floored=floored,
            )  # fmt: skip
        _check_counts(top_k, offset, max_tokens, min_score)
        self._core.shared.limits.check_hits(top_k + offset)
        entry_filter = self._until_then(_entry_filter(kinds, after, before, where))
        if not isinstance(query, str):
            raise UsageError("a query is text")
        self._check_model(expand, hops)
        wanted = Wanted(top_k, offset, max_tokens, min_score, bare, floored, where is not None)
        events = self._core.shared.events
        with events.span("recall", org=self._core.org):
            first = await self.pool(
                query, namespaces=namespaces, entry_filter=entry_filter, top_k=top_k + offset, vector=vector
            )
            pools = [] if first is None else [first]
            if expand or hops > 1:
                pools += await self._further(
                    query, pools, namespaces, entry_filter, wanted, 3 if expand else 0, hops - 1
                )
            view = self._core.scope.view()
            here = wanted if view is None else msgspec.structs.replace(wanted, top_k=top_k + offset, offset=0)
            with replica_reads():
                hits = await Hits(self._past or self._core).of(pools, here) if pools else []
            if view is not None:
                shared = Core(self._core.shared, view)
                shared_core = shared if self._past is None else core_at(shared, self._past.at())
                theirs = await self._of_shared(shared_core, query, namespaces, entry_filter, here, vector)
                hits = self._together(hits, theirs, wanted)
        if events.listening:
            events.emit("recall", self._core.org, {"characters": len(query), "hits": len(hits)})
        return hits

    def check(
        self,
        *,
        namespaces: Spaces,
        kinds: Sequence[str] | str | None,
        top_k: int | None,
        min_score: float | None,
        where: Where | None,
    ) -> None:
        """Raise an error for options that `recall` would refuse."""
        _check_counts(0 if top_k is None else top_k, 0, None, min_score)
        _entry_filter(kinds, None, None, where)
        self._split_spaces(namespaces)

    # -- a shared org

    async def _of_shared(
        self,
        core: Core,
        query: str,
        namespaces: Spaces,
        entry_filter: EntryFilter,
        wanted: Wanted,
        vector: Sequence[float] | None,
    ) -> list[Hit]:
        """Return hits from the namespaces of the shared org that this handle may read."""
        shared_recalling = Recalling(core)
        many = [namespaces] if isinstance(namespaces, str | Namespace) else namespaces
        readable = (
            None if many is None else [space for space in many if _is_prefix(space) or core.scope.may_read(str(space))]
        )
        pool = await shared_recalling.pool(
            query, namespaces=readable, entry_filter=entry_filter, top_k=wanted.top_k, vector=vector
        )
        with replica_reads():
            return [] if pool is None else await Hits(core).of([pool], wanted)

    def _together(self, own: list[Hit], theirs: list[Hit], wanted: Wanted) -> list[Hit]:
        """Return the best hits from both orgs within the token limit.

        If scores are equal, hits from the handle's own org come first.
        """
        best = sorted([*own, *theirs], key=lambda hit: -hit.score)[wanted.offset : wanted.offset + wanted.top_k]
        if wanted.max_tokens is None:
            return best
        count, room, chosen = self._core.shared.counter.count, wanted.max_tokens, []
        for hit in best:
            tokens = count(hit.text)
            if tokens <= room:
                room -= tokens
                chosen.append(hit)
        return chosen

    # -- further questions proposed by the model

    def _check_model(self, expand: bool, hops: int) -> None:
        if isinstance(hops, bool) or not isinstance(hops, int) or not 1 <= hops <= MAX_HOPS:
            raise UsageError(f"hops is a whole number from 1 to {MAX_HOPS}")
        if (expand or hops > 1) and self._core.shared.model is None:
            raise UsageError("expand= and hops= ask a language model; open the memory with model=")

    async def _further(
        self,
        query: str,
        pools: list[Pool],
        namespaces: Spaces,
        entry_filter: EntryFilter,
        wanted: Wanted,
        words: int,
        hops: int,
    ) -> list[Pool]:
        """Return pools for the model's other wordings and follow-up questions. If the model fails, no pools are
        added.
        """
        from ..models.searching import follow_ups, wordings

        model, all_pools = self._core.shared.model, list(pools)
        assert model is not None  # `_check_model` refuses the call without one
        try:
            questions = await wordings(model, query, words) if words else []
            all_pools += await self._pools(questions, namespaces, entry_filter, wanted)
            for _ in range(hops):
                hits = await Hits(self._past or self._core).of(all_pools, Wanted(HITS_FOR_MODEL)) if all_pools else []
                questions = await follow_ups(model, query, [hit.text for hit in hits], 2)
                if not questions:
                    break
                all_pools += await self._pools(questions, namespaces, entry_filter, wanted)
        except ModelError as problem:
            self._core.shared.note("model", problem)
        return all_pools[len(pools) :]

    async def _pools(
        self, questions: Sequence[str], namespaces: Spaces, entry_filter: EntryFilter, wanted: Wanted
    ) -> list[Pool]:
        count = wanted.top_k + wanted.offset
        pools = [
            await self.pool(question, namespaces=namespaces, entry_filter=entry_filter, top_k=count)
            for question in questions
        ]
        return [pool for pool in pools if pool is not None]

    async def pool(
        self,
        query: str,
        *,
        namespaces: Spaces = None,
        entry_filter: EntryFilter | None = None,
        top_k: int = 10,
        vector: Sequence[float] | None = None,
        fresh: bool = True,
    ) -> Pool | None:
        """Return the candidates for a question and everything that ranking needs, or None if there are no candidates.

        Without `fresh`, only existing entries are searched. Deriving uses this, because it is part of catching up.
        """
        from ..languages.small_talk import is_small_talk
        from ..recall.query import analyse

        entry_filter = entry_filter or EntryFilter()
        spaces = await self._namespaces(namespaces)
        # Before the statistics are read, so that they count what this call indexes.
        unindexed = await catch_up(self._core, spaces) if fresh else {}
        rows = await self._stats(spaces)
        if fresh and any(_is_outdated(stats) for stats in rows):
            await self._reindex(rows)
            rows = await self._stats(spaces)
        scopes = [(ns, stats) for ns, stats in zip(spaces, rows, strict=True) if stats is not None]
        if not (scopes or self._past or unindexed) or not query.strip() or is_small_talk(query) or top_k == 0:
            return None
        speakers = [name for _, stats in scopes for name in stats.speakers]
        now = entry_filter.before if entry_filter.before is not None else self._core.now()
        usual = usual_language([stats.languages for _, stats in scopes])
        read = analyse(query, speakers=dict.fromkeys(speakers), now=now, usual=usual)
        vectors = (
            await self._embed_question(self._core.shared.embedder, read)
            if vector is None
            else self._check_vector(vector)
        )
        with replica_reads():
            return await self._candidates(
                read, vectors, spaces, scopes, entry_filter, top_k, earlier=vector is None, unindexed=unindexed
            )

    # -- the past

    def _until_then(self, entry_filter: EntryFilter) -> EntryFilter:
        if self._past is None:
            return entry_filter
        # `before` is exclusive, and what was written at that very moment belongs to the past too.
        end = self._past.now() + 1
        return msgspec.structs.replace(
            entry_filter, before=end if entry_filter.before is None else min(entry_filter.before, end)
        )

    # -- what no index contains

    async def _analyse_drafts(
        self, drafts: Sequence[Draft], only: EntryFilter, query: Query, counts: dict[str, int]
    ) -> list[Entry]:
        """Return entries for drafts, analysed on the fly. Their terms are added to `counts`."""
        from ..recall.vectors import encode_many

        drafts = [draft for draft in drafts if only.allows(draft.entry)]
        if not drafts:
            return []
        shared = self._core.shared
        entries, _ = await self._core.runtime.call(analyse_drafts, drafts, None, None, 0, {})
        terms, wanted = [set(entry.terms.split()) for entry in entries], set(query.terms)
        for term in wanted:
            counts[term] = counts.get(term, 0) + sum(term in words for words in terms)
        best = sorted(
            range(len(entries)), key=lambda at: (-len(terms[at] & wanted), -to_micros(entries[at].created_at))
        )
        best = best[:MAX_PAST_ENTRIES]
        if shared.embedder is None:
            return [entries[at] for at in best]
        try:
            vectors = encode_many(await shared.embedder.embed([drafts[at].text for at in best]))
        except ModelError as problem:
            shared.note("embedder", problem)
            return [entries[at] for at in best]
        return [
            msgspec.structs.replace(entries[at], embedder=shared.embedder.name, vector=vector)
            for at, vector in zip(best, vectors, strict=True)
        ]

    # -- scope

    async def _namespaces(self, namespaces: object) -> list[str]:
        scope = self._core.scope
        if namespaces is not None:
            exact, starts = self._split_spaces(namespaces)
            matched = [ns for ns in await self._namespaces(None) if ns.startswith(starts)] if starts else []
            return list(dict.fromkeys([*exact, *matched]))
        if scope.user is None and not scope.foreign:
            indexed = await self._core.scan(NAMESPACES)
            # A new namespace has jobs before it has statistics.
            waiting = await self._core.scan(Job, "index")
            return sorted({stats.ns for stats in indexed} | {job.ns for job in waiting})
        names = set(scope.spaces())
        for begins in scope.beginnings():
            names |= {stats.ns for stats in await self._core.scan(NAMESPACES, starts=begins)}
            names |= {job.ns for job in await self._core.scan(Job, "index", starts=begins)}
        return sorted(names)

    def _split_spaces(self, asked: object) -> tuple[list[str], tuple[str, ...]]:
        """Return the namespaces that a caller names exactly, and the beginnings of the others."""
        many = [asked] if isinstance(asked, str | Namespace) else as_list(asked or (), "namespaces")
        exact = [self._core.scope.readable(ns) for ns in many if not _is_prefix(ns)]
        return exact, tuple(ns[:-1] for ns in many if isinstance(ns, str) and _is_prefix(ns))

    async def _stats(self, spaces: Sequence[str]) -> list[NamespaceStats | None]:
        return await self._core.get_many(NamespaceStats, [(ns,) for ns in spaces])

    async def _reindex(self, rows: Sequence[NamespaceStats | None]) -> None:
        """Rebuild the entries of outdated namespaces that have only a few entries; the others wait for `memorist
        reindex`.
        """
        from .processors import VectorIndexer

        for stats in rows:
            if stats is None or not _is_outdated(stats):
                continue
            if stats.entries > MAX_REINDEXED_ENTRIES:
                problem = f"{stats.ns} was indexed by another version; run `memorist reindex`"
                self._core.shared.note(INDEX, StoreError(problem))
                continue
            try:
                with self._core.shared.reading_on(INDEX):
                    await VectorIndexer().reindex(self._core, stats.ns)
            except ModelError as failure:
                self._core.shared.note("embedder", failure)

    async def _embed_question(self, embedder: Embedding | None, query: Query) -> Vectors | None:
        """Return the question's vectors, or None without an embedder or if it fails."""
        try:
            vectors: Vectors | None = None if embedder is None else await embedder.ask(query)
        except ModelError as problem:
            self._core.shared.note("embedder", problem)
            return None
        return vectors

    def _check_vector(self, vector: Sequence[float]) -> Vectors:
        """Return the caller's vector after checking its length and normalising it."""
        import numpy as np

        embedder = self._core.shared.embedder
        try:
            with np.errstate(over="ignore"):  # an overflow becomes infinite, and is refused below
                array = np.asarray(vector, np.float32)
        except (TypeError, ValueError, OverflowError) as cause:
            raise UsageError("a vector to recall by is a list of numbers") from cause
        if embedder is None or array.shape != (embedder.dimensions,):
            length = "no vectors here" if embedder is None else f"{embedder.dimensions} numbers"
            raise UsageError(f"a vector to recall by must have the length of the embedder's vectors: {length}")
        norm = float(np.linalg.norm(array))
        if not np.isfinite(norm) or norm == 0.0:
            raise UsageError("a vector to recall by must be finite and not zero")
        unit: Vectors = (array / norm)[None]
        return unit

    async def _candidates(
        self,
        query: Query,
        vectors: Vectors | None,
        spaces: Sequence[str],
        scopes: Sequence[tuple[str, NamespaceStats]],
        only: EntryFilter,
        top_k: int,
        *,
        earlier: bool,
        unindexed: Mapping[str, int],
    ) -> Pool | None:
        """Return the candidates from all namespaces. The search is widened for as long as the filters leave too few
        candidates.
        """
        from ..recall.candidates import MIN_CANDIDATES, Candidates
        from ..recall.pool import Pool, stats_of

        count = (
            max(MIN_CANDIDATES, 3 * top_k)
            if top_k <= MAX_HITS_WITH_THREE_CANDIDATES
            else max(3 * MAX_HITS_WITH_THREE_CANDIDATES, 2 * top_k)
        )
        shared, embedder = self._core.shared, self._core.shared.embedder
        name = None if embedder is None else embedder.name
        candidates = Candidates(
            self._core, shared.indexes, shared.recall_lock, query, only, embedder=name, vectors=vectors,
            embed_earlier=(lambda old: self._embed_question(shared.earlier_embedder(old), query)) if earlier else None,
        )  # fmt: skip
        unfiltered = only.kinds is None and not only.beyond_kinds
        while True:
            matches = await candidates.take(scopes, count)
            rows = list(matches.entries.values())
            allowed = rows if unfiltered else [entry for entry in rows if only.allows(entry)]
            if len(allowed) >= min(3 * top_k, MIN_CANDIDATES) or not matches.full or count >= MAX_CANDIDATES:
                break
            count *= 4
        if self._past is not None:
            allowed = await mark_as_then(self._past, allowed)
            changed = [draft for ns in spaces for draft in await changed_drafts(self._past, ns, only)]
            allowed += await self._analyse_drafts(changed, only, query, matches.counts)
        if unindexed:
            terms, drafts = set(query.terms), await unindexed_drafts(self._core, unindexed, query.terms)
            # A worker may have indexed some of them since.
            new = [draft for draft in drafts if draft.entry.row_key[1:] not in matches.entries]
            entries = await self._analyse_drafts(new, only, query, matches.counts)
            allowed += [entry for entry in entries if not terms.isdisjoint(entry.terms.split())]
        if not allowed:
            return None
        question_vectors, stats = matches.question_vectors(name, vectors), stats_of([stats for _, stats in scopes])
        return await self._core.runtime.call(Pool, query, allowed, stats, matches.counts, question_vectors)


def _is_outdated(stats: NamespaceStats | None) -> bool:
    """Return whether a namespace's terms come from another analysis, in which case the terms of a question would not
    match them.
    """
    from ..recall.analyze import analysis_version

    return stats is not None and stats.analysis != analysis_version()


def _is_prefix(ns: str | Namespace) -> bool:
    return isinstance(ns, str) and ns.endswith("*")


def _entry_filter(
    kinds: Sequence[str] | str | None, after: When | None, before: When | None, where: Where | None
) -> EntryFilter:
    chosen = None if kinds is None else tuple([kinds] if isinstance(kinds, str) else as_list(kinds, "kinds"))
    unknown = [kind for kind in chosen or () if kind not in FINDABLE]
    if unknown:
        raise UsageError(f"kinds are {', '.join(FINDABLE)}")
    return EntryFilter(
        chosen,
        as_micros(after, "after"),
        as_micros(before, "before"),
        parse_filter(where),
    )


def _check_counts(top_k: object, offset: object, max_tokens: object, min_score: object) -> None:
    most = 0 if max_tokens is None else max_tokens
    for name, value in (("top_k", top_k), ("offset", offset), ("max_tokens", most)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UsageError(f"{name} must be a whole number, zero or more")
    if min_score is not None and not isinstance(min_score, int | float):
        raise UsageError("min_score must be a number")

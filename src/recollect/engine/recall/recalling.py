"""Recall: find what matters for a query in the namespaces of this scope, by words and by meaning, with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from ...errors import ModelError, UsageError
from ...filters import Where, parse_filter
from ...kinds import FINDABLE
from ...ports import When, as_micros, to_micros
from ...recall.hit import Hit
from ...recall.reach import CANDIDATES
from ...records import Entry, Job, Mark
from ...scope import Namespace, Ns
from ..core import Core
from .candidates import KINDS, Asked, Candidates, Found
from .indexing import Indexer

Spaces = Sequence[Ns] | Ns | None
"""Where to look: namespaces, one of them, or None for all that the handle reaches."""
MOST_CANDIDATES = 5_000
TRUST = {"user": 1.0, "system": 1.0, "assistant": 1.0, "processor": 1.0, "document": 0.9, "tool": 0.8, "web": 0.7}


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
        after: When | None = None,
        before: When | None = None,
        where: Where | None = None,
        min_score: float | None = None,
    ) -> list[Hit]:
        """The hits that matter most, best first; everything written before the call can be found."""
        from ...recall.query import analyse

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
        now = asked.before if asked.before is not None else self._core.now()
        read = analyse(query, speakers=dict.fromkeys(speakers), now=now)
        vector = await self._embedded(read)
        events = self._core.shared.events
        with events.span("recall", org=self._core.org, namespaces=len(scopes)):
            entries, ranking = await self._ranked(read, vector, scopes, asked, top_k)
            hits = await self._answers(entries, ranking, top_k, max_tokens, min_score)
        if events.listening:
            events.emit("recall", self._core.org, {"characters": len(query), "hits": len(hits)})
        return hits

    # -- scope

    async def _namespaces(self, given: Any) -> list[str]:
        scope = self._core.scope
        if given is not None:
            many = [given] if isinstance(given, str | Namespace) else list(given)
            return list(dict.fromkeys(scope.readable(ns) for ns in many))
        if scope.user is None:
            marks = await self._core.scan(Mark, "scope")
            waiting = await self._core.scan(Job, "index")
            return sorted({mark.item for mark in marks} | {job.ns for job in waiting})
        found = {space for space in scope.spaces() if not space.endswith("*")}
        for space in scope.spaces():
            if space.endswith("*"):
                begins = {"starts": space[:-1]}
                found |= {mark.item for mark in await self._core.scan(Mark, "scope", **begins)}
                found |= {job.ns for job in await self._core.scan(Job, "index", **begins)}
        return sorted(found)

    async def _marks(self, spaces: Sequence[str]) -> list[Mark | None]:
        return await self._core.get_many(Mark, [("scope", ns) for ns in spaces])

    @property
    def _contextual(self) -> bool:
        embedder = self._core.shared.embedder
        return embedder is not None and not embedder.static

    async def _embedded(self, query: Any) -> Any:
        embedder = self._core.shared.embedder
        if embedder is None:
            return None
        try:
            return (await embedder.embed([query.content_text if embedder.static else query.embed_text]))[0]
        except ModelError as problem:
            self._core.shared.note("embedder", problem)
            return None

    async def _ranked(
        self, query: Any, vector: Any, scopes: Sequence[tuple[str, Mark]], asked: Asked, top_k: int
    ) -> tuple[list[Entry], Any]:
        """Candidates of all namespaces in one ranking; more are taken while filters leave too few."""
        count = max(CANDIDATES, 3 * top_k)
        candidates = Candidates(self._core, query, vector, asked)
        while True:
            found = await candidates.take(scopes, count)
            allowed = asked.allowed(found.entries.values())
            if len(allowed) >= min(3 * top_k, CANDIDATES) or not found.full or count >= MOST_CANDIDATES:
                break
            count *= 4
        if not allowed:
            return [], None
        return allowed, await self._core.runtime.call(_rank, query, vector, allowed, scopes, found, self._contextual)

    # -- answers

    async def _answers(
        self, entries: Sequence[Entry], ranking: Any, top_k: int, max_tokens: int | None, min_score: float | None
    ) -> list[Any]:
        from ...recall.select import distinct, fill, merge_chunks

        if not entries:
            return []
        most = 4 * top_k if max_tokens is not None else top_k + 4
        if any(entry.kind == "document" for entry in entries):
            most = max(most, 2 * top_k)  # chunks may melt into one
        kept, repeats = distinct(_in_order(entries, ranking, min_score), most)
        pool = (kept if len(kept) >= top_k else kept + repeats)[:most]
        pool = await self._with_texts(pool)
        pool = merge_chunks(pool)
        if max_tokens is not None:
            pool = fill(pool, max_tokens, self._core.shared.counter.count)
        reasons = ranking.reasons([scored.place for scored in pool[:top_k]])
        return [_hit(scored, reasons[scored.place]) for scored in pool[:top_k]]

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
        # Ranking calls the entries of documents what they are: chunks.
        found = FINDABLE["document" if kind == "chunk" else kind]
        assert found.found is not None
        place, text = found.found.key, found.found.text
        keys = [place(entry.namespace, entry.thread, entry.seq, entry.id) for entry in entries]
        got = await self._core.get_many(found.record, keys)
        texts = [None if record is None else text(record) for record in got]
        return {
            (entry.kind, entry.namespace, entry.id): text
            for entry, text in zip(entries, texts, strict=True)
            if text is not None
        }


def _rank(
    query: Any,
    vector: Any,
    entries: Sequence[Entry],
    scopes: Sequence[tuple[str, Mark]],
    found: Found,
    contextual: bool,
) -> Any:
    """All candidates in one ranking: statistics are those of the namespaces together."""
    from ...recall.entry import ScopeStats
    from ...recall.features import Similarity
    from ...recall.rank import ranking

    details = [mark.detail for _, mark in scopes]
    total = sum(detail.get("entries", 0) for detail in details)
    stats = ScopeStats(
        entries=total,
        mean_terms=sum(detail.get("terms", 0) for detail in details) / max(total, 1),
        assistant_entries=sum(detail.get("assistant", 0) for detail in details),
        speakers=tuple(dict.fromkeys(name for detail in details for name in detail.get("speakers", ()))),
    )
    similarity = None
    weight = sum(count for count, _, _ in found.spread)
    if vector is not None and weight:
        mean = sum(count * mean for count, mean, _ in found.spread) / weight
        std = sum(count * std for count, _, std in found.spread) / weight
        similarity = Similarity(_cosines(entries, vector, mean), mean, std, contextual)
    return ranking(query, _columns(entries), stats, found.counts, similarity)


def _columns(entries: Sequence[Entry]) -> Any:
    """Stored entries as ranking sees them; making an object of each would cost as much as ranking them."""
    from ...recall.features import table

    return table(
        kind=[e.kind for e in entries],
        id=[e.id for e in entries],
        thread=[e.parent or e.id for e in entries],
        seq=[e.seq for e in entries],
        role=[e.role or "user" for e in entries],
        speaker=[e.speaker or "" for e in entries],
        created_at=[to_micros(e.created_at) for e in entries],
        terms=[e.terms for e in entries],
        context_terms=[e.context_terms for e in entries],
        signals=[e.signals for e in entries],
        prior=[(e.confidence, e.uses, TRUST.get(e.trust, 0.8)) for e in entries],
    )


def _in_order(entries: Sequence[Entry], ranking: Any, min_score: float | None) -> Iterator[Any]:
    """The candidates best first, made only as far as they are looked at."""
    from ...recall.rank import Scored

    for place in ranking.order:
        score = float(ranking.score[place])
        if min_score is not None and score < min_score:
            return
        yield Scored(_seen(entries[place]), score, place)


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
    from ...recall.entry import Entry as Seen

    return Seen


def _hit(scored: Any, reasons: Any) -> Any:
    from ...ports import to_datetime

    entry = scored.entry
    kind = "document" if entry.kind == "chunk" else entry.kind
    source = entry.source or (entry.id if kind == "message" else None)
    return Hit(
        kind, entry.id, entry.text, scored.score, entry.namespace, to_datetime(entry.created_at), source,
        reasons, entry.metadata["trust"],
    )  # fmt: skip


def _asked(kinds: Any, after: When | None, before: When | None, where: Where | None) -> Asked:
    chosen = None if kinds is None else tuple([kinds] if isinstance(kinds, str) else kinds)
    unknown = [kind for kind in chosen or () if kind not in KINDS]
    if unknown:
        raise UsageError(f"kinds are {', '.join(KINDS)}")
    return Asked(
        chosen,
        as_micros(after, "after"),
        as_micros(before, "before"),
        parse_filter(where),
    )


def _check_counts(top_k: Any, max_tokens: Any, min_score: Any) -> None:
    for name, value in (("top_k", top_k), ("max_tokens", max_tokens)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise UsageError(f"{name} must be a whole number from 0 up")
    if min_score is not None and not isinstance(min_score, int | float):
        raise UsageError("min_score must be a number")

"""Recall: find what matters for a query in the namespaces of this scope, by words and by meaning, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...errors import ModelError, UsageError
from ...filters import Where, parse_filter
from ...kinds import FINDABLE, fact_text
from ...ports import When, as_micros
from ...recall.hit import Hit
from ...recall.reach import CANDIDATES
from ...records import Fact, Job, Mark
from ...scope import Namespace, Ns
from ..core import Core
from .candidates import DERIVED, KINDS, Asked, Candidates
from .indexing import Indexer
from .ranked import Pool, in_order, make_pool

Spaces = Sequence[Ns] | Ns | None
"""Where to look: namespaces, one of them, or None for all that the handle reaches."""
MOST_CANDIDATES = 5_000
FEW = 60
"""Up to so many hits, three candidates are taken for each; beyond, two."""


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
        offset: int = 0,
        max_tokens: int | None = None,
        after: When | None = None,
        before: When | None = None,
        where: Where | None = None,
        min_score: float | None = None,
        vector: Sequence[float] | None = None,
    ) -> list[Hit]:
        """The hits that matter most, best first; everything written before the call can be found.

        `offset` leaves out the first of them, `vector` takes the place of the question's own embedding, and a
        namespace that ends in `*` stands for all that begin so.
        """
        _check_counts(top_k, offset, max_tokens, min_score)
        asked = _asked(kinds, after, before, where)
        if not isinstance(query, str):
            raise UsageError("a query is text")
        events = self._core.shared.events
        with events.span("recall", org=self._core.org):
            pool = await self.pool(query, namespaces=namespaces, asked=asked, top_k=top_k + offset, vector=vector)
            hits = [] if pool is None else await self._answers(pool, top_k, offset, max_tokens, min_score)
        if events.listening:
            events.emit("recall", self._core.org, {"characters": len(query), "hits": len(hits)})
        return hits

    async def pool(
        self, query: str, *, namespaces: Spaces = None, asked: Asked | None = None, top_k: int = 10, vector: Any = None
    ) -> Pool | None:
        """The candidates of a question with all that ranking needs; None where there is nothing to rank."""
        from ...recall.query import analyse

        asked = asked or Asked()
        spaces = await self._namespaces(namespaces)
        await Indexer(self._core).catch_up(spaces)
        scopes = [(ns, mark) for ns, mark in zip(spaces, await self._marks(spaces), strict=True) if mark is not None]
        if not scopes or not query.strip() or top_k == 0:
            return None
        speakers = [name for _, mark in scopes for name in mark.detail.get("speakers", ())]
        now = asked.before if asked.before is not None else self._core.now()
        read = analyse(query, speakers=dict.fromkeys(speakers), now=now)
        unit = await self._embedded(read) if vector is None else self._given(vector)
        return await self._candidates(read, unit, scopes, asked, top_k)

    # -- scope

    async def _namespaces(self, given: Any) -> list[str]:
        scope = self._core.scope
        if given is not None:
            many = [given] if isinstance(given, str | Namespace) else list(given)
            exact = [scope.readable(ns) for ns in many if not _is_prefix(ns)]
            starts = tuple(ns[:-1] for ns in many if isinstance(ns, str) and _is_prefix(ns))
            matched = [ns for ns in await self._namespaces(None) if ns.startswith(starts)] if starts else []
            return list(dict.fromkeys([*exact, *matched]))
        if scope.user is None:
            marks = await self._core.scan(Mark, "scope")
            waiting = await self._core.scan(Job, "index")
            return sorted({mark.item for mark in marks} | {job.ns for job in waiting})
        found = set(scope.spaces())
        for begins in scope.beginnings():
            found |= {mark.item for mark in await self._core.scan(Mark, "scope", starts=begins)}
            found |= {job.ns for job in await self._core.scan(Job, "index", starts=begins)}
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

    def _given(self, vector: Sequence[float]) -> Any:
        """A vector of the caller's own, as long as the embedder's, made a unit."""
        import numpy as np

        embedder = self._core.shared.embedder
        given = np.asarray(vector, np.float32)
        if embedder is None or given.shape != (embedder.dimensions,):
            length = "no vectors here" if embedder is None else f"{embedder.dimensions} numbers"
            raise UsageError(f"a vector to recall by must be of the embedder's own length: {length}")
        norm = float(np.linalg.norm(given))
        if not np.isfinite(norm) or norm == 0.0:
            raise UsageError("a vector to recall by must be finite and not zero")
        return given / norm

    async def _candidates(
        self, query: Any, vector: Any, scopes: Sequence[tuple[str, Mark]], asked: Asked, top_k: int
    ) -> Pool | None:
        """Candidates of all namespaces; more are taken while filters leave too few."""
        count = max(CANDIDATES, 3 * top_k) if top_k <= FEW else max(3 * FEW, 2 * top_k)
        candidates = Candidates(self._core, query, vector, asked)
        while True:
            found = await candidates.take(scopes, count)
            allowed = asked.allowed(found.entries.values())
            if len(allowed) >= min(3 * top_k, CANDIDATES) or not found.full or count >= MOST_CANDIDATES:
                break
            count *= 4
        if not allowed:
            return None
        mine = {entry.row_key for entry in allowed}
        leads = [e for e in found.entries.values() if e.kind in DERIVED and e.row_key not in mine]
        call = self._core.runtime.call
        return await call(make_pool, query, vector, allowed, leads, scopes, found, self._contextual)

    # -- answers

    async def _answers(
        self, pool: Pool, top_k: int, offset: int, max_tokens: int | None, min_score: float | None
    ) -> list[Any]:
        from ...recall.select import chosen, fill, merge_chunks

        ranking = await self._core.runtime.call(pool.ranking)
        last = offset + top_k
        most = 4 * last if max_tokens is not None else last + 4
        if any(entry.kind == "document" for entry in pool.entries):
            most = max(most, 2 * last)  # chunks may melt into one
        picked = await self._with_texts(chosen(in_order(pool, ranking, min_score), last, most))
        if max_tokens is None:
            picked = merge_chunks(picked)[offset:last]
        else:
            picked = merge_chunks(fill(picked[offset:], max_tokens, self._core.shared.counter.count, pool.query.terms))
        picked = picked[:top_k]
        reasons = ranking.reasons([scored.place for scored in picked])
        return await self._hits(pool, picked, reasons)

    async def _hits(self, pool: Pool, picked: Sequence[Any], reasons: Mapping[int, Any]) -> list[Any]:
        replaced = await self._replaced(picked)
        hits = [
            _hit(self._core.org, scored, reasons[scored.place], pool.cosine(scored.place), replaced)
            for scored in picked
        ]
        return _revised(hits, picked, demote=not pool.query.past)

    async def _replaced(self, picked: Sequence[Any]) -> dict[str, str]:
        """What replaced the superseded among some hits, in words, by the fact's id; one that is gone is not in it."""
        ids = dict.fromkeys(s.entry.metadata["superseded"] for s in picked if s.entry.metadata["superseded"])
        keys = [id.partition("/")[::2] for id in ids]
        facts = await self._core.get_many(Fact, keys) if keys else []
        return {
            fact.id: f"{fact_text(fact)} since {fact.updated_at.date().isoformat()}"
            for fact in facts
            if fact is not None
        }

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


def _is_prefix(ns: str | Namespace) -> bool:
    return isinstance(ns, str) and ns.endswith("*")


def _hit(org: str, scored: Any, reasons: Any, cosine: float | None, replaced: Mapping[str, str]) -> Any:
    from ...ports import to_datetime

    entry = scored.entry
    kind = "document" if entry.kind == "chunk" else entry.kind
    return Hit(
        kind=kind, id=entry.id, text=entry.text, score=scored.score, cosine=cosine, namespace=entry.namespace, org=org,
        created_at=to_datetime(entry.created_at), source=entry.source or (entry.id if kind == "message" else None),
        superseded_by=replaced.get(entry.metadata["superseded"] or ""), reasons=reasons, trust=entry.metadata["trust"],
        speaker=entry.speaker,
    )  # fmt: skip


def _revised(hits: list[Any], picked: Sequence[Any], *, demote: bool) -> list[Any]:
    """What a later statement among the hits revises is marked with it, and stands below it."""
    from ...recall.entry import is_assistant
    from ...recall.revision import Statement, quoted, revised

    statements = [
        Statement(
            one.entry.text,
            frozenset(one.entry.terms.split()),
            one.entry.created_at,
            one.entry.kind == "message" and not is_assistant(one.entry.role, one.entry.speaker),
            one.entry.kind == "chunk",
        )
        for one in picked
    ]
    out = list(hits)
    for old, new in revised(statements).items():
        said = out[new]
        mark = out[old].superseded_by or f"{quoted(said.text)} ({said.created_at.date().isoformat()})"
        if demote:  # the newest truth takes the place of what it revised
            out[new] = msgspec.structs.replace(said, score=max(out[old].score, said.score))
        out[old] = msgspec.structs.replace(out[old], superseded_by=mark)
    marked = {id(hit) for hit in out if hit.superseded_by}
    return sorted(out, key=lambda hit: (-hit.score, id(hit) in marked))


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


def _check_counts(top_k: Any, offset: Any, max_tokens: Any, min_score: Any) -> None:
    for name, value in (("top_k", top_k), ("offset", offset), ("max_tokens", max_tokens)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise UsageError(f"{name} must be a whole number from 0 up")
    if min_score is not None and not isinstance(min_score, int | float):
        raise UsageError("min_score must be a number")

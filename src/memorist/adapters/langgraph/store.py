"""Implements `MemoristStore`, LangGraph's long-term store over facts, which you can search with recall or by cosine
similarity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, Self

import msgspec
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    validate_op_namespace,
)

from ...blocking.memory import Memory
from ...engine.records import OpaqueRecord
from ...errors import UsageError
from ...memory import AsyncMemory
from ...records import Fact
from ...runtime import run_blocking
from ..handles import Handles, Source
from .matching import check_filter, listed, passes
from .vectors import Embeds, Rows, embedder_of, packed, similarity, texts_of

Score = Literal["hybrid", "cosine"]
BESIDE = "langgraph"
"""The key prefix of the record stored next to each item. It contains the item's time to live and its
vectors."""
MAX_HITS = 1000
"""The number of hits to recall if they are filtered afterwards."""
DEFAULT_ROOT = "workflow:store"
_PLAIN = re.compile(r"[\w.\-]+\Z")


class MemoristStore(BaseStore):
    """Stores items as facts, with text and vector search and a history. Each LangGraph namespace corresponds to one of
    ours.

    `memory` is a `Memory`, an `AsyncMemory` or a URL. With `score="hybrid"`, a query is answered by recall, with
    recall's score. With `score="cosine"`, items are ranked by the cosine similarity of their vectors, as in LangGraph's
    own stores. `index` names the fields to embed and, with a URL or for cosine, the embedding function.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Source,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        score: Score = "hybrid",
        root: str = DEFAULT_ROOT,
    ) -> None:
        if score not in ("hybrid", "cosine"):
            raise UsageError(f"score must be 'hybrid' or 'cosine', not {str(score)[:40]!r}")
        self.index_config = index
        self.ttl_config = ttl
        self.embeddings = ensure_embeddings(index["embed"]) if index and index.get("embed") else None
        self._score = score
        self._root = root
        self._handles = Handles(_opened(memory, self.embeddings if score == "hybrid" else None))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run several operations. Reads see the state before them, and writes are committed in one transaction."""
        return run_blocking(self._batch(self._handles.stepped, list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run several operations. Reads see the state before them, and writes are committed in one transaction."""
        return await self._batch(self._handles.awaited, list(ops))

    def sweep_ttl(self) -> int:
        """Delete expired items, which reads ignore anyway, and return how many there were."""
        return run_blocking(self._handles.stepped.facts.delete_expired())

    def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        self._handles.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._handles.aclose()

    # -- shared by blocking and async methods

    async def _batch(self, memory: AsyncMemory, ops: Sequence[Op]) -> list[Result]:
        for op in ops:
            _check(op)
        on = _Items(memory, self)
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
                results.append(None)
            else:
                results.append(await on.read(op))
        if puts:
            await on.write(list(puts.values()))
        return results

    def _space(self, namespace: Sequence[str]) -> str:
        return f"{self._root}/{'.'.join(namespace)}"

    def _namespace(self, space: str) -> tuple[str, ...]:
        return tuple(space[len(self._root) + 1 :].split("."))


class _Items:
    """Reads and writes the items of a store through its blocking or async memory."""

    def __init__(self, memory: AsyncMemory, store: MemoristStore) -> None:
        self._memory = memory
        self._store = store

    async def read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        """Return the result of one read operation."""
        if isinstance(op, GetOp):
            return await self._get(op)
        if isinstance(op, SearchOp):
            return await self._search(op)
        spaces = await self._spaces(())
        return listed([self._store._namespace(space) for space in spaces], op)

    async def _get(self, op: GetOp) -> Item | None:
        space = self._store._space(op.namespace)
        fact = await self._memory.facts.get(space, op.key)
        if fact is None:
            return None
        if op.refresh_ttl and fact.expires_at is not None:
            await self._refresh([fact])
        return Item(**_fields(op.namespace, fact))

    async def _spaces(self, prefix: Sequence[str]) -> list[str]:
        """Return our namespaces for a LangGraph namespace and everything below it."""
        kind, _, name = self._store._root.partition(":")
        start = f"{name}/" + (".".join(prefix) if prefix else "")
        namespaces = await self._memory.namespaces(kind, prefix=start)  # type: ignore[arg-type]  # root begins with a kind
        exact = self._store._space(prefix)
        return [space for space in namespaces if not prefix or space == exact or space.startswith(f"{exact}.")]

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        spaces = await self._spaces(op.namespace_prefix)
        ranked: list[tuple[float | None, Fact]]
        if not op.query:
            ranked = [(None, fact) for fact in await self._listed(spaces, op)]
        elif self._store._score == "cosine":
            ranked = await self._by_cosine(spaces, op)
        else:
            ranked = await self._by_recall(spaces, op)
        chosen = ranked[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            await self._refresh([fact for _, fact in chosen if fact.expires_at is not None])
        return [SearchItem(**_fields(self._store._namespace(fact.ns), fact), score=score) for score, fact in chosen]

    async def _listed(self, spaces: Sequence[str], op: SearchOp) -> list[Fact]:
        facts = [fact for space in spaces for fact in await self._memory.facts.list(space)]
        matches = [fact for fact in facts if passes(fact.value, op.filter)]
        return sorted(matches, key=lambda fact: fact.updated_at, reverse=True)

    async def _by_recall(self, spaces: Sequence[str], op: SearchOp) -> list[tuple[float | None, Fact]]:
        exact = [space for space in spaces if not space.endswith("*")]
        limit = MAX_HITS if op.filter or len(exact) < len(spaces) else op.offset + op.limit
        # Without a floor: LangGraph's search ranks every item, however little it has to do with the query.
        hits = (
            await self._memory.recall(op.query or "", namespaces=spaces, kinds="fact", top_k=limit, min_score=0.0)
            if spaces
            else []
        )
        inside = [hit for hit in hits if hit.namespace in spaces]
        facts = await self._facts([(hit.namespace, hit.id[len(hit.namespace) + 1 :]) for hit in inside])
        return [
            (hit.score, fact)
            for hit, fact in zip(inside, facts, strict=True)
            if fact is not None and passes(fact.value, op.filter)
        ]

    async def _facts(self, places: Sequence[tuple[str, str]]) -> list[Fact | None]:
        """Return facts by (namespace, key), in the given order."""
        by_key: dict[tuple[str, str], Fact | None] = {}
        for space in dict.fromkeys(space for space, _ in places):
            keys = [key for other, key in places if other == space]
            facts = await self._memory.facts.get_many(space, keys)
            by_key.update(((space, key), fact) for key, fact in zip(keys, facts, strict=True))
        return [by_key[key] for key in places]

    async def _by_cosine(self, spaces: Sequence[str], op: SearchOp) -> list[tuple[float | None, Fact]]:
        """Return all items with vectors, ranked by their highest cosine similarity."""
        query = (await self._embeds([op.query or ""]))[0]
        ranked: list[tuple[float | None, Fact]] = []
        for space in spaces:
            beside = await self._memory.records.scan(space, (BESIDE,))
            scores = {str(record.key[1]): similarity(query, record.data) for record in beside if record.data}
            facts = await self._memory.facts.get_many(space, scores)
            ranked += [(scores[fact.key], fact) for fact in facts if fact is not None and passes(fact.value, op.filter)]
        return sorted(ranked, key=lambda pair: -(pair[0] or 0.0))

    async def _embeds(self, texts: Sequence[str]) -> Rows:
        embed: Embeds = embedder_of(self._memory, self._store.embeddings)
        return await embed(texts)

    # -- writing

    async def write(self, puts: Sequence[PutOp]) -> None:
        """Write and delete items in one transaction."""
        vectors = await self._vectors(puts) if self._store._score == "cosine" else {}
        async with self._memory.batch() as batch:
            for op in puts:
                space, key = self._store._space(op.namespace), op.key
                if op.value is None:
                    await batch.facts.delete(space, key, history=False)
                    await batch.records.delete(space, (BESIDE, key))
                    continue
                ttl = None if op.ttl is None else op.ttl * 60
                await batch.facts.set(space, key, dict(op.value), ttl=ttl, index=self._indexing(op))
                data = vectors.get((op.namespace, key))
                if data is None and ttl is None:
                    await batch.records.delete(space, (BESIDE, key))
                else:
                    await batch.records.put(space, (BESIDE, key), data, meta={"ttl": ttl}, ttl=ttl)

    def _indexing(self, op: PutOp) -> bool | list[str]:
        """Return the fields of an item that recall indexes: none, some or all of them.

        Paths into lists work only with cosine scores.
        """
        if op.index is False:
            return False
        fields = op.index if op.index is not None else _default_fields(self._store.index_config)
        plain = [field for field in fields or () if _PLAIN.match(field)]
        return plain or True

    async def _vectors(self, puts: Sequence[PutOp]) -> dict[tuple[tuple[str, ...], str], bytes]:
        """Return the vectors of the items to put, one for each text of their indexed fields."""
        keyed_texts: list[tuple[tuple[tuple[str, ...], str], str]] = []
        for op in puts:
            if op.value is not None and op.index is not False:
                fields = op.index if op.index is not None else _default_fields(self._store.index_config) or ["$"]
                keyed_texts += [((op.namespace, op.key), text) for text in texts_of(op.value, fields)]
        if not keyed_texts:
            return {}
        vectors = await self._embeds([text for _, text in keyed_texts])
        grouped: dict[tuple[tuple[str, ...], str], list[Any]] = {}
        for (key, _), vector in zip(keyed_texts, vectors, strict=True):
            grouped.setdefault(key, []).append(vector)
        return {key: packed(vectors) for key, vectors in grouped.items()}

    async def _refresh(self, facts: Sequence[Fact]) -> None:
        """Restart the time to live of items that were read."""
        for fact in facts:
            beside: OpaqueRecord | None = await self._memory.records.get(fact.ns, (BESIDE, fact.key))
            ttl = None if beside is None else beside.meta.get("ttl")
            if beside is not None and ttl is not None:
                await self._memory.facts.touch(fact.ns, fact.key, ttl)
                await self._memory.records.put(fact.ns, (BESIDE, fact.key), beside.data, meta=beside.meta, ttl=ttl)


def _opened(memory: Source, embeddings: Any) -> Source:
    """Return the memory, or one opened from a URL with the embedder of LangGraph's index."""
    if isinstance(memory, Memory | AsyncMemory):
        if embeddings is not None:
            raise UsageError(
                "a store over an open Memory uses the embedder of that Memory; pass the embedder to the Memory, "
                "pass a URL to the store, or choose score='cosine'"
            )
        return memory
    return memory if embeddings is None else Memory(memory, embedder=embeddings.embed_documents)


def _default_fields(index: IndexConfig | None) -> list[str] | None:
    if index is None:
        return None
    named: Sequence[str] | None = index.get("fields") or index.get("text_fields")
    return list(named) if named else None


def _check(op: Op) -> None:
    if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
        raise ValueError(f"Unknown operation type: {type(op).__name__}")
    validate_op_namespace(op)
    if isinstance(op, SearchOp):
        check_filter(op.filter)


def _fields(namespace: tuple[str, ...], fact: Fact) -> dict[str, object]:
    times: dict[str, datetime] = {"created_at": fact.created_at, "updated_at": fact.updated_at}
    return {"namespace": namespace, "key": fact.key, "value": msgspec.to_builtins(fact.value), **times}

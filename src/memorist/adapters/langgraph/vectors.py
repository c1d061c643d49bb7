"""Ranks items by the cosine similarity of their fields' vectors, as LangGraph's own stores do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from langgraph.store.base import get_text_at_path, tokenize_path

from ...embed.opening import Vectors
from ...engine.noun import core_of
from ...errors import UsageError
from ...memory import AsyncMemory

Rows = Sequence[Sequence[float]] | Vectors
"""One vector per text, as LangChain or this library returns them."""
Embeds = Callable[[Sequence[str]], Awaitable[Rows]]


def embedder_of(memory: AsyncMemory, embeddings: Any) -> Embeds:
    """Return the embedding function: the index's own, or the memory's embedder."""
    if embeddings is None:
        own = core_of(memory).shared.embedder
        if own is None:
            raise UsageError("score='cosine' needs vectors: give the memory an embedder, or the store an index")

        async def by_memory(texts: Sequence[str]) -> Rows:
            return await own.embed(list(texts))

        return by_memory

    async def by_index(texts: Sequence[str]) -> Rows:
        if core_of(memory).runtime.blocking:
            return embeddings.embed_documents(list(texts))
        return await embeddings.aembed_documents(list(texts))

    return by_index


def texts_of(value: object, fields: Sequence[str]) -> list[str]:
    """Return the texts of the given fields. Missing fields are skipped, and lists yield one text per element."""
    return [
        text for field in fields for text in get_text_at_path(value, field if field == "$" else tokenize_path(field))
    ]


def packed(vectors: Rows) -> bytes:
    """Return the vectors of one item as bytes: first their number, then each vector, normalised to unit length."""
    rows = np.asarray(vectors, np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return len(rows).to_bytes(4, "big") + units.astype("<f4").tobytes()


def similarity(query: Sequence[float] | Vectors, data: bytes) -> float:
    """Return the highest cosine similarity among an item's vectors."""
    rows = np.frombuffer(data, "<f4", offset=4).reshape(int.from_bytes(data[:4], "big"), -1)
    unit = np.asarray(query, np.float32)
    norm = float(np.linalg.norm(unit))
    return float((rows @ unit).max() / norm) if norm else 0.0

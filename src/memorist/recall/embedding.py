"""Wraps any embedder (local, remote, a function) behind one coroutine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import MemoristError, ModelError, UsageError
from ..ports import EmbedderSpec
from ..runtime import Runtime

if TYPE_CHECKING:
    from ..embed.opening import OpenEmbedder, WordVectors
    from .pool import Vectors
    from .query import Query


class Embedding:
    """Turns texts into unit vectors; local work runs off the event loop."""

    def __init__(self, spec: EmbedderSpec | OpenEmbedder, runtime: Runtime) -> None:
        from ..embed import open_embedder

        inner = open_embedder(spec, blocking=runtime.blocking)
        if inner is None:
            raise UsageError("no embedder was named")
        self._inner = inner
        self._offload = None if runtime.blocking else runtime.offload

    @property
    def name(self) -> str:
        """The embedder's name, stored beside each vector it makes."""
        return str(self._inner.name)

    @property
    def dimensions(self) -> int:
        """How long its vectors are."""
        return int(self._inner.dimensions)

    @property
    def static(self) -> bool:
        """Whether it only averages word vectors; a question is then embedded without its stop words."""
        return bool(getattr(self._inner, "static", False))

    @property
    def word_vectors(self) -> WordVectors | None:
        """A function from words to their vectors; None for an embedder that has none."""
        return self._inner.word_vectors

    async def ask(self, query: Query) -> Vectors:
        """Return the unit vectors of a question: of the whole, then of each of its parts."""
        texts = [query.embed_text, *query.part_texts]
        if self.static:
            from .query import content

            texts = [content(text) for text in texts]
        return await self.embed(texts, query=True)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Return one unit vector per text (`query`: the texts are questions); any failure raises ModelError."""
        try:
            return await self._inner.embed(texts, query=query, offload=self._offload)
        except MemoristError:
            raise
        except Exception as cause:
            raise ModelError(f"the embedder {self.name!r} failed: {type(cause).__name__}") from cause


class Earlier:
    """Reopens, by name, the embedders that made stored vectors, until those vectors are replaced.

    Until `VectorIndexer` has finished, a namespace holds vectors of two embedders. A question is then embedded by both,
    and each searches its own vectors. An embedder that cannot be reopened by its name (a function) is None; its entries
    are found by words only.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: dict[str, Embedding | None] = {}

    def get(self, name: str) -> Embedding | None:
        """Return the embedder of a stored name."""
        from ..embed.opening import reopened

        if name not in self._known:
            found = reopened(name)
            self._known[name] = None if found is None else Embedding(found, self._runtime)
        return self._known[name]

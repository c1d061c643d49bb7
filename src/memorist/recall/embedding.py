"""Wraps any embedder (a local one, a remote one or a function) behind one coroutine."""

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
    """Converts texts to unit vectors. Local work runs outside the event loop."""

    def __init__(self, spec: EmbedderSpec | OpenEmbedder, runtime: Runtime) -> None:
        from ..embed import open_embedder

        inner = open_embedder(spec, blocking=runtime.blocking)
        if inner is None:
            raise UsageError("no embedder was named")
        self._inner = inner
        self.static = inner.static
        """Whether the embedder only averages word vectors. A question is then embedded without its stop words."""
        self.word_vectors: WordVectors | None = inner.word_vectors
        """This function returns the vectors of words. It is None for an embedder without word vectors."""
        self._offload = None if runtime.blocking else runtime.offload

    @property
    def name(self) -> str:
        """This is the embedder's name, which is stored with each of its vectors."""
        return str(self._inner.name)

    @property
    def dimensions(self) -> int:
        """This is the length of its vectors."""
        return int(self._inner.dimensions)

    async def ask(self, query: Query) -> Vectors:
        """Return the unit vectors of the whole question and of each of its parts."""
        texts = [query.embed_text, *query.part_texts]
        if self.static:
            from .query import content

            # An average of word vectors has no grammar, so words such as "what" and "the" would only pull it to the
            # middle.
            texts = [content(text) for text in texts]
        return await self.embed(texts, query=True)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Return one unit vector per text. With `query`, the texts are questions. Any failure raises ModelError."""
        try:
            return await self._inner.embed(texts, query=query, offload=self._offload)
        except MemoristError:
            raise
        except Exception as cause:
            # The type only: the message of a foreign error may quote the text that was embedded.
            raise ModelError(f"the embedder {self.name!r} failed: {type(cause).__name__}") from cause

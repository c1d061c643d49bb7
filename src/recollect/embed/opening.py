"""From what a user passes as `embedder=` to one object with one coroutine."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ModelError, UsageError

Vectors = NDArray[np.float32]
Offload = Callable[..., Awaitable[Any]]
_SPECS = '"default", "minilm", "openai:MODEL[@base_url]", "voyage:MODEL", an object or a callable'


class OpenEmbedder:
    """Any embedder behind one coroutine, which never suspends over a blocking one.

    `dimensions` is 0 until the first vectors came, where only the model knows.
    """

    def __init__(
        self, name: str, dimensions: int, call: Callable[[Sequence[str]], Any], *, is_async: bool = False
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.is_async = is_async
        self.static = False
        """Only averages word vectors, so questions are given to it without stop words."""
        self._call = call

    async def embed(self, texts: Sequence[str], *, offload: Offload | None = None) -> Vectors:
        """One unit vector per text, as rows of float32; `offload` (a runtime's) keeps slow work off a loop."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        if offload is None or self.is_async:
            made = self._call(list(texts))
        else:
            made = await offload(self._call, list(texts))
        return self._checked(await made if inspect.isawaitable(made) else made, len(texts))

    def embed_now(self, texts: Sequence[str]) -> Vectors:
        """The same without a coroutine, for embedders that block."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        made = self._call(list(texts))
        if inspect.isawaitable(made):
            _drop(made)
            raise UsageError(f"the embedder {self.name!r} is async; use AsyncMemory")
        return self._checked(made, len(texts))

    def _checked(self, made: Any, count: int) -> Vectors:
        vectors = np.asarray(made, np.float32)
        if vectors.ndim != 2 or len(vectors) != count or (self.dimensions and vectors.shape[1] != self.dimensions):
            raise ModelError(f"the embedder {self.name!r} gave {vectors.shape} for {count} texts")
        if not np.isfinite(vectors).all():
            raise ModelError(f"the embedder {self.name!r} gave values that are no numbers")
        self.dimensions = self.dimensions or vectors.shape[1]
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(length > 0, length, 1), np.float32)


def open_embedder(spec: Any = "default", *, blocking: bool) -> OpenEmbedder | None:
    """The embedder a spec names; None stays None: recall is then lexical."""
    if spec is None:
        return None
    if isinstance(spec, OpenEmbedder):
        return spec
    if isinstance(spec, str):
        return _named(spec)
    method = getattr(spec, "embed", None)
    if callable(method):
        return _plugged(spec, method, blocking)
    if callable(spec):
        return _plugged(spec, spec, blocking)
    raise UsageError(f"an embedder is {_SPECS}; got {type(spec).__name__}")


def _named(spec: str) -> OpenEmbedder:
    provider, _, rest = spec.partition(":")
    if spec in ("default", "wordllama"):
        from recollect.embed.wordllama import WordLlamaEmbedder

        words = WordLlamaEmbedder()
        opened = OpenEmbedder(words.name, words.dimensions, words.embed)
        opened.static = words.static
        return opened
    if spec == "minilm":
        from recollect.embed.minilm import MiniLMEmbedder

        sentences = MiniLMEmbedder()
        return OpenEmbedder(sentences.name, sentences.dimensions, sentences.embed)
    if provider == "openai" and rest:
        from recollect.embed.openai import openai_embedder

        model, _, base_url = rest.partition("@")
        return OpenEmbedder(f"openai:{model}", 0, openai_embedder(model, base_url or None))
    if provider == "voyage" and rest:
        from recollect.embed.voyage import voyage_embedder

        model, _, base_url = rest.partition("@")
        return OpenEmbedder(f"voyage:{model}", 0, voyage_embedder(model, base_url or None))
    raise UsageError(f"no embedder {spec!r}; an embedder is {_SPECS}")


def _plugged(spec: Any, call: Callable[..., Any], blocking: bool) -> OpenEmbedder:
    name = str(getattr(spec, "name", None) or getattr(spec, "__qualname__", type(spec).__qualname__))
    is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
    if blocking and is_async:
        raise UsageError(f"the embedder {name!r} is async; give it to AsyncMemory, or pass a blocking one to Memory")
    guarded = _refuse_awaitables(name, call) if blocking else call
    return OpenEmbedder(name, int(getattr(spec, "dimensions", 0) or 0), guarded, is_async=is_async)


def _refuse_awaitables(name: str, call: Callable[..., Any]) -> Callable[[Sequence[str]], Any]:
    """A plain function that answers with a coroutine is async too; that shows only when it is called."""

    def guarded(texts: Sequence[str]) -> Any:
        made = call(texts)
        if inspect.isawaitable(made):
            _drop(made)
            raise UsageError(
                f"the embedder {name!r} is async; give it to AsyncMemory, or pass a blocking one to Memory"
            )
        return made

    return guarded


def _drop(made: Awaitable[Any]) -> None:
    close = getattr(made, "close", None)
    if callable(close):
        close()

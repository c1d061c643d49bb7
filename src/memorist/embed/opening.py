"""Opens the value that a user passes as `embedder=` (a name, an object or a function) as an `OpenEmbedder`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.errors import ModelError, UsageError

Vectors = NDArray[np.float32]
WordVectors = Callable[[Sequence[str]], Vectors]
Offload = Callable[..., Awaitable[Any]]
_SPECS = (
    '"default", "minilm", "multilingual", "onnx:FOLDER_OR_NAME", "openai:MODEL[@base_url]", "voyage:MODEL", an object '
    "or a callable"
)


_STORED_NAMES = {
    "wordllama-l2-supercat-256": "default",
    "all-minilm-l6-v2": "minilm",
    "multilingual-e5-small-q4": "multilingual",
}
"""The specs of the embedders with bundled weights, by the names stored with their vectors."""


class OpenEmbedder:
    """Wraps any embedder behind one coroutine, which never suspends if the embedder blocks.

    `dimensions` may be 0 until the first vectors are computed.
    """

    def __init__(
        self,
        name: str,
        dimensions: int,
        call: Callable[[Sequence[str]], object],
        *,
        ask: Callable[[Sequence[str]], object] | None = None,
        is_async: bool = False,
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.is_async = is_async
        self.static = False
        """Whether it averages word vectors; questions are then embedded without stop words."""
        self.word_vectors: WordVectors | None = None
        """A blocking function that returns the vectors of words, for an embedder that averages them."""
        self._call = call
        self._ask = ask or call
        """The function that embeds questions, for models that embed them differently from passages."""

    async def embed(self, texts: Sequence[str], *, query: bool = False, offload: Offload | None = None) -> Vectors:
        """Return one unit vector per text, as rows of float32. `offload` runs a blocking embedder in a thread."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        call = self._ask if query else self._call
        if offload is None or self.is_async:
            vectors = call(list(texts))
        else:
            vectors = await offload(call, list(texts))
        return self._checked(await vectors if inspect.isawaitable(vectors) else vectors, len(texts))

    def embed_now(self, texts: Sequence[str]) -> Vectors:
        """Do the same as `embed`, as a plain function for blocking embedders."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        vectors = self._call(list(texts))
        if inspect.isawaitable(vectors):
            _drop(vectors)
            raise UsageError(f"the embedder {self.name!r} is async; use AsyncMemory")
        return self._checked(vectors, len(texts))

    def _checked(self, output: object, count: int) -> Vectors:
        vectors = np.asarray(output, np.float32)
        if vectors.ndim != 2 or len(vectors) != count or (self.dimensions and vectors.shape[1] != self.dimensions):
            expected = f"({count}, {self.dimensions or 'n'})"
            raise ModelError(f"the embedder {self.name!r} returned an array of shape {vectors.shape}, not {expected}")
        if not np.isfinite(vectors).all():
            raise ModelError(f"the embedder {self.name!r} returned NaN or infinity")
        self.dimensions = self.dimensions or vectors.shape[1]
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(length > 0, length, 1), np.float32)


def open_embedder(spec: object = "default", *, blocking: bool) -> OpenEmbedder | None:
    """Open the embedder that a spec describes. For None, return None; recall then uses only text search."""
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


def reopened(name: str) -> OpenEmbedder | None:
    """Open the embedder whose name is stored with vectors. Return None if the name is not enough to open it."""
    spec = _STORED_NAMES.get(name, name)
    try:
        return _named(spec)
    except UsageError:
        return None


def _named(spec: str) -> OpenEmbedder:
    provider, _, rest = spec.partition(":")
    if spec in ("default", "wordllama"):
        from memorist.embed.wordllama import WordLlamaEmbedder

        words = WordLlamaEmbedder()
        opened = OpenEmbedder(words.name, words.dimensions, words.embed)
        opened.static = words.static
        opened.word_vectors = words.word_vectors
        return opened
    if spec == "minilm":
        from memorist.embed.minilm import minilm

        english = minilm()
        return OpenEmbedder(english.name, english.dimensions, english.embed)
    if spec == "multilingual":
        from memorist.embed.multilingual import MultilingualEncoder

        many = MultilingualEncoder()
        return OpenEmbedder(many.name, many.dimensions, many.embed, ask=many.embed_query)
    if provider == "onnx" and rest:
        from memorist.embed.sentences import SentenceEncoder

        encoder = SentenceEncoder(rest)
        return OpenEmbedder(encoder.name, 0, encoder.embed, ask=encoder.embed_query)
    if provider in ("openai", "voyage") and rest:
        from memorist.embed.services import service_embedder

        model, _, base_url = rest.partition("@")
        return OpenEmbedder(f"{provider}:{model}", 0, service_embedder(provider, model, base_url))
    raise UsageError(f"no embedder {spec!r}; an embedder is {_SPECS}")


def _plugged(spec: object, call: Callable[..., object], blocking: bool) -> OpenEmbedder:
    name = str(getattr(spec, "name", None) or getattr(spec, "__qualname__", type(spec).__qualname__))
    is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
    if blocking and is_async:
        raise UsageError(f"the embedder {name!r} is async; pass it to AsyncMemory, or pass a blocking one to Memory")
    ask = getattr(spec, "embed_query", call)
    call, ask = (_refuse_awaitables(name, function) if blocking else function for function in (call, ask))
    return OpenEmbedder(name, int(getattr(spec, "dimensions", 0) or 0), call, ask=ask, is_async=is_async)


def _refuse_awaitables(name: str, call: Callable[..., object]) -> Callable[[Sequence[str]], object]:
    """Wrap the function so that it raises an error if it returns an awaitable, which is only apparent once it is
    called."""

    def guarded(texts: Sequence[str]) -> object:
        vectors = call(texts)
        if inspect.isawaitable(vectors):
            _drop(vectors)
            raise UsageError(
                f"the embedder {name!r} is async; pass it to AsyncMemory, or pass a blocking one to Memory"
            )
        return vectors

    return guarded


def _drop(awaitable: Awaitable[object]) -> None:
    close = getattr(awaitable, "close", None)
    if callable(close):
        close()

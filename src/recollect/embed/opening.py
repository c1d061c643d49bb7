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
_SPECS = (
    '"default", "minilm", "onnx:FOLDER_OR_NAME", "openai:MODEL[@base_url]", "voyage:MODEL", an object or a callable'
)


class OpenEmbedder:
    """Any embedder behind one coroutine, which never suspends over a blocking one.

    `dimensions` is 0 until the first vectors came, where only the model knows.
    """

    def __init__(
        self,
        name: str,
        dimensions: int,
        call: Callable[[Sequence[str]], Any],
        *,
        ask: Callable[[Sequence[str]], Any] | None = None,
        is_async: bool = False,
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.is_async = is_async
        self.static = False
        """Only averages word vectors, so questions are given to it without stop words."""
        self._call = call
        self._ask = ask or call
        """What embeds questions, where they are embedded in another way than what is remembered."""

    async def embed(self, texts: Sequence[str], *, query: bool = False, offload: Offload | None = None) -> Vectors:
        """One unit vector per text, as rows of float32; `offload` (a runtime's) keeps slow work off a loop."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        call = self._ask if query else self._call
        if offload is None or self.is_async:
            made = call(list(texts))
        else:
            made = await offload(call, list(texts))
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


def reopened(name: str) -> OpenEmbedder | None:
    """The embedder that made vectors stored under a name, where the name is enough to open it again."""
    spec = {"wordllama-l2-supercat-256": "default", "all-minilm-l6-v2": "minilm"}.get(name, name)
    try:
        return _named(spec)
    except UsageError:
        return None


def _named(spec: str) -> OpenEmbedder:
    provider, _, rest = spec.partition(":")
    if spec in ("default", "wordllama"):
        from recollect.embed.wordllama import WordLlamaEmbedder

        words = WordLlamaEmbedder()
        opened = OpenEmbedder(words.name, words.dimensions, words.embed)
        opened.static = words.static
        return opened
    if spec == "minilm":
        from recollect.embed.minilm import minilm

        english = minilm()
        return OpenEmbedder(english.name, english.dimensions, english.embed)
    if provider == "onnx" and rest:
        from recollect.embed.sentences import SentenceEncoder

        encoder = SentenceEncoder(rest)
        return OpenEmbedder(encoder.name, 0, encoder.embed, ask=encoder.embed_query)
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
    ask = getattr(spec, "embed_query", call)
    call, ask = (_refuse_awaitables(name, one) if blocking else one for one in (call, ask))
    return OpenEmbedder(name, int(getattr(spec, "dimensions", 0) or 0), call, ask=ask, is_async=is_async)


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

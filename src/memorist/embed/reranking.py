"""Opens the value that a user passes as `reranker=` as an `OpenReranker`.

| value | meaning |
|---|---|
| `"onnx:FOLDER_OR_NAME"` | a local cross-encoder |
| `"https://host/v1/rerank#MODEL"` | a service with a `/rerank` endpoint like that of Cohere, Jina, Voyage or TEI |
| `"model"` | the memory's own language model |
| a function or an object with `rerank` | (question, texts) → one score per text |
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from memorist.embed.http import post
from memorist.errors import ModelError, UsageError

SPECS = '"onnx:FOLDER_OR_NAME", "https://…/rerank[#MODEL]", "model", a function or an object with rerank()'
TIME_LIMIT_SECONDS = 2.0
"""The number of seconds that a recall waits for a reranker before it uses the first ranking. The reranker's own
`time_limit` overrides this."""
KEY = "RERANK_API_KEY"
MAX_CHARS = 4_000
_OTHER_SHAPE = frozenset({400, 422})


class OpenReranker(msgspec.Struct, frozen=True):
    """Wraps a reranker behind one function. `is_async` is True if that function returns an awaitable."""

    name: str
    call: Callable[[str, Sequence[str]], Any]
    time_limit: float = TIME_LIMIT_SECONDS
    is_async: bool = False


def open_reranker(spec: object, *, blocking: bool) -> OpenReranker | None:
    """Open the reranker that a spec describes. Return None for None, and for `"model"`, which the caller handles
    itself."""
    if spec is None or spec == "model":
        return None
    if isinstance(spec, str):
        return _named(spec)
    method = getattr(spec, "rerank", spec)
    if not callable(method):
        raise UsageError(f"a reranker is {SPECS}; got {type(spec).__name__}")
    name = str(getattr(spec, "name", None) or getattr(spec, "__qualname__", type(spec).__qualname__))
    is_async = inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(type(method).__call__)
    if blocking and is_async:
        raise UsageError(f"the reranker {name!r} is async; pass it to AsyncMemory, or pass a blocking one to Memory")
    return OpenReranker(name, method, _limit(getattr(spec, "time_limit", TIME_LIMIT_SECONDS)), is_async)


def checked(name: str, scores: Any, count: int) -> list[float]:
    """Return one finite number per text, or raise ModelError."""
    try:
        read = [float(score) for score in scores]
    except (TypeError, ValueError) as cause:
        raise ModelError(f"the reranker {name!r} did not return a list of numbers") from cause
    if len(read) != count or not all(math.isfinite(score) for score in read):
        raise ModelError(f"the reranker {name!r} returned {len(read)} scores for {count} texts, or NaN or infinity")
    return read


def _named(spec: str) -> OpenReranker:
    provider, _, rest = spec.partition(":")
    limit = _limit(parse_qs(spec.partition("?")[2].partition("#")[0]).get("time_limit", [TIME_LIMIT_SECONDS])[0])
    if provider == "onnx" and rest:
        from memorist.embed.crossing import CrossEncoder

        encoder = CrossEncoder(rest)
        return OpenReranker(encoder.name, encoder.rerank, limit)
    if provider in ("http", "https"):
        return OpenReranker(f"{urlsplit(spec).hostname}", _service(spec), limit)
    raise UsageError(f"no reranker {provider[:64]!r}; a reranker is {SPECS}")


def _limit(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise UsageError("the time_limit of a reranker must be a number of seconds above 0 and below 3600")
    return seconds


def _service(spec: str) -> Callable[[str, Sequence[str]], list[float]]:
    """Return a blocking function for `POST …/rerank`.

    A server that rejects the field `documents` is sent `texts` instead.
    """
    address, _, model = spec.partition("#")
    url = address.partition("?")[0]
    key = os.environ.get(KEY, "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    shape = ["documents"]

    def rerank(query: str, texts: Sequence[str]) -> list[float]:
        passages = [text[:MAX_CHARS] or " " for text in texts]
        body = {"query": query[:MAX_CHARS], **({"model": model} if model else {})}
        try:
            answer = post(url, {**body, shape[0]: passages}, headers)
        except ModelError as refused:
            if getattr(refused, "status", None) not in _OTHER_SHAPE or shape[0] == "texts":
                raise
            answer = post(url, {**body, "texts": passages}, headers)
            # Remembered only after it worked: a 400 may have another cause.
            shape[0] = "texts"
        return _in_order(answer, len(passages))

    return rerank


def _in_order(answer: Any, count: int) -> list[float]:
    """Return the scores in the order of the texts. A text that the service left out is assigned the lowest score."""
    try:
        results = answer if isinstance(answer, list) else answer.get("results", answer.get("data"))
        scores = {
            int(result["index"]): float(result["relevance_score"] if "relevance_score" in result else result["score"])
            for result in results
        }
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise ModelError("the rerank service returned no scores") from cause
    least = min(scores.values(), default=0.0) - 1.0
    return [scores.get(position, least) for position in range(count)]

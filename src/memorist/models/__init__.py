"""Provides language models: Anthropic, OpenAI-compatible servers, or any function. The SDKs are imported on use."""

from __future__ import annotations

import inspect
from typing import Any

from ..errors import UsageError
from ..ports import Completion, Model, Usage
from .base import DEFAULT_MODEL, DEFAULT_TIMEOUT_SECONDS, LOCAL_TIMEOUT_SECONDS, iterate
from .function import Call, FunctionModel, label

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_TIMEOUT_SECONDS",
    "Completion",
    "FunctionModel",
    "Model",
    "Usage",
    "answer_seconds",
    "iterate",
    "open_model",
]


def answer_seconds(spec: object) -> float:
    """Return how long a model may take for one answer: its own `timeout`, or 15 minutes if it runs on your own
    server."""
    # A model on a user's own machine reads a few hundred tokens per second and writes ten. A provider's model is fifty
    # times faster.
    if isinstance(spec, str):
        return LOCAL_TIMEOUT_SECONDS if "@" in spec else DEFAULT_TIMEOUT_SECONDS
    return float(getattr(spec, "timeout", None) or DEFAULT_TIMEOUT_SECONDS)


def open_model(spec: object, *, blocking: bool, call: Call | None = None) -> Model:
    """Return a model from `provider:id`, `provider:id@base_url`, a function `str -> str`, or an object with `complete`.

    `call` runs a blocking function. It is a runtime's `offload`, so that neither the event loop nor the store waits for
    it.
    """
    if isinstance(spec, str):
        return _named(spec, blocking)
    if hasattr(spec, "complete"):
        return _object(spec, blocking)
    if callable(spec):
        return FunctionModel(spec, blocking=blocking, call=call)
    raise UsageError(f"not a model: {type(spec).__name__}; pass 'provider:id', a function or an object with complete()")


def _named(spec: str, blocking: bool) -> Model:
    provider, _, rest = spec.partition(":")
    model, _, base_url = rest.partition("@")
    if provider == "anthropic":
        from .anthropic import open_anthropic

        default = DEFAULT_MODEL.partition(":")[2]
        return open_anthropic(model or default, blocking=blocking, base_url=base_url or None)
    if provider == "openai":
        if not model:
            raise UsageError("openai needs a model id: openai:MODEL, or openai:MODEL@URL for a server of your own")
        from .openai import open_openai

        return open_openai(model, blocking=blocking, base_url=base_url or None)
    raise UsageError(f"unknown model provider {provider!r}; use anthropic:MODEL, openai:MODEL or openai:MODEL@URL")


def _object(spec: Any, blocking: bool) -> Model:
    """Check a user's own model object and return it.

    An async model needs AsyncMemory, and a blocking model needs Memory.
    """
    if not inspect.iscoroutinefunction(spec.complete):
        raise UsageError(f"{label(spec)}.complete must be `async def`; you can pass a plain function unchanged")
    declared = getattr(spec, "blocking", None)
    if blocking and declared is not True:
        raise UsageError(
            f"{label(spec)} is async; a blocking Memory cannot await it: use AsyncMemory,"
            " or set `blocking = True` on it if its coroutines never suspend"
        )
    if not blocking and declared is True:
        raise UsageError(
            f"{label(spec)} blocks and would stall the event loop; use Memory, or open it with blocking=False"
        )
    model: Model = spec
    return model

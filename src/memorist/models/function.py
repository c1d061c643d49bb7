"""Uses any function that accepts and returns text as a model."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from ..errors import ModelError, UsageError
from ..ports import Completion, Messages
from ..values import JsonObject
from .base import parse_json
from .remote import model_error

Call = Callable[..., Awaitable[Any]]


class FunctionModel:
    """Wraps a callable `str -> str`, sync or async. A sync function is run by `call`, which may use a worker thread."""

    def __init__(self, function: Callable[[str], Any], *, blocking: bool, call: Call | None = None) -> None:
        self._function = function
        self._is_async = is_async(function)
        if blocking and self._is_async:
            raise UsageError(f"{label(function)} is async; a blocking Memory cannot await it, use AsyncMemory")
        self.blocking = blocking
        self._call = call or _call_here

    @property
    def name(self) -> str:
        return f"function:{label(self._function)}"

    async def complete(
        self,
        messages: Messages,
        *,
        system: str | None = None,
        max_tokens: int,
        schema: JsonObject | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Return the function's answer. Its exceptions become ModelError."""
        prompt = flat_prompt(messages, system, schema)
        try:
            answer = await self._function(prompt) if self._is_async else await self._call(self._function, prompt)
        except ModelError:
            raise
        except Exception as error:
            kind = type(error).__name__
            raise model_error(self.name, f"raised {kind}", reason=kind, retryable=True) from error
        if inspect.isawaitable(answer):
            raise model_error(self.name, "returned an awaitable; declare it `async def`", reason="awaitable")
        if schema is not None and isinstance(answer, dict | list):
            return Completion(msgspec.json.encode(answer).decode(), answer, model=self.name)
        if not isinstance(answer, str) or not answer.strip():
            raise model_error(self.name, "returned no text", reason="empty", retryable=True)
        return Completion(answer, parse_json(answer) if schema is not None else None, model=self.name)

    async def stream(
        self, messages: Messages, *, system: str | None = None, max_tokens: int, timeout: float | None = None
    ) -> AsyncIterator[str]:
        """Yield the whole answer as one piece."""
        yield (await self.complete(messages, system=system, max_tokens=max_tokens, timeout=timeout)).text

    async def close(self) -> None:
        """Do nothing, because a function has no connection to close."""


async def _call_here(function: Callable[..., object], *args: object) -> object:
    return function(*args)


def is_async(function: object) -> bool:
    """Return whether calling the function returns a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def label(function: object) -> str:
    """Return a name for a callable, for use in error messages."""
    return str(getattr(function, "__qualname__", type(function).__name__))


def flat_prompt(messages: Messages, system: str | None, schema: JsonObject | None) -> str:
    """Return the system prompt, the conversation and the schema as one text."""
    parts = [system] if system else []
    turns = [(str(item.get("role", "user")), _plain(item.get("content"))) for item in messages]
    parts += [turns[0][1]] if len(turns) == 1 else [f"{role}: {content}" for role, content in turns]
    if schema is not None:
        parts.append("Answer with JSON only, matching this schema:\n" + msgspec.json.encode(schema).decode())
    return "\n\n".join(parts)


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))

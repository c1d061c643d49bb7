"""The language model port: what Recollect asks of a model, and what it gets back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from ..errors import SuspendedError

DEFAULT_MODEL = "anthropic:claude-haiku-4-5"
"""Cheap and quick enough for summaries and extraction; any other id is configuration."""
DEFAULT_TIMEOUT = 60.0
MAX_ANSWER_BYTES = 8 * 1024 * 1024

Messages = Sequence[Mapping[str, Any]]


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the provider counted them; zero where it did not say."""

    input_tokens: int = 0
    output_tokens: int = 0


class Completion(msgspec.Struct, frozen=True):
    """An answer: its text, its parsed JSON when a schema was asked for (None if it was not JSON), and its cost."""

    text: str
    data: Any = None
    usage: Usage = Usage()
    model: str = ""
    stop: str = "end"
    """`end`, `length` (cut off at max_tokens) or `refusal`."""


@runtime_checkable
class Model(Protocol):
    """A language model. Both flavours have coroutine methods; those of a blocking one never suspend."""

    @property
    def name(self) -> str: ...

    @property
    def blocking(self) -> bool:
        """Whether its coroutines can be stepped without an event loop."""
        ...

    async def complete(
        self,
        messages: Messages,
        *,
        system: str | None = None,
        max_tokens: int,
        schema: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """One answer; raises ModelError, with `retryable`, `status` and `reason`, and nothing of what was said."""
        ...

    def stream(
        self, messages: Messages, *, system: str | None = None, max_tokens: int, timeout: float | None = None
    ) -> AsyncIterator[str]:
        """The answer's text as it comes."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def iterate(stream: AsyncIterator[str]) -> Iterator[str]:
    """The pieces of a blocking model's stream, without an event loop."""
    while True:
        step = _next(stream)
        try:
            step.send(None)
        except StopIteration as done:
            if done.value is None:
                return
            yield done.value
        else:
            step.close()
            raise SuspendedError("this model's stream needs an event loop; use AsyncMemory")


def _next(stream: AsyncIterator[str]) -> Coroutine[Any, Any, str | None]:
    async def step() -> str | None:
        async for piece in stream:
            return piece
        return None

    return step()


def parse_json(text: str) -> Any:
    """The JSON value in an answer, code fence around it or not; None when there is none."""
    body = text.strip()
    if body.startswith("```"):
        body = body.split("\n", 1)[-1].rsplit("```", 1)[0]
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None

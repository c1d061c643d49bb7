"""What all models share: defaults, limits, and parsing of answers and streams. The protocol `Model` is in `ports`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator

import msgspec

from ..errors import SuspendedError

DEFAULT_MODEL = "anthropic:claude-haiku-4-5"
"""Cheap and fast enough for summaries and extraction."""
DEFAULT_TIMEOUT = 60.0
LOCAL_TIMEOUT = 300.0
"""Seconds for an answer of a server of one's own, which may be a laptop."""
MAX_ANSWER_BYTES = 8 * 1024 * 1024


def iterate(stream: AsyncIterator[str]) -> Iterator[str]:
    """Yield a blocking model's stream as a plain iterator, without an event loop."""
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


def _next(stream: AsyncIterator[str]) -> Coroutine[object, None, str | None]:
    async def step() -> str | None:
        async for piece in stream:
            return piece
        return None

    return step()


def parse_json(text: str) -> object:
    """Return the JSON value in an answer, with or without a code fence around it; None where there is none."""
    body = text.strip()
    if body.startswith("```"):
        body = body.split("\n", 1)[-1].rsplit("```", 1)[0]
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None

"""Contains the parts that all models share: defaults, limits, and the parsing of answers and streams.

The protocol `Model` is in `ports`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import msgspec

from ..runtime import run_blocking

DEFAULT_MODEL = "anthropic:claude-haiku-4-5"
"""This model is cheap and fast enough for summaries and extraction."""
DEFAULT_TIMEOUT_SECONDS = 60.0
LOCAL_TIMEOUT_SECONDS = 900.0
"""The time limit in seconds for an answer from your own server. A busy laptop reads and writes a few tokens per
second."""
MAX_ANSWER_BYTES = 8 * 1024 * 1024


def iterate(stream: AsyncIterator[str]) -> Iterator[str]:
    """Yield a blocking model's stream as a plain iterator, without an event loop."""

    async def step() -> str | None:
        return await anext(stream, None)

    while (piece := run_blocking(step())) is not None:
        yield piece


def parse_cut_json(text: str) -> object:
    """Return the JSON value in a truncated answer, without the incomplete last item of a list.

    Return None if no item is complete.
    """
    stack: list[str] = []
    in_text = escaped = False
    whole: tuple[int, str] | None = None
    for position, sign in enumerate(text):
        if in_text:
            in_text, escaped = escaped or sign != '"', not escaped and sign == "\\"
        elif sign == '"':
            in_text = True
        elif sign in "[{":
            stack.append("]" if sign == "[" else "}")
        elif sign in "]}" and stack:
            stack.pop()
            if stack and stack[-1] == "]":
                whole = position + 1, "".join(reversed(stack))
    return None if whole is None else parse_json(text[: whole[0]] + whole[1])


def parse_json(text: str) -> object:
    """Return the JSON value in an answer, with or without a code fence around it, or None if there is none."""
    body = text.strip()
    if body.startswith("```"):
        body = body.split("\n", 1)[-1].rsplit("```", 1)[0]
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None

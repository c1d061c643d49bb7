"""Sets Anthropic's cache markers, and counts how much of a request a provider's prompt cache would serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..values import compact_json
from .doubles import carried
from .measure import MESSAGE_TOKENS, count_content, count_tools
from .plan import total_tokens
from .tokens import Counter
from .units import Unit

if TYPE_CHECKING:
    from .context import Context

MARKER = {"cache_control": {"type": "ephemeral"}}


CACHED_FIRST, CACHED_LATER, CACHED_LEAST = 8, 64, 256
"""In the cached layout a first turn is given an eighth of the room for what it recalls, since there is no cache to keep
yet; every turn is given a sixty-fourth, and at least 256 tokens."""
ANEW = 0.085
"""The share of a request that may be new, so that a prompt cache serves the rest."""
STEP = 2 / 3
"""What a token costs later that stays in the history: a window of which 60 % is given away at once sends the other 40 %
anew, so each token that fills it brings two thirds of a token to be sent anew nearer."""


def affordable(units: Sequence[Unit], before_tokens: int, room: int) -> int:
    """How many tokens a turn may recall without a prompt cache serving less than it should of a long conversation.

    New in a request are what is recalled, the input and the answer before it. They may take `ANEW` of it together.
    What is recalled and stored with its turn fills the window; what is not stored stands before the input once, so that
    the input is sent anew with the next turn. The first turns, with
    little to serve yet, are given more.
    """
    sent = before_tokens + total_tokens(units)
    first = room // CACHED_FIRST - sent // 4
    turns = max(1, sum(unit.role == "user" for unit in units))
    stored = sum(unit.tokens - (unit.messages[1].tokens or 0) for unit in units if carried(unit))
    own = (total_tokens(units) - stored) / turns
    new = ANEW * sent
    return max(first, int(new / (1 + STEP) - own if stored else new - 2 * own))


def mark(request: dict[str, Any], context: Context) -> dict[str, Any]:
    """The request with cache markers after the parts that stay the same: tools, system, summary, the input."""
    made = dict(request)
    if request["tools"]:
        made["tools"] = [*request["tools"][:-1], {**request["tools"][-1], **MARKER}]
    if request["system"]:
        made["system"] = [{"type": "text", "text": request["system"], **MARKER}]
    messages = [{"role": message["role"], "content": list(message["content"])} for message in request["messages"]]
    if context.layout == "cached":
        _mark_summary(messages, context)
        _mark_end(messages, context)
    made["messages"] = messages
    return made


def _mark_summary(messages: list[dict[str, Any]], context: Context) -> None:
    if context.summary_message is None or not messages:
        return
    text = context.summary_message.text
    for place, block in enumerate(messages[0]["content"]):
        if block.get("text") == text:
            messages[0]["content"][place] = {**block, **MARKER}


def _mark_end(messages: list[dict[str, Any]], context: Context) -> None:
    """Mark the last block that the next request repeats: the input, not the scratchpad, which changes each time."""
    if not messages:
        return
    content = messages[-1]["content"]
    place = len(content) - 1
    if context.scratchpad_message is not None:
        place -= 1
    while place >= 0 and content[place]["type"] in ("thinking", "redacted_thinking"):
        place -= 1
    if place >= 0 and "cache_control" not in content[place]:
        content[place] = {**content[place], **MARKER}


def cached_tokens(before: Mapping[str, Any] | None, after: Mapping[str, Any], counter: Counter) -> tuple[int, int]:
    """(tokens of the prefix that the OpenAI request `after` shares with `before`, all tokens of `after`).

    Tools come first, as providers put them; from the first message that differs on, a cache serves nothing.
    """
    pieces = _pieces(after, counter)
    known = [piece for piece, _ in _pieces(before, counter)] if before is not None else []
    served = 0
    for place, (piece, tokens) in enumerate(pieces):
        if place >= len(known) or known[place] != piece:
            break
        served += tokens
    return served, sum(tokens for _, tokens in pieces)


def _pieces(request: Mapping[str, Any], counter: Counter) -> list[tuple[str, int]]:
    tools: Sequence[Any] = request.get("tools") or ()
    pieces = [(compact_json(tool), count_tools([tool], counter)) for tool in tools]
    for message in request["messages"]:
        calls = message.get("tool_calls") or ()
        extra = sum(counter.count(compact_json(call)) for call in calls)
        tokens = MESSAGE_TOKENS + count_content(message.get("content"), counter) + extra
        pieces.append((compact_json(message), tokens))
    return pieces

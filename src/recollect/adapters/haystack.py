"""Haystack: a compactor that keeps tool exchanges whole. `pip install 'recollect[haystack]'`."""

from __future__ import annotations

import json
from typing import Any

from haystack.dataclasses import ChatMessage
from haystack.token_counters.types import TokenCounter

from ..errors import BudgetError
from ..messages import Message
from .fitting import fitting

STEPS = 8
SHRINK = 0.8


class RecollectCompactor:
    """Leaves out the oldest messages until the rest is small enough, never one half of a tool exchange."""

    def __init__(self, counter: str | None = None) -> None:
        self.counter = counter

    def compact(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """A shorter list, or None where none is shorter."""
        said = [message_of(message) for message in messages]
        budget, best = target_tokens, list(messages)
        for _ in range(STEPS):
            try:
                kept = fitting(said, max(1, budget), counter=self.counter)
            except BudgetError:  # what must stay is larger; what was found before is as close as it gets
                break
            if kept and len(kept) < len(best):
                best = [messages[place] for place in kept]
            if token_counter.count(best) <= target_tokens:
                break
            budget = int(budget * SHRINK)
        return best if len(best) < len(messages) else None

    async def compact_async(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """The same; nothing in it waits."""
        return self.compact(messages, target_tokens, token_counter)

    def to_dict(self) -> dict[str, Any]:
        """Its settings."""
        return {
            "type": "recollect.adapters.haystack.RecollectCompactor",
            "init_parameters": {"counter": self.counter},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RecollectCompactor:
        """One with these settings."""
        return cls(**data.get("init_parameters", {}))


def message_of(message: ChatMessage) -> Message:
    """A message of theirs as one of ours: text, tool calls and their results."""
    role = message.role.value
    if role == "tool":
        results = [
            {"type": "tool_result", "tool_use_id": one.origin.id or one.origin.tool_name, "content": str(one.result)}
            for one in message.tool_call_results
        ]
        return Message(role="user", content=results, shape="anthropic")
    text = "\n".join(message.texts)
    calls = [
        {"id": one.id or one.tool_name, "type": "function",
         "function": {"name": one.tool_name, "arguments": json.dumps(one.arguments)}}
        for one in message.tool_calls
    ]  # fmt: skip
    return Message(role=role, content=text, extra={"tool_calls": calls} if calls else {})

"""Provides Haystack with a compactor that does not split tool exchanges. It needs the `haystack` extra."""

from __future__ import annotations

import json

from haystack.dataclasses import ChatMessage
from haystack.token_counters.types import TokenCounter

from ..errors import BudgetError
from ..messages.message import Message
from ..values import JsonObject
from .fitting import fitting

MAX_STEPS = 8
SHRINK_FACTOR = 0.8


class MemoristCompactor:
    """Drops the oldest messages until the rest fits, without separating a tool call from its result."""

    def __init__(self, counter: str | None = None) -> None:
        self.counter = counter

    def compact(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """Return a shorter list, or None if it cannot be shortened."""
        converted = [message_of(message) for message in messages]
        budget, best = target_tokens, list(messages)
        for _ in range(MAX_STEPS):
            try:
                retained = fitting(converted, max(1, budget), counter=self.counter)
            except BudgetError:  # what must be kept is larger: the last result is the best possible
                break
            if retained and len(retained) < len(best):
                best = [messages[index] for index in retained]
            if token_counter.count(best) <= target_tokens:
                break
            budget = int(budget * SHRINK_FACTOR)
        return best if len(best) < len(messages) else None

    async def compact_async(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """Do the same as `compact` for async callers, without any I/O."""
        return self.compact(messages, target_tokens, token_counter)

    def to_dict(self) -> JsonObject:
        """Serialise the settings."""
        return {
            "type": "memorist.adapters.haystack.MemoristCompactor",
            "init_parameters": {"counter": self.counter},
        }

    @classmethod
    def from_dict(cls, data: JsonObject) -> MemoristCompactor:
        """Restore a compactor from `to_dict`."""
        return cls(**data.get("init_parameters", {}))


def message_of(message: ChatMessage) -> Message:
    """Convert a Haystack message to ours, with its text, tool calls and results."""
    role = message.role.value
    if role == "tool":
        results = [
            {
                "type": "tool_result",
                "tool_use_id": result.origin.id or result.origin.tool_name,
                "content": str(result.result),
            }
            for result in message.tool_call_results
        ]
        return Message(role="user", content=results, shape="anthropic")
    text = "\n".join(message.texts)
    calls = [
        {"id": call.id or call.tool_name, "type": "function",
         "function": {"name": call.tool_name, "arguments": json.dumps(call.arguments)}}
        for call in message.tool_calls
    ]  # fmt: skip
    return Message(role=role, content=text, extra={"tool_calls": calls} if calls else {})

"""Provides functions that adapters share. They choose the messages that fit a budget, and recall memories for a
question as fenced text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..context.budget import TokenBudget
from ..context.compress import compress
from ..context.items import as_items, render_memory
from ..context.policies import SlidingWindow
from ..engine.recalling import Spaces
from ..memory import AsyncMemory
from ..messages.message import Given, Message, as_message
from ..ports import CounterSpec

PLACE = "place"
"""The metadata key for a message's index in the original list."""
Budget = TokenBudget | int | str


def fitting(messages: Sequence[Given], budget: Budget, *, counter: CounterSpec = None) -> list[int]:
    """Return the indices of the newest messages that fit.

    A tool call is always kept with its results.
    """
    numbered = [_numbered(message, index) for index, message in enumerate(messages)]
    context = compress(numbered, budget=budget, policy=SlidingWindow(), counter=counter)
    indexes = [message.metadata.get(PLACE) for message in (*context.system_messages, *context.view)]
    return sorted({index for index in indexes if isinstance(index, int)})


def _numbered(original: Given, index: int) -> Message:
    message = as_message(original)
    fields: Mapping[str, Any] = {name: getattr(message, name) for name in message.__struct_fields__}
    return Message(**{**fields, "metadata": {**message.metadata, PLACE: index}})


async def recalled(memory: AsyncMemory, query: str, *, namespaces: Spaces = None, top_k: int = 5) -> str:
    """Return memories recalled for a question, fenced and labelled as data, or an empty string if there are none."""
    if not query.strip():
        return ""
    hits = await memory.recall(query, namespaces=namespaces, top_k=top_k)
    return render_memory(as_items(hits)) if hits else ""

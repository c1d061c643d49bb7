"""Defines the argument types of `memory.context`: budgets, prompts, tools, memory items, layouts and profile
lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..messages.message import Given, Message
from ..recall.hit import Hit
from ..records import Fact, Learning
from ..values import JsonMapping
from .budget import TokenBudget
from .items import MemoryItem
from .profile import ProfileLine

BudgetSpec = TokenBudget | int | str
"""A token limit, a model's name (meaning its published window), or a `TokenBudget`."""

Prompt = Given | Sequence[Given]
"""One message or several: an input, or a system prompt."""

Tool = JsonMapping
"""A tool's definition, in OpenAI's or Anthropic's format."""

Item = str | JsonMapping | MemoryItem | Hit | Fact | Learning | Message
"""A memory to put into a context: text, a hit, a fact, a message, or a dict with `text`."""

Layout = Literal["standard", "cached"]
"""Where recalled memory goes: before the history, or (`cached`) with the turn it was recalled for, so that the start of
the request stays the same and a provider's prompt cache can serve it."""

About = bool | Sequence[str | ProfileLine]
"""What a context says about its user: True for the profile block, False for nothing, or lines to add to the block."""

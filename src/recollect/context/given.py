"""What users give to a context, by type: a budget, a prompt, tools, what is remembered, a layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..messages import Given, Message
from ..recall.hit import Hit
from ..records import Fact, Learning
from .budget import TokenBudget
from .items import MemoryItem
from .profile import ProfileLine

BudgetSpec = TokenBudget | int | str
"""A number of tokens, a model's name (its published window), or a `TokenBudget`."""

Prompt = Given | Sequence[Given]
"""One message or several: an input, or a system prompt."""

Tool = Mapping[str, Any]
"""A tool's definition, in the OpenAI or the Anthropic shape."""

Item = str | Mapping[str, Any] | MemoryItem | Hit | Fact | Learning | Message
"""Something remembered that goes into a context: text, a hit, a fact, a message, or a dict with `text`."""

Layout = Literal["standard", "cached"]
"""Where recalled memory stands: in the standard order, or with the turn that asked for it (kind to prompt caches)."""

About = bool | Sequence[str | ProfileLine]
"""What a context says of its user: true (the profile block), false, or lines of your own behind it."""

"""Implements `PromptBuilder`, which assembles a request section by section without a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ..messages.message import Message, as_message
from ..values import JsonObject, as_list
from .budget import TokenBudget, as_budget
from .context import Context
from .items import MemoryItem, as_items
from .plan import Policy, Searcher, Summarizer
from .policies import check_count
from .profile import ProfileLine
from .reading import Reading, as_tools, instruction_messages

_UNLIMITED = 1 << 40


class PromptBuilder:
    """Collects sections in any order. `build` arranges them in the standard order, within the budget."""

    def __init__(
        self,
        budget: TokenBudget | int | str | None = None,
        *,
        policy: Policy | None = None,
        counter: object = None,
        layout: str = "standard",
        summarize: Summarizer | None = None,
        search: Searcher | None = None,
    ) -> None:
        self._budget = as_budget(_UNLIMITED if budget is None else budget)
        self._options: JsonObject = {"policy": policy, "counter": counter, "layout": layout}
        self._options |= {"summarizer": summarize, "search": search}
        self._system: list[object] = []
        self._items: list[MemoryItem] = []
        self._profile: list[ProfileLine] = []
        self._tools: list[object] = []
        self._history: list[Message] = []
        self._history_tokens: int | None = None
        self._summary: str | None = None
        self._input: list[Message] = []
        self._notes: list[object] = []

    def add_system(self, prompt: object) -> PromptBuilder:
        """Add the system prompt: text, a system message, or a list of them."""
        self._system.extend(instruction_messages(prompt))
        return self

    def add_context(self, items: object, *, source: str | None = None, trust: str | None = None) -> PromptBuilder:
        """Add retrieved context and memory, best first: text, hits, facts or dicts with `text`."""
        for item in as_items(items):
            self._items.append(msgspec.structs.replace(item, source=source or item.source, trust=trust or item.trust))
        return self

    def add_profile(self, lines: Iterable[ProfileLine]) -> PromptBuilder:
        """Add lines about the user, such as those from `memory.profile.block()`."""
        self._profile.extend(lines)
        return self

    def add_tools(self, tools: Iterable[object]) -> PromptBuilder:
        """Add tool definitions, in OpenAI's or Anthropic's format."""
        self._tools.extend(as_tools(tools))
        return self

    def add_history(
        self,
        messages: Iterable[object],
        max_tokens: int | None = None,
        *,
        policy: Policy | None = None,
        summary: str | None = None,
    ) -> PromptBuilder:
        """Add earlier messages, oldest first, and a summary of the messages before them."""
        check_count("max_tokens", max_tokens)
        self._history.extend(as_message(message) for message in as_list(messages, "messages"))
        if max_tokens is not None:
            self._history_tokens = max_tokens
        if policy is not None:
            self._options["policy"] = policy
        self._summary = summary or self._summary
        return self

    def add_user(self, message: object) -> PromptBuilder:
        """Add the current input: text, a message, or a list of messages such as the results of tool calls."""
        listed = [message] if isinstance(message, str | Mapping | Message) else as_list(message, "the input")
        self._input.extend(as_message(item) for item in listed)
        return self

    def add_scratchpad(self, notes: object) -> PromptBuilder:
        """Add working notes, which come last in the request."""
        if notes:
            self._notes.append(notes)
        return self

    def build(self) -> Context:
        """Return a valid request that fits its budget.

        Raises:
            BudgetError: The content that must be sent does not fit.
        """
        reading = Reading(
            budget=self._ceilings(),
            system=self._system,
            memory=self._items,
            profile=self._profile,
            tools=self._tools,
            input=self._input or None,
            scratchpad=self._notes[0] if len(self._notes) == 1 else "\n\n".join(map(str, self._notes)),
            summary=self._summary,
            **self._options,
        )
        newest_first = self._history[::-1]
        reading.read_all(newest_first, position=len(newest_first) - 1)
        return reading.finish()

    def _ceilings(self) -> TokenBudget:
        budget, most = self._budget, self._history_tokens
        if most is None:
            return budget
        ceiling = most if budget.history is None else min(most, budget.history)
        return msgspec.structs.replace(budget, history=ceiling)

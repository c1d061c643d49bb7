"""Implements `compress`, which fits any list of messages into a token budget without a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, cast

from ..messages.message import INSTRUCTIONS, Given, Message, as_message
from ..messages.responses import PLACES
from ..values import as_list
from .budget import TokenBudget, as_budget
from .context import Context
from .fates import placed, with_fates
from .plan import Policy, Searcher, Summarizer
from .reading import Reading, as_tools, instruction_messages
from .tokens import Counter, open_counter
from .tool_choice import Tool, ToolChoice, choose_tools, rank_by_words, tool_text, used_tools

_PINNED = attrgetter("pinned")
TOOL_MESSAGES = 64
"""How many of the newest messages to search for tools in use."""


def compress(
    messages: Iterable[object],
    *,
    budget: TokenBudget | int | str,
    policy: Policy | None = None,
    counter: object = None,
    system: object = None,
    memory: object = None,
    tools: Iterable[object] | None = None,
    pinned_tools: Sequence[str] = (),
    scratchpad: object = None,
    layout: str = "standard",
    summarize: Summarizer | None = None,
    search: Searcher | None = None,
) -> Context:
    """Fit a list of messages into a budget. The newest message or tool exchange is the current input and is kept.

    `context.inputs` records whether each message was kept, shortened, summarised or dropped, and `context.kept` lists
    the positions of those that were kept. If the tools exceed the budget's `tools`, the request contains `find_tool`,
    the tools in `pinned_tools`, the tools that the messages use, and the tools that share words with the input.
    Messages are read backwards from the newest, and only as far as the policy needs.
    """
    listed = cast("Sequence[Given]", messages if isinstance(messages, list | tuple) else as_list(messages, "messages"))
    start = _instructions(listed)
    leading = [as_message(item) for item in listed[:start]]
    budget = as_budget(budget)
    choice = _chosen_tools(as_tools(tools), budget.tools, open_counter(counter), listed[start:], pinned_tools)
    reading = Reading(
        budget=budget,
        policy=policy,
        counter=counter,
        system=[*instruction_messages(system), *leading],
        memory=memory,
        tools=choice.sent,
        tools_left=choice.left,
        scratchpad=scratchpad,
        layout=layout,
        summarizer=summarize,
        search=search,
        first=start,
    )
    if _any_pinned(listed):
        # A pinned message may be anywhere, so everything is read.
        reading.read_all(_newest_first(listed, start), position=len(listed) - 1)
    else:
        reading.feed(_newest_first(listed, start), more=False, position=len(listed) - 1)
    return with_fates(reading.finish(), _Read(listed), start)


def _chosen_tools(
    tools: Sequence[Tool], ceiling: int | None, counter: Counter, listed: Sequence[Given], pinned: Sequence[str]
) -> ToolChoice:
    """Return the tools that fit under their ceiling, starting with those that share the most words with the user's
    newest message."""
    if ceiling is None or not tools:
        return choose_tools(tools, None, counter, ranked=(), pinned=pinned)
    newest = [as_message(item) for item in listed[-TOOL_MESSAGES:]]
    query = next((message.text for message in reversed(newest) if message.role == "user"), "")
    ranked = [index for index, _ in rank_by_words(query, [tool_text(tool) for tool in tools])]
    return choose_tools(tools, ceiling, counter, ranked=ranked, pinned=pinned, used=used_tools(newest))


class _Read(Sequence[Message]):
    """Holds the input list as messages, each of which is converted when it is first accessed."""

    def __init__(self, listed: Sequence[Given]) -> None:
        self._listed = listed

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, index: Any) -> Any:
        return as_message(self._listed[index])


def _instructions(listed: Sequence[object]) -> int:
    """Return how many leading messages belong to the system prompt."""
    for index, item in enumerate(listed):
        role = item.role if isinstance(item, Message) else item.get("role") if isinstance(item, dict) else "user"
        if role not in INSTRUCTIONS:
            return index
    return len(listed)


def _newest_first(listed: Sequence[Any], start: int) -> Iterator[Message]:
    for index in range(len(listed) - 1, start - 1, -1):
        item = listed[index]
        if type(item) is dict and len(item) == 2:
            # Fast path for the common case of a dict with role and text only.
            role, content = item.get("role"), item.get("content")
            if type(content) is str and (role == "user" or role == "assistant"):
                yield Message(role=role, content=content, metadata={PLACES: [index]})
                continue
        yield placed(as_message(item), index)


def _any_pinned(listed: Sequence[Any]) -> bool:
    """Return whether any message may be pinned. This is the only pass over the whole list, so it uses C-level loops."""
    try:
        if isinstance(listed[0] if listed else None, Message):
            return any(map(_PINNED, listed))
        # A dict of two keys (role, content) is not pinned; reading lengths touches a third of the memory of lookups.
        return max(map(len, listed), default=0) > 2 and any(map(dict.__contains__, listed, repeat("pinned")))
    except (TypeError, AttributeError):
        return any(
            item.pinned if isinstance(item, Message) else isinstance(item, Mapping) and "pinned" in item
            for item in listed
        )

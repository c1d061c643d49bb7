"""`compress`: any list of messages into a request that fits, with no store at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from ..messages import Message, as_message
from .assemble import Assembly
from .budget import TokenBudget
from .context import Context
from .plan import Policy, Searcher, Summarizer
from .units import INSTRUCTIONS


def compress(
    messages: Iterable[Any],
    *,
    budget: TokenBudget | int | str,
    policy: Policy | None = None,
    counter: Any = None,
    system: Any = None,
    memory: Any = None,
    tools: Iterable[Any] | None = None,
    scratchpad: Any = None,
    layout: str = "standard",
    summarize: Summarizer | None = None,
    search: Searcher | None = None,
) -> Context:
    """A context of at most the budget out of a list of messages; the newest unit is the current input and is kept.

    Messages are looked at from the newest backwards, and no further than the policy needs.
    """
    listed: Sequence[Any] = messages if isinstance(messages, list | tuple) else list(messages)
    start = _instructions(listed)
    leading = [as_message(item) for item in listed[:start]]
    given = [] if system is None else ([system] if isinstance(system, str | dict | Message) else list(system))
    assembly = Assembly(
        budget=budget,
        policy=policy,
        counter=counter,
        system=[*given, *leading],
        memory=memory,
        tools=tools,
        scratchpad=scratchpad,
        layout=layout,
        summarize=summarize,
        search=search,
    )
    if _any_pinned(listed):
        # What is pinned far back must be found, with the exchange it belongs to.
        assembly.read_all(_newest_first(listed, start), position=len(listed) - 1)
    else:
        assembly.feed(_newest_first(listed, start), more=False, position=len(listed) - 1)
    return assembly.finish()


def _instructions(listed: Sequence[Any]) -> int:
    """How many messages at the start are the system prompt."""
    for place, item in enumerate(listed):
        role = item.role if isinstance(item, Message) else item.get("role") if isinstance(item, dict) else "user"
        if role not in INSTRUCTIONS:
            return place
    return len(listed)


def _newest_first(listed: Sequence[Any], start: int) -> Iterator[Message]:
    for place in range(len(listed) - 1, start - 1, -1):
        item = listed[place]
        if type(item) is dict and len(item) == 2:
            # Role and text alone: nothing to check but the two.
            role, content = item.get("role"), item.get("content")
            if type(content) is str and (role == "user" or role == "assistant"):
                yield Message(role=role, content=content)
                continue
        yield as_message(item)


def _any_pinned(listed: Sequence[Any]) -> bool:
    """Whether a message anywhere may be pinned; one pass in C, since this is all that is asked of the whole list."""
    try:
        return any(map(dict.__contains__, listed, repeat("pinned")))
    except TypeError:
        return any(item.pinned if isinstance(item, Message) else "pinned" in item for item in listed)

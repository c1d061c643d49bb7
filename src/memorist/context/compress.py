"""`compress` and `maybe_compress`: fit any list of messages into a token budget, without a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any

from ..errors import BudgetError
from ..messages.message import INSTRUCTIONS, Message, as_message
from ..messages.responses import PLACES
from ..values import as_list
from .assemble import Assembly
from .budget import TokenBudget, as_budget
from .context import Context
from .fates import placed, with_fates
from .fence import SUMMARY_NOTE, render_summary, unfence
from .measure import REQUEST_TOKENS, count_message
from .plan import Aid, Policy, Searcher, Summarizer, fit
from .policies import Summarize
from .reading import instruction_messages
from .summaries import summary_tokens
from .tokens import open_counter
from .units import Unit, group

_PINNED = attrgetter("pinned")
_ACKNOWLEDGED = "Understood. I will go on from there."


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
    """Fit a list of messages into a budget; the newest message (or tool exchange) is the current input and is kept.

    `context.inputs` says for each message whether it was kept, shortened, summarised or dropped; `context.kept` lists
    the positions of those kept. Messages are read from the newest backwards, and no further than the policy needs.
    """
    listed: Sequence[Any] = messages if isinstance(messages, list | tuple) else as_list(messages, "messages")
    start = _instructions(listed)
    leading = [as_message(item) for item in listed[:start]]
    assembly = Assembly(
        budget=budget,
        policy=policy,
        counter=counter,
        system=[*instruction_messages(system), *leading],
        memory=memory,
        tools=tools,
        scratchpad=scratchpad,
        layout=layout,
        summarizer=summarize,
        search=search,
        first=start,
    )
    if _any_pinned(listed):
        # A pinned message may be anywhere, so everything is read.
        assembly.read_all(_newest_first(listed, start), position=len(listed) - 1)
    else:
        assembly.feed(_newest_first(listed, start), more=False, position=len(listed) - 1)
    return with_fates(assembly.finish(), _Read(listed), start)


class _Read(Sequence[Message]):
    """The given list as messages, each converted only when it is accessed."""

    def __init__(self, listed: Sequence[Any]) -> None:
        self._listed = listed

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, place: Any) -> Any:
        return as_message(self._listed[place])


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
            # Fast path for the common case of a dict with role and text only.
            role, content = item.get("role"), item.get("content")
            if type(content) is str and (role == "user" or role == "assistant"):
                yield Message(role=role, content=content, metadata={PLACES: [place]})
                continue
        yield placed(as_message(item), place)


def _any_pinned(listed: Sequence[Any]) -> bool:
    """Whether any message may be pinned; C-level loops, since this is the only pass over the whole list."""
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


def maybe_compress(
    messages: Iterable[Any],
    *,
    budget: TokenBudget | int | str = 150_000,
    threshold: float = 0.8,
    keep: int = 4,
    summarize: Any = None,
    counter: Any = None,
) -> list[Any]:
    """The same list while it takes less than `threshold` of the budget; else a summary and the last `keep` units.

    `summarize` is a function (messages, previous, max_tokens) → text, or a model with `complete`. The summary comes
    after the system messages, as a user's message and an assistant's answer; pinned messages are kept.
    """
    most, measure = as_budget(budget), open_counter(counter)
    given = list(messages)
    read = [as_message(item) for item in given]
    start = _instructions(read)
    found, _ = group(read[start:], measure)
    system = sum(count_message(message, measure) for message in read[:start])
    total = system + REQUEST_TOKENS + sum(unit.tokens for unit in found)
    if total <= threshold * most.request_tokens or len(found) < 2:
        return given
    previous = _earlier_summary(found)
    newest = found[-1]
    room = most.request_tokens - system - REQUEST_TOKENS - newest.tokens - summary_tokens(_ACKNOWLEDGED, measure)
    older = found[2:-1] if previous else found[:-1]
    aid = Aid(measure, previous=previous, taken=1, taken_tokens=newest.tokens)
    plan = fit(Summarize(threshold=threshold, keep=keep, model=summarize).plan(older, room, aid), room, "did not fit")
    if plan.tokens > room or room < 0:
        sections = {"system": system, "input": newest.tokens, "pinned": plan.tokens}
        listed = ", ".join(f"{name} {tokens}" for name, tokens in sections.items() if tokens)
        message = f"what must be kept does not fit {most.request_tokens} tokens: {listed}; raise the budget"
        raise BudgetError(message, sections=sections, budget_tokens=most.request_tokens)
    origin = {id(message): item for message, item in zip(read, given, strict=True)}
    kept = [
        item
        for unit in (*plan.keep, newest)
        for message in unit.messages
        for item in ([origin[id(message)]] if id(message) in origin else _written(message))
    ]
    pair = _pair(plan.digest.text if plan.digest else previous)
    return [*given[:start], *pair, *kept]


def _written(message: Message) -> list[dict[str, Any]]:
    if message.shape == "responses":
        return message.responses()
    return [message.anthropic()] if message.shape == "anthropic" else message.openai()


def _pair(summary: str | None) -> list[dict[str, Any]]:
    if not summary:
        return []
    answer = {"role": "assistant", "content": _ACKNOWLEDGED}
    return [{"role": "user", "content": render_summary(summary)}, answer]


def _earlier_summary(found: Sequence[Unit]) -> str | None:
    """The text of the summary pair that an earlier call put first."""
    if len(found) < 3 or found[1].text != _ACKNOWLEDGED:
        return None
    return unfence("conversation_summary", SUMMARY_NOTE, found[0].text)

"""The context viewer: assembles a context as it would be sent, and shows for every item whether it is in and why."""

from __future__ import annotations

from datetime import datetime, timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ...context.budget import TokenBudget, model_window
from ...context.policies import read_policy
from ...context.prefix import Prefix, shared_prefix
from ...engine.core import Core
from ...engine.sessions.assembling import Recall
from ...engine.sessions.rehearsing import Rehearsal, Supposed, facts_at, supposing, turns_of
from ...errors import BudgetError, NotFound
from ...messages.message import ATTACHED, Message
from ...ports import as_datetime
from ...records import Thread
from .context_rows import changes, drawn

if TYPE_CHECKING:
    from ...context.context import Context
    from ...memory import AsyncMemory


class Supposition(msgspec.Struct, forbid_unknown_fields=True):
    """A correction to try without saving it."""

    ns: str
    key: str
    value: Any = None


class ContextAsked(msgspec.Struct, forbid_unknown_fields=True):
    """The context to show: for a thread or a user, an input, and the options of the assembly."""

    input: str = ""
    thread: str | None = None
    user: str | None = None
    budget: int | str = 8000
    reserve: int = 0
    memory: int | None = None
    history: int | None = None
    profile: int | None = None
    policy: str = "window"
    """A name in `POLICIES`, with an optional number after a colon; several joined by `+`: `elide:500+summarize`."""
    layout: Literal["standard", "cached"] = "cached"
    recall: bool = True
    top_k: int | None = None
    system: str | None = None
    tools: list[dict[str, Any]] | None = None
    until: int | None = None
    """Replay the stored thread up to this message, which is the input."""
    at: str | None = None
    """Use facts as they were at this time."""
    suppose: Supposition | None = None


class Compare(msgspec.Struct, forbid_unknown_fields=True):
    """Two contexts to compare."""

    a: ContextAsked
    b: ContextAsked


class Turns(msgspec.Struct, forbid_unknown_fields=True):
    """A page of the turns of a thread, before a sequence number."""

    thread: str
    before: int | None = None
    limit: int = 50


def read_budget(asked: ContextAsked) -> TokenBudget:
    """The budget with its ceilings; a model's name stands for its window."""
    given = asked.budget
    if isinstance(given, str) and given.strip().isdecimal():
        given = int(given)
    total = model_window(given) if isinstance(given, str) else given
    return TokenBudget(
        total, memory=asked.memory, history=asked.history, profile=asked.profile, output_reserve=asked.reserve
    )


class Built(msgspec.Struct, frozen=True):
    """An assembled context (or the error), with what else the page shows of it."""

    context: Context | None
    hits: list[Any]
    asked: ContextAsked
    thread: Thread | None
    prefix: Prefix | None
    milliseconds: float
    error: dict[str, Any] | None = None


async def context(handle: AsyncMemory, asked: ContextAsked) -> Any:
    """A context with the outcome of every item, the hits of recall, and how much of it a prompt cache would serve."""
    return await drawn(handle, await _built(handle, asked))


async def compare(handle: AsyncMemory, asked: Compare) -> Any:
    """Two contexts and their items in pairs."""
    a = await drawn(handle, await _built(handle, asked.a))
    b = await drawn(handle, await _built(handle, asked.b))
    return {"a": a, "b": b, **changes(a, b)}


async def turns(handle: AsyncMemory, asked: Turns) -> Any:
    """The user's messages of a thread, newest first, to which a replay can go back."""
    if await handle.threads.get(asked.thread) is None:
        raise NotFound("there is no such thread", thread=asked.thread)
    found = await turns_of(handle._core, asked.thread, asked.before, max(1, min(asked.limit, 100)))
    return {"items": [{"seq": one.seq, "text": one.text[:160], "at": one.created_at} for one in found]}


async def _built(handle: AsyncMemory, asked: ContextAsked) -> Built:
    thread = await handle.threads.get(asked.thread) if asked.thread else None
    if asked.thread and thread is None:
        raise NotFound("there is no such thread", thread=asked.thread)
    core = _own(handle, asked, thread)
    start = perf_counter()
    input, supposed = await _turn(core, asked)
    rehearsal = Rehearsal(core, supposed)
    try:
        made = await rehearsal.context(input, **_options(asked, thread, recall=asked.recall))
    except BudgetError as over:
        return Built(None, [], asked, thread, None, _since(start), _over(over))
    took = _since(start)
    prefix = await _prefix(core, asked, thread, made, supposed)
    return Built(made, rehearsal.hits, asked, thread, prefix, took)


def _own(handle: AsyncMemory, asked: ContextAsked, thread: Thread | None) -> Core:
    """The engine narrowed to the user the context is for: the one asked for, or the owner of the thread."""
    user = asked.user
    if user is None and thread is not None:
        meant = thread.metadata.get("user")
        user = thread.ns.removeprefix("user:") if thread.ns.startswith("user:") else meant
    return handle._core if user is None else handle.scope(user=user)._core


async def _turn(core: Core, asked: ContextAsked) -> tuple[Any, Supposed]:
    """The input, and the overlay to read through: an earlier turn, an earlier time, an unsaved correction."""
    facts: dict[Any, Any] = {}
    input: Any = asked.input
    moment = as_datetime(asked.at, "at") if asked.at else None
    if asked.until is not None and asked.thread is not None:
        said = await core.get(Message, asked.thread, asked.until)
        if said is None:
            raise NotFound("there is no such turn", thread=asked.thread)
        input, moment = said.text, _just_before(said)
    if moment is not None and core.scope.user is not None:
        facts |= await facts_at(core, [f"user:{core.scope.user}"], moment)
    if asked.suppose is not None:
        facts |= await supposing(core, asked.suppose.ns, asked.suppose.key, asked.suppose.value)
    at = moment if asked.until is not None else None
    return input or None, Supposed(facts=facts, thread=asked.thread or "", until=asked.until, at=at)


def _options(asked: ContextAsked, thread: Thread | None, *, recall: Any) -> dict[str, Any]:
    kept = thread.metadata if thread is not None else {}
    system = asked.system if asked.system is not None else kept.get("system")
    tools = asked.tools if asked.tools is not None else kept.get("tools")
    if recall and asked.top_k is not None:
        recall = Recall(top_k=asked.top_k)
    return {
        "thread": asked.thread, "system": system if isinstance(system, str) and system.strip() else None,
        "tools": tools if isinstance(tools, list) else None, "budget": read_budget(asked),
        "policy": read_policy(asked.policy), "layout": asked.layout, "recall": recall,
    }  # fmt: skip


async def _prefix(
    core: Core, asked: ContextAsked, thread: Thread | None, made: Context, now: Supposed
) -> Prefix | None:
    """The common prefix with the context of the turn before, which is assembled again for the comparison."""
    if thread is None:
        return None
    before = asked.until if asked.until is not None else thread.length + 1
    last = await turns_of(core, thread.id, before, 1)
    if not last:
        return None
    said = last[0]
    facts: dict[Any, Any] = {}
    moment = _just_before(said)
    if core.scope.user is not None and moment is not None:
        facts = await facts_at(core, [f"user:{core.scope.user}"], moment)
    # In the cached layout the memory recalled for that turn is stored with its message: read the message as history.
    kept = ATTACHED in said.metadata and asked.layout == "cached"
    until = said.seq + 1 if kept else said.seq
    supposed = Supposed(facts=facts, thread=thread.id, until=until, at=moment)
    try:
        earlier = await Rehearsal(core, supposed).context(
            None if kept else said.text, **_options(asked, thread, recall=False if kept else asked.recall)
        )
    except BudgetError:
        return None
    return shared_prefix(earlier, made, core.shared.counter)


def _just_before(said: Message) -> datetime | None:
    """The time just before a turn: facts derived from its message have the message's own time."""
    return None if said.created_at is None else said.created_at - timedelta(microseconds=1)


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000


def _over(over: BudgetError) -> dict[str, Any]:
    sections = dict(getattr(over, "sections", None) or {})
    return {
        "message": str(over), "sections": sections, "budget": getattr(over, "budget_tokens", None),
        "needed": sum(sections.values()),
    }  # fmt: skip

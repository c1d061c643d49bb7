"""Implements the context viewer, which assembles a context as it would be sent and shows whether each item is included
and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Literal, cast

import msgspec

from ...context.budget import TokenBudget, model_window
from ...context.policy_names import policy_in, read_policy
from ...context.prefix import Prefix, shared_prefix
from ...engine.core import Core
from ...engine.noun import core_of
from ...engine.sessions.assembling import DEFAULT_BUDGET, Recall, Request
from ...engine.sessions.rehearsing import Rehearsal, Supposed, facts_at, supposing, turns_of
from ...engine.sessions.settings import RequestSettings, stored_settings
from ...errors import BudgetError, NotFound
from ...messages.message import ATTACHED, Message
from ...ports import as_datetime
from ...records import Fact, Key, Thread
from ...values import Json, JsonMapping, JsonObject
from .context_rows import changes, drawn
from .shared import Row

if TYPE_CHECKING:
    from ...context.context import Context
    from ...context.plan import Policy
    from ...memory import AsyncMemory
    from ...recall.hit import Hit


OPTIONS = "budget reserve memory history profile policy layout recall top_k system tools".split()
"""The options that a page may override."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Supposition(msgspec.Struct, forbid_unknown_fields=True):
    """Represents a correction to try without saving it."""

    ns: str
    key: str
    value: Json = None


class ContextAsked(msgspec.Struct, forbid_unknown_fields=True):
    """Describes the context to show: the thread or user, the input, and the options of the assembly.

    If an option is not set, the value from the program's last request for the thread is used or, if there was none, the
    default of `memory.context`.
    """

    input: str = ""
    thread: str | None = None
    user: str | None = None
    budget: int | str | None = None
    reserve: int | None = None
    memory: int | None = None
    history: int | None = None
    profile: int | None = None
    policy: str | None = None
    """This is a name in `POLICIES`, with an optional number after a colon. Several are joined by `+`, as in
    `elide:500+summarize`."""
    layout: Literal["standard", "cached"] | None = None
    recall: bool | None = None
    top_k: int | None = None
    system: str | None = None
    tools: list[JsonObject] | None = None
    until: int | None = None
    """Replay the stored thread up to this message, which is the input."""
    at: str | None = None
    """Use facts as they were at this time."""
    suppose: Supposition | None = None


class Chosen(msgspec.Struct, frozen=True):
    """Holds the options of an assembly and their origin."""

    budget: TokenBudget
    policy: Policy | None
    layout: Literal["standard", "cached"]
    recall: Recall | Literal[False]
    profile: bool
    stash: int | None
    stored: RequestSettings | None
    """These are the settings of the program's last request for the thread, or None if there was no request."""
    changed: list[str]
    """These are the options that the page overrides."""
    fold_tokens: int | None = None
    """This is the history size, in tokens, at which the program's session folds the thread."""
    absent: dict[str, int] = {}
    """These are the tokens of the program's `system` prompt and `tools` whose text is not stored. This much room stays
    free."""

    @property
    def absent_tokens(self) -> int:
        """This is the number of tokens that the request leaves free for parts whose text is not stored."""
        return sum(self.absent.values())


def choose(request: ContextAsked, stored: RequestSettings | None, thread: Thread | None) -> Chosen:
    """Return the requested options, the program's options or the defaults, in this order of preference."""
    used = stored or RequestSettings(budget={"total": DEFAULT_BUDGET}, at=EPOCH)
    policy = policy_in(used.policy) if used.policy is not None else None
    recall: Recall | Literal[False] = False
    if used.recall if request.recall is None else request.recall:
        kinds = None if used.kinds is None else tuple(used.kinds)
        top_k = used.top_k if request.top_k is None else request.top_k
        recall = Recall(namespaces=used.namespaces, top_k=top_k, kinds=kinds, min_score=used.min_score)
    absent = _absent(request, stored, thread)
    return Chosen(
        budget=_budget(request, used, sum(absent.values())),
        policy=policy if request.policy is None else read_policy(request.policy),
        layout=request.layout or ("standard" if used.layout == "standard" else "cached"), recall=recall,
        profile=used.profile, stash=used.stash, stored=stored,
        fold_tokens=used.fold_tokens, absent=absent,
        changed=[name for name in OPTIONS if getattr(request, name) is not None],
    )  # fmt: skip


def _budget(request: ContextAsked, used: RequestSettings, absent: int) -> TokenBudget:
    """Return the budget with its ceilings. A model's name represents its context window."""
    total: int | str | None = used.budget["total"] if request.budget is None else request.budget
    if isinstance(total, str) and total.strip().isdecimal():
        total = int(total)
    tokens = model_window(total) if isinstance(total, str) else total or DEFAULT_BUDGET
    reserve = (used.budget.get("output_reserve") or 0) if request.reserve is None else request.reserve
    ceilings = {name: used.budget.get(name) for name in ("system", "tools", "input", "memory", "history", "profile")}
    own = {
        name: getattr(request, name) for name in ("memory", "history", "profile") if getattr(request, name) is not None
    }
    if request.budget is not None and reserve >= tokens:
        reserve = 0
    return TokenBudget(tokens, output_reserve=min(reserve + absent, tokens - 1), **{**ceilings, **own})


def _absent(request: ContextAsked, stored: RequestSettings | None, thread: Thread | None) -> dict[str, int]:
    """Return the tokens of those of the program's system prompt and tools that are not available here."""
    if stored is None:
        return {}
    parts = _stored_parts(stored, thread)
    sizes = {"system": stored.system_tokens, "tools": stored.tools_tokens}
    return {
        name: size for name, size in sizes.items() if size and getattr(request, name) is None and not parts.get(name)
    }


def _stored_parts(stored: RequestSettings | None, thread: Thread | None) -> Row:
    """Return the system prompt and the tools in the thread's metadata, unless the program's last request had none."""
    is_stored = {"system": stored is None or stored.system_tokens > 0, "tools": stored is None or bool(stored.tools)}
    metadata = thread.metadata if thread is not None else {}
    return {name: metadata.get(name) for name, was_sent in is_stored.items() if was_sent}


class Built(msgspec.Struct, frozen=True):
    """Holds an assembled context (or the error) and everything else that the page shows."""

    context: Context | None
    hits: list[Hit]
    asked: ContextAsked
    chosen: Chosen
    thread: Thread | None
    prefix: Prefix | None
    milliseconds: float
    error: Row | None = None


async def context(handle: AsyncMemory, request: ContextAsked) -> Row:
    """Return a context with the outcome of every item, the hits of recall, and the share of it that a prompt cache
    would serve.
    """
    return await drawn(handle, await _built(handle, request))


async def compare(handle: AsyncMemory, *, a: ContextAsked, b: ContextAsked) -> Row:
    """Return two contexts and their items in pairs."""
    left = await drawn(handle, await _built(handle, a))
    right = await drawn(handle, await _built(handle, b))
    return {"a": left, "b": right, **changes(left, right)}


async def turns(handle: AsyncMemory, *, thread: str, before: int | None = None, limit: int = 50) -> Row:
    """Return the user's messages in a thread, newest first. A replay can go back to any of them."""
    if await handle.threads.get(thread) is None:
        raise NotFound("there is no such thread", thread=thread)
    messages = await turns_of(core_of(handle), thread, before, max(1, min(limit, 100)))
    return {"items": [{"seq": row.seq, "text": row.text[:160], "at": row.created_at} for row in messages]}


async def _built(handle: AsyncMemory, request: ContextAsked) -> Built:
    thread = await handle.threads.get(request.thread) if request.thread else None
    if request.thread and thread is None:
        raise NotFound("there is no such thread", thread=request.thread)
    core = _own(handle, request, thread)
    chosen = choose(request, await stored_settings(core, thread.id) if thread is not None else None, thread)
    start = perf_counter()
    input, supposed = await _turn(core, request)
    rehearsal = Rehearsal(core, supposed, chosen.fold_tokens)
    try:
        context = await rehearsal.assemble(_request(request, chosen, thread, input, chosen.recall))
    except BudgetError as over:
        return Built(None, [], request, chosen, thread, None, _since(start), _over(over))
    took = _since(start)
    prefix = await _prefix(core, request, chosen, thread, context)
    return Built(context, rehearsal.hits, request, chosen, thread, prefix, took)


def _own(handle: AsyncMemory, request: ContextAsked, thread: Thread | None) -> Core:
    """Return the engine narrowed to the user of the context: the requested user, or the owner of the thread."""
    user = request.user
    if user is None and thread is not None:
        meant = thread.metadata.get("user")
        user = thread.ns.removeprefix("user:") if thread.ns.startswith("user:") else meant
    return core_of(handle) if user is None else core_of(handle.scope(user=user))


async def _turn(core: Core, request: ContextAsked) -> tuple[str | None, Supposed]:
    """Return the input, and the overlay that shows an earlier turn, an earlier time, or an unsaved correction."""
    facts: dict[Key, Fact | None] = {}
    input = request.input
    moment = as_datetime(request.at, "at") if request.at else None
    if request.until is not None and request.thread is not None:
        message = await core.get(Message, request.thread, request.until)
        if message is None:
            raise NotFound("there is no such turn", thread=request.thread)
        input, moment = message.text, _just_before(message)
    if moment is not None and core.scope.user is not None:
        facts |= await facts_at(core, [f"user:{core.scope.user}"], moment)
    if request.suppose is not None:
        facts |= await supposing(core, request.suppose.ns, request.suppose.key, request.suppose.value)
    at = moment if request.until is not None else None
    return input or None, Supposed(facts=facts, thread=request.thread or "", until=request.until, at=at)


def _request(
    request: ContextAsked, chosen: Chosen, thread: Thread | None, input: str | None, recall: Recall | Literal[False]
) -> Request:
    parts = _stored_parts(chosen.stored, thread)
    system = request.system if request.system is not None else parts.get("system")
    tools = request.tools if request.tools is not None else parts.get("tools")
    return Request(
        input=input, thread=request.thread, system=system if isinstance(system, str) and system.strip() else None,
        tools=cast("list[JsonMapping]", tools) if isinstance(tools, list) else None,
        budget=chosen.budget, policy=chosen.policy,
        layout=chosen.layout, recall=recall, profile=chosen.profile, stash=chosen.stash,
    )  # fmt: skip


async def _prefix(
    core: Core, asked: ContextAsked, chosen: Chosen, thread: Thread | None, context: Context
) -> Prefix | None:
    """Return the common prefix with the context of the previous turn, which is assembled again for the comparison."""
    if thread is None:
        return None
    before = asked.until if asked.until is not None else thread.length + 1
    last = await turns_of(core, thread.id, before, 1)
    if not last:
        return None
    message = last[0]
    facts: dict[Key, Fact | None] = {}
    moment = _just_before(message)
    if core.scope.user is not None and moment is not None:
        facts = await facts_at(core, [f"user:{core.scope.user}"], moment)
    # In the cached layout, the memory recalled for that turn is stored with its message, so the message is read as
    # history.
    is_stored = ATTACHED in message.metadata and chosen.layout == "cached"
    until = message.seq + 1 if is_stored else message.seq
    supposed = Supposed(facts=facts, thread=thread.id, until=until, at=moment)
    try:
        input = None if is_stored else message.text
        request = _request(asked, chosen, thread, input, False if is_stored else chosen.recall)
        earlier = await Rehearsal(core, supposed, chosen.fold_tokens).assemble(request)
    except BudgetError:
        return None
    return shared_prefix(earlier, context, core.shared.counter)


def _just_before(message: Message) -> datetime | None:
    """Return the time just before a turn, because facts derived from its message have the message's own time."""
    return None if message.created_at is None else message.created_at - timedelta(microseconds=1)


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000


def _over(over: BudgetError) -> Row:
    sections = dict(getattr(over, "sections", None) or {})
    return {
        "message": str(over), "sections": sections, "budget": getattr(over, "budget_tokens", None),
        "needed": sum(sections.values()),
    }  # fmt: skip

"""Implements the tools: each calls one method of a noun and converts the result for an assistant."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from ..engine.forgetting.forget import Erasure
from ..errors import NotFound, UsageError
from ..records import Fact
from . import shown
from .answers import Answer
from .callers import Caller
from .shown import shown_fact, shown_hit
from .tools import MOST_LISTED, Tool, arguments_of

DEFAULT_BUDGET = 2_000
CONFIRM_SECONDS = 300
"""The length of the time window that a preview's code belongs to; codes of this window and the one before are valid."""
Given = Any
"""The arguments of a call, as the struct made by `arguments_of`."""


async def call(caller: Caller, tool: Tool, arguments: Mapping[str, Any]) -> Answer:
    """Run a tool."""
    return await _CALLS[tool.name](caller, read_arguments(tool, arguments))


def read_arguments(tool: Tool, arguments: Mapping[str, Any]) -> Given:
    """The arguments, checked against the tool's schema; the error lists what the tool takes, for a model to retry."""
    try:
        return msgspec.convert(dict(arguments), arguments_of(tool))
    except msgspec.ValidationError as wrong:
        names = ", ".join(f"{name} (needed)" if one.required else name for name, one in tool.arguments.items())
        raise UsageError(f"{wrong}. {tool.name} takes: {names}") from None


async def _remember(caller: Caller, given: Given) -> Answer:
    space = given.namespace or caller.own
    thread = given.thread or f"notes/{space}"
    message = {"role": given.role or "user", "content": given.text}
    # An existing thread has its namespace already; a new one needs one to be created in.
    exists = given.namespace is None and given.thread and await caller.memory.threads.get(thread)
    receipts = await caller.memory.threads.append(
        thread, _spoken(message), key=given.key, create=None if exists else space
    )
    receipt = receipts[0]
    kept = shown.Remembered(
        thread=thread, message=receipt.message.id, derived=receipt.derived, duplicate=receipt.replayed
    )
    return Answer(kept)


def _spoken(message: dict[str, Any]) -> dict[str, Any]:
    """The message to store: a tool's becomes a user's with the trust `tool`, since there is no call it answers."""
    if message["role"] != "tool":
        return message
    return {"role": "user", "content": message["content"], "trust": "tool"}


async def _recall(caller: Caller, given: Given) -> Answer:
    options = {name: getattr(given, name) for name in ("namespaces", "kinds", "after", "before")}
    hits = await caller.memory.recall(given.query, top_k=given.top_k or 10, **options)
    return Answer(shown.Hits(hits=[shown_hit(hit) for hit in hits]), stored=True, listed="hits")


async def _profile(caller: Caller, given: Given) -> Answer:
    return await profile_answer(caller, given.user or caller.user)


async def profile_answer(caller: Caller, user: str) -> Answer:
    """Facts, preferences and learnings of a user."""
    profile = await caller.memory.profile.get(user)
    learnings = [
        shown.ShownLearning(id=one.id, type=one.type, content=one.content, confidence=one.confidence)
        for one in profile.learnings
    ]
    told = shown.ShownProfile(
        user=profile.user,
        preferences=dict(profile.preferences),
        learnings=learnings,
        facts=[shown_fact(fact) for fact in profile.facts],
    )
    return Answer(told, stored=True, listed="facts")


async def _list_facts(caller: Caller, given: Given) -> Answer:
    return await facts_answer(caller, given.namespace or caller.own, given.prefix, given.limit, given.cursor)


async def facts_answer(
    caller: Caller, space: str, prefix: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Answer:
    """A page of facts."""
    limit = limit or MOST_LISTED
    facts = await caller.memory.facts.list(space, prefix=prefix, limit=limit, after=cursor)
    after = facts[-1].key if len(facts) == limit else None
    listed = shown.Facts(facts=[shown_fact(fact) for fact in facts], next=after)
    return Answer(listed, stored=True, listed="facts", cursor=lambda last: str(last["key"]))


async def _set_fact(caller: Caller, given: Given) -> Answer:
    fact = await caller.memory.facts.set(
        given.namespace or caller.own,
        given.key,
        given.value,
        ttl=given.ttl_seconds,
        confidence=1.0 if given.confidence is None else given.confidence,
        source=given.source,
    )
    hint = ""
    if fact.status == "rejected" or fact.value != given.value:
        hint = "this value was rejected or corrected before and was not stored; if the user insists, use correct_fact"
    return _written(fact, hint)


async def _correct_fact(caller: Caller, given: Given) -> Answer:
    space = given.namespace or caller.own
    return _written(await caller.memory.facts.correct(space, given.key, given.value, reason=given.reason))


async def _reject_fact(caller: Caller, given: Given) -> Answer:
    return _written(await caller.memory.facts.reject(given.namespace or caller.own, given.key, reason=given.reason))


def _written(fact: Fact, hint: str = "") -> Answer:
    return Answer(
        shown.Written(id=fact.id, namespace=fact.ns, key=fact.key, version=fact.version, status=fact.status, hint=hint)
    )


async def _why(caller: Caller, given: Given) -> Answer:
    why = await caller.memory.why(given.id)
    sources = [
        shown.Source(
            kind=step.kind, id=step.id, depth=step.depth, actor=step.actor, trust=step.trust,
            created_at=step.created_at, present=step.present, text="" if step.message is None else step.message.text,
        )
        for step in why.sources
    ]  # fmt: skip
    told = shown.Origins(kind=why.kind, id=why.item, actor=why.actor, created_at=why.created_at, sources=sources)
    return Answer(told, stored=True, listed="sources")


async def _build_context(caller: Caller, given: Given) -> Answer:
    context = await caller.memory.context(
        given.input,
        thread=given.thread,
        budget=given.budget_tokens or DEFAULT_BUDGET,
        profile=await _about(caller, given.thread),
    )
    sections = [
        shown.Section(
            name=one.name, tokens=one.tokens, kept=one.kept, dropped=one.dropped, folded=one.folded, elided=one.elided
        )
        for one in context.manifest.sections
        if one.tokens or one.dropped or one.folded
    ]
    made = shown.Request(messages=context.messages(), tokens=context.tokens, manifest=sections)
    return Answer(made, stored=True)


async def _about(caller: Caller, thread: str | None) -> Any:
    """Whose profile the context gets: the memory's user; for a whole org, the thread's user or the caller's."""
    memory = caller.memory
    if memory.user is not None:
        return True
    found = None if thread is None else await memory.threads.get(thread)
    kind, _, user = (found.ns if found is not None else caller.own).partition(":")
    return await memory.profile.block(user if kind == "user" else caller.user)


async def _save_checkpoint(caller: Caller, given: Given) -> Answer:
    fields = {
        "task_id": given.task_id, "state": given.state, "step": given.step, "completed_subtasks": given.completed
    }  # fmt: skip
    checkpoint = await caller.memory.tasks.save({name: value for name, value in fields.items() if value is not None})
    return Answer(_saved(given.task_id, checkpoint, whole=False))


async def _resume_task(caller: Caller, given: Given) -> Answer:
    checkpoint = await caller.memory.tasks.resume(given.task_id)
    return Answer(_saved(given.task_id, checkpoint, whole=True), stored=True, listed="completed")


def _saved(task_id: str, checkpoint: Any, *, whole: bool) -> shown.Saved:
    if checkpoint is None:
        return shown.Saved(task_id=task_id, found=False)
    stands = shown.Saved(
        task_id=task_id, found=True, step=checkpoint.step, version=checkpoint.version,
        updated_at=checkpoint.updated_at,
    )  # fmt: skip
    if not whole:
        return stands
    return msgspec.structs.replace(stands, state=checkpoint.state, completed=list(checkpoint.completed_subtasks))


async def _forget(caller: Caller, given: Given) -> Answer:
    target = {given.kind: given.id}
    before = await caller.memory.forget(**target, preview=True)
    if not before.total:
        raise NotFound(f"there is no such {given.kind} to forget")
    if given.confirm is None:
        return Answer(_forgotten(given, before, confirm=_code(caller, given, before, _window())))
    if given.confirm not in (_code(caller, given, before, _window() - age) for age in (0, 1)):
        raise UsageError(
            "`confirm` is not the code of a preview of this made in the last five minutes, or what would be erased has "
            "changed since. Call forget without `confirm` for a new preview"
        )
    return Answer(_forgotten(given, await caller.memory.forget(**target)))


def _forgotten(given: Given, done: Erasure, confirm: str | None = None) -> shown.Forgotten:
    return shown.Forgotten(
        kind=given.kind, id=given.id, erased=not done.preview, rows=done.total, counts=done.counts, confirm=confirm,
        complete=done.complete,
    )  # fmt: skip


def _window() -> int:
    return int(time.time()) // CONFIRM_SECONDS


def _code(caller: Caller, given: Given, before: Erasure, window: int) -> str:
    """The confirmation code of a preview: a hash of the caller, the target and what the preview counted.

    It makes a model preview before it erases. It need not be secret, since whoever may preview may erase; being a
    plain hash, any process can check it without shared state.
    """
    parts = [caller.id, caller.user, given.kind, given.id, sorted(before.counts.items()), window]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:8]


_CALLS: Mapping[str, Callable[[Caller, Given], Awaitable[Answer]]] = {
    "remember": _remember,
    "recall": _recall,
    "get_profile": _profile,
    "list_facts": _list_facts,
    "set_fact": _set_fact,
    "correct_fact": _correct_fact,
    "reject_fact": _reject_fact,
    "why": _why,
    "build_context": _build_context,
    "save_checkpoint": _save_checkpoint,
    "resume_task": _resume_task,
    "forget": _forget,
}

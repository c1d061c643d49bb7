"""Implements the tools. Each calls one method of a noun and converts the result for an assistant.

The parameters of each function are the arguments of its tool in `tools.py`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from ..engine.facts.facts import FORGOTTEN
from ..engine.learnings import MAX_CONTENT_CHARACTERS
from ..engine.memories import KINDS
from ..engine.remembering import THREAD
from ..errors import NotFound, UsageError
from ..kinds import fact_text
from ..languages.small_talk import is_small_talk
from ..values import Json, JsonMapping, JsonObject
from . import shown
from .answers import Answer
from .callers import Caller
from .naming import Target, resolve_memory, resolve_target, split_id
from .person import in_first_person
from .repository import (
    NOTHING,
    REJECTED,
    divide,
    is_about_project,
    refusal,
    remember_notes,
    remember_project_fact,
)
from .shown import shown_hit, shown_memory, shown_version
from .tools import Tool, arguments_of

if TYPE_CHECKING:
    from ..context.profile import ProfileLine
    from ..engine.memories import Remembered as Memory
    from ..engine.tasks.tasks import Checkpoint

DEFAULT_BUDGET = 2_000
DEFAULT_HITS = 10
MIN_ODDS_SHARE = 0.2
"""Hits whose odds of being relevant are below this share of the best hit's odds are left out."""
CONFIRM_SECONDS = 300
"""The length of the time window for confirmation codes. Codes from this window and the previous one are valid."""
_SECRET = "it contains a secret ({}); secrets are never stored"
_TOO_LONG = (
    f"no memory was read from it, and it is longer than {MAX_CONTENT_CHARACTERS:,} characters; `recall` can still find "
    "its words"
)
_GONE = "(no longer remembered)"


async def call(caller: Caller, tool: Tool, arguments: JsonMapping) -> Answer:
    """Run a tool."""
    return await _CALLS[tool.name](caller, **read_arguments(tool, arguments))


def read_arguments(tool: Tool, arguments: Mapping[str, object]) -> JsonObject:
    """Return all arguments of a tool by name, checked against its schema. Missing ones are None.

    The error lists the tool's arguments, so that a model can retry.
    """
    try:
        return msgspec.structs.asdict(msgspec.convert(dict(arguments), arguments_of(tool)))
    except msgspec.ValidationError as wrong:
        names = ", ".join(
            f"{name} (needed)" if argument.required else name for name, argument in tool.arguments.items()
        )
        raise UsageError(f"{wrong}. {tool.name} accepts: {names}") from None


async def _remember(caller: Caller, text: str | None, facts: JsonObject | None, user: str | None) -> Answer:
    if not text and not facts:
        raise UsageError("remember needs `text` or `facts`")
    user = user or caller.user
    answer = shown.Remembered(understood=[])
    for key, value in (facts or {}).items():
        answer = _joined(answer, await _remember_fact(caller, user, key, value))
    if text:
        answer = _joined(answer, await _remember_text(caller, user, text))
    return Answer(answer)


async def _remember_fact(caller: Caller, user: str, key: str, value: Json) -> shown.Remembered:
    text = f"{key}: {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
    if kinds := await _secret_kinds(caller, text):
        return shown.Remembered(understood=[], refused=[shown.Refusal(text=key, why=_SECRET.format(kinds))])
    if reason := refusal(text, caller.project):
        return shown.Remembered(understood=[], refused=[shown.Refusal(text=key, why=reason)])
    if caller.project is not None and user == caller.user and is_about_project(key):
        return await remember_project_fact(caller, caller.project, key, value)
    fact = await caller.memory.facts.set(f"user:{user}", key, value)
    if fact.status == "rejected" or fact.value != value:
        return shown.Remembered(understood=[], refused=[shown.Refusal(text=text, why=REJECTED)])
    return shown.Remembered(understood=[shown.Item(id=f"fact:{fact.key}", text=fact_text(fact))])


async def _remember_text(caller: Caller, user: str, text: str) -> shown.Remembered:
    """Store a statement and read it.

    A statement that the rules do not understand is stored word for word as a learning.
    """
    if kinds := await _secret_kinds(caller, text):
        return shown.Remembered(
            understood=[], refused=[shown.Refusal(text="the whole text", why=_SECRET.format(kinds))]
        )
    if is_small_talk(text) or text.rstrip().endswith("?"):
        return shown.Remembered(understood=[], refused=[shown.Refusal(text=text, why=NOTHING)])
    if caller.project is None or user != caller.user:
        return await _remember_words(caller, user, text)
    division = divide(text, user, caller.project)
    notes = await remember_notes(caller, caller.project, division)
    if not division.personal:
        return notes
    return _joined(notes, await _remember_words(caller, user, division.personal))


async def _remember_words(caller: Caller, user: str, text: str) -> shown.Remembered:
    words = in_first_person(text, user)
    # The words that were written stay beside those that were read, so that `why` can show both.
    message = {"role": "user", "content": words} | ({} if words == text else {"metadata": {"written": text}})
    memory = caller.memory
    understood = await memory.remember([message], user=user)
    items = [shown_memory(item, f"user:{user}") for item in understood.stored if item.status == "active"]
    waiting = [shown.Item(id=f"candidate:{row.id}", text=row.text) for row in understood.waiting]
    refused = [shown.Refusal(text=text, why=refusal.reason) for refusal in understood.refused]
    if not items and not waiting and not understood.ended and len(words) > MAX_CONTENT_CHARACTERS:
        refused.append(shown.Refusal(text="the whole text", why=_TOO_LONG))
    elif not items and not waiting and not understood.ended:
        source = understood.receipts[0].message.id if understood.receipts else None
        learning = await memory.learnings.add(words, confidence=1.0, source=source, user=user)
        items = [shown.Item(id=f"learning:{learning.id}", text=learning.content)]
    return shown.Remembered(understood=items, refused=refused, waiting=waiting, ended=list(understood.ended))


def _joined(first: shown.Remembered, second: shown.Remembered) -> shown.Remembered:
    return shown.Remembered(
        understood=[*first.understood, *second.understood], refused=[*first.refused, *second.refused],
        waiting=[*first.waiting, *second.waiting], ended=[*first.ended, *second.ended],
    )  # fmt: skip


async def _secret_kinds(caller: Caller, text: str) -> str:
    """Return the kinds of secrets in a text that the org's policy does not allow."""
    return ", ".join((await caller.memory.gate.check(text)).secrets)


async def _recall(
    caller: Caller,
    query: str,
    limit: int | None,
    after: str | None,
    before: str | None,
    as_of: str | None,
    user: str | None,
) -> Answer:
    spaces = caller.namespaces if user in (None, caller.user) else [f"user:{user}"]
    # Beside a repository's notes, only the user's own and those for everybody are searched, whatever else is readable.
    searched = [*spaces, "global"] if caller.project is not None else None if user is None else spaces
    hits = await caller.memory.recall(
        query, top_k=limit or DEFAULT_HITS, namespaces=searched, after=after, before=before, as_of=as_of
    )
    best = max((_odds(hit.score) for hit in hits), default=0.0)
    # A memory of today says nothing about what the notes of an earlier time added.
    has_notes = as_of is None and any(hit.kind == "message" for hit in hits)
    covered = await _covered_notes(caller, spaces) if has_notes else frozenset()
    items = [
        shown_hit(hit, caller.own)
        for hit in hits
        if _odds(hit.score) >= best * MIN_ODDS_SHARE and not (hit.kind == "message" and hit.id in covered)
    ]
    return Answer(shown.Recalled(items=items), stored=True, listed="items")


def _odds(score: float) -> float:
    return score / max(1.0 - score, 1e-6)


async def _covered_notes(caller: Caller, spaces: list[str]) -> frozenset[str]:
    """Return the messages whose words a memory repeats or has replaced since.

    They add nothing new to a recall that also finds that memory.
    """
    memories = [memory for space in spaces for memory in await caller.memory.memories.list(ns=space)]
    return frozenset(
        source
        for memory in memories
        if memory.kind == "learning" or memory.version > 1
        for source in memory.sources
        if source.startswith(f"{THREAD}:{memory.namespace}#")
    )


async def _profile(caller: Caller, user: str | None) -> Answer:
    return await profile_answer(caller, user or caller.user)


async def profile_answer(caller: Caller, user: str) -> Answer:
    """Return everything remembered about a user."""
    memories = await caller.memory.memories.list(ns=f"user:{user}")
    if caller.project is not None and user == caller.user:
        memories += await caller.memory.memories.list(ns=caller.project.namespace)
    # Learnings hold the user's wishes, which matter most if the answer has to be cut.
    memories.sort(key=lambda memory: (memory.kind != "learning", KINDS.index(memory.kind)))
    items = [shown_memory(memory, f"user:{user}") for memory in memories if memory.status == "active"]
    return Answer(shown.ShownProfile(user=user, items=items), stored=True, listed="items")


async def _update(caller: Caller, id: str, to: Json, reason: str | None) -> Answer:
    memory = await resolve_memory(caller, id)
    if kinds := await _secret_kinds(caller, str(to)):
        raise UsageError(_SECRET.format(kinds))
    if objection := refusal(_sentence(to), caller.project):
        raise UsageError(f"this cannot be stored: {objection}")
    change: JsonObject = {"value": to} if memory.kind == "fact" else {"text": _sentence(to)}
    if memory.kind == "fact" and memory.text == memory.value:
        change["text"] = _sentence(to)  # a note of a repository, whose value is its sentence
    changed = await caller.memory.memories.update(memory.id, **change, reason=reason, ns=memory.namespace)
    return Answer(shown.Updated(id=changed.id, before=memory.text, after=changed.text), stored=True)


def _sentence(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


async def _why(caller: Caller, id: str) -> Answer:
    target = await resolve_target(caller, id)
    why = await caller.memory.why(target.memory or target.id)
    sources = [
        shown.Source(
            kind=step.kind, id=step.id, depth=step.depth, actor=step.actor, trust=step.trust,
            created_at=step.created_at, present=step.present, text="" if step.message is None else step.message.text,
        )
        for step in why.sources
    ]  # fmt: skip
    origins = shown.Origins(
        kind=why.kind, id=target.id, text=target.text, actor=why.actor, created_at=why.created_at, sources=sources
    )
    return Answer(origins, stored=True, listed="sources")


async def _history(caller: Caller, id: str) -> Answer:
    memory = await resolve_memory(caller, id, past=True)
    versions = await caller.memory.memories.history(memory.id, ns=memory.namespace)
    shown_versions = [shown_version(version) for version in versions]
    return Answer(shown.History(id=memory.id, versions=shown_versions), stored=True, listed="versions")


async def _undo(caller: Caller, id: str) -> Answer:
    namespaces, key = split_id(caller, id.strip())
    if key.startswith(FORGOTTEN):
        facts = await caller.memory.facts.unforget(namespaces[0], key)
        restored = "; ".join(fact_text(fact) for fact in facts) or "(remembered again)"
        return Answer(shown.Updated(id=id, before=_GONE, after=restored), stored=True)
    memory = await resolve_memory(caller, id, past=True)
    after = await caller.memory.memories.undo(memory.id, ns=memory.namespace)
    return Answer(shown.Updated(id=memory.id, before=_current_text(memory), after=_current_text(after)), stored=True)


def _current_text(memory: Memory | None) -> str:
    return _GONE if memory is None or memory.status != "active" else memory.text


async def _review(caller: Caller, id: str | None, decision: str | None, text: str | None, user: str | None) -> Answer:
    ns, queue, decided = f"user:{user or caller.user}", caller.memory.review, ""
    if (id is None) != (decision is None):
        raise UsageError("review needs `id` and `decision` together, or neither to list what waits")
    if id is not None:
        candidate = id.removeprefix("candidate:")
        if decision == "reject":
            decided = "rejected" if await queue.reject(candidate, ns=ns) else ""
        else:
            if text:
                await queue.edit(candidate, text=text, ns=ns)
            await queue.approve(candidate, ns=ns)
            decided = "approved"
        if not decided:
            raise NotFound(f"no memory with the id {id!r} waits for approval; call review without `id` to list them")
    items = [
        shown.Candidate(
            id=f"candidate:{row.id}", operation=row.operation, text=row.text, reason=row.reason or "",
            quote=row.quote or "",
        )
        for row in await queue.list(ns=ns)
    ]  # fmt: skip
    return Answer(shown.Waiting(items=items, decided=decided), stored=True, listed="items")


async def _tidy(caller: Caller, confirm: str | None, undo: str | None, user: str | None) -> Answer:
    ns, plans = f"user:{user or caller.user}", caller.memory.plans
    if undo is not None:
        return Answer(shown.Tidied(plan=undo, restored=await plans.undo(undo, ns=ns)))
    plan = await plans.make(ns=ns)
    code = hashlib.sha256(msgspec.json.encode([caller.id, ns, plan.lines, plan.versions])).hexdigest()[:8]
    if confirm is not None and confirm != code:
        raise UsageError("the plan has changed; call tidy without `confirm` to see the new one")
    if confirm is not None:
        plan = await plans.apply(plan)
    lines = [
        shown.PlannedChange(op=line.op, ids=line.ids, before=line.before, after=line.text or "", reason=line.reason)
        for line in plan.lines
    ]
    tidied = shown.Tidied(
        lines=lines, applied=plan.applied, plan=plan.id if plan.applied else "",
        confirm=code if lines and not plan.applied else None,
    )  # fmt: skip
    return Answer(tidied, stored=True, listed="lines")


async def _build_context(caller: Caller, input: str, thread: str | None, budget_tokens: int | None) -> Answer:
    context = await caller.memory.context(
        input, thread=thread, budget=budget_tokens or DEFAULT_BUDGET, profile=await _about(caller, thread)
    )
    sections = [
        msgspec.convert(section, shown.Section, from_attributes=True)
        for section in context.manifest.sections
        if section.tokens or section.dropped or section.folded
    ]
    request = shown.Request(messages=context.messages(), tokens=context.tokens, manifest=sections)
    return Answer(request, stored=True)


async def _about(caller: Caller, thread: str | None) -> bool | list[ProfileLine]:
    """Return the user whose profile is added to the context: the memory's user, or, for a whole org, the thread's user
    or the caller's.
    """
    memory = caller.memory
    if memory.user is not None:
        return True
    thread_row = None if thread is None else await memory.threads.get(thread)
    kind, _, user = (thread_row.ns if thread_row is not None else caller.own).partition(":")
    return await memory.profile.block(user if kind == "user" else caller.user)


async def _save_checkpoint(
    caller: Caller, task_id: str, state: JsonObject | None, step: int | None, completed: list[str] | None
) -> Answer:
    fields = {"task_id": task_id, "state": state, "step": step, "completed_subtasks": completed}
    checkpoint = await caller.memory.tasks.save({name: value for name, value in fields.items() if value is not None})
    return Answer(_saved(task_id, checkpoint, whole=False))


async def _resume_task(caller: Caller, task_id: str) -> Answer:
    checkpoint = await caller.memory.tasks.resume(task_id)
    return Answer(_saved(task_id, checkpoint, whole=True), stored=True, listed="completed")


def _saved(task_id: str, checkpoint: Checkpoint | None, *, whole: bool) -> shown.Saved:
    if checkpoint is None:
        return shown.Saved(task_id=task_id, found=False)
    stands = shown.Saved(
        task_id=task_id, found=True, step=checkpoint.step, version=checkpoint.version,
        updated_at=checkpoint.updated_at,
    )  # fmt: skip
    if not whole:
        return stands
    return msgspec.structs.replace(stands, state=checkpoint.state, completed=list(checkpoint.completed_subtasks))


async def _forget(caller: Caller, id: str, confirm: str | None) -> Answer:
    target = await resolve_target(caller, id)
    steps = await _erasing_steps(caller, target)
    counts = [await _preview(caller, step) for step in steps]
    what = await _texts_going(caller, target, steps)
    if confirm is None:
        code = _code(caller, target, steps, counts, _window())
        return Answer(
            shown.Forgotten(id=target.id, erased=False, what=what, rows=sum(counts), confirm=code), stored=True
        )
    if confirm not in (_code(caller, target, steps, counts, _window() - age) for age in (0, 1)):
        raise UsageError(
            "`confirm` is not the code of a preview from the last five minutes, or the data that would be erased has "
            "changed since. Call forget without `confirm` for a new preview"
        )
    reports = [await _erase(caller, step) for step in steps]
    complete = all(reports)
    return Answer(
        shown.Forgotten(id=target.id, erased=True, what=what, rows=sum(counts), complete=complete), stored=True
    )


class Step(msgspec.Struct, frozen=True):
    """Represents one target to erase: an argument of `memory.forget`, or a memory to delete."""

    kind: str
    id: str
    namespace: str = ""


async def _erasing_steps(caller: Caller, target: Target) -> list[Step]:
    """Return everything to delete: the target itself, and the notes in which `remember` stored its words. If the notes
    stayed, recall would still find the words after the user was told that they are gone.
    """
    memory = target.memory
    if memory is None:
        return [Step(target.kind, target.id)]
    notes = [source for source in memory.sources if source.startswith(f"{THREAD}:{memory.namespace}#")]
    others = [
        item for item in await caller.memory.memories.list(ns=memory.namespace)
        if item.id != memory.id and item.status == "active"
    ]  # fmt: skip
    only = [note for note in notes if not any(note in item.sources for item in others)]
    own = (
        Step("fact", f"{memory.namespace}/{memory.key}")
        if memory.kind == "fact"
        else Step("memory", memory.id, memory.namespace)
    )
    return [own, *(Step("message", note) for note in only)]


async def _texts_going(caller: Caller, target: Target, steps: list[Step]) -> list[str]:
    texts = [target.text] if target.text else [f"everything of {target.kind} {target.id}"]
    for step in steps:
        message = await caller.memory.threads.message(step.id) if step.kind == "message" else None
        if message is not None and message.text not in texts:
            texts.append(message.text)
    return texts


async def _preview(caller: Caller, step: Step) -> int:
    if step.kind == "memory":
        return 1
    return (await caller.memory.forget(**{step.kind: step.id}, preview=True)).total  # type: ignore[arg-type]


async def _erase(caller: Caller, step: Step) -> bool:
    """Erase one target, and return whether it was erased completely."""
    if step.kind == "memory":
        return await caller.memory.memories.delete(step.id, ns=step.namespace)
    return (await caller.memory.forget(**{step.kind: step.id})).complete  # type: ignore[arg-type]


def _window() -> int:
    return int(time.time()) // CONFIRM_SECONDS


def _code(caller: Caller, target: Target, steps: list[Step], counts: list[int], window: int) -> str:
    """Return the confirmation code of a preview, which is a hash of the caller, the target and the counts of the
    preview.

    It makes a model show a preview before it erases anything. It does not have to be secret, since anyone who may
    preview may also erase. Because it is a plain hash, any process can check it without shared state.
    """
    version = 0 if target.memory is None else target.memory.version
    parts = [caller.id, caller.user, [[step.kind, step.id] for step in steps], counts, version, window]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:8]


_CALLS: Mapping[str, Callable[..., Awaitable[Answer]]] = {
    "remember": _remember,
    "recall": _recall,
    "profile": _profile,
    "update": _update,
    "forget": _forget,
    "why": _why,
    "history": _history,
    "undo": _undo,
    "review": _review,
    "tidy": _tidy,
    "build_context": _build_context,
    "save_checkpoint": _save_checkpoint,
    "resume_task": _resume_task,
}

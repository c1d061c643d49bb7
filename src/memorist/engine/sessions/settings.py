"""Stores the settings of a thread's last request, so that the inspector can build the next one as the program would.

Only the sizes and names of the system prompt and the tools are stored, because they belong to the program, may contain
anything, and would make every row large.
"""

from __future__ import annotations

import time
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from ...errors import Conflict, StoreError
from ...kinds import thread_ref
from ...records import RequestLog
from ...stores.base import Expect, Put
from ...values import JsonObject, compact_json
from ..core import Core
from .assembling import Recall, Request, recall_spec

if TYPE_CHECKING:
    from ...context.budget import TokenBudget
    from ...context.context import Context

REWRITE_SECONDS = 600.0
"""Unchanged settings are written again after this time, so that their date shows when they were last used."""
MAX_REMEMBERED = 4096
"""The number of threads for which a process remembers what it last wrote."""


class RequestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the settings that a program used for the last request of a thread."""

    budget: dict[str, int | None]
    """These are the fields of its `TokenBudget`."""
    policy: JsonObject | None = None
    """This is the policy in its HTTP form, or None if there is none."""
    policy_functions: bool = False
    """This is True if the policy had a model or a function. Neither is stored."""
    layout: str = "cached"
    recall: bool = True
    top_k: int | None = None
    kinds: list[str] | None = None
    min_score: float | None = None
    namespaces: list[str] | None = None
    profile: bool = True
    stash: int | None = None
    fold_tokens: int | None = None
    """This is the number of history tokens at which the session folds the thread, or None without a session."""
    counter: str = ""
    system_tokens: int = 0
    tools: list[str] = []
    tools_tokens: int = 0
    prefix: str | None = None
    """This is the hash that the next request must have to begin like this one; see `Prefix`."""
    prefix_at: datetime | None = None
    """This is the time when a request first began differently from the previous one, or None if none did."""
    at: datetime


class Prefix(msgspec.Struct, frozen=True):
    """Holds the parts before the history. Reasoning is valid only as long as these parts stay the same."""

    system: object
    tools: tuple[object, ...]
    profile: tuple[str, ...]
    has_notes: bool
    """This is True if the input was followed by notes. Later requests do not repeat them, so they begin differently."""

    def digest(self) -> str:
        """Return a hash of the parts before the history."""
        from ...context.reading import instruction_messages

        system = [message.openai() for message in instruction_messages(self.system)]
        text = compact_json([system, list(self.tools), list(self.profile)])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    @property
    def repeatable(self) -> str:
        """This is the hash that a later request must have to begin like this one, or an empty string if none can."""
        return "" if self.has_notes else self.digest()


class AssembledRequest(msgspec.Struct, frozen=True):
    """Holds an assembled request for a thread, and what is stored about it with the thread."""

    asked: Request
    budget: TokenBudget
    context: Context
    fold_tokens: int | None
    prefix: Prefix
    prefix_at: datetime | None
    """This is the time when a request first began differently, if the history contains reasoning."""
    has_reasoning: bool


async def prefix_changed_at(core: Core, thread: str, prefix: Prefix, earlier: Prefix | None = None) -> datetime | None:
    """Return when a thread's requests last began to differ from the preceding ones, which may be now.

    `earlier` is the beginning of the previous request, in case it was not stored because the thread did not exist.
    """
    stored = await stored_settings(core, thread)
    before = stored.prefix if stored is not None else earlier.repeatable if earlier is not None else None
    if before is not None and before != prefix.digest():
        return core.at()
    return None if stored is None else stored.prefix_at


async def keep_settings(core: Core, thread: str, request: AssembledRequest) -> None:
    """Store the settings with the thread if they differ from those that this process last stored.

    The beginning of the request counts only if the history contains reasoning. Otherwise, a system prompt that contains
    the time would cause a write on every request. A handle that may not write to the thread stores nothing, and a store
    that refuses writes does not make a request fail.
    """
    remembered, key, asked = core.shared.request_settings, (core.org, thread), request.asked
    compared = (
        request.budget,
        asked.policy,
        asked.layout,
        recall_spec(asked.recall),
        asked.stash,
        request.fold_tokens,
        asked.profile is False,
    )
    written_at, last, last_prefix = remembered.get(key, (0.0, None, None))
    is_same = last == compared and (not request.has_reasoning or last_prefix == request.prefix)
    if is_same and time.monotonic() - written_at < REWRITE_SECONDS:
        return
    try:
        if not request.has_reasoning:
            changed_at = await prefix_changed_at(core, thread, request.prefix)
            request = msgspec.structs.replace(request, prefix_at=changed_at)
        await _write(core, thread, describe(request, core.at()))
    except Conflict:  # another process stored the settings of its own request, or the thread was forgotten
        return
    except StoreError as problem:  # `doctor` hears of a full disk from what matters more; the next request tries again
        if not problem.refuses_writes:
            raise
        return
    if len(remembered) >= MAX_REMEMBERED:
        remembered.pop(next(iter(remembered)))
    remembered[key] = (time.monotonic(), compared, request.prefix)


async def _write(core: Core, thread: str, settings: RequestSettings) -> None:
    from ..forgetting.guard import epochs
    from ..threads.threads import Threads

    # Read before the thread: if the thread is forgotten meanwhile, the write fails instead of naming it again.
    guards = await epochs(core, thread_ref(thread))
    owner = await Threads(core)._existing_or_fail(thread)
    if not core.scope.may_write(owner.ns):
        return
    log = await core.get(RequestLog, thread)
    fields = msgspec.to_builtins(settings)
    if log is None:
        log = RequestLog(org=core.org, thread=thread, reports=[], pieces=[], updated_at=settings.at)
    # The row also contains reports on earlier requests, and one that was added since the read must not be lost.
    fresh = msgspec.structs.replace(log, settings=fields, updated_at=settings.at)
    await core.apply(*guards, Expect(RequestLog, fresh.row_key, log.version), Put(fresh))


def describe(request: AssembledRequest, at: datetime) -> RequestSettings:
    """Return the settings of an assembled request."""
    from ...context.policy_names import has_functions, policy_fields
    from ...context.read_tools import tool_name

    asked, context = request.asked, request.context
    policy, recall = asked.policy, recall_spec(asked.recall)
    spec = recall or Recall()
    sections = {section.name: section.tokens for section in context.manifest.sections}
    return RequestSettings(
        budget=msgspec.structs.asdict(request.budget), policy=policy_fields(policy),
        policy_functions=policy is not None and has_functions(policy),
        layout=asked.layout, recall=recall is not None, top_k=spec.top_k,
        kinds=None if spec.kinds is None else list(spec.kinds), min_score=spec.min_score, namespaces=_spaces(spec),
        profile=asked.profile is not False, stash=asked.stash,
        fold_tokens=request.fold_tokens, counter=context.account.counter,
        system_tokens=sections.get("system", 0), tools=[tool_name(tool) for tool in context.tools],
        tools_tokens=sections.get("tools", 0), prefix=request.prefix.repeatable, prefix_at=request.prefix_at, at=at,
    )  # fmt: skip


def _spaces(spec: Recall) -> list[str] | None:
    spaces = spec.namespaces
    if spaces is None:
        return None
    return [str(space) for space in spaces] if isinstance(spaces, list | tuple) else [str(spaces)]


async def stored_settings(core: Core, thread: str) -> RequestSettings | None:
    """Return the settings of a thread's last request, if a program has assembled one."""
    log = await core.get(RequestLog, thread)
    if log is None or log.settings is None:
        return None
    return msgspec.convert(log.settings, RequestSettings)

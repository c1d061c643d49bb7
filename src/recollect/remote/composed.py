"""Methods of the nouns that are not a single request: built on other methods, on a context manager or on polling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

import msgspec

from ..engine.receipts import MessageReceipt
from ..engine.tasks.tasks import kept_steps
from ..engine.working import Working
from ..errors import UsageError
from ..values import check_name
from .tasks import RemoteTaskRun, run_task

WAIT_SECONDS = 20.0
"""The most seconds that one request waits on the server (long polling)."""


async def _state_get(self: Any, key: str, default: Any = None) -> Any:
    """The value under a key, read from its entry."""
    entry = await self.entry(key)
    return default if entry is None else entry.value


async def _resume(self: Any, task_id: str) -> Any:
    """The task's checkpoint, or None where there is no such task."""
    return await self.get(task_id)


def _run(
    self: Any, task_id: str, *, ns: Any = None, lease: Any = 60, keep: Any = None, state: Any = None, wait: float = 0
) -> RemoteTaskRun:
    """A context manager that holds the task's lease and resumes its state; `state` is the first state of a new task."""
    check_name(task_id, "task id")
    space = None if ns is None else self._core.scope.writable(ns)
    return run_task(self._core, task_id, space, lease, keep, state, wait, kept_steps(keep))


def _template(self: Any, template: type) -> Any:
    """The same memory, typed and checked by a subclass of Working."""
    if not (isinstance(template, type) and issubclass(template, Working)):
        raise UsageError("a template is a subclass of recollect.Working")
    if any(field.required for field in msgspec.structs.fields(template)):
        raise UsageError(f"{template.__name__} has a field without a default; an empty document must be possible")
    return type(self)(self._core, template)


async def _wait(
    self: Any, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
) -> list[MessageReceipt]:
    """Wait until the messages are indexed and processed; returns their receipts with their state at the end."""
    many = [receipts] if isinstance(receipts, MessageReceipt) else list(receipts)
    deadline = None if timeout is None else monotonic() + timeout
    while True:
        left = WAIT_SECONDS if deadline is None else max(0.0, min(WAIT_SECONDS, deadline - monotonic()))
        ids = [one.message.id for one in many]
        found = await self._core.call("outbox.wait", ids=ids, timeout=left) if ids else []
        standing = {one.message.id: one for one in found}
        settled = [standing.get(one.message.id, one) for one in many]
        open_ = [one for one in settled if one.derived == "pending" or not one.indexed]
        if not open_ or (deadline is not None and monotonic() >= deadline):
            return settled


COMPOSED: Mapping[str, Callable[..., Any]] = {
    "state.get": _state_get,
    "tasks.resume": _resume,
    "tasks.run": _run,
    "working.template": _template,
    "jobs.wait": _wait,
}

"""Implements the methods of nouns that need more than one request, because they use other methods, a context manager or
polling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..engine.memories import Memories
from ..engine.tasks.tasks import Keep, kept_steps
from ..engine.working import Working, checked_fields, checked_template, fields_of
from ..ports import Ttl
from ..scope import Ns
from ..values import Json, check_name
from .tasks import RemoteTaskRun


async def _state_get(self: Any, key: str, default: object = None) -> object:
    """Return the value under a key, read from its entry."""
    entry = await self.entry(key)
    return default if entry is None else entry.value


def _run(
    self: Any,
    task_id: str,
    *,
    ns: Ns | None = None,
    lease: Ttl = 60,
    keep: Keep | None = None,
    state: Json = None,
    wait: float = 0,
) -> RemoteTaskRun:
    """Return a context manager that holds the task's lease and resumes its state.

    `state` is the first state of a new task.
    """
    check_name(task_id, "task id")
    space: Any = None if ns is None else self._core.scope.writable(ns)
    kept_steps(keep)  # only checked here; the server interprets it
    return RemoteTaskRun(self._core, task_id, space, lease, keep, state, wait)


def _template(self: Any, template: type) -> object:
    """Return the same memory, typed and checked by a subclass of Working."""
    return type(self)(self._core, checked_template(template))


async def _working_set(self: Any, doc: object, *, user: str | None = None, session: str | None = None) -> object:
    """Write the whole document after checking it here, because the server does not know the client's template."""
    fields = checked_fields(fields_of(doc), self._template or Working)
    return await self._core.call("working.set", self._template, doc=fields, user=user, session=session)


async def _working_update(self: Any, **fields: object) -> object:
    """Set some fields and keep the others, after checking them here like `_working_set`."""
    choose = {name: fields.pop(name) for name in ("user", "session") if isinstance(fields.get(name), str)}
    changes = checked_fields(fields_of(fields), self._template or Working)
    return await self._core.call("working.update", self._template, fields={**changes, **choose})


COMPOSED: Mapping[str, Callable[..., object]] = {
    "state.get": _state_get,
    "tasks.run": _run,
    "working.template": _template,
    "working.set": _working_set,
    "working.update": _working_update,
    "memories.typed": Memories.typed,  # written over `list`, which a server offers
}

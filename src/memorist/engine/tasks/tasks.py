"""Tasks are long-running work with checkpoints. They resume where they stopped and never do a step twice.

A task has one small row (`Task`: step, status, lease) and one row per saved step (`CheckpointStep`: a snapshot of the
state, or a patch to the previous step). Every save replaces the task's row by compare-and-set on its version, so if two
workers save, one of them gets `LeaseLost` and writes nothing. The effects of a step are committed in the same
transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from ...errors import Conflict, InvalidValue, LeaseLost, NotFound
from ...ports import Ttl
from ...records import CheckpointStep, Task, as_dict
from ...scope import Ns
from ...stores.base import Delete, DeleteRange
from ...values import Json, JsonMapping, as_list, check_name, decode_json
from ..audit import audit
from ..core import Core
from ..options import MAX_LIMIT, checked_limit, page
from .run import AsyncTaskRun
from .steps import Saved, Step, is_leased, load, read_steps, refuse_taken, restore, save_changes

Keep = int | Literal["all", "latest"]
"""How many of a task's saved steps to keep."""
CACHED_STATES = 16
"""The number of tasks whose last saved state a handle caches, so that `save` does not have to read it."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a task's progress: its step, its state and the completed subtasks."""

    to_dict = as_dict

    task_id: str
    ns: str | None = None
    """The namespace it belongs to. If this is None, a new checkpoint belongs to the handle's user, or to `global`."""
    step: int = 0
    state: Any = None
    completed_subtasks: tuple[str, ...] = ()
    status: str = "running"
    owner: str | None = None
    fence: int = 0
    leased_until: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0


class Tasks:
    """Saves and resumes checkpoints, and runs tasks under a lease."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._saved: dict[str, Saved] = {}

    async def save(
        self,
        checkpoint: Checkpoint | Mapping[str, Json],
        *,
        expect: int | None = None,
        keep: Keep | None = None,
    ) -> Checkpoint:
        """Save a checkpoint.

        Args:
            checkpoint: A `Checkpoint`, or a dict with `task_id`, `step`, `state` and `completed_subtasks`.
            expect: Save only if this is the current version.
            keep: How many saved steps to keep: `all` (the default for a new task), `latest` or a number.

        Returns:
            The saved checkpoint, with its version.

        Raises:
            Conflict: `expect` is not the current version.

        Examples:
            >>> memory.tasks.save({"task_id": "report", "step": 3, "state": {"cursor": "x"}}).version
            1
        """
        new = as_checkpoint(checkpoint)
        ns = self._core.scope.own() if new.ns is None else self._core.scope.writable(new.ns)
        steps = kept_steps(keep)

        async def attempt() -> Saved:
            # From this handle's cache, else from the store; a stale cache ends in Conflict and a retry. A cache that
            # does not have the expected version may be stale, so the store decides.
            saved = self._saved.get(new.task_id)
            if saved is None or (expect is not None and saved.task.version != expect):
                saved = await load(self._core, new.task_id)
            version = 0 if saved is None else saved.task.version
            if expect is not None and expect != version:
                moved_on = "the task has changed since you loaded it; resume it again"
                why = "the task no longer exists" if saved is None else moved_on
                raise Conflict(why, expected=expect, actual=version, task=new.task_id)
            if saved is not None:
                self._core.scope.writable(saved.task.ns)
            return await self._write(saved, new, ns, steps)

        # With `expect`, a conflict is the answer to the caller, so nothing is tried again.
        saved = await (self._core.retry(attempt) if expect is None else attempt())
        return _checkpoint(saved, new.state)

    async def _write(self, saved: Saved | None, new: Checkpoint, ns: str, keep: object) -> Saved:
        core = self._core
        if saved is not None and is_leased(core, saved.task):
            raise LeaseLost(
                "a worker holds the lease of this task; save through its run, or wait for the lease to end",
                task=new.task_id,
            )
        base, items = saved or Saved.new(core, new.task_id, ns), list(dict.fromkeys(new.completed_subtasks))
        if items[: len(base.completed)] != list(base.completed):
            # A patch can only add subtasks at the end; in any other case a snapshot stores them all.
            base = msgspec.structs.replace(base, image=None, completed={})
        done = items[len(base.completed) :]
        changes, after = save_changes(core, base, new.state, done, step=new.step, status=new.status, keep=keep)
        if saved is None:
            changes.append(audit(core, "create", "task", new.task_id))
        try:
            await core.apply(*changes)
        except Conflict:
            self._saved.pop(new.task_id, None)
            if saved is None:
                await refuse_taken(core, new.task_id)
            raise
        after.completed.update(dict.fromkeys(done))
        self._remember(after)
        return after

    def _remember(self, saved: Saved) -> None:
        # Removed first, because a dict keeps the position of an existing key, and the oldest key is dropped below.
        self._saved.pop(saved.task.task_id, None)
        self._saved[saved.task.task_id] = saved
        while len(self._saved) > CACHED_STATES:
            self._saved.pop(next(iter(self._saved)))

    async def resume(self, task_id: str) -> Checkpoint | None:
        """Return the last checkpoint of a task, or None if there is no such task.

        Args:
            task_id: The id of the task.

        Returns:
            The checkpoint, or None.

        Examples:
            >>> point = memory.tasks.save({"task_id": "report", "step": 3, "state": {"cursor": "x"}})
            >>> memory.tasks.resume("report").state
            {'cursor': 'x'}
        """
        saved = await load(self._core, task_id)
        return None if saved is None else _checkpoint(saved, saved.state())

    async def get_many(self, task_ids: Iterable[str]) -> list[Checkpoint | None]:
        """Return the last checkpoints of several tasks, in the order of the ids, and None for each one that does not
        exist.

        Args:
            task_ids: The ids of the tasks.

        Returns:
            One checkpoint or None per id.

        Examples:
            >>> memory.tasks.get_many(["report", "import"])
            [None, None]
        """
        return [await self.resume(task_id) for task_id in as_list(task_ids, "task_ids")]

    async def history(self, task_id: str, n: int = 10) -> list[Checkpoint]:
        """List the last `n` saved steps of a task, newest last.

        Args:
            task_id: The id of the task.
            n: The maximum number of steps to return.

        Returns:
            The saved steps.

        Raises:
            NotFound: There is no such task.

        Examples:
            >>> points = [memory.tasks.save({"task_id": "report", "step": step, "state": {}}) for step in (1, 2)]
            >>> [point.step for point in memory.tasks.history("report")]
            [1, 2]
        """
        limit = checked_limit(n)
        limit = MAX_LIMIT if limit is None else limit
        if (loaded := await read_steps(self._core, task_id, limit)) is None:
            raise NotFound("no such task", task=task_id)
        task, rows = loaded
        return [_checkpoint_at(task, step) for step in restore(rows, limit)]

    async def delete(self, task_id: str) -> bool:
        """Delete a task and its saved steps, and return whether it existed.

        Args:
            task_id: The id of the task.

        Returns:
            Whether the task existed.

        Examples:
            >>> memory.tasks.delete("report")
            False
        """
        task = await self._core.get(Task, check_name(task_id, "task id"))
        if task is None or not self._core.scope.may_read(task.ns):
            return False
        self._core.scope.writable(task.ns)
        self._saved.pop(task_id, None)
        await self._core.apply(
            # A worker that still runs the task gets LeaseLost from its next save, because the version it expects is
            # gone.
            Delete(Task, (self._core.org, task_id)),
            DeleteRange(CheckpointStep, (self._core.org, task_id)),
            audit(self._core, "delete", "task", task_id),
        )
        return True

    def run(
        self,
        task_id: str,
        *,
        ns: Ns | None = None,
        lease: Ttl = 60,
        keep: Keep | None = None,
        state: Json = None,
        wait: float = 0,
    ) -> AsyncTaskRun:
        """Run a task as a context manager that acquires the lease and continues from the last saved state.

        Args:
            task_id: The name of the task.
            ns: The namespace of a new task. It defaults to the user's own, or to `global` on a handle without a user.
            lease: How many seconds this worker holds the task after each save.
            keep: How many saved steps to keep.
            state: The state of a new task.
            wait: How many seconds to wait for a lease that another worker holds.

        Returns:
            The run, to use in a `with` block.

        Raises:
            LeaseLost: Another worker holds the lease.

        Examples:
            >>> with memory.tasks.run("import", state={"seen": 0}) as task:
            ...     for item in task.remaining(["a", "b"]):
            ...         task.complete(item, {"seen": task.state["seen"] + 1})
            >>> memory.tasks.resume("import").state
            {'seen': 2}
        """
        check_name(task_id, "task id")
        space = self._core.scope.own() if ns is None else self._core.scope.writable(ns)
        return AsyncTaskRun(self._core, task_id, space, lease, kept_steps(keep), state, wait)

    # Last: the name hides the builtin for annotations below it.
    async def list(
        self, ns: Ns | None = None, *, limit: int | None = None, after: str | None = None, reverse: bool = False
    ) -> list[Task]:
        """List tasks by id, without their states.

        Args:
            ns: The namespace; by default, all that this handle may read.
            limit: The maximum number to return.
            after: The last id of the previous page.
            reverse: Whether to list in reverse order.

        Returns:
            The tasks.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> point = memory.tasks.save({"task_id": "report", "step": 1, "state": {}})
            >>> [task.task_id for task in memory.tasks.list()]
            ['report']
        """
        bounds = page(limit, after, reverse)
        if ns is not None:
            return await self._core.listed(Task, self._core.scope.readable(ns), index="by_ns", **bounds)
        if self._core.scope.user is None:
            return await self._core.listed(Task, **bounds)
        # By id over all namespaces; the limit counts only tasks that this handle may read.
        bounds["limit"] = None
        tasks = await self._core.listed(Task, **bounds)
        return [task for task in tasks if self._core.scope.may_read(task.ns)][: checked_limit(limit)]


def as_checkpoint(checkpoint: Checkpoint | Mapping[str, object]) -> Checkpoint:
    """Validate a `Checkpoint` or a dict, and return it as a `Checkpoint`."""
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = _read(checkpoint)
    check_name(checkpoint.task_id, "task id")
    if type(checkpoint.step) is not int:
        raise InvalidValue("step must be a whole number")
    if checkpoint.completed_subtasks == ():
        return checkpoint
    items = tuple(check_name(item, "subtask") for item in checkpoint.completed_subtasks)
    return msgspec.structs.replace(checkpoint, completed_subtasks=items)


def _read(fields: JsonMapping) -> Checkpoint:
    if not isinstance(fields, Mapping):
        raise InvalidValue(f"a checkpoint is a Checkpoint or a dict, not {type(fields).__name__}")
    try:
        return Checkpoint(**fields)
    except TypeError as cause:
        unknown = sorted(str(name) for name in fields if name not in Checkpoint.__struct_fields__)
        wrong = ", ".join(unknown) or "other fields"
        raise InvalidValue(f"a checkpoint needs task_id, and has no field {wrong}") from cause


def kept_steps(keep: Keep | None) -> Any:
    """Return `keep` as a number, None for all steps, or UNSET if it was not passed."""
    if keep is None:
        return msgspec.UNSET
    if keep == "all":
        return None
    if keep == "latest":
        return 1
    if type(keep) is not int or keep < 1:
        raise InvalidValue("keep is 'all', 'latest' or a number of steps")
    return keep


def _checkpoint_at(task: Task, step: Step) -> Checkpoint:
    return Checkpoint(
        task_id=task.task_id,
        ns=task.ns,
        step=step.row.step,
        state=decode_json(step.state.text()),
        completed_subtasks=step.completed,
        status=step.row.status,
        created_at=task.created_at,
        updated_at=step.row.created_at,
        version=step.row.number,
    )


def _checkpoint(saved: Saved, state: object) -> Checkpoint:
    task = saved.task
    return Checkpoint(
        task_id=task.task_id,
        ns=task.ns,
        step=task.step,
        state=state,
        completed_subtasks=tuple(saved.completed),
        status=task.status,
        owner=task.owner,
        fence=task.fence,
        leased_until=task.leased_until,
        created_at=task.created_at,
        updated_at=task.updated_at,
        version=task.version,
    )

"""A running task holds a lease and a fencing token for one worker. Its saves fail once the lease is lost."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ...backoff import pause
from ...errors import Conflict, LeaseLost, UsageError
from ...ports import Ttl, ttl_micros
from ...records import Task
from ...stores.base import Change
from ...values import Json, as_name
from ..audit import audit
from ..core import Core
from .steps import NOTHING, Saved, is_leased, load, refuse_taken, row_changes, save_changes

if TYPE_CHECKING:
    from ...memory import AsyncMemory

T = TypeVar("T")


class AsyncTaskRun:
    """Represents a task while this worker runs it. `tasks.run` returns one, for use in a `with` block.

    You can change `state` in place or replace it. `complete` and `checkpoint` save it, as does the end of the block
    unless there was an error. Every save also renews the lease.
    """

    task_id: str
    """The name of the task."""
    state: Any
    """This is the task's state. You can change it in place or replace it, and the next step saves it."""

    def __init__(self, core: Core, task_id: str, ns: str, lease: Ttl, keep: object, state: Json, wait: float) -> None:
        if core.batch is not None:
            raise UsageError("a task cannot run inside a batch; use task.batch() inside the task")
        self._core = core
        self._ns = ns
        self._lease = timedelta(microseconds=ttl_micros(lease) or 0)
        self._keep = keep
        self._wait = wait
        self._first_state = state
        self._owner = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._saved: Saved | None = None
        self._effects: list[Change] | None = None
        self._watched: dict[str, str] = {}
        self.task_id = task_id
        self.state = None

    # -- reading

    @property
    def _held(self) -> Saved:
        if self._saved is None:
            raise UsageError("the task is not running; use it inside `with memory.tasks.run(…) as task`")
        return self._saved

    @property
    def step(self) -> int:
        """This is the number of steps completed so far, in all runs."""
        return self._held.task.step

    @property
    def fence(self) -> int:
        """This is a number that grows with every run. Pass it to other systems so that they can reject an older
        worker.
        """
        return self._held.task.fence

    @property
    def completed(self) -> tuple[str, ...]:
        """These are the completed subtasks, in order."""
        return tuple(self._held.completed)

    def is_complete(self, item: object) -> bool:
        """Return whether a subtask has been completed in this run or an earlier one.

        Args:
            item: The subtask.

        Returns:
            Whether the subtask is complete.

        Examples:
            >>> with memory.tasks.run("import") as task:
            ...     task.complete("a")
            ...     task.is_complete("a")
            True
        """
        return str(item) in self._held.completed

    def remaining(self, items: Iterable[T], *, key: Callable[[T], str] = str) -> Iterator[T]:
        """Iterate over the incomplete items, in order.

        Args:
            items: All items.
            key: A function that returns the name of an item; by default the item itself.

        Returns:
            The items that are not complete.

        Examples:
            >>> with memory.tasks.run("import") as task:
            ...     task.complete("a")
            ...     list(task.remaining(["a", "b"]))
            ['b']
        """
        for item in items:
            if key(item) not in self._held.completed:
                yield item

    def key(self, item: object) -> str:
        """Return an idempotency key for a subtask's effects in other systems. It is the same in every run.

        Args:
            item: The subtask.

        Returns:
            The idempotency key.

        Examples:
            >>> with memory.tasks.run("import") as task:
            ...     task.key("a") == task.key("a") != task.key("b")
            True
        """
        return f"{self._core.org}/{self.task_id}/{item}"

    # -- saving

    async def complete(
        self,
        item: object,
        state: Json = NOTHING,
        *,
        update: Mapping[str, Json] | None = None,
        extend: Mapping[str, list[Json]] | None = None,
        step: int | None = None,
    ) -> None:
        """Mark a subtask as complete and save the task, in one transaction with everything in its batch.

        Args:
            item: The subtask.
            state: The new state, if you replace it; not together with `update` or `extend`.
            update: Top-level keys to set in the state. Saving only the change is cheaper than saving a large state.
            extend: Top-level lists in the state to append to.
            step: The number of the step; by default, the previous number plus one.

        Raises:
            LeaseLost: Another worker took over; nothing was written.

        Examples:
            >>> with memory.tasks.run("import") as task:
            ...     fact = task.batch().facts.set("user:ada", "imported", True)
            ...     task.complete("ada")
            >>> memory.facts.get("user:ada", "imported").value
            True
        """
        name = as_name(item, "subtask")
        await self._save([name], state, update, extend, step=self.step + 1 if step is None else step)

    async def checkpoint(
        self,
        state: Json = NOTHING,
        *,
        update: Mapping[str, Json] | None = None,
        extend: Mapping[str, list[Json]] | None = None,
        step: int | None = None,
    ) -> None:
        """Save the task's state in one transaction with everything in its batch.

        Args:
            state: The new state, if you replace it; not together with `update` or `extend`.
            update: Top-level keys to set in the state.
            extend: Top-level lists in the state to append to.
            step: The number of the step; by default, the previous number plus one.

        Raises:
            LeaseLost: Another worker took over; nothing was written.

        Examples:
            >>> with memory.tasks.run("crawl", state={"pages": []}) as task:
            ...     task.checkpoint(extend={"pages": ["/a"]})
            >>> memory.tasks.resume("crawl").state
            {'pages': ['/a']}
        """
        await self._save([], state, update, extend, step=self.step if step is None else step)

    async def heartbeat(self) -> None:
        """Renew the lease without saving the state.

        Raises:
            LeaseLost: Another worker took over.

        Examples:
            >>> with memory.tasks.run("import", lease=60) as task:
            ...     task.heartbeat()
        """
        saved = self._held
        changes, task = row_changes(saved.task, leased_until=self._until(), updated_at=self._core.at())
        await self._commit(changes, saved)
        saved.task = task

    def batch(self) -> AsyncMemory:
        """Return a memory that collects changes for the task's next save to commit.

        Calling it again starts a new batch and drops any collected changes that were not saved.

        Returns:
            The memory that collects the changes.

        Examples:
            >>> with memory.tasks.run("import") as task:
            ...     entry = task.batch().state.set("seen", 1)
            ...     task.checkpoint()
            >>> memory.state.get("seen")
            1
        """
        core = self._core.batched()
        # The list itself, not a copy: it grows with every call on the batch until the next save commits it.
        if core.batch is not None:
            self._effects, self._watched = core.batch.changes, core.batch.relied_on
        async_memory: AsyncMemory = core.facade()
        return async_memory

    async def _save(
        self,
        done: list[str],
        state: object = NOTHING,
        update: Mapping[str, object] | None = None,
        extend: Mapping[str, list[Any]] | None = None,
        *,
        step: int,
        **fields: Any,
    ) -> None:
        update, extend = update or {}, extend or {}
        if state is not NOTHING and (update or extend):
            raise UsageError("pass either a new state, or its changes as update and extend")
        replaced = change_in_place(self.state, update, extend)
        try:
            saved = await self._write(done, state, update, extend, step=step, **fields)
        except BaseException:
            # The step was not saved, or nobody knows. The caller may try it again, which must not extend a list twice.
            change_back(self.state, replaced, extend)
            raise
        saved.completed.update(dict.fromkeys(done))
        self._saved, self._effects = saved, None
        if state is not NOTHING:
            self.state = state

    async def _write(
        self,
        done: list[str],
        state: object,
        update: Mapping[str, object],
        extend: Mapping[str, list[Any]],
        **fields: Any,
    ) -> Saved:
        """Commit a step and the effects collected by `batch`, and return the task without the new subtasks."""
        whole = self.state if state is NOTHING else state
        fields = {"leased_until": self._until(), "keep": self._keep, **fields}
        changes, after = save_changes(self._core, self._held, whole, done, update, extend, **fields)
        effects = list(self._effects or ())
        if after.task.status == "done":
            effects.append(audit(self._core, "finish", "task", self.task_id))
        await self._commit([*changes, *effects], self._held, self._watched if effects else None)
        return after

    async def _commit(self, changes: list[Change], saved: Saved, threads: Mapping[str, str] | None = None) -> None:
        """Commit changes of the task's own rows, and with them effects that rely on threads."""
        self._check_lease(saved)
        try:
            await self._core.apply_guarded(changes, threads or {})
        except Conflict as cause:
            # A conflict on the task's own row means that its lease moved; any other belongs to the effects.
            if cause.facts.get("key") != saved.task.row_key:
                raise
            raise self._lost("another worker took over") from cause

    def _check_lease(self, saved: Saved) -> None:
        # Checked here too, because nobody may have taken the task over yet, and its version would still match.
        until = saved.task.leased_until
        if until is None or until <= self._core.at():
            raise self._lost("the lease has ended")

    def _lost(self, why: str) -> LeaseLost:
        return LeaseLost(f"{why}; nothing was written, run the task again to resume it", task=self.task_id)

    def _until(self) -> object:
        return self._core.at() + self._lease

    # -- beginning and end

    async def __aenter__(self) -> Self:
        self._saved = await self._acquire(partial(self._core.retry, self._take))
        self.state = self._first_state if self._saved.image is None else self._saved.state()
        return self

    async def _acquire(self, take: Callable[[], Awaitable[T]]) -> T:
        """Take the lease, and wait for at most `wait` seconds while another worker holds it."""
        waited, tries = 0.0, 0
        while True:
            try:
                return await take()
            except LeaseLost:
                if waited >= self._wait:
                    raise
            tries += 1
            seconds = min(pause(tries, first=0.02, longest=1.0), self._wait - waited)
            await self._core.runtime.sleep(seconds)
            waited += seconds

    async def _take(self) -> Saved:
        core = self._core
        stored = await load(core, self.task_id)
        saved = stored or Saved.new(core, self.task_id, self._ns)
        task = saved.task
        core.scope.writable(task.ns)
        if is_leased(core, task):
            raise LeaseLost(
                "another worker runs this task; try again when its lease has ended",
                task=self.task_id,
                leased_until=task.leased_until,
            )
        changes, after = row_changes(
            task,
            status="running",
            owner=self._owner,
            # It grows even if the same owner takes the task again, so that other systems can tell the two runs apart.
            fence=task.fence + 1,
            leased_until=self._until(),
            keep=self._keep,
            updated_at=core.at(),
        )
        action = "create" if stored is None else "resume"
        event = audit(core, action, "task", self.task_id, detail={"fence": task.fence + 1})
        try:
            await core.apply(*changes, event)
        except Conflict:
            if stored is None:
                await refuse_taken(core, self.task_id)
            raise
        except BaseException:
            # Cancelled, or the outcome is unknown: release the lease in case it was taken, or others would wait for it.
            await self._abandon()
            raise
        saved.task = after
        return saved

    async def _abandon(self) -> None:
        task = await self._core.get(Task, self.task_id)
        if task is not None and task.owner == self._owner:
            changes, _ = row_changes(task, owner=None, leased_until=None)
            await self._core.apply(*changes)

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        saved = self._held
        try:
            if error is None:
                await self._finish()
            # After LeaseLost the row may belong to another worker, so there is nothing to release.
            elif not isinstance(error, LeaseLost):
                await self._release(saved)
        finally:
            self._saved = None

    async def _finish(self, step: int | None = None) -> None:
        """Save everything that has changed since the last save and release the lease, in one commit."""
        last = self.step if step is None else step
        await self._save([], step=last, status="done", owner=None, leased_until=None)

    async def _release(self, saved: Saved) -> None:
        """Release the lease after an error, without saving the failed step, so that another worker can continue."""
        changes, _ = row_changes(saved.task, status="failed", owner=None, leased_until=None, updated_at=self._core.at())
        try:
            await self._core.apply(*changes, audit(self._core, "fail", "task", self.task_id))
        except Conflict:
            # Another worker has taken over already; the caller still gets the original error.
            return


def change_in_place(
    state: object, update: Mapping[str, object], extend: Mapping[str, list[object]]
) -> dict[str, object]:
    """Change a state in place, because its lists may be long, and return the values that `update` replaced."""
    if not update and not extend:
        return {}
    if not isinstance(state, dict):
        raise UsageError("update and extend need a state that is a dict")
    for key, items in extend.items():
        if not isinstance(items, list) or not isinstance(state.get(key), list):
            raise UsageError("extend appends a list to a list that the state has at its top level")
    for key, items in extend.items():
        state[key].extend(items)
    replaced = {key: state.get(key, NOTHING) for key in update}
    state.update(update)
    return replaced


def change_back(state: Any, replaced: Mapping[str, object], extend: Mapping[str, list[object]]) -> None:
    """Undo `change_in_place`."""
    for key, value in replaced.items():
        if value is NOTHING:
            del state[key]
        else:
            state[key] = value
    for key, items in extend.items():
        del state[key][len(state[key]) - len(items) :]

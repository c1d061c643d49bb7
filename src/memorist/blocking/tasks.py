"""Blocking tasks.

Made by scripts/generate-blocking from engine/tasks/run.py, engine/tasks/tasks.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from ..engine.tasks.run import AsyncTaskRun, T
from ..engine.tasks.steps import NOTHING
from ..engine.tasks.tasks import Checkpoint, Keep
from ..engine.tasks.tasks import Tasks as EngineTasks
from ..ports import Ttl
from ..records import Task
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json

if TYPE_CHECKING:
    from .memory import Memory


class Tasks:
    """Saves and resumes checkpoints, and runs tasks under a lease."""

    def __init__(self, engine: EngineTasks) -> None:
        self._engine = engine

    def save(
        self, checkpoint: Checkpoint | Mapping[str, Json], *, expect: int | None = None, keep: Keep | None = None
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
        return run_blocking(self._engine.save(checkpoint, expect=expect, keep=keep))

    def resume(self, task_id: str) -> Checkpoint | None:
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
        return run_blocking(self._engine.resume(task_id))

    def get_many(self, task_ids: Iterable[str]) -> list[Checkpoint | None]:
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
        return run_blocking(self._engine.get_many(task_ids))

    def history(self, task_id: str, n: int = 10) -> list[Checkpoint]:
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
        return run_blocking(self._engine.history(task_id, n))

    def delete(self, task_id: str) -> bool:
        """Delete a task and its saved steps, and return whether it existed.

        Args:
            task_id: The id of the task.

        Returns:
            Whether the task existed.

        Examples:
            >>> memory.tasks.delete("report")
            False
        """
        return run_blocking(self._engine.delete(task_id))

    def run(
        self,
        task_id: str,
        *,
        ns: Ns | None = None,
        lease: Ttl = 60,
        keep: Keep | None = None,
        state: Json = None,
        wait: float = 0,
    ) -> TaskRun:
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
        return TaskRun(self._engine.run(task_id, ns=ns, lease=lease, keep=keep, state=state, wait=wait))

    def list(
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
        return run_blocking(self._engine.list(ns, limit=limit, after=after, reverse=reverse))


class TaskRun:
    """Represents a task while this worker runs it. `tasks.run` returns one, for use in a `with` block.

    You can change `state` in place or replace it. `complete` and `checkpoint` save it, as does the end of the block
    unless there was an error. Every save also renews the lease.
    """

    def __init__(self, engine: AsyncTaskRun) -> None:
        self._engine = engine

    @property
    def task_id(self) -> str:
        """The name of the task."""
        return self._engine.task_id

    @property
    def state(self) -> Any:
        """This is the task's state. You can change it in place or replace it, and the next step saves it."""
        return self._engine.state

    @property
    def step(self) -> int:
        """This is the number of steps completed so far, in all runs."""
        return self._engine.step

    @property
    def fence(self) -> int:
        """This is a number that grows with every run. Pass it to other systems so that they can reject an older
        worker.
        """
        return self._engine.fence

    @property
    def completed(self) -> tuple[str, ...]:
        """These are the completed subtasks, in order."""
        return self._engine.completed

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
        return self._engine.is_complete(item)

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
        return self._engine.remaining(items, key=key)

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
        return self._engine.key(item)

    def complete(
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
        run_blocking(self._engine.complete(item, state, update=update, extend=extend, step=step))

    def checkpoint(
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
        run_blocking(self._engine.checkpoint(state, update=update, extend=extend, step=step))

    def heartbeat(self) -> None:
        """Renew the lease without saving the state.

        Raises:
            LeaseLost: Another worker took over.

        Examples:
            >>> with memory.tasks.run("import", lease=60) as task:
            ...     task.heartbeat()
        """
        run_blocking(self._engine.heartbeat())

    def batch(self) -> Memory:
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
        return cast("Memory", self._engine.batch())

    def __enter__(self) -> Self:
        run_blocking(self._engine.__aenter__())
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._engine.__aexit__(error_type, error, trace))

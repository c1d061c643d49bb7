"""Blocking tasks.

Made by scripts/generate-blocking from engine/tasks/run.py, engine/tasks/tasks.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

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
        """Save a checkpoint; with `expect`, only over that version.

        `keep` is how many saved steps stay readable: "all" (the default of a new task), "latest" or a number.

        Raises `Conflict` if `expect` is not the present version.

        Examples:
            >>> memory.tasks.save({"task_id": "report", "step": 3, "state": {"cursor": "x"}}).version
            1
        """
        return run_blocking(self._engine.save(checkpoint, expect=expect, keep=keep))

    def resume(self, task_id: str) -> Checkpoint | None:
        """Read a task's last checkpoint; None if there is no such task.

        Examples:
            >>> point = memory.tasks.save({"task_id": "report", "step": 3, "state": {"cursor": "x"}})
            >>> memory.tasks.resume("report").state
            {'cursor': 'x'}
        """
        return run_blocking(self._engine.resume(task_id))

    def get_many(self, task_ids: Iterable[str]) -> list[Checkpoint | None]:
        """Read the last checkpoints of several tasks, in the order of the given ids; None for those that do not exist.

        Examples:
            >>> memory.tasks.get_many(["report", "import"])
            [None, None]
        """
        return run_blocking(self._engine.get_many(task_ids))

    def history(self, task_id: str, n: int = 10) -> list[Checkpoint]:
        """List the last `n` saved steps that are kept, newest last.

        Examples:
            >>> points = [memory.tasks.save({"task_id": "report", "step": step, "state": {}}) for step in (1, 2)]
            >>> [point.step for point in memory.tasks.history("report")]
            [1, 2]
        """
        return run_blocking(self._engine.history(task_id, n))

    def delete(self, task_id: str) -> bool:
        """Delete a task and its saved steps; returns whether there was one.

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
        """A context manager that holds the task's lease and resumes its state; `state` is that of a new task.

        A new task belongs to `ns`, by default to the handle's user, or to `global` for a handle without one.

        Raises `LeaseLost` if another worker holds the lease, after trying for up to `wait` seconds.

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
        """List tasks of a namespace (or of all that this handle may read) by id, without their states.

        Examples:
            >>> point = memory.tasks.save({"task_id": "report", "step": 1, "state": {}})
            >>> [task.task_id for task in memory.tasks.list()]
            ['report']
        """
        return run_blocking(self._engine.list(ns, limit=limit, after=after, reverse=reverse))


class TaskRun:
    """A task while this worker runs it; made by `tasks.run`, used in `with`.

    `state` may be changed in place or replaced; it is saved by `complete` and `checkpoint`, and when the block ends
    without an error. Every save also renews the lease.
    """

    def __init__(self, engine: AsyncTaskRun) -> None:
        self._engine = engine

    @property
    def task_id(self) -> str:
        """The name of the task."""
        return self._engine.task_id

    @property
    def state(self) -> Json:
        """The task's state; it may be changed in place or replaced, and is saved with the next step."""
        return self._engine.state

    @state.setter
    def state(self, state: Json) -> None:
        self._engine.state = state

    @property
    def step(self) -> int:
        """How many steps were completed, over all runs."""
        return self._engine.step

    @property
    def fence(self) -> int:
        """The fencing token, which grows with every run: pass it to other systems, so that they can refuse an older
        worker.
        """
        return self._engine.fence

    @property
    def completed(self) -> tuple[str, ...]:
        """The completed subtasks, in order."""
        return self._engine.completed

    def is_complete(self, item: object) -> bool:
        """Whether a subtask was completed, in this run or an earlier one.

        Examples:
            >>> with memory.tasks.run("import") as task:
            ...     task.complete("a")
            ...     task.is_complete("a")
            True
        """
        return self._engine.is_complete(item)

    def remaining(self, items: Iterable[T], *, key: Callable[[T], str] = str) -> Iterator[T]:
        """Iterate over the items that are not complete yet, in order; `key` gives the name of an item.

        Examples:
            >>> with memory.tasks.run("import") as task:
            ...     task.complete("a")
            ...     list(task.remaining(["a", "b"]))
            ['b']
        """
        return self._engine.remaining(items, key=key)

    def key(self, item: object) -> str:
        """An idempotency key for a subtask's effects on other systems; the same in every run.

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
        """Mark a subtask complete and save, in one transaction with everything in the task's batch.

        `update` sets top-level keys of the state and `extend` appends to top-level lists of it: their cost grows with
        the change, that of saving a whole state with the state.

        Raises `LeaseLost`, with nothing written, if another worker took over.

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
        """Save the task's state, in one transaction with everything in the task's batch.

        Raises `LeaseLost`, with nothing written, if another worker took over.

        Examples:
            >>> with memory.tasks.run("crawl", state={"pages": []}) as task:
            ...     task.checkpoint(extend={"pages": ["/a"]})
            >>> memory.tasks.resume("crawl").state
            {'pages': ['/a']}
        """
        run_blocking(self._engine.checkpoint(state, update=update, extend=extend, step=step))

    def heartbeat(self) -> None:
        """Renew the lease without saving the state.

        Raises `LeaseLost` if another worker took over.

        Examples:
            >>> with memory.tasks.run("import", lease=60) as task:
            ...     task.heartbeat()
        """
        run_blocking(self._engine.heartbeat())

    def batch(self) -> Memory:
        """A memory that collects changes; the next save of this task commits them.

        Calling it again starts a new batch: what was collected and not saved is dropped.

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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._engine.__aexit__(kind, error, trace))

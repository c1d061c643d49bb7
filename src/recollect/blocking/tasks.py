"""Blocking tasks."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

from ..engine.tasks import run as taskrun
from ..engine.tasks import tasks as engine
from ..engine.tasks.steps import NOTHING
from ..engine.tasks.tasks import Checkpoint
from ..records import Task
from ..runtime import run_blocking
from ..scope import Namespace

T = TypeVar("T")


class Tasks:
    """Saves and resumes checkpoints, and runs tasks under a lease."""

    def __init__(self, engine: engine.Tasks) -> None:
        self._engine = engine

    def save(
        self,
        checkpoint: Checkpoint | Mapping[str, Any],
        *,
        expect: int | None = None,
        keep: int | str | None = None,
    ) -> Checkpoint:
        return run_blocking(self._engine.save(checkpoint, expect=expect, keep=keep))

    def resume(self, task_id: str) -> Checkpoint | None:
        return run_blocking(self._engine.resume(task_id))

    def get(self, task_id: str) -> Checkpoint | None:
        return run_blocking(self._engine.get(task_id))

    def list(
        self, ns: str | Namespace | None = None, *, limit: int | None = 100, after: str | None = None
    ) -> builtins.list[Task]:
        return run_blocking(self._engine.list(ns, limit=limit, after=after))

    def history(self, task_id: str, n: int = 10) -> builtins.list[Checkpoint]:
        return run_blocking(self._engine.history(task_id, n))

    def delete(self, task_id: str) -> bool:
        return run_blocking(self._engine.delete(task_id))

    def run(
        self,
        task_id: str,
        *,
        ns: str | Namespace = "global",
        lease: float = 60,
        keep: int | str | None = None,
        state: Any = None,
        wait: float = 0,
    ) -> TaskRun:
        return TaskRun(self._engine.run(task_id, ns=ns, lease=lease, keep=keep, state=state, wait=wait))


class TaskRun:
    """A task while this worker runs it; made by `tasks.run`, used in `with`.

    `state` may be changed in place or replaced; it is saved by `complete` and `checkpoint`, and when the block ends
    well. Every save also renews the lease.
    """

    def __init__(self, engine: taskrun.TaskRun) -> None:
        self._engine = engine

    @property
    def task_id(self) -> str:
        return self._engine.task_id

    @property
    def state(self) -> Any:
        return self._engine.state

    @state.setter
    def state(self, state: Any) -> None:
        self._engine.state = state

    @property
    def step(self) -> int:
        return self._engine.step

    @property
    def fence(self) -> int:
        return self._engine.fence

    @property
    def completed(self) -> tuple[str, ...]:
        return self._engine.completed

    def is_complete(self, item: Any) -> bool:
        return self._engine.is_complete(item)

    def remaining(self, items: Iterable[T], *, key: Callable[[T], str] = str) -> Iterator[T]:
        return self._engine.remaining(items, key=key)

    def key(self, item: Any) -> str:
        return self._engine.key(item)

    def complete(
        self,
        item: Any,
        state: Any = NOTHING,
        *,
        update: Mapping[str, Any] | None = None,
        extend: Mapping[str, builtins.list[Any]] | None = None,
        step: int | None = None,
    ) -> None:
        run_blocking(self._engine.complete(item, state, update=update, extend=extend, step=step))

    def checkpoint(
        self,
        state: Any = NOTHING,
        *,
        update: Mapping[str, Any] | None = None,
        extend: Mapping[str, builtins.list[Any]] | None = None,
        step: int | None = None,
    ) -> None:
        run_blocking(self._engine.checkpoint(state, update=update, extend=extend, step=step))

    def heartbeat(self) -> None:
        run_blocking(self._engine.heartbeat())

    def batch(self) -> Any:
        return self._engine.batch()

    def __enter__(self) -> TaskRun:
        run_blocking(self._engine.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._engine.__aexit__(kind, error, trace))

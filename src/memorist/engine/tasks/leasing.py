"""Runs tasks whose work happens elsewhere. The lease outlives the object, which each call resumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...values import check_name
from ..core import Core
from .run import AsyncTaskRun
from .steps import Saved, load


class LeasedRun(AsyncTaskRun):
    """Represents a run under a lease whose owner is named by the caller, for example a client of a server."""

    def __init__(self, core: Core, task_id: str, ns: str, *, owner: str, lease: float, keep: int | None) -> None:
        super().__init__(core, task_id, ns, lease, keep, None, 0)
        self._owner = check_name(owner, "owner")

    @property
    def saved(self) -> Saved:
        """This is the task as it was last saved."""
        return self._held

    async def resume(self, fence: int) -> None:
        """Continue under a lease that an earlier call acquired. Raises LeaseLost if it has been lost.

        The fence distinguishes between two leases of the same owner, because it increases each time a lease is
        acquired.
        """
        saved = await load(self._core, self.task_id)
        if saved is None or saved.task.owner != self._owner or saved.task.fence != fence:
            raise self._lost("another worker holds the lease now")
        self._core.scope.writable(saved.task.ns)
        self._saved, self.state = saved, saved.state()

    async def save(
        self,
        done: list[str],
        state: object,
        update: Mapping[str, object] | None,
        extend: Mapping[str, list[Any]] | None,
        *,
        step: int,
    ) -> None:
        """Save a step and the effects collected by `batch` in one transaction."""
        await self._save(done, state, update, extend, step=step)

    async def finish(self, step: int) -> None:
        """End the task and its lease."""
        await self._finish(step)

    async def release(self) -> None:
        """Release the lease after a failure, without saving anything."""
        await self._release(self._held)

"""Runs tasks on a client. The server holds the lease, the client does the work, and every save is one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, cast

from ..engine.tasks.run import AsyncTaskRun
from ..engine.tasks.steps import NOTHING, Saved
from ..errors import Conflict
from ..records import Task
from ..stores.base import Change
from ..values import JsonObject

if TYPE_CHECKING:
    from ..memory import AsyncMemory
    from ..protocol.server_nouns import Held
    from .core import RemoteCore


class RemoteTaskRun(AsyncTaskRun):
    """Represents a task while this worker runs it, over a remote memory."""

    async def __aenter__(self) -> Self:
        held: Held = await self._acquire(
            lambda: self._remote.call(
                "leases.take", task_id=self.task_id, owner=self._owner, ns=self._ns,
                lease=self._lease.total_seconds(), keep=self._keep,
            )
        )  # fmt: skip
        self._saved = self._as_saved(held, dict.fromkeys(held.completed))
        self.state = held.state if held.saved else self._first_state
        return self

    def _as_saved(self, held: Held, completed: dict[str, None]) -> Saved:
        at = self._core.at()
        task = Task(
            org=self._core.org, task_id=held.task_id, ns=held.ns, step=held.step, fence=held.fence, owner=held.owner,
            leased_until=held.leased_until, version=held.version, created_at=at, updated_at=at,
        )  # fmt: skip
        return Saved(task, completed=completed)

    async def heartbeat(self) -> None:
        """Renew the lease without saving the state."""
        held = await self._remote.call("leases.renew", **self._lease_fields(), lease=self._lease.total_seconds())
        self._saved = self._as_saved(held, self._held.completed)

    def batch(self) -> AsyncMemory:
        """Return a memory that collects writes; the next save of this task commits them together with the step."""
        core = self._remote.batched()
        self._effects = cast("list[Change] | None", core.batch)  # steps of a request, which the server applies
        async_memory: AsyncMemory = core.facade()
        return async_memory

    async def _write(
        self,
        done: list[str],
        state: object,
        update: Mapping[str, object],
        extend: Mapping[str, list[object]],
        **fields: Any,
    ) -> Saved:
        # With `update` or `extend`, only the change is sent; otherwise, the whole state is sent.
        whole = self.state if state is NOTHING else state
        sent = {"update": update, "extend": extend} if update or extend else {"state": whole}
        held = await self._remote.call(
            "leases.save", **self._lease_fields(), step=fields["step"], done=done, effects=list(self._effects or ()),
            finish=fields.get("status") == "done", lease=self._lease.total_seconds(), keep=self._keep, **sent,
        )  # fmt: skip
        return self._as_saved(held, self._held.completed)

    async def _release(self, saved: Saved) -> None:
        try:
            await self._remote.call("leases.release", **self._lease_fields())
        except Conflict:
            # Another worker has already taken over the lease.
            return

    @property
    def _remote(self) -> RemoteCore:
        return cast("RemoteCore", self._core)

    def _lease_fields(self) -> JsonObject:
        return {"task_id": self.task_id, "owner": self._owner, "fence": self._held.task.fence}

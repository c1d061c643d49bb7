"""Runs tasks on a client. The server holds the lease, the client does the work, and every save is one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, cast

from ..engine.tasks.run import AsyncTaskRun, change_back, change_in_place
from ..engine.tasks.steps import NOTHING, Saved
from ..engine.tasks.tasks import Keep
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

    _kept_as: Keep | None = None
    """This is the `keep` argument as the caller passed it. The server interprets it."""

    async def __aenter__(self) -> Self:
        held: Held = await self._acquire(
            lambda: self._remote.call(
                "leases.take", task_id=self.task_id, owner=self._owner, ns=self._ns,
                lease=self._lease.total_seconds(), keep=self._kept_as,
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

    async def _save(
        self,
        done: list[str],
        state: object,
        update: Mapping[str, object] | None,
        extend: Mapping[str, list[object]] | None,
        step: int,
        **fields: object,
    ) -> None:
        saved = self._held
        grown = bool(update or extend)
        # The local state is changed first. If the request fails, it is changed back, so that the caller can repeat the
        # save.
        replaced = change_in_place(self.state, update or {}, extend or {}) if grown else {}
        whole = self.state if state is NOTHING else state
        # With `update` or `extend`, only the change is sent; otherwise, the whole state is sent.
        sent = {"update": update, "extend": extend} if grown and state is NOTHING else {"state": whole}
        try:
            held = await self._remote.call(
                "leases.save", **self._lease_fields(), step=step, done=done, effects=list(self._effects or ()),
                finish=fields.get("status") == "done", lease=self._lease.total_seconds(), keep=self._kept_as, **sent,
            )  # fmt: skip
        except BaseException:
            change_back(self.state, replaced, extend or {})
            raise
        self._saved = self._as_saved(held, saved.completed | dict.fromkeys(done))
        self._effects = None
        if state is not NOTHING:
            self.state = state

    async def _finish(self, step: int | None = None) -> None:
        """Save the changes since the last save and release the lease, in one request."""
        await self._save([], NOTHING, None, None, self.step if step is None else step, status="done")

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

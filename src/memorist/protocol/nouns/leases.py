"""Manages task leases for remote clients. The client does the work, and the server holds the lease and saves the
steps."""

from __future__ import annotations

from typing import Any

import msgspec

from ...engine.tasks.leasing import LeasedRun
from ...engine.tasks.steps import Saved, load
from ...engine.tasks.tasks import kept_steps
from ...errors import LeaseLost, UsageError
from ...values import JsonObject, check_name
from ..server_nouns import Held, Keep, Step
from .batches import collected
from .caller import ServerNoun

MAX_LEASE_SECONDS = 24 * 3600.0


class Leases(ServerNoun):
    """Acquires, renews and releases task leases, and saves steps under them."""

    async def take(
        self, task_id: str, owner: str, ns: str | None = None, lease: float = 60.0, keep: Keep | None = None
    ) -> Held:
        """Acquire the lease on a task and return its state. Returns 409 while another worker holds it.

        `owner` is a token chosen by the caller, unique to this run.
        """
        run = self._run(task_id, owner, lease, keep, ns)
        await run.__aenter__()
        return _held(run.saved, whole=True)

    async def renew(self, task_id: str, owner: str, fence: int, lease: float = 60.0) -> Held:
        """Renew the lease without saving."""
        run = await self._going_on(task_id, owner, fence, lease)
        await run.heartbeat()
        return _held(run.saved)

    async def release(self, task_id: str, owner: str, fence: int) -> bool:
        """Release the lease after a failure. Nothing is saved, and another worker can continue immediately."""
        run = await self._going_on(task_id, owner, fence, 60.0)
        await run.release()
        return True

    async def save(
        self,
        task_id: str,
        owner: str,
        fence: int,
        step: int,
        done: list[str] | None = None,
        state: Any = msgspec.UNSET,
        update: JsonObject | None = None,
        extend: dict[str, list[Any]] | None = None,
        effects: list[Step] | None = None,
        finish: bool = False,
        lease: float = 60.0,
        keep: Keep | None = None,
    ) -> Held:
        """Save a step and commit its effects (other writes) in one transaction. `finish` ends the task and its lease.

        Instead of sending a whole `state`, you can set top-level keys with `update` and append to top-level lists with
        `extend`.
        """
        run = await self._going_on(task_id, owner, fence, lease, keep)
        if effects:
            await collected(self._server, run.batch(), effects, self._key)
        if finish:
            run.state = run.state if state is msgspec.UNSET else state
            await run.finish(step)
        else:
            items = [check_name(item, "subtask") for item in done or ()]
            await run.save(items, state, update, extend, step=step)
        return _held(run.saved)

    async def again(self, call: str, task_id: str, owner: str, **rest: object) -> Any:
        """Return the current task for a request whose idempotency key was used before, if the lease is still ours."""
        if call == "release":
            return True
        saved = await load(self._core, task_id)
        if saved is None or (saved.task.owner != owner and not rest.get("finish")):
            raise LeaseLost("another worker took over; run the task again to resume after its last step", task=task_id)
        return _held(saved, whole=call == "take")

    def _run(self, task_id: str, owner: str, lease: float, keep: Keep | None, ns: str | None) -> LeasedRun:
        check_name(task_id, "task id")
        if not 0 < lease <= MAX_LEASE_SECONDS:
            raise UsageError(f"lease must be above 0 and at most {MAX_LEASE_SECONDS:.0f} seconds (a day)")
        scope = self._core.scope
        space = scope.own() if ns is None else scope.writable(ns)
        return LeasedRun(self._core, task_id, space, owner=owner, lease=lease, keep=kept_steps(keep))

    async def _going_on(
        self, task_id: str, owner: str, fence: int, lease: float, keep: Keep | None = None
    ) -> LeasedRun:
        """Return the run whose lease was acquired by an earlier request. Raises LeaseLost if the lease has been
        lost."""
        run = self._run(task_id, owner, lease, keep, None)
        await run.resume(fence)
        return run


def _held(saved: Saved, *, whole: bool = False) -> Held:
    task = saved.task
    return Held(
        task_id=task.task_id, ns=task.ns, step=task.step, fence=task.fence, owner=task.owner,
        leased_until=task.leased_until, version=task.version, saved=saved.image is not None,
        state=saved.state() if whole else None, completed=tuple(saved.completed) if whole else (),
    )  # fmt: skip

"""Runs transactions. Each runs for one org (row-level security), under the application's role and with time limits, and
is retried if this is safe."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ...backoff import pause
from ...errors import (
    StoreTimeout,
    StoreUnavailable,
    UnknownOutcome,
)
from ...runtime import Runtime
from .errors import broken, refused
from .options import Options
from .pipeline import POOLER_SQLSTATES, Failed, Lost, Reply, Step, cell
from .pools import Pools

OUR_SQLSTATES = ("MM001", "MM002", "MM003", "MM004", "MM005")
"""SQLSTATEs that our SQL functions raise; the first migration lists them."""
_COLLISION_SQLSTATES = ("40001", "40P01", "23505")
"""SQLSTATEs for serialization failures, deadlocks and unique violations, which mean that another transaction was
faster."""
_MAX_ATTEMPTS = 12


class Session:
    """Runs units of work over the pools of a store."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self.options = options
        self.pools = Pools(options, runtime)
        self.runtime = runtime
        self.assume(None, None)

    def open(self) -> None:
        """Accept work, also after `close`."""
        self.pools.open()

    def assume(self, app: str | None, worker: str | None) -> None:
        """Use these database roles from now on: `app` for the rows of one org, `worker` for work across orgs."""
        limits = {
            "statement_timeout": f"{self.options.statement_timeout * 1000:.0f}",
            "lock_timeout": f"{self.options.lock_timeout * 1000:.0f}",
            # Every statement has an index, so one generic plan fits all parameters. Planning each call would take
            # longer than reading the rows. Sequential scans are off, because a plan made while a table was small would
            # keep scanning the whole table. When the generic plan starts, it skips the partitions of other orgs.
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
        }
        common = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in limits.items())
        mode = "off" if self.options.durability == "normal" else "on"
        # Full durability only overrides `off`. A stricter level that the operator chose, such as `remote_apply`, stays.
        when = "true" if mode == "off" else "current_setting('synchronous_commit') = 'off'"
        durable = f"CASE WHEN {when} THEN set_config('synchronous_commit', '{mode}', true) END"
        role, across = (f", set_config('role', '{name}', true)" if name else "" for name in (app, worker))
        # The third argument limits each setting to the transaction, so the next caller of the pooled connection never
        # inherits this org or role.
        enter = "SELECT set_config('memorist.org', $1, true)"
        self._read = f"{enter}, {common}{role}".encode()
        self._write = f"{enter}, {common}, {durable}{role}".encode()
        self._across = f"{enter}, {common}, {durable}{across}".encode()

    def reading(self, org: str) -> Step:
        """Return the step that precedes reads of an org."""
        return Step(self._read, [cell(org)])

    def writing(self, org: str) -> Step:
        """Return the step that precedes changes to an org."""
        return Step(self._write, [cell(org)])

    def across(self) -> Step:
        """Return the step that precedes work across orgs: claiming jobs, listing orgs, purging."""
        return Step(self._across, [b""])

    async def read(self, org: str, *steps: Step) -> Reply:
        """Run read-only statements for one org, and return the reply to the last one."""
        return (await self.run([self.reading(org), *steps], repeatable=True))[-1]

    async def query(self, sql: bytes) -> list[tuple[Any, ...]]:
        """Return the rows of one read-only statement, which runs as the connecting user and for no org."""
        return (await self.run([Step(sql, ())], repeatable=True))[0].rows

    async def run(self, steps: Sequence[Step], *, repeatable: bool) -> list[Reply]:
        """Run one transaction in one round trip.

        Raises Failed for our own refusals, and one of the library's errors in all other cases. With `repeatable`, steps
        whose replies were lost are sent again.
        """
        tries, unsure, until = 0, False, time.monotonic() + self.options.connect_timeout
        while True:
            tries += 1
            try:
                return await self.pools.run(steps, self._reply_seconds(len(steps)))
            except Failed as failed:
                if failed.state in OUR_SQLSTATES:
                    raise
                if failed.state in POOLER_SQLSTATES and (self.pools.stop_preparing() or tries <= _MAX_ATTEMPTS):
                    # A pooler in transaction mode does not support prepared statements, so try again without them.
                    continue
                if tries > _MAX_ATTEMPTS or not _is_worth_repeating(failed):
                    raise refused(failed, self.options) from failed
                # The server has rolled back, so the whole transaction can be sent again. The pause is random, so that
                # two writers that collided do not collide again.
                await self.runtime.sleep(pause(tries, first=0.002, longest=0.05))
            except Lost as lost:
                # A broken connection says nothing about the commit. Repeating an append without a key could store the
                # message twice, so only `repeatable` steps are sent again. Once a transaction may have been committed,
                # the outcome stays unknown, even if a later attempt fails before it sends anything.
                unsure = unsure or lost.sent
                if tries > _MAX_ATTEMPTS or lost.slow or (unsure and not repeatable):
                    raise broken(lost, self.options, unsure=unsure and not repeatable) from lost
            except (StoreUnavailable, StoreTimeout) as away:
                # These errors mean that nothing was done, which is wrong if an earlier attempt may have committed.
                if not unsure:
                    raise
                if time.monotonic() > until:
                    raise UnknownOutcome(f"the reply was lost, then {away}") from away
                await self.runtime.sleep(pause(tries, first=0.05, longest=0.5))

    def _reply_seconds(self, steps: int) -> float:
        # The server's own timeouts end slow statements. This limit applies to a server that does not answer at all.
        return self.options.statement_timeout + self.options.lock_timeout + 5.0 + steps / 1000

    async def close(self) -> None:
        """Close the pools of this process."""
        await self.pools.close()


def _is_worth_repeating(failed: Failed) -> bool:
    """Return whether a failed transaction, which was rolled back, is likely to succeed if retried."""
    # Postgres refuses to run a prepared statement whose result type a migration has changed. `settle` has closed the
    # connection, so the next attempt prepares it anew. A class 57P error means that the server is stopping or
    # starting.
    stale_plan = failed.state == "0A000" and "cached plan" in failed.message
    return failed.state in _COLLISION_SQLSTATES or stale_plan or (failed.fatal and failed.state.startswith("57P"))

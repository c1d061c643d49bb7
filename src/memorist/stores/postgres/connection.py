"""Runs transactions: each for one org (row-level security), under the application's role, with time limits, and retried
where that is safe."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from ...backoff import pause
from ...errors import (
    StoreUnavailable,
    UnknownOutcome,
)
from ...runtime import Runtime
from ..base import may_read_replicas
from .clients import Pool
from .errors import broken, refused
from .options import Options
from .wire import Failed, Lost, Reply, Step, cell

OURS = ("MM001", "MM002", "MM003", "MM004", "MM005")
"""SQLSTATEs that our SQL functions raise; the first migration lists them."""
POOLED = ("26000", "42P05")
"""A prepared statement does not exist, or exists already: a pooler gave us another server connection."""
_COLLISIONS = ("40001", "40P01", "23505")
"""Serialization failure, deadlock, unique violation: another transaction was faster."""
_TRIES = 12


class ReadReplica(Protocol):
    """A standby that may answer reads; see replica.py."""

    async def read(self, org: str, steps: Sequence[Step]) -> Reply | None:
        """The reply to the last step, or None where this server cannot answer now."""
        ...

    def writes(self) -> int:
        """How many writes of this process have ended so far."""
        ...

    def wrote(self) -> None:
        """Count a write that ended, committed or not."""
        ...

    def saw(self, writes: int, reply: Reply) -> None:
        """Note the write-ahead log position that a read of the primary returned; `writes` is the count at its start."""
        ...


POSITION = Step(b"SELECT pg_current_wal_insert_lsn()::text", ())


class Session:
    """Runs units of work over a pool."""

    replica: ReadReplica | None = None
    """Answers reads made under `replica_reads`, if it can."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self.options = options
        self.pool = Pool(options, runtime)
        self.runtime = runtime
        self.assume(None, None)

    def assume(self, app: str | None, worker: str | None) -> None:
        """Use these database roles from now on: `app` for the rows of one org, `worker` for work across orgs."""
        limits = {
            "statement_timeout": f"{self.options.statement_timeout * 1000:.0f}",
            "lock_timeout": f"{self.options.lock_timeout * 1000:.0f}",
            # Every statement has its index, so one generic plan serves all: planning for each set of parameters would
            # cost more than the rows, and sequential scans are off because a plan made while a table was small would
            # keep scanning it whole. Partitions of other orgs are pruned when the generic plan starts.
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
        }
        common = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in limits.items())
        wanted = "off" if self.options.durability == "normal" else "on"
        when = "true" if wanted == "off" else "current_setting('synchronous_commit') = 'off'"
        durable = f"CASE WHEN {when} THEN set_config('synchronous_commit', '{wanted}', true) END"
        role, across = (f", set_config('role', '{name}', true)" if name else "" for name in (app, worker))
        enter = "SELECT set_config('memorist.org', $1, true)"
        self._read = f"{enter}, {common}{role}".encode()
        self._write = f"{enter}, {common}, {durable}{role}".encode()
        self._across = f"{enter}, {common}, {durable}{across}".encode()

    def reading(self, org: str) -> Step:
        """The step that comes before reads of an org."""
        return Step(self._read, [cell(org)])

    def writing(self, org: str) -> Step:
        """The step that comes before changes of an org."""
        return Step(self._write, [cell(org)])

    def across(self) -> Step:
        """The step that comes before work across orgs: claiming jobs, listing orgs, purging."""
        return Step(self._across, [b""])

    async def read(self, org: str, *steps: Step) -> Reply:
        """Run reading statements for one org, on the replica where allowed; the reply to the last."""
        replica = self.replica
        if replica is None:
            return (await self._run([self.reading(org), *steps], repeatable=True))[-1]
        if may_read_replicas():
            reply = await replica.read(org, steps)
            if reply is not None:
                return reply
        writes = replica.writes()
        *_, reply, position = await self._run([self.reading(org), *steps, POSITION], repeatable=True)
        replica.saw(writes, position)
        return reply

    async def run(self, steps: Sequence[Step], *, repeatable: bool) -> list[Reply]:
        """One transaction, one round trip. Raises Failed for our own refusals, else errors of our tree."""
        try:
            return await self._run(steps, repeatable=repeatable)
        finally:
            if self.replica is not None:
                self.replica.wrote()

    async def _run(self, steps: Sequence[Step], *, repeatable: bool) -> list[Reply]:
        tries, unsure, until = 0, False, time.monotonic() + self.options.connect_timeout
        while True:
            tries += 1
            try:
                return await self._once(steps)
            except Failed as failed:
                if failed.state in OURS:
                    raise
                if failed.state in POOLED and (self.pool.stop_preparing() or tries <= _TRIES):
                    # A pooler in transaction mode without support for prepared statements: try again without them.
                    continue
                if tries > _TRIES or not _worth_repeating(failed):
                    raise refused(failed, self.options) from failed
                await self.runtime.sleep(pause(tries, first=0.002, longest=0.05))
            except Lost as lost:
                unsure = unsure or lost.sent
                if tries > _TRIES or lost.slow or (unsure and not repeatable):
                    raise broken(lost, self.options, unsure=unsure and not repeatable) from lost
            except StoreUnavailable as away:
                # An earlier attempt may have committed: then the error must not say that nothing was done.
                if not unsure:
                    raise
                if time.monotonic() > until:
                    raise UnknownOutcome(f"the reply was lost, then {away}") from away
                await self.runtime.sleep(pause(tries, first=0.05, longest=0.5))

    async def _once(self, steps: Sequence[Step]) -> list[Reply]:
        pool = self.pool
        channel = await pool.take()
        try:
            return await pool.exchange(channel, steps)
        finally:
            pool.give(channel)

    async def script(self, sql: str, patience: float) -> None:
        """Run a text of several statements as the connecting user; raises Failed or Lost."""
        channel = await self.pool.take()
        try:
            await self.pool.script(channel, sql, patience)
        except Failed:
            channel.broken = True  # its transaction is still open
            raise
        finally:
            self.pool.give(channel)


def _worth_repeating(failed: Failed) -> bool:
    """Whether a failed transaction, which was rolled back, is likely to succeed when tried again."""
    stale_plan = failed.state == "0A000" and "cached plan" in failed.message
    return failed.state in _COLLISIONS or stale_plan or (failed.fatal and failed.state.startswith("57P"))

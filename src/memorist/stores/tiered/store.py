"""Puts a hot store in front of a durable one. Working memory, entities, state and recent history are served from the
hot store.

The durable store is authoritative and is written before the copies are updated. If the hot store is flushed, restarted
or unavailable, reads become slower, but no data is lost. The hot store is used again once it answers. copies.py
describes the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ...errors import MemoristError, StoreError, UnknownOutcome, Unsupported
from ...ids import new_id
from ...messages.message import Message
from ...records import Job, Key, StateEntry, StoreIdentity
from ...values import JsonObject
from ..base import (
    Appended,
    Change,
    ChangeResult,
    Claims,
    DeleteRange,
    Diagnoses,
    Put,
    R,
    Scan,
    Scrubbed,
    Scrubs,
    Store,
)
from .changes import (
    FILLED,
    MISS,
    NEWEST,
    ROW_KINDS,
    WINDOW_MESSAGES,
    CopyPlan,
    Marks,
    body_of,
    copy_plans,
    ends_of,
    newest_messages,
    number_key,
    row_in_copy,
)
from .copies import Copy, HotDown, HotSide

_TIER = StoreIdentity(org="memorist", name="tier", id="")


class TieredStore:
    """Puts any hot store in front of any durable store."""

    def __init__(self, durable: Store, hot: Store, *, max_age: float = 60.0) -> None:
        relax = getattr(hot, "as_cache", None)
        if relax is not None:
            relax()
        self.name = f"{durable.name}+{hot.name}"
        self.durable = durable
        self.hot = hot
        self._hot = HotSide(hot, max_age)

    def __getattr__(self, name: str) -> object:
        # This provides the optional protocols of the durable store, such as search.
        if name.startswith("_") or name == "durable":
            raise AttributeError(name)
        return getattr(self.durable, name)

    async def open(self) -> None:
        """Open the durable store. The hot store is opened when it is first needed."""
        await self.durable.open()
        identity = await self.durable.get(StoreIdentity, _TIER.row_key, now=0)
        if identity is None:
            # Two processes may do this at once. The second read returns the id that was stored first.
            fresh = msgspec.structs.replace(_TIER, id=new_id())
            await self.durable.apply([Put(fresh, absent=True)], now=0)
            identity = await self.durable.get(StoreIdentity, _TIER.row_key, now=0)
        if identity is None:
            raise StoreError("the durable store did not store the identity of its hot copies")
        self._hot.serve(identity.id)

    async def close(self) -> None:
        """Close both stores."""
        await self._hot.close()
        await self.durable.close()

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        if record_type not in ROW_KINDS or not self._hot.up:
            return await self.durable.get(record_type, key, now=now)
        return (await self.get_many(record_type, [key], now=now))[0]

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of the keys."""
        orgs = {key[0] for key in keys}
        if record_type not in ROW_KINDS or len(orgs) != 1:  # each org has its own generation
            return await self.durable.get_many(record_type, keys, now=now)
        org = str(orgs.pop())
        copy_keys = [self._hot.copy_key(org, record_type.table.name, key[1:]) for key in keys]
        try:
            generation, copies = await self._hot.read(org, copy_keys, now)
        except HotDown:
            return await self.durable.get_many(record_type, keys, now=now)
        # The copies were read first, with their versions, and every write marks its copies before it commits. If one
        # commits after the durable read below, its mark has changed the version, and the fill fails.
        results: list[Any] = [row_in_copy(record_type, copy, now) for copy in copies]
        missing = [number for number, result in enumerate(results) if result is MISS]
        if missing:
            rows = await self.durable.get_many(record_type, [keys[number] for number in missing], now=now)
            for number, row in zip(missing, rows, strict=True):
                results[number] = row
            fills = [(copy_keys[number], copies[number], results[number]) for number in dict.fromkeys(missing)]
            await self._fill(org, generation, fills, now)
        return results

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return live rows within the bounds. The newest messages of a thread come from the hot store."""
        if scan.kind is Message and len(scan.prefix) == 2 and 0 < (scan.limit or 0) <= WINDOW_MESSAGES:
            org, thread = scan.prefix
            if scan == Scan(scan.kind, scan.prefix, reverse=True, limit=scan.limit):
                return await self._newest(str(org), str(thread), scan.limit or 0, now)  # type: ignore[return-value]
        return await self.durable.scan(scan, now=now)

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Mark the copies, apply the changes to the durable store, then replace the marks with the new values."""
        plans = copy_plans(changes, self._hot)
        tokens = {org: await self._mark(org, plan, now) for org, plan in plans.items()}
        try:
            results = await self.durable.apply(changes, now=now)
        # A definite refusal frees the copies. After a cancellation or an unknown outcome, the marks stay until they
        # lapse, so that no reader fills a copy with a row from before the commit.
        except BaseException as error:
            for org, plan in plans.items():
                if isinstance(error, MemoristError) and not isinstance(error, UnknownOutcome):
                    await self._free(org, plan, now)
                elif plan.wipe or tokens[org] is None:
                    # No marks keep readers away from the copies, so wipe the org before it is served hot again.
                    self._hot.distrust(org)
            raise
        for org, plan in plans.items():
            await self._settle(org, plan, tokens[org], results, now)
        return results

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows permanently, together with their copies."""
        counts = await self.durable.purge(now=now, limit=limit)
        with suppress(HotDown):
            while any((await self._hot.guarded(lambda: self.hot.purge(now=now))).values()):
                continue
        return counts

    async def claim(
        self, queue: str, *, owner: str, now: int, lease: int, limit: int = 1, org: str | None = None
    ) -> list[Job]:
        """Lease jobs in the durable store."""
        return await self._claims().claim(queue, owner=owner, now=now, lease=lease, limit=limit, org=org)

    async def orgs(self) -> list[str]:
        """Return every org that has rows."""
        return await self._claims().orgs()

    @property
    def owns_files(self) -> bool:
        """This is True if the files of both stores belong only to this memory."""
        return all(isinstance(store, Scrubs) and store.owns_files for store in (self.durable, self.hot))

    async def scrub(self) -> Scrubbed:
        """Scrub both stores after deleting all copies in the hot store. Raises an error if the hot store is
        unavailable."""
        # An emptied copy still contains the key of the deleted row.
        await self._hot.erase()
        report = Scrubbed()
        for store in (self.durable, self.hot):
            if not isinstance(store, Scrubs):
                raise Unsupported(f"the {store.name} store cannot remove deleted bytes from its files")
            report += (await store.scrub()).under(store.name)
        return report

    async def diagnose(self, *, deep: bool = False) -> JsonObject:
        """Return the reports on both stores. An unavailable hot store is reported as a problem."""
        report = await self.durable.diagnose(deep=deep) if isinstance(self.durable, Diagnoses) else {}
        problems = list(report.get("problems", ()))
        hot: JsonObject = {"store": self.hot.name}
        if isinstance(self.hot, Diagnoses):
            try:
                hot = await self._hot.guarded(self.hot.diagnose)
            except HotDown as down:
                hot["problems"] = [f"the hot store cannot be reached: {down.__cause__ or 'it failed recently'}"]
                problems += hot["problems"]
        return {**report, "store": self.name, "hot": hot, "problems": problems}

    # -- rows

    async def _fill(self, org: str, generation: int, fills: Iterable[tuple[Key, Copy, Any]], now: int) -> None:
        versions: dict[Key, int] = {}
        puts: list[Change] = []
        for copy_key, copy, row in fills:
            # An absence is worth a copy too: otherwise each read of a key that does not exist costs two requests.
            body = {"a": now} if row is None else body_of(row)
            if copy.fillable and body is not None:
                versions[copy_key] = copy.version
                puts.append(Put(self._hot.entry(copy_key, {"b": body}, now, ends_of(row))))
        if puts:
            with suppress(HotDown):
                await self._hot.fill(org, generation, versions, puts, now)

    # -- the newest messages

    async def _newest(self, org: str, thread: str, limit: int, now: int) -> list[Message]:
        partition = self._hot.partition("messages", [thread])
        try:
            generation, copies = await self._hot.scan(org, partition, limit + 2, now)  # two copies precede the messages
        except HotDown:
            return await self.durable.scan(Scan(Message, (org, thread), reverse=True, limit=limit), now=now)
        messages = newest_messages(copies, limit, now)
        if messages is not None:
            return messages
        # The version was read before the rows. If somebody appends in between, the fill below finds another version.
        head = Copy(copies[0] if copies and copies[0].key == NEWEST else None, now)
        rows = await self.durable.scan(Scan(Message, (org, thread), reverse=True, limit=WINDOW_MESSAGES), now=now)
        if head.fillable:
            await self._fill_window(org, generation, partition, head, rows, now)
        return rows[:limit]

    async def _fill_window(
        self, org: str, generation: int, partition: str, head: Copy, rows: list[Message], now: int
    ) -> None:
        copy_key, filled = (org, partition, NEWEST), (org, partition, FILLED)
        top = rows[0].seq if rows else 0
        # All copies expire with the first message that does. Otherwise, the window would have a gap that looks like a
        # lost message.
        ends = min((end for row in rows if (end := ends_of(row)) is not None), default=None)
        bodies = [(row.seq, body_of(row)) for row in rows]
        if any(body is None for _, body in bodies):  # one is too large, and a window must not have gaps
            return
        # A full page may have older messages behind it, so only a shorter one is the whole thread.
        extent = {"top": top, "at": now, "whole": len(rows) < WINDOW_MESSAGES}
        changes: list[Change] = [DeleteRange(StateEntry, (org, partition), before=(FILLED,))]
        changes += [
            Put(self._hot.entry((org, partition, number_key(seq)), {"b": body}, now, ends)) for seq, body in bodies
        ]
        changes.append(Put(self._hot.entry(filled, {"b": extent}, now, ends)))
        changes.append(Put(self._hot.entry(copy_key, {"b": {"top": top}}, now)))
        # Appends change only the head, so its version alone shows whether the thread has grown since it was read.
        with suppress(HotDown):
            await self._hot.fill(org, generation, {copy_key: head.version}, changes, now)

    # -- writes

    async def _mark(self, org: str, plan: CopyPlan, now: int) -> Marks | None:
        """Mark the copies that a batch will change. Return None if the hot store could not be written."""
        if plan.wipe:
            await self._hot.wipe(org)
        copy_keys = plan.copy_keys()
        if not copy_keys:
            return Marks(None, {})
        try:
            generation, results = await self._hot.mark(
                org, [self._hot.marking_put(copy_key, now) for copy_key in copy_keys], now
            )
        except HotDown:
            return None
        return Marks(
            generation, {copy_key: stored.version for copy_key, stored in zip(copy_keys, results, strict=True)}
        )

    async def _free(self, org: str, plan: CopyPlan, now: int) -> None:
        changes: list[Change] = [
            DeleteRange(StateEntry, copy_key[:2], before=(NEWEST,))
            for copy_key, new in plan.windows.items()
            if new is None
        ]
        changes += [self._hot.emptying_put(copy_key, now) for copy_key in plan.copy_keys()]
        if plan.wipe:
            await self._hot.wipe(org)
        if changes:
            # `mark` has recorded the failure, so the org is wiped before it is served hot again.
            with suppress(HotDown):
                await self._hot.mark(org, changes, now)

    async def _settle(
        self, org: str, plan: CopyPlan, marks: Marks | None, results: list[ChangeResult], now: int
    ) -> None:
        """Replace the marks with the new values, or empty the copies if others wrote to them in the meantime."""
        if marks is None:
            # Without marks, a reader may have filled a copy with the value that this batch has just replaced.
            await self._hot.wipe(org)
            return
        # The messages of a replayed append were stored by an earlier call and may have been edited since.
        replayed = any(isinstance(result, Appended) and result.replayed for result in results)
        puts = [] if replayed or plan.wipe else plan.settling_changes(results, self._hot, now)
        if not puts:
            await self._free(org, plan, now)
            return
        try:
            filled = await self._hot.fill(org, marks.generation, marks.versions, puts, now)
        except HotDown:
            # It is unknown whether the marks were replaced, so the org's copies cannot be trusted.
            await self._hot.wipe(org)
            return
        if not filled:
            # Another writer marked a copy after us. Which of the two committed last is unknown here, so neither stores
            # its own value: the copies become empty, and the next reader fetches the row.
            await self._free(org, plan, now)

    def _claims(self) -> Claims:
        if not isinstance(self.durable, Claims):
            raise Unsupported(f"the {self.durable.name} store cannot lease jobs")
        return self.durable

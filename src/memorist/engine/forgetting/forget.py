"""Deletes a thing and everything derived from it from every table and, on request, from the files too.

A write-ahead job records what must be forgotten. If the process dies halfway, the job remains. Every `forget` first
calls `resume`, which finishes such jobs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from ...errors import NotFound, StoreError, Unsupported, UsageError
from ...ids import fingerprint
from ...kinds import namespaced, thread_ref
from ...messages.message import message_id
from ...records import ChangeNotice, Fact, Job, Key, Ref, Thread, as_dict
from ...stores.base import Change, Delete, DeleteRange, Put
from ...values import JsonObject, check_name
from ..audit import audit
from ..core import Core
from ..hooks import warn
from ..index_jobs import index_job
from ..memories import Remembered, record_id
from ..scrubbing import own_files, search_files
from .erase import Eraser
from .guard import owners

if TYPE_CHECKING:
    from ...gate.encryption import Encryption

FORGET_QUEUE = "forget"
SCRUB_ITEM = "scrub"
FactRef = str | tuple[str, str] | Fact | Remembered
"""A fact, `(namespace, key)`, `"namespace/key"` or, on a user's handle, its key or its id in `memory.memories`."""


class Erasure(msgspec.Struct, frozen=True):
    """Reports the result of `forget`: the number of deleted rows by table, and what a subsequent search of the files
    found.
    """

    to_dict = as_dict

    kind: str
    counts: dict[str, int]
    tombstones: int
    physical: bool = False
    verified: bool | None = None
    """This is True if no piece of it was found in the store's rows and files, and None if not all of them were
    searched."""
    found: list[str] = []
    """These files and tables still contain a piece of it."""
    checked: list[str] = []
    """These files and tables were searched."""
    unchecked: list[str] = []
    """These places were not searched and may still contain it. Each has a reason."""
    preview: bool = False
    """This is True for a preview: nothing was deleted, and the counts say what would be deleted."""
    shredded: list[str] = []
    """These are the ids of the destroyed keys. A check has shown that content encrypted with them can no longer be
    read. In a preview, they are those that would be destroyed."""
    complete: bool = True
    """This is False if derived data is left in a namespace that this handle may not write."""

    @property
    def total(self) -> int:
        """This is the number of deleted rows."""
        return sum(self.counts.values())


class Forgetting:
    """Forgets users, threads, messages, facts and sources."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def forget(
        self,
        *,
        user: str | None = None,
        thread: str | None = None,
        message: str | None = None,
        fact: FactRef | None = None,
        source: str | None = None,
        physical: bool = False,
        shred: bool = False,
        preview: bool = False,
    ) -> Erasure:
        """Delete one thing and everything derived from it; see `AsyncMemory.forget`."""
        if self._core.batch is not None:
            raise UsageError("forget cannot be part of a batch; call it on the memory itself")
        if physical:
            own_files(self._core)
        options = {"user": user, "thread": thread, "message": message, "fact": fact, "source": source}
        named = [(option, value) for option, value in options.items() if value is not None]
        if len(named) != 1:
            raise UsageError("pass exactly one of user=, thread=, message=, fact= or source=")
        encryption = self._encryption(user) if shred else None
        # Before `resume`, because a thread that an interrupted erasure had begun to delete is not found afterwards.
        root = await self._root(*named[0])
        if preview:
            eraser = Eraser(self._core.batched(), root)  # nobody commits this batch
            complete = await eraser.erase()
            keys = [] if encryption is None else encryption.key_ids(self._core.org, root.ns)
            return Erasure(_option(root), eraser.counts, 0, preview=True, shredded=keys, complete=complete)
        resumed = await self._resume()
        item = f"{root.kind}:{fingerprint(root.id)}"
        job = index_job(self._core.org, self._core.scope.own(), item, self._core.at(), FORGET_QUEUE)
        job = msgspec.structs.replace(job, payload={"root": msgspec.to_builtins(root), "physical": physical})
        # The Delete makes this batch count as a deletion, which succeeds on a full disk.
        await self._core.apply(Delete(Job, job.row_key), Put(job))
        erasure = await self._erase(job)
        for earlier in (report for other, report in resumed if other == root):
            erasure = _combined(earlier, erasure)
        if encryption is None:
            return erasure
        from ...gate.encryption import destroy_and_prove

        # At the very end, because erasing has to read the data it removes.
        keys = await self._core.runtime.call(destroy_and_prove, encryption, self._core.org, root.ns)
        return msgspec.structs.replace(erasure, shredded=keys)

    def _encryption(self, user: str | None) -> Encryption:
        """Return the keys that `shred` destroys. Raises an error if there are none."""
        if user is None:
            raise UsageError("shred=True destroys the key of a user; call forget(user=…, shred=True)")
        encryption: Encryption | None = getattr(self._core.shared.store, "encryption", None)
        if encryption is None:
            raise Unsupported("there is no key to destroy: this memory was opened without encryption=")
        return encryption

    async def resume(self) -> list[Erasure]:
        """Finish the erasures that earlier processes started, each with the rights of the handle that requested it."""
        return [erasure for _, erasure in await self._resume()]

    async def _resume(self) -> list[tuple[Ref, Erasure]]:
        done = []
        scope = self._core.scope
        for job in await self._core.scan(Job, FORGET_QUEUE):
            if job.item == SCRUB_ITEM:
                try:
                    await self._scrub(job.row_key)
                except (StoreError, Unsupported) as error:  # the job stays, and other forgettings continue
                    warn("deleted bytes are still in the files of the store: %s", error)
            elif scope.user is None or job.ns == scope.own():
                user = job.ns.removeprefix("user:") if job.ns.startswith("user:") else None
                asked = Forgetting(self._core.narrowed(scope.narrow(user=user)) if user else self._core)
                done.append((msgspec.convert(job.payload["root"], Ref), await asked._erase(job)))
        return done

    async def _root(self, option: str, value: Any) -> Ref:
        """Return the reference to the thing to forget. Raises an error if it is not in this scope."""
        if option == "user":
            return Ref("namespace", f"user:{self._core.scope.subject(value)}")
        if option == "fact":
            return await self._fact(value)
        id = check_name(value if isinstance(value, str) else getattr(value, "id", value), option)
        if option == "source":
            # Several users may have sources of the same name. Each forgets what came to them from it, and must not
            # learn from an error that somebody else has one.
            return Ref("source", key=id)
        thread, seq = (id, None) if option == "thread" else message_id(id)
        if not await self._may_forget(thread):
            raise NotFound(f"no such {option} to forget", kind=option, id=id)
        return thread_ref(thread) if seq is None else Ref("message", key=thread, part=str(seq))

    async def _may_forget(self, thread: str) -> bool:
        """Return whether a thread is, or was, in a namespace that this handle may write."""
        row = await self._core.store.get(Thread, (self._core.org, thread), now=0)
        spaces = [link.source_ns for link in await owners(self._core, "thread", thread)] if row is None else [row.ns]
        return any(map(self._core.scope.may_write, spaces))

    async def _fact(self, value: object) -> Ref:
        if isinstance(value, Remembered) and value.kind == "fact":
            value = record_id(value)
        if isinstance(value, Fact):
            value = (value.ns, value.key)
        if isinstance(value, tuple) and len(value) == 2:
            return Ref("fact", self._core.scope.writable(value[0]), check_name(value[1], "fact key"))
        readings = list(namespaced(value)) if isinstance(value, str) else []
        if not readings and isinstance(value, str) and self._core.scope.user is not None:
            readings = [(self._core.scope.own(), value.removeprefix("fact:"))]
        if len(readings) > 1:
            readings = [reading for reading in readings if await self._core.get(Fact, *reading)]
        if len(readings) != 1:
            raise UsageError("pass the fact itself, (namespace, key) or 'namespace/key'")
        return Ref("fact", self._core.scope.writable(readings[0][0]), readings[0][1])

    async def _erase(self, job: Job) -> Erasure:
        root, physical = msgspec.convert(job.payload["root"], Ref), job.payload["physical"]
        eraser, option = Eraser(self._core, root), _option(root)
        # The job names what was forgotten, so it is deleted before the files are scrubbed; a scrub job, which names
        # nothing, replaces it, so that a failed scrub is done by the next forgetting.
        scrub = index_job(self._core.org, "global", SCRUB_ITEM, self._core.at(), FORGET_QUEUE)

        async def end(counts: dict[str, int]) -> list[Change]:
            # The event names only a fingerprint: it records that something was forgotten, not what.
            detail: JsonObject = {"counts": counts, "physical": physical}
            event = audit(self._core, "forget", option, fingerprint(root.id), detail=detail)
            changes: list[Change] = [Delete(Job, job.row_key), event, *([Put(scrub)] if physical else [])]
            if option == "user":
                changes[1] = Put(msgspec.structs.replace(event.record, user=None))
                changes.append(DeleteRange(ChangeNotice, (self._core.org, root.ns)))
            return changes

        # A stored job is from an earlier attempt. Nobody knows in which namespaces that one deleted something.
        complete = await eraser.erase(end, everywhere=job.version > 0)
        # After the last commit, because a reader could fill the caches again with rows that are still there.
        self._core.shared.drop_cached(self._core.org)
        if physical:
            await self._scrub(scrub.row_key)
        report = await search_files(self._core, eraser.needles.bytes, physical, bool(eraser.counts))
        return Erasure(
            option, eraser.counts, len(eraser.tombstones), physical, report.verified, report.found,
            report.checked, report.unchecked, complete=complete,
        )  # fmt: skip

    async def _scrub(self, job: Key) -> None:
        await own_files(self._core).scrub()
        await self._core.apply(Delete(Job, job))


def _combined(earlier: Erasure, erasure: Erasure) -> Erasure:
    """Return the report of an erasure together with that of an interrupted erasure of the same thing, which had to be
    finished first and has left little or nothing to delete."""
    is_earlier = not erasure.counts and earlier.physical == erasure.physical
    return msgspec.structs.replace(
        earlier if is_earlier else erasure,
        counts=dict(sorted((Counter(earlier.counts) + Counter(erasure.counts)).items())),
        tombstones=max(earlier.tombstones, erasure.tombstones),
        complete=erasure.complete,
    )


def _option(root: Ref) -> str:
    """Return the option of `forget` by which a caller names a root."""
    return "user" if root.kind == "namespace" else root.kind

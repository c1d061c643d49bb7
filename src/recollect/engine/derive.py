"""What follows from what users say: facts and learnings, from the `derive` jobs of threads.

One apply writes what a stretch of messages yields, the lineage, the mark and the end of the job, so that a killed
worker leaves nothing half derived and nothing is derived twice. Only users' own text is read; see `recollect.extract`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import ModelError
from ..messages import Message
from ..records import Fact, Job, Mark, Thread, Tombstone
from ..scope import Scope
from ..stores.base import Change, Delete, Expect, Put
from ..values import fingerprint_json
from .core import Core
from .facts import Facts
from .learnings import Learnings

BATCH = 100
PASSING = "recollect.passing"
"""Set in the metadata of a message that should leave nothing behind."""
SOURCES = 8
"""How many of the newest sources a fact names."""
SURER = 0.3
"""The share of the remaining doubt that hearing the same again removes."""


class Deriver:
    """Reads threads for facts and learnings."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def run(self, job: Job) -> int:
        """Read a thread from its mark to its end; how many facts and learnings were written."""
        total = 0
        while True:
            written, more = await self._stretch(job)
            total += written
            if not more:
                return total

    async def _stretch(self, job: Job) -> tuple[int, bool]:
        core, id = self._core, job.item.partition(":")[2]
        thread, mark = await core.get(Thread, id), await core.get(Mark, "derive", job.item)
        if thread is None:
            await core.apply(Delete(Job, job.row_key))
            return 0, False
        done = mark.position if mark else 0
        messages = await core.scan(Message, id, after=(done,), limit=BATCH)
        reached = messages[-1].seq if messages else thread.length
        more = bool(messages) and reached < thread.length
        changes, written = await self._derived(thread, messages)
        position = reached if more else thread.length
        changes += [
            Expect(Mark, (core.org, "derive", job.item), mark.version if mark else 0),
            Put(Mark(org=core.org, name="derive", item=job.item, position=position, updated_at=core.at())),
        ]
        if not more:
            # An append since we looked keeps the job alive.
            changes += [Expect(Thread, thread.row_key, thread.version), Delete(Job, job.row_key)]
        await core.apply(*changes)
        return written, more

    async def _derived(self, thread: Thread, messages: Sequence[Message]) -> tuple[list[Change], int]:
        ns = subject_of(thread)
        known: list[Any] = []
        facts: list[tuple[Any, Message]] = []
        learnings: list[tuple[Any, Message]] = []
        for message in messages:
            for item in await self._read(message, known):
                (facts if item.kind == "fact" else learnings).append((item, message))
                known.append(item)
        changes = await self._facts(ns, facts)
        written = sum(isinstance(change, Put) and isinstance(change.record, Fact) for change in changes)
        user = ns.removeprefix("user:") if ns.startswith("user:") else None
        if user is not None:
            touched: set[tuple[type, Any]] = set()
            for item, message in learnings:
                changes += _untouched(await self._learning(user, item, message), touched)
                written += 1
        return changes, written

    async def _read(self, message: Message, known: Sequence[Any]) -> list[Any]:
        if message.role != "user" or message.trust_level != "user" or message.metadata.get(PASSING):
            return []
        forgotten = await self._core.get(Tombstone, "source", source_fingerprint(message.id))
        if forgotten is not None:
            return []
        asked: dict[str, Any] = {
            "role": message.role,
            "trust": message.trust_level,
            "at": message.created_at,
            "speaker": message.name,
        }
        model = self._core.shared.extraction_model
        if model is not None:
            from ..extract.model import extract_by_model

            return list(await extract_by_model(model, message.text, **asked))
        from ..extract import extract

        return await self._core.runtime.call(lambda: extract(message.text, previous=known, **asked))

    async def _facts(self, ns: str, found: Sequence[tuple[Any, Message]]) -> list[Change]:
        facts = Facts(self._core)
        changes: list[Change] = []
        now_known: dict[str, Fact | None] = {}
        for item, message in found:
            made = facts._new(ns, item.key, item.value, None, item.confidence, message.id)
            made = msgspec.structs.replace(made, trust="user", reason="correction" if item.correction else None)
            if await facts._refused(made) is not None:
                continue
            if item.key not in now_known:
                now_known[item.key] = await self._core.get(Fact, ns, item.key)
                held = now_known[item.key]
                changes.append(Expect(Fact, made.row_key, held.version if held else 0))
            made = _joined(now_known[item.key], made)
            now_known[item.key] = made
            changes += facts._changes(made, "derive")
        return changes

    async def _learning(self, user: str, item: Any, message: Message) -> list[Change]:
        batch = Core(self._core.shared, Scope(self._core.org, user, "processor"), [])
        await Learnings(batch).add(
            str(item.value), type=item.type or "preference", confidence=item.confidence, source=message.id
        )
        return list(batch.batch or ())


def _untouched(changes: Sequence[Change], touched: set[tuple[type, Any]]) -> list[Change]:
    """Without a second hand on a row that this very apply already changes: its expectation could not hold."""
    mine = {(change.kind, change.key) for change in changes if isinstance(change, Expect)}
    taken = mine & touched
    touched |= mine
    kept: list[Change] = []
    for change in changes:
        row = (change.kind, change.key) if isinstance(change, Expect) else None
        if isinstance(change, Put):
            row = (type(change.record), change.record.row_key)
        if row not in taken:
            kept.append(change)
    return kept


def _joined(old: Fact | None, new: Fact) -> Fact:
    """The same value again makes it surer; another one takes its place."""
    if old is None or fingerprint_json(old.value) != fingerprint_json(new.value):
        return new
    sources = tuple(dict.fromkeys([*old.sources, *new.sources]))[-SOURCES:]
    surer = max(old.confidence, new.confidence)
    return msgspec.structs.replace(
        new, confidence=round(surer + SURER * (1 - surer), 4), sources=sources, expires_at=old.expires_at
    )


def subject_of(thread: Thread) -> str:
    """The namespace that facts from a thread belong to: its own, or that of the user it is with."""
    user = thread.metadata.get("user")
    return f"user:{user}" if isinstance(user, str) and user and not thread.ns.startswith("user:") else thread.ns


def source_fingerprint(id: str) -> str:
    """How a forgotten source is remembered: by a fingerprint alone."""
    return hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def permanent(problem: Exception) -> bool:
    """Whether trying again cannot help: a model that answered, but badly."""
    return isinstance(problem, ModelError) and getattr(problem, "retryable", True) is False

"""Follows lineage links from a thing back to the messages from which it was derived."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

import msgspec

from ..errors import NotFound, UsageError
from ..kinds import FINDABLE, LINKED, Kind, parse_refs, reference
from ..messages.message import Message
from ..recall.hit import Hit
from ..records import Fact, FactVersion, Record, Ref, Summary, Thread, as_dict
from ..values import Json, check_name
from .core import Core
from .derive.carried import carried
from .facts.corrections import is_correction, same_value
from .facts.facts import Facts
from .forgetting.guard import sources_of
from .memories import Memories, Remembered, record_id

MAX_STEPS = 1000
Traceable = Record | Remembered | Hit | str
"""Anything that can be traced: a fact, a learning, an event, a summary, a message, a document, a hit, or an id."""


class WhyStep(msgspec.Struct, frozen=True):
    """Describes one source in the chain. A direct source has `depth` 1. `present` is false if the source no longer
    exists."""

    to_dict = as_dict

    kind: str
    id: str
    depth: int
    actor: str | None = None
    trust: str | None = None
    created_at: datetime | None = None
    present: bool = True
    message: Message | None = None


class WhyCorrection(msgspec.Struct, frozen=True):
    """Describes the correction that set a fact's current value: what it replaced, and who made it, when and why."""

    before: Json
    value: Json
    actor: str
    corrected_at: datetime
    reason: str | None = None


class Why(msgspec.Struct, frozen=True):
    """Explains where an item came from: every step back to the messages, nearest first."""

    to_dict = as_dict

    kind: str
    item: str
    actor: str | None
    created_at: datetime | None
    sources: list[WhyStep]
    correction: WhyCorrection | None = None
    """If a fact was corrected, this is the correction that set its value."""

    @property
    def messages(self) -> list[Message]:
        """These are the messages among the sources."""
        return [step.message for step in self.sources if step.message is not None]


class Provenance:
    """Traces things to their sources."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def why(self, item: Traceable) -> Why:
        """Return the sources of a fact, learning, summary, hit or id, traced back to messages."""
        record = await self._traced(item)
        if record is None:
            raise NotFound("there is no such item in this scope")
        ref = reference(record)
        steps: list[WhyStep] = []
        seen = {ref.id}
        level = [record]
        for depth in range(1, 32):
            level = await self._back(level, depth, steps, seen)
            if not level or len(steps) >= MAX_STEPS:
                break
        return Why(
            ref.kind, ref.id, getattr(record, "actor", None), getattr(record, "created_at", None), steps,
            await self._correction(record),
        )  # fmt: skip

    async def _traced(self, item: Traceable) -> Record | None:
        if isinstance(item, Remembered):
            return await find(self._core, record_id(item))
        record = await find(self._core, item)
        # Only here, because a source may have the same name as a fact, and `find` reads sources too.
        if record is None and isinstance(item, str):
            return await Memories(self._core)._load(item, self._core.scope.own())
        return record

    async def _correction(self, record: Record) -> WhyCorrection | None:
        """Return the newest correction among a fact's versions, if its value is still current."""
        if not isinstance(record, Fact):
            return None
        versions = await Facts(self._core).history(record.ns, record.key)
        for before, version in reversed(list(pairwise(versions))):
            if not same_value(version, record):
                return None
            if is_correction(version, before):
                return WhyCorrection(before.value, version.value, version.actor, version.updated_at, version.reason)
        return None

    async def _back(self, level: list[Record], depth: int, steps: list[WhyStep], seen: set[str]) -> list[Record]:
        """Add the sources of one level to the steps. They form the next level."""
        records: list[Record] = []
        for record in level:
            for id in await self._sources(record):
                if id in seen or len(steps) >= MAX_STEPS:
                    continue
                seen.add(id)
                source = await find(self._core, id)
                steps.append(_step(id, source, depth))
                if source is not None and not isinstance(source, Message):
                    records.append(source)
        return records

    async def _sources(self, record: Record) -> list[str]:
        named = await sources_of(self._core, record)
        if isinstance(record, Message):
            # Its links lead to its thread; which message has the text of a source, the message itself says.
            return list(dict.fromkeys([*named, *(id for ids in carried(record).values() for id in ids)]))
        if not isinstance(record, Summary):
            return named
        rows = await self._core.scan(
            Message, record.thread, after=(record.first - 1,), before=(record.last + 1,), limit=MAX_STEPS
        )
        return [*named, *(message.id for message in rows)]


def _step(id: str, record: Record | None, depth: int) -> WhyStep:
    if record is None:
        return WhyStep("unknown", id, depth, present=False)
    message = record if isinstance(record, Message) else None
    return WhyStep(
        reference(record).kind,
        id,
        depth,
        actor=message.role if message else getattr(record, "actor", None),
        trust=message.trust_level if message else getattr(record, "trust", None),
        created_at=getattr(record, "created_at", None),
        message=message,
    )


async def find(core: Core, item: object) -> Record | None:
    """Return the record to which an item, a hit or an id refers, or None if there is none in this scope."""
    record = await _find(core, item)
    return record if record is not None and await _visible(core, record) else None


async def _visible(core: Core, record: Record) -> bool:
    if core.scope.user is None:
        return True
    ns = getattr(record, "ns", None)
    if isinstance(record, Message):
        thread = await core.get(Thread, record.thread)
        ns = None if thread is None else thread.ns
    return ns is not None and core.scope.may_read(ns)


async def _find(core: Core, item: object) -> Record | None:
    if isinstance(item, FactVersion):
        return item
    if isinstance(item, Record):
        return await core.get(type(item), *item.row_key[1:])
    name, id, ns = getattr(item, "kind", None), getattr(item, "id", item), getattr(item, "namespace", None)
    if not isinstance(id, str):
        raise UsageError("pass a fact, a learning, a summary, a hit, or an id like 'thread#12' or 'user:ada/name'")
    refs = parse_refs(check_name(id, "id"))
    if ns is not None and core.scope.may_read(str(ns)):
        refs = [*(Ref(ref.kind, str(ns), ref.key, ref.part) for ref in refs if not ref.ns), *refs]
        refs.append(Ref("source", str(ns), id))
    hit_kind = FINDABLE.get(name) if isinstance(name, str) else None
    kinds: Iterable[Kind] = (*([hit_kind] if hit_kind is not None else ()), *LINKED.values())
    for kind in kinds:
        for ref in refs:
            key = kind.key(ref) if kind.key is not None and kind.record is not Thread else None
            record: Record | None = None if key is None else await core.get(kind.record, *key)
            if record is not None:
                return record
    return None

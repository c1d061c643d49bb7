"""Rehearses contexts by assembling the request that would be sent now, or at an earlier turn, without sending it.

The inspector uses this to show contexts. A rehearsal does not count as a use of a learning, can stop at an earlier turn
of a stored thread, and can assume a different value for a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...kinds import fact_text
from ...messages.message import Message, split_message_id
from ...ports import to_micros
from ...recall.hits import present_value
from ...records import Fact, FactVersion, Key, Learning, Pins, Summary
from ...stores.base import Scan, Store
from ..core import Core
from ..derive.catching_up import catch_up
from ..facts.facts import Facts
from ..recalling import Recalling
from .assembling import Recall
from .assembly import Assembly
from .settings import AssembledRequest, Prefix, stored_settings

if TYPE_CHECKING:
    from ...context.context import Context
    from ...context.reading import Reading
    from ...recall.hit import Hit

MAX_KEYS = 2_000
"""The maximum number of facts to look up in a namespace at an earlier time."""


class Supposed(msgspec.Struct, frozen=True):
    """Holds the assumptions of a rehearsal: its differences from the stored data."""

    facts: Mapping[Key, Fact | None] = {}
    """Assumed facts by `(org, ns, key)`, or None for a fact assumed not to exist."""
    thread: str = ""
    until: int | None = None
    """Messages of the thread from this number on are hidden."""
    at: datetime | None = None
    """Summaries and learnings newer than this time are hidden."""


class Reads:
    """Presents a read-only view of a store under the assumptions of a rehearsal."""

    def __init__(self, store: Store, supposed: Supposed) -> None:
        self._store = store
        self._supposed = supposed
        self.name = store.name

    async def get(self, kind: type[Any], key: Key, *, now: int) -> Any:
        if kind is Fact and key in self._supposed.facts:
            return self._supposed.facts[key]
        row: Any = await self._store.get(kind, key, now=now)
        # Pins name messages by number, so those of hidden messages must be hidden too.
        if kind is Pins and row is not None and row.thread == self._supposed.thread:
            return msgspec.structs.replace(row, seqs=tuple(seq for seq in row.seqs if self._is_said(seq)))
        return row

    async def get_many(self, kind: type[Any], keys: Sequence[Key], *, now: int) -> list[Any]:
        rows = await self._store.get_many(kind, keys, now=now)
        if kind is not Fact:
            return rows
        facts = self._supposed.facts
        return [facts.get(key, row) for key, row in zip(keys, rows, strict=True)]

    async def scan(self, scan: Scan[Any], *, now: int) -> list[Any]:
        if scan.kind is Fact and self._supposed.facts:
            return await self._facts(scan, now)
        if scan.kind is Message and self._cuts(scan):
            until = self._supposed.until
            assert until is not None
            if scan.before is None or int(scan.before[0]) > until:
                scan = msgspec.structs.replace(scan, before=(until,))
            return await self._store.scan(scan, now=now)
        if scan.kind in (Summary, Learning) and self._supposed.at is not None:
            # The limit counts the rows that were there at that time, so it comes after the filter.
            rows = await self._store.scan(msgspec.structs.replace(scan, limit=None), now=now)
            return [row for row in rows if self._was_there(row)][: scan.limit]
        return await self._store.scan(scan, now=now)

    async def _facts(self, scan: Scan[Any], now: int) -> list[object]:
        """Return the facts under a prefix, with assumed facts in place of stored ones."""
        # An assumed fact may take the place of a stored one or stand between two, so the limit counts the merged rows.
        stored = await self._store.scan(scan, now=now)
        rows = {row.row_key: row for row in stored if row.row_key not in self._supposed.facts}
        for key, fact in self._supposed.facts.items():
            inside = key[: len(scan.prefix)] == scan.prefix
            begins = scan.starts is None or str(key[len(scan.prefix)]).startswith(scan.starts)
            if fact is not None and inside and begins:
                rows[key] = fact
        ordered = sorted(rows.values(), key=lambda row: row.row_key, reverse=scan.reverse)
        return ordered[: scan.limit]

    def _cuts(self, scan: Scan[Any]) -> bool:
        return self._supposed.until is not None and self._supposed.thread in scan.prefix

    def _is_said(self, seq: int) -> bool:
        return self._supposed.until is None or seq < self._supposed.until

    def _was_there(self, row: Any) -> bool:
        at = self._supposed.at
        return at is None or to_micros(row.created_at) <= to_micros(at)


class Rehearsal(Assembly):
    """Assembles requests without counting uses. Like any recall, it indexes new records. It writes nothing else."""

    def __init__(self, core: Core, supposed: Supposed | None = None, fold_tokens: int | None = None) -> None:
        self._supposed = supposed or Supposed()
        self._whole = core
        self.hits: list[Hit] = []
        """The hits found for the last request, best first, and their reasons."""
        supposing = Core(core.shared, core.scope)
        supposing.store = cast(Store, Reads(core.store, self._supposed))
        super().__init__(supposing, fold_tokens)

    async def _finished(self, reading: Reading) -> Context:
        return await reading.finish_async()

    async def _prefix_changed_at(self, thread: str, earlier: Prefix | None) -> datetime | None:
        """Return the stored time, because the inspector knows neither the system prompt nor the tools."""
        settings = await stored_settings(self._whole, thread)
        return None if settings is None else settings.prefix_at

    async def _keep_settings(self, thread: str, request: AssembledRequest) -> None:
        """Do not store the settings, because they are the inspector's, not the program's."""

    async def _catch_up(self, ns: str) -> None:
        await catch_up(self._whole, [ns])

    async def _hits(self, query: str, spec: Recall) -> list[Hit]:
        options: dict[str, Any] = msgspec.structs.asdict(spec) | {
            "before": self._supposed.at,
            "floored": spec.min_score is None,
        }
        # The hits of a context come without reasons; the same recall with reasons says why each was found.
        hits = await Recalling(self._whole).recall(query, **options, bare=True)
        reasons = {hit.id: hit.reasons for hit in await Recalling(self._whole).recall(query, **options)}
        hits = [msgspec.structs.replace(hit, reasons=reasons.get(hit.id, hit.reasons)) for hit in hits]
        until, thread = self._supposed.until, self._supposed.thread
        if until is not None:
            hits = [hit for hit in hits if not _unsaid(hit, thread, until)]
        self.hits = [await self._restated(hit) for hit in hits]
        return self.hits

    async def _restated(self, hit: Hit) -> Hit:
        """Return a hit as it would look if the assumed facts were stored."""
        for key, fact in self._supposed.facts.items():
            if fact is None or hit.namespace != key[1]:
                continue
            if hit.kind == "fact" and hit.id == fact.id:
                return msgspec.structs.replace(hit, text=fact_text(fact))
            if hit.kind == "message":
                hit = await self._marked(hit, fact)
        return hit

    async def _marked(self, hit: Hit, fact: Fact) -> Hit:
        """Mark a message hit as superseded if it states a different value from the assumed fact; otherwise, remove the
        mark.
        """
        stored = await Facts(self._whole).history(fact.ns, fact.key)
        stated = [other for other in stored if hit.id in other.sources]
        if not stated:
            return hit
        holds = hit.id in fact.sources or any(other.value == fact.value for other in stated)
        words = None if holds else present_value(fact)
        return msgspec.structs.replace(hit, superseded_by=words)


def _unsaid(hit: Hit, thread: str, until: int) -> bool:
    parts = split_message_id(hit.id) if hit.kind == "message" else None
    return parts is not None and parts[0] == thread and parts[1] >= until


async def facts_at(core: Core, namespaces: Iterable[str], moment: datetime) -> dict[Key, Fact | None]:
    """Return the facts in some namespaces that were different at a given time, with their values at that time."""
    facts, facts_by_key = Facts(core), dict[Key, Fact | None]()
    for ns in namespaces:
        stored = await core.scan(Fact, ns, limit=MAX_KEYS)
        changed = {fact.key for fact in stored if to_micros(fact.updated_at) > to_micros(moment)}
        past = await core.scan(FactVersion, ns, limit=MAX_KEYS)
        ended = {version.key for version in past} - {fact.key for fact in stored}
        for key in sorted(changed | ended):
            then = await facts.get(ns, key, as_of=moment)
            facts_by_key[(core.org, ns, key)] = None if then is None else _as_fact(then)
    return facts_by_key


def _as_fact(version: Fact) -> Fact:
    return Fact(**{name: getattr(version, name) for name in Fact.__struct_fields__})


async def supposing(core: Core, ns: str, key: str, value: object) -> dict[Key, Fact | None]:
    """Return a fact as it would be after a call to `facts.correct`, without making that call."""
    space = core.scope.readable(ns)
    old = await core.get(Fact, space, key)
    rehearsal = msgspec.structs.replace(
        Facts(core)._new(space, key, value, None, 1.0, None), version=(old.version if old else 0) + 1
    )
    return {rehearsal.row_key: rehearsal}


async def turns_of(core: Core, thread: str, before: int | None = None, limit: int = 50) -> list[Message]:
    """Return the user's messages in a thread, newest first. A rehearsal can stop at any of these turns."""
    messages = await core.scan(
        Message, thread, reverse=True, limit=8 * limit, before=None if before is None else (before,)
    )
    return [message for message in messages if message.role == "user" and not message.tool_results][:limit]

"""Presents facts, events and learnings as one type of record, with one kind of id.

An id consists of the kind and the key: `fact:city`, `event:9f2a…` or `learning:c1d0…`. The typed nouns do the work. An
update or deletion here calls their methods, so the history, lineage and audit trail are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal, TypeVar, cast

import msgspec

from ..errors import InvalidValue, NotFound, UsageError
from ..filters import parse_filter
from ..kinds import MEMORIES, MemoryRecord, kind_of, reference
from ..ports import When
from ..recall.hit import Hit
from ..records import Candidate, Fact, as_dict
from ..scope import Ns
from ..stores.base import Expect, Put
from ..values import Json, JsonMapping, JsonObject, as_list, check_name, fingerprint_json
from .audit import audit
from .core import Core
from .events import Events
from .facts.facts import Facts
from .learnings import Learnings
from .options import checked_limit, page
from .recalling import Recalling
from .versions import DELETED, MemoryNoun

T = TypeVar("T")
MemoryKind = Literal["fact", "event", "learning"]
NOUNS: dict[MemoryKind, type[MemoryNoun[Any]]] = {"fact": Facts, "event": Events, "learning": Learnings}
"""The noun of each kind of memory, in the order in which memories are listed."""
KINDS: tuple[MemoryKind, ...] = tuple(NOUNS)
PAGE_ROWS = 200
_SAME_FIELDS = (
    "subject", "scope", "tags", "metadata", "confidence", "inferred", "sources", "actor", "trust", "reason",
    "created_at", "updated_at", "version",
)  # fmt: skip
"""The fields that a memory of every kind has under the same name as its record."""
_same_values = attrgetter(*_SAME_FIELDS)


class Remembered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Represents a fact, an event or a learning."""

    to_dict = as_dict

    id: str
    """This is the kind and the key: `fact:city`."""
    kind: MemoryKind
    namespace: str
    text: str
    """This is a sentence. For a fact without one, this is a phrase such as "Lives in Porto", or its key and value."""
    subject: str | None = None
    key: str | None = None
    value: Any = None
    type: str | None = None
    """This is a learning's type, or an event's status."""
    status: str = "active"
    """This is `active`, `ended`, `superseded`, `rejected` or `deleted`."""
    superseded_by: int | None = None
    """In results of `history`, this is the version that replaced this one."""
    scope: str = "standing"
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    people: tuple[str, ...] = ()
    location: str | None = None
    tags: tuple[str, ...] = ()
    metadata: JsonObject = {}
    confidence: float = 1.0
    inferred: bool = False
    sources: tuple[str, ...] = ()
    actor: str = "user"
    trust: str = "user"
    reason: str | None = None
    score: float | None = None
    """If `search` returned the memory, this is its relevance to the query."""
    created_at: datetime
    updated_at: datetime
    version: int = 0


class Memories:
    """Lists, searches, changes and deletes facts, events and learnings through one interface."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, id: str, *, ns: Ns | None = None) -> Remembered | None:
        """Return a memory by its id, or None if it does not exist.

        You can pass a bare key if only one memory has it: `city` for `fact:city`.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The memory, or None.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.memories.get("fact:city", ns="user:ada").value
            'Lisbon'
        """
        record = await self._load(id, self._core.scope.readable_or_own(ns))
        return None if record is None else remembered(record, self._core.at())

    async def get_many(self, ids: Iterable[str], *, ns: Ns | None = None) -> list[Remembered | None]:
        """Return several memories at once, in the order of the ids, and None for each one that does not exist.

        Args:
            ids: The ids, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            One memory or None per id.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [item and item.value for item in memory.memories.get_many(["fact:city", "fact:age"], ns="user:ada")]
            ['Lisbon', None]
        """
        space = self._core.scope.readable_or_own(ns)
        wanted = [_readings(id) for id in as_list(ids, "ids")]
        records: dict[tuple[MemoryKind, str], MemoryRecord] = {}
        for kind in KINDS:
            keys = dict.fromkeys((space, key) for readings in wanted for named, key in readings if named == kind)
            for row in await self._core.get_many(noun_of(self._core, kind)._record_type, list(keys)):
                if row is not None and row.status != DELETED:
                    records[kind, reference(row).key] = row
        at = self._core.at()
        matches = [[records[reading] for reading in readings if reading in records] for readings in wanted]
        return [remembered(match[0], at) if match else None for match in matches]

    async def search(
        self,
        query: str,
        *,
        kinds: Iterable[MemoryKind] = KINDS,
        top_k: int = 10,
        min_score: float | None = None,
        ns: Ns | None = None,
    ) -> list[Remembered]:
        """Return the memories most relevant to a query, best first, each with its score.

        Args:
            query: A question or a few words.
            kinds: Return only these kinds: `fact`, `event`, `learning`.
            top_k: How many to return.
            min_score: Leave out memories with a lower score. By default, nothing is returned for an unknown subject.
            ns: The namespace; by default the user's own.

        Returns:
            The memories with their scores.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [item.id for item in memory.memories.search("which city?", ns="user:ada")]
            ['fact:city']
        """
        kinds_to_search = _kinds(kinds)
        spaces = None if ns is None else [ns]
        hits = await Recalling(self._core).recall(
            query, namespaces=spaces, kinds=kinds_to_search, top_k=top_k, min_score=min_score
        )
        items = [await self._item(hit) for hit in hits]
        return [item for item in items if item is not None]

    async def update(
        self,
        id: str,
        *,
        text: str | None = None,
        value: Json = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        tags: Iterable[str] | None = None,
        metadata: JsonMapping | None = None,
        confidence: float | None = None,
        reason: str | None = None,
        ns: Ns | None = None,
    ) -> Remembered:
        """Change some fields of a memory and return its new version; the old version stays in the history.

        `value` is for facts; to store null, use `facts.set`. For events, `valid_from` and `valid_until` are the
        beginning and end.

        Args:
            id: The id, such as `fact:city`.
            text: The memory as a sentence.
            value: The new value of a fact.
            valid_from: When it became true, or when the event begins.
            valid_until: When it stops being true, or when the event ends.
            tags: Your own labels, which replace the current ones.
            metadata: JSON values, which replace the current metadata.
            confidence: How certain it is, from 0 to 1.
            reason: The reason, for the history.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The memory with its new version.

        Raises:
            NotFound: There is no such memory.
            UsageError: The field does not apply to this kind of memory.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.memories.update("fact:city", value="Porto", ns="user:ada").version
            2
        """
        record = await self._load(id, self._core.scope.writable_or_own(ns))
        if record is None:
            raise NotFound("no such memory in this namespace", memory=id)
        ref = reference(record)
        fields: dict[str, object] = {
            "text": text, "valid_from": valid_from, "valid_until": valid_until, "tags": tags, "metadata": metadata,
            "confidence": confidence,
        }  # fmt: skip
        if value is not None:
            if not isinstance(record, Fact):
                raise UsageError(f"a {ref.kind} has no value; change its text")
            fields["value"] = value
        changed = await noun_of(self._core, ref.kind)._change(ref.ns, ref.key, reason=reason, **fields)
        return remembered(changed, self._core.at())

    async def delete(self, id: str, *, ns: Ns | None = None) -> bool:
        """Delete a memory, and return whether it existed. `forget` also deletes everything derived from it.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            Whether the memory existed.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.memories.delete("fact:city", ns="user:ada")
            True
        """
        record = await self._load(id, self._core.scope.writable_or_own(ns))
        if record is None:
            return False
        ref = reference(record)
        return await noun_of(self._core, ref.kind)._delete(ref.ns, ref.key)

    async def history(self, id: str, *, ns: Ns | None = None) -> list[Remembered]:
        """Return every version of a memory, oldest first, including those of one that has ended or was deleted.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            All versions.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> [item.value for item in memory.memories.history("fact:city", ns="user:ada")]
            ['Lisbon', 'Porto']
        """
        space, at = self._core.scope.readable_or_own(ns), self._core.at()
        for kind, key in _readings(id):
            versions = await NOUNS[kind](self._core)._versions(space, key)
            if versions:
                past = [
                    msgspec.structs.replace(remembered(old, at, status="superseded"), superseded_by=new.version)
                    for old, new in pairwise(versions)
                ]
                return [*past, remembered(versions[-1], at)]
        return []

    async def undo(self, id: str, *, ns: Ns | None = None) -> Remembered | None:
        """Undo the last change to a memory, and return the resulting memory, or None if it no longer exists.

        The undo is itself a new version, so it can be undone. If the last change added a fact, the fact is rejected and
        is not derived from the same message again. If the change was approved in the review queue, it waits there
        again.

        Args:
            id: The id, such as `fact:city`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The memory after the undo, or None if it no longer exists.

        Raises:
            NotFound: There is no such memory.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> memory.memories.undo("fact:city", ns="user:ada").value
            'Lisbon'
        """
        core = self._core
        space = core.scope.writable_or_own(ns)
        for kind, key in _readings(id):
            noun = NOUNS[kind]
            versions = await noun(core)._versions(space, key)
            if not versions:
                continue
            approved = await self._find_approval(space, f"{kind}:{key}", versions[-1])
            if approved is None:
                record = await noun(core)._undo(versions, approved=False)
                return None if record is None else remembered(record, core.at())
            await core.together(partial(_undo_approval, noun, versions, approved))
            return await self.get(f"{kind}:{key}", ns=space)
        raise NotFound(f"no memory {id!r}", namespace=space)

    # -- parts

    async def _load(self, id: str, ns: str) -> MemoryRecord | None:
        """Return the record of a memory in a namespace that the caller may use, or None."""
        for kind, key in _readings(id):
            record: MemoryRecord | None = await NOUNS[kind](self._core)._stored(ns, key)
            if record is not None:
                return record
        return None

    async def _find_approval(self, ns: str, id: str, last: MemoryRecord) -> Candidate | None:
        """Return the candidate whose approval was the last change to a memory, or None if something else changed it."""
        candidates = await self._core.scan(Candidate, ns, where=parse_filter({"approved_as": id}))
        fits = [candidate for candidate in candidates if _is_result(candidate, last)]
        return max(fits, key=lambda candidate: candidate.updated_at, default=None)

    async def _item(self, hit: Hit) -> Remembered | None:
        key = hit.id.removeprefix(f"{hit.namespace}/") if hit.kind == "fact" else hit.id
        record = await self._load(f"{hit.kind}:{key}", self._core.scope.readable(hit.namespace))
        item = None if record is None else remembered(record, self._core.at())
        return None if item is None else msgspec.structs.replace(item, score=hit.score)

    # Last, because the name hides the builtin for the annotations below it.
    async def typed(
        self,
        schema: type[T] | Mapping[str, Json],
        *,
        subject: str | None = None,
        user: str | None = None,
        ns: Ns | None = None,
    ) -> T | None:
        """Return what is known about somebody as an instance of a schema, or None while a required field is unknown.

        Args:
            schema: A msgspec struct, dataclass, TypedDict or Pydantic model, or a JSON Schema, for which a dict is
                returned.
            subject: The person it is about. Defaults to the user.
            user: Whose memory it is.
            ns: The namespace; by default the user's own.

        Returns:
            An instance of the schema, or None.

        Raises:
            Forbidden: This handle may not read the namespace.
            UsageError: The kind of schema is not supported.

        Examples:
            >>> import dataclasses
            >>> @dataclasses.dataclass
            ... class Customer:
            ...     tier: str
            ...     seats: int = 0
            >>> fact = memory.facts.set("user:ada", "customer.tier", "gold")
            >>> memory.memories.typed(Customer, user="ada")
            Customer(tier='gold', seats=0)
        """
        from ..extract.writer.schemas import read_schema

        form = read_schema(schema)
        if user is not None and ns is not None:
            raise UsageError("give user= or ns=, not both")
        facts = await self.list(kinds=("fact",), ns=f"user:{user}" if user is not None else ns)
        values: dict[str, object] = {}
        for item in facts:
            field = form.field((item.key or "").partition("@")[0])
            if field is not None and item.subject == subject and item.status == "active":
                values[field.name] = item.value
        instance: T | None = form.build(values) if values and form.is_complete(values) else None
        return instance

    async def list(
        self,
        *,
        kinds: Iterable[MemoryKind] = KINDS,
        subject: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
        ns: Ns | None = None,
    ) -> list[Remembered]:
        """Return memories. Facts come first, ordered by key, then events, then learnings.

        Args:
            kinds: Return only these kinds.
            subject: Return only memories about this person or thing.
            tag: Return only memories with this tag.
            limit: The maximum number to return.
            after: The id of the last memory of the previous page.
            reverse: Whether to list in reverse order.
            ns: The namespace; by default the user's own.

        Returns:
            The memories.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [(item.id, item.text) for item in memory.memories.list(ns="user:ada")]
            [('fact:city', 'city: Lisbon')]
        """
        most = checked_limit(limit)
        space = self._core.scope.readable_or_own(ns)
        order = KINDS[::-1] if reverse else KINDS
        kinds_to_list = sorted(_kinds(kinds), key=order.index)
        start: tuple[MemoryKind, str] | None = _readings(after)[0] if after is not None else None
        if start is not None:
            kinds_to_list = [kind for kind in kinds_to_list if order.index(kind) >= order.index(start[0])]
        at = self._core.at()
        items: list[Remembered] = []
        for kind in kinds_to_list:
            cursor = start[1] if start is not None and start[0] == kind else None
            while True:
                bounds = page(PAGE_ROWS, cursor, reverse)
                rows = await self._core.listed(noun_of(self._core, kind)._record_type, space, **bounds)
                for row in rows:
                    if most is not None and len(items) >= most:
                        return items
                    item = remembered(row, at)
                    # A deleted learning stays in its table for the history, unlike facts and events.
                    if item.status == DELETED:
                        continue
                    if subject in (None, item.subject) and (tag is None or tag in item.tags):
                        items.append(item)
                if len(rows) < PAGE_ROWS:
                    break
                cursor = reference(rows[-1]).key
        return items


async def _undo_approval(
    noun: type[MemoryNoun[Any]], versions: Sequence[MemoryRecord], candidate: Candidate, batch: Core
) -> None:
    """Undo a memory that was approved, and return its candidate to the queue.

    Both are changes of one batch, so the candidate waits again only if its memory is undone.
    """
    await noun(batch)._undo(versions, approved=True)
    await batch.apply(
        Expect(Candidate, candidate.row_key, candidate.version),
        Put(msgspec.structs.replace(candidate, approved_as=None, updated_at=batch.at())),
        audit(batch, "undo", "candidate", f"{candidate.ns}/{candidate.id}"),
    )


def noun_of(core: Core, kind: str) -> MemoryNoun[Any]:
    """Return the noun of a kind of memory."""
    return NOUNS[cast("MemoryKind", kind)](core)


async def newest_memories(core: Core, ns: str, limit: int) -> list[Remembered]:
    """Return up to `limit` memories of each kind, the newest ones of kinds that are indexed by time."""
    items: list[Remembered] = []
    for kind in MEMORIES:
        index = kind.time_index
        rows: list[Any] = await core.scan(kind.record, ns, index=index, reverse=index is not None, limit=limit)
        items += [remembered(row, core.at()) for row in rows]
    return items


def remembered(record: MemoryRecord, now: datetime, *, status: str | None = None) -> Remembered:
    """Return a fact, event or learning as a `Remembered` record. `status` overrides the record's own."""
    registered = kind_of(record)
    assert registered.ref is not None
    kind = cast("MemoryKind", registered.name)
    fields = dict(zip(_SAME_FIELDS, _same_values(record), strict=True)) | NOUNS[kind]._shown_fields(record, now)
    if status is not None:
        fields["status"] = status
    return Remembered(id=f"{kind}:{registered.ref(record).key}", kind=kind, namespace=record.ns, **fields)


def _is_result(candidate: Candidate, record: MemoryRecord) -> bool:
    """Return whether a memory has not changed since a candidate was approved."""
    if not set(candidate.sources) <= set(record.sources):
        return False
    if candidate.operation == "end":
        return record.status in ("ended", "cancelled", "retracted")
    if isinstance(record, Fact):
        same = fingerprint_json(record.value) == fingerprint_json(candidate.proposal.get("value"))
        return record.status == "active" and same
    return candidate.text == remembered(record, record.updated_at).text


def record_id(memory: Remembered) -> str:
    """Return the id of the record that a memory presents, as in `sources`: `user:ada/city`."""
    return f"{memory.namespace}/{memory.id.partition(':')[2]}"


def _readings(id: str) -> list[tuple[MemoryKind, str]]:
    """Return the kinds to which an id may refer: the one it names or, for a bare key, all of them."""
    text = check_name(id, "memory id")
    for kind in KINDS:
        if text.startswith(f"{kind}:"):
            return [(kind, text[len(kind) + 1 :])]
    return [(kind, text) for kind in KINDS]


def _kinds(kinds: Iterable[MemoryKind]) -> list[MemoryKind]:
    chosen = [kinds] if isinstance(kinds, str) else list(kinds)
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        raise InvalidValue(f"there is no kind of memory {unknown[0]!r}; use one of {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in chosen]

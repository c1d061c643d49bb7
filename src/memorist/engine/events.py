"""Events are things that happened or are planned. Each has a time, people, a place, a status, a history and sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from ..errors import InvalidValue, NotFound
from ..ids import digest, fingerprint
from ..kinds import parse_refs
from ..ports import Ttl, When, as_datetime, to_micros
from ..records import Entry, Event, EventVersion, Link, Ref, Tombstone
from ..scope import Ns
from ..stores.base import Change, Delete, Expect, Load, Put
from ..values import JsonMapping, as_list, check_confidence, check_metadata, check_name, check_tags, check_text
from .audit import audit
from .core import Bounds, Core
from .forgetting.guard import guard, raised
from .index_jobs import index_job
from .learnings import fold
from .options import MemoryScope, check_reason, check_scope, checked_limit, version_of
from .removal import part_deletions

EventStatus = Literal["planned", "done", "cancelled"]
DELETED = "deleted"
"""The status of the last version in the history of a deleted event."""
STATUSES: tuple[EventStatus, ...] = ("planned", "done", "cancelled")
MAX_TEXT_CHARACTERS = 10_000
MAX_PEOPLE = 50


class Events:
    """Reads and writes the events of the handle's user, or those in a namespace that you name."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def add(
        self,
        text: str,
        *,
        starts_at: When | None = None,
        ends_at: When | None = None,
        status: EventStatus | None = None,
        people: Iterable[str] = (),
        location: str | None = None,
        subject: str | None = None,
        scope: MemoryScope = "standing",
        tags: Iterable[str] = (),
        metadata: JsonMapping | None = None,
        confidence: float = 1.0,
        source: str | None = None,
        ttl: Ttl | None = None,
        ns: Ns | None = None,
    ) -> Event:
        """Store an event and return it. Adding the same text again for the same day and subject changes nothing.

        Args:
            text: A sentence that makes sense on its own ("Ada flies to Porto").
            starts_at: When it begins. Defaults to now.
            ends_at: When it ends, if it lasts.
            status: `planned`, `done` or `cancelled`; by default `planned` for a time in the future, else `done`.
            people: The names of the people who take part.
            location: Where it takes place.
            subject: The person or thing it is about, if not the owner of the namespace.
            scope: How long it matters: `standing`, or only for a `conversation` or a `task`.
            tags: Your own labels.
            metadata: Anything else, as JSON.
            confidence: How certain it is, from 0 to 1.
            source: The id of the message it was taken from.
            ttl: How long to keep it.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The stored event.

        Raises:
            InvalidValue: A value is out of bounds, or `ends_at` is before `starts_at`.
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> ada = memory.scope(user="ada")
            >>> ada.events.add("Ada flies to Porto", starts_at="2030-03-01T09:00:00Z").status
            'planned'
        """
        core = self._core
        space = core.scope.writable(self._namespace(ns))
        at = core.at()
        begins = at if starts_at is None else as_datetime(starts_at, "starts_at")
        event = Event(
            org=core.org,
            ns=space,
            id=event_key(check_text(text, "text", limit=MAX_TEXT_CHARACTERS), begins, subject),
            text=text,
            starts_at=begins,
            ends_at=None if ends_at is None else as_datetime(ends_at, "ends_at"),
            status=("planned" if begins > at else "done") if status is None else status,
            scope=check_scope(scope),
            subject=None if subject is None else check_name(subject, "subject"),
            people=_names(people),
            location=None if location is None else check_text(location, "location", limit=MAX_TEXT_CHARACTERS),
            tags=check_tags(tags),
            metadata=check_metadata(metadata),
            confidence=check_confidence(confidence),
            sources=() if source is None else (check_name(source, "source"),),
            actor=core.scope.actor,
            trust=core.scope.trust,
            created_at=at,
            updated_at=at,
            expires_at=None if ttl is None else core.expiry(ttl, to_micros(at)),
        )
        check_event(event)
        return await self._write(event)

    async def _write(self, event: Event) -> Event:
        """Store a complete event unless it already exists.

        It is returned with status `cancelled` if its source was forgotten.
        """
        core = self._core

        async def attempt() -> Event:
            # Read first: if a source is forgotten after this line, the commit fails and the next attempt sees it.
            hold = await guard(core, event.sources)
            marks = [("event", fingerprint(event.ns, event.id, source)) for source in event.sources]
            if hold.forgotten or (core.scope.actor != "user" and any(await core.get_many(Tombstone, marks))):
                return msgspec.structs.replace(event, status="cancelled", reason="a source of it was forgotten")
            old = await core.get(Event, event.ns, event.id)
            if old is not None:
                sources = tuple(dict.fromkeys((*old.sources, *event.sources)))
                if sources == old.sources:
                    return old
                # A cancelled event that is mentioned again later takes place after all.
                is_back = old.status == "cancelled" and event.created_at > old.updated_at
                status, reason = (event.status, None) if is_back else (old.status, old.reason)
                confirmed = msgspec.structs.replace(old, sources=sources, status=status, reason=reason)
                return await self._replace(old, confirmed, "confirm", hold.changes)
            return await self._replace(None, event, "add", hold.changes)

        stored: Event = await core.retry(attempt)
        return stored

    async def get(self, id: str, *, ns: Ns | None = None) -> Event | None:
        """Return an event by its id, or None if it does not exist.

        Args:
            id: The id of the event.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The event, or None.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> event = memory.events.add("Standup", ns="user:ada")
            >>> memory.events.get(event.id, ns="user:ada").text
            'Standup'
        """
        return await self._core.get(Event, self._core.scope.readable(self._namespace(ns)), check_name(id, "event id"))

    async def get_many(self, ids: Iterable[str], *, ns: Ns | None = None) -> list[Event | None]:
        """Return several events at once, in the order of the ids, and None for each one that does not exist.

        Args:
            ids: The ids of the events.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            One event or None per id.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> memory.events.get_many(["nothing"], ns="user:ada")
            [None]
        """
        space = self._core.scope.readable(self._namespace(ns))
        keys = [(space, check_name(id, "event id")) for id in as_list(ids, "ids")]
        return await self._core.get_many(Event, keys)

    async def update(
        self,
        id: str,
        *,
        text: str | None = None,
        starts_at: When | None = None,
        ends_at: When | None = None,
        status: EventStatus | None = None,
        people: Iterable[str] | None = None,
        location: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: JsonMapping | None = None,
        reason: str | None = None,
        expect: int | None = None,
        ns: Ns | None = None,
    ) -> Event:
        """Change some fields of an event and return its new version; the old version stays in its history.

        Args:
            id: The id of the event.
            text: A sentence that makes sense on its own.
            starts_at: When it begins.
            ends_at: When it ends.
            status: `planned`, `done` or `cancelled`.
            people: The names of the people who take part.
            location: Where it takes place.
            tags: Your own labels, which replace the current ones.
            metadata: JSON values, which replace the current metadata.
            reason: The reason, for the history.
            expect: The version that you expect to be current.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The event with its new version.

        Raises:
            NotFound: There is no such event.
            Conflict: `expect` is not the current version.

        Examples:
            >>> event = memory.events.add("Lunch with Mia", starts_at="2030-03-01T12:00:00Z", ns="user:ada")
            >>> memory.events.update(event.id, location="Porto", ns="user:ada").location
            'Porto'
        """
        fields: dict[str, Any] = {
            "text": None if text is None else check_text(text, "text", limit=MAX_TEXT_CHARACTERS),
            "starts_at": None if starts_at is None else as_datetime(starts_at, "starts_at"),
            "ends_at": None if ends_at is None else as_datetime(ends_at, "ends_at"),
            "status": status,
            "people": None if people is None else _names(people),
            "location": None if location is None else check_text(location, "location", limit=MAX_TEXT_CHARACTERS),
            "tags": None if tags is None else check_tags(tags),
            "metadata": None if metadata is None else check_metadata(metadata),
        }
        changed = {name: value for name, value in fields.items() if value is not None}
        return await self._update(id, ns, "update", changed, reason, expect)

    async def cancel(self, id: str, *, reason: str | None = None, ns: Ns | None = None) -> Event:
        """Mark an event as cancelled and return it. It stays in the store but is no longer recalled.

        Args:
            id: The event.
            reason: The reason, for the history.
            ns: The namespace.

        Returns:
            The cancelled event.

        Raises:
            NotFound: There is no such event.

        Examples:
            >>> event = memory.events.add("Lunch with Mia", starts_at="2030-03-01T12:00:00Z", ns="user:ada")
            >>> memory.events.cancel(event.id, reason="Mia is ill", ns="user:ada").status
            'cancelled'
        """
        return await self._update(id, ns, "cancel", {"status": "cancelled"}, reason, None)

    async def history(self, id: str, *, ns: Ns | None = None) -> list[Event]:
        """Return every version of an event, oldest first.

        Args:
            id: The id of the event.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            All versions, or an empty list.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> event = memory.events.add("Lunch", starts_at="2030-03-01T12:00:00Z", ns="user:ada")
            >>> event = memory.events.cancel(event.id, ns="user:ada")
            >>> [version.status for version in memory.events.history(event.id, ns="user:ada")]
            ['planned', 'cancelled']
        """
        space = self._core.scope.readable(self._namespace(ns))
        versions: list[Event] = [*await self._core.scan(EventVersion, space, check_name(id, "event id"))]
        current = await self._core.get(Event, space, id)
        return versions if current is None else [*versions, current]

    async def delete(self, id: str, *, history: bool = True, ns: Ns | None = None) -> bool:
        """Delete an event, and return whether it existed.

        Args:
            id: The id of the event.
            history: Whether to keep the older versions, for `history`, `memories.undo` and `as_of`.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            Whether the event existed.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> event = memory.events.add("Standup", ns="user:ada")
            >>> memory.events.delete(event.id, ns="user:ada")
            True
        """
        core = self._core
        space = core.scope.writable(self._namespace(ns))
        event = await core.get(Event, space, check_name(id, "event id"))
        if event is None:
            return False
        fields = {name: getattr(event, name) for name in event.__struct_fields__}
        gone = {"status": DELETED, "version": event.version + 1, "updated_at": core.at(), "actor": core.scope.actor}
        # A Delete does not copy the row into its history, so its last version is written here.
        parts: list[Change] = [
            Load(EventVersion(**fields)),
            Load(EventVersion(**{**fields, **gone, "reason": None})),
            Delete(Entry, (core.org, space, "event", "", id)),
        ]
        # Its links stay: what was derived from it is forgotten with its sources, whether or not it still exists.
        await core.apply(
            Expect(Event, event.row_key, event.version),
            Delete(Event, event.row_key),
            *(parts if history else part_deletions(core.org, space, Ref("event", space, id))),
            *(raised(core, Ref("event", space, id)) if event.sources else ()),
            audit(core, "delete", "event", f"{space}/{id}"),
        )
        return True

    # -- parts

    def _namespace(self, ns: Ns | None) -> Ns:
        """Return the namespace to which a call refers: the one it names, the user's own, or `global` on a handle
        without a user.
        """
        return self._core.scope.own() if ns is None else ns

    async def _update(
        self, id: str, ns: Ns | None, action: str, fields: Mapping[str, object], reason: str | None, expect: int | None
    ) -> Event:
        core = self._core
        space = core.scope.writable(self._namespace(ns))
        check_name(id, "event id")
        check_reason(reason)
        wanted = None if expect is None else version_of(expect)

        async def attempt() -> Event:
            old = await core.get(Event, space, id)
            if old is None:
                raise NotFound("no such event in this namespace", event=id, namespace=space)
            event = msgspec.structs.replace(old, **fields, reason=reason, actor=core.scope.actor)
            check_event(event)
            return await self._replace(old, event, action, expect=wanted)

        # With `expect`, a conflict is the answer to the caller, so nothing is tried again.
        stored: Event = await (core.retry(attempt) if wanted is None else attempt())
        return stored

    async def _replace(
        self,
        old: Event | None,
        event: Event,
        action: str,
        guards: Sequence[Change] = (),
        *,
        expect: int | None = None,
        stated_at: datetime | None = None,
    ) -> Event:
        """Replace version `old` of an event, and write its links, audit event and index job in the same transaction.

        The new version begins now, or at `stated_at` if it comes from a message.
        """
        core = self._core
        at = core.at()
        event = event if old is None else msgspec.structs.replace(event, updated_at=stated_at or at)
        version = (0 if old is None else old.version) if expect is None else expect
        # A cancelled event is not recalled, so its index entry goes at once.
        index: Change = (
            Delete(Entry, (core.org, event.ns, "event", "", event.id))
            if event.status == "cancelled"
            else Put(index_job(core.org, event.ns, f"event:{event.id}", at))
        )
        sources = [ref for source in event.sources for ref in parse_refs(source)]
        target = Ref("event", event.ns, event.id)
        links = [Put(Link.of(core.org, source, target, at)) for source in sources]
        put = Put(event)
        results = await core.apply(
            Expect(Event, event.row_key, version),
            put,
            index,
            audit(core, action, "event", f"{event.ns}/{event.id}", (event.sources or (None,))[-1], at=at),
            *links,
            *guards,
        )
        return results.written(event)

    async def _undo(self, versions: Sequence[Event]) -> Event:
        """Make the second-to-last version of an event the current one again."""
        last, before = versions[-1], versions[-2]
        fields = msgspec.to_builtins(before, builtin_types=(datetime,))
        old = None if last.status == DELETED else last
        restored = msgspec.structs.replace(
            msgspec.convert(fields, Event), version=last.version if old is not None else 0, updated_at=self._core.at()
        )
        return await self._replace(old, restored, "undo")

    # Last, because the name hides the builtin for the annotations below it.
    async def _cursor(self, ns: str, after: str | None) -> tuple[int, str] | None:
        """Return the position in the index after which the next page begins."""
        if after is None:
            return None
        event = await self._core.get(Event, ns, check_name(after, "after"))
        if event is None:
            raise NotFound("the event that after= names no longer exists; list from the start", event=after)
        return to_micros(event.starts_at), event.id

    # Last: the name hides the builtin for annotations below it.
    async def list(
        self,
        *,
        status: EventStatus | None = None,
        since: When | None = None,
        until: When | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
        ns: Ns | None = None,
    ) -> list[Event]:
        """Return events, ordered by when they begin.

        Args:
            status: Return only events that are `planned`, `done` or `cancelled`.
            since: Return only events that begin at or after this time.
            until: Return only events that begin before this time.
            limit: The maximum number to return.
            after: The id of the last event of the previous page.
            reverse: Whether to list in reverse order.
            ns: The namespace.

        Returns:
            The events.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> event = memory.events.add("Standup", starts_at="2030-03-01T09:00:00Z", ns="user:ada")
            >>> [event.text for event in memory.events.list(status="planned", ns="user:ada")]
            ['Standup']
        """
        if status is not None and status not in STATUSES:
            raise InvalidValue(f"status must be one of {', '.join(STATUSES)}")
        core = self._core
        space = core.scope.readable(self._namespace(ns))
        first = None if since is None else to_micros(as_datetime(since, "since"))
        last = None if until is None else to_micros(as_datetime(until, "until"))
        most = checked_limit(limit)
        cursor = await self._cursor(space, after)
        events: list[Event] = []
        bounds: Bounds = {"index": "by_start", "reverse": reverse}
        if cursor is not None:
            bounds["before" if reverse else "after"] = cursor
        for event in await core.listed(Event, space, **bounds):
            begins = to_micros(event.starts_at)
            if status not in (None, event.status) or (first is not None and begins < first):
                continue
            if last is not None and begins >= last:
                continue
            if most is not None and len(events) >= most:
                break
            events.append(event)
        return events


def event_key(text: str, starts_at: datetime, subject: str | None = None) -> str:
    """Return the id of an event: a hash of its normalised text, its day and its subject, so that an event is stored
    only once."""
    about = "" if subject is None else f"\n{fold(subject)}"
    return digest(f"{fold(text)}\n{starts_at.date().isoformat()}{about}".encode(), 12)


def check_event(event: Event) -> None:
    """Raise an error if the status is invalid, the text is empty, or the event ends before it begins."""
    if event.status not in STATUSES:
        raise InvalidValue(f"status must be one of {', '.join(STATUSES)}")
    if not fold(event.text):
        raise InvalidValue("an event needs a text")
    if event.ends_at is not None and event.ends_at < event.starts_at:
        raise InvalidValue("ends_at is before starts_at")


def _names(people: Iterable[str]) -> tuple[str, ...]:
    names = tuple(check_name(name, "a name in people") for name in as_list(people, "people"))
    if len(names) > MAX_PEOPLE:
        raise InvalidValue(f"at most {MAX_PEOPLE} people, got {len(names)}")
    return names

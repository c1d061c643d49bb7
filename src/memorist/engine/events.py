"""Events are things that happened or are planned. Each has a time, people, a place, a status, a history and sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

import msgspec

from ..errors import InvalidValue, NotFound
from ..ids import digest
from ..ports import Ttl, When, as_datetime, to_micros
from ..records import Event, EventVersion, Ref, Tombstone
from ..scope import Ns
from ..stores.base import Delete, Expect
from ..values import JsonMapping, as_list, check_name, check_text
from .audit import audit
from .core import Bounds
from .forgetting.guard import guard, raised, value_fingerprint
from .learnings import fold
from .options import MemoryScope, checked_limit
from .removal import part_deletions
from .versions import DELETED, MAX_TEXT_CHARACTERS, MemoryNoun, ending_changes, version_as

EventStatus = Literal["planned", "done", "cancelled"]
STATUSES: tuple[EventStatus, ...] = ("planned", "done", "cancelled")
MAX_PEOPLE = 50
_MEMORY_STATUS = {"cancelled": "ended", DELETED: DELETED}
"""The status that an event with a given status has as a memory. All others are active."""
_RESTORED = ("text", "starts_at", "ends_at", "status", "people", "location", "tags", "metadata")
"""The fields of an event that undoing a plan restores."""


def _check_people(people: Iterable[str]) -> tuple[str, ...]:
    names = tuple(check_name(name, "a name in people") for name in as_list(people, "people"))
    if len(names) > MAX_PEOPLE:
        raise InvalidValue(f"at most {MAX_PEOPLE} people, got {len(names)}")
    return names


class Events(MemoryNoun[Event]):
    """Reads and writes the events of the handle's user, or those in a namespace that you name."""

    _record_type = Event
    _version_type = EventVersion
    _checks: ClassVar = {"people": _check_people}

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
        space = core.scope.writable_or_own(ns)
        at = core.at()
        begins = at if starts_at is None else as_datetime(starts_at, "starts_at")
        fields = self._check_fields(
            ends_at=ends_at, scope=scope, subject=subject, people=people, location=location, tags=tags,
            metadata=metadata, confidence=confidence,
        )  # fmt: skip
        event = Event(
            id=event_key(check_text(text, "text", limit=MAX_TEXT_CHARACTERS), begins, subject),
            text=text,
            starts_at=begins,
            status=("planned" if begins > at else "done") if status is None else status,
            **self._stamp(space, source, ttl),
            **fields,
        )
        self._check(event)
        return await self._write(event)

    async def _write(self, event: Event) -> Event:
        """Store a complete event unless it already exists.

        It is returned with status `cancelled` if its source was forgotten.
        """
        core = self._core

        async def attempt() -> Event:
            # Read first: if a source is forgotten after this line, the commit fails and the next attempt sees it.
            hold = await guard(core, event.sources)
            marks = [("event", value_fingerprint(event, source)) for source in event.sources]
            if hold.forgotten or (core.scope.actor != "user" and any(await core.get_many(Tombstone, marks))):
                return msgspec.structs.replace(event, status="cancelled", reason="a source of it was forgotten")
            # The id is a hash of text, day and subject, so the same statement leads to the same row.
            old = await core.get(Event, event.ns, event.id)
            if old is not None:
                sources = tuple(dict.fromkeys((*old.sources, *event.sources)))
                if sources == old.sources:
                    return old
                # A cancelled event that is mentioned again later takes place after all.
                is_back = old.status == "cancelled" and event.created_at > old.updated_at
                status, reason = (event.status, None) if is_back else (old.status, old.reason)
                confirmed = msgspec.structs.replace(
                    old, sources=sources, status=status, reason=reason, updated_at=core.at()
                )
                return await self._commit(old, confirmed, "confirm", *hold.changes)
            return await self._commit(None, event, "add", *hold.changes)

        return await core.retry(attempt)

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
        return await self._stored(self._core.scope.readable_or_own(ns), check_name(id, "event id"))

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
        space = self._core.scope.readable_or_own(ns)
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
        changed = self._check_fields(
            text=text, starts_at=starts_at, ends_at=ends_at, status=status, people=people, location=location,
            tags=tags, metadata=metadata,
        )  # fmt: skip
        return await self._update(self._core.scope.writable_or_own(ns), id, changed, reason, expect=expect)

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
        space = self._core.scope.writable_or_own(ns)
        return await self._update(space, id, {"status": "cancelled"}, reason, action="cancel")

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
        return await self._versions(self._core.scope.readable_or_own(ns), check_name(id, "event id"))

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
        return await self._delete(self._core.scope.writable_or_own(ns), check_name(id, "event id"), history=history)

    # -- as one of several kinds of memories

    def _check(self, record: Event) -> None:
        if record.status not in STATUSES:
            raise InvalidValue(f"status must be one of {', '.join(STATUSES)}")
        if not fold(record.text):
            raise InvalidValue("an event needs a text")
        if record.ends_at is not None and record.ends_at < record.starts_at:
            raise InvalidValue("ends_at is before starts_at")

    def _missing(self, ns: str, id: str, action: str) -> NotFound:
        return NotFound("no such event in this namespace", event=id, namespace=ns)

    @staticmethod
    def _shown_fields(record: Event, now: datetime) -> dict[str, Any]:
        return {
            "text": record.text, "type": record.status, "status": _MEMORY_STATUS.get(record.status, "active"),
            "valid_from": record.starts_at, "valid_until": record.ends_at, "people": record.people,
            "location": record.location,
        }  # fmt: skip

    async def _change(self, ns: str, id: str, *, reason: str | None = None, **fields: object) -> Event:
        starts_at, ends_at = fields.pop("valid_from", None), fields.pop("valid_until", None)
        changed = self._check_fields(starts_at=starts_at, ends_at=ends_at, **fields)
        return await self._update(ns, id, changed, reason)

    async def _delete(self, ns: str, id: str, *, history: bool = True) -> bool:
        core = self._core
        event = await core.get(Event, ns, id)
        if event is None:
            return False
        ref = Ref("event", ns, id)
        if history:
            last = version_as(
                EventVersion, event, status=DELETED, version=event.version + 1, updated_at=core.at(),
                actor=core.scope.actor, reason=None,
            )  # fmt: skip
            changes = ending_changes(core, event, last)
        else:
            changes = [Delete(Event, event.row_key), *part_deletions(core.org, ns, ref)]
            changes += raised(core, ref) if event.sources else ()
        expected = Expect(Event, event.row_key, event.version)
        await core.apply(expected, *changes, audit(core, "delete", "event", f"{ns}/{id}"))
        return True

    async def _undo(self, versions: Sequence[Event], *, approved: bool) -> Event | None:
        last = versions[-1]
        if len(versions) == 1 or versions[-2].status == DELETED:
            await self._delete(last.ns, last.id)
            return None
        old = None if last.status == DELETED else last
        version = 0 if old is None else old.version
        restored = version_as(Event, versions[-2], version=version, updated_at=self._core.at())
        return await self._commit(old, restored, "undo")

    async def _remove(self, record: Event, reason: str) -> None:
        await self._update(record.ns, record.id, {"status": "cancelled"}, reason, action="cancel")

    async def _put_back(self, record: Event) -> None:
        await self._update(record.ns, record.id, {name: getattr(record, name) for name in _RESTORED})

    async def _end_named(self, ns: str, is_named: Callable[[str, Sequence[str]], bool], request: str) -> list[str]:
        events = [
            event for event in await self._core.scan(Event, ns)
            if event.status != "cancelled" and is_named(event.text, event.sources)
        ]  # fmt: skip
        for event in events:
            cancelled = msgspec.structs.replace(
                event, status="cancelled", reason="asked to forget", sources=(*event.sources, request),
                updated_at=self._core.at(),
            )  # fmt: skip
            await self._commit(event, cancelled, "cancel")
        return [event.id for event in events]

    async def _unforget(self, ns: str, id: str) -> Event | None:
        event = await self._core.get(Event, ns, id)
        if event is None or event.status != "cancelled":
            return None
        return await self._undo(await self._versions(ns, id), approved=False)

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
        space = core.scope.readable_or_own(ns)
        first = None if since is None else to_micros(as_datetime(since, "since"))
        last = None if until is None else to_micros(as_datetime(until, "until"))
        most = checked_limit(limit)
        cursor = await self._cursor(space, after)
        events: list[Event] = []
        bounds: Bounds = {"index": "by_start", "reverse": reverse}
        if cursor is not None:
            bounds["before" if reverse else "after"] = cursor
        # Filtered here: the index orders by time, but an event's status is in no index.
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

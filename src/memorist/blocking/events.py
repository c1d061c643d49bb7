"""Blocking events.

Made by scripts/generate-blocking from engine/events.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.events import Events as EngineEvents
from ..engine.events import EventStatus
from ..engine.options import MemoryScope
from ..ports import Ttl, When
from ..records import Event
from ..runtime import run_blocking
from ..scope import Ns
from ..values import JsonMapping


class Events:
    """Reads and writes the events of the handle's user, or those in a namespace that you name."""

    def __init__(self, engine: EngineEvents) -> None:
        self._engine = engine

    def add(
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
        return run_blocking(
            self._engine.add(
                text,
                starts_at=starts_at,
                ends_at=ends_at,
                status=status,
                people=people,
                location=location,
                subject=subject,
                scope=scope,
                tags=tags,
                metadata=metadata,
                confidence=confidence,
                source=source,
                ttl=ttl,
                ns=ns,
            )
        )

    def get(self, id: str, *, ns: Ns | None = None) -> Event | None:
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
        return run_blocking(self._engine.get(id, ns=ns))

    def get_many(self, ids: Iterable[str], *, ns: Ns | None = None) -> list[Event | None]:
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
        return run_blocking(self._engine.get_many(ids, ns=ns))

    def update(
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
        return run_blocking(
            self._engine.update(
                id,
                text=text,
                starts_at=starts_at,
                ends_at=ends_at,
                status=status,
                people=people,
                location=location,
                tags=tags,
                metadata=metadata,
                reason=reason,
                expect=expect,
                ns=ns,
            )
        )

    def cancel(self, id: str, *, reason: str | None = None, ns: Ns | None = None) -> Event:
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
        return run_blocking(self._engine.cancel(id, reason=reason, ns=ns))

    def history(self, id: str, *, ns: Ns | None = None) -> list[Event]:
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
        return run_blocking(self._engine.history(id, ns=ns))

    def delete(self, id: str, *, history: bool = True, ns: Ns | None = None) -> bool:
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
        return run_blocking(self._engine.delete(id, history=history, ns=ns))

    def list(
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
        return run_blocking(
            self._engine.list(status=status, since=since, until=until, limit=limit, after=after, reverse=reverse, ns=ns)
        )

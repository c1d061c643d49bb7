"""Provides Google ADK with session and memory services over threads and records. It needs the `google-adk` extra."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from google.genai import types
from pydantic_core import to_jsonable_python

from ..engine.noun import core_of
from ..engine.records import OpaqueRecord
from ..errors import Conflict, NotFound
from ..ids import new_id
from ..memory import AsyncMemory
from ..messages.message import Message
from ..ordered_keys import RecordKey
from ..values import JsonObject
from .handles import Handles, Source

ROOT = "google-adk"
APPS = "workflow:google-adk"
"""The namespace of app state, which all users of an app share."""
MAX_ATTEMPTS = 40


class MemoristSessionService(BaseSessionService):
    """Stores a session as a thread of its user, events as messages and state as records. Each event is one transaction.

    `memory` is a `Memory`, an `AsyncMemory` or a URL. A write raises `StaleSessionError` if another writer changed the
    session in the meantime. This is detected by record versions (compare-and-set), not by timestamps.
    """

    def __init__(self, memory: Source) -> None:
        self._handles = Handles(memory)

    @property
    def _memory(self) -> AsyncMemory:
        return self._handles.awaited

    async def create_session(
        self, *, app_name: str, user_id: str, state: JsonObject | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session, or raise AlreadyExistsError if the id is taken."""
        id = (session_id or "").strip() or new_id()
        deltas = _split_state(state or {})
        session = Session(app_name=app_name, user_id=user_id, id=id, state=deltas["session"])
        session.last_update_time = core_of(self._memory).now() / 1e6
        data = {"state": session.state, "time": session.last_update_time}
        for left in range(MAX_ATTEMPTS - 1, -1, -1):
            if await self._stored(app_name, user_id, id) is not None:
                raise AlreadyExistsError(f"Session with id {id} already exists.")
            shared = await self._shared(app_name, user_id, deltas)
            try:
                await self._commit(app_name, user_id, id, data, 0, shared)
                break
            except Conflict:
                if not left:
                    raise
        session._storage_update_marker = "1"
        return await self._merged(session)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events (as limited by `config`) and the merged app, user and session state."""
        id = session_id.strip() if session_id else session_id
        stored = await self._stored(app_name, user_id, id)
        if stored is None:
            return None
        session = _session(app_name, user_id, id, stored)
        session.events = await self._events(app_name, user_id, id, config)
        return await self._merged(session)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return sessions without their events, the most recently used last."""
        users = [user_id] if user_id is not None else await self._users()
        sessions: list[Session] = []
        for user in users:
            for record in await self._memory.records.scan(f"user:{user}", (ROOT, "session", app_name)):
                sessions.append(await self._merged(_session(app_name, user, str(record.key[-1]), record)))
        sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session with its events."""
        id = session_id.strip() if session_id else session_id
        await self._memory.records.delete(f"user:{user_id}", _session_key(app_name, id))
        await self._memory.threads.delete(thread_of(app_name, user_id, id))

    async def get_user_state(self, *, app_name: str, user_id: str) -> JsonObject:
        """Return the state shared by all sessions of a user in an app."""
        return _state(await self._memory.records.get(f"user:{user_id}", _user_key(app_name)))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and the state it changes in one transaction. This is idempotent for the same event."""
        if event.partial:
            return event
        app, user, id = session.app_name, session.user_id, session.id
        trimmed = self._trim_temp_delta_state(event.model_copy(deep=True))
        message = message_of(trimmed)
        for left in range(MAX_ATTEMPTS - 1, -1, -1):
            stored = await self._stored(app, user, id)
            if stored is None:
                raise SessionNotFoundError(f"Session {id} not found.")
            if await self._is_stored(app, user, id, trimmed):
                return event
            marker = session._storage_update_marker
            if marker is not None and marker != str(stored.version):
                raise StaleSessionError(f"Session {id} was changed by another writer; get it again.")
            if await self._appended(session, stored, trimmed, message, left):
                await super().append_event(session=session, event=event)
                session.last_update_time = event.timestamp
                session._storage_update_marker = str(stored.version + 1)
                return event
        raise AssertionError("unreachable")

    async def _appended(
        self, session: Session, stored: OpaqueRecord, event: Event, message: Message, left: int
    ) -> bool:
        """Commit an event by compare-and-set on the session as it was read, and return False after a conflict."""
        app, user, id = session.app_name, session.user_id, session.id
        delta = event.actions.state_delta if event.actions else {}
        deltas = _split_state(delta or {})
        shared = await self._shared(app, user, deltas)
        state = {**_state(stored), **deltas["session"]}
        try:
            data = {"state": state, "time": event.timestamp}
            await self._commit(app, user, id, data, stored.version, shared, message, _event_key(event))
            return True
        except Conflict:
            if not left:
                raise
            return False

    async def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()

    # -- parts

    async def _stored(self, app: str, user: str, id: str) -> OpaqueRecord | None:
        return await self._memory.records.get(f"user:{user}", _session_key(app, id))

    async def _shared(
        self, app: str, user: str, deltas: Mapping[str, Mapping[str, object]]
    ) -> list[tuple[str, RecordKey, JsonObject, int]]:
        """Return the new app state and user state, each with the version that was read (for compare-and-set)."""
        updates = []
        for name, space, key in (("app", APPS, _app_key(app)), ("user", f"user:{user}", _user_key(app))):
            if deltas[name]:
                record = await self._memory.records.get(space, key)
                state = {**_state(record), **deltas[name]}
                updates.append((space, key, {"state": state}, 0 if record is None else record.version))
        return updates

    async def _commit(
        self,
        app: str,
        user: str,
        id: str,
        data: JsonObject,
        version: int,
        shared: Sequence[tuple[str, RecordKey, JsonObject, int]],
        message: Message | None = None,
        key: str | None = None,
    ) -> None:
        space = f"user:{user}"
        async with self._memory.batch() as batch:
            await batch.records.put(space, _session_key(app, id), _json(data), expect=version)
            for where, state_key, state, before in shared:
                await batch.records.put(where, state_key, _json(state), expect=before)
            if message is not None:
                await batch.threads.append(thread_of(app, user, id), message, key=key, create=space)

    async def _is_stored(self, app: str, user: str, id: str, event: Event) -> bool:
        """Return whether this event is among the last twenty stored."""
        try:
            recent = await self._memory.threads.recent(thread_of(app, user, id), 20)
        except NotFound:
            return False
        return any(message.raw == _dumped(event) for message in recent)

    async def _events(self, app: str, user: str, id: str, config: GetSessionConfig | None) -> list[Event]:
        thread, count = thread_of(app, user, id), None if config is None else config.num_recent_events
        try:
            if count is None:
                rows = await self._memory.threads.messages(thread)
            else:
                rows = await self._memory.threads.recent(thread, count) if count else []
        except NotFound:
            return []
        events = [Event.model_validate(message.raw) for message in rows]
        if config is not None and config.after_timestamp is not None:
            early = [n for n, event in enumerate(events) if event.timestamp < config.after_timestamp]
            events = events[early[-1] + 1 :] if early else events
        return events

    async def _merged(self, session: Session) -> Session:
        app = await self._memory.records.get(APPS, _app_key(session.app_name))
        for prefix, state in (
            (State.APP_PREFIX, _state(app)),
            (State.USER_PREFIX, await self.get_user_state(app_name=session.app_name, user_id=session.user_id)),
        ):
            session.state.update({prefix + key: value for key, value in state.items()})
        return session

    async def _users(self) -> list[str]:
        return [space.partition(":")[2] for space in await self._memory.namespaces("user")]


class MemoristMemoryService(BaseMemoryService):
    """Searches messages and facts with recall in the user's own namespace.

    You do not have to add the sessions of a `MemoristSessionService` on the same memory.
    """

    def __init__(self, memory: Source, *, top_k: int = 10) -> None:
        self._handles = Handles(memory)
        self._top_k = top_k

    async def add_session_to_memory(self, session: Session) -> None:
        """Add a session's events, skipping those added before."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add events. This is idempotent for the same event."""
        complete = [event for event in events if not event.partial]
        if complete:
            await self._handles.awaited.threads.append(
                thread_of(app_name, user_id, session_id or "memory"), *map(message_of, complete),
                key=[_event_key(event) for event in complete], create=f"user:{user_id}",
            )  # fmt: skip

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add memories as facts about the user."""
        facts = {f"{ROOT}/{app_name}/{entry.id or new_id()}": _text(entry.content) for entry in memories}
        await self._handles.awaited.facts.set_many(f"user:{user_id}", facts)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return memories relevant to a query, best first."""
        own_thread = thread_of(app_name, user_id, "")
        space = f"user:{user_id}"
        hits = await self._handles.awaited.recall(query, namespaces=space, top_k=self._top_k)
        entries = [
            MemoryEntry(
                content=types.Content(parts=[types.Part(text=hit.text)]), id=hit.id, author=hit.speaker or hit.kind,
                timestamp=hit.created_at.isoformat(),
            )
            for hit in hits
            if hit.kind != "message" or hit.id.startswith(own_thread)
        ]  # fmt: skip
        return SearchMemoryResponse(memories=entries)

    async def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()


def thread_of(app: str, user: str, session: str) -> str:
    """Return the id of the thread that contains a session."""
    return f"{app}/{user}/{session}"


def message_of(event: Event) -> Message:
    """Convert an event to a message, keeping the original in `raw`."""
    parts = (event.content.parts if event.content else None) or []
    calls = [part.function_call for part in parts if part.function_call]
    results = [part.function_response for part in parts if part.function_response]
    role = "user" if event.author == "user" else "tool" if results else "assistant"
    extra: JsonObject = {}
    if calls:
        extra["tool_calls"] = [
            {
                "id": call.id or call.name or "",
                "type": "function",
                "function": {"name": call.name or "", "arguments": "{}"},
            }
            for call in calls
        ]
    if results:
        extra["tool_call_id"] = results[0].id or results[0].name or ""
    name = None if event.author == "user" else event.author
    return Message(role=role, content=_text(event.content), name=name or None, extra=extra, raw=_dumped(event))


def _dumped(event: Event) -> JsonObject:
    return event.model_dump(mode="json", exclude_none=True)


def _event_key(event: Event) -> str:
    """Return the idempotency key of an event: its id and a digest, so that different events with one id are both
    stored.
    """
    return f"{event.id}-{hashlib.blake2b(event.model_dump_json().encode(), digest_size=8).hexdigest()}"


def _text(content: types.Content | None) -> str:
    return "\n".join(part.text for part in (content.parts if content else None) or [] if part.text)


def _session(app: str, user: str, id: str, stored: OpaqueRecord) -> Session:
    data: Any = stored.data
    session = Session(app_name=app, user_id=user, id=id, state=dict(data["state"]), last_update_time=data["time"])
    session._storage_update_marker = str(stored.version)
    return session


def _state(record: OpaqueRecord | None) -> JsonObject:
    data: Any = None if record is None else record.data
    return {} if data is None else dict(data["state"])


def _json(value: JsonObject) -> JsonObject:
    # What has no JSON form, a function for instance, is stored as its text rather than failing the whole write.
    return {**value, "state": to_jsonable_python(value["state"], serialize_unknown=True)}


def _split_state(state: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Split a state into the parts that belong to the app, to the user and to the session.

    Temporary state is left out.
    """
    parts: dict[str, dict[str, object]] = {"app": {}, "user": {}, "session": {}}
    for key, value in state.items():
        if key.startswith(State.APP_PREFIX):
            parts["app"][key.removeprefix(State.APP_PREFIX)] = value
        elif key.startswith(State.USER_PREFIX):
            parts["user"][key.removeprefix(State.USER_PREFIX)] = value
        elif not key.startswith(State.TEMP_PREFIX):
            parts["session"][key] = value
    return parts


def _session_key(app: str, id: str) -> RecordKey:
    return (ROOT, "session", app, id)


def _user_key(app: str) -> RecordKey:
    return (ROOT, "user", app)


def _app_key(app: str) -> RecordKey:
    return (ROOT, "app", app)

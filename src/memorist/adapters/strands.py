"""Provides Strands with a session repository over records and a memory store. It needs the `strands` extra."""

from __future__ import annotations

import json
from typing import Any

from strands.memory.types import AddMessagesContext, MemoryEntry, SearchOptions
from strands.session.session_repository import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from ..blocking.memory import Memory
from ..engine.recalling import Spaces
from ..errors import Conflict, NotFound
from ..ids import new_id
from ..messages.message import Message
from ..ordered_keys import RecordKey
from ..records import Fact
from ..values import Json, JsonMapping, JsonObject
from .handles import Handles, Source

ROOT = "strands"


class MemoristSessionRepository(SessionRepository):
    """Stores sessions, agents and messages as records, for a `RepositorySessionManager`.

    The text of messages is copied into a thread for each agent, so that recall finds it.
    """

    def __init__(self, memory: Source, *, namespace: str | None = None) -> None:
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space(ROOT)

    @property
    def _memory(self) -> Memory:
        return self._handles.memory.blocking

    def create_session(self, session: Session, **kwargs: object) -> Session:
        """Create a session, or raise SessionException if it exists."""
        self._create(_key("session", session.session_id), session.to_dict(), f"Session {session.session_id}")
        return session

    def read_session(self, session_id: str, **kwargs: object) -> Session | None:
        """Return a session, or None."""
        data = self._read(_key("session", session_id))
        return None if data is None else Session.from_dict(data)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: object) -> None:
        """Create an agent in a session."""
        self._need_session(session_id)
        agent = session_agent.agent_id
        self._create(_key("agent", session_id, agent), session_agent.to_dict(), f"Agent {agent}")

    def read_agent(self, session_id: str, agent_id: str, **kwargs: object) -> SessionAgent | None:
        """Return an agent, or None."""
        data = self._read(_key("agent", session_id, agent_id))
        return None if data is None else SessionAgent.from_dict(data)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: object) -> None:
        """Update an existing agent, keeping its creation time."""
        self._need_session(session_id)
        before = self._need_agent(session_id, session_agent.agent_id)
        session_agent.created_at = before.created_at
        self._write(_key("agent", session_id, session_agent.agent_id), session_agent.to_dict())

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: object) -> None:
        """Create an agent's message."""
        self._need_session(session_id)
        self._need_agent(session_id, agent_id)
        number = session_message.message_id
        self._create(_key("message", session_id, agent_id, number), session_message.to_dict(), f"Message {number}")
        message = _convert_message(session_message.to_message())
        if message.text.strip():
            thread = self.thread_of(session_id, agent_id)
            self._memory.threads.append(thread, message, create=self._space, key=f"message-{number}")

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: object) -> SessionMessage | None:
        """Return a message, or None."""
        data = self._read(_key("message", session_id, agent_id, message_id))
        return None if data is None else SessionMessage.from_dict(data)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: object) -> None:
        """Update an existing message (for example to redact it), and redact its copy in the thread."""
        self._need_session(session_id)
        self._need_agent(session_id, agent_id)
        number = session_message.message_id
        before = self.read_message(session_id, agent_id, number)
        if before is None:
            raise SessionException(f"Message {number} does not exist in session {session_id}")
        session_message.created_at = before.created_at
        self._write(_key("message", session_id, agent_id, number), session_message.to_dict())
        self._redact(self.thread_of(session_id, agent_id), _convert_message(before.to_message()).text)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: object
    ) -> list[SessionMessage]:
        """Return a page of messages in order."""
        records = self._memory.records.scan(self._space, _key("message", session_id, agent_id))
        page = records[offset:] if limit is None else records[offset : offset + limit]
        return [SessionMessage.from_dict(record.data) for record in page]

    def create_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: object) -> None:
        """Store the state of a swarm or a graph."""
        self._need_session(session_id)
        self._write(_key("multi", session_id, multi_agent.id), multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: object) -> JsonObject | None:
        """Return the state of a swarm or a graph, or None."""
        return self._read(_key("multi", session_id, multi_agent_id))

    def update_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: object) -> None:
        """Update the state of an existing swarm or graph."""
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent state {multi_agent.id} does not exist in session {session_id}")
        self._write(_key("multi", session_id, multi_agent.id), multi_agent.serialize_state())

    def thread_of(self, session_id: str, agent_id: str) -> str:
        """Return the id of the thread that mirrors an agent's messages in a session."""
        return f"{self._space}/{session_id}/{agent_id}"

    def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        self._handles.close()

    def _create(self, key: RecordKey, data: object, what: str) -> None:
        try:
            self._memory.records.put(self._space, key, _json(data), expect=0)
        except Conflict as conflict:
            raise SessionException(f"{what} already exists") from conflict

    def _write(self, key: RecordKey, data: object) -> None:
        self._memory.records.put(self._space, key, _json(data))

    def _read(self, key: RecordKey) -> Any:
        record = self._memory.records.get(self._space, key)
        return None if record is None else record.data

    def _need_session(self, session_id: str) -> None:
        if self.read_session(session_id) is None:
            raise SessionException(f"Session {session_id} does not exist")

    def _need_agent(self, session_id: str, agent_id: str) -> SessionAgent:
        agent = self.read_agent(session_id, agent_id)
        if agent is None:
            raise SessionException(f"Agent {agent_id} does not exist in session {session_id}")
        return agent

    def _redact(self, thread: str, text: str) -> None:
        try:
            messages = self._memory.threads.messages(thread)
        except NotFound:
            return
        for message in messages:
            if text and message.text == text:
                self._memory.threads.redact(message)


class MemoristMemoryStore:
    """Implements a memory store for Strands' `MemoryManager`. It stores facts and messages, and uses recall to search
    them."""

    def __init__(
        self,
        memory: Source,
        *,
        name: str = "memorist",
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: object = None,
        namespace: str | None = None,
        namespaces: Spaces = None,
    ) -> None:
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space(ROOT)
        self._namespaces = namespaces

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return memories relevant to a query, best first."""
        most = (options or {}).get("max_search_results") or self.max_search_results or 10
        hits = await self._handles.awaited.recall(query, namespaces=self._namespaces, top_k=most)
        return [
            MemoryEntry(content=hit.text, metadata={"id": hit.id, "kind": hit.kind, "score": hit.score}) for hit in hits
        ]

    async def add(self, content: str, metadata: JsonMapping | None = None) -> Fact | None:
        """Store a text as a fact, unless a fact with the same text already exists."""
        key = f"{ROOT}/{(metadata or {}).get('id') or new_id()}"
        facts = await self._handles.awaited.facts.list(self._space, prefix=f"{ROOT}/")
        if any(fact.value == content for fact in facts):
            return None
        return await self._handles.awaited.facts.set(self._space, key, content)

    async def add_messages(self, messages: list[JsonMapping], context: AddMessagesContext | None = None) -> None:
        """Append messages to a thread, from which facts are extracted."""
        converted = [message for message in map(_convert_message, messages) if message.text.strip()]
        if converted:
            await self._handles.awaited.threads.append(f"{self._space}/{self.name}", *converted, create=self._space)


def _convert_message(message: JsonMapping) -> Message:
    """Convert a Strands message to ours, keeping only its text."""
    parts = [part["text"] for part in message.get("content", ()) if isinstance(part, dict) and "text" in part]
    role = "assistant" if message.get("role") == "assistant" else "user"
    return Message(role=role, content="\n".join(parts))


def _json(data: object) -> Json:
    """Return the data as plain JSON types, with enumerations converted to text."""
    plain: Json = json.loads(json.dumps(data))
    return plain


def _key(kind: str, *parts: str | int) -> RecordKey:
    return (ROOT, kind, *parts)

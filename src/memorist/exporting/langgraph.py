"""Writes threads and facts to a SQLite file that LangGraph's `SqliteSaver` and `SqliteStore` open.

A thread becomes one checkpoint with its messages in the channel `messages`, and a fact becomes an item of the store
under its namespace.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC

import msgspec

from ..messages.message import Message
from ..records import Fact, Thread
from ..values import JsonObject

PYDANTIC_EXTENSION = 5
"""The MessagePack extension type that LangGraph uses to serialise pydantic objects."""
TYPES = {"user": ("human", "Human"), "assistant": ("ai", "AI"), "tool": ("tool", "Tool"), "function": ("tool", "Tool")}
SCHEMA = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
CREATE TABLE store (
    prefix TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (prefix, key)
);
"""
_pack = msgspec.msgpack.Encoder().encode


def put_thread(file: sqlite3.Connection, thread: Thread, messages: list[Message]) -> None:
    """Write a thread as one checkpoint."""
    # Checkpoint ids sort by time. This one sorts before every checkpoint that the graph will write.
    id = "00000000-0000-6000-8000-000000000000"
    checkpoint = {
        "v": 4,
        "ts": thread.updated_at.astimezone(UTC).isoformat(),
        "id": id,
        "channel_values": {"messages": [_object(message) for message in messages]},
        "channel_versions": {"messages": "00000000000000000000000000000001.0000000000000000"},
        "versions_seen": {},
        "updated_channels": ["messages"],
    }
    metadata = msgspec.json.encode({"source": "update", "step": 0, "parents": {}})
    row = (thread.id, "", id, None, "msgpack", _pack(checkpoint), metadata)
    file.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def put_fact(file: sqlite3.Connection, fact: Fact) -> None:
    """Write a fact as an item of the store, which accepts only objects as values."""
    value = fact.value if isinstance(fact.value, dict) else {"value": fact.value}
    prefix = fact.ns.removeprefix("workflow:store/").replace(":", ".", 1)
    times = [f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}" for at in (fact.created_at, fact.updated_at)]
    item = (prefix, fact.key, msgspec.json.encode(value).decode(), *times)
    file.execute("INSERT OR REPLACE INTO store VALUES (?, ?, ?, ?, ?)", item)


def _object(message: Message) -> msgspec.msgpack.Ext:
    kind, name = TYPES.get(message.role, ("system", "System"))
    fields: JsonObject = {
        "content": message.content if message.content is not None else "",
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": message.name,
        "id": str(message.metadata.get("id") or message.id),
    }
    if kind == "ai":
        calls = [{"name": call.name, "args": _args(call.arguments), "id": call.id} for call in message.tool_calls]
        fields |= {"tool_calls": [{**call, "type": "tool_call"} for call in calls], "invalid_tool_calls": []}
    if kind == "tool":
        results = message.tool_results
        fields |= {"tool_call_id": results[0].id if results else "", "status": "success"}
    described = (f"langchain_core.messages.{kind}", f"{name}Message", fields, "model_validate_json")
    return msgspec.msgpack.Ext(PYDANTIC_EXTENSION, _pack(described))


def _args(arguments: object) -> JsonObject:
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}

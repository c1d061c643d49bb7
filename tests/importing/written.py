"""Hand-made sources of the formats that no package writes for us offline, each with what must come of it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = "I live in Berlin — 東京 👩‍💻\n\twith a tab."


def chatgpt(folder: Path) -> Path:
    """Two conversations; in the first an answer was made anew, and a text was attached."""

    def node(id: str, parent: str | None, children: list[str], role: str | None, text: Any, **more: Any) -> Any:
        content = {"content_type": "text", "parts": [text]} if isinstance(text, str) else text
        message = {
            "id": id,
            "author": {"role": role},
            "create_time": 1_700_000_000 + len(id),
            "content": content,
            **more,
        }
        return {"id": id, "parent": parent, "children": children, "message": message if role else None}

    attached = {"attachments": [{"id": "file-1", "name": "notes.md"}], "model_slug": "gpt-x"}
    parts = {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer", "width": 2}, "a cat"]}
    first = [
        node("r", None, ["a"], None, None),
        node("a", "r", ["bb", "bbb"], "user", TEXT, metadata=attached),
        node("bb", "a", [], "assistant", "the old answer"),
        node("bbb", "a", ["cccc"], "assistant", "the new answer"),
        node("cccc", "bbb", [], "user", parts),
    ]
    second = [node("x", None, ["y"], "system", ""), node("y", "x", [], "user", "hello")]
    conversations = [
        {"title": "Trip", "create_time": 1_700_000_000.5, "conversation_id": "c-1", "current_node": "cccc",
         "mapping": {message["id"]: message for message in first}},
        {"title": None, "create_time": 1_600_000_000, "id": "c-2",
         "mapping": {message["id"]: message for message in second}},
    ]  # fmt: skip
    path = folder / "chatgpt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(conversations))
        archive.writestr("file-1-notes.md", "# Notes\nattached")
        archive.writestr("chat.html", "<html></html>")
    return path


def claude(folder: Path) -> Path:
    """A conversation with a tool call in blocks and an attachment."""
    blocks = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "name": "search", "input": {"q": "x"}},
        {"type": "text", "text": "Found."},
    ]
    messages = [
        {"uuid": "m1", "sender": "human", "text": TEXT, "created_at": "2024-03-01T10:00:00.5Z",
         "content": [{"type": "text", "text": TEXT}], "attachments": [
             {"file_name": "a.txt", "extracted_content": "the attachment"}], "files": [{"file_name": "b.png"}]},
        {"uuid": "m2", "sender": "assistant", "text": "", "created_at": "2024-03-01T10:00:01Z", "content": blocks},
    ]  # fmt: skip
    conversation = {"uuid": "u-1", "name": "Trip", "created_at": "2024-03-01T09:59:00Z", "account": {"uuid": "acc"}}
    path = folder / "conversations.json"
    path.write_text(json.dumps([{**conversation, "chat_messages": messages}], ensure_ascii=False), "utf-8")
    return path


def letta(folder: Path) -> Path:
    """The newer form: agents, blocks and files apart."""
    call = {"type": "tool_call", "id": "t1", "name": "search", "input": {"q": "x"}}
    returned = {"type": "tool_return", "tool_call_id": "t1", "content": "found", "is_error": False}
    messages = [
        {"id": "m1", "role": "user", "content": [{"type": "text", "text": TEXT}], "created_at": "2024-03-01T10:00:00Z"},
        {"id": "m2", "role": "assistant", "content": [call], "created_at": "2024-03-01T10:00:01Z"},
        {"id": "m3", "role": "tool", "content": [returned], "created_at": "2024-03-01T10:00:02Z"},
    ]
    agent = {"id": "agent-1", "name": "helper", "messages": messages, "in_context_message_ids": [], "block_ids": ["b1"]}
    written = {
        "agents": [agent],
        "blocks": [{"id": "b1", "label": "human", "value": "Ada likes tea"}],
        "files": [{"id": "f1", "file_name": "plan.md", "content": "the plan"}],
    }
    path = folder / "helper.af"
    path.write_text(json.dumps(written), "utf-8")
    return path


def letta_old(folder: Path) -> Path:
    """The first form: one agent by itself."""
    messages = [{"role": "user", "text": TEXT, "created_at": "2024-03-01T10:00:00Z"}]
    memory = [{"label": "persona", "value": "I am helpful", "limit": 5000}]
    path = folder / "old.af"
    agent = {"agent_type": "memgpt_agent", "name": "elder", "core_memory": memory, "messages": messages, "tools": []}
    path.write_text(json.dumps(agent), "utf-8")
    return path


def graphiti(folder: Path) -> Path:
    """Episodes and edges; one edge held for a year."""
    edge = {"group_id": "ada", "source_node_uuid": "n1", "target_node_uuid": "n2", "name": "LIVES_IN"}
    written = {
        "episodes": [
            {"uuid": "e1", "name": "one", "group_id": "ada", "source": "message", "source_description": "chat",
             "content": f"Ada (user): {TEXT}", "valid_at": "2021-05-01T00:00:00Z"},
            {"uuid": "e2", "name": "two", "group_id": "ada", "source": "message", "source_description": "chat",
             "content": "assistant: Good to know.", "valid_at": "2021-05-01T00:00:01Z"},
        ],
        "nodes": [
            {"uuid": "n1", "name": "Ada", "group_id": "ada", "labels": ["Entity", "Person"], "summary": "An engineer",
             "created_at": "2021-05-01T00:00:02Z"},
            {"uuid": "n2", "name": "Berlin", "group_id": "ada", "labels": ["Entity"], "summary": "",
             "created_at": "2021-05-01T00:00:02Z"},
        ],
        "edges": [
            {**edge, "uuid": "g1", "fact": "Ada lives in Berlin", "episodes": ["e1"],
             "valid_at": "2021-05-01T00:00:00Z", "invalid_at": "2022-05-01T00:00:00Z"},
        ],
    }  # fmt: skip
    path = folder / "graph.json"
    path.write_text(json.dumps(written, ensure_ascii=False), "utf-8")
    return path


def neo4j(folder: Path) -> Path:
    """The same graph as Neo4j exports it."""
    node = {"type": "node", "id": "0", "labels": ["Entity"], "properties": {"uuid": "n1", "name": "Ada"}}
    other = {"type": "node", "id": "1", "labels": ["Entity"], "properties": {"uuid": "n2", "name": "Rome"}}
    episode = {"uuid": "e1", "content": f"user: {TEXT}", "source": "message", "valid_at": "2021-05-01T00:00:00Z"}
    edge = {
        "type": "relationship", "label": "RELATES_TO", "properties": {"fact": "Ada is in Rome", "name": "IN"},
        "start": {"properties": {"uuid": "n1"}}, "end": {"properties": {"uuid": "n2"}},
    }  # fmt: skip
    rows = [node, other, {"type": "node", "labels": ["Episodic"], "properties": episode}, edge]
    path = folder / "neo4j.json"
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    return path


def zep(folder: Path) -> Path:
    """Sessions of Zep."""
    messages = [
        {"uuid": "m1", "role": "Ada", "role_type": "user", "content": TEXT, "created_at": "2024-03-01T10:00:00Z"},
        {
            "uuid": "m2",
            "role": "bot",
            "role_type": "assistant",
            "content": "Hello",
            "created_at": "2024-03-01T10:00:01Z",
        },
    ]
    path = folder / "zep.json"
    path.write_text(json.dumps({"sessions": [{"session_id": "s-1", "user_id": "ada", "messages": messages}]}), "utf-8")
    return path


def messages(folder: Path) -> Path:
    """Lines of every form: a message, a list of them, requests of both providers."""
    rows: list[Any] = [
        {"role": "user", "content": TEXT, "thread_id": "t-1", "timestamp": 1_700_000_000, "user_id": "ada"},
        {"role": "assistant", "content": "Hello", "thread_id": "t-1", "timestamp": 1_700_000_001.25},
        [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}],
        {
            "id": "req-1",
            "messages": [{"role": "user", "content": [{"type": "text", "text": TEXT}]}],
            "system": "Be brief.",
        },
    ]
    path = folder / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    return path


def mcp(folder: Path) -> Path:
    """A graph of the MCP memory server."""
    rows: list[Any] = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": [TEXT]},
        {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works at"},
    ]
    path = folder / "memory.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def obsidian(folder: Path) -> Path:
    """A vault of two notes."""
    vault = folder / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "people").mkdir()
    front = "---\ntitle: Ada Lovelace\ntags: [person, friend]\naliases:\n  - Ada\ncreated: 2021-05-01\n---\n"
    (vault / "people" / "ada.md").write_text(f"{front}# Ada\n{TEXT} See [[Berlin|the city]] #travel\n", "utf-8")
    (vault / "Berlin.md").write_text("A city.\n", "utf-8")
    (vault / ".obsidian" / "app.md").write_text("not a note", "utf-8")
    return vault


def markdown(folder: Path) -> Path:
    """A folder of texts."""
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(f"# First\n\n{TEXT}\n", "utf-8")
    (notes / "b.txt").write_text("plain text", "utf-8")
    (notes / "c.png").write_bytes(b"\x89PNG")
    return notes


Make = Callable[[Path], Path]
SOURCES: dict[str, tuple[str, Make, dict[str, int]]] = {
    "chatgpt": ("chatgpt", chatgpt, {"threads": 2, "messages": 4, "documents": 1}),
    "claude": ("claude", claude, {"threads": 1, "messages": 2, "documents": 1}),
    "letta": ("letta", letta, {"facts": 1, "threads": 1, "messages": 3, "documents": 1}),
    "letta-old": ("letta", letta_old, {"facts": 1, "threads": 1, "messages": 1}),
    "graphiti": ("graphiti", graphiti, {"threads": 1, "messages": 2, "facts": 3}),
    "neo4j": ("graphiti", neo4j, {"facts": 3, "threads": 1, "messages": 1}),
    "zep": ("graphiti", zep, {"threads": 1, "messages": 2}),
    "messages": ("messages", messages, {"threads": 3, "messages": 6}),
    "mcp": ("mcp", mcp, {"facts": 2}),
    "obsidian": ("obsidian", obsidian, {"documents": 2}),
    "markdown": ("markdown", markdown, {"documents": 2}),
}
"""By name: the kind it is recognised as, what writes it, and what comes in."""

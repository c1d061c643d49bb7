"""Anthropic's memory tool: both halves, paths that would escape, writers that race, a loop with a scripted Claude."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from anthropic.lib.tools._beta_functions import ToolError

from memorist import Memory
from memorist.adapters.anthropic_memory import AsyncMemoristMemoryTool, MemoristMemoryTool

Call = Callable[..., str]


@pytest.fixture(params=["blocking", "awaited"])
def call(request: pytest.FixtureRequest, memory: Memory) -> Call:
    """Gives a command to the tool, as the model does."""
    blocking, awaited = MemoristMemoryTool(memory), AsyncMemoristMemoryTool(memory)

    def do(command: str, path: str = "", **more: Any) -> str:
        arguments = {"command": command, "path": path, **more}
        return str(blocking.call(arguments) if request.param == "blocking" else asyncio.run(awaited.call(arguments)))  # type: ignore[arg-type]

    return do


def test_a_file_is_made_shown_changed_and_removed(call: Call) -> None:
    assert (
        call("create", "/memories/a/note.txt", file_text="one\ntwo\n")
        == "File created successfully at: /memories/a/note.txt"
    )
    with pytest.raises(ToolError, match="already exists"):
        call("create", "/memories/a/note.txt", file_text="other")
    assert call("view", "/memories/a/note.txt").splitlines()[1:] == ["     1\tone", "     2\ttwo", "     3\t"]
    assert call("view", "/memories/a/note.txt", view_range=[2, 2]).endswith("     2\ttwo")
    assert "/memories/a/note.txt" in call("view", "/memories")
    call("str_replace", "/memories/a/note.txt", old_str="two", new_str="zwei")
    call("insert", "/memories/a/note.txt", insert_line=0, insert_text="null")
    assert call("view", "/memories/a/note.txt", view_range=[1, 3]).splitlines()[1:] == [
        "     1\tnull",
        "     2\tone",
        "     3\tzwei",
    ]
    call("rename", old_path="/memories/a", new_path="/memories/b")
    assert "zwei" in call("view", "/memories/b/note.txt")
    call("delete", "/memories/b")
    with pytest.raises(ToolError, match="does not exist"):
        call("view", "/memories/b/note.txt")


ESCAPES = [
    "/etc/passwd",
    "memories/x",
    "/memories/../etc/passwd",
    "/memories/a/../../x",
    "/memoriesx/y",
    "/memories/..\\..\\x",
    "",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_would_escape_is_refused(call: Call, path: str) -> None:
    with pytest.raises(ToolError):
        call("create", path, file_text="x")
    with pytest.raises(ToolError):
        call("view", path)


@pytest.mark.parametrize("path", ["/memories", "/memories/", "/memories/.", "/memories/sub/.."])
def test_the_root_is_neither_deleted_nor_renamed(call: Call, path: str) -> None:
    call("create", "/memories/kept.txt", file_text="x")
    with pytest.raises(ToolError, match="Cannot delete"):
        call("delete", path)
    with pytest.raises(ToolError, match="Cannot rename"):
        call("rename", old_path=path, new_path="/memories/other")
    assert "x" in call("view", "/memories/kept.txt")


def test_line_endings_stay(call: Call) -> None:
    call("create", "/memories/crlf.txt", file_text="one\r\ntwo\r\n")
    call("str_replace", "/memories/crlf.txt", old_str="two", new_str="three")
    call("insert", "/memories/crlf.txt", insert_line=1, insert_text="between\r")
    assert call("view", "/memories/crlf.txt", view_range=[1, 3]).endswith(
        "1\tone\r\n     2\tbetween\r\n     3\tthree\r"
    )


def test_what_is_too_long_is_told_and_nothing_is_kept(call: Call) -> None:
    with pytest.raises(ToolError, match="limit"):
        call("create", "/memories/long.txt", file_text="x" * 5_000_000)
    with pytest.raises(ToolError):
        call("view", "/memories/long.txt")


def test_edits_of_eight_writers_are_all_kept(memory: Memory) -> None:
    tool = MemoristMemoryTool(memory)
    tool.call({"command": "create", "path": "/memories/n.txt", "file_text": "start\n"})

    def add(number: int) -> None:
        tool.call({"command": "insert", "path": "/memories/n.txt", "insert_line": 1, "insert_text": f"line {number}"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    file_view = str(tool.call({"command": "view", "path": "/memories/n.txt"}))
    assert all(f"line {number}" in file_view for number in range(8))


def test_a_file_has_its_history_and_is_recalled(memory: Memory) -> None:
    tool = MemoristMemoryTool(memory, namespace="user:ada")
    tool.call({"command": "create", "path": "/memories/city.txt", "file_text": "Ada lives in Porto"})
    tool.call({"command": "str_replace", "path": "/memories/city.txt", "old_str": "Porto", "new_str": "Lisbon"})
    versions = [fact.value for fact in memory.facts.history("user:ada", "memories/city.txt")]
    assert versions == ["Ada lives in Porto", "Ada lives in Lisbon"]
    assert "Lisbon" in memory.recall("Where does Ada live?")[0].text


def test_a_loop_of_tools_keeps_what_claude_writes_down(memory: Memory) -> None:
    requests: list[Any] = []

    def claude(request: httpx.Request) -> httpx.Response:
        requests.append(json.loads(request.content))
        use = {"type": "tool_use", "id": "t1", "name": "memory",
               "input": {"command": "create", "path": "/memories/me.txt", "file_text": "likes tea"}}  # fmt: skip
        content: list[Any] = [use] if len(requests) == 1 else [{"type": "text", "text": "Noted."}]
        body = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content,
                "stop_reason": "tool_use" if len(requests) == 1 else "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
        return httpx.Response(200, json=body)

    transport: Any = httpx.MockTransport(claude)
    try:
        client = Anthropic(api_key="none", http_client=httpx.Client(transport=transport))
    except TypeError:
        import httpx2

        def relay(request: Any) -> Any:
            answer = claude(httpx.Request("POST", str(request.url), content=request.content))
            return httpx2.Response(200, json=answer.json())

        client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(relay)))
    runner: Any = client.beta.messages.tool_runner(
        model="claude-sonnet-5-5", max_tokens=100, tools=[MemoristMemoryTool(memory)],
        messages=[{"role": "user", "content": "I like tea"}],
    )  # fmt: skip
    assert runner.until_done().content[0].text == "Noted."
    assert "created successfully" in json.dumps(requests[1]["messages"])
    assert [fact.value for fact in memory.facts.list("workflow:anthropic-memory")] == ["likes tea"]

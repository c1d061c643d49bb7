"""The graph tools answer as `@modelcontextprotocol/server-memory` does, and lose nothing between processes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from memorist import AsyncMemory
from memorist.mcp.callers import Caller
from tests.mcp_server.compare_graph import RECORDED
from tests.mcp_server.graph_calls import START, answers, differences, sequence
from tests.mcp_server.running import PLAIN, call_tool, command, connected, text_of

pytestmark = pytest.mark.filterwarnings("ignore::memorist.stores.opening.NothingLasts")


def recorded() -> dict[str, Any]:
    recording: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return recording


def without_words(schema: Any) -> Any:
    """A schema without what it says to people."""
    if isinstance(schema, dict):
        return {
            name: without_words(part)
            for name, part in schema.items()
            if name != "description" or not isinstance(part, str)
        }
    return [without_words(part) for part in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("url", ["memory://", "m.db"])
def test_random_sequences_are_answered_as_the_server_it_stands_for_answered_them(url: str, tmp_path: Path) -> None:
    async def main() -> None:
        memory = AsyncMemory(str(tmp_path / url) if url == "m.db" else url, actor="assistant", **PLAIN)
        recorded_answers = recorded()["answers"]
        async with connected(memory, "graph") as client:
            for seed, theirs in enumerate(recorded_answers if url == "memory://" else recorded_answers[:5]):
                await answers(client, START)
                calls = sequence(seed)
                assert list(differences(calls, await answers(client, calls), theirs)) == []

    asyncio.run(main())


def test_the_nine_tools_have_its_names_schemas_and_hints() -> None:
    async def main() -> None:
        async with connected(AsyncMemory("memory://", **PLAIN), "graph") as client:
            ours = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in
                    (await client.list_tools()).tools]  # fmt: skip
        theirs = [{name: value for name, value in tool.items() if name != "execution"} for tool in recorded()["tools"]]
        assert [without_words(tool) for tool in ours] == [without_words(tool) for tool in theirs]

    asyncio.run(main())


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "m.db")

    async def work(who: str) -> None:
        async with Client(command("--quiet", "--tools", "graph", before=("--url", url))) as client:
            shared = {"name": "shared", "entityType": "t", "observations": []}
            await call_tool(client, "create_entities", entities=[shared])
            for number in range(12):
                named = {"name": f"{who}{number}", "entityType": "t", "observations": []}
                await call_tool(client, "create_entities", entities=[named])
                about = {"entityName": "shared", "contents": [f"{who}{number}"]}
                await call_tool(client, "add_observations", observations=[about])

    async def main() -> None:
        await asyncio.gather(work("a"), work("b"))
        async with connected(AsyncMemory(url, **PLAIN), "graph") as client:
            graph = await call_tool(client, "read_graph")
        names = {f"{who}{number}" for who in "ab" for number in range(12)}
        assert {entity["name"] for entity in graph["entities"]} == names | {"shared"}
        assert sorted(graph["entities"][0]["observations"]) == sorted(names)

    asyncio.run(main())


def test_a_graph_belongs_to_its_user() -> None:
    async def main() -> None:
        memory = AsyncMemory("memory://", **PLAIN)
        async with memory:
            for user in ("ada", "bob"):
                caller = Caller(memory.scope(user=user), user, frozenset({"reader", "writer"}))
                async with connected(caller.memory.scope(), "graph", caller=caller, keep_open=True) as client:
                    assert (await call_tool(client, "read_graph"))["entities"] == []
                    person = {"name": user, "entityType": "person", "observations": []}
                    await call_tool(client, "create_entities", entities=[person])

    asyncio.run(main())


def test_names_that_no_key_can_hold_are_kept(tmp_path: Path) -> None:
    async def main() -> None:
        names = ["x" * 5000, "y" * 400 + "é" * 200, "a/b", "a%2Fb"]
        async with connected(AsyncMemory(str(tmp_path / "m.db"), **PLAIN), "graph") as client:
            entities = [{"name": name, "entityType": "t", "observations": [name]} for name in names]
            await call_tool(client, "create_entities", entities=entities)
            joined = [{"from": a, "to": b, "relationType": "r/s"} for a in names for b in names]
            await call_tool(client, "create_relations", relations=joined)
            graph = await call_tool(client, "read_graph")
            assert graph == {"entities": entities, "relations": joined}

    asyncio.run(main())


def test_its_file_is_imported_and_read_back(tmp_path: Path) -> None:
    lines = [
        {"type": "entity", "name": "Zed", "entityType": "person", "observations": ["first"]},
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea", "born 1815"]},
        {"type": "relation", "from": "Zed", "to": "Ada/Lovelace", "relationType": "knows"},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    bare = [{name: value for name, value in line.items() if name != "type"} for line in lines]

    async def main() -> None:
        memory = AsyncMemory(str(tmp_path / "m.db"), **PLAIN)
        async with memory:
            await memory.import_from(file, kind="mcp", namespace="user:me")
            async with connected(memory.scope(), "graph", keep_open=True) as client:
                assert await call_tool(client, "read_graph") == {"entities": bare[:2], "relations": bare[2:]}
                about = {"entityName": "Ada", "contents": ["wrote notes", "likes tea"]}
                added = await call_tool(client, "add_observations", observations=[about])
                assert added == {"results": [{"entityName": "Ada", "addedObservations": ["wrote notes"]}]}

    asyncio.run(main())


def test_an_unknown_entity_refuses_the_whole_call() -> None:
    async def main() -> None:
        async with connected(AsyncMemory("memory://", **PLAIN), "graph") as client:
            await call_tool(client, "create_entities", entities=[{"name": "a", "entityType": "t", "observations": []}])
            both = [{"entityName": "a", "contents": ["x"]}, {"entityName": "b", "contents": ["x"]}]
            result = await client.call_tool("add_observations", {"observations": both})
            assert result.is_error and text_of(result) == "Entity with name b not found"
            assert (await call_tool(client, "read_graph"))["entities"][0]["observations"] == []

    asyncio.run(main())

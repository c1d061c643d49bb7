"""Twelve natural tasks, solved with the six tools by a reader who saw only their descriptions: the calls, replayed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import Client

from memorist import AsyncMemory
from tests.mcp_server.running import call_tool, connected, text_of
from tests.mcp_server.tasks import CODE, COFFEE, SEED, TASKS, Task, calls_of

pytestmark = pytest.mark.filterwarnings("ignore::memorist.stores.opening.NothingLasts")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_recorded_calls_solve_the_task(task: Task) -> None:
    calls = calls_of(task)
    assert {call["tool"] for call in calls} & set(task.tools)

    async def main() -> None:
        async with connected(AsyncMemory("memory://", actor="assistant"), "core") as client:
            for seed in SEED:
                await call_tool(client, "remember", **seed)
            answers = [await _called(client, call) for call in calls]
            assert all(word in "".join(answers) for word in task.answers), answers
            profile = json.dumps(await call_tool(client, "profile"))
            assert all(word in profile for word in task.knows), profile
            assert not any(word in profile for word in task.knows_not), profile
            for word in task.knows_not:
                assert word not in json.dumps((await call_tool(client, "recall", query=word))["items"])

    asyncio.run(main())


async def _called(client: Client, call: dict[str, Any]) -> str:
    """The answer of one recorded call, with the ids and codes of this run in place of those in the prompt."""
    items = (await call_tool(client, "profile"))["items"]
    coffee = next((item["id"].partition(":")[2] for item in items if "coffee" in item["text"]), COFFEE)
    arguments = json.loads(json.dumps(call["arguments"]).replace(COFFEE, coffee))
    if arguments.get("confirm") == CODE:
        preview = await call_tool(client, "forget", id=arguments["id"])
        arguments["confirm"] = preview["confirm"]
    result = await client.call_tool(call["tool"], arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)

"""Long tool results leave the prompt when they arrive, through the tool hooks of three frameworks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from .conftest import OpenMemory

LOG = "\n".join(f"test_{n} {'FAILED' if n == 417 else 'passed'}" for n in range(1_000))
ASK = {"pattern": "test_500"}


def test_langchain_middleware_shortens_and_reads_back(open_memory: OpenMemory) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from memorist.adapters.langchain import MemoristStash

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    def run_tests() -> str:
        """Run the tests."""
        return LOG

    memory = open_memory()
    arguments = {**ASK, "id": "workflow:langchain/t1.results#1"}
    answers = [
        AIMessage("", tool_calls=[{"id": "c1", "name": "run_tests", "args": {}}]),
        AIMessage("", tool_calls=[{"id": "c2", "name": "read_more", "args": arguments}]),
        AIMessage("Done."),
    ]
    agent = create_agent(
        Model(messages=iter(answers)), [run_tests], middleware=[MemoristStash(memory, over_tokens=400)]
    )
    state = agent.invoke({"messages": [("user", "Run them.")]}, {"configurable": {"thread_id": "t1"}})
    short, read = [message.text for message in state["messages"] if message.type == "tool"]
    assert len(short) < 2_000 and arguments["id"] in short and "test_417 FAILED" in short
    assert "501: test_500 passed" in read


def test_openai_agents_tools_are_wrapped(open_memory: OpenMemory) -> None:
    from agents import function_tool
    from agents.tool_context import ToolContext

    from memorist.adapters.openai_agents import stashing

    @function_tool
    def run_tests() -> str:
        """Run the tests."""
        return LOG

    tools = stashing([run_tests], open_memory(), "s1", over_tokens=400)

    async def main() -> tuple[Any, Any]:
        first, read, _ = tools
        context = ToolContext(None, tool_name="run_tests", tool_call_id="c1", tool_arguments="{}")
        short = await first.on_invoke_tool(context, "{}")  # type: ignore[union-attr]
        arguments = json.dumps({**ASK, "id": "workflow:openai-agents/s1.results#1"})
        return short, await read.on_invoke_tool(context, arguments)  # type: ignore[union-attr]

    short, read = asyncio.run(main())
    assert "workflow:openai-agents/s1.results#1" in short and "501: test_500 passed" in read


def test_pydantic_ai_has_a_capability(open_memory: OpenMemory) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from memorist.adapters.pydantic_ai import MemoristStash

    def reply(messages: list[Any], info: AgentInfo) -> ModelResponse:
        assert {"read_more", "search_history", "run_tests"} <= {tool.name for tool in info.function_tools}
        results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if not results:
            return ModelResponse(parts=[ToolCallPart("run_tests", {}, "c1")])
        if len(results) == 1:
            id = str(results[0].content).split('id="')[1].split('"')[0]
            return ModelResponse(parts=[ToolCallPart("read_more", {**ASK, "id": id}, "c2")])
        return ModelResponse(parts=[TextPart(str(results[1].content))])

    agent = Agent(FunctionModel(reply), capabilities=[MemoristStash(open_memory(), over_tokens=400)])

    @agent.tool_plain
    def run_tests() -> str:
        """Run the tests."""
        return LOG

    assert "501: test_500 passed" in agent.run_sync("Run them.").output

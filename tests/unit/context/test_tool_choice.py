"""More tools than the budget allows: the relevant ones are sent, and `find_tool` finds the rest."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from memorist import AsyncMemory, BudgetError, Memory, TokenBudget, UsageError, compress
from memorist.context.measure import count_tools
from memorist.context.read_tools import tool_name
from memorist.context.tool_choice import FIND_TOOL, rank_by_words, tool_text
from memorist.stores.memory import MemoryStore
from memorist.tool_finder import AsyncToolFinder, ToolFinder

SUBJECTS = {
    "send_mail": "Sends an email to one or more people.",
    "get_weather": "The weather forecast for a city.",
    "createInvoice": "Creates an invoice for a customer in the billing system.",
    "search_flights": "Finds flights between two airports on a day.",
    "book_table": "Reserves a table in a restaurant.",
    "run_tests": "Runs the test suite of a repository and returns failures.",
    "resize_image": "Changes width and height of a picture.",
    "translate_text": "Translates text into another language.",
    "list_orders": "Lists the orders of a customer.",
    "read_calendar": "Meetings and appointments of a person.",
}


def definition(name: str, about: str, anthropic: bool = False) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"target": {"type": "string", "description": "What to work on."}}}
    if anthropic:
        return {"name": name, "description": about, "input_schema": schema}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


TOOLS = [definition(name, about) for name, about in SUBJECTS.items()]
BUDGET = TokenBudget(4000, tools=260)


def open_ram(**options: Any) -> Memory:
    return Memory(MemoryStore(), user="ada", worker=False, **options)


def names(context: Any) -> list[str]:
    return [tool_name(tool) for tool in context.tools]


@pytest.mark.parametrize("embedder", [None, "default"])
def test_relevant_and_pinned_tools_are_sent_within_the_ceiling(embedder: str | None) -> None:
    with open_ram(embedder=embedder) as memory:
        context = memory.context(
            "Please email the report to Bob", tools=TOOLS, budget=BUDGET, pinned_tools=["run_tests"]
        )
        assert names(context)[:3] == ["run_tests", FIND_TOOL, "send_mail"]
        assert count_tools(context.tools) <= 260 and context.manifest.tokens <= 4000
        entry = next(entry for entry in context.manifest.entries if entry.section == "tools")
        assert set(entry.ids) == set(SUBJECTS) - set(names(context)) and "find_tool" in entry.reason
        everything = memory.context("Please email the report", tools=TOOLS, budget=TokenBudget(4000, tools=2000))
        assert names(everything) == list(SUBJECTS)


def test_a_tool_that_was_found_or_called_is_in_the_next_request() -> None:
    with open_ram(embedder=None) as memory:
        memory.threads.create("user:ada", id="talk")
        ask = {"name": FIND_TOOL, "arguments": json.dumps({"query": "reserve a restaurant"})}
        tool_request = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": ask}],
        }
        finder = ToolFinder(memory, TOOLS)
        (answer,) = finder.run(tool_request)
        assert answer["tool_call_id"] == "c1" and answer["content"].startswith("- book_table: Reserves a table")
        memory.threads.append(
            "talk", "Book us a table.", tool_request, answer, {"role": "assistant", "content": "One moment."}
        )
        context = memory.context("What is the weather?", thread="talk", tools=TOOLS, budget=BUDGET, recall=False)
        assert "book_table" in names(context) and "get_weather" in names(context)


def test_a_session_sends_the_same_tools_again_and_appends_those_that_are_found() -> None:
    with open_ram(embedder=None) as memory:
        talk = memory.session("talk", user="ada", budget=BUDGET)
        first = names(talk.context("Send an email, please.", tools=TOOLS))
        talk.add("Send an email, please.", "Done.")
        assert names(talk.context("And the weather forecast?", tools=TOOLS)) == first
        assert "get_weather" not in first
        use = {"type": "tool_use", "id": "t1", "name": FIND_TOOL, "input": {"query": "weather forecast"}}
        tool_request = {"role": "assistant", "content": [use]}
        (result,) = ToolFinder(memory, TOOLS).run(tool_request)
        assert result["content"][0]["tool_use_id"] == "t1"
        talk.add("And the weather forecast?", tool_request, result, "Looking.")
        after = names(talk.context("Well?", tools=TOOLS))
        assert "get_weather" in after and after[0] == FIND_TOOL
        retained = [name for name in first if name in after]
        assert after[: len(retained)] == retained


def test_compress_chooses_tools_by_their_words() -> None:
    tools = [definition(name, about, anthropic=True) for name, about in SUBJECTS.items()]
    context = compress([{"role": "user", "content": "Translate this text into French"}], budget=BUDGET, tools=tools)
    assert names(context)[:2] == [FIND_TOOL, "translate_text"]
    assert context.anthropic()["tools"][0]["name"] == FIND_TOOL and "input_schema" in context.anthropic()["tools"][0]


def test_pinned_tools_that_do_not_fit_or_do_not_exist_are_refused() -> None:
    with open_ram(embedder=None) as memory:
        with pytest.raises(BudgetError, match="pinned tools"):
            memory.context("x", tools=TOOLS, budget=TokenBudget(4000, tools=80), pinned_tools=list(SUBJECTS))
        with pytest.raises(UsageError, match="no tool is called 'nothing'"):
            memory.context("x", tools=TOOLS, pinned_tools=["nothing"])


def test_names_are_read_as_words() -> None:
    texts = [tool_text(tool) for tool in TOOLS]
    assert texts[2].startswith("create Invoice.")
    assert rank_by_words("make an invoice", texts)[0][0] == 2
    assert rank_by_words("zzz", texts) == []


@pytest.mark.parametrize(
    ("name", "arguments"), [(FIND_TOOL, "{"), (FIND_TOOL, {}), (FIND_TOOL, {"query": " "}), ("rm", {})]
)
def test_a_wrong_call_gets_an_answer_that_says_so(name: str, arguments: Any) -> None:
    with open_ram(embedder=None) as memory:
        answer = ToolFinder(memory, TOOLS).call(name, arguments)
        assert any(word in answer for word in ("wrong", "needs", "There is no"))


def test_the_awaited_twin_finds_the_same() -> None:
    async def main() -> list[str]:
        async with AsyncMemory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
            answer = await AsyncToolFinder(memory, TOOLS).call(FIND_TOOL, {"query": "flights between airports"})
            best = await memory.find_tools("flights between airports", TOOLS, top_k=1)
            return [answer.split(":")[0], tool_name(best[0])]

    assert asyncio.run(main()) == ["- search_flights", "search_flights"]


def test_the_items_of_a_response_are_answered_together() -> None:
    call = {
        "type": "function_call",
        "call_id": "f1",
        "name": FIND_TOOL,
        "arguments": '{"query": "flights between airports"}',
    }
    items = [{"type": "reasoning", "id": "rs_1", "summary": []}, call, {**call, "call_id": "f2"}]

    async def main() -> list[dict[str, object]]:
        async with AsyncMemory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
            return await AsyncToolFinder(memory, TOOLS).run(items)

    with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
        answers = ToolFinder(memory, TOOLS).run(items)
    assert [answer["call_id"] for answer in answers] == ["f1", "f2"]
    assert all("search_flights" in str(answer["output"]) for answer in answers) and asyncio.run(main()) == answers

"""Compaction items of a provider are replayed unchanged to that provider, and left out for another."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from memorist import Memory, UsageError, compress
from memorist.stores.memory import MemoryStore

ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA-opaque"}
BLOCK = {"type": "compaction", "content": "They chose Postgres.", "encrypted_content": "opaque", "signature": "sig"}
OLD = [{"role": "user", "content": "First question."}, {"role": "assistant", "content": "First answer."}]
NEW = [{"role": "assistant", "content": "Second answer."}, {"role": "user", "content": "Third question."}]
CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "seen"}


def test_openai_gets_its_item_back_without_what_it_stands_for() -> None:
    context = compress([*OLD, CALL, OUTPUT, ITEM, *NEW], budget=4_000)
    items = context.responses()["input"]
    assert items[0] == ITEM and "First" not in json.dumps(items) and "call_id" not in json.dumps(items)
    assert "Third question." in json.dumps(items)


def test_another_provider_gets_the_messages_and_no_item() -> None:
    context = compress([*OLD, ITEM, *NEW], budget=4_000)
    for request in (context.openai(), context.anthropic()):
        written = json.dumps(request)
        assert "compaction" not in written and "First answer." in written and "Second answer." in written


@pytest.mark.parametrize("alone", [True, False])
def test_anthropic_gets_its_block_back_unchanged(alone: bool) -> None:
    blocks: list[Any] = [BLOCK] if alone else [BLOCK, {"type": "text", "text": "Second answer."}]
    talk = [*OLD, {"role": "user", "content": "Second question."}, {"role": "assistant", "content": blocks}, NEW[1]]
    context = compress(talk, budget=4_000)
    assert BLOCK in [block for message in context.anthropic()["messages"] for block in message["content"]
                     if isinstance(message["content"], list)]  # fmt: skip
    for request in (context.openai(), context.responses()):
        written = json.dumps(request)
        assert "opaque" not in written and "First answer." in written and "Third question." in written


def test_a_thread_stores_them_and_forgets_them() -> None:
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
        memory.threads.append("talk", *OLD, ITEM, *NEW, create="user:ada")
        assert memory.threads.messages("talk")[2].responses() == [ITEM]
        items = memory.context(None, thread="talk", recall=False).responses()["input"]
        assert items[0] == ITEM and "First" not in json.dumps(items)
        memory.forget(message="talk#3")
        items = memory.context(None, thread="talk", recall=False).responses()["input"]
        assert "gAAA-opaque" not in json.dumps(items) and "First answer." in json.dumps(items)


@pytest.mark.parametrize("content", [None, ""])
def test_a_failed_compaction_of_anthropic_covers_nothing(content: str | None) -> None:
    """Anthropic ignores a block without content, and rejects one whose content is empty."""
    failed = {"type": "compaction", "content": content}
    answer = {"role": "assistant", "content": [failed, {"type": "text", "text": "Second answer."}]}
    talk = [*OLD, {"role": "user", "content": "Second question."}, answer]
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
        memory.threads.append("talk", *talk, create="user:ada")
        assert memory.threads.compactions("talk") == []
        request = memory.context("Third question.", thread="talk", recall=False).anthropic(cache=False)
    blocks = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
    assert (failed in blocks) == (content is None)
    assert "First answer." in json.dumps(request) and "Second answer." in json.dumps(request)


TURN = [{"role": "user", "content": "Second question."}, {"role": "assistant", "content": [BLOCK]}]
PINNED = {"role": "user", "content": "Never deploy on Fridays.", "pinned": True}


def blocks_of(request: dict[str, Any]) -> list[Any]:
    return [block for message in request["messages"] for block in message["content"]]


@pytest.mark.parametrize("layout", ["standard", "cached"])
def test_openai_still_gets_memory_and_pinned_messages_before_its_item(layout: str) -> None:
    talk = [OLD[0], PINNED, OLD[1], ITEM, *NEW]
    context = compress(talk, budget=4_000, memory=["Ada is allergic to peanuts."], layout=layout)
    items = context.responses()["input"]
    written = json.dumps(items)
    assert "peanuts" in written and "Fridays" in written and "First" not in written
    assert [item.get("type", "message") for item in items].count("compaction") == 1
    # OpenAI reads what stands before the item, so that nothing is inserted before later reasoning.
    assert items.index({"role": "user", "content": PINNED["content"]}) < items.index(ITEM)


@pytest.mark.parametrize("layout", ["standard", "cached"])
def test_anthropic_gets_its_block_first_and_then_memory_and_pinned_messages(layout: str) -> None:
    talk = [OLD[0], PINNED, OLD[1], *TURN, NEW[1]]
    context = compress(talk, budget=4_000, memory=["Ada is allergic to peanuts."], layout=layout)
    request = context.anthropic(cache=True)
    blocks = [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks_of(request)]
    assert blocks[0] == BLOCK, "on-demand compaction is refused elsewhere, and what is before a block is ignored"
    written = json.dumps(blocks)
    assert "peanuts" in written and "Fridays" in written and "First" not in written
    assert blocks[-1] == {"type": "text", "text": "Third question."}
    assert request["messages"][0]["role"] == "assistant"


def test_anthropic_gets_the_results_of_a_compacted_turn_before_anything_else() -> None:
    use = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "u1", "content": "seen"}
    talk = [OLD[0], PINNED, {"role": "assistant", "content": [BLOCK, use]}, {"role": "user", "content": [result]}]
    request = compress(talk, budget=4_000, memory=["Ada is allergic to peanuts."]).anthropic(cache=False)
    assert [block["type"] for block in blocks_of(request)] == ["compaction", "tool_use", "tool_result", "text", "text"]


def test_only_the_last_block_is_sent() -> None:
    """Anthropic refuses two blocks of on-demand compaction as ambiguous."""
    last = {**BLOCK, "content": "They chose Redis."}
    talk = [*OLD, *TURN, OLD[0], {"role": "assistant", "content": [last]}, NEW[1]]
    blocks = blocks_of(compress(talk, budget=4_000).anthropic(cache=True))
    assert [block for block in blocks if block["type"] == "compaction"] == [last]


def test_a_pinned_exchange_survives_compaction_whole() -> None:
    talk = [OLD[0], CALL, {**OUTPUT, "pinned": True}, ITEM, *NEW]
    items = compress(talk, budget=4_000).responses()["input"]
    assert [item.get("type") for item in items] == ["function_call", "function_call_output", "compaction", None, None]


def test_fields_that_openai_only_returns_are_not_sent_back() -> None:
    context = compress([*OLD, {**ITEM, "created_by": "server", "status": "completed"}, *NEW], budget=4_000)
    assert context.responses()["input"][0] == ITEM


def test_the_profile_is_sent_beside_a_compaction() -> None:
    block = {"role": "assistant", "content": [BLOCK]}
    for item in (ITEM, block):
        with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
            memory.facts.set("user:ada", "allergy", "peanuts")
            memory.threads.append("talk", *OLD, item, *NEW, create="user:ada")
            context = memory.context(None, thread="talk", recall=False)
        request = context.responses() if item is ITEM else context.anthropic()
        assert "peanuts" in json.dumps(request) and "First answer." not in json.dumps(request)


def test_anthropic_can_be_asked_for_a_compaction_at_once() -> None:
    context = compress(OLD, budget=4_000)
    request = context.anthropic(compaction={"type": "summarize", "instructions": "Keep numbers."})
    assert request["compaction"] == {"type": "summarize", "instructions": "Keep numbers."}
    assert request["betas"] == ["compact-2026-09-04"]
    with pytest.raises(UsageError):
        context.anthropic(compaction={"type": "shrink"})
    with pytest.raises(UsageError, match="context_management"):
        context.anthropic(compaction={"type": "summarize"}, context_management={"edits": []})


def test_settings_are_passed_on_and_wrong_ones_refused() -> None:
    context = compress(OLD, budget=4_000)
    setting = {"type": "compaction", "compact_threshold": 100_000}
    assert context.responses(context_management=[setting])["context_management"] == [setting]
    edits = {"edits": [{"type": "clear_thinking_20251015"}, {"type": "compact_20260112"}]}
    request = context.anthropic(context_management=edits)
    assert request["context_management"] == edits
    assert request["betas"] == ["context-management-2025-06-27", "compact-2026-01-12"]
    low = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 1_000}}
    for wrong in ({"edits": edits["edits"][::-1]}, {"edits": [low]}, {}):
        with pytest.raises(UsageError):
            context.anthropic(context_management=wrong)
    with pytest.raises(UsageError):
        context.responses(context_management=[{"type": "truncate"}])


@pytest.mark.parametrize("seed", range(60))
def test_random_threads_are_valid_within_the_budget_and_the_same_each_time(seed: int) -> None:
    rng = random.Random(seed)
    talk: list[Any] = []
    for number in range(rng.randrange(3, 40)):
        use = {"type": "tool_use", "id": f"u{number}", "name": "look", "input": {"n": number}}
        result = {"type": "tool_result", "tool_use_id": f"u{number}", "content": "seen " * rng.randrange(1, 200)}
        thinking = {"type": "thinking", "thinking": "hm " * rng.randrange(1, 40), "signature": "s"}
        image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
        text = {"type": "text", "text": "words " * rng.randrange(1, 80)}
        call = {**CALL, "call_id": f"r{number}"}
        talk += rng.choice([
            [{"role": "user", "content": "a question " * rng.randrange(1, 50)}],
            [{"role": "user", "content": [image, text]}],
            [{"role": "assistant", "content": [thinking, text]}],
            [{"role": "assistant", "content": [thinking, use]}, {"role": "user", "content": [result]}],
            [{"role": "assistant", "content": [BLOCK]}], [{"role": "assistant", "content": [BLOCK, text]}],
            [ITEM], [call, {**OUTPUT, "call_id": f"r{number}"}],
            [call],
        ])  # fmt: skip
    talk.append({"role": "user", "content": "And now?"})
    budget = rng.choice([300, 900, 4_000])
    context = compress(talk, budget=budget)
    # Rendering refuses orphans and everything else that the provider would refuse.
    requests = [context.openai(), context.anthropic(), context.responses()]
    assert context.tokens <= budget
    again = compress(talk, budget=budget)
    assert json.dumps(requests) == json.dumps([again.openai(), again.anthropic(), again.responses()])

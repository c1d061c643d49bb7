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

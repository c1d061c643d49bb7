"""Reasoning goes back unchanged while what came before it is unchanged, and is left out once that was edited."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memorist import ElideToolResults, Fifo, Memory, compress
from memorist.stores.memory import MemoryStore
from memorist.testing.clock import FakeClock

FILLER = [{"role": "user", "content": "words " * 60}, {"role": "assistant", "content": "more words " * 40}]
THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "sig-1"}
HIDDEN = {"type": "redacted_thinking", "data": "opaque"}
USE = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1", "content": "seen"}]}
THINKS = {"role": "assistant", "content": [THOUGHT, HIDDEN, {"type": "text", "text": "Done."}]}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
ASK = {"role": "user", "content": "And now?"}


def anthropic(context: Any) -> str:
    return json.dumps(context.anthropic())


def test_an_unedited_history_keeps_all_of_it_in_order() -> None:
    talk = [FILLER[0], {"role": "assistant", "content": [THOUGHT, USE]}, RESULT, THINKS, ASK]
    blocks = [block for message in compress(talk, budget=8_000).anthropic()["messages"]
              for block in message["content"] if isinstance(message["content"], list)]  # fmt: skip
    assert [block for block in blocks if "thinking" in block["type"]] == [THOUGHT, THOUGHT, HIDDEN]
    items = compress([FILLER[0], REASONING, CALL, OUTPUT, ASK], budget=8_000).responses()["input"]
    assert items[1:4] == [REASONING, CALL, OUTPUT]


@pytest.mark.parametrize("policy", [Fifo(3), None])
def test_an_edited_history_leaves_it_out_and_counts_it_no_more(policy: Any) -> None:
    talk = [*FILLER * 4, {"role": "user", "content": "Go."}, THINKS, ASK]
    context = compress(talk, budget=400, policy=policy)
    assert "Done." in anthropic(context) and "thinking" not in anthropic(context)
    plain = compress([*talk[:-2], {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}, ASK],
                     budget=400, policy=policy)  # fmt: skip
    assert context.tokens == plain.tokens


def test_openai_calls_lose_the_ids_that_are_paired_with_reasoning() -> None:
    talk = [*FILLER * 4, {"role": "user", "content": "Go."}, REASONING, CALL, OUTPUT,
            {"role": "assistant", "content": "Done."}, ASK]  # fmt: skip
    items = compress(talk, budget=400).responses()["input"]
    assert {name: value for name, value in CALL.items() if name != "id"} in items
    assert "rs_1" not in json.dumps(items) and "fc_1" not in json.dumps(items)


def test_an_open_tool_loop_keeps_its_own() -> None:
    talk = [*FILLER * 4, {"role": "user", "content": "Go."}, {"role": "assistant", "content": [THOUGHT, USE]}, RESULT]
    context = compress(talk, budget=400)
    assert "(earlier" in anthropic(context) or "dropped" in str(context.manifest)
    assert anthropic(context).count("sig-1") == 1
    loop = [*FILLER * 4, {"role": "user", "content": "Go."}, REASONING, CALL, OUTPUT]
    items = compress(loop, budget=400).responses()["input"]
    assert REASONING in items and CALL in items


def test_elided_results_are_an_edit_too() -> None:
    long = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1", "content": "seen " * 400}]}
    talk = [FILLER[0], {"role": "assistant", "content": [THOUGHT, USE]}, long, THINKS, ASK]
    assert "thinking" not in anthropic(compress(talk, budget=8_000, policy=ElideToolResults(100)))


def test_a_fold_drops_what_was_thought_before_it_and_keeps_what_came_after() -> None:
    clock = FakeClock()
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None, clock=clock) as memory:
        talk = memory.session("talk", user="ada", budget=1_500)
        for number in range(9):
            clock.advance(60)
            thought = {"type": "thinking", "thinking": "hm", "signature": f"old-{number}"}
            answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "An answer. " * 30}]}
            talk.add({"role": "user", "content": f"Question {number}: " + "which way? " * 20}, answer)
        clock.advance(60)
        folded = talk.context("And?", recall=False)
        assert folded.summary_message is not None and "old-" not in anthropic(folded)
        clock.advance(60)
        thought = {"type": "thinking", "thinking": "hm", "signature": "new-1"}
        talk.add("And?", {"role": "assistant", "content": [thought, {"type": "text", "text": "So."}]})
        after = talk.context("Well?", recall=False)
        assert "new-1" in anthropic(after) and "old-" not in anthropic(after)
        # The request that the new thinking was written for is repeated unchanged.
        assert (
            after.anthropic(cache=False)["messages"][: len(folded.anthropic()["messages"]) - 1]
            == (folded.anthropic(cache=False)["messages"][:-1])
        )


@pytest.mark.parametrize("reports", [False, True])
def test_a_profile_that_came_with_the_first_turn_invalidates_its_reasoning(reports: bool) -> None:
    clock = FakeClock()
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None, clock=clock) as memory:
        talk = memory.session("talk", user="ada")
        talk.context("I live in Lisbon.")  # before there is a thread
        clock.advance(60)
        talk.add("I live in Lisbon.", THINKS)
        if reports:
            talk.usage({"prompt_tokens": 90, "completion_tokens": 8})
        clock.advance(60)
        request = anthropic(talk.context("And now?", recall=False))
        assert "Lives in Lisbon" in request and "Done." in request and "thinking" not in request
        clock.advance(60)
        talk.add("And now?", THINKS)
        clock.advance(60)
        assert anthropic(talk.context("And then?", recall=False)).count("sig-1") == 1


def test_an_unchanged_beginning_keeps_the_reasoning_of_the_first_turn() -> None:
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
        talk = memory.session("talk", user="ada", system="Be brief.")
        talk.context("Which way?")
        talk.add("Which way?", THINKS)
        assert "sig-1" in anthropic(talk.context("And now?", recall=False))

"""A session folds its history before the window of a request has to drop messages."""

from __future__ import annotations

import random

from memorist import Memory, TokenBudget
from memorist.stores.memory import MemoryStore

WORDS = "harbour crane invoice ledger tulip protocol ferry copper lantern budget meadow signal".split()
SYSTEM = "Answer in the form of a table. " * 400
TOOLS = [{"name": f"tool_{n}", "description": "Does it. " * 20, "input_schema": {"type": "object"}} for n in range(8)]


def test_beside_a_long_system_prompt_and_tools_nothing_is_dropped_without_a_summary() -> None:
    rng = random.Random(3)
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
        talk = memory.session("talk", budget=8_000, system=SYSTEM)
        for number in range(120):
            request = talk.context(f"Step {number}?", tools=TOOLS)
            assert request.account.unread is None and not request.account.dropped
            talk.add(f"Step {number}?", " ".join(rng.choices(WORDS, k=60)))
        assert memory.threads.summaries("talk")


def test_a_session_leaves_a_sixteenth_of_its_requests_for_memory() -> None:
    assert TokenBudget(8_000).window_tokens == 7_500 and TokenBudget(4_000).window_tokens == 3_600
    assert TokenBudget(800).window_tokens == 600 and TokenBudget(8_000, history=1_000).window_tokens == 1_000

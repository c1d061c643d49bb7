"""A recalled copy that rides with a turn is forgotten with its source."""

from __future__ import annotations

import warnings

import pytest

from memorist import Memory
from memorist.types import NothingLasts

CANARY = "zebra-canary-12345 lives in the vault"


@pytest.fixture
def memory() -> Memory:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingLasts)
        return Memory(worker=False, embedder=None)


def test_forgetting_a_fact_takes_its_copy_out_of_the_turn_it_rode_with(memory: Memory) -> None:
    memory.facts.set("global", "secret", CANARY)  # a user's own facts are in the profile, not beside a turn
    with memory.scope(user="ada").session() as talk:
        talk.context("where is the zebra canary?")
        talk.add("where is the zebra canary?", "no idea")
        before = memory.threads.messages(talk.thread)
        memory.forget(fact=("global", "secret"))
        after = memory.threads.messages(talk.thread)
    assert CANARY in str(before[0].metadata)
    assert CANARY not in str(after[0].metadata)
    assert [message.text for message in after] == [message.text for message in before]

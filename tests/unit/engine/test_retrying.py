"""A read-then-write that others are quicker than is tried again; a caller's own `expect` is not."""

from collections.abc import Iterator
from typing import Any

import pytest

from memorist import Conflict, Memory
from memorist.runtime import BlockingRuntime
from memorist.stores.memory import MemoryStore


class Busy(MemoryStore):
    """Every apply comes too late so many times: somebody else has changed the thread since it was read."""

    losses = 0
    applied = 0
    table = "threads"

    async def apply(self, changes: Any, *, now: int) -> Any:
        self.applied += 1
        if self.losses:
            self.losses -= 1
            raise Conflict(
                "a row of threads has version 2, expected 1; read it again", table=self.table, key=("default", "t")
            )
        return await super().apply(changes, now=now)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    async def at_once(self: BlockingRuntime, seconds: float) -> None:
        return None

    monkeypatch.setattr(BlockingRuntime, "sleep", at_once)
    with Memory(Busy(), embedder=None, worker=False) as memory:
        memory.threads.create("global", id="t")
        memory.threads.append("t", "one", "two")
        yield memory


def store(memory: Memory) -> Any:
    return memory._core.store


def test_an_edit_that_loses_five_hundred_times_is_done_in_the_end(memory: Memory) -> None:
    store(memory).losses = 500
    popped = memory.threads.pop("t")
    assert popped is not None and popped.text == "two"
    assert store(memory).losses == 0


def test_a_batch_is_tried_again_while_its_thread_moves(memory: Memory) -> None:
    with memory.batch() as batch:
        batch.threads.append("t", "three", create="global")
        batch.facts.set("global", "k", 1)
        store(memory).losses = 500
    assert [message.text for message in memory.threads.recent("t")] == ["one", "two", "three"]


def test_a_batch_whose_own_expectation_fails_is_refused_at_once(memory: Memory) -> None:
    memory.facts.set("global", "k", 1)
    before = store(memory).applied
    with pytest.raises(Conflict, match="version 1, expected 7"), memory.batch() as batch:
        batch.threads.append("t", "three", create="global")
        batch.facts.set("global", "k", 2, expect=7)
    assert store(memory).applied == before + 1
    assert [message.text for message in memory.threads.recent("t")] == ["one", "two"]


def test_a_batch_that_edits_a_thread_which_moved_is_refused_at_once(memory: Memory) -> None:
    with pytest.raises(Conflict, match="read it again"), memory.batch() as batch:
        batch.threads.append("t", "three", create="global")
        batch.threads.pop("t")
        memory.threads.append("t", "of somebody else")
        before = store(memory).applied
    assert store(memory).applied == before + 1


@pytest.mark.parametrize("table", ["threads", "pins"])
def test_an_append_of_a_pinned_message_is_tried_again(memory: Memory, table: str) -> None:
    store(memory).losses, store(memory).table = 3, table
    memory.threads.append("t", {"role": "user", "content": "never mind the cost", "pinned": True})
    assert [message.text for message in memory.threads.messages("t")][-1] == "never mind the cost"

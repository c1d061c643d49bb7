"""Tests random programs of thread and record methods. Every store must return the same results as the in-memory
reference."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from memorist.blocking.memory import Memory
from memorist.errors import MemoristError
from memorist.testing.clock import FakeClock

PROGRAMS, STEPS = 6, 30
THREADS = ("t", "u")
Call = tuple[str, str, tuple[Any, ...], dict[str, Any]]
"""A noun, with its method, arguments and options."""


def program(seed: int) -> Iterator[Call]:
    """Yield random calls on two threads and a few records, so that they collide."""
    dice = random.Random(seed)
    for step in range(STEPS):
        id, other = dice.sample(THREADS, 2)
        text, number = f"said {step}", dice.randrange(1, 8)
        calls: list[Call] = [
            ("threads", "append", (id, text), {"create": "global"}),
            ("threads", "append", (id, text, text), {"key": [f"k{number}", None]}),
            ("threads", "append", (id, text), {"expect": number}),
            ("threads", "pop", (id,), {}),
            ("threads", "replace", (id, [text, {"role": "assistant", "content": "ok"}]), {}),
            ("threads", "redact", (f"{id}#{number}",), {}),
            ("threads", "fork", (id,), {"at": f"{id}#{number}", "new_id": f"{other}-{step}"}),
            ("threads", "update", (id,), {"title": text, "metadata": {"step": step}}),
            ("threads", "delete_messages", (id,), {"ids": [f"{id}#{number}"]}),
            ("threads", "delete", (id,), {}),
            ("records", "put", ("global", (id, number), {"step": step}), {"absent": bool(number % 2)}),
            ("records", "delete_range", ("global", (id,)), {}),
            ("records", "scan", ("global", (id,)), {"reverse": True, "limit": 2}),
        ]
        yield dice.choice(calls)


async def answer(memory: Any, call: Call) -> Any:
    """Return the result of a call, without the parts that may differ between two memories, such as times, orgs and
    receipt states."""
    noun, method, args, options = call
    try:
        result = getattr(getattr(memory, noun), method)(*args, **options)
        return comparable(await result if hasattr(result, "__await__") else result)
    except MemoristError as error:
        return type(error).__name__


def comparable(value: Any) -> Any:
    """Return the part of a result that must be equal."""
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if hasattr(value, "message"):
        return comparable(value.message), value.replayed
    for fields in (("seq", "role", "text"), ("id", "title", "metadata", "length"), ("key", "data", "version")):
        if all(hasattr(value, field) for field in fields):
            return tuple(getattr(value, field) for field in fields)
    return value


class ThreadProgramTests:
    """Tests threads and records with random programs."""

    @pytest.mark.parametrize("seed", range(PROGRAMS))
    @pytest.mark.filterwarnings("ignore::memorist.types.NothingLasts")
    async def test_random_programs_of_verbs_answer_as_the_reference_does(
        self, memory: Any, clock: FakeClock, seed: int
    ) -> None:
        quiet: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, "extract": None}
        with Memory("memory://", clock=clock, **quiet) as reference:
            for number, call in enumerate(program(seed)):
                expected, actual = await answer(reference, call), await answer(memory, call)
                assert (number, call, actual) == (number, call, expected)
                clock.advance(1)
            for id in [thread.id for thread in reference.threads.list("global")]:
                expected_messages = [comparable(message) for message in reference.threads.messages(id)]
                assert [comparable(message) for message in await memory.threads.messages(id)] == expected_messages

"""Struct types that several threads meet for the first time at once: each is made ready by one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from memorist import typed
from memorist.models import openai, remote
from memorist.models.searching import _Questions, converted
from memorist.ports import Completion
from memorist.typed import ready


def all_at_once(work: Callable[[], Any], threads: int = 8) -> list[Any]:
    start = threading.Barrier(threads)

    def wait_and_work(_: int) -> Any:
        start.wait()
        return work()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(wait_and_work, range(threads)))


def test_a_type_is_made_ready_once_and_usable_by_all() -> None:
    for number in range(50):
        fields = [(f"f{index}", int | None, None) for index in range(20)]
        kind = msgspec.defstruct(f"Fresh{number}", fields)
        decoded = all_at_once(lambda kind=kind: (ready(kind), msgspec.json.decode(b'{"f3": 7}', type=kind))[1])  # type: ignore[misc]
        assert [result.f3 for result in decoded] == [7] * 8


def test_answers_of_models_are_read_by_types_made_ready_before() -> None:
    typed._ready.clear()
    body = b'{"choices": [{"message": {"content": "hi"}}]}'
    assert len(all_at_once(lambda: remote.decode("m", body, openai._Answer))) == 8
    assert openai._Answer in typed._ready
    answer = Completion("", {"questions": []})
    answers = all_at_once(lambda: converted(answer, _Questions))
    assert [decoded.questions for decoded in answers] == [[]] * 8
    assert _Questions in typed._ready

"""The same program, one changed URL: the same output to the byte, and the same export."""

from __future__ import annotations

import difflib
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memorist.engine import audit
from memorist.engine.tasks import run as taskrun
from memorist.filters import matches
from memorist.testing import FakeClock
from tests.stores import program
from tests.stores.conftest import STORES, OpenOn

Printed = Callable[[str], str]


@pytest.fixture
def printed(open_on: OpenOn, org: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Printed:
    """What the program prints on a store; chance and time start anew for each."""

    def run(name: str) -> str:
        dice = random.Random(7)
        for module in (audit, taskrun):
            monkeypatch.setattr(module, "os", SimpleNamespace(urandom=dice.randbytes, getpid=lambda: 1))
        monkeypatch.setattr(audit, "_order", itertools.count())
        clock = FakeClock()
        return program.run(open_on(name, org=org, clock=clock), clock, tmp_path / f"{name}.jsonl")

    return run


@pytest.mark.parametrize("name", STORES[1:])
def test_one_program_prints_the_same_bytes_on_every_store(name: str, printed: Printed) -> None:
    expected, answered = printed("memory"), printed(name)
    assert len(expected) > 20_000
    assert answered == expected, _parting(expected, answered)


def test_the_comparison_sees_a_store_that_filters_as_text(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = printed("memory")

    # The planted bug: 10 is not greater than 9 to one that compares text.
    def textual(test: Any, fields: Any) -> bool:
        return matches(test, fields) and ("value" not in fields or str(fields["value"]["n"]) > "9")

    monkeypatch.setattr("memorist.stores.sqlite.store.matches", textual)
    assert printed("sqlite") != expected


def test_the_comparison_sees_a_store_that_loses_the_order_of_fields(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = printed("memory")
    # The planted bug: what a column of jsonb does to numbers and keys.
    monkeypatch.setattr(program, "ODD", json.loads(json.dumps(program.ODD, sort_keys=True)))
    assert printed("sqlite") != expected


def _parting(expected: str, answered: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), answered.splitlines(), "memory", "this store", n=0, lineterm="")
    return "\n".join(line[:600] for line in itertools.islice(lines, 12))

"""MemoristStore under the public suites, which LangGraph's own stores are held to as well, and fail in parts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import IndexConfig

from memorist import Memory
from memorist.adapters.langgraph import MemoristStore
from memorist.testing import FakeClock
from memorist_testing.langgraph_store import DIMENSIONS, BaseStoreConformance, SemanticSearchConformance, letters
from tests.adapters.conftest import OpenMemory

ROOT = Path(__file__).parents[2]
THEIR_FAILURES = {
    "TestInMemoryStore": {
        "a_bad_label_is_refused_in_every_operation_of_a_batch",
        "a_batch_that_is_refused_writes_nothing",
        "a_namespace_goes_with_its_last_item",
        "filters_compare_as_json_does",
        "nothing_is_found_where_nothing_was_put",
        "putting_again_replaces_the_value_and_keeps_when_it_was_created",
        "what_is_given_and_taken_can_be_changed_without_changing_the_store",
    },
    "TestSqliteStore": {
        "an_item_comes_back_as_it_was_put",
        "filters_compare_as_json_does",
        "reading_makes_an_item_live_longer_if_asked",
        "what_expired_is_gone_on_read",
    },
}
"""What LangGraph's own stores fail: the table in docs/adapters/langgraph.md says why."""

INDEX: IndexConfig = {"dims": DIMENSIONS, "embed": letters, "fields": ["text"]}


class TestStore(BaseStoreConformance):
    @pytest.fixture
    def store(self, memory: Memory) -> MemoristStore:
        return MemoristStore(memory)

    @pytest.fixture
    def elapse(self, clock: FakeClock) -> Callable[[float], Any]:
        return clock.advance


class TestSearchByRecall(SemanticSearchConformance):
    @pytest.fixture
    def store(self, open_memory: OpenMemory) -> MemoristStore:
        return MemoristStore(open_memory(embedder=letters), index={**INDEX, "embed": None})  # type: ignore[typeddict-item]


class TestSearchByCosine(SemanticSearchConformance):
    @pytest.fixture
    def store(self, memory: Memory) -> MemoristStore:
        return MemoristStore(memory, index=INDEX, score="cosine")


def test_the_suite_sees_what_other_stores_lack(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "pytest", "-p", "no:asyncio", "-p", "no:cacheprovider", "-rf", "--tb=no", "-W", "ignore",
        "--basetemp", str(tmp_path / "theirs"), str(ROOT / "tests" / "adapters" / "other_stores.py"),
    ]  # fmt: skip
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    failed: dict[str, set[str]] = {}
    for suite, test in re.findall(r"^FAILED .*::(\w+)::test_(\w+)", ended.stdout, re.MULTILINE):
        failed.setdefault(suite, set()).add(test)
    assert failed == THEIR_FAILURES, ended.stdout[-3000:]

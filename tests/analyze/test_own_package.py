"""Our own package, analysed by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import memorist
from memorist_analyze import Analysis, analyze
from memorist_analyze.checks import failures

from .reading import proposed


@pytest.fixture(scope="module")
def own() -> Analysis:
    return analyze(Path(memorist.__file__).parent, name="memorist", processes=1)


def test_the_stores_are_found(own: Analysis) -> None:
    storage = {s for t in own.tiers if t.tier == "persistent" for s in t.storage}
    assert {"sqlite", "postgres", "redis"} <= storage


def test_both_ways_of_counting_are_found(own: Analysis) -> None:
    assert {"tiktoken", "length_estimate"} <= set(own.tokens.counting)


def test_the_slots_of_a_context_are_found(own: Analysis) -> None:
    assert {"system_prompt", "retrieved_memory", "history", "tools"} <= set(own.assembly.order)


def test_nothing_in_the_analyser_itself_is_taken_for_eviction(own: Analysis) -> None:
    assert [f.id for f in proposed(own) if f.path.startswith("analyze/")] == []


def test_nothing_of_ours_tears_a_call_from_its_results(own: Analysis) -> None:
    assert failures(own, ("orphaned-tool-pairs",)) == []

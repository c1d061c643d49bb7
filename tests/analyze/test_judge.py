"""The optional judge: what goes to the model, what is believed of its answers, and what is asked only once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist_analyze import Analysis
from memorist_analyze.cache import JsonCache
from memorist_analyze.judge import judge, opinion_of
from memorist_analyze.pack import MOST_CANDIDATES, candidates, write_pack
from memorist_analyze.report import as_dict

from .reading import analyzed

FILES = {
    "memory/window.py": "class Window:\n    def apply(self, messages):\n        return messages[-self.keep:]\n",
    "memory/copy.py": "class Copier:\n    def apply(self, messages):\n        kept = messages[1:]\n        return kept",
    "agent.py": "from memory import window, copy\nwindow.Window().apply(copy.Copier().apply([]))\n",
}


@pytest.fixture
def sample(tmp_path: Path) -> Analysis:
    return analyzed(tmp_path / "code", FILES)


class Scripted:
    """Answers by what stands in the prompt, and counts how often it is asked."""

    def __init__(self, **answers: dict[str, str]) -> None:
        self.answers = answers
        self.asked = 0

    def __call__(self, prompt: str, system: str, schema: dict[str, Any]) -> Any:
        self.asked += 1
        assert set(schema["required"]) == set(verdict("none"))
        for word, answer in self.answers.items():
            if word in prompt:
                return answer
        return verdict("none")


def verdict(strategy: str, quote: str = "", trigger: str = "message_count") -> dict[str, str]:
    return {"strategy": strategy, "trigger": trigger, "quote": quote, "why": "it does"}


def judged(sample: Analysis, script: Scripted, folder: Path) -> Analysis:
    return judge(sample, script, JsonCache(folder), name="scripted")


def test_a_finding_the_model_agrees_with_says_so(sample: Analysis, tmp_path: Path) -> None:
    script = Scripted(**{"self.keep": verdict("fifo_message_count", "return messages[-self.keep:]")})
    found = judged(sample, script, tmp_path)
    assert [(f.strategy, f.by) for f in found.eviction] == [("fifo_message_count", "rules and model")]


def test_a_finding_the_model_denies_is_set_apart_and_not_lost(sample: Analysis, tmp_path: Path) -> None:
    found = judged(sample, Scripted(), tmp_path)
    assert found.eviction == []
    assert [f.symbol for f in found.denied] == ["Window.apply"]
    assert as_dict(found)["judged_by"] == "scripted"


def test_what_only_the_model_sees_is_reported_as_the_models(sample: Analysis, tmp_path: Path) -> None:
    script = Scripted(**{"kept = messages": verdict("token_window", "kept = messages[1:]", "token_count")})
    added = [f for f in judged(sample, script, tmp_path).eviction if f.by == "model"]
    assert [(f.strategy, f.path, f.line) for f in added] == [("token_window", "memory/copy.py", 3)]


def test_a_quote_that_does_not_stand_in_the_code_is_no_verdict(sample: Analysis, tmp_path: Path) -> None:
    script = Scripted(**{"kept = messages": verdict("token_window", "while tokens > limit: messages.pop(0)")})
    assert not [f for f in judged(sample, script, tmp_path).eviction if f.by == "model"]


@pytest.mark.parametrize(
    "data", [None, "text", {}, {"strategy": "magic", "trigger": "always", "quote": "x", "why": ""}]
)
def test_an_answer_of_another_form_is_no_verdict(data: object, sample: Analysis) -> None:
    assert opinion_of(candidates(sample)[0], data) is None


def test_a_verdict_is_asked_for_once_per_body(sample: Analysis, tmp_path: Path) -> None:
    first, second = Scripted(), Scripted()
    judged(sample, first, tmp_path)
    judged(sample, second, tmp_path)
    assert first.asked == len(candidates(sample)) > 0
    assert second.asked == 0


def test_the_pack_holds_the_bodies_a_reader_needs(sample: Analysis, tmp_path: Path) -> None:
    data = json.loads(write_pack(sample, tmp_path / "out").read_text())
    window = next(c for c in data["candidates"] if c["symbol"] == "Window.apply")
    assert window["body"].startswith("    def apply(self, messages):")
    assert window["rules_say"] == ["fifo_message_count"]
    assert window["callers"], "who calls it is told"
    assert len(data["candidates"]) <= MOST_CANDIDATES

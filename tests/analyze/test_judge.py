"""The judge: what goes to the model, what is believed of its answers, and what is asked only once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist_analyze import Analysis, analyze
from memorist_analyze.cache import JsonCache
from memorist_analyze.judge import SCHEMA, cost_of, judge, opinion_of, requests, write_requests
from memorist_analyze.report import as_dict

from .reading import write

RECORDED = Path(__file__).parent / "recorded"
FILES = {
    "memory/window.py": "class Window:\n    def apply(self, messages):\n        return messages[-self.keep:]\n",
    "memory/copy.py": (
        "class Copier:\n    def apply(self, messages):\n        kept = messages[-self.count:]\n        return kept\n"
    ),
    "agent.py": "from memory import window, copy\nwindow.Window().apply(copy.Copier().apply([]))\n",
}


@pytest.fixture
def sample(tmp_path: Path, sure_rules: None) -> Analysis:
    return analyze(write(tmp_path / "code", FILES), name="sample", processes=1)


class Scripted:
    """Answers by what stands in the prompt, and counts how often it is asked."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked = 0

    def __call__(self, prompt: str, system: str, schema: dict[str, Any]) -> Any:
        self.asked += 1
        assert schema is SCHEMA and "never an instruction" in system
        for word, answer in self.answers.items():
            if word in prompt:
                return answer
        return verdict("none")


def verdict(kind: str, *quotes: str, line: int = 3, trigger: str = "message_count") -> dict[str, Any]:
    return {"kind": kind, "trigger": trigger, "line": line, "certainty": 0.9, "quotes": list(quotes), "why": "it does"}


def judged(sample: Analysis, script: Scripted, folder: Path) -> Analysis:
    return judge(sample, script, JsonCache(folder), name="scripted")


def test_what_the_model_confirms_is_shown_with_its_reason(sample: Analysis, tmp_path: Path) -> None:
    script = Scripted(**{"self.keep": verdict("fifo_message_count", "return messages[-self.keep:]")})
    (finding,) = judged(sample, script, tmp_path).eviction
    assert (finding.strategy, finding.by, finding.why) == ("fifo_message_count", "rules and model", "it does")
    assert finding.probability == 0.9


def test_what_the_model_denies_is_set_apart_and_not_lost(sample: Analysis, tmp_path: Path) -> None:
    analysis = judged(sample, Scripted(), tmp_path)
    assert analysis.eviction == []
    assert [f.symbol for f in analysis.denied] == ["Copier.apply", "Window.apply"]
    assert as_dict(analysis)["judged_by"] == "scripted"


def test_the_model_may_name_another_kind_and_line(sample: Analysis, tmp_path: Path) -> None:
    answer = verdict("token_window", "kept = messages[-self.count:]", line=4, trigger="token_count")
    analysis = judged(sample, Scripted(**{"kept = messages": answer}), tmp_path)
    assert [(f.strategy, f.path, f.line, f.by) for f in analysis.eviction] == [
        ("token_window", "memory/copy.py", 4, "model")
    ]


@pytest.mark.parametrize(
    "answer",
    [
        verdict("token_window", "while tokens > limit: messages.pop(0)"),
        verdict("token_window", "kept = messages[-self.count:]", "and this is nowhere"),
        verdict("token_window", "kept"),
        verdict("token_window"),
        verdict("token_window", "kept = messages[-self.count:]", line=99),
    ],
    ids=["invented", "one of two invented", "too short", "no quote", "a line that was not shown"],
)
def test_an_answer_whose_evidence_is_not_in_the_code_changes_nothing(
    answer: dict[str, Any], sample: Analysis, tmp_path: Path
) -> None:
    analysis = judged(sample, Scripted(**{"kept = messages": answer}), tmp_path)
    assert [(f.symbol, f.by) for f in analysis.eviction] == [("Copier.apply", "rules")]


@pytest.mark.parametrize("data", [None, "text", {}, verdict("magic"), {**verdict("none"), "certainty": 7}])
def test_an_answer_of_another_form_is_no_verdict(data: object, sample: Analysis) -> None:
    assert opinion_of(requests(sample)[0], data) is None


def test_a_question_is_asked_once(sample: Analysis, tmp_path: Path) -> None:
    first, second = Scripted(), Scripted()
    judged(sample, first, tmp_path)
    judged(sample, second, tmp_path)
    assert (first.asked, second.asked) == (2, 0)


def test_the_cost_counts_only_new_questions(sample: Analysis, tmp_path: Path) -> None:
    cache = JsonCache(tmp_path)
    questions = requests(sample)
    before = cost_of(questions, cache, "scripted")
    assert (before.requests, before.output_tokens) == (2, 600) and before.input_tokens > 500
    judged(sample, Scripted(), tmp_path)
    assert cost_of(questions, cache, "scripted").requests == 0


def test_a_prompt_holds_the_body_the_slice_and_the_way(sample: Analysis, tmp_path: Path) -> None:
    data = json.loads(write_requests(sample, tmp_path / "out").read_text())
    window = next(r["prompt"] for r in data["requests"] if "Window.apply" in r["prompt"])
    assert "    3          return messages[-self.keep:]" in window
    assert "Cut: line 3." in window and "Way to the model: none seen." in window
    assert "agent.py:L2" in window, "who hands the messages over is told"

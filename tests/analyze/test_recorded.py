"""The judge with recorded answers: what a strong model said of these programs, and what the report makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist_analyze import analyze, as_markdown
from memorist_analyze.cache import JsonCache
from memorist_analyze.judge import judge, opinion_of, requests

from .reading import write
from .test_reports import FILES

ANSWERS: dict[str, Any] = json.loads((Path(__file__).parent / "recorded.json").read_text("utf-8"))["answers"]
SHORTENED = """
class {name}:
    def {method}(self, {text}):
        if len({text}) > self.{limit}:
            {text} = {text}[: self.{limit}] + "[{notice}]"
        return {text}
"""
PROGRAMS = {
    **FILES,
    "tools/fetch.py": SHORTENED.format(
        name="FetchTool", method="run", text="output", limit="limit", notice="truncated"
    ),
    "screen.py": SHORTENED.format(name="Screen", method="title", text="text", limit="width", notice="more"),
    "use.py": "FetchTool().run('')\nScreen().title('')\nWindow().apply([])\n",
}


def answer(prompt: str, system: str, schema: dict[str, Any]) -> Any:
    """The recorded answer to a prompt, or no answer for a function that was not put to the model."""
    return next((answer for symbol, answer in ANSWERS.items() if f", {symbol}, lines" in prompt), None)


def test_recorded_answers_decide_what_is_shown(tmp_path: Path, sure_rules: None) -> None:
    analysis = analyze(write(tmp_path / "sample", PROGRAMS), name="sample", processes=1)
    judged = judge(analysis, answer, JsonCache(tmp_path / "cache"), name="recorded")
    assert [(f.symbol, f.strategy) for f in judged.eviction] == [
        ("Fold.apply", "summarization"),
        ("Window.apply", "fifo_message_count"),
        ("FetchTool.run", "content_elision"),
    ]
    assert [f.symbol for f in judged.denied] == ["Screen.title"]
    assert "The shortened text is a heading for people." in as_markdown(judged)


@pytest.mark.parametrize("symbol", ANSWERS)
def test_every_recorded_quote_is_in_the_code_that_was_shown(symbol: str, tmp_path: Path, sure_rules: None) -> None:
    questions = requests(analyze(write(tmp_path, PROGRAMS), processes=1))
    (question,) = [q for q in questions if f", {symbol}, lines" in q.prompt]
    opinion = opinion_of(question, ANSWERS[symbol])
    assert opinion is not None and opinion.line == ANSWERS[symbol]["line"]
    invented = {**ANSWERS[symbol], "quotes": ["messages.pop(0)  # nowhere"]}
    assert opinion_of(question, invented) is None

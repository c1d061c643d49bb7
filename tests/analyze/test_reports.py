"""JSON, Markdown, HTML, the matrix, checks and explanations."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from memorist.errors import UsageError
from memorist_analyze import as_dict, as_json, as_markdown, matrix
from memorist_analyze.analysis import Analysis, analyze
from memorist_analyze.calibration import SHOWN_ABOVE
from memorist_analyze.checks import CHECKS, failures, verdicts
from memorist_analyze.html import as_html

from .reading import analyzed, proposed, write

FILES = {
    "memory/window.py": """
class Window:
    def apply(self, messages):
        if len(messages) <= self.size:
            return messages
        return messages[-self.size:]
""",
    "memory/fold.py": """
class Fold:
    def apply(self, messages):
        if count_tokens(messages) <= self.max_tokens:
            return messages
        return [self.summarize(messages)] + messages[-4:]

    def summarize(self, old):
        return self.llm.chat([{"role": "user", "content": f"Summarize <{old}> & all"}])


def count_tokens(messages):
    return sum(len(m.text) // 4 for m in messages)
""",
    "session/store.py": "import sqlite3\n\n\nclass SessionStore:\n    pass\n",
    "agent.py": """
from memory.fold import Fold
from memory.window import Window


class ChatAgent:
    def __init__(self, llm):
        self.messages = []
        self.window = Window()
        self.fold = Fold()

    def run(self, user_input):
        self.messages.append({"role": "user", "content": user_input})
        return self.llm.chat(system=self.system_prompt, messages=self.fold.apply(self.messages), tools=self.tools)
""",
    "broken.py": "def (((\n" * 30,
    "tests/test_window.py": "def test():\n    pass\n",
}


@pytest.fixture
def sample(tmp_path: Path) -> Analysis:
    return analyzed(tmp_path / "sample", FILES)


def test_json_has_the_promised_keys(sample: Analysis) -> None:
    data = json.loads(as_json([sample]))
    assert {"eviction", "assembly", "tiers", "tokens"} <= set(data)
    keys = {"strategy", "trigger", "subject", "path", "line", "symbol", "default_on", "wired", "probability", "slice"}
    assert [f["strategy"] for f in data["eviction"]] == ["summarization", "fifo_message_count"]
    assert all(keys <= set(f) for f in data["eviction"])
    assert {"order", "methods", "locations"} <= set(data["assembly"])
    assert all({"tier", "storage", "retrieval", "capacity", "locations"} <= set(t) for t in data["tiers"])
    assert {"counting", "budget", "overflow", "locations"} <= set(data["tokens"])


def test_paths_are_relative_to_the_checkout(sample: Analysis) -> None:
    text = as_json([sample])
    assert str(sample.checkout.root) not in text
    assert '"memory/window.py"' in text


def test_a_broken_file_is_reported_and_the_rest_read(sample: Analysis) -> None:
    data = as_dict(sample)
    assert [s["path"] for s in data["skipped"]] == ["broken.py"]
    assert data["files"] == 4
    assert data["set_aside"] == {"tests": 1}


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "sample", FILES)
    runs = [analyze(tmp_path / "sample", processes=1) for _ in range(2)]
    assert as_json([runs[0]]) == as_json([runs[1]])
    assert as_markdown(runs[0]) == as_markdown(runs[1])
    assert as_html([runs[0]]) == as_html([runs[1]])


def test_several_processes_give_the_same_bytes_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist_analyze.gather._POOL_FROM_BYTES", 0)
    monkeypatch.setattr("memorist_analyze.gather._BATCH_BYTES", 1)
    write(tmp_path / "sample", FILES)
    assert as_json([analyze(tmp_path / "sample", processes=2)]) == as_json([analyze(tmp_path / "sample", processes=1)])


def test_a_time_limit_gives_no_answer_rather_than_another_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not read within"):
        analyze(write(tmp_path, FILES), processes=1, time_limit=-1.0)


def test_nothing_of_the_checkout_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f"open({str(mark)!r}, 'w').close()\nraise SystemExit(3)\n"
    analyze(write(tmp_path / "c", {"setup.py": evil, "__init__.py": evil, "conftest.py": evil, "a.py": evil}))
    assert not mark.exists()


def test_markdown_has_the_promised_shape(sample: Analysis) -> None:
    headings = re.findall(r"^#+ .*$", as_markdown(sample), re.M)
    assert headings == [
        "## Memory Orchestration Analysis: sample",
        "### Prerequisites",
        "### Context Assembly",
        "### Eviction Policy",
        "### Memory Tiers",
        "### Token Management",
        "### Checks",
    ]


def test_markdown_says_not_determined_where_code_does_not_say(tmp_path: Path) -> None:
    text = as_markdown(analyzed(tmp_path, {"a.py": "x = 1\n"}))
    assert "Not determined: no function that builds a model's context was found." in text
    assert "No mechanism that makes the context smaller is probable enough to be shown." in text


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.add(tag)
        self.targets += [v for k, v in attributes.items() if k in ("href", "src") and v]
        if attributes.get("id"):
            self.ids.add(str(attributes["id"]))


def test_html_stands_alone_and_every_link_has_its_evidence(sample: Analysis) -> None:
    page = _Links()
    page.feed(as_html([sample]))
    assert not page.tags & {"script", "link", "img", "iframe"}
    assert page.targets and all(t.startswith("#") for t in page.targets)
    assert {t[1:] for t in page.targets} <= page.ids


def test_html_shows_the_source_around_a_finding_and_escapes_it(sample: Analysis) -> None:
    text = as_html([sample])
    assert "<b>    6          return messages[-self.size:]</b>" in text
    assert "Summarize &lt;{old}&gt; &amp; all" in text


def test_the_matrix_has_a_row_for_each_framework(sample: Analysis) -> None:
    rows = matrix.matrix([sample])["rows"]
    assert rows["sample"]["eviction"] == ["fifo_message_count (default)", "summarization (default)"]
    text = matrix.as_markdown([sample])
    assert "sample     ●  ·  ●  ·  ·  ·  ·  ·  ·  ·" in text
    assert max(len(line) for line in text.split("```")[1].splitlines()) <= 80


def test_several_frameworks_share_one_json_object(sample: Analysis) -> None:
    data = json.loads(as_json([sample, sample]))
    assert set(data) == {"format", "frameworks", "matrix"}
    assert data["frameworks"]["sample"]["name"] == "sample"


def test_a_finding_carries_its_slice(sample: Analysis) -> None:
    fold, window = as_dict(sample)["eviction"]
    assert (fold["slice"]["measure"]["note"], fold["slice"]["measure"]["line"]) == ("token_count", 4)
    assert fold["slice"]["reader"] == "caller"
    assert [(s["path"], s["line"]) for s in fold["slice"]["way"]] == [("agent.py", 14), ("agent.py", 14)]
    assert (window["slice"]["cut"]["line"], window["slice"]["measure"]["note"]) == (6, "message_count")
    assert window["slice"]["reader"] == "", "nothing calls the window, so nothing shows that a model reads it"


def test_the_files_that_matter_are_mapped(sample: Analysis) -> None:
    files = as_dict(sample)["map"]
    assert "assembles the context" in files["agent.py"] and "counts tokens" in files["memory/fold.py"]
    assert "persistent memory" in files["session/store.py"]


def test_a_reading_starts_at_the_control_loop(tmp_path: Path) -> None:
    loop = "def run(llm, messages):\n    while True:\n        answer = llm.chat(messages)\n        call_tools(answer)\n"
    reading = as_dict(analyzed(tmp_path, {"agent.py": loop}))["reading"]
    assert (reading[0]["role"], reading[0]["path"], reading[0]["line"]) == ("control loop", "agent.py", 3)


def test_less_probable_candidates_are_listed_apart(tmp_path: Path, sure_rules: None) -> None:
    analysis = analyze(write(tmp_path, FILES), processes=1)
    assert all(f.probability > SHOWN_ABOVE for f in analysis.eviction)
    unlikely = replace(analysis, eviction=[], possible=analysis.eviction)
    text = as_markdown(unlikely)
    assert "Possible, please look (2 less probable candidates):" in text and "memory/window.py:L6" in text


@pytest.mark.parametrize(("reader", "is_shown"), [("", False), ("tool", True)])
def test_a_shortened_text_is_shown_only_if_a_model_is_seen_to_read_it(
    reader: str, is_shown: bool, tmp_path: Path, sure_rules: None
) -> None:
    source = """
class Fetch{kind}:
    def run(self, output):
        if len(output) > self.limit:
            output = output[: self.limit] + "[truncated]"
        return output
"""
    kind = "Tool" if reader else "Page"
    files = {"fetch.py": source.replace("{kind}", kind), "use.py": f"Fetch{kind}().run('')\n"}
    analysis = analyze(write(tmp_path, files), processes=1)
    elided = [f for f in (*analysis.eviction, *analysis.possible) if f.strategy == "content_elision"]
    assert [(f.support.reader, f.probability > SHOWN_ABOVE) for f in elided] == [(reader, is_shown)]


def test_the_checks_of_a_bounded_framework_name_only_what_is_wrong(sample: Analysis) -> None:
    assert [(f.rule, f.where) for f in failures(sample)] == [
        ("orphaned-tool-pairs", "memory/window.py:L6"),
        ("estimate-only", ""),
    ]


ASKS = "def ask(llm, messages):\n    return llm.chat(messages)\n"


def test_a_check_holds_fails_or_says_that_it_cannot_tell(tmp_path: Path) -> None:
    def answer(root: str, rule: str, files: dict[str, str]) -> str:
        return verdicts(analyzed(tmp_path / root, files), (rule,))[0].status

    assert answer("a", "no-token-counting", FILES) == "holds"
    assert answer("b", "no-token-counting", {"a.py": ASKS}) == "fails"
    assert answer("c", "no-token-counting", {"a.py": "x = 1\n"}) == "cannot tell"


def test_a_variant_that_nobody_makes_may_or_may_not_bound_the_history(tmp_path: Path) -> None:
    files = {
        "memory/base.py": "class Context:\n    def get(self):\n        return self.messages\n",
        "memory/window.py": "class Window(Context):\n    def get(self):\n        return self.messages[-self.keep:]\n",
        "agent.py": f"from memory.window import Window\n{ASKS}",
    }
    verdict = verdicts(analyzed(tmp_path, files), ("unbounded-history",))[0]
    assert (verdict.status, "Window.get" in verdict.message) == ("cannot tell", True)


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("unbounded-history", {"a.py": "x = 1\n"}),
        ("orphaned-tool-pairs", FILES),
        ("no-token-counting", {"a.py": ASKS}),
        ("estimate-only", FILES),
        ("no-overflow-handling", {"a.py": ASKS}),
        ("dead-eviction", {"memory/window.py": FILES["memory/window.py"]}),
        ("no-persistent-tier", {"a.py": "x = 1\n"}),
    ],
)
def test_each_check_can_fail(rule: str, files: dict[str, str], tmp_path: Path) -> None:
    assert rule in {f.rule for f in failures(analyzed(tmp_path, files), (rule,))}


def test_every_check_is_tried_here() -> None:
    assert len(CHECKS) == 7


def test_a_cut_that_minds_tool_calls_is_no_orphan(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        kept = messages[-self.size:]
        while kept and kept[0].role == "tool":
            kept = kept[1:]
        return kept
"""
    analysis = analyzed(tmp_path, {"memory/window.py": source, "use.py": "Window().apply(x)\n"})
    assert proposed(analysis) and not failures(analysis, ("orphaned-tool-pairs",))

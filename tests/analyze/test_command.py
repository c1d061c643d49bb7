"""`memorist analyze` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memorist_analyze.command import command
from tests.models.wire_server import Reply, WireServer, openai_answer, serving

from .reading import write
from .test_reports import FILES


@pytest.fixture
def checkout(tmp_path: Path, sure_rules: None) -> Path:
    return write(tmp_path / "sample", FILES)


def run(*args: object) -> Result:
    return CliRunner().invoke(command, [str(a) for a in args])


def test_markdown_is_the_default(checkout: Path) -> None:
    result = run(checkout)
    assert result.exit_code == 0
    assert result.stdout.startswith("## Memory Orchestration Analysis: sample\n")


def test_json_of_one_path_is_that_frameworks_object(checkout: Path) -> None:
    result = run(checkout, "--json")
    assert json.loads(result.stdout)["name"] == "sample"
    assert result.stderr == ""


def test_two_checkouts_of_one_name_are_told_apart(checkout: Path) -> None:
    data = json.loads(run(checkout, checkout, "--json").stdout)
    assert list(data["frameworks"]) == ["sample", "sample-2"]


def test_compare_adds_the_matrix(checkout: Path) -> None:
    assert "## Memory Orchestration Matrix" in run(checkout, "--compare").stdout
    assert "matrix" in json.loads(run(checkout, "--compare", "--json").stdout)


def test_output_writes_every_form_and_the_matrix(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(checkout, "--output", out, "--compare")
    assert result.exit_code == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "matrix.html", "matrix.json", "matrix.md", "sample.html", "sample.json", "sample.md",
    ]  # fmt: skip
    assert result.stdout == ""


def test_output_with_a_form_writes_only_that(checkout: Path, tmp_path: Path) -> None:
    run(checkout, "--output", tmp_path / "out", "--html")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["sample.html"]


def test_a_failing_rule_exits_with_1_and_says_where(checkout: Path) -> None:
    result = run(checkout, "--fail-on", "orphaned-tool-pairs")
    assert result.exit_code == 1
    assert "sample: orphaned-tool-pairs:" in result.stderr
    assert "memory/window.py:L6" in result.stderr


def test_a_rule_that_holds_exits_with_0(checkout: Path) -> None:
    assert run(checkout, "--fail-on", "unbounded-history").exit_code == 0


def test_an_unknown_rule_is_wrong_usage(checkout: Path) -> None:
    result = run(checkout, "--fail-on", "nonsense")
    assert result.exit_code == 2
    assert "unbounded-history" in result.stderr


def test_no_path_is_wrong_usage() -> None:
    assert run().exit_code == 2


def test_a_missing_path_is_wrong_usage(tmp_path: Path) -> None:
    assert run(tmp_path / "missing").exit_code == 2


def test_rules_are_listed_without_a_path() -> None:
    result = run("--list-rules")
    assert result.exit_code == 0
    assert "unbounded-history" in result.stdout and "summary.rebuilt" in result.stdout


def test_explain_shows_the_slice_of_a_finding(checkout: Path) -> None:
    result = run(checkout, "--explain", "fifo_message_count@memory/window.py:6")
    assert result.exit_code == 0
    assert "measure: message_count at `memory/window.py:L4`" in result.stdout


def test_explain_of_something_unknown_names_those_there_are(checkout: Path) -> None:
    result = run(checkout, "--explain", "nonsense")
    assert result.exit_code == 2
    assert "fifo_message_count@memory/window.py:6" in result.stderr


def test_the_questions_for_a_judge_are_written_for_an_assistant(checkout: Path, tmp_path: Path) -> None:
    assert run(checkout, "--evidence", tmp_path / "pack").exit_code == 0
    assert "Window.apply" in (tmp_path / "pack" / "sample.judge.json").read_text()


class Denying(WireServer):
    """A model that finds an eviction nowhere."""

    def reply(self, path: str) -> Reply:
        verdict = {
            "kind": "none",
            "trigger": "always",
            "line": 1,
            "certainty": 0.9,
            "quotes": [],
            "why": "it only reads",
        }
        return Reply(openai_answer(json.dumps(verdict)))


def test_a_model_over_the_wire_judges_once_and_the_report_says_so(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    evictions = json.loads(run(checkout, "--json").stdout)["eviction"]
    with serving(Denying()) as wire:
        spec = f"openai:judge@{wire.url}/v1"
        report = json.loads(run(checkout, "--json", "--yes", "--model", spec).stdout)
        request_count = len(wire.requests)
        again = json.loads(run(checkout, "--json", "--yes", "--model", spec).stdout)
    assert evictions and not report["eviction"]
    assert [d["symbol"] for d in report["denied"]] == [f["symbol"] for f in evictions]
    assert "judge" in report["judged_by"]
    assert again == report and len(wire.requests) == request_count > 0, "verdicts are kept by the hash of the prompt"


def test_the_cost_is_shown_before_the_model_is_asked(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving(Denying()) as wire:
        result = run(checkout, "--json", "--model", f"openai:judge@{wire.url}/v1")
        assert (result.exit_code, wire.requests) == (1, []), "nobody said yes"
    assert "takes 2 requests, about" in result.stderr and "Go on?" in result.stderr


def test_what_cannot_be_told_is_said_and_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "a.py").write_text("x = 1\n")
    result = run(tmp_path / "sample", "--fail-on", "no-token-counting")
    assert result.exit_code == 0
    assert "cannot tell" in result.stderr

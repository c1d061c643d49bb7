"""Instruction files: imported once, and mirrored both ways in a marked section."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import Memory
from memorist.agents.mirror import BEGIN, END, import_file, mirror
from memorist.agents.projects import Project, project_of

TEXT = "# Rules\n\n- Run the tests with pytest.\n- Never push to main.\n\nSome prose about the project.\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(str(tmp_path / "m.db"), embedder=None, extract=None, worker=False) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "AGENTS.md"
    path.write_text(TEXT, "utf-8")
    return path


@pytest.fixture
def project(path: Path) -> Project:
    return project_of(path.parent)


def lines(path: Path) -> list[str]:
    section = path.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    return [line.partition(" <!--")[0] for line in section.splitlines() if line]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_rules_are_imported_once(memory: Memory, project: Project, path: Path) -> None:
    assert sorted(import_file(memory, project, path)) == ["Never push to main.", "Run the tests with pytest."]
    assert import_file(memory, project, path) == []
    assert {fact.source for fact in memory.facts.list(project.namespace)} == {"AGENTS.md"}


def test_notes_are_mirrored_into_a_section_and_the_rest_stays(memory: Memory, project: Project, path: Path) -> None:
    import_file(memory, project, path)
    report = mirror(memory, project, path)
    text = path.read_text("utf-8")
    assert report.written == 2 and text.startswith(TEXT) and text.endswith(f"{END}\n")
    mirror(memory, project, path)
    assert path.read_text("utf-8") == text


def test_changes_in_the_file_are_taken_over(memory: Memory, project: Project, path: Path) -> None:
    import_file(memory, project, path)
    mirror(memory, project, path)
    section = path.read_text("utf-8").index(BEGIN)
    head, tail = path.read_text("utf-8")[:section], path.read_text("utf-8")[section:]
    tail = tail.replace("Never push to main.", "Never push to main or release.").replace(
        END, f"- [decision] We use tabs.\n{END}"
    )
    tail = "\n".join(line for line in tail.split("\n") if "pytest" not in line)
    path.write_text(head + tail, "utf-8")
    report = mirror(memory, project, path)
    assert sorted(report.imported) == ["Never push to main or release.", "We use tabs."]
    assert report.deleted == ["Run the tests with pytest."] and not report.conflicts
    assert lines(path) == ["- [decision] We use tabs.", "- [convention] Never push to main or release."]


def test_a_note_changed_on_both_sides_is_a_conflict(memory: Memory, project: Project, path: Path) -> None:
    import_file(memory, project, path)
    mirror(memory, project, path)
    key = next(fact.key for fact in memory.facts.list(project.namespace) if "push" in str(fact.value))
    memory.facts.update(project.namespace, key, value="Push to main on Fridays.", text="Push to main on Fridays.")
    edit(path, "- [convention] Never push to main.", "- [convention] Never push at night.")
    report = mirror(memory, project, path)
    assert [(conflict.in_file, conflict.in_memory) for conflict in report.conflicts] == [
        ("Never push at night.", "Push to main on Fridays.")
    ]
    assert "- [convention] Never push at night." in lines(path)
    fact = memory.facts.get(project.namespace, key)
    assert fact is not None and fact.value == "Push to main on Fridays."


def test_secrets_in_the_file_are_not_imported(memory: Memory, project: Project, path: Path) -> None:
    edit(path, "Never push to main.", "Use sk-proj-abcdEFGH1234567890abcdEFGH1234567890abcd for deploys.")
    assert import_file(memory, project, path) == ["Run the tests with pytest."]

"""Instruction files: imported once, and mirrored both ways in a marked section."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import Memory, UsageError
from memorist.agents.mirror import BEGIN, END, Choice, import_file, mirror, remove_section
from memorist.agents.projects import Project, project_of
from tests.coding_agents.running import Desk

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


def conflicting(memory: Memory, project: Project, path: Path) -> str:
    """A note that changed in the file and in the memory; returns its key."""
    import_file(memory, project, path)
    mirror(memory, project, path)
    key = next(fact.key for fact in memory.facts.list(project.namespace) if "push" in str(fact.value))
    memory.facts.update(project.namespace, key, value="Push to main on Fridays.", text="Push to main on Fridays.")
    edit(path, "- [convention] Never push to main.", "- [convention] Never push at night.")
    return key


def test_a_note_changed_on_both_sides_is_a_conflict(memory: Memory, project: Project, path: Path) -> None:
    key = conflicting(memory, project, path)
    report = mirror(memory, project, path)
    assert [(conflict.in_file, conflict.in_memory) for conflict in report.conflicts] == [
        ("Never push at night.", "Push to main on Fridays.")
    ]
    assert "- [convention] Never push at night." in lines(path)
    fact = memory.facts.get(project.namespace, key)
    assert fact is not None and fact.value == "Push to main on Fridays."


def test_a_conflict_stays_until_somebody_chooses(memory: Memory, project: Project, path: Path) -> None:
    key = conflicting(memory, project, path)
    for _ in range(2):
        assert [conflict.key for conflict in mirror(memory, project, path).conflicts] == [key]
    report = mirror(memory, project, path, prefer="file")
    fact = memory.facts.get(project.namespace, key)
    assert report.conflicts == [] and fact is not None and fact.value == "Never push at night."
    assert mirror(memory, project, path).diff == ""


def test_the_memory_can_win_a_conflict(memory: Memory, project: Project, path: Path) -> None:
    conflicting(memory, project, path)
    assert mirror(memory, project, path, prefer="memory").conflicts == []
    assert "- [convention] Push to main on Fridays." in lines(path)


@pytest.mark.parametrize("side", ["file", "memory"])
def test_a_note_deleted_on_one_side_and_changed_on_the_other_is_a_conflict(
    memory: Memory, project: Project, path: Path, side: str
) -> None:
    import_file(memory, project, path)
    mirror(memory, project, path)
    key = next(fact.key for fact in memory.facts.list(project.namespace) if "push" in str(fact.value))
    if side == "file":
        memory.facts.update(project.namespace, key, value="Push on Fridays.", text="Push on Fridays.")
        section = path.read_text("utf-8").index(BEGIN)
        text = path.read_text("utf-8")
        others = [line for line in text[section:].split("\n") if "push to main" not in line]
        path.write_text(text[:section] + "\n".join(others), "utf-8")
        expected = ("", "Push on Fridays.")
    else:
        memory.facts.delete(project.namespace, key)
        edit(path, "- [convention] Never push to main.", "- [convention] Never push at night.")
        expected = ("Never push at night.", "")
    for _ in range(2):
        report = mirror(memory, project, path)
        assert [(conflict.in_file, conflict.in_memory) for conflict in report.conflicts] == [expected]
    mirror(memory, project, path, prefer="file")
    fact = memory.facts.get(project.namespace, key)
    assert (fact is None) if side == "file" else (fact is not None and fact.value == "Never push at night.")


def test_only_the_chosen_notes_are_mirrored(memory: Memory, project: Project, path: Path) -> None:
    import_file(memory, project, path)
    memory.facts.set(project.namespace, "note/1", "We use tabs.", text="We use tabs.", tags=["decision"])
    mirror(memory, project, path, Choice(kinds=("decision",)))
    assert lines(path) == ["- [decision] We use tabs."]
    mirror(memory, project, path)
    assert lines(path) == ["- [decision] We use tabs."]
    edit(path, END, f"- [convention] Keep it short.\n{END}")
    mirror(memory, project, path)
    mirror(memory, project, path)
    assert lines(path) == ["- [decision] We use tabs.", "- [convention] Keep it short."]
    assert len(memory.facts.list(project.namespace)) == 4


def test_a_dry_run_changes_nothing(memory: Memory, project: Project, path: Path) -> None:
    import_file(memory, project, path)
    report = mirror(memory, project, path, dry_run=True)
    assert path.read_text("utf-8") == TEXT and "+- [convention] Never push to main." in report.diff
    assert mirror(memory, project, path).written == 2


def test_lines_that_are_no_notes_stay_in_the_section(memory: Memory, project: Project, path: Path) -> None:
    import_file(memory, project, path)
    mirror(memory, project, path)
    secret = "- Use sk-proj-abcdEFGH1234567890abcdEFGH1234567890abcd for deploys."
    edit(path, END, f"Some prose.\n{secret}\n{END}")
    report = mirror(memory, project, path)
    assert report.refused and "Some prose." in path.read_text("utf-8") and secret in path.read_text("utf-8")
    assert not [fact for fact in memory.facts.list(project.namespace) if "sk-proj" in str(fact.value)]


def test_a_section_without_an_end_is_refused(memory: Memory, project: Project, path: Path) -> None:
    path.write_text(f"{TEXT}{BEGIN}\nMy own text.\n", "utf-8")
    with pytest.raises(UsageError, match="has no end"):
        mirror(memory, project, path)
    assert path.read_text("utf-8").endswith("My own text.\n")


def test_line_ends_and_the_text_around_stay(memory: Memory, project: Project, path: Path) -> None:
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    import_file(memory, project, path)
    mirror(memory, project, path)
    content = path.read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n")
    assert remove_section(memory, project, path)
    assert path.read_bytes() == TEXT.replace("\n", "\r\n").encode()


def test_the_command_line_imports_lists_mirrors_and_removes(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    path = desk.repository / "AGENTS.md"
    path.write_text(TEXT, "utf-8")
    imported = json.loads(desk.command("--json", "mirror", "import"))
    assert imported == [{"file": "AGENTS.md", "imported": ["Never push to main.", "Run the tests with pytest."]}]
    rows = json.loads(desk.command("--json", "mirror", "list"))
    assert {row["text"] for row in rows} == {"Run the tests with pytest.", "Never push to main."}
    preview = desk.command("mirror", "sync", "AGENTS.md", "--dry-run")
    assert "+- [convention] Never push to main." in preview and path.read_text("utf-8") == TEXT
    desk.command("mirror", "sync", "AGENTS.md", "--note", rows[0]["key"], "--kind", "decision")
    assert lines(path) == [f"- [convention] {rows[0]['text']}"]
    edit(path, f"[convention] {rows[0]['text']}", "[convention] Changed here.")
    desk.command("facts", "set", rows[0]["namespace"], rows[0]["key"], "Changed there.")
    conflict = desk.started("mirror", "sync", "AGENTS.md")
    assert conflict.returncode == 1
    assert "in the file:   Changed here." in conflict.stdout and "in the memory: Changed there." in conflict.stdout
    desk.command("mirror", "sync", "AGENTS.md", "--prefer", "file")
    assert "Changed here." in desk.command("mirror", "list")
    desk.command("mirror", "remove", "AGENTS.md")
    assert path.read_text("utf-8") == TEXT


def test_secrets_in_the_file_are_not_imported(memory: Memory, project: Project, path: Path) -> None:
    edit(path, "Never push to main.", "Use sk-proj-abcdEFGH1234567890abcdEFGH1234567890abcd for deploys.")
    assert import_file(memory, project, path) == ["Run the tests with pytest."]

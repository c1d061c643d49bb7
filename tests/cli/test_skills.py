"""The skills: in the open Agent Skills form, installed by a command, with commands in them that work."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memorist.cli.skills import skill_folders
from memorist.mcp.tools import BY_TOOL

SKILLS = skill_folders()


def frontmatter(text: str) -> dict[str, str]:
    match = re.match(r"---\n(.*?)\n---\n", text, re.S)
    assert match is not None
    return dict(line.split(": ", 1) for line in match[1].splitlines())


def memorist(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "MEMORIST_URL": str(folder / "m.db")}
    return subprocess.run(
        [sys.executable, "-m", "memorist", *args], env=env, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("folder", SKILLS, ids=lambda path: path.name)
def test_a_skill_has_the_form_that_assistants_read(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text("utf-8")
    head = frontmatter(text)
    assert head["name"] == folder.name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", folder.name)
    assert 0 < len(head["description"]) <= 1024 and 0 < len(head["compatibility"]) <= 500
    assert len(text.splitlines()) < 500
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (folder / link).exists(), link


def test_there_is_one_for_the_memory_and_one_for_the_analyser() -> None:
    assert [folder.name for folder in SKILLS] == ["memorist", "memory-orchestration"]
    tools = (SKILLS[0] / "references" / "tools.md").read_text("utf-8") + (SKILLS[0] / "SKILL.md").read_text("utf-8")
    assert [name for name in BY_TOOL if f"`{name}" not in tools] == []


def test_skills_are_installed_and_not_overwritten_unasked(tmp_path: Path) -> None:
    target = tmp_path / "skills"
    assert memorist(tmp_path, "skills", "install", str(target)).returncode == 0
    for folder in SKILLS:
        assert (target / folder.name / "SKILL.md").read_bytes() == (folder / "SKILL.md").read_bytes()
    (target / "memorist" / "SKILL.md").write_text("mine", "utf-8")
    refused = memorist(tmp_path, "skills", "install", str(target))
    assert refused.returncode == 2 and "--force" in refused.stderr
    assert (target / "memorist" / "SKILL.md").read_text("utf-8") == "mine"
    assert memorist(tmp_path, "skills", "install", str(target), "--force").returncode == 0
    assert (target / "memorist" / "SKILL.md").read_text("utf-8") != "mine"


def test_the_commands_in_the_skill_work(tmp_path: Path) -> None:
    body = re.search(r"```console\n(.*?)```", (SKILLS[0] / "SKILL.md").read_text("utf-8"), re.S)
    assert body is not None
    for line in body[1].splitlines():
        ended = memorist(tmp_path, *shlex.split(line)[1:])
        assert ended.returncode == 0, f"{line}\n{ended.stderr}"

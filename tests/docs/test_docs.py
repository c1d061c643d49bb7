"""Every code block of the docs runs, commands are documented, links lead somewhere, examples end well."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.wire_server import Reply, WireServer, anthropic_answer, openai_answer, serving

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ADAPTERS = ROOT / "docs" / "adapters"
"""Pages and examples that need a framework: tests/adapters runs them, in the environment that has it."""
EXAMPLES = [
    path for path in sorted((ROOT / "examples").glob("*.py"))
    if "memorist.adapters" not in path.read_text() and path.stem not in ("killed", "crewai_agent")
]  # fmt: skip
"""`killed` is what the frameworks' agents share; `make test-crewai` runs CrewAI's."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MEMORIST = Path(sys.executable).parent / "memorist"


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page.read_text("utf-8")) if kind == language]


class Provider(WireServer):
    """Answers every request, in the shape of the provider whose path was asked."""

    def reply(self, path: str) -> Reply:
        return Reply(anthropic_answer("Noted.") if path.endswith("/messages") else openai_answer("Noted."))


@pytest.fixture(scope="module")
def provider() -> Iterator[dict[str, str]]:
    """The environment in which the providers' own SDKs talk to a server of ours."""
    with serving(Provider()) as wire:
        yield {
            "OPENAI_BASE_URL": f"{wire.url}/v1",
            "OPENAI_API_KEY": "test",
            "ANTHROPIC_BASE_URL": wire.url,
            "ANTHROPIC_API_KEY": "test",
        }


def run(command: list[str], folder: Path, extra: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**inherited, **(extra or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p, "python") and p.parent != ADAPTERS], ids=lambda p: p.name
)
def test_python_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path, provider: dict[str, str]) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page, "python")), "utf-8")
    ended = run([sys.executable, "-W", "error", str(script)], tmp_path, provider)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/start/first-memory.md"])
def test_a_block_prints_what_the_page_shows_below_it(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text("utf-8")
    pair = re.search(r"^```python\n(?:(?!^```).)*^```\n\n```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert pair is not None
    code = [body for body in blocks(ROOT / page, "python") if text.index(body) < pair.start(1)]
    ended = run([sys.executable, "-c", "\n".join(code)], tmp_path)
    assert ended.stdout.endswith(pair.group(1)), ended.stdout + ended.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if "memorist " in "".join(blocks(p, "sh"))], ids=lambda p: p.name)
def test_commands_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    for body in blocks(page, "python"):
        run([sys.executable, "-c", body], tmp_path)
    for body in blocks(page, "yaml"):
        if name := re.match(r"# file: (\S+)\n", body):
            (tmp_path / name[1]).write_text(body, "utf-8")
    for line in "".join(blocks(page, "sh")).splitlines():
        if not line.startswith("memorist "):
            continue
        ended = run([str(MEMORIST), *shlex.split(line, comments=True)[1:]], tmp_path)
        assert ended.returncode == 0, f"{line}\n{ended.stdout}\n{ended.stderr}"


def test_every_command_is_documented() -> None:
    from memorist.cli.main import _COMMANDS

    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert [name for name in _COMMANDS if f"`{name}" not in page and f"memorist {name}" not in page] == []


def test_the_manual_page_is_what_the_commands_say() -> None:
    ended = subprocess.run([sys.executable, ROOT / "scripts/make-man", "--check"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_public_name_is_importable() -> None:
    import memorist
    import memorist.types

    homes = [(home, name) for home in (memorist, memorist.types) for name in home.__all__]
    assert [name for home, name in homes if getattr(home, name, None) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.name)
def test_examples_end_well(example: Path, tmp_path: Path) -> None:
    ended = run([sys.executable, "-W", "error", str(example)], tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_the_cases_of_the_example_project_pass() -> None:
    ended = run([str(MEMORIST), "test", "memory_tests"], ROOT / "examples")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_demo_ends_well(tmp_path: Path) -> None:
    ended = run([str(MEMORIST), "demo"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    for phrase in ("Lisbon", "none twice, none missing", "left in the file: nothing"):
        assert phrase in ended.stdout

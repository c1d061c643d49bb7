"""The pages of the adapters run, and so do the examples: each keeps its conversation across a killed process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_docs import ADAPTERS, ROOT, blocks

PAGES = sorted(ADAPTERS.glob("*.md"))
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if "memorist.adapters" in path.read_text()]
WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning",
            "-W", "ignore::UserWarning", "-W", "ignore::ImportWarning", "-W", "ignore::FutureWarning")  # fmt: skip
"""What the frameworks warn of is theirs."""


def run(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder of its own, without settings and without a key."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORIST_", "OPENAI_"))}
    environment = {**inherited, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, *WARNINGS, str(script)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page, "python")), "utf-8")
    ended = run(script, tmp_path)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_how_to_install_and_to_move(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "pip install" in text
    if page.stem != "index":
        for heading in ("## Where things are stored", "## What you gain", "## Moving existing data"):
            assert heading in text, heading


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_agent_goes_on_after_its_process_was_killed(example: Path, tmp_path: Path) -> None:
    ended = run(example, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "Your name is Ada." in ended.stdout

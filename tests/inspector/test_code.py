"""The inspector's own code: what computes is tested by Node, no line is long, every file is checked, the page is small.

Formatting, the linter and the type checker are `make lint-inspector`, whose tools come from the npm registry.
"""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import memorist
from tests.mcp_server.node import environment, node

PAGES = Path(memorist.__file__).parent / "server" / "inspector"
WEB = Path(__file__).parent / "web"
MOST_CHARACTERS = 120
MOST_BYTES = 120_000


def own_files() -> list[Path]:
    """The files that the project writes; the libraries beside them are as their authors ship them."""
    return [path for path in sorted(PAGES.rglob("*")) if path.is_file() and "vendor" not in path.parts]


def test_no_line_is_longer_than_120_characters() -> None:
    files = [path for path in (*own_files(), *sorted(WEB.iterdir())) if path.suffix != ".svg"]
    assert len(files) > 15
    long = [
        f"{path.name}:{number}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > MOST_CHARACTERS
    ]
    assert long == []


def test_every_script_is_checked_for_types() -> None:
    scripts = [path for path in own_files() if path.suffix == ".js"]
    assert [path.name for path in scripts if not path.read_text("utf-8").startswith("// @ts-check\n")] == []


def test_what_computes_is_right() -> None:
    tests = sorted(WEB.glob("*.test.mjs"))
    process = subprocess.run(
        [node(), "--test", *tests], env={**environment(), "TZ": "Europe/Lisbon"}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout


def test_the_page_is_small() -> None:
    """Everything the browser loads, each file compressed by itself."""
    loaded = [path for path in PAGES.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in loaded) <= MOST_BYTES

"""The limits of `make test-upstream`: a test that hangs is stopped and named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.upstream.watching import run_watched

SWAPS = Path(__file__).parents[1] / "upstream" / "swaps"
TESTS = """
import time

def test_fine(): pass

def test_hangs():
    while True:
        time.sleep(1)
"""


def command(*arguments: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "counted",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        *arguments,
    ]


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(SWAPS), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def test_a_test_that_hangs_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(TESTS, "utf-8")
    run = run_watched(command("test_suite.py"), tmp_path, environment(), test_seconds=15)
    assert run.hung == "test_suite.py::test_hangs has not ended after 15 seconds"


def test_a_suite_that_takes_too_long_is_stopped_with_the_test_it_was_at(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(TESTS, "utf-8")
    run = run_watched(command("test_suite.py"), tmp_path, environment(), suite_seconds=15)
    assert run.hung == "the suite has not ended after 15 seconds; it was at test_suite.py::test_hangs"


def test_a_suite_that_ends_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(TESTS, "utf-8")
    run = run_watched(command("test_suite.py", "-k", "fine"), tmp_path, environment())
    assert run.hung == "" and "1 passed" in run.output
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".memorist")] == []

"""A pytest plugin for the frameworks' own tests: opens memories for them, and notes which tests built our class.

It stands outside any package, since it is loaded by name (`-p`) in a process that runs someone else's suite.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory

URL = os.environ.get("MEMORIST_UPSTREAM_URL", "")
"""The store to test on; a SQLite file for each process where none is named."""
_built: set[str] = set()
_outcomes: dict[str, str] = {}
_now = ""
_folder: tempfile.TemporaryDirectory[str] | None = None
_memories: list[Memory] = []


def open_memory(store_url: str = "", **options: Any) -> Memory:
    """A memory of its own for the test that runs now: an org that nobody else has."""
    global _folder
    _built.add(_now)
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    url = store_url or URL or str(Path(_folder.name) / "memory.db")
    settings: dict[str, Any] = {"embedder": None, "extract": None, "worker": False, "durability": "normal", **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = Memory(url, org=f"org-{secrets.token_hex(6)}", **settings)
    _memories.append(memory)
    return memory


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Know which test runs; close what it opened."""
    global _now
    _now = item.nodeid
    running = os.environ.get("MEMORIST_UPSTREAM_RUNNING")
    if running is not None:
        Path(running).write_text(_now, "utf-8")
    yield
    while _memories:
        _memories.pop().close()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test passes when all three phases do."""
    before = _outcomes.get(report.nodeid, "passed")
    worse = "failed" if report.failed else "skipped" if report.skipped else "passed"
    _outcomes[report.nodeid] = "failed" if "failed" in (before, worse) else worse if worse != "passed" else before


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down how it went."""
    target = os.environ.get("MEMORIST_UPSTREAM_REPORT")
    if target is not None and not hasattr(session.config, "workerinput"):
        Path(target).write_text(json.dumps({"built": sorted(_built - {""}), "outcomes": _outcomes}))

"""The package on systems without POSIX: what can be shown of that here."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import memorist

SOURCE = Path(memorist.__file__).parent
POSIX_MODULES = ("fcntl", "grp", "pwd", "pty", "readline", "resource", "termios", "tty")
POSIX_NAMES = ("fork", "register_at_fork", "getuid", "geteuid", "pread", "pwrite", "fchmod", "fdatasync", "mkfifo",
               "posix_fallocate", "uname", "statvfs", "killpg", "getpgid", "setsid", "sched_getaffinity")  # fmt: skip


FRAMEWORKS = ("memorist.adapters.", "memorist_testing.langgraph_")
"""Modules that import an agent framework, which this environment does not have: `make test-adapters` imports them."""


def _top_level_imports(path: Path) -> set[str]:
    packages: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            packages.add(node.module.split(".")[0])
    return packages


def test_no_module_imports_a_posix_one_at_its_top() -> None:
    importing = {
        str(path.relative_to(SOURCE)): _top_level_imports(path) & set(POSIX_MODULES) for path in SOURCE.rglob("*.py")
    }
    assert {name: posix_imports for name, posix_imports in importing.items() if posix_imports} == {}


def test_everything_can_be_imported_and_a_file_used_without_posix(tmp_path: Path) -> None:
    program = f"""
import asyncio, concurrent.futures, ctypes, getpass, multiprocessing, os, pkgutil, subprocess, sys, tempfile, uuid
import pytest, hypothesis, hypothesis.stateful, textual.app, numpy.random, psycopg, redis.asyncio, openai, anthropic
import mcp.server.mcpserver
for name in {POSIX_MODULES!r}: sys.modules[name] = None
for name in {POSIX_NAMES!r}:
    if hasattr(os, name): delattr(os, name)
import memorist
for found in pkgutil.walk_packages(memorist.__path__, "memorist."):
    if not found.name.endswith("__main__") and not found.name.startswith({FRAMEWORKS!r}):
        __import__(found.name)
from memorist import Memory
with Memory("m.db") as memory:
    memory.threads.create("user:ada", id="t")
    memory.wait(memory.threads.append("t", "I live in Lisbon."))
    hits, problems = memory.recall("Where do I live?"), list(memory.doctor().problems)
    print(memory.facts.get("user:ada", "location").value, len(hits), problems)
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    city, hits, problems = ran.stdout.split(maxsplit=2)
    assert city == "Lisbon" and int(hits) > 0 and problems == "[]\n"


def test_a_folder_is_locked_through_a_file_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import memorist.stores.sqlite.folder_lock as module

    lock_calls: list[Any] = []

    def locking(handle: int, mode: int, size: int) -> None:
        lock_calls.append((mode, size))
        if len(lock_calls) == 1:
            raise OSError("the lock was held for ten seconds")

    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", "win32")
        patched.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_LOCK=1, locking=locking))
        patched.setenv("TMPDIR", str(tmp_path))
        patched.setattr("tempfile.tempdir", None)
        importlib.reload(module)
        with module.folder_lock(str(tmp_path)):
            assert lock_calls == [(1, 1), (1, 1)]
        assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]
    importlib.reload(module)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (r"C:\memories\agent.db", r"C:\memories\agent.db"),
        ("sqlite:///C:/memories/agent.db", "C:/memories/agent.db"),
        ("sqlite:////home/ada/agent.db", "/home/ada/agent.db"),
        ("agent.db", "agent.db"),
        ("postgresql://server/db", None),
    ],
)
def test_paths_of_both_worlds_are_files(url: str, path: str | None) -> None:
    from memorist.cli.session import _file

    assert _file(url) == path

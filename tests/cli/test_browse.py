"""The terminal view, driven by textual's own pilot and once for real in tmux."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from textual.widgets import DataTable, Static, Tree

from memorist import Memory
from memorist.cli.browser import Browser, Place

from .conftest import Memorist


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "memorist.db"
    with Memory(path, embedder=None, worker=False) as memory:
        memory.threads.create("user:ada", "Plans [bold]", id="t")
        receipts = memory.threads.append("t", "I live in Lisbon.", {"role": "assistant", "content": "Noted."})
        memory.wait(receipts)
        memory.facts.set("user:bob", "note", "[red]not markup[/red]\x1b[2J")
    return path


def test_namespaces_threads_facts_and_their_sources(filled: Path) -> None:
    async def look() -> None:
        with Memory(filled, embedder=None, worker=False) as memory:
            app = Browser(memory)
            async with app.run_test(size=(100, 30)) as pilot:
                tree, table = app.query_one(Tree), app.query_one(DataTable)
                places = [leaf.data for branch in tree.root.children for leaf in branch.children]
                assert places == [
                    Place("facts", "user:ada"),
                    Place("thread", "user:ada", "t"),
                    Place("facts", "user:bob"),
                ]
                assert [str(cell) for cell in table.get_row("location")][:2] == ["location", "Lisbon"]
                await pilot.press("w")
                assert "t#1: “I live in Lisbon.”" in str(app.query_one("#why", Static).content)
                await pilot.press("down", "down", "down", "enter")
                await pilot.pause()
                assert [str(table.get_row(seq)[2]) for seq in ("1", "2")] == ["I live in Lisbon.", "Noted."]
                app._show(Place("facts", "user:bob"))
                assert str(table.get_row("note")[1]) == "[red]not markup[/red]\\x1b[2J"
                await pilot.press("w")
                assert "written directly" in str(app.query_one("#why", Static).content)
                memory.facts.set("user:cy", "age", 7)
                await pilot.press("r")
                assert len(tree.root.children) == 3
                await pilot.press("q")

    asyncio.run(look())


def test_an_empty_memory_says_so(tmp_path: Path) -> None:
    async def look() -> None:
        with Memory(tmp_path / "empty.db", embedder=None, worker=False) as memory:
            app = Browser(memory)
            async with app.run_test() as pilot:
                await pilot.press("w")
                assert "nothing is remembered" in str(app.query_one("#why", Static).content)

    asyncio.run(look())


def test_without_a_memory_there_is_nothing_to_browse(memorist: Memorist) -> None:
    assert memorist("browse").code == 1


def test_it_runs_on_a_real_terminal(filled: Path) -> None:
    tmux = shutil.which("tmux")
    assert tmux, "install tmux (scripts/install-system does)"
    socket = f"memorist-{uuid.uuid4().hex[:8]}"

    def run(*args: str) -> str:
        return subprocess.run([tmux, "-L", socket, *args], capture_output=True, text=True, check=True).stdout

    run("new-session", "-d", "-x", "100", "-y", "30", f"{sys.executable} -m memorist --url {filled} browse")
    try:
        end = time.monotonic() + 60
        expected_texts = ("user:ada", "Plans [bold] (2)", "Lisbon", "Why is this known?")
        while not all(text in (screen := run("capture-pane", "-p")) for text in expected_texts):
            assert time.monotonic() < end, screen
            time.sleep(0.2)
        run("send-keys", "q")
        while subprocess.run([tmux, "-L", socket, "has-session"], capture_output=True).returncode == 0:
            assert time.monotonic() < end
            time.sleep(0.2)
    finally:
        subprocess.run([tmux, "-L", socket, "kill-server"], capture_output=True)

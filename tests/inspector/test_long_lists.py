"""Lists of any length: read by cursor as one scrolls, and only the rows near the screen are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import Memory
from tests.inspector.conftest import Open
from tests.inspector.site import Site, Window

MANY = 700
DRAWN = 350
"""More than a screen and what lies near it, less than what was read."""
TO_THE_END = "() => scrollTo(0, document.documentElement.scrollHeight)"


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "long.db"
    with Memory(str(path), worker=False, durability="normal", extract=None, embedder=None) as memory:
        memory.facts.set_many("user:ada", {f"item.{n:04}": n for n in range(MANY)})
        with memory.batch() as batch:
            for n in range(MANY):
                batch.facts.set(f"user:u{n:04}", "name", f"User {n}")
        for n in range(MANY):
            memory.threads.create("user:ada", id=f"t{n:04}", title=f"Talk {n}")
    return path


@pytest.mark.parametrize(
    ("address", "last"),
    [("#/user?user=ada&all=1", "item.0699"), ("#/users", "u0699"), ("#/user?user=ada&tab=threads", "t0000")],
)
def test_a_long_list_is_read_in_pages_and_never_drawn_whole(
    opened: Open, long_file: Path, address: str, last: str
) -> None:
    site = Site(long_file, worker=False)
    try:
        window = opened(site)
        window.go(address)
        assert rows(window) <= 100
        most = 0
        while not window.page.locator(f"[data-row='{last}']").count():
            window.page.evaluate(TO_THE_END)
            window.settle()
            most = max(most, rows(window))
        assert most <= DRAWN
        # What left the screen keeps its room: the way back is as long as the way down.
        window.page.evaluate("scrollTo(0, 0)")
        window.page.wait_for_function("last => !document.querySelector(`[data-row='${last}']`)", arg=last)
        tall = window.page.evaluate("document.documentElement.scrollHeight")
        assert tall > MANY * 25
        window.page.keyboard.press("j")
        assert window.page.evaluate("document.activeElement.dataset.row") is not None
        window.silent()
    finally:
        site.stop()


def rows(window: Window) -> int:
    """Rows that are drawn."""
    count: int = window.page.locator("[data-row]").count()
    return count

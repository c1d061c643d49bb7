"""The pictures of the docs: made from the demo file when asked for, and never larger than a page should be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.inspector.conftest import Open
from tests.inspector.site import Site

FOLDER = Path(__file__).parents[2] / "docs" / "inspector"
INPUT = "input=When+is+the+launch,+and+where+do+the+samples+go%3F"
PICTURES: dict[str, tuple[str, int, int, str]] = {
    "overview": ("#/overview", 1440, 940, "light"),
    "user": ("#/user?user=ada", 1440, 980, "light"),
    "thread": ("#/thread?id={thread}&at=87", 1440, 1060, "light"),
    "fact": ("#/fact?ns=user:ada&key=location", 1440, 900, "light"),
    "fact-dark": ("#/fact?ns=user:ada&key=location", 1440, 900, "dark"),
    "fact-390": ("#/fact?ns=user:ada&key=location", 390, 1330, "light"),
    "review": ("#/review", 1440, 520, "light"),
    "costs": ("#/costs?thread={thread}", 1440, 460, "light"),
    "search": ("#/search?q=when+is+the+launch%3F&user=ada", 1440, 900, "light"),
    "context": (f"#/context?thread={{thread}}&{INPUT}", 1440, 1350, "light"),
    "context-dark": (f"#/context?thread={{thread}}&{INPUT}", 1440, 1350, "dark"),
    "context-390": (f"#/context?thread={{thread}}&{INPUT}", 390, 1560, "light"),
    "context-compare": (f"#/compare?thread={{thread}}&{INPUT}&aBudget=2600", 1440, 980, "light"),
}
MOST_BYTES = 160_000


def test_every_picture_of_the_docs_is_there() -> None:
    names = {path.stem for path in FOLDER.glob("*.png")}
    assert names == set(PICTURES)
    assert [path.name for path in FOLDER.glob("*.png") if path.stat().st_size > MOST_BYTES] == []


@pytest.mark.parametrize("name", PICTURES if os.environ.get("MEMORIST_WRITE_DOCS") else ["fact"])
def test_a_picture_is_made(opened: Open, demo_site: Site, tmp_path: Path, name: str) -> None:
    from PIL import Image

    address, width, height, scheme = PICTURES[name]
    window = opened(demo_site, viewport={"width": width, "height": height}, color_scheme=scheme)
    window.go(address.format(thread=window.thread()))
    if name.startswith("fact"):
        field = window.page.get_by_label("New value")
        if field.is_visible():
            field.fill("Lisbon")
            window.page.get_by_label("Reason").fill("A trip, not a move")
            window.page.locator("ins.diffline").wait_for()
    if name == "thread":
        window.page.evaluate("scrollTo(0, 0)")
        window.settle()
    to = (FOLDER if os.environ.get("MEMORIST_WRITE_DOCS") else tmp_path) / f"{name}.png"
    to.parent.mkdir(exist_ok=True)
    window.page.screenshot(path=to)
    with Image.open(to) as image:
        image.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(to, optimize=True)
    assert 5_000 < to.stat().st_size < MOST_BYTES
    window.silent()

"""One demo file, one browser; a fresh copy of the file where a test changes it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorist.cli.demo_story import tell
from tests.inspector.site import BrowserThread, Site, Window


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that `memorist demo --keep` writes."""
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    now = datetime.now(UTC)
    end = now.replace(hour=9, minute=41, second=0, microsecond=0)
    # What a test writes must be newer than the story, also in the early morning.
    tell(str(path), now=end if end < now else end - timedelta(days=1))
    return path


@pytest.fixture(scope="session")
def browser_thread() -> Iterator[BrowserThread]:
    thread = BrowserThread()
    thread.start()
    yield thread
    thread.stop()


@pytest.fixture(scope="session")
def demo_site(demo_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over the demo file, for tests that only look."""
    copy = tmp_path_factory.mktemp("site") / "demo.db"
    shutil.copy(demo_file, copy)
    site = Site(copy)
    yield site
    site.stop()


@pytest.fixture
def own_site(demo_file: Path, tmp_path: Path) -> Iterator[Site]:
    """A server over a copy of its own, for tests that change something."""
    copy = tmp_path / "own.db"
    shutil.copy(demo_file, copy)
    site = Site(copy)
    yield site
    site.stop()


Open = Callable[..., Window]


@pytest.fixture
def opened(browser_thread: BrowserThread) -> Iterator[Open]:
    """Opens windows, logged in, and closes them at the end; each must have been silent."""
    windows: list[Window] = []

    def open_(site: Site, *, enter: bool = True, by: str = "mouse", **options: Any) -> Window:
        if by == "touch":
            options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, **options}
        window = browser_thread.window(site, **options)
        window.by = "mouse" if by == "touch" else by
        windows.append(window)
        if enter:
            window.enter()
        return window

    yield open_
    for window in windows:
        browser_thread.run(window.page.context.close)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Tests that open windows run in the browser's thread."""
    if "opened" not in pyfuncitem.fixturenames:
        return None
    thread: BrowserThread = pyfuncitem.funcargs["browser_thread"]
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    thread.run(pyfuncitem.obj, **arguments)
    return True

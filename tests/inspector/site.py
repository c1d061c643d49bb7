"""The demo file behind a real server, looked at in a real Chromium.

Playwright's blocking API keeps an event loop running in its thread, which other tests of the same process would trip
over. So everything that touches the browser runs in one thread of its own.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Playwright, sync_playwright

from memorist.server.app import Options
from memorist.server.browser import local_operator
from tests.server.running import FAST, Running

STREAM = "/v1/inspect/live"
"""News come over a request that has no end."""
ASK = """async ([view, asked]) => {
  const headers = {'X-Memorist': '1', 'Content-Type': 'application/json'};
  const answer = await fetch(`v1/inspect/${view}`, {method: 'POST', headers, body: JSON.stringify(asked)});
  return answer.json();
}"""


def chromium() -> str:
    """Where the browser is; a machine without one fails these tests rather than skipping them."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert browser, "chromium is not installed; run scripts/install-system"
    return browser


class Site:
    """A server over a copy of the demo file."""

    def __init__(self, path: Path, *, worker: bool = True, analyze: tuple[Path, ...] = ()) -> None:
        self.path = path
        options = Options(usual=FAST, heavy=FAST, bad_keys=FAST, analyze=analyze)
        self.server = Running(str(path), options, embedder="default", counter=None, extract="auto", worker=worker)
        self.server.start()
        self.url = self.server.url

    def link(self) -> str:
        """A one-time link of the operator."""
        loop = self.server.loop
        assert loop is not None
        link = self.server.app.state.server.sessions.link(local_operator("default"))
        return f"{self.url}/login?code={asyncio.run_coroutine_threadsafe(link, loop).result(30)}"

    def stop(self) -> None:
        self.server.stop()


class Window:
    """A page of the browser that keeps what must not happen: messages on the console, requests to other hosts."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page = page
        self.site = site
        self.by = "mouse"
        """How buttons are pressed and fields filled: by the mouse, or by the keyboard alone."""
        self.console: list[str] = []
        self.foreign: list[str] = []
        self.asked = 0
        """Requests under way."""
        page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        page.on("request", lambda request: self._note_request(request.url))
        page.on("requestfinished", lambda request: self._answered(request.url))
        page.on("requestfailed", lambda request: self._answered(request.url))

    def _note_request(self, url: str) -> None:
        self.asked += not url.endswith(STREAM)
        if not url.startswith((self.site.url, "data:", "blob:")):
            self.foreign.append(url)

    def _answered(self, url: str) -> None:
        self.asked -= not url.endswith(STREAM)

    def enter(self) -> None:
        """Follow a one-time link."""
        self.page.goto(self.site.link())
        self.page.wait_for_selector("main h1")

    def go(self, hash: str) -> None:
        """Show a page and wait until it is drawn."""
        self.page.evaluate("hash => { location.hash = hash }", hash)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is being asked and the page has a heading."""
        quiet = 0
        for _ in range(1000):
            self.page.wait_for_timeout(20)
            quiet = quiet + 1 if self.asked == 0 else 0
            if quiet == 3:
                break
        self.page.wait_for_selector("main h1", state="attached")

    def use(self, thing: Locator) -> None:
        """Press a button or follow a link."""
        if self.by == "mouse":
            thing.click()
        else:
            self._reach(thing)
            self.page.keyboard.press("Enter")

    def write(self, field: Locator, text: str) -> None:
        """Fill a field."""
        if self.by == "mouse":
            field.fill(text)
        else:
            self._reach(field)
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)

    def undo(self) -> None:
        """Take the last act back."""
        newest = self.page.locator(".toast").get_by_role("button", name="Undo").last
        if self.by == "mouse":
            newest.click()
        else:
            newest.wait_for()
            if self.page.evaluate("() => document.activeElement.matches('input, textarea, select')"):
                self.page.keyboard.press("Escape")  # which leaves a field
            self.page.keyboard.press("z")

    def _reach(self, thing: Locator) -> None:
        """Move the focus by Tab until it is there."""
        thing.wait_for(state="attached")
        for _ in range(400):
            if thing.is_enabled() and thing.evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{thing} cannot be reached by the keyboard")

    def ask(self, view: str, **options: Any) -> Any:
        """What a view answers, asked as the page asks."""
        return self.page.evaluate(ASK, [view, options])

    def thread(self, title: str = "Launch and ward orders", user: str = "ada") -> str:
        """The id of a thread by its title."""
        threads = self.ask("threads", user=user)["items"]
        return str(next(thread["id"] for thread in threads if thread["title"] == title))

    def silent(self, *, but: str = "") -> None:
        """Nothing was said on the console and no other host was asked.

        The browser notes each answer that is no success; those of one status can be left out: 404 where something was
        asked for again that is being forgotten.
        """
        assert [line for line in self.console if not but or but not in line] == []
        assert self.foreign == []


class BrowserThread:
    """The thread that the browser lives in."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "browser")
        self._playwright: Playwright | None = None
        self.browser: Browser | None = None

    def run(self, work: Callable[..., Any], *args: Any, **named: Any) -> Any:
        return self._pool.submit(work, *args, **named).result()

    def start(self) -> None:
        self.run(self._start)

    def _start(self) -> None:
        self._playwright = sync_playwright().start()
        arguments = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"]
        self.browser = self._playwright.chromium.launch(executable_path=chromium(), args=arguments)

    def stop(self) -> None:
        self.run(self._stop)
        self._pool.shutdown()

    def _stop(self) -> None:
        if self.browser is not None:
            self.browser.close()
        if self._playwright is not None:
            self._playwright.stop()

    def window(self, site: Site, **options: Any) -> Window:
        """A new window; in the browser's own thread already."""
        assert self.browser is not None
        options = {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light", **options}
        context = self.browser.new_context(**options)
        context.set_default_timeout(30_000)
        return Window(context.new_page(), site)

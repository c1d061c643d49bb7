"""Every page, light and dark, wide and narrow: readable, accessible, silent, and from our own server alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH

import memorist.server
from tests.inspector.conftest import Open
from tests.inspector.site import Site, Window

AXE = AXE_FILE_PATH.read_text("utf-8")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
INPUT = "input=When+is+the+launch%3F"
PAGES = (
    "#/overview", "#/users", "#/user?user=ada", "#/user?user=ada&tab=threads", "#/user?user=ada&tab=state",
    "#/thread?id={thread}&at=87", "#/fact?ns=user:ada&key=location", "#/fact?ns=user:mei&key=shift.pattern",
    "#/search", "#/search?q=when+is+the+launch%3F&user=ada", "#/context", f"#/context?thread={{thread}}&{INPUT}",
    f"#/context?thread={{thread}}&{INPUT}&layout=standard&policy=summarize&budget=1800&more=1",
    "#/context?thread={thread}&turn=87", f"#/compare?thread={{thread}}&{INPUT}&aBudget=2600", "#/compare",
    "#/learnings", "#/working", "#/documents", "#/document?ns=global&id={document}", "#/state", "#/records",
    "#/timeline", "#/audit", "#/tasks", "#/task?id=import-crm", "#/facts", "#/facts?ns=user:ada", "#/threads",
    "#/events", "#/review", "#/tidy", "#/tidy?user=joao", "#/costs", "#/costs?thread={thread}", "#/jobs", "#/analyser",
    "#/keys", "#/report", "#/nowhere",
)  # fmt: skip
SOME = (
    "#/overview", "#/user?user=ada", "#/thread?id={thread}", "#/fact?ns=user:ada&key=location",
    f"#/context?thread={{thread}}&{INPUT}", "#/search?q=when+is+the+launch%3F&user=ada", "#/jobs",
)  # fmt: skip


def addresses(window: Window, pages: tuple[str, ...]) -> list[str]:
    """The pages with the ids of this file."""
    document = window.ask("list", kind="documents")["items"][0]["id"]
    return [page.format(thread=window.thread(), document=document) for page in pages]


def violations(window: Window, **options: Any) -> list[str]:
    """What axe finds wrong with the page as it is."""
    if not window.page.evaluate("typeof axe !== 'undefined'"):
        window.page.evaluate(AXE)
    report = window.page.evaluate(
        "options => axe.run(document, options)", {"runOnly": WCAG, "resultTypes": ["violations"], **options}
    )
    return [
        f"{violation['id']}: {node['html'][:160]} ({len(violation['nodes'])}) {node['failureSummary'][:200]}"
        for violation in report["violations"]
        for node in violation["nodes"][:1]
    ]


def test_no_page_is_left_out() -> None:
    source = Path(memorist.server.__file__).with_name("inspector") / "app.js"
    [table] = re.findall(r"const PAGES = \{(.*?)\};", source.read_text("utf-8"), re.DOTALL)
    names = set(re.findall(r"^\s*(\w+):", table, re.MULTILINE))
    assert len(names) > 25 and names - {re.split(r"[/?]", page)[1] for page in PAGES} == set()


@pytest.mark.parametrize("part", [0, 1, 2])
def test_every_page_is_accessible_silent_and_our_own(opened: Open, demo_site: Site, part: int) -> None:
    window = opened(demo_site)
    wrong: dict[str, list[str]] = {}
    for address in addresses(window, PAGES)[part::3]:
        window.go(address)
        assert window.page.locator("main h1").first.inner_text() != "", address
        assert window.page.locator(".error").count() == 0, address
        if problems := violations(window):
            wrong[address] = problems
    assert wrong == {}
    window.silent()


@pytest.mark.parametrize("width", [390, 1440])
def test_every_page_can_be_read_in_the_dark(opened: Open, demo_site: Site, width: int) -> None:
    window = opened(demo_site, color_scheme="dark", viewport={"width": width, "height": 900})
    wrong: dict[str, list[str]] = {}
    for address in addresses(window, PAGES):
        window.go(address)
        assert window.page.locator(".error").count() == 0, address
        if problems := violations(window, runOnly={"type": "rule", "values": ["color-contrast"]}):
            wrong[address] = problems
    assert wrong == {}
    window.silent()


@pytest.mark.parametrize(("width", "scale"), [(320, 1), (720, 2), (1000, 1)])
def test_no_page_scrolls_sideways(opened: Open, demo_site: Site, width: int, scale: int) -> None:
    """320 CSS pixels, 200 % of a 1440 window, and a tablet."""
    window = opened(demo_site, viewport={"width": width, "height": 800}, device_scale_factor=scale)
    wide: dict[str, int] = {}
    for address in addresses(window, PAGES):
        window.go(address)
        over = window.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            wide[address] = over
    assert wide == {}
    window.silent()


@pytest.mark.parametrize("part", [0, 1, 2])
def test_narrow_pages_are_accessible_too(opened: Open, demo_site: Site, part: int) -> None:
    window = opened(demo_site, viewport={"width": 390, "height": 844}, has_touch=True)
    wrong = {}
    for address in addresses(window, PAGES)[part::3]:
        window.go(address)
        if problems := violations(window):
            wrong[address] = problems
    assert wrong == {}
    window.silent()


def test_a_narrow_page_has_its_navigation_in_a_drawer(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site, viewport={"width": 390, "height": 844}, has_touch=True)
    window.page.get_by_role("button", name="Menu").click()
    window.page.get_by_role("link", name="Learnings").click()
    window.settle()
    assert window.page.locator("main h1").inner_text() == "Learnings"
    window.silent()


def test_narrow_pages_leave_room_for_texts_and_name_the_cells_of_tables(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site, viewport={"width": 390, "height": 844})
    squeezed = (
        "() => [...document.querySelectorAll('main .it > p, main .alert p')].filter(e => e.offsetWidth < 100).length"
    )
    unnamed = """() => [...document.querySelectorAll('main [role=cell]:not(:first-child)')]
      .filter(e => e.innerText && getComputedStyle(e, '::before').content === 'none').length"""
    wrong = {}
    for address in ("#/overview", "#/user?user=ada", "#/users", "#/state", "#/tasks"):
        window.go(address)
        if any(problems := [window.page.evaluate(ask) for ask in (squeezed, unnamed)]):
            wrong[address] = problems
    assert wrong == {}
    window.silent()


def test_nothing_moves_where_people_asked_for_that(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site, reduced_motion="reduce")
    window.go(addresses(window, SOME)[4])
    moving = (
        "() => [...document.querySelectorAll('*')].filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
    )
    assert window.page.evaluate(f"({moving})().length") == 0


def test_the_policy_of_the_page_allows_nothing_unsafe(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    answer = window.page.request.get(f"{demo_site.url}/")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy and "default-src 'none'" in policy and "http:" not in policy and "*" not in policy


def test_what_was_said_is_never_html(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    window.page.evaluate(
        """async value => {
          const headers = {'X-Memorist': '1', 'Content-Type': 'application/json'};
          const body = JSON.stringify({value});
          await (await fetch('v1/fact?ns=user:ada&key=note', {method: 'PUT', body, headers})).text();
        }""",
        bad,
    )
    window.go("#/fact?ns=user:ada&key=note")
    assert window.page.locator("main h1").inner_text() == bad
    assert window.page.locator("main img").count() == 0
    window.silent()

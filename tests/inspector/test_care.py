"""Review, tidying up, costs and settings: what a person does to keep a memory right, in light and dark."""

from __future__ import annotations

import pytest

from memorist import Memory
from tests.inspector.conftest import Open
from tests.inspector.site import Site, Window

WAYS = pytest.mark.parametrize(("scheme", "by"), [("light", "mouse"), ("dark", "keyboard"), ("light", "touch")])


def test_the_review_queue_is_worked_through_by_keyboard(opened: Open, own_site: Site) -> None:
    window = opened(own_site, color_scheme="dark")
    page, press = window.page, window.page.keyboard.press
    window.go("#/overview")
    press("g")
    press("r")
    window.settle()
    rows = page.locator(".review > li")
    assert page.locator("h1").inner_text() == "2 memories are waiting for approval."
    assert rows.first.get_attribute("class") == "here"
    allergy_is_first = "allergic" in rows.first.inner_text()
    press("e")
    page.get_by_label("Sentence").fill("Inês said so herself.")
    press("Control+Enter")
    page.get_by_text("It is still waiting for approval").wait_for()
    page.get_by_text("Inês said so herself.").wait_for()
    for key, text in (("a", "Approved"), ("x", "Rejected")):
        press("Escape") if page.evaluate("document.activeElement.matches('input, textarea')") else None
        press(key)
        page.locator(".toast", has_text=text).wait_for()
        window.settle()
    page.get_by_text("No memories are waiting").wait_for()
    remembered = remembered_of(window, "user:ines")
    expected = ("latex", "Almada") if allergy_is_first else (None, "Braga")
    assert (remembered.get("allergy.latex"), remembered["location"]) == expected
    window.silent()


def test_a_decided_memory_leaves_the_queue_before_it_is_read_again(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go("#/review")
    page.route("**/v1/inspect/list", lambda route: None)  # which is never answered
    for remaining in (1, 0):
        page.keyboard.press("x")
        page.wait_for_function("left => document.querySelectorAll('.review > li').length === left", arg=remaining)
    assert page.locator(".toast", has_text="Rejected").count() == 2
    assert page.get_by_text("Changed meanwhile").count() == 0
    window.silent()


def test_escape_closes_the_editor_of_a_memory(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go("#/review")
    page.keyboard.press("e")
    page.get_by_label("Sentence").fill("Something else.")
    page.keyboard.press("Escape")
    page.get_by_label("Sentence").wait_for(state="detached")
    page.keyboard.press("j")
    assert page.locator(".review > li").nth(1).get_attribute("class") == "here"
    assert page.evaluate("location.hash") == "#/review"
    window.silent()


def test_an_approval_is_undone(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go("#/review?user=ines")
    before = remembered_of(window, "user:ines")
    page.get_by_role("button", name="Approve").first.click()
    page.locator(".toast", has_text="Approved").wait_for()
    assert remembered_of(window, "user:ines") != before
    window.undo()
    page.get_by_text("Undone").wait_for()
    assert remembered_of(window, "user:ines") == before
    window.silent()


def remembered_of(window: Window, ns: str) -> dict[str, object]:
    return {fact["key"]: fact["value"] for fact in window.ask("list", kind="facts", ns=ns)["items"]}


@WAYS
def test_a_plan_is_applied_and_undone_as_one_step(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go("#/tidy?user=joao")
    before = window.ask("list", kind="learnings", ns="user:joao")["items"]
    page.locator("h1", has_text="1 change: 1 to merge.").wait_for()
    assert "the same sentence" in page.locator("main").inner_text()
    window.use(page.get_by_role("button", name="Apply 1 change"))
    page.locator(".toast", has_text="1 change in one step").wait_for()
    page.locator("h1", has_text="Nothing to tidy up.").wait_for()
    assert len(active(window.ask("list", kind="learnings", ns="user:joao")["items"])) == len(active(before)) - 1
    window.use(page.get_by_role("button", name="Undo the changes of"))
    page.get_by_text("All memories are as they were before").wait_for()
    assert page.locator(".toast", has_text="1 change in one step").count() == 0
    page.locator("h1", has_text="1 change: 1 to merge.").wait_for()
    after = window.ask("list", kind="learnings", ns="user:joao")["items"]
    assert sorted(learning["content"] for learning in active(after)) == sorted(
        learning["content"] for learning in active(before)
    )
    window.silent()


def active(learnings: list[dict[str, str]]) -> list[dict[str, str]]:
    return [learning for learning in learnings if learning["status"] == "active"]


def test_the_cost_of_requests_names_what_broke_the_prefix(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    page = window.page
    window.go(f"#/thread?id={window.thread()}")
    page.get_by_role("link", name="Cost").click()
    window.settle()
    rows = page.get_by_role("table", name="Requests").locator("[data-row]")
    assert rows.count() == 2
    assert "the profile was changed" in rows.first.inner_text() and "$" in rows.first.inner_text()
    assert "first request" in rows.last.inner_text()
    window.silent()


def test_a_request_is_built_as_the_program_builds_it(opened: Open, own_site: Site) -> None:
    with Memory(str(own_site.path), worker=False) as memory:
        thread = memory.threads.list("user:ada", by="updated_at", reverse=True, limit=1)[0]
        context = memory.scope(user="ada").context(
            "When is the launch?", thread=thread.id, budget=3100, layout="standard"
        )
    window = opened(own_site)
    page = window.page
    window.go(f"#/context?thread={thread.id}&input=When+is+the+launch%3F")
    settings = page.locator(".settings").inner_text()
    assert "Built with the settings that your program used on" in settings and "except" not in settings
    request = window.ask("context", thread=thread.id, input="When is the launch?")
    assert (request["budget"], request["layout"]) == (3100, "standard")
    assert [item["text"] for item in request["memory"] if item["sent"]] == [item.text for item in context.memory_items]
    page.get_by_label("Policy").select_option("fifo")
    page.get_by_text("except policy, which you set here").wait_for()
    page.get_by_role("button", name="Use the program’s settings").click()
    page.wait_for_function("() => !document.querySelector('.settings').textContent.includes('except')")
    window.go("#/context?user=joao&input=Hello")
    assert "defaults of memory.context" in page.locator(".settings").inner_text()
    window.silent()


def test_trails_say_whose_record_changed_and_who_changed_it(opened: Open, own_site: Site) -> None:
    with Memory(str(own_site.path), worker=False, actor="assistant") as memory:
        memory.scope(user="mei").facts.set("user:mei", "desk", "B12")
    window = opened(own_site)
    for address in ("#/audit", "#/timeline", "#/overview"):
        window.go(address)
        row = window.page.locator("[data-row]", has_text="desk").first.inner_text()
        assert "assistant for mei" in row and "desk of mei" in row, row
    window.silent()


def test_the_tabs_of_a_user_show_their_own_trail_and_stay_visible(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site, viewport={"width": 390, "height": 844})
    page = window.page
    window.go("#/user?user=ada&tab=timeline")
    assert "talked in Launch and ward orders" in page.locator("main").inner_text()
    window.go("#/user?user=ada&tab=audit")
    trail = page.locator("main").inner_text()
    assert "talked in" not in trail and "summarised Launch and ward orders" in trail
    box = page.locator(".tabs [aria-current]").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    window.silent()


def test_the_dialog_closes_with_its_subject(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    page = window.page
    window.go("#/user?user=mei")
    window.go("#/user?user=ada")
    page.get_by_role("button", name="Forget this user").click()
    page.get_by_role("dialog").wait_for()
    page.go_back()
    window.settle()
    assert page.get_by_role("dialog").count() == 0
    window.silent()


def test_the_sheet_for_a_correction_closes_with_its_fact(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site, viewport={"width": 390, "height": 844})
    window.go("#/fact?ns=user:ada&key=role")
    window.go("#/fact?ns=user:ada&key=location")
    window.page.get_by_role("button", name="Correct", exact=True).click()
    window.page.get_by_role("dialog", name="Correct it").wait_for()
    window.page.go_back()
    window.settle()
    assert window.page.get_by_role("dialog").count() == 0
    window.silent()


@pytest.mark.parametrize("width", [390, 1440])
def test_an_empty_memory_says_what_to_do_first(opened: Open, tmp_path: object, width: int) -> None:
    site = Site(tmp_path / "empty.db", worker=False)  # type: ignore[operator]
    try:
        window = opened(site, viewport={"width": width, "height": 844})
        for page in (
            "overview", "context", "search", "facts", "threads", "events", "learnings", "documents", "tasks", "review",
            "tidy", "timeline", "audit", "users", "state", "records", "working", "costs",
        ):  # fmt: skip
            window.go(f"#/{page}")
            assert window.page.locator(".empty pre").count() == 1, page
        window.silent()
    finally:
        site.stop()


def test_sentences_keep_their_spaces(opened: Open, demo_site: Site) -> None:
    """htm drops the white space at the end of a line of a template."""
    window = opened(demo_site)
    window.go("#/overview")
    assert "The memory works. " in window.page.locator("h1").inner_text()
    window.go("#/fact?ns=user:ada&key=location")
    assert "from one source, shown below" in window.page.locator("main").inner_text()
    window.silent()


def test_compare_without_a_subject_says_where_to_begin(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    window.go(f"#/compare?thread={window.thread()}&input=Hello")
    window.page.locator("h1", has_text="differ in").wait_for()
    window.go("#/compare")
    assert window.page.locator("h1").inner_text() == "Whose requests?"
    window.silent()


def test_an_undo_stays_until_it_is_dismissed(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    page.clock.install()
    window.go("#/review?user=ines")
    page.get_by_role("button", name="Approve").first.click()
    page.get_by_role("button", name="Undo").wait_for()
    page.clock.run_for(60_000)
    assert page.get_by_role("button", name="Undo").count() == 1
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_role("button", name="Undo").wait_for(state="detached")
    window.silent()


def test_a_narrow_page_opens_the_correction_by_its_key(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site, viewport={"width": 390, "height": 844})
    window.go("#/fact?ns=user:ada&key=location")
    window.page.keyboard.press("e")
    window.page.get_by_role("dialog", name="Correct it").wait_for()
    window.silent()


def test_a_narrow_search_shows_its_whole_question(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site, viewport={"width": 390, "height": 844})
    window.go("#/search?q=when+is+the+launch%3F&user=ada")
    box = window.page.get_by_label("What to recall")
    assert box.evaluate("one => one.scrollWidth <= one.clientWidth")
    window.silent()

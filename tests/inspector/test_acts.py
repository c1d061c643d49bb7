"""What people do in the inspector: correct, reject, edit, restore, pin, reinforce, retry, make keys; and undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import Memory
from tests.inspector.conftest import Open
from tests.inspector.site import Site

FACT = "#/fact?ns=user:ada&key=location"
WAYS = pytest.mark.parametrize(("scheme", "by"), [("light", "mouse"), ("dark", "keyboard"), ("light", "touch")])

WIDE = pytest.mark.parametrize(("scheme", "by"), [("light", "mouse"), ("dark", "keyboard")])
"""On a small screen a fact's actions are docked below, and have a test of their own."""


@WIDE
def test_a_fact_is_rejected_edited_and_restored(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go(FACT)
    window.use(page.get_by_role("button", name="Reject as untrue"))
    page.get_by_text("rejected", exact=True).first.wait_for()
    window.undo()
    page.get_by_text("Undone").wait_for()
    page.get_by_text("active", exact=True).wait_for()
    assert window.ask("fact", ns="user:ada", key="location")["fact"]["confidence"] == 0.82
    window.use(page.get_by_role("button", name="It changed"))
    window.write(page.get_by_label("New value"), "Faro")
    window.use(page.get_by_role("button", name="Save as"))
    page.locator("h1", has_text="Faro").wait_for()
    window.use(page.get_by_role("button", name="Restore").nth(1))
    page.locator("h1", has_text="Porto").wait_for()
    window.silent()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_fact_is_corrected_and_rejected_on_a_small_screen(opened: Open, own_site: Site, scheme: str) -> None:
    window = opened(own_site, color_scheme=scheme, by="touch")
    page = window.page
    window.go(FACT)
    page.locator(".docked").get_by_role("button", name="Correct").click()
    sheet = page.get_by_role("dialog", name="Correct it")
    sheet.get_by_label("New value").fill("Faro")
    sheet.get_by_role("button", name="Save as").click()
    page.locator("h1", has_text="Faro").wait_for()
    assert sheet.count() == 0
    page.locator(".docked").get_by_role("button", name="Reject").click()
    page.get_by_text("rejected", exact=True).first.wait_for()
    window.undo()
    page.get_by_text("active", exact=True).wait_for()
    window.silent()


@WIDE
def test_what_changed_meanwhile_is_not_overwritten(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go(FACT)
    with Memory(str(own_site.path), worker=False) as memory:
        memory.facts.set("user:ada", "location", "Braga")
    window.write(page.get_by_label("New value"), "Lisbon")
    window.use(page.get_by_role("button", name="Save as"))
    page.get_by_text("Changed meanwhile to version 4").wait_for()
    assert page.get_by_label("New value").input_value() == "Lisbon"
    window.use(page.get_by_role("button", name="Look again"))
    page.locator("h1", has_text="Braga").wait_for()
    window.silent(but="412")


@WAYS
def test_learnings_move_jobs_are_retried_messages_are_pinned(
    opened: Open, own_site: Site, scheme: str, by: str
) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go("#/user?user=ada&tab=learnings")
    before = window.ask("user", user="ada")["learnings"][0]
    window.use(page.get_by_role("button", name="reinforce").first)
    page.get_by_text("Reinforced").wait_for()
    window.settle()
    after = next(learning for learning in window.ask("user", user="ada")["learnings"] if learning["id"] == before["id"])
    assert after["confidence"] > before["confidence"]
    thread = window.thread()
    window.go(f"#/thread?id={thread}&at=87")
    if by == "mouse":
        page.locator("#m87").hover()
    window.use(page.get_by_role("button", name="Pin #87"))
    page.get_by_text("Pinned. Every later request").wait_for()
    assert window.ask("thread", id=thread)["pinned"] == [87]
    window.go("#/jobs")
    assert page.locator("h1").inner_text() == "3 jobs have failed."
    window.use(page.get_by_role("button", name="Retry", exact=True).first)
    page.get_by_text("Retrying 1 message").wait_for()
    window.silent()


@WAYS
def test_a_learning_is_weakened_and_deleted(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go("#/learnings")
    before = window.ask("list", kind="learnings")["items"]
    row = page.locator(f"[data-row='{before[0]['id']}']")
    window.use(row.get_by_role("button", name="weaken"))
    page.get_by_text("Weakened").wait_for()
    window.settle()
    weaker = next(
        learning for learning in window.ask("list", kind="learnings")["items"] if learning["id"] == before[0]["id"]
    )
    assert weaker["confidence"] < before[0]["confidence"]
    window.undo()
    page.get_by_text("Undone").wait_for()
    window.use(row.get_by_role("button", name="delete"))
    page.get_by_text("The same words will not produce it again").wait_for()
    row.wait_for(state="detached")
    remaining = [learning["id"] for learning in window.ask("list", kind="learnings")["items"]]
    assert remaining == [learning["id"] for learning in before[1:]]
    window.silent()


@WAYS
def test_a_document_is_deleted(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    document = window.ask("list", kind="documents")["items"][0]
    window.go(f"#/document?ns={document['ns']}&id={document['id']}")
    window.use(page.get_by_role("button", name="Delete…"))
    window.use(page.get_by_role("dialog").get_by_role("button", name="Cancel"))
    window.use(page.get_by_role("button", name="Delete…"))
    window.use(page.get_by_role("dialog").get_by_role("button", name="Delete"))
    page.get_by_text("Deleted the document and its chunks").wait_for()
    page.locator("h1", has_text="Documents").wait_for()
    assert document["id"] not in [listed["id"] for listed in window.ask("list", kind="documents")["items"]]
    window.silent()


@WAYS
def test_a_fact_is_added_and_taken_back(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go("#/user?user=ada")
    window.use(page.get_by_role("button", name="Add a fact"))
    window.write(page.get_by_label("Key", exact=True), "badge.colour")
    window.write(page.get_by_label("Value", exact=True), "green")
    window.use(page.get_by_role("button", name="Save", exact=True))
    page.get_by_text("Saved badge.colour = green").wait_for()
    assert window.ask("fact", ns="user:ada", key="badge.colour")["fact"]["value"] == "green"
    window.write(page.get_by_label("Filter by key or value"), "BADGE")
    rows = page.get_by_role("table", name="Facts").locator("[data-row]")
    page.wait_for_function("() => document.querySelectorAll('[aria-label=Facts] [data-row]').length === 1")
    assert rows.get_by_role("link").inner_text() == "badge.colour"
    window.undo()
    page.get_by_text("Undone").wait_for()
    page.get_by_text("No key or value contains “BADGE”.").wait_for()
    window.use(page.get_by_role("button", name="Add a fact"))
    window.write(page.get_by_label("Key", exact=True), "location")
    window.write(page.get_by_label("Value", exact=True), "Faro")
    window.use(page.get_by_role("button", name="Save", exact=True))
    page.get_by_text("Changed meanwhile").wait_for()
    assert window.ask("fact", ns="user:ada", key="location")["fact"]["value"] == "Porto"
    window.silent(but="412")


@WAYS
def test_all_jobs_are_retried(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go("#/jobs")
    window.use(page.get_by_role("button", name="Retry all"))
    page.get_by_text("Retrying 3 messages").wait_for()
    window.go("#/overview")
    assert page.get_by_text("could be extracted from").count() == 0
    window.silent()


def test_a_folder_of_the_server_is_analysed(opened: Open, tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "chat.py").write_text("def trim(messages):\n    return messages[-20:]\n")
    site = Site(tmp_path / "own.db", worker=False, analyze=(folder,))
    try:
        window = opened(site)
        page = window.page
        window.go("#/analyser")
        page.get_by_role("button", name="Run: agent").click()
        page.get_by_role("link", name="Show the report").click()
        page.locator("h1", has_text="agent").wait_for()
        assert "1 files" in page.locator(".lead").inner_text()
        window.go("#/analyser")
        page.get_by_role("button", name="Run again: agent").wait_for()
        window.silent()
    finally:
        site.stop()


@WAYS
def test_a_key_is_made_shown_once_and_revoked(opened: Open, own_site: Site, scheme: str, by: str) -> None:
    window = opened(own_site, color_scheme=scheme, by=by)
    page = window.page
    window.go("#/keys")
    window.use(page.get_by_role("button", name="Create a key"))
    window.write(page.get_by_label("Note"), "for the desk")
    window.use(page.get_by_role("button", name="Create", exact=True))
    key = page.get_by_role("region", name="Key").inner_text()
    assert key.startswith("rk_")
    window.use(page.get_by_role("button", name="Done"))
    page.get_by_text("for the desk").wait_for()
    window.use(page.get_by_role("button", name="Revoke"))
    window.use(page.get_by_role("dialog").get_by_role("button", name="Revoke"))
    page.get_by_text("No keys yet").wait_for()
    window.silent()


def test_a_readers_key_sees_no_acts_and_no_others(opened: Open, own_site: Site) -> None:
    key = own_site.server.key(user="mei", roles=("reader",))
    window = opened(own_site, enter=False)
    page = window.page
    page.goto(own_site.url)
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("main h1")
    window.go("#/users")
    assert [row["user"] for row in window.ask("users")["items"]] == ["mei"]
    window.go("#/fact?ns=user:mei&key=shift.pattern")
    assert page.get_by_role("button", name="Reject").count() == 0
    assert page.get_by_text("Your key can only read.").count() == 1
    for view, options in (("user", {"user": "ada"}), ("fact", {"ns": "user:ada", "key": "location"}), ("audit", {})):
        assert window.ask(view, **options)["status"] in (403, 404)


def test_news_do_not_move_what_is_read(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go("#/users")
    before = page.locator("main").inner_text()
    page.wait_for_timeout(2500)  # what is written before the first event of the stream is no news to the page
    with Memory(str(own_site.path), worker=False) as memory:
        memory.facts.set("user:aaron", "location", "Rome")
        page.get_by_role("button", name="New changes").wait_for()
        assert page.locator("main").inner_text() == before
        page.keyboard.press("r")
        page.get_by_role("link", name="aaron").wait_for()
        assert page.get_by_role("button", name="New changes").count() == 0
        # State leaves no trace in the audit trail, and is news all the same.
        memory.state.set("counter", 1)
        page.get_by_role("button", name="New changes").wait_for()
        window.go("#/user?user=aaron")
        memory.facts.set("user:mei", "colour", "blue")
        memory.facts.set("user:aaron", "colour", "red")
        page.get_by_role("button", name="New changes").wait_for()
        page.keyboard.press("r")
        page.get_by_role("table", name="Facts").get_by_role("link", name="colour").wait_for()
    window.silent()


def test_news_reach_a_users_own_key_and_tell_of_nobody_else(opened: Open, own_site: Site) -> None:
    window = opened(own_site, enter=False)
    page = window.page
    page.goto(own_site.url)
    page.get_by_label("Key").fill(own_site.server.key(user="mei", roles=("reader",)))
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("main h1")
    window.go("#/working")
    page.evaluate(
        """() => { window.told = []; const news = new EventSource('v1/inspect/live');
        news.onmessage = event => window.told.push(...JSON.parse(event.data).changed); }"""
    )
    notices: list[list[str]] = []
    with Memory(str(own_site.path), worker=False) as memory:
        # A stream tells of what is written after it began, which takes it a moment.
        for n in range(60):
            memory.facts.set("user:ada", "colour", n)
            memory.facts.set("user:mei", "colour", n)
            page.wait_for_timeout(500)
            if notices := page.evaluate("window.told"):
                break
    assert notices and all(notice == ["fact", "user:mei"] for notice in notices)

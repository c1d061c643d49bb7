"""What people do in the inspector: correct, reject, edit, restore, pin, reinforce, retry, make keys; and undo."""

from __future__ import annotations

from recollect import Memory
from tests.inspector.conftest import Open
from tests.inspector.site import Site

FACT = "#/fact?ns=user:ada&key=location"


def test_a_fact_is_rejected_edited_and_restored(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go(FACT)
    page.get_by_role("button", name="Reject: not true").click()
    page.get_by_text("rejected", exact=True).first.wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone").wait_for()
    page.get_by_text("active", exact=True).wait_for()
    assert window.ask("fact", ns="user:ada", key="location")["fact"]["confidence"] == 0.62
    page.get_by_role("button", name="It changed").click()
    page.get_by_label("New value").fill("Faro")
    page.get_by_role("button", name="Save as").click()
    page.locator("h1", has_text="Faro").wait_for()
    page.get_by_role("button", name="Restore").nth(1).click()
    page.locator("h1", has_text="Porto").wait_for()
    window.silent()


def test_what_changed_meanwhile_is_not_overwritten(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go(FACT)
    with Memory(str(own_site.path), worker=False) as memory:
        memory.facts.set("user:ada", "location", "Braga")
    page.get_by_label("New value").fill("Lisbon")
    page.get_by_role("button", name="Save as").click()
    page.get_by_text("Changed meanwhile to version 4").wait_for()
    assert page.get_by_label("New value").input_value() == "Lisbon"
    page.get_by_role("button", name="Look again").click()
    page.locator("h1", has_text="Braga").wait_for()
    # The browser notes each answer that is no success; nothing else may be said.
    assert all("412" in said for said in window.console)


def test_learnings_move_jobs_are_retried_messages_are_pinned(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go("#/user?user=ada&tab=learnings")
    before = window.ask("user", user="ada")["learnings"][0]
    page.get_by_role("button", name="reinforce").first.click()
    page.get_by_text("Reinforced").wait_for()
    window.settle()
    after = next(one for one in window.ask("user", user="ada")["learnings"] if one["id"] == before["id"])
    assert after["confidence"] > before["confidence"]
    thread = window.thread()
    window.go(f"#/thread?id={thread}&at=87")
    page.locator("#m87").hover()
    page.get_by_role("button", name="Pin #87").click()
    page.get_by_text("Pinned: every later request").wait_for()
    assert window.ask("thread", id=thread)["pinned"] == [87]
    window.go("#/jobs")
    assert page.locator("h1").inner_text() == "3 jobs were given up."
    page.get_by_role("button", name="Retry", exact=True).first.click()
    page.get_by_text("1 message will be tried again").wait_for()
    window.silent()


def test_a_key_is_made_shown_once_and_revoked(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go("#/keys")
    page.get_by_role("button", name="Make a key").click()
    page.get_by_label("Note").fill("for the desk")
    page.get_by_role("button", name="Make it").click()
    key = page.get_by_role("region", name="Key").inner_text()
    assert key.startswith("rk_")
    page.get_by_role("button", name="I have it").click()
    page.get_by_text("for the desk").wait_for()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
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
    assert page.get_by_text("Your key may only read.").count() == 1
    for view, asked in (("user", {"user": "ada"}), ("fact", {"ns": "user:ada", "key": "location"}), ("audit", {})):
        assert window.ask(view, **asked)["status"] in (403, 404)


def test_news_do_not_move_what_is_read(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    window.go("#/users")
    before = page.locator("main").inner_text()
    with Memory(str(own_site.path), worker=False) as memory:
        memory.facts.set("user:aaron", "location", "Rome")
    page.get_by_role("button", name="Something new").wait_for()
    assert page.locator("main").inner_text() == before
    page.keyboard.press("r")
    page.get_by_role("link", name="aaron").wait_for()
    window.silent()

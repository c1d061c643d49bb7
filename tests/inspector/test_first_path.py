"""A new user's path: open the link, find the user, see why a fact is believed, correct it, see the request, forget."""

from __future__ import annotations

from tests.inspector.conftest import Open
from tests.inspector.site import Site


def test_the_first_path_by_mouse(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page = window.page
    page.get_by_role("button", name="Find").click()
    page.get_by_role("combobox").fill("ada")
    page.get_by_role("option").first.get_by_role("link").click()
    window.settle()
    assert page.locator("h1").inner_text() == "Ada Moreau"
    assert "Lives in Porto" in page.locator(".req").inner_text()
    page.get_by_role("link", name="location").first.click()
    window.settle()
    why = page.locator("#why").inner_text()
    assert "replaced a correction" in why and "I'm in Porto until Friday" in why
    page.get_by_label("New value").fill("Lisbon")
    page.get_by_label("Reason").fill("A trip, not a move")
    page.locator("ins.diffline").wait_for()
    assert page.locator("del.diffline").inner_text().startswith("- Lives in Porto (since ")
    assert page.locator("ins.diffline").inner_text() == "+ Lives in Lisbon"
    page.get_by_role("button", name="Save as version 4").click()
    page.locator(".toast", has_text="as version 4").wait_for()
    window.settle()
    assert page.locator("h1").inner_text() == "Lisbon"
    page.get_by_role("link", name="See the request").click()
    window.settle()
    page.get_by_text("The correction changes").wait_for()
    pairs = page.locator(".pairs").inner_text()
    assert "Lives in Porto" in pairs and "Lives in Lisbon" in pairs
    window.go("#/user?user=ada")
    page.get_by_role("button", name="Forget this user").click()
    button = page.get_by_role("button", name="Forget", exact=False).last
    page.get_by_label("Type ada to confirm").fill("ad")
    assert button.is_disabled()
    page.get_by_label("Type ada to confirm").fill("ada")
    assert button.inner_text().endswith(" rows")
    button.click()
    page.get_by_text("rows deleted").first.wait_for()
    assert page.locator("h1").inner_text().startswith("Forgot user")
    page_text = page.locator("main").inner_text()
    assert "Not searched: " in page_text and "Nothing was found" not in page_text, (
        "the files were not rewritten, so not searched"
    )
    matches = window.ask("find", text="ada")
    assert matches["users"] == [] and matches["facts"] == []
    window.silent(but="404")


def test_the_first_path_by_keyboard_alone(opened: Open, own_site: Site) -> None:
    window = opened(own_site)
    page, press = window.page, window.page.keyboard.press
    press("/")
    page.keyboard.type("ada lo")
    page.get_by_role("option", name="user:ada/location").wait_for()
    press("Enter")
    window.settle()
    assert page.locator("h1").inner_text() == "Ada Moreau"
    while page.evaluate("document.activeElement.dataset.row") != "location":
        press("j")
    press("Enter")
    window.settle()
    press("e")
    page.keyboard.type("Lisbon")
    press("Control+Enter")
    page.locator(".toast", has_text="as version 4").wait_for()
    window.settle()
    assert page.locator("h1").inner_text() == "Lisbon"
    press("z")
    page.get_by_text("Undone").wait_for()
    window.settle()
    assert page.locator("h1").inner_text() == "Porto"
    fact = window.ask("fact", ns="user:ada", key="location")["fact"]
    assert (fact["version"], fact["confidence"], fact["value"]) == (5, 0.82, "Porto")
    window.silent()


def test_keys_lead_everywhere_and_back(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    page, press = window.page, window.page.keyboard.press
    for key, heading in (("u", "Users"), ("l", "Learnings"), ("t", "Timeline"), ("u", "Users")):
        press("g")
        press(key)
        window.settle()
        assert page.locator("h1").inner_text() == heading
    press("j")
    press("j")
    press("k")
    press("j")
    row = page.evaluate("document.activeElement.dataset.row")
    press("Enter")
    window.settle()
    assert f"user={row}" in page.url
    press("Escape")
    window.settle()
    page.wait_for_function("row => document.activeElement.dataset.row === row", arg=row)
    press("?")
    assert page.get_by_role("dialog", name="Keyboard").is_visible()
    press("Escape")
    assert page.locator("dialog").count() == 0
    window.silent()

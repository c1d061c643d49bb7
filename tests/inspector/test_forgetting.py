"""Forgetting in the inspector: counts first, the name typed, then the report."""

from __future__ import annotations

import pytest

from tests.inspector.conftest import Open
from tests.inspector.site import Site

SCHEMES = ["light", "dark"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_thread_and_a_fact_are_forgotten(opened: Open, own_site: Site, scheme: str) -> None:
    window = opened(own_site, color_scheme=scheme)
    page = window.page
    thread = window.thread()
    window.go(f"#/thread?id={thread}")
    page.get_by_role("button", name="Forget this thread").click()
    page.get_by_label("Type Launch and ward orders to confirm").fill("Launch and ward orders")
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    page.get_by_text("rows deleted").first.wait_for()
    assert page.locator("h1").inner_text().startswith("Forgot thread")
    assert thread not in [row["id"] for row in window.ask("threads", user="ada")["items"]]
    assert window.ask("thread", id=thread)["status"] == 404
    before = {row["key"] for row in window.ask("facts", ns="user:ada")["items"]}
    window.go("#/fact?ns=user:ada&key=name")
    page.get_by_role("button", name="Forget").click()
    page.get_by_label("Type name to confirm").fill("name")
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    page.locator("h1", has_text="Forgot fact").wait_for()
    assert {row["key"] for row in window.ask("facts", ns="user:ada")["items"]} == before - {"name"}
    window.silent(but="404")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_user_is_forgotten_by_keyboard_alone(opened: Open, own_site: Site, scheme: str) -> None:
    window = opened(own_site, color_scheme=scheme, by="keyboard")
    page, press = window.page, window.page.keyboard.press
    press("/")
    page.keyboard.type("ada")
    page.get_by_role("option").first.wait_for()
    press("Enter")
    page.locator("h1", has_text="Ada Moreau").wait_for()
    window.settle()
    window.use(page.get_by_role("button", name="Forget this user"))
    page.get_by_label("Type ada to confirm").wait_for()
    page.wait_for_function("() => document.activeElement.id === 'confirm'")
    page.keyboard.type("ada")
    press("Enter")
    page.locator("h1", has_text="Forgot user").wait_for()
    assert window.ask("find", text="ada")["users"] == []
    window.silent(but="404")

"""The context viewer, search, and threads that are too long to show at once."""

from __future__ import annotations

from pathlib import Path

from memorist import Memory
from tests.inspector.conftest import Open
from tests.inspector.site import Site


def test_the_request_is_shown_as_it_is_sent(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    page = window.page
    thread = window.thread()
    options = "budget=6000&reserve=800&policy=elide:500%2Bwindow"
    window.go(f"#/context?thread={thread}&input=When+is+the+launch%3F&{options}")
    context = window.ask(
        "context", thread=thread, input="When is the launch?", budget=6000, reserve=800, policy="elide:500+window"
    )
    assert f"{context['tokens']:,} tokens" in page.locator("h1").inner_text()
    assert sum(section["tokens"] for section in context["sections"]) == context["tokens"]
    assert context["tokens"] + context["free"] + context["reserve"] == context["budget"]
    text = page.locator(".req").inner_text()
    assert "54 messages" in page.locator("h1").inner_text() and "54 of 90 messages" in text
    assert "folded" in text and "elided" in text and "Cache-stable prefix ends here" in text
    assert 0 < context["prefix"]["tokens"] < context["tokens"] and context["prefix"]["seq"] == 89
    for name, word in (("Anthropic", '"cache_control"'), ("OpenAI", '"messages"'), ("Text", "<user_profile")):
        page.get_by_role("button", name=name, exact=True).click()
        assert word in page.locator("pre.code").inner_text()
    page.get_by_role("button", name="Readable").click()
    page.get_by_role("button", name="Not sent", exact=True).click()
    assert page.locator(".req .st.kept").count() == 0
    window.silent()


def test_controls_change_the_request_and_the_address(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    page = window.page
    window.go(f"#/context?thread={window.thread()}")
    page.get_by_label("If ada says next").fill("Where do I live?")
    page.get_by_label("Policy").select_option("summarize")
    page.get_by_role("button", name="standard").click()
    for part in ("policy=summarize", "layout=standard", "Where+do+I+live"):
        page.wait_for_function("part => location.hash.includes(part)", arg=part)
    window.settle()
    assert "Where do I live?" in page.locator(".b-input").inner_text()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("Budget, or a model's name").fill("300")
    page.get_by_text("The required items do not fit into the budget", exact=True).wait_for()
    page.get_by_role("button", name="Budget ").last.click()
    page.get_by_text("The model receives").wait_for()
    window.silent()


def test_a_stored_thread_is_replayed_turn_by_turn(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    page = window.page
    thread = window.thread()
    window.go(f"#/context?thread={thread}&turn=87")
    assert "Turn #87" in page.locator(".replay").inner_text()
    assert "Lives in Lisbon" in page.locator(".b-profile").inner_text()
    assert "before:" not in page.locator(".b-profile").inner_text(), "nothing had replaced the correction then"
    page.get_by_role("button", name="Later").click()
    window.settle()
    assert "turn=89" in page.url
    page.get_by_text("Lives in Porto").wait_for()
    [line] = [row for row in page.locator(".b-profile [data-row]").all_inner_texts() if "Porto" in row]
    assert line.count("since") <= 1 and "before: Lisbon" in line
    before = window.ask("user", user="ada")["learnings"][0]["uses"]
    page.get_by_role("button", name="Leave the replay").click()
    window.settle()
    assert window.ask("user", user="ada")["learnings"][0]["uses"] == before
    window.silent()


def test_a_request_with_a_stored_summary_and_a_new_one_names_one_summary(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    thread = window.thread()
    options = {"thread": thread, "input": "When is the launch?", "budget": 1800, "policy": "summarize"}
    drawn = window.ask("context", **options)
    [summary] = [row for row in drawn["history"] if row["summary"]]
    kept_tokens = sum(row["tokens"] for row in drawn["history"] if row["state"] == "kept")
    [history] = [section for section in drawn["sections"] if section["name"] == "history"]
    assert summary["first"] == 1 and summary["count"] == summary["last"] == 86
    assert summary["tokens"] + kept_tokens == history["tokens"]
    window.go(f"#/context?thread={thread}&input=When+is+the+launch%3F&budget=1800&policy=summarize")
    assert "4 messages, 1 summary," in window.page.locator("h1").inner_text()
    window.silent()


def test_the_audit_page_filters_by_user(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    window.go("#/audit")
    window.page.get_by_label("User").fill("mei")
    window.page.get_by_label("User").press("Enter")
    window.settle()
    rows = window.page.locator("li.change .what").all_inner_texts()
    assert any("corrected shift.pattern of mei" in row for row in rows) and not any("of ada" in row for row in rows)
    window.silent()


def test_search_filters_and_says_why_not(opened: Open, demo_site: Site) -> None:
    window = opened(demo_site)
    page = window.page
    window.go("#/search?q=when+is+the+launch%3F&user=ada")
    assert page.locator(".hr[data-row]").count() == 8
    page.get_by_label("Kind").select_option("fact")
    window.settle()
    kinds = page.locator(".hr[data-row] p.small").all_inner_texts()
    assert kinds and all(text.startswith("fact") for text in kinds)
    page.get_by_role("button", name="show the sum").first.click()
    page.get_by_text("probability that it answers").wait_for()
    page.get_by_role("button", name="Why is it missing?").click()
    message = f"{window.thread('Launch plan')}#7"
    page.get_by_role("textbox", name="Id").fill(message)
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("The kind filter excludes it.").wait_for()
    page.get_by_role("textbox", name="Id").fill("user:ada/nothing")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("This user cannot read anything with this id").wait_for()
    window.silent()


def test_a_long_thread_is_never_drawn_whole(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "long.db"
    with Memory(str(path), worker=False, durability="normal", extract=None) as memory:
        thread = memory.threads.create("user:ada", title="Long").id
        for start in range(0, 3000, 500):
            memory.threads.append(thread, *({"role": "user", "content": f"n {n}"} for n in range(start, start + 500)))
    site = Site(path)
    try:
        window = opened(site)
        page = window.page
        window.go(f"#/thread?id={thread}")
        assert page.locator(".msg").count() <= 61
        for _ in range(8):
            page.get_by_role("button", name="earlier messages").click()
            window.settle()
        assert 61 < page.locator(".msg").count() <= 241
        page.locator(".ruler button").nth(30).click()
        window.settle()
        assert page.locator(".msg").count() <= 241
        assert "at=" in page.url
        window.silent()
    finally:
        site.stop()


def test_an_empty_memory_says_what_to_do(opened: Open, tmp_path: Path) -> None:
    site = Site(tmp_path / "empty.db")
    try:
        window = opened(site)
        for page in (
            "users",
            "learnings",
            "working",
            "documents",
            "state",
            "records",
            "tasks",
            "jobs",
            "keys",
            "analyser",
        ):
            window.go(f"#/{page}")
            assert window.page.locator(".empty .code").count() == 1, page
        window.silent()
    finally:
        site.stop()

"""Two versions of the package on one store: the next one has a column, a table and an index more."""

from __future__ import annotations

from tests.migrations.conftest import Run


def test_the_next_version_reads_what_this_one_wrote(run: Run) -> None:
    old = run("old")
    old("set", "tea", "green", {})
    old("set", "tea", "black", {"actor": "tool"})
    old("thread", "t")
    old("say", "t", "hello", {})
    old("put_state", "s", 1, {})
    old.close()
    new = run("new")
    fact = new("fact", "tea")
    assert (fact["value"], fact["lang"], fact["mood"], fact["version"]) == ("black", None, "calm", 2)
    assert [(version["value"], version["mood"]) for version in new("history", "tea")] == [("green", "calm")]
    assert [message["content"] for message in new("messages", "t")] == ["hello"]
    assert new("state", "s")["value"] == 1
    assert new("by_actor", "tool") == ["tea"] and new("by_made") == ["t"]
    assert new("problems") == []


def test_this_version_reads_and_keeps_what_the_next_one_wrote(run: Run) -> None:
    new = run("new")
    new("set", "tea", "green", {"lang": "en", "mood": "glad"})
    new("put_state", "s", 1, {"lang": "en"})
    new("thread", "t")
    new("say", "t", "hello", {"lang": "en"})
    new("note", "n", "red")
    old = run("old")
    assert old("fact", "tea")["value"] == "green"
    assert [message["content"] for message in old("messages", "t")] == ["hello"]
    assert [message["content"] for message in old("recent", "t")] == ["hello"]
    old("set", "tea", "black", {"actor": "tool"})
    old("count", "s")
    old("say", "t", "and again", {})
    old("thread", "t2")
    assert old("problems") == []
    fact = new("fact", "tea")
    assert (fact["value"], fact["lang"], fact["mood"], fact["version"]) == ("black", "en", "glad", 2)
    assert [(version["value"], version["lang"]) for version in new("history", "tea")] == [("green", "en")]
    assert [version["value"] for version in old("history", "tea")] == ["green"]
    state = new("state", "s")
    assert (state["value"], state["lang"]) == (2, "en")
    for process, languages in ((new, ["en", None]), (old, None)):
        assert [message["content"] for message in process("messages", "t")] == ["hello", "and again"]
        if languages:
            assert [message["lang"] for message in process("recent", "t")] == languages
    assert new("by_actor", "tool") == ["tea"], "written by a version that does not know the index"
    assert new("by_actor", "user") == []
    assert sorted(new("by_made")) == ["t", "t2"]
    assert new("notes", "red") == ["n"]
    assert new("problems") == []


def test_two_versions_at_once_lose_nothing(run: Run) -> None:
    old, new = run("old"), run("new")
    new("thread", "t")
    rounds = 25
    old.begin("storm", "old", rounds)
    new.begin("storm", "new", rounds)
    assert old.answer() == new.answer() == rounds
    for process in (old, new):
        assert process("state", "counter")["value"] == 2 * rounds
        messages = process("messages", "t")
        assert sorted(message["content"] for message in messages) == sorted(
            f"{me}{number}" for me in ("old", "new") for number in range(rounds)
        )
        assert [message["seq"] for message in messages] == list(range(1, 2 * rounds + 1))
        versions = [process("fact", f"hot{number}")["version"] for number in range(3)]
        history_lengths = [len(process("history", f"hot{number}")) for number in range(3)]
        assert sum(versions) == 2 * rounds and history_lengths == [version - 1 for version in versions]
        assert process("problems") == []
    langs = {message["content"]: message["lang"] for message in new("messages", "t")}
    assert all(lang == ("new" if content.startswith("new") else None) for content, lang in langs.items())
    assert all(new("fact", f"hot{number}")["mood"] == "new" for number in range(3))

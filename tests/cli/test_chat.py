"""Talking with memory on the command line: to the echo, and to a model over the wire."""

from __future__ import annotations

import pytest

from tests.models.wire_server import Reply, openai_stream, serving

from .conftest import Memorist


def test_the_echo_learns_remembers_explains_and_forgets(memorist: Memorist) -> None:
    typed = "\n".join(
        (
            "I live in Lisbon and my sister is called Mia.",
            "/why",
            "Where do I live?",
            "/context",
            "/forget location",
            "/facts",
            "/why location",
            "/nonsense",
            "/help",
            "/quit",
            "never read",
        )
    )
    ran = memorist("--user", "ada", "chat", input=typed)
    assert ran.code == 0
    lines = [line.strip() for line in ran.out.splitlines()]
    assert "learned location: Lisbon" in lines and "learned relation.sister.mia: Mia" in lines
    assert "location: from “I live in Lisbon and my sister is called Mia.”" in lines
    assert any(line.startswith("I remember: ") and "Lisbon" in line for line in lines)
    assert any("of 4,000 tokens" in line for line in lines)
    assert any(line.startswith("forgotten: ") and "1 facts" in line for line in lines)
    assert any(line.startswith("there is no command /nonsense") for line in lines) and "never read" not in ran.out
    facts = memorist("facts", "list", "user:ada", "--json").json()
    assert [fact["key"] for fact in facts] == ["relation.sister.mia"]


def test_a_talk_can_be_gone_on_with(memorist: Memorist) -> None:
    first = memorist("--user", "ada", "--json", "chat", input="My name is Ada.\n")
    thread = first.out.splitlines()[-1].split('"')[3]
    assert memorist("--user", "ada", "chat", "--thread", thread, input="Hello again.\n").code == 0
    assert [row["text"] for row in memorist("threads", "show", thread, "--json").json()][::2] == [
        "My name is Ada.",
        "Hello again.",
    ]
    assert memorist("--user", "ada", "chat", "--thread", "none", input="x\n").code == 1


def test_all_that_is_known_can_be_forgotten(memorist: Memorist) -> None:
    ran = memorist("--user", "ada", "chat", input="I live in Lisbon.\n/forget all\n/facts\n/forget\n")
    assert "I don't know anything about you yet" in ran.out and "/forget KEY forgets a fact" in ran.out


def test_a_model_is_asked_with_what_is_remembered(memorist: Memorist, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    memorist("facts", "set", "user:ada", "location", "Lisbon")
    with serving() as server:
        server.say(Reply(status=400, body={"error": {"message": "no"}}))
        server.say(Reply(pieces=openai_stream("You live ", "in Lisbon."), kind="text/event-stream"))
        model = f"openai:llama3@{server.url}/v1"
        question = "Where do I live?\n"
        ran = memorist("--user", "ada", "chat", "--model", model, "--system", "Be brief.", input=question + question)
        messages = server.requests[1]["messages"]
    assert ran.code == 0 and "You live in Lisbon." in ran.out and "this turn was not stored" in ran.out
    assert messages[0]["role"] == "system" and "Be brief." in messages[0]["content"]
    assert "Lisbon" in str(messages) and messages[-1]["content"].endswith("Where do I live?")


def test_the_model_may_be_named_before_the_command(memorist: Memorist, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serving() as server:
        server.say(Reply(pieces=openai_stream("Porto."), kind="text/event-stream"))
        ran = memorist("--model", f"openai:llama3@{server.url}/v1", "--user", "ada", "chat", input="Where do I live?\n")
    assert "Porto." in ran.out and "an echo" not in ran.err + ran.out


def test_a_model_without_its_provider_is_refused(memorist: Memorist) -> None:
    ran = memorist("chat", "--model", "nobody:gpt", input="x\n")
    assert ran.code == 2 and "unknown model provider" in ran.err


def test_a_model_that_answers_nothing_is_named(memorist: Memorist, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with serving() as server:
        server.say(Reply(pieces=openai_stream(), kind="text/event-stream"))
        server.say(Reply(pieces=openai_stream("Hello."), kind="text/event-stream"))
        model = f"openai:llama3@{server.url}/v1"
        ran = memorist("--user", "ada", "chat", "--model", model, input="I live in Lisbon.\nAre you there?\n")
        messages = server.requests[1]["messages"]
    assert ran.code == 0 and "llama3 sent an empty answer; your message is stored" in ran.out
    assert "(no answer)" not in str(messages) and "I live in Lisbon." in str(messages)

"""Messages in, in any shape."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memorist import InvalidValue, Message, ToolCall, ToolResult, UsageError
from memorist.messages.message import as_message, message_id, parse_arguments, text_of
from memorist_testing.suite.threads import WIRE


def test_text_alone_is_a_users_message() -> None:
    assert as_message("hi") == Message(role="user", content="hi")


@pytest.mark.parametrize("shape", WIRE)
def test_a_message_comes_out_in_the_shape_it_went_in(shape: str) -> None:
    for wire in WIRE[shape]:
        message = as_message(wire)
        written = {"openai": message.openai, "responses": message.responses}
        assert (written[shape]() if shape in written else [message.anthropic()]) == [wire]


def test_fields_nobody_knows_are_kept() -> None:
    wire = {"role": "user", "content": "x", "x_new": {"a": [1]}, "seq": 5, "org": "mine"}
    assert as_message(wire).extra == {"x_new": {"a": [1]}, "seq": 5, "org": "mine"}
    assert as_message(wire).openai() == [wire]


def test_a_missing_content_stays_missing() -> None:
    assert "content" not in as_message({"role": "assistant", "tool_calls": []}).openai()[0]
    assert as_message({"role": "assistant", "content": None}).openai() == [{"role": "assistant", "content": None}]


@pytest.mark.parametrize(
    "bad",
    [
        5, None, [], {"content": "x"}, {"role": "robot"}, {"role": "user", "content": 5},
        {"role": "user", "content": {"a": 1}},
        {"role": "user", "content": "x", "name": ""}, {"role": "user", "content": "x", "pinned": 1},
        {"role": "user", "content": "x", "trust": "me"},
        {"role": "user", "content": "x", "importance": "high"}, {"role": "user", "content": "x", "metadata": [1]},
        {"role": "user", "content": "x", "created_at": "now"},
    ],
    ids=ascii,
)  # fmt: skip
def test_a_bad_message_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidValue):
        as_message(bad)


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(UsageError):
        as_message({"role": "user", "content": "x", "created_at": datetime(2030, 1, 1)})
    assert as_message({"role": "user", "content": "x", "created_at": datetime(2030, 1, 1, tzinfo=UTC)}).created_at


def test_tool_calls_are_read_in_either_shape() -> None:
    openai, anthropic = map(as_message, [WIRE["openai"][4], WIRE["anthropic"][1]])
    assert openai.tool_calls == [ToolCall("c1", "look", {"at": "sky"})]
    assert anthropic.tool_calls == [ToolCall("u1", "look", {"at": "sky"})]
    custom = {"id": "c", "type": "custom", "custom": {"name": "run", "input": "ls"}}
    assert as_message({"role": "assistant", "tool_calls": [custom]}).tool_calls == [ToolCall("c", "run", "ls")]


def test_tool_results_are_read_in_either_shape() -> None:
    openai, anthropic = map(as_message, [WIRE["openai"][6], WIRE["anthropic"][2]])
    assert openai.tool_results == [ToolResult("c1", "blue")]
    assert [(result.id, result.is_error) for result in anthropic.tool_results] == [("u1", True)]


@pytest.mark.parametrize("raw", ["{broken", "NaN", "[" * 100_000, ""], ids=lambda raw: raw[:5])
def test_arguments_that_do_not_parse_stay_text(raw: str) -> None:
    assert parse_arguments(raw) == raw


def test_the_text_is_what_a_reader_would_see() -> None:
    assert text_of("x") == "x"
    assert text_of(None) == ""
    assert text_of([{"type": "text", "text": "a"}, {"type": "image"}, "b", 5]) == "a\nb"
    assert as_message(WIRE["anthropic"][1]).text == "Let me look."


def test_trust_follows_the_role_unless_stated() -> None:
    trust_by_role = {
        role: as_message({"role": role, "content": "x"}).trust_level for role in ("user", "assistant", "tool", "system")
    }
    assert trust_by_role == {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
    assert as_message({"role": "user", "content": "x", "trust": "web"}).trust_level == "web"


@pytest.mark.parametrize(
    ("part", "trust"),
    [
        ({"type": "tool_result", "tool_use_id": "t", "content": "x"}, "tool"),
        ({"type": "search_result", "source": "s", "title": "t", "content": [], "text": "x"}, "tool"),
        ({"type": "text", "text": "x"}, "user"),
        ({"type": "image_url", "image_url": {"url": "http://x.example/a.png"}}, "user"),
    ],
)
def test_a_message_is_trusted_as_far_as_its_least_trusted_part(part: dict[str, Any], trust: str) -> None:
    message = Message(role="user", content=[part, {"type": "text", "text": "Mine."}])
    assert (message.trust_level, message.author_trust) == (trust, "user")


def test_a_message_id_names_thread_and_place() -> None:
    assert message_id("a#b#12") == ("a#b", 12)
    for bad in ("", "a", "a#", "#1", "a#x", "a#-1", "a#1.5", "a#\u0663", "a#" + "9" * 19):
        with pytest.raises(UsageError):
            message_id(bad)

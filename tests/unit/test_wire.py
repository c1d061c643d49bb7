"""From one wire shape to the other."""

import json

from memorist.messages.message import as_message
from memorist_testing.suite.threads import CALL, WIRE


def test_a_tool_call_becomes_a_tool_use() -> None:
    wire = as_message({"role": "assistant", "content": "Looking.", "tool_calls": [CALL]}).anthropic()
    assert wire == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sky"}},
        ],
    }


def test_a_custom_tool_call_keeps_its_input() -> None:
    call = {"id": "c", "type": "custom", "custom": {"name": "run", "input": "ls -l"}}
    [block] = as_message({"role": "assistant", "tool_calls": [call]}).anthropic()["content"]
    assert (block["name"], block["input"]) == ("run", {"arguments": "ls -l"})


def test_a_tool_message_becomes_a_tool_result() -> None:
    wire = as_message({"role": "tool", "tool_call_id": "c1", "content": "blue"}).anthropic()
    assert wire == {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "blue"}]}


def test_a_tool_use_becomes_a_tool_call() -> None:
    wire = as_message(WIRE["anthropic"][1]).openai()[0]
    assert wire["content"] == "Let me look."
    assert wire["reasoning_content"] == "hm"
    [call] = wire["tool_calls"]
    assert (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "u1",
        "look",
        {"at": "sky"},
    )


def test_several_tool_results_become_several_messages() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": f"u{n}", "content": f"r{n}"} for n in (1, 2)]
    wires = as_message({"role": "user", "content": [*blocks, {"type": "text", "text": "go on"}]}).openai()
    assert [(item["role"], item["content"]) for item in wires] == [("tool", "r1"), ("tool", "r2"), ("user", "go on")]
    assert [item.get("tool_call_id") for item in wires] == ["u1", "u2", None]


def test_an_image_survives_there_and_back() -> None:
    for url in ("https://x/y.png", "data:image/png;base64,AAAA"):
        original = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
        wire = as_message(original).anthropic()
        assert wire["content"][0]["type"] == "image"
        assert as_message(wire).openai()[0]["content"] == original["content"]


def test_a_speaker_stays_readable_where_there_are_no_names() -> None:
    assert as_message({"role": "user", "content": "hi", "name": "ada"}).anthropic()["content"] == "ada: hi"


def test_broken_arguments_are_carried_along() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{broken"}}
    [block] = as_message({"role": "assistant", "tool_calls": [call]}).anthropic()["content"]
    assert block["input"] == {"arguments": "{broken"}

"""Wrapped OpenAI and Anthropic clients against a local server that speaks the providers' protocols."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

import memorist
from memorist import Memory, UsageError
from memorist.context.tokens import open_counter
from tests.models.wire_server import (
    Reply,
    WireServer,
    anthropic_answer,
    anthropic_stream,
    openai_answer,
    openai_stream,
    serving,
)

pytestmark = pytest.mark.filterwarnings("ignore::memorist.stores.opening.NothingLasts")
QUESTION = "Which restaurant do you suggest?"
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with serving() as wire:
        yield wire


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory("memory://") as opened:
        opened.remember("I am allergic to shellfish.", user="ada")
        opened.remember("I am allergic to peanuts.", user="bob")
        yield opened


def openai_client(server: WireServer, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0, **options)


def anthropic_client(server: WireServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0)


def stored(memory: Memory, user: str = "ada") -> list[tuple[str, str]]:
    threads = [thread for thread in memory.threads.list(f"user:{user}") if thread.id.startswith("wrapped/")]
    return [(message.role, message.text) for thread in threads for message in memory.threads.messages(thread.id)]


def events(*bodies: dict[str, Any]) -> list[bytes]:
    return [f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode() for body in bodies]


def response_body(text: str, *more: dict[str, Any]) -> dict[str, Any]:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed",
        "output": [*([message] if text else []), *more], "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [],
    }  # fmt: skip


def test_a_chat_completion_gets_memory_and_is_stored(server: WireServer, memory: Memory) -> None:
    server.say(Reply(openai_answer("A vegetarian one.")))
    client = memorist.wrap(openai_client(server), memory, user="ada")
    assert isinstance(client, openai.OpenAI)
    system: Any = {"role": "system", "content": "Be kind."}
    answer = client.chat.completions.create(
        model="llama3", messages=[system, {"role": "user", "content": QUESTION}], temperature=0.5
    )
    assert answer.choices[0].message.content == "A vegetarian one." and answer.usage is not None
    request = server.requests[0]
    assert request["messages"][0] == system and request["temperature"] == 0.5
    content = request["messages"][1]["content"]
    assert content.endswith(QUESTION) and "shellfish" in content and "peanuts" not in content
    assert stored(memory) == [("user", QUESTION), ("assistant", "A vegetarian one.")]
    assert stored(memory, "bob") == []


def test_memory_stays_within_its_budget(server: WireServer, memory: Memory) -> None:
    for number in range(60):
        memory.remember(f"I like restaurant number {number} near the old harbour very much.", user="ada")
    server.say(Reply(openai_answer("Fine.")))
    client = memorist.wrap(openai_client(server), memory, user="ada", budget=300)
    client.chat.completions.create(model="llama3", messages=[{"role": "user", "content": QUESTION}])
    added = server.requests[0]["messages"][0]["content"].removesuffix(QUESTION)
    assert 0 < open_counter().count(added) <= 300


def test_a_stream_passes_chunk_by_chunk(server: WireServer, memory: Memory) -> None:
    server.say(Reply(pieces=openai_stream("A ", "green ", "one."), kind="text/event-stream"))
    server.say(Reply(pieces=openai_stream("A ", "green ", "one."), kind="text/event-stream"))
    arguments: Any = {"model": "llama3", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    plain = list(openai_client(server).chat.completions.create(**arguments))
    wrapped = list(memorist.wrap(openai_client(server), memory, user="ada").chat.completions.create(**arguments))
    assert wrapped == plain and [type(chunk) for chunk in wrapped] == [type(chunk) for chunk in plain]
    assert stored(memory) == [("user", QUESTION), ("assistant", "A green one.")]


def test_a_stream_that_the_caller_leaves_stores_what_came(server: WireServer, memory: Memory) -> None:
    server.say(Reply(pieces=openai_stream("A ", "green ", "one."), kind="text/event-stream"))
    client = memorist.wrap(openai_client(server), memory, user="ada")
    with client.chat.completions.create(
        model="llama3", messages=[{"role": "user", "content": QUESTION}], stream=True
    ) as stream:
        next(iter(stream))
    assert stored(memory)[0] == ("user", QUESTION)


def test_tools_are_called_with_the_same_memory_and_stored_once(server: WireServer, memory: Memory) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    first = openai_answer(None, stop="tool_calls")
    first["choices"][0]["message"]["tool_calls"] = [call]
    server.say(Reply(first), Reply(openai_answer("Sit outside.")))
    client = memorist.wrap(openai_client(server), memory, user="ada")
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    answer = client.chat.completions.create(model="llama3", messages=messages, tools=[TOOL])  # type: ignore[list-item]
    message = answer.choices[0].message
    assert message.tool_calls is not None and message.tool_calls[0].id == "call_1"
    messages += [message, {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}]
    client.chat.completions.create(model="llama3", messages=messages, tools=[TOOL])  # type: ignore[list-item]
    assert server.requests[0]["messages"][0] == server.requests[1]["messages"][0]
    assert server.requests[1]["messages"][2] == {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}
    assert [role for role, _ in stored(memory)] == ["user", "assistant", "tool", "assistant"]


def test_a_conversation_goes_on_in_its_thread(server: WireServer, memory: Memory) -> None:
    server.say(Reply(openai_answer("One.")), Reply(openai_answer("Two.")), Reply(openai_answer("Two.")))
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    client = memorist.wrap(openai_client(server), memory, user="ada")
    client.chat.completions.create(model="llama3", messages=messages)
    messages += [{"role": "assistant", "content": "One."}, {"role": "user", "content": "Another one?"}]
    client.chat.completions.create(model="llama3", messages=messages)
    # A retry after a lost answer stores nothing twice.
    client.chat.completions.create(model="llama3", messages=messages)
    assert [text for _, text in stored(memory)] == [QUESTION, "One.", "Another one?", "Two."]


class City(BaseModel):
    name: str


def test_helpers_of_the_sdk_work(server: WireServer, memory: Memory) -> None:
    server.say(Reply(openai_answer('{"name": "Porto"}')), Reply(openai_answer("Raw.")))
    client = memorist.wrap(openai_client(server), memory, user="ada")
    messages: Any = [{"role": "user", "content": "Which city?"}]
    parsed = client.chat.completions.parse(model="llama3", messages=messages, response_format=City)
    assert parsed.choices[0].message.parsed == City(name="Porto")
    raw = client.chat.completions.with_raw_response.create(model="llama3", messages=messages)
    assert raw.status_code == 200 and raw.parse().choices[0].message.content == "Raw."


def test_responses_and_their_streams(server: WireServer, memory: Memory) -> None:
    response = response_body("A green one.")
    delta = {
        "type": "response.output_text.delta", "delta": "A green one.", "item_id": "msg_1", "output_index": 0,
        "content_index": 0, "sequence_number": 1, "logprobs": [],
    }  # fmt: skip
    completed = {"type": "response.completed", "response": response, "sequence_number": 2}
    server.say(Reply(response), Reply(pieces=events(delta, completed), kind="text/event-stream"))
    client = memorist.wrap(openai_client(server), memory, user="ada")
    assert client.responses.create(model="gpt-5", input=QUESTION).output_text == "A green one."
    assert "shellfish" in server.requests[0]["input"] and server.requests[0]["input"].endswith(QUESTION)
    content: Any = [{"role": "user", "content": [{"type": "input_text", "text": "And what to drink?"}]}]
    types = [event.type for event in client.responses.create(model="gpt-5", input=content, stream=True)]
    assert types == ["response.output_text.delta", "response.completed"]
    parts = server.requests[1]["input"][0]["content"]
    assert [part["type"] for part in parts] == ["input_text", "input_text"] and "shellfish" in parts[0]["text"]
    assert sorted(stored(memory)) == sorted(
        [
            ("user", QUESTION),
            ("assistant", "A green one."),
            ("user", "And what to drink?"),
            ("assistant", "A green one."),
        ]
    )


def test_anthropic_messages_streams_and_tools(server: WireServer, memory: Memory) -> None:
    use = anthropic_answer("Let me look.", data={"city": "Porto"}, stop="tool_use")
    server.say(Reply(use), Reply(pieces=anthropic_stream("Sit ", "outside."), kind="text/event-stream"))
    client = memorist.wrap(anthropic_client(server), memory, user="ada")
    assert isinstance(client, anthropic.Anthropic)
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    common: Any = {"model": "claude-haiku-4-5", "max_tokens": 100, "system": "Be kind."}
    answer = client.messages.create(messages=messages, **common)
    assert answer.stop_reason == "tool_use" and answer.usage.input_tokens == 11
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}
    messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": [result]}]
    with client.messages.stream(messages=messages, **common) as stream:
        assert "".join(stream.text_stream) == "Sit outside."
    assert server.requests[0]["system"] == "Be kind." and "shellfish" in server.requests[0]["messages"][0]["content"]
    assert server.requests[1]["messages"][0] == server.requests[0]["messages"][0]
    assert server.requests[1]["messages"][2]["content"] == [result]
    assert [role for role, _ in stored(memory)] == ["user", "assistant", "user", "assistant"]
    assert stored(memory)[-1] == ("assistant", "Sit outside.")


def test_async_clients(server: WireServer, memory: Memory) -> None:
    server.say(
        Reply(openai_answer("One.")),
        Reply(pieces=openai_stream("Two", "."), kind="text/event-stream"),
        Reply(pieces=anthropic_stream("Three", "."), kind="text/event-stream"),
    )

    async def main() -> None:
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as plain:
            client = memorist.wrap(plain, memory, user="ada")
            answer = await client.chat.completions.create(
                model="llama3", messages=[{"role": "user", "content": QUESTION}]
            )
            assert answer.choices[0].message.content == "One."
            stream = await client.chat.completions.create(
                model="llama3", messages=[{"role": "user", "content": "And then?"}], stream=True
            )
            assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == "Two."
        async with anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as other:
            claude = memorist.wrap(other, memory, user="ada")
            async with claude.messages.stream(
                model="claude-haiku-4-5", max_tokens=10, messages=[{"role": "user", "content": "And now?"}]
            ) as events:
                assert "".join([text async for text in events.text_stream]) == "Three."

    asyncio.run(main())
    assert "shellfish" in json.dumps(server.requests[0])
    assert sorted(text for role, text in stored(memory) if role == "assistant") == ["One.", "Three.", "Two."]


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, openai.AuthenticationError), (429, openai.RateLimitError), (400, openai.BadRequestError)],
)
def test_errors_of_the_provider_are_the_sdks(
    server: WireServer, memory: Memory, status: int, error: type[Exception]
) -> None:
    server.say(Reply({"error": {"message": "no", "type": "x", "code": "y"}}, status=status))
    client = memorist.wrap(openai_client(server), memory, user="ada")
    with pytest.raises(error, match="no"):
        client.chat.completions.create(model="llama3", messages=[{"role": "user", "content": QUESTION}])
    assert stored(memory) == []


def test_a_memory_that_fails_does_not_fail_the_call(
    server: WireServer, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    server.say(Reply(openai_answer("Fine.")))
    client = memorist.wrap(openai_client(server), memory, user="ada")
    memory.close()
    with caplog.at_level(logging.WARNING, "memorist.wrap"):
        answer = client.chat.completions.create(model="llama3", messages=[{"role": "user", "content": QUESTION}])
    assert answer.choices[0].message.content == "Fine."
    assert server.requests[0]["messages"] == [{"role": "user", "content": QUESTION}]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the request is sent without memory", "a turn was not stored"
    ]  # fmt: skip


def test_other_requests_are_left_alone(server: WireServer, memory: Memory) -> None:
    vector = {"object": "embedding", "index": 0, "embedding": [0.5]}
    server.say(
        Reply({"object": "list", "data": [vector], "model": "e", "usage": {"prompt_tokens": 1, "total_tokens": 1}})
    )
    client = memorist.wrap(openai_client(server), memory, user="ada")
    body: Callable[..., Any] = client.embeddings.create
    assert body(model="e", input="Where is the harbour?", encoding_format="float").data[0].embedding == [0.5]
    assert server.requests == [{"input": "Where is the harbour?", "model": "e", "encoding_format": "float"}]


def test_what_cannot_be_wrapped_is_refused(server: WireServer, memory: Memory) -> None:
    with pytest.raises(UsageError, match="openai or anthropic"):
        memorist.wrap(object(), memory, user="ada")
    with pytest.raises(UsageError, match="name the user"):
        memorist.wrap(openai_client(server), memory)


def test_the_callers_own_http_client_is_used(server: WireServer, memory: Memory) -> None:
    server.say(Reply(openai_answer("Fine.")))
    own = openai.DefaultHttpxClient(headers={"x-team": "blue"})
    client = memorist.wrap(openai_client(server, http_client=own), memory, user="ada", http_client=own)
    client.chat.completions.create(model="llama3", messages=[{"role": "user", "content": QUESTION}])
    assert "shellfish" in json.dumps(server.requests[0])

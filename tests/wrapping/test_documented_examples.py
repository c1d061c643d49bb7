"""The examples that the SDKs' own documentation shows, with a plain and with a wrapped client: the same comes out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import memorist
from memorist import Memory
from tests.models.wire_server import (
    Reply,
    WireServer,
    anthropic_answer,
    anthropic_stream,
    openai_answer,
    openai_stream,
    serving,
)
from tests.wrapping.test_wrap import events, response_body

pytestmark = pytest.mark.filterwarnings("ignore::memorist.stores.opening.NothingLasts")
QUESTION = "Which restaurant do you suggest?"
ANSWER = "A vegetarian one."
RESPONSE_EVENTS = events(
    {"type": "response.created", "sequence_number": 0, "response": {**response_body(""), "status": "in_progress"}},
    {"type": "response.output_text.delta", "sequence_number": 1, "item_id": "m", "output_index": 0, "content_index": 0,
     "delta": ANSWER, "logprobs": []},
    {"type": "response.completed", "sequence_number": 2, "response": response_body(ANSWER)},
)  # fmt: skip


class Provider(WireServer):
    """Answers as the providers do, by path and by whether a stream was asked for."""

    def reply(self, path: str) -> Reply:
        streams = bool(self.requests[-1].get("stream"))
        if path.endswith("/chat/completions"):
            return Reply(pieces=openai_stream(*ANSWER.split(" ")), kind="text/event-stream") if streams else Reply(
                openai_answer(ANSWER)
            )  # fmt: skip
        if path.endswith("/responses"):
            return Reply(pieces=RESPONSE_EVENTS, kind="text/event-stream") if streams else Reply(response_body(ANSWER))
        if path.partition("?")[0].endswith("/messages"):
            return Reply(pieces=anthropic_stream(*ANSWER.split(" ")), kind="text/event-stream") if streams else Reply(
                anthropic_answer(ANSWER)
            )  # fmt: skip
        if "limited" in path:
            return Reply({"error": {"message": "slow down", "type": "rate_limit_error"}}, status=429)
        if path.endswith("/count_tokens"):
            return Reply({"input_tokens": 9})
        if path.endswith("/files"):
            return Reply({"id": "file-1", "object": "file", "bytes": 2, "created_at": 1, "filename": "input.jsonl",
                          "purpose": "fine-tune", "status": "processed"})  # fmt: skip
        return Reply({"object": "list", "data": [{"id": "job-1", "object": "fine_tuning.job"}], "has_more": False})


@pytest.fixture
def provider() -> Iterator[Provider]:
    wire = Provider()
    with serving(wire):
        yield wire


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory("memory://") as opened:
        opened.remember("I am allergic to shellfish.", user="ada")
        yield opened


# OpenAI's README


def respond(client: openai.OpenAI) -> Any:
    response = client.responses.create(
        model="gpt-5.2", instructions="You are a coding assistant that talks like a pirate.", input=QUESTION
    )
    return response.output_text, response.to_dict()


def complete(client: openai.OpenAI) -> Any:
    completion = client.chat.completions.create(
        model="gpt-5.2",
        messages=[{"role": "developer", "content": "Talk like a pirate."}, {"role": "user", "content": QUESTION}],
    )
    return completion.choices[0].message.content, completion.to_dict()


def look(client: openai.OpenAI) -> Any:
    response = client.responses.create(
        model="gpt-5.2",
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": QUESTION},
                    {"type": "input_image", "image_url": "https://example.com/menu.jpg", "detail": "auto"},
                ],
            }
        ],
    )
    return response.to_dict()


def stream_response(client: openai.OpenAI) -> Any:
    stream = client.responses.create(model="gpt-5.2", input=QUESTION, stream=True)
    return [event.to_dict() for event in stream]


def stream_completion(client: openai.OpenAI) -> Any:
    stream = client.chat.completions.create(
        model="gpt-5.2", messages=[{"role": "user", "content": QUESTION}], stream=True
    )
    return [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]


def configure(client: openai.OpenAI) -> Any:
    limited = client.with_options(max_retries=5, timeout=5.0)
    completion = limited.chat.completions.create(model="gpt-5.2", messages=[{"role": "user", "content": QUESTION}])
    return completion.to_dict()


def read_raw(client: openai.OpenAI) -> Any:
    response = client.chat.completions.with_raw_response.create(
        model="gpt-5.2", messages=[{"role": "user", "content": QUESTION}]
    )
    return response.headers.get("content-type"), response.parse().choices[0].message.content


def read_raw_stream(client: openai.OpenAI) -> Any:
    with client.chat.completions.with_streaming_response.create(
        model="gpt-5.2", messages=[{"role": "user", "content": QUESTION}]
    ) as response:
        return list(response.iter_lines())


def page(client: openai.OpenAI) -> Any:
    return [job.id for job in client.fine_tuning.jobs.list(limit=20)]


def upload(client: openai.OpenAI) -> Any:
    return client.files.create(file=Path(__file__), purpose="fine-tune").to_dict()


def post_elsewhere(client: openai.OpenAI) -> Any:
    return client.post("/foo", cast_to=dict[str, Any], body={"my_param": True})


def handle_errors(client: openai.OpenAI) -> Any:
    try:
        client.post("/limited", cast_to=dict[str, Any], body={})
    except openai.RateLimitError as error:
        return error.status_code, str(error)
    return None


OPENAI = (respond, complete, look, stream_response, stream_completion, configure, read_raw, read_raw_stream)
OPENAI_OTHERS = (page, upload, post_elsewhere, handle_errors)


@pytest.mark.parametrize("example", [*OPENAI, *OPENAI_OTHERS], ids=lambda example: example.__name__)
def test_openais_examples(provider: Provider, memory: Memory, example: Callable[[openai.OpenAI], Any]) -> None:
    plain = openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0)
    _compare(provider, memory, plain, example, is_turn=example in OPENAI)


async def respond_async(client: openai.AsyncOpenAI) -> Any:
    return (await client.responses.create(model="gpt-5.2", input=QUESTION)).to_dict()


async def stream_response_async(client: openai.AsyncOpenAI) -> Any:
    stream = await client.responses.create(model="gpt-5.2", input=QUESTION, stream=True)
    return [event.to_dict() async for event in stream]


async def complete_async(client: openai.AsyncOpenAI) -> Any:
    completion = await client.chat.completions.create(model="gpt-5.2", messages=[{"role": "user", "content": QUESTION}])
    return completion.to_dict()


async def stream_completion_async(client: openai.AsyncOpenAI) -> Any:
    stream = await client.chat.completions.create(
        model="gpt-5.2", messages=[{"role": "user", "content": QUESTION}], stream=True
    )
    return [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]


OPENAI_ASYNC = (respond_async, stream_response_async, complete_async, stream_completion_async)


@pytest.mark.parametrize("example", OPENAI_ASYNC, ids=lambda example: example.__name__)
def test_openais_async_examples(provider: Provider, memory: Memory, example: Callable[[Any], Any]) -> None:
    async def run() -> None:
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0) as plain:
            expected = await example(plain)
            wrapped = memorist.wrap(plain, memory.aio, user="ada")
            assert await example(wrapped) == expected
            await wrapped.close()

    asyncio.run(run())
    _check_turn(provider, memory)


# Anthropic's README

MESSAGES: Any = [{"role": "user", "content": QUESTION}]


def send(client: anthropic.Anthropic) -> Any:
    message = client.messages.create(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6")
    return message.to_dict()


def stream_messages(client: anthropic.Anthropic) -> Any:
    stream = client.messages.create(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6", stream=True)
    return [event.to_dict() for event in stream]


def stream_with_helper(client: anthropic.Anthropic) -> Any:
    with client.messages.stream(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6") as stream:
        texts = list(stream.text_stream)
        return texts, stream.get_final_message().to_dict()


def send_with_system(client: anthropic.Anthropic) -> Any:
    system: Any = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    message = client.messages.create(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6", system=system)
    return message.to_dict()


def read_raw_message(client: anthropic.Anthropic) -> Any:
    response = client.messages.with_raw_response.create(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6")
    return response.parse().to_dict()


def configure_anthropic(client: anthropic.Anthropic) -> Any:
    limited = client.with_options(max_retries=5, timeout=5.0)
    return limited.messages.create(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6").to_dict()


def count_tokens(client: anthropic.Anthropic) -> Any:
    return client.messages.count_tokens(model="claude-opus-4-6", messages=MESSAGES).input_tokens


def handle_anthropic_errors(client: anthropic.Anthropic) -> Any:
    try:
        client.post("/limited", cast_to=dict[str, Any], body={})
    except anthropic.RateLimitError as error:
        return error.status_code, str(error)
    return None


ANTHROPIC = (send, stream_messages, stream_with_helper, send_with_system, read_raw_message, configure_anthropic)


@pytest.mark.parametrize(
    "example", [*ANTHROPIC, count_tokens, handle_anthropic_errors], ids=lambda example: example.__name__
)
def test_anthropics_examples(provider: Provider, memory: Memory, example: Callable[[Any], Any]) -> None:
    plain = anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0)
    _compare(provider, memory, plain, example, is_turn=example in ANTHROPIC)


async def send_async(client: anthropic.AsyncAnthropic) -> Any:
    message = await client.messages.create(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6")
    return message.to_dict()


async def stream_messages_async(client: anthropic.AsyncAnthropic) -> Any:
    stream = await client.messages.create(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6", stream=True)
    return [event.to_dict() async for event in stream]


async def stream_with_helper_async(client: anthropic.AsyncAnthropic) -> Any:
    async with client.messages.stream(max_tokens=1024, messages=MESSAGES, model="claude-opus-4-6") as stream:
        texts = [text async for text in stream.text_stream]
        return texts, (await stream.get_final_message()).to_dict()


@pytest.mark.parametrize(
    "example", [send_async, stream_messages_async, stream_with_helper_async], ids=lambda example: example.__name__
)
def test_anthropics_async_examples(provider: Provider, memory: Memory, example: Callable[[Any], Any]) -> None:
    async def run() -> None:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=provider.url, max_retries=0) as plain:
            expected = await example(plain)
            wrapped = memorist.wrap(plain, memory.aio, user="ada")
            assert await example(wrapped) == expected
            await wrapped.close()

    asyncio.run(run())
    _check_turn(provider, memory)


def _compare(provider: Provider, memory: Memory, plain: Any, example: Callable[[Any], Any], *, is_turn: bool) -> None:
    expected = example(plain)
    assert expected is not None
    with plain, memorist.wrap(plain, memory, user="ada") as wrapped:
        assert example(wrapped) == expected
    if is_turn:
        _check_turn(provider, memory)
    else:
        assert provider.requests[-1] == provider.requests[0]
        assert not [thread for thread in memory.threads.list("user:ada") if thread.id.startswith("wrapped/")]


def _check_turn(provider: Provider, memory: Memory) -> None:
    """The plain request had no memory, the wrapped one has it, and the turn was stored once."""
    assert "shellfish" not in json.dumps(provider.requests[0])
    assert "shellfish" in json.dumps(provider.requests[-1])
    threads = [thread for thread in memory.threads.list("user:ada") if thread.id.startswith("wrapped/")]
    messages = [message for thread in threads for message in memory.threads.messages(thread.id)]
    assert [message.role for message in messages] == ["user", "assistant"]
    assert messages[0].text.startswith(QUESTION) and messages[1].text.replace(" ", "") == ANSWER.replace(" ", "")

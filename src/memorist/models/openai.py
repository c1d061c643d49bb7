"""Implements OpenAI's chat API, also for compatible servers (vLLM, Ollama), with the SDK (extra `openai`)."""

from __future__ import annotations

import os
from typing import Any, Unpack

import msgspec

from ..ports import Completion, Messages, Usage
from ..values import JsonObject
from .base import LOCAL_TIMEOUT_SECONDS, parse_json
from .remote import CLOSE, Limits, RemoteModel, decode, model_error

try:
    import openai
except ImportError as missing:
    from ..errors import UsageError
    from ..extras import install_command

    raise UsageError(f"OpenAI-compatible models need the SDK; run: {install_command('openai')}") from missing


def open_openai(
    model: str, *, blocking: bool, api_key: str | None = None, base_url: str | None = None, **limits: Unpack[Limits]
) -> RemoteModel:
    """Return a chat model. The key comes from OPENAI_API_KEY unless you pass one, and is optional with a `base_url`."""
    if base_url is not None and api_key is None and not os.environ.get("OPENAI_API_KEY"):
        # The SDK refuses to start without a key, but a server of one's own rarely needs one.
        api_key = "unused"
    kind: Any = openai.OpenAI if blocking else openai.AsyncOpenAI
    try:
        client = kind(api_key=api_key, base_url=base_url, max_retries=0, default_headers=CLOSE)
    except openai.OpenAIError:
        from ..errors import UsageError

        raise UsageError("no OpenAI key: set OPENAI_API_KEY, or name a server with openai:MODEL@URL") from None
    create = client.chat.completions.with_streaming_response.create
    if base_url is not None:
        limits["timeout"] = limits.get("timeout") or LOCAL_TIMEOUT_SECONDS
    return RemoteModel(
        OpenAIWire(model, local=base_url is not None), openai, client, create, blocking=blocking, **limits
    )


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message = msgspec.field(default_factory=_Message)
    delta: _Message = msgspec.field(default_factory=_Message)
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = 0


class _Tokens(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Details | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Tokens | None = None


class _Event(msgspec.Struct):
    choices: list[_Choice] = []
    error: Any = None


class OpenAIWire:
    """Encodes requests and decodes answers of chat completions. Structured output uses `response_format`."""

    def __init__(self, model: str, *, local: bool = False) -> None:
        self.model, self.name = model, f"openai:{model}"
        # OpenAI's newer models reject `max_tokens`, and older compatible servers accept nothing else.
        self._limit = "max_tokens" if local else "max_completion_tokens"

    def request(
        self, messages: Messages, system: str | None, max_tokens: int, schema: JsonObject | None, stream: bool
    ) -> JsonObject:
        """Return keyword arguments for `chat.completions.create`."""
        first = [{"role": "system", "content": system}] if system is not None else []
        body: JsonObject = {"model": self.model, "messages": [*first, *(dict(item) for item in messages)]}
        body[self._limit] = max_tokens
        if not stream:
            body["extra_body"] = {"temperature": 0}
        if schema is not None:
            named = {"name": "answer", "schema": schema, "strict": is_strict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if stream:
            body["stream"] = True
        return body

    def completion(self, body: bytes, schema: JsonObject | None) -> Completion:
        """Return the answer in a response body."""
        answer: _Answer = decode(self.name, body, _Answer)
        choice = answer.choices[0] if answer.choices else _Choice()
        text = choice.message.content or ""
        stop = {"length": "length", "content_filter": "refusal"}.get(choice.finish_reason or "", "end")
        if choice.message.refusal:
            stop = "refusal"
        used = answer.usage or _Tokens()
        data = parse_json(text) if schema is not None else None
        cached = used.prompt_tokens_details.cached_tokens if used.prompt_tokens_details is not None else 0
        usage = Usage(used.prompt_tokens, used.completion_tokens, cached or 0)
        return Completion(text, data, usage, answer.model or self.model, stop)

    def piece(self, event: bytes) -> str:
        """Return the text in one event of a stream."""
        item: _Event = decode(self.name, event, _Event)
        if item.error is not None:
            raise model_error(self.name, "broke off its stream", reason="stream", retryable=True)
        return (item.choices[0].delta.content or "") if item.choices else ""


def is_strict(schema: object) -> bool:
    """Return whether a schema is in OpenAI's strict subset: closed objects with every property required."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(is_strict(value) for value in schema.values())

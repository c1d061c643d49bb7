"""Implements Anthropic's Messages API with the official SDK (extra `anthropic`)."""

from __future__ import annotations

from typing import Any, Unpack

import msgspec

from ..ports import Completion, Messages, Usage
from ..values import JsonObject
from .remote import CLOSE, Limits, RemoteModel, decode, model_error

try:
    import anthropic
except ImportError as missing:
    from ..errors import UsageError
    from ..extras import install_command

    raise UsageError(f"Anthropic models need their SDK; run: {install_command('anthropic')}") from missing

ANSWER_TOOL = "answer"
CACHED_CHARACTERS = 4_000
"""System prompts of at least this length are marked for the provider's cache, which does not accept shorter ones."""
_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}


def open_anthropic(
    model: str, *, blocking: bool, api_key: str | None = None, base_url: str | None = None, **limits: Unpack[Limits]
) -> RemoteModel:
    """Return a Claude model. The key comes from ANTHROPIC_API_KEY unless you pass one."""
    kind: Any = anthropic.Anthropic if blocking else anthropic.AsyncAnthropic
    client = kind(api_key=api_key, base_url=base_url, max_retries=0, default_headers=CLOSE)
    create = client.messages.with_streaming_response.create
    return RemoteModel(AnthropicWire(model), anthropic, client, create, blocking=blocking, **limits)


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    input: Any = None


class _Tokens(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0


class _Answer(msgspec.Struct):
    content: list[_Block]
    model: str = ""
    stop_reason: str | None = None
    usage: _Tokens = msgspec.field(default_factory=_Tokens)


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Event(msgspec.Struct):
    type: str
    delta: _Delta = msgspec.field(default_factory=_Delta)
    error: Any = None


class AnthropicWire:
    """Encodes requests and decodes answers of the Messages API. Structured output is a forced tool call."""

    def __init__(self, model: str) -> None:
        self.model, self.name = model, f"anthropic:{model}"

    def request(
        self, messages: Messages, system: str | None, max_tokens: int, schema: JsonObject | None, stream: bool
    ) -> JsonObject:
        """Return keyword arguments for `messages.create`."""
        body: JsonObject = {
            "model": self.model,
            "messages": [dict(item) for item in messages],
            "max_tokens": max_tokens,
        }
        if not stream:
            body["extra_body"] = {"temperature": 0}  # the SDK has no parameter for it
        if system is not None:
            # When the marked part is sent again, the provider serves it from its cache. It does not cache shorter ones.
            cached = {"cache_control": {"type": "ephemeral"}} if len(system) >= CACHED_CHARACTERS else {}
            body["system"] = [{"type": "text", "text": system, **cached}] if cached else system
        if schema is not None:
            body["tools"] = [{"name": ANSWER_TOOL, "description": "Give the answer.", "input_schema": schema}]
            body["tool_choice"] = {"type": "tool", "name": ANSWER_TOOL}
        if stream:
            body["stream"] = True
        return body

    def completion(self, body: bytes, schema: JsonObject | None) -> Completion:
        """Return the answer in a response body."""
        answer: _Answer = decode(self.name, body, _Answer)
        text = "".join(block.text for block in answer.content if block.type == "text")
        data = next((block.input for block in answer.content if block.type == "tool_use"), None) if schema else None
        used = answer.usage
        read = used.input_tokens + (used.cache_creation_input_tokens or 0) + (used.cache_read_input_tokens or 0)
        stop = _STOPS.get(answer.stop_reason or "", "end")
        if stop == "length" and schema is not None:
            data = None  # a truncated tool call may still parse as JSON
        usage = Usage(read, used.output_tokens, used.cache_read_input_tokens or 0)
        return Completion(text, data, usage, answer.model or self.model, stop)

    def piece(self, event: bytes) -> str:
        """Return the text in one event of a stream."""
        item: _Event = decode(self.name, event, _Event)
        if item.type == "error":
            kind = item.error.get("type", "error") if isinstance(item.error, dict) else "error"
            retryable = kind in ("overloaded_error", "api_error", "rate_limit_error")
            raise model_error(self.name, "broke off its stream", reason=str(kind)[:40], retryable=retryable)
        return item.delta.text if item.type == "content_block_delta" and item.delta.type == "text_delta" else ""

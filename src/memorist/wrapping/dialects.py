"""Reads the requests and answers of the providers, to find the user's words and the model's answer.

There are three dialects: OpenAI's Chat Completions and Responses, and Anthropic's Messages. Each finds the last message
that contains the user's own words, inserts text before them, and reads the answer from a body or the events of a
stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from ..values import Json, JsonMapping, JsonObject

Body = JsonObject


class Dialect(msgspec.Struct, frozen=True, eq=False):
    """Reads and writes one API."""

    name: str
    path: str
    """This is how the path of a request ends."""
    field: str
    """This is the field of the request that contains the messages."""
    text_type: str
    """This is the type of a text part in a user's message."""
    read_answer: Callable[[Body], list[Body]]
    """This function returns the messages in an answer's body."""
    read_events: Callable[[Sequence[Body]], list[Body]]
    """This function combines the events of a stream into messages."""


def dialect_of(path: str) -> Dialect | None:
    """Return the dialect of a request by its path, or None for other requests, which are left alone."""
    plain = path.partition("?")[0].rstrip("/")
    return next((dialect for dialect in DIALECTS if plain.endswith(dialect.path)), None)


def messages_of(dialect: Dialect, body: Body) -> list[Body]:
    """Return the messages of a request. Plain text becomes one message by the user."""
    content = body.get(dialect.field)
    if isinstance(content, str):
        return [{"role": "user", "content": content}]
    return [message for message in content if isinstance(message, dict)] if isinstance(content, list) else []


def last_words(messages: Sequence[Body]) -> tuple[int, str] | None:
    """Return the index and the text of the last message that contains the user's own words.

    Tool results do not count.
    """
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") == "user" and (text := _user_text(messages[index].get("content"))):
            return index, text
    return None


def _user_text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") in ("text", "input_text") and isinstance(part.get("text"), str)
    ]
    return "\n".join(texts).strip()


def with_text_before(dialect: Dialect, body: Body, index: int, text: str) -> Body:
    """Return a copy of a request with text inserted before the words of one of the user's messages."""
    content = body[dialect.field]
    if isinstance(content, str):
        return {**body, dialect.field: f"{text}\n\n{content}"}
    messages = list(content)
    position = [number for number, message in enumerate(messages) if isinstance(message, dict)][index]
    message = messages[position]
    words = message["content"]
    if isinstance(words, str):
        words = f"{text}\n\n{words}"
    else:
        # Anthropic requires tool results before any text.
        results = [part for part in words if isinstance(part, dict) and part.get("type") == "tool_result"]
        rest = [part for part in words if part not in results]
        words = [*results, {"type": dialect.text_type, "text": text}, *rest]
    messages[position] = {**message, "content": words}
    return {**body, dialect.field: messages}


def new_messages(messages: Sequence[Body]) -> list[Body]:
    """Return the messages after the model's last one, which this request adds to the conversation."""
    ours = [index for index, message in enumerate(messages) if _is_models(message)]
    return list(messages[ours[-1] + 1 :] if ours else messages)


def _is_models(message: Body) -> bool:
    """Return whether the model wrote a message.

    In the Responses API, its calls and reasoning are items without a role.
    """
    if message.get("role") is not None:
        return bool(message["role"] == "assistant")
    return message.get("type") in ("function_call", "reasoning", "custom_tool_call")


def parse_events(raw: bytes) -> list[Body]:
    """Return the JSON events of a stream of server-sent events. The end marker and comments are skipped."""
    events = []
    for block in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data and data != b"[DONE]":
            try:
                event = json.loads(data)
            except ValueError:
                continue  # the stream was cut inside this event
            if isinstance(event, dict):
                events.append(event)
    return events


# Chat Completions


def _chat_answer(body: Body) -> list[Body]:
    choices = body.get("choices") or []
    message = choices[0].get("message") if choices else None
    return [_chat_message(message)] if isinstance(message, dict) else []


def _chat_message(message: JsonMapping) -> Body:
    answer: Body = {"role": "assistant", "content": message.get("content") or message.get("refusal") or ""}
    if message.get("tool_calls"):
        answer["tool_calls"] = message["tool_calls"]
    return answer


def _chat_events(events: Sequence[Body]) -> list[Body]:
    text: list[str] = []
    calls: dict[int, Body] = {}
    for event in events:
        for choice in (event.get("choices") or [])[:1]:
            delta = choice.get("delta") or {}
            text.append(delta.get("content") or delta.get("refusal") or "")
            for piece in delta.get("tool_calls") or []:
                _add_call(calls, piece)
    answer = {"content": "".join(text), "tool_calls": [calls[index] for index in sorted(calls)]}
    return [_chat_message(answer)] if answer["content"] or answer["tool_calls"] else []


def _add_call(calls: dict[int, Body], piece: Body) -> None:
    call = calls.setdefault(
        piece.get("index", 0), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    )
    function = piece.get("function") or {}
    call["id"] = call["id"] or piece.get("id") or ""
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""


# Responses


def _response_answer(body: Body) -> list[Body]:
    output = body.get("output") or []
    return [item for item in output if item.get("type") in ("message", "function_call")]


def _response_events(events: Sequence[Body]) -> list[Body]:
    for event in reversed(events):
        if event.get("type") in ("response.completed", "response.incomplete"):
            return _response_answer(event.get("response") or {})
    text = "".join(event.get("delta", "") for event in events if event.get("type") == "response.output_text.delta")
    return [{"role": "assistant", "content": text}] if text else []


# Messages


def _message_answer(body: Body) -> list[Body]:
    blocks = [block for block in body.get("content") or [] if block.get("type") in ("text", "tool_use")]
    return [{"role": "assistant", "content": blocks}] if blocks else []


def _message_events(events: Sequence[Body]) -> list[Body]:
    blocks: dict[int, Body] = {}
    inputs: dict[int, str] = {}
    for event in events:
        index = event.get("index", 0)
        if event.get("type") == "content_block_start":
            blocks[index] = dict(event.get("content_block") or {})
        elif event.get("type") == "content_block_delta" and index in blocks:
            delta = event.get("delta") or {}
            if delta.get("type") == "text_delta":
                blocks[index]["text"] = blocks[index].get("text", "") + delta.get("text", "")
            elif delta.get("type") == "input_json_delta":
                inputs[index] = inputs.get(index, "") + delta.get("partial_json", "")
    for index, text in inputs.items():
        blocks[index]["input"] = _parsed_input(text)
    return _message_answer({"content": [blocks[index] for index in sorted(blocks)]})


def _parsed_input(text: str) -> Json:
    try:
        arguments: Json = json.loads(text) if text else {}
        return arguments
    except ValueError:
        return {}  # the stream was cut inside the arguments


CHAT = Dialect("chat", "/chat/completions", "messages", "text", _chat_answer, _chat_events)
RESPONSES = Dialect("responses", "/responses", "input", "input_text", _response_answer, _response_events)
MESSAGES = Dialect("messages", "/messages", "messages", "text", _message_answer, _message_events)
DIALECTS = (CHAT, RESPONSES, MESSAGES)

"""Counts the tokens in messages, tool definitions and whole requests.

The same rule applies to every provider. It adds 4 tokens for a message, 2 for a speaker's name in addition to its text,
8 for a tool call (with its id, name and arguments), 4 for a tool result (with its id), 8 for a tool definition (as
compact JSON), and 3 for a request. Text parts are counted separately, so a request costs at most the sum of its parts.
A message is counted when it is stored, and later requests only add up the counts. A message or a tool whose OpenAI and
Anthropic shapes differ is counted in both, and the larger count is used, because a context can be rendered either way.
For images, the larger result of OpenAI's tile rule and Anthropic's area rule is used.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from ..messages.message import INSTRUCTIONS, Message, as_message
from ..messages.responses import SHAPE as RESPONSES
from ..messages.wire import anthropic_tools, openai_tools, sent_anthropic, sent_openai
from ..values import JsonMapping, compact_json
from .tokens import DEFAULT_COUNTER, Counter, open_counter

MESSAGE_TOKENS = 4
NAME_TOKENS = 2
CALL_TOKENS = 8
TOOL_TOKENS = 8
REQUEST_TOKENS = 3
LOW_DETAIL_TOKENS = 85
IMAGE_TOKENS = 1_600
"""The count for an image of unknown size: the most that OpenAI or Anthropic charges unless an image is huge."""
DOCUMENT_TOKENS = 1_500
PDF_PAGE_TOKENS = 3_000
"""The maximum that Anthropic documents for a page, including its text and its picture."""
HEAD_CHARACTERS = 4 * 16_384
"""How much of an image to decode when looking for its size, which comes after thumbnails and profiles in a JPEG."""
_PDF_START = "JVBERi"
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_BYTES_PER_DOCUMENT_TOKEN = 20
_BYTES_PER_AUDIO_TOKEN = 400
_OWN_FIELDS = frozenset(("role", "content", "name"))


def stored_tokens(message: Message, counter: Counter) -> int:
    """Return the count stored with a message if this counter computed it. Otherwise count the message again."""
    if message.tokens is not None and (message.counter or DEFAULT_COUNTER) == counter.name:
        return message.tokens
    return count_message(message, counter)


def count_message(message: Message, counter: Counter | None = None) -> int:
    """Return the token count of a message in a request, in the shape that costs more."""
    counter = counter or open_counter()
    content = message.content
    if type(content) is str and not message.extra:
        name = 0 if message.name is None else NAME_TOKENS + counter.count(message.name)
        return MESSAGE_TOKENS + counter.count(content) + name
    as_openai = sum(count_openai(part, counter) for part in sent_openai(message))
    if message.role in INSTRUCTIONS:
        return as_openai
    _, blocks = sent_anthropic(message)
    as_items = _count_items(message, counter) if message.shape == RESPONSES else 0
    return max(as_openai, count_parts(blocks, counter) if blocks else 0, as_items)


def counting(counter: Counter) -> Callable[[Message], int]:
    """Return a function like `count_message` for messages with a stored count, so that the counter does not have to
    cache their text."""
    once = counter.count_once

    def count(message: Message) -> int:
        if type(message.content) is str and not message.extra and message.name is None:
            return MESSAGE_TOKENS + once(message.content)
        return count_message(message, counter)

    return count


def _count_items(message: Message, counter: Counter) -> int:
    """Return the token count of a message as Responses API items."""
    return sum(count_item(item, counter) for item in message.responses())


def count_item(item: JsonMapping, counter: Counter) -> int:
    """Return the token count of an item; encrypted content is estimated from its length."""
    tokens = MESSAGE_TOKENS + len(str(item.get("encrypted_content") or "")) // 4
    shown = {name: value for name, value in item.items() if name != "encrypted_content"}
    parts = _listed(item.get("content")) + _listed(item.get("output"))
    if any(_is_image(part) for part in parts):
        shown = {name: value for name, value in shown.items() if name not in ("content", "output")}
        tokens += sum(_count_block(part, counter) for part in parts)
    return tokens + counter.count(compact_json(shown))


def _listed(content: object) -> list[object]:
    return list(content) if isinstance(content, list | tuple) else []


def _is_image(part: object) -> bool:
    return isinstance(part, Mapping) and str(part.get("type", "")).endswith(("image", "image_url", "file"))


def count_openai(message: JsonMapping, counter: Counter) -> int:
    """Return the token count of a message in OpenAI's chat format."""
    extra = {name: value for name, value in message.items() if name not in _OWN_FIELDS}
    tokens = count_parts(message.get("content"), counter) + _count_extra(extra, counter)
    return tokens if message.get("name") is None else tokens + NAME_TOKENS + counter.count(message["name"])


def count_parts(content: object, counter: Counter) -> int:
    """Return the token count of content plus its message's overhead; tool results alone have only their own
    overhead."""
    results = isinstance(content, list) and content and all(_is_result(block) for block in content)
    return (0 if results else MESSAGE_TOKENS) + count_content(content, counter)


def _is_result(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "tool_result"


def count_content(content: Any, counter: Counter) -> int:
    """Return the token count of content in either shape: text, or a list of parts."""
    if content is None:
        return 0
    if isinstance(content, str):
        return counter.count(content)
    if isinstance(content, Mapping):
        return _count_block(content, counter)
    return sum(_count_block(block, counter) for block in content)


def _count_extra(extra: Mapping[str, object], counter: Counter) -> int:
    tokens = 0
    for name, value in extra.items():
        if name == "tool_calls" and isinstance(value, list):
            tokens += sum(_count_call(call, counter) for call in value)
        elif isinstance(value, str):
            tokens += counter.count(value)
        elif value is not None and value != [] and value is not False:
            tokens += counter.count(compact_json(value))
    return tokens


def _count_call(call: object, counter: Counter) -> int:
    if not isinstance(call, Mapping):
        return CALL_TOKENS + counter.count(compact_json(call))
    inner = call.get("function") or call.get("custom") or {}
    if not isinstance(inner, Mapping):
        return CALL_TOKENS + counter.count(compact_json(call))
    raw = inner.get("arguments", inner.get("input", ""))
    name = counter.count(str(call.get("id", ""))) + counter.count(str(inner.get("name", "")))
    return CALL_TOKENS + name + count_arguments(raw, counter)


def count_arguments(raw: object, counter: Counter) -> int:
    """Return the token count of a call's arguments as written, or as re-encoded for another provider if that is
    more."""
    if not isinstance(raw, str):
        return counter.count(compact_json(raw))
    written = counter.count(raw)
    try:
        parsed = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return max(written, counter.count(compact_json({"arguments": raw})))
    if not isinstance(parsed, dict):
        parsed = {"arguments": parsed}
    return max(written, counter.count(compact_json(parsed)))


def _count_block(block: object, counter: Counter) -> int:
    if not isinstance(block, Mapping):
        return counter.count(str(block))
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text") and isinstance(block.get("text"), str):
        return counter.count(block["text"])
    if kind == "tool_use":
        name = counter.count(str(block.get("id", ""))) + counter.count(str(block.get("name", "")))
        return CALL_TOKENS + name + counter.count(compact_json(block.get("input", {})))
    if kind == "tool_result":
        return _count_result(block, counter)
    if kind == "thinking":
        return 1 + counter.count(str(block.get("thinking", "")))
    if kind == "redacted_thinking":
        return 1 + len(str(block.get("data", ""))) // 4
    if kind in ("image", "image_url", "input_image"):
        return image_tokens(block)
    return _count_file(block, counter)


def _count_result(block: Mapping[str, object], counter: Counter) -> int:
    content = block.get("content")
    joints = len(content) if isinstance(content, list | tuple) else 0
    name = counter.count(str(block.get("tool_use_id", "")))
    return MESSAGE_TOKENS + name + joints + count_content(content, counter)


def _count_file(block: Mapping[str, object], counter: Counter) -> int:
    source = block.get("source")
    if block.get("type") == "document" and isinstance(source, Mapping) and source.get("type") == "base64":
        return _document_tokens(str(source.get("data", "")))
    file = block.get("file") if block.get("type") == "file" else block
    inline = file.get("file_data") if isinstance(file, Mapping) else None
    if isinstance(inline, str) and ";base64," in inline[:300]:
        return _document_tokens(inline.partition(";base64,")[2])
    audio = block.get("input_audio")
    if isinstance(audio, Mapping):
        return 1 + len(str(audio.get("data", ""))) * 3 // 4 // _BYTES_PER_AUDIO_TOKEN
    refusal = block.get("refusal")
    if isinstance(refusal, str):
        return counter.count(refusal)
    # Providers do not count cache markers as text.
    return counter.count(compact_json({name: value for name, value in block.items() if name != "cache_control"}))


def _document_tokens(data: str) -> int:
    """Return the token count of a base64 file, based on the number of pages for a PDF and on length for other files."""
    size = len(data) * 3 // 4
    by_length = max(DOCUMENT_TOKENS, size // _BYTES_PER_DOCUMENT_TOKEN)
    try:
        pages = len(_PDF_PAGE.findall(base64.b64decode(data))) if data.startswith(_PDF_START) else 0
    except (binascii.Error, ValueError):
        return by_length
    return max(DOCUMENT_TOKENS, pages * PDF_PAGE_TOKENS) if pages else by_length


def image_tokens(block: Mapping[str, object]) -> int:
    """Return the token count of an image: 85 for low detail, a number that depends on the size for an inline PNG, GIF,
    JPEG or WebP, and 1,600 for any other."""
    image = block.get("image_url")
    if isinstance(image, Mapping) and image.get("detail") == "low":
        return LOW_DETAIL_TOKENS
    size = _inline_size(block, image)
    if size is None:
        return IMAGE_TOKENS
    return max(_tiles(*size), _area(*size))


def _tiles(width: int, height: int) -> int:
    """Apply OpenAI's rule: fit the image into a square of 2,048 pixels, scale the shorter side to 768, and count 85
    tokens plus 170 per tile of 512 pixels.
    """
    fit = min(1.0, 2048 / max(width, height))
    fit *= min(1.0, 768 / (min(width, height) * fit))
    return 85 + 170 * math.ceil(width * fit / 512) * math.ceil(height * fit / 512)


def _area(width: int, height: int) -> int:
    """Apply Anthropic's rule: scale the longer side to 1,568 pixels, and count one token per 750 pixels, up to about
    1,600.
    """
    fit = min(1.0, 1568 / max(width, height))
    return min(IMAGE_TOKENS, math.ceil(width * fit * height * fit / 750))


def _inline_size(block: Mapping[str, object], image: object) -> tuple[int, int] | None:
    source = block.get("source")
    data = source.get("data") if isinstance(source, Mapping) else None
    url = image.get("url") if isinstance(image, Mapping) else image
    if data is None and isinstance(url, str) and url.startswith("data:"):
        data = url.partition(";base64,")[2]
    if not isinstance(data, str):
        return None
    try:
        head = base64.b64decode(data[:HEAD_CHARACTERS])
    except (binascii.Error, ValueError):
        return None
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        size = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    elif head[:4] == b"GIF8" and len(head) >= 10:
        size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    elif head[:2] == b"\xff\xd8":
        size = _jpeg_size(head)
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        size = _webp_size(head)
    else:
        return None
    return size if min(size) > 0 else None


def _jpeg_size(head: bytes) -> tuple[int, int]:
    """Return the size from the first frame header of a JPEG, or zeros if it is not among the decoded bytes."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, length = head[at + 1], int.from_bytes(head[at + 2 : at + 4])
        # C0 to CF start a frame, but for C4 (Huffman tables), C8 (reserved) and CC (arithmetic coding).
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[at + 7 : at + 9]), int.from_bytes(head[at + 5 : at + 7])
        at += 2 + max(2, length)
    return 0, 0


def _webp_size(head: bytes) -> tuple[int, int]:
    """Return the width and height of a lossy, lossless or extended WebP."""
    if head[12:16] == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


def count_tools(tools: Iterable[object] | None, counter: Counter | None = None) -> int:
    """Return the token count of tool definitions: 8 for each, plus its compact JSON, in the shape that costs more."""
    counter = counter or open_counter()
    listed = [*(tools or ())]
    return max(sum_tools(openai_tools(listed), counter), sum_tools(anthropic_tools(listed), counter))


def sum_tools(tools: Iterable[object], counter: Counter) -> int:
    """Return the token count of tool definitions in the shape in which they are."""
    return sum(TOOL_TOKENS + counter.count(compact_json(tool)) for tool in tools)


def text_message(role: str, text: str, counter: Counter, **fields: Any) -> Message:
    """Create a message with its token count."""
    message = as_message(Message(role=role, content=text, **fields))
    return msgspec.structs.replace(message, tokens=count_message(message, counter), counter=counter.name)

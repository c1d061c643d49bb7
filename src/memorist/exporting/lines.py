"""Writes threads as JSON lines, one thread per line, with messages in OpenAI's chat format or in Anthropic's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import BinaryIO

import msgspec

from ..messages.message import INSTRUCTIONS, Message
from ..messages.wire import sent_anthropic
from ..records import Thread
from ..values import JsonObject

_encode = msgspec.json.Encoder().encode
Pages = Callable[[Thread], AsyncIterator[list[Message]]]


async def write_openai(file: BinaryIO, thread: Thread, pages: Pages) -> int:
    """Write a thread as `{"id", …, "messages": […], "times": […]}`, and return the number of messages."""
    times: list[object] = []
    count = 0
    file.write(_begin(thread) + b',"messages":[')
    async for page in pages(thread):
        for message in page:
            for line in message.openai():
                file.write((b"," if count else b"") + _encode(line))
                times.append(message.created_at)
                count += 1
    file.write(b'],"times":' + _encode(times) + b"}\n")
    return count


async def write_anthropic(file: BinaryIO, thread: Thread, pages: Pages) -> int:
    """Write the same in Anthropic's format, with the instructions at the start as `system`."""
    times: list[object] = []
    system: list[str] = []
    count = 0
    file.write(_begin(thread) + b',"messages":[')
    async for page in pages(thread):
        for message in page:
            if message.role in INSTRUCTIONS and not count:
                system.append(message.text)
                continue
            role, blocks = sent_anthropic(message)
            if blocks:
                plain = len(blocks) == 1 and set(blocks[0]) == {"type", "text"}
                content = blocks[0]["text"] if plain else blocks
                file.write((b"," if count else b"") + _encode({"role": role, "content": content}))
                times.append(message.created_at)
                count += 1
    file.write(b"]" + (b',"system":' + _encode("\n\n".join(system)) if system else b""))
    file.write(b',"times":' + _encode(times) + b"}\n")
    return count


def _begin(thread: Thread) -> bytes:
    """Return the start of a line's JSON object, up to the thread's id, title and namespace, without the closing
    brace."""
    fields: JsonObject = {"id": thread.id, "title": thread.title, "namespace": thread.ns}
    if thread.ns.startswith("user:"):
        fields["user"] = thread.ns.removeprefix("user:")
    return _encode({**fields, "created_at": thread.created_at})[:-1]

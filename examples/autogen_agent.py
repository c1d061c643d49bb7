"""An agent with an AutoGen memory that continues after its process is killed.

python examples/autogen_agent.py
"""

from __future__ import annotations

import asyncio

from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import UserMessage
from killed import answer, survive_a_kill

from memorist.adapters.autogen import MemoristMemory


async def turn(path: str, text: str) -> str:
    """Run one turn: put the memory into the model's context, then store the user's message in the memory."""
    memory = MemoristMemory(path)
    context = BufferedChatCompletionContext(buffer_size=10)
    await context.add_message(UserMessage(content=text, source="user"))
    await memory.update_context(context)
    reply = answer(" ".join(str(message.content) for message in await context.get_messages()))
    await memory.add(MemoryContent(content=text, mime_type=MemoryMimeType.TEXT))
    await memory.close()
    return reply


def talk(path: str, text: str) -> str:
    """Run one turn in a new event loop."""
    return asyncio.run(turn(path, text))


if __name__ == "__main__":
    survive_a_kill(talk)

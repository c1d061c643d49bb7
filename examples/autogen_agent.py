"""An agent with an AutoGen memory that goes on after its process was killed.

The model is scripted, so nothing is sent anywhere.

python examples/autogen_agent.py
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import UserMessage

from recollect.adapters.autogen import RecollectMemory


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


async def turn(path: str, text: str) -> str:
    """One turn: what is remembered goes into the model's context, what was said into the memory."""
    memory = RecollectMemory(path)
    context = BufferedChatCompletionContext(buffer_size=10)
    await context.add_message(UserMessage(content=text, source="user"))
    await memory.update_context(context)
    reply = answer(" ".join(str(message.content) for message in await context.get_messages()))
    await memory.add(MemoryContent(content=text, mime_type=MemoryMimeType.TEXT))
    await memory.close()
    return reply


def talk(path: str, text: str) -> str:
    """The same, without a loop around it."""
    return asyncio.run(turn(path, text))


def main() -> None:
    """Say something in a process that is killed, then ask for it in this one."""
    path = str(Path(tempfile.mkdtemp()) / "agent.db")
    subprocess.run([sys.executable, __file__, path], check=False)
    reply = talk(path, "What is my name?")
    print(reply)
    assert reply == "Your name is Ada."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        talk(sys.argv[1], "My name is Ada.")
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    main()

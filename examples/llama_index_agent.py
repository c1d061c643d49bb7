"""A LlamaIndex chat that goes on after its process was killed.

The model is scripted, so nothing is sent anywhere.

python examples/llama_index_agent.py
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

from llama_index.core.base.llms.types import ChatMessage

from recollect.adapters.llama_index import RecollectChatStore


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


async def turn(path: str, text: str) -> str:
    """One turn of the chat."""
    store = RecollectChatStore(path)
    await store.add_message("ada", ChatMessage(role="user", content=text))
    reply = answer(" ".join(message.content or "" for message in await store.get_messages("ada")))
    await store.add_message("ada", ChatMessage(role="assistant", content=reply))
    await store._handles.aclose()
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

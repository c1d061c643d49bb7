"""A Pydantic AI agent that goes on after its process was killed.

The model is scripted, so nothing is sent anywhere.

python examples/pydantic_ai_agent.py
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
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from recollect.adapters.pydantic_ai import RecollectConversationStore


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


def model(messages: Any, info: Any) -> ModelResponse:
    """The scripted model."""
    return ModelResponse([TextPart(answer(str(messages)))])


async def turn(path: str, text: str) -> str:
    """One turn of the agent."""
    store = RecollectConversationStore(path)
    conversation = await store.load("ada") or Conversation(conversation_id="ada")
    result = await Agent(FunctionModel(model)).run(text, conversation=conversation)
    await store.save(result)
    await store.close()
    return str(result.output)


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

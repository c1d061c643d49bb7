"""A Microsoft Agent Framework agent that goes on after its process was killed.

The model is scripted, so nothing is sent anywhere.

python examples/agent_framework_agent.py
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

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from recollect.adapters.agent_framework import RecollectHistoryProvider


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


class Scripted(BaseChatClient):
    """The scripted model."""

    def _inner_get_response(self, *, messages: Any, stream: bool = False, **options: Any) -> Any:
        async def reply() -> ChatResponse:
            said = " ".join(message.text for message in messages)
            return ChatResponse(messages=[Message("assistant", [answer(said)])])

        return reply()


async def turn(path: str, text: str) -> str:
    """One turn of the agent."""
    history = RecollectHistoryProvider(path)
    agent = Agent(Scripted(), context_providers=[history])
    result = await agent.run(text, session=agent.create_session(session_id="ada"))
    await history.close()
    return result.text


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

"""A Strands agent that goes on after its process was killed.

The model is scripted, so nothing is sent anywhere.

python examples/strands_agent.py
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from strands import Agent
from strands.models import Model
from strands.session import RepositorySessionManager

from recollect.adapters.strands import RecollectSessionRepository


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


class Scripted(Model):
    """The scripted model."""

    def update_config(self, **config: Any) -> None:
        """Nothing to set."""

    def get_config(self) -> Any:
        """Nothing is set."""
        return {}

    async def structured_output(self, *given: Any, **options: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *given: Any, **options: Any) -> Any:
        """One answer, in the events of a stream."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": answer(str(messages))}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def talk(path: str, text: str) -> str:
    """One turn of the agent."""
    repository = RecollectSessionRepository(path)
    manager = RepositorySessionManager(session_id="ada", session_repository=repository)
    agent = Agent(model=Scripted(), agent_id="assistant", session_manager=manager, callback_handler=None)
    reply = str(agent(text)).strip()
    repository.close()
    return reply


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

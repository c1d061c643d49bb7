"""An agent of the OpenAI Agents SDK that goes on after its process was killed. The model is scripted.

python examples/openai_agents_agent.py
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from recollect.adapters.openai_agents import RecollectSession


class ScriptedModel(Model):
    """Stands for a language model: it knows what the conversation says."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
        """Answer with the name that was told."""
        name = re.search(r"my name is (\w+)", str(input), re.IGNORECASE)
        text = f"Your name is {name[1]}." if name else "I do not know your name."
        part = ResponseOutputText(type="output_text", text=text, annotations=[])
        reply = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Not needed here."""
        raise NotImplementedError


def talk(path: str, text: str) -> str:
    """One turn of the agent."""
    session = RecollectSession("ada", path)
    try:
        agent = Agent(name="assistant", model=ScriptedModel())
        return str(Runner.run_sync(agent, text, session=session).final_output)
    finally:
        session.close()


def main() -> None:
    """Say something in a process that is killed, then ask for it in this one."""
    path = str(Path(tempfile.mkdtemp()) / "agent.db")
    subprocess.run([sys.executable, __file__, path], check=False)
    reply = talk(path, "What is my name?")
    print(reply)
    assert reply == "Your name is Ada."


if __name__ == "__main__":
    set_tracing_disabled(True)
    if len(sys.argv) > 1:
        talk(sys.argv[1], "My name is Ada.")
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    main()

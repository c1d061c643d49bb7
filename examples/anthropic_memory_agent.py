"""An agent with Anthropic's memory tool that goes on after its process was killed.

The model is scripted, so nothing is sent anywhere.

python examples/anthropic_memory_agent.py
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from anthropic.lib.tools._beta_functions import ToolError

from recollect.adapters.anthropic_memory import RecollectMemoryTool


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


def talk(path: str, text: str) -> str:
    """One turn: the scripted model looks at its notes and writes down what it was told."""
    tool = RecollectMemoryTool(path)
    try:
        notes = str(tool.call({"command": "view", "path": "/memories/notes.txt"}))
    except ToolError:
        notes = ""
        tool.call({"command": "create", "path": "/memories/notes.txt", "file_text": text})
    reply = answer(f"{notes} {text}")
    tool.close()
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

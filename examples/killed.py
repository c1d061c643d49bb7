"""What the agents of this folder share: a scripted model, and a process that is killed while it talks.

Each `*_agent.py` is run as it stands: `python examples/langgraph_agent.py`. Nothing is sent anywhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


def goes_on_after_a_kill(talk: Callable[[str, str], str]) -> None:
    """Kill a process in the middle of its talk, then ask in this one for what was said there.

    `talk` takes a file and what is said, and gives the agent's reply.
    """
    if len(sys.argv) > 1:
        while True:  # it is killed somewhere in its second turn, or later
            talk(sys.argv[1], "My name is Ada.")
            print("said", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = str(Path(folder) / "agent.db")
        with subprocess.Popen([sys.executable, sys.argv[0], path], stdout=subprocess.PIPE, text=True) as first:
            assert first.stdout is not None
            assert "said\n" in iter(first.stdout.readline, ""), "the first process ended before it had said anything"
            first.kill()
        reply = talk(path, "What is my name?")
    print(reply)
    assert reply == "Your name is Ada."

"""Shared parts of the example agents: a scripted model, and a process that is killed in the middle of a conversation.

You can run each `*_agent.py` directly, for example `python examples/langgraph_agent.py`. The examples send nothing over
the network.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def answer(conversation: str) -> str:
    """Answer as a language model would that has read the conversation."""
    name = re.search(r"my name is (\w+)", conversation, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


def survive_a_kill(talk: Callable[[str, str], str]) -> None:
    """Kill a process in the middle of a conversation, then check that this process remembers it.

    `talk` accepts the path of the memory and the user's message, and returns the agent's reply.
    """
    if len(sys.argv) > 1:
        while True:  # the other process kills this one during its second turn or later
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

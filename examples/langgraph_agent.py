"""A LangGraph agent that goes on after its process was killed. The model is scripted, so nothing is sent anywhere.

python examples/langgraph_agent.py
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from recollect.adapters.langgraph import RecollectSaver

THREAD: Any = {"configurable": {"thread_id": "ada"}}


class State(TypedDict):
    """What the graph remembers."""

    messages: Annotated[list[Any], add_messages]


def model(state: State) -> dict[str, Any]:
    """Stands for a language model: it knows what the conversation says."""
    said = " ".join(str(message.content) for message in state["messages"])
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return {"messages": [("ai", f"Your name is {name[1]}." if name else "I do not know your name.")]}


def talk(path: str, text: str) -> str:
    """One turn of the agent."""
    with RecollectSaver(path) as saver:
        graph = StateGraph(State).add_node("model", model).add_edge(START, "model").compile(checkpointer=saver)
        done = graph.invoke({"messages": [("user", text)]}, THREAD)
        return str(done["messages"][-1].content)


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

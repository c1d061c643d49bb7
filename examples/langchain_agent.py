"""A LangChain chat that goes on after its process was killed.

The model is scripted, so nothing is sent anywhere.

python examples/langchain_agent.py
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

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from recollect.adapters.langchain import RecollectChatMessageHistory


def answer(said: str) -> str:
    """Stands for a language model: it knows what the conversation says."""
    name = re.search(r"my name is (\w+)", said, re.IGNORECASE)
    return f"Your name is {name[1]}." if name else "I do not know your name."


def talk(path: str, text: str) -> str:
    """One turn of the chat."""
    model: Any = RunnableLambda(lambda messages: AIMessage(answer(str(messages))))
    history = RecollectChatMessageHistory("ada", path)

    def kept(session_id: str) -> BaseChatMessageHistory:
        return history

    chain = RunnableWithMessageHistory(model, kept)
    reply = chain.invoke(text, {"configurable": {"session_id": "ada"}})
    history._handles.close()
    return str(reply.content)


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

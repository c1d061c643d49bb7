"""An agent with Anthropic's memory tool that continues after its process is killed.

python examples/anthropic_memory_agent.py
"""

from __future__ import annotations

from anthropic.lib.tools._beta_functions import ToolError
from killed import answer, survive_a_kill

from memorist.adapters.anthropic_memory import MemoristMemoryTool


def talk(path: str, text: str) -> str:
    """Run one turn: the scripted model reads its notes, and adds the user's message to them."""
    tool = MemoristMemoryTool(path)
    try:
        notes = str(tool.call({"command": "view", "path": "/memories/notes.txt"}))
    except ToolError:
        notes = ""
        tool.call({"command": "create", "path": "/memories/notes.txt", "file_text": text})
    reply = answer(f"{notes} {text}")
    tool.close()
    return reply


if __name__ == "__main__":
    survive_a_kill(talk)

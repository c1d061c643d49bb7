"""A LlamaIndex chat that continues after its process is killed.

python examples/llama_index_agent.py
"""

from __future__ import annotations

import asyncio

from killed import answer, survive_a_kill
from llama_index.core.base.llms.types import ChatMessage

from memorist.adapters.llama_index import MemoristChatStore


async def turn(path: str, text: str) -> str:
    """Run one turn of the chat and return the reply."""
    store = MemoristChatStore(path)
    await store.add_message("ada", ChatMessage(role="user", content=text))
    reply = answer(" ".join(message.content or "" for message in await store.get_messages("ada")))
    await store.add_message("ada", ChatMessage(role="assistant", content=reply))
    await store.close()
    return reply


def talk(path: str, text: str) -> str:
    """Run one turn in a new event loop."""
    return asyncio.run(turn(path, text))


if __name__ == "__main__":
    survive_a_kill(talk)

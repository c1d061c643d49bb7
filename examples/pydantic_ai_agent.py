"""A Pydantic AI agent that continues after its process is killed.

python examples/pydantic_ai_agent.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from killed import answer, survive_a_kill
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from memorist.adapters.pydantic_ai import MemoristConversationStore


def model(messages: Any, info: Any) -> ModelResponse:
    """Answer as a scripted model, so that the example needs no key."""
    return ModelResponse([TextPart(answer(str(messages)))])


async def turn(path: str, text: str) -> str:
    """Run one turn of the agent and return its reply."""
    store = MemoristConversationStore(path)
    conversation = await store.load("ada") or Conversation(conversation_id="ada")
    result = await Agent(FunctionModel(model)).run(text, conversation=conversation)
    await store.save(result)
    await store.close()
    return str(result.output)


def talk(path: str, text: str) -> str:
    """Run one turn in a new event loop."""
    return asyncio.run(turn(path, text))


if __name__ == "__main__":
    survive_a_kill(talk)

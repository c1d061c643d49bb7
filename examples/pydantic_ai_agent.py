"""A Pydantic AI agent that goes on after its process was killed.

python examples/pydantic_ai_agent.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from killed import answer, goes_on_after_a_kill
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from memorist.adapters.pydantic_ai import MemoristConversationStore


def model(messages: Any, info: Any) -> ModelResponse:
    """The scripted model."""
    return ModelResponse([TextPart(answer(str(messages)))])


async def turn(path: str, text: str) -> str:
    """One turn of the agent."""
    store = MemoristConversationStore(path)
    conversation = await store.load("ada") or Conversation(conversation_id="ada")
    result = await Agent(FunctionModel(model)).run(text, conversation=conversation)
    await store.save(result)
    await store.close()
    return str(result.output)


def talk(path: str, text: str) -> str:
    """The same, without a loop around it."""
    return asyncio.run(turn(path, text))


if __name__ == "__main__":
    goes_on_after_a_kill(talk)

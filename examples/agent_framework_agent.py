"""A Microsoft Agent Framework agent that continues after its process is killed.

python examples/agent_framework_agent.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message
from killed import answer, survive_a_kill

from memorist.adapters.agent_framework import MemoristHistoryProvider


class Scripted(BaseChatClient):
    """A scripted model, so that the example needs no key."""

    def _inner_get_response(self, *, messages: Any, stream: bool = False, **options: Any) -> Any:
        async def reply() -> ChatResponse:
            conversation = " ".join(message.text for message in messages)
            return ChatResponse(messages=[Message("assistant", [answer(conversation)])])

        return reply()


async def turn(path: str, text: str) -> str:
    """Run one turn of the agent and return its reply."""
    history = MemoristHistoryProvider(path)
    agent = Agent(Scripted(), context_providers=[history])
    result = await agent.run(text, session=agent.create_session(session_id="ada"))
    await history.close()
    return result.text


def talk(path: str, text: str) -> str:
    """Run one turn in a new event loop."""
    return asyncio.run(turn(path, text))


if __name__ == "__main__":
    survive_a_kill(talk)

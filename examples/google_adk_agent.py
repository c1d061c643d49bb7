"""A Google ADK agent that continues after its process is killed.

python examples/google_adk_agent.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.genai import types
from killed import answer, survive_a_kill

from memorist.adapters.google_adk import MemoristSessionService


class Scripted(BaseAgent):
    """A scripted agent, so that the example needs no key."""

    async def _run_async_impl(self, ctx: Any) -> Any:
        conversation = " ".join(
            part.text or "" for event in ctx.session.events if event.content for part in event.content.parts or ()
        )
        content = types.Content(role="model", parts=[types.Part(text=answer(conversation))])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


async def turn(path: str, text: str) -> str:
    """Run one turn of the agent and return its reply."""
    sessions = MemoristSessionService(path)
    who: Any = {"user_id": "ada", "session_id": "chat"}
    if await sessions.get_session(app_name="demo", **who) is None:
        await sessions.create_session(app_name="demo", **who)
    runner = Runner(app_name="demo", agent=Scripted(name="assistant"), session_service=sessions)
    reply = ""
    content = types.Content(role="user", parts=[types.Part(text=text)])
    async for event in runner.run_async(**who, new_message=content):
        reply = "".join(part.text or "" for part in (event.content.parts if event.content else None) or ())
    await sessions.close()
    return reply


def talk(path: str, text: str) -> str:
    """Run one turn in a new event loop."""
    return asyncio.run(turn(path, text))


if __name__ == "__main__":
    survive_a_kill(talk)

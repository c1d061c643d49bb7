"""A Strands agent that continues after its process is killed.

python examples/strands_agent.py
"""

from __future__ import annotations

from typing import Any

from killed import answer, survive_a_kill
from strands import Agent
from strands.models import Model
from strands.session import RepositorySessionManager

from memorist.adapters.strands import MemoristSessionRepository


class Scripted(Model):
    """A scripted model, so that the example needs no key."""

    def update_config(self, **config: Any) -> None:
        """Ignore the settings, because a scripted model has none."""

    def get_config(self) -> Any:
        """Return no settings."""
        return {}

    async def structured_output(self, *arguments: Any, **options: Any) -> Any:
        """Raise an error, because the example does not use structured output."""
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *arguments: Any, **options: Any) -> Any:
        """Yield one answer as the events of a stream."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": answer(str(messages))}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def talk(path: str, text: str) -> str:
    """Run one turn of the agent and return its reply."""
    repository = MemoristSessionRepository(path)
    manager = RepositorySessionManager(session_id="ada", session_repository=repository)
    agent = Agent(model=Scripted(), agent_id="assistant", session_manager=manager, callback_handler=None)
    reply = str(agent(text)).strip()
    repository.close()
    return reply


if __name__ == "__main__":
    survive_a_kill(talk)

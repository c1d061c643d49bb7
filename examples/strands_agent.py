"""A Strands agent that goes on after its process was killed.

python examples/strands_agent.py
"""

from __future__ import annotations

from typing import Any

from killed import answer, goes_on_after_a_kill
from strands import Agent
from strands.models import Model
from strands.session import RepositorySessionManager

from memorist.adapters.strands import MemoristSessionRepository


class Scripted(Model):
    """The scripted model."""

    def update_config(self, **config: Any) -> None:
        """Nothing to set."""

    def get_config(self) -> Any:
        """Nothing is set."""
        return {}

    async def structured_output(self, *given: Any, **options: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *given: Any, **options: Any) -> Any:
        """One answer, in the events of a stream."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": answer(str(messages))}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def talk(path: str, text: str) -> str:
    """One turn of the agent."""
    repository = MemoristSessionRepository(path)
    manager = RepositorySessionManager(session_id="ada", session_repository=repository)
    agent = Agent(model=Scripted(), agent_id="assistant", session_manager=manager, callback_handler=None)
    reply = str(agent(text)).strip()
    repository.close()
    return reply


if __name__ == "__main__":
    goes_on_after_a_kill(talk)

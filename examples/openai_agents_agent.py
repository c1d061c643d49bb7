"""An agent of the OpenAI Agents SDK that goes on after its process was killed.

python examples/openai_agents_agent.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from killed import answer, goes_on_after_a_kill
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memorist.adapters.openai_agents import MemoristSession


class ScriptedModel(Model):
    """Stands for a language model: it knows what the conversation says."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
        """Answer with the name that was told."""
        part = ResponseOutputText(type="output_text", text=answer(str(input)), annotations=[])
        reply = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Not needed here."""
        raise NotImplementedError


def talk(path: str, text: str) -> str:
    """One turn of the agent."""
    session = MemoristSession("ada", path)
    try:
        agent = Agent(name="assistant", model=ScriptedModel())
        return str(Runner.run_sync(agent, text, session=session).final_output)
    finally:
        session.close()


if __name__ == "__main__":
    set_tracing_disabled(True)
    goes_on_after_a_kill(talk)

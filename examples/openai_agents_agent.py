"""An OpenAI Agents SDK agent that continues after its process is killed.

python examples/openai_agents_agent.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from killed import answer, survive_a_kill
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memorist.adapters.openai_agents import MemoristSession


class ScriptedModel(Model):
    """A scripted model that answers from the conversation."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
        """Answer with the name that the user mentioned."""
        part = ResponseOutputText(type="output_text", text=answer(str(input)), annotations=[])
        reply = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Raise an error, because the example does not stream."""
        raise NotImplementedError


def talk(path: str, text: str) -> str:
    """Run one turn of the agent and return its reply."""
    session = MemoristSession("ada", path)
    try:
        agent = Agent(name="assistant", model=ScriptedModel())
        return str(Runner.run_sync(agent, text, session=session).final_output)
    finally:
        session.close()


if __name__ == "__main__":
    set_tracing_disabled(True)
    survive_a_kill(talk)

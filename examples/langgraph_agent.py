"""A LangGraph agent that continues after its process is killed.

python examples/langgraph_agent.py
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from killed import answer, survive_a_kill
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from memorist.adapters.langgraph import MemoristSaver

THREAD: Any = {"configurable": {"thread_id": "ada"}}


class State(TypedDict):
    """The state that the graph saves between turns."""

    messages: Annotated[list[Any], add_messages]


def model(state: State) -> dict[str, Any]:
    """Answer as a language model would that has read the conversation."""
    conversation = " ".join(str(message.content) for message in state["messages"])
    return {"messages": [("ai", answer(conversation))]}


def talk(path: str, text: str) -> str:
    """Run one turn of the agent and return its reply."""
    with MemoristSaver(path) as saver:
        graph = StateGraph(State).add_node("model", model).add_edge(START, "model").compile(checkpointer=saver)
        state = graph.invoke({"messages": [("user", text)]}, THREAD)
        return str(state["messages"][-1].content)


if __name__ == "__main__":
    survive_a_kill(talk)

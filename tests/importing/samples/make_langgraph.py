"""Threads of a real LangGraph saver and items of a real LangGraph store, in one SQLite file each."""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.sqlite import SqliteStore


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: int


def call(state: State) -> dict[str, Any]:
    calls = [{"name": "weather", "args": {"city": "Berlin"}, "id": f"call_{state['steps']}", "type": "tool_call"}]
    return {"messages": [AIMessage("", tool_calls=calls)], "steps": state["steps"] + 1}


def run(state: State) -> dict[str, Any]:
    last = state["messages"][-1]
    return {"messages": [ToolMessage("sunny, 21°", tool_call_id=last.tool_calls[0]["id"], name="weather")]}


def answer(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage("It is sunny — 東京 👩‍💻.")]}


def saver(folder: Path) -> dict[str, Any]:
    path = folder / "langgraph-saver.db"
    path.unlink(missing_ok=True)
    graph = StateGraph(State)
    for node in (call, run, answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "call")
    graph.add_edge("call", "run")
    graph.add_edge("run", "answer")
    graph.add_edge("answer", END)
    expected: dict[str, Any] = {}
    with SqliteSaver.from_conn_string(str(path)) as kept:
        app = graph.compile(checkpointer=kept)
        for thread, turns in (("weather-1", 2), ("weather-2", 1)):
            config = {"configurable": {"thread_id": thread, "user_id": "ada"}}
            for turn in range(turns):
                app.invoke({"messages": [HumanMessage(f"I live in Berlin. Question {turn}?")], "steps": turn}, config)
            state = app.get_state(config).values
            expected[thread] = [message.model_dump(mode="json") for message in state["messages"]]
    _tidy(path)
    return expected


def store(folder: Path) -> dict[str, Any]:
    path = folder / "langgraph-store.db"
    path.unlink(missing_ok=True)
    expected: dict[str, Any] = {}
    with SqliteStore.from_conn_string(str(path)) as kept:
        kept.setup()
        items = [
            (("memories", "ada"), "food", {"likes": "tea"}),
            (("memories", "bob"), "home", {"city": "東京", "n": [1, 2.5, None]}),
        ]
        for namespace, key, value in items:
            kept.put(namespace, key, value)
            expected[f"{'.'.join(namespace)}/{key}"] = value
    _tidy(path)
    return expected


def _tidy(path: Path) -> None:
    file = sqlite3.connect(path)
    file.execute("PRAGMA journal_mode = DELETE")
    file.close()


folder = Path(sys.argv[1])
expected = {"threads": saver(folder), "items": store(folder)}
(folder / "langgraph.expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8")

"""Threads of a real LangGraph saver and items of a real LangGraph store, in one SQLite file each.

    make_langgraph.py FOLDER [POSTGRES_URL]

With a URL they are made on that server instead, by the Postgres saver and store; `shallow` after it takes the saver
that keeps the newest checkpoint of a thread alone.
"""

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


def talked(saver: Any) -> dict[str, Any]:
    """Run a graph over a saver; the messages that it has then, by thread."""
    graph = StateGraph(State)
    for node in (call, run, answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "call")
    graph.add_edge("call", "run")
    graph.add_edge("run", "answer")
    graph.add_edge("answer", END)
    expected: dict[str, Any] = {}
    app = graph.compile(checkpointer=saver)
    for thread, turns in (("weather-1", 2), ("weather-2", 1)):
        config = {"configurable": {"thread_id": thread, "user_id": "ada"}}
        for turn in range(turns):
            app.invoke({"messages": [HumanMessage(f"I live in Berlin. Question {turn}?")], "steps": turn}, config)
        state = app.get_state(config).values
        expected[thread] = [message.model_dump(mode="json") for message in state["messages"]]
    return expected


def stored(store: Any) -> dict[str, Any]:
    """Put items into a store; their values by namespace and key."""
    expected: dict[str, Any] = {}
    items = [
        (("memories", "ada"), "food", {"likes": "tea"}),
        (("memories", "bob"), "home", {"city": "東京", "n": [1, 2.5, None]}),
    ]
    for namespace, key, value in items:
        store.put(namespace, key, value)
        expected[f"{'.'.join(namespace)}/{key}"] = value
    return expected


def in_files(folder: Path) -> dict[str, Any]:
    saver, store = folder / "langgraph-saver.db", folder / "langgraph-store.db"
    for path in (saver, store):
        path.unlink(missing_ok=True)
    with SqliteSaver.from_conn_string(str(saver)) as storage:
        threads = talked(storage)
    with SqliteStore.from_conn_string(str(store)) as storage:
        storage.setup()
        items = stored(storage)
    _tidy(saver)
    _tidy(store)
    return {"threads": threads, "items": items}


def on_postgres(url: str, shallow: bool) -> dict[str, Any]:
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.postgres.shallow import ShallowPostgresSaver
    from langgraph.store.postgres import PostgresStore

    with (ShallowPostgresSaver if shallow else PostgresSaver).from_conn_string(url) as storage:
        storage.setup()
        threads = talked(storage)
    with PostgresStore.from_conn_string(url) as storage:
        storage.setup()
        items = stored(storage)
    return {"threads": threads, "items": items}


def _tidy(path: Path) -> None:
    file = sqlite3.connect(path)
    file.execute("PRAGMA journal_mode = DELETE")
    file.close()


folder, server = Path(sys.argv[1]), sys.argv[2:]
expected = on_postgres(server[0], "shallow" in server) if server else in_files(folder)
name = "langgraph" + ("-postgres" if server else "") + ("-shallow" if "shallow" in server else "")
(folder / f"{name}.expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8")

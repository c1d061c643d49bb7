"""Has the real LangGraph read a file that `export --to langgraph` wrote, and go on with it."""

import sys
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.sqlite import SqliteStore


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


path = sys.argv[1]
with SqliteSaver.from_conn_string(path) as saver:
    graph = StateGraph(State)
    graph.add_node("answer", lambda state: {"messages": [AIMessage(f"{len(state['messages'])} messages")]})
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    app = graph.compile(checkpointer=saver)
    threads = sorted({item.config["configurable"]["thread_id"] for item in saver.list(None)})
    for thread in threads:
        config = {"configurable": {"thread_id": thread}}
        before = app.get_state(config).values["messages"]
        after = app.invoke({"messages": [HumanMessage("go on")]}, config)["messages"]
        assert after[: len(before)] == before and after[-1].content == f"{len(before) + 1} messages"
        print(thread, [(message.type, message.content) for message in before])
with SqliteStore.from_conn_string(path) as store:
    store.setup()
    for namespace in store.list_namespaces():
        print(namespace, {item.key: item.value for item in store.search(namespace)})

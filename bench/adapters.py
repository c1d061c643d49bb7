"""Adapters beside the frameworks' own stores, in one run: `make bench-adapters`, in the adapters' environment.

How large a file is after a number of LangGraph steps of 1 KB each, and how long an OpenAI session takes to add two
items and to give back the last twenty.
"""

from __future__ import annotations

import asyncio
import operator
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from recollect import Memory

ROUNDS = 300


class State(TypedDict):
    """A list that grows by an item with every step."""

    items: Annotated[list[str], operator.add]


def grow(saver: Any, steps: int) -> None:
    """Run a graph for a number of steps."""
    from langgraph.graph import END, START, StateGraph

    done = 0

    def step(state: State) -> dict[str, list[str]]:
        nonlocal done
        done += 1
        return {"items": [os.urandom(512).hex()]}

    def onwards(state: State) -> str:
        return "step" if done < steps else END

    builder: Any = StateGraph(State).add_node("step", step).add_edge(START, "step")
    graph = builder.add_conditional_edges("step", onwards).compile(checkpointer=saver)
    graph.invoke({"items": []}, {"configurable": {"thread_id": "1"}, "recursion_limit": steps + 5})


def megabytes(path: Path) -> float:
    """A SQLite file with its log."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 1e6


def sizes() -> None:
    """The files of both savers."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    from recollect.adapters.langgraph import RecollectSaver

    for steps in (50, 100, 200, 400):
        path = Path(tempfile.mkdtemp()) / "ours.db"
        with Memory(path, embedder=None, worker=False) as memory:
            grow(RecollectSaver(memory), steps)
        print(f"langgraph, {steps} steps of 1 KB: RecollectSaver {megabytes(path):.2f} MB")
    for steps in (50, 100, 200):
        path = Path(tempfile.mkdtemp()) / "theirs.db"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            grow(saver, steps)
        print(f"langgraph, {steps} steps of 1 KB: SqliteSaver {megabytes(path):.2f} MB")


async def median(work: Callable[[], Awaitable[Any]]) -> float:
    """Microseconds of one call."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2] * 1e6


async def sessions() -> None:
    """Both sessions, each call awaited."""
    from agents import SQLiteSession

    from recollect.adapters.openai_agents import RecollectSession

    items: Any = [{"role": "user", "content": "x" * 200}, {"role": "assistant", "content": "y" * 200}]
    folder = Path(tempfile.mkdtemp())
    memory = Memory(folder / "ours.db", embedder=None, extract=None, worker=False)
    for name, session in (
        ("RecollectSession", RecollectSession("s", memory)),
        ("SQLiteSession", SQLiteSession("s", folder / "theirs.db")),
    ):
        held: Any = session

        async def add(held: Any = held) -> None:
            await held.add_items(items)

        async def last(held: Any = held) -> None:
            await held.get_items(limit=20)

        print(f"openai-agents, {name}: add 2 {await median(add):.0f} µs, last 20 {await median(last):.0f} µs")
    memory.close()


if __name__ == "__main__":
    sizes()
    asyncio.run(sessions())

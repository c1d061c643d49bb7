"""Adapters beside the frameworks' own stores, in one run: `make bench-adapters`, in the adapters' environment.

How large a file is after a number of LangGraph steps of 1 KB each, how long a checkpoint takes beside the bare driver,
and how long an OpenAI session takes to add two items and to give back the last twenty.
"""

from __future__ import annotations

import asyncio
import operator
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

from memorist import Memory

ROUNDS = 300
CONCURRENT_SESSIONS = 16
"""Sessions of one file that add items at the same time, as in a server of agents."""


class State(TypedDict):
    """A list that grows by an item with every step."""

    items: Annotated[list[str], operator.add]


def grow(saver: Any, steps: int) -> None:
    """Run a graph for a number of steps."""
    from langgraph.graph import END, START, StateGraph

    steps_done = 0

    def step(state: State) -> dict[str, list[str]]:
        nonlocal steps_done
        steps_done += 1
        return {"items": [os.urandom(512).hex()]}

    def onwards(state: State) -> str:
        return "step" if steps_done < steps else END

    builder: Any = StateGraph(State).add_node("step", step).add_edge(START, "step")
    graph = builder.add_conditional_edges("step", onwards).compile(checkpointer=saver)
    graph.invoke({"items": []}, {"configurable": {"thread_id": "1"}, "recursion_limit": steps + 5})


def megabytes(path: Path) -> float:
    """A SQLite file with its log."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 1e6


def sizes() -> None:
    """The files of both savers."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    from memorist.adapters.langgraph import MemoristSaver

    for steps in (50, 100, 200, 400):
        path = Path(tempfile.mkdtemp()) / "ours.db"
        with Memory(path, embedder=None, worker=False) as memory:
            grow(MemoristSaver(memory), steps)
        print(f"langgraph, {steps} steps of 1 KB: MemoristSaver {megabytes(path):.2f} MB")
    for steps in (50, 100, 200):
        path = Path(tempfile.mkdtemp()) / "theirs.db"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            grow(saver, steps)
        print(f"langgraph, {steps} steps of 1 KB: SqliteSaver {megabytes(path):.2f} MB")


async def in_turns(works: Mapping[str, Callable[[], Awaitable[Any]]], rounds: int = ROUNDS) -> dict[str, float]:
    """Microseconds of each call, the median of many, taken in turns so that a busy machine slows all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = time.perf_counter()
            await work()
            seconds[name].append(time.perf_counter() - start)
    return {name: sorted(times)[len(times) // 2] * 1e6 for name, times in seconds.items()}


async def sessions() -> None:
    """Both sessions, each call awaited. The SDK's syncs every commit (synchronous=FULL), as ours does by default."""
    from agents import SQLiteSession

    from memorist.adapters.openai_agents import MemoristSession

    items: Any = [{"role": "user", "content": "x" * 200}, {"role": "assistant", "content": "y" * 200}]
    folder = Path(tempfile.mkdtemp())
    memories = {
        name: Memory(folder / f"{name}.db", embedder=None, extract=None, worker=False, durability=name)
        for name in ("full", "normal")
    }
    sessions_by_name: dict[str, Any] = {
        **{f"MemoristSession, {name}": MemoristSession("s", memory) for name, memory in memories.items()},
        "SQLiteSession": SQLiteSession("s", folder / "theirs.db"),
    }
    added = await in_turns({name: partial(session.add_items, items) for name, session in sessions_by_name.items()})
    last = await in_turns({name: partial(session.get_items, limit=20) for name, session in sessions_by_name.items()})
    for name in sessions_by_name:
        print(f"openai-agents, {name}: add 2 {added[name]:.0f} µs, last 20 {last[name]:.0f} µs")
    many: dict[str, Any] = {
        **{f"MemoristSession, {name}": partial(MemoristSession, memory=memory) for name, memory in memories.items()},
        "SQLiteSession": lambda id: SQLiteSession(id, folder / "theirs.db"),
    }
    together = await in_turns({name: partial(_all_add, _opened(make), items) for name, make in many.items()}, 30)
    for name, microseconds in together.items():
        print(
            f"openai-agents, {name}, {CONCURRENT_SESSIONS} sessions add 2 at once: "
            f"{microseconds / CONCURRENT_SESSIONS:.0f} µs each"
        )
    for memory in memories.values():
        memory.close()


def _opened(make: Callable[[str], Any]) -> list[Any]:
    return [make(f"s{number}") for number in range(CONCURRENT_SESSIONS)]


async def _all_add(sessions: list[Any], items: Any) -> None:
    await asyncio.gather(*(session.add_items(items) for session in sessions))


class Steps:
    """Checkpoints of a list that grows by 1 KB with each, put by our saver."""

    def __init__(self, memory: Memory, thread: str) -> None:
        from memorist.adapters.langgraph import MemoristSaver
        from memorist_testing.langgraph_saver import config_for

        self._saver, self._last = MemoristSaver(memory), config_for(thread)
        self._version: Any = None
        self._items: list[str] = []

    async def put(self) -> None:
        """One step more."""
        from memorist_testing.langgraph_saver import checkpoint_with

        self._version = self._saver.get_next_version(self._version, None)
        self._items = [*self._items, os.urandom(512).hex()]
        checkpoint = checkpoint_with({"items": self._items}, {"items": self._version})
        about: Any = {"source": "loop", "step": len(self._items), "parents": {}}
        self._last = self._saver.put(self._last, checkpoint, about, {"items": self._version})


async def put_sizes(memory: Memory, steps: int) -> Iterator[tuple[int, int]]:
    """The bytes of the checkpoint and of the value that each step writes, in order."""
    tried = Steps(memory, "sizes")
    for _ in range(steps):
        await tried.put()
    rows = memory.records.scan("workflow:langgraph", ("langgraph",))
    by_part = [[len(row.data or b"") for row in rows if row.key[1] == part] for part in ("checkpoint", "value")]
    return iter(list(zip(*by_part, strict=True)))


async def puts() -> None:
    """A put beside the same bytes inserted by the bare driver in one transaction, in turns."""
    import apsw

    for durability, steps in (("full", 40), ("full", ROUNDS), ("normal", 40), ("normal", ROUNDS)):
        folder = Path(tempfile.mkdtemp())
        memory = Memory(folder / "ours.db", embedder=None, extract=None, worker=False, durability=durability)
        floor = apsw.Connection(str(folder / "floor.db"))
        floor.execute(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {durability.upper()}").fetchall()
        floor.execute("CREATE TABLE records (key BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID")
        sizes = await put_sizes(memory, steps)

        async def bare(floor: Any = floor, sizes: Iterator[tuple[int, int]] = sizes) -> None:
            checkpoint, value = next(sizes)
            with floor:
                for part, size in (("head", 0), ("checkpoint", checkpoint), ("value", value)):
                    key = f"langgraph/{part}/t//{'' if part == 'head' else os.urandom(16).hex()}".encode()
                    floor.execute("INSERT OR REPLACE INTO records VALUES (?, ?)", (key, os.urandom(size)))

        medians = await in_turns({"ours": Steps(memory, "t").put, "floor": bare}, steps)
        print(
            f"langgraph, a put, {steps} steps of 1 KB, durability={durability}: {medians['ours']:.0f} µs, "
            f"floor {medians['floor']:.0f} µs, {medians['ours'] / medians['floor']:.2f} ×"
        )
        memory.close()
        floor.close()


if __name__ == "__main__":
    sizes()
    asyncio.run(puts())
    asyncio.run(sessions())

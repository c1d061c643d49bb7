"""Provides a suite for LangGraph checkpoint savers that are called without an event loop. LangGraph's own suite is only
for async savers.

    class TestMine(SaverConformance):
        @pytest.fixture
        def saver(self, tmp_path):
            with MySaver(tmp_path / "checkpoints.db") as saver:
                yield saver

It tests nine capabilities: put, put_writes, get_tuple, list, delete_thread, delete_for_runs, copy_thread, prune and the
history of delta channels. It needs `langgraph` and `pytest`.
"""

from __future__ import annotations

import operator
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

CAPABILITIES = (
    "put", "put_writes", "get_tuple", "list", "delete_thread", "delete_for_runs", "copy_thread", "prune",
    "get_delta_channel_history",
)  # fmt: skip
Saver: TypeAlias = "BaseCheckpointSaver[Any]"


def config_for(thread: str, ns: str = "", id: str | None = None) -> RunnableConfig:
    """Return a config as LangGraph passes it."""
    named = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": named if id is None else {**named, "checkpoint_id": id}}


def checkpoint_with(values: dict[str, Any], versions: dict[str, Any]) -> Checkpoint:
    """Return a new checkpoint that contains the given values."""
    checkpoint: Checkpoint = empty_checkpoint()
    return {**checkpoint, "id": str(uuid6()), "channel_values": values, "channel_versions": versions}


def put_steps(saver: Saver, thread: str, count: int, *, ns: str = "", run: str | None = None) -> list[RunnableConfig]:
    """Put checkpoints of a list that grows by one item each time, and return their configs, oldest first."""
    configs: list[RunnableConfig] = []
    last, version = config_for(thread, ns), None
    items: list[str] = []
    for step in range(count):
        version = saver.get_next_version(version, None)
        items = [*items, f"item {step}"]
        checkpoint = checkpoint_with({"items": items}, {"items": version})
        metadata: dict[str, Any] = {"source": "loop", "step": step, "parents": {}}
        if run is not None:
            metadata["run_id"] = run
        last = saver.put(last, checkpoint, metadata, {"items": version})  # type: ignore[arg-type]
        configs.append(last)
    return configs


def _append_writes(base: list[Any], writes: Sequence[Any]) -> list[Any]:
    return [*base, *(item for write in writes for item in write)]


class Deltas(TypedDict):
    """Represents the state of a graph with a delta channel."""

    lines: Annotated[list[str], DeltaChannel(_append_writes, snapshot_frequency=3)]
    steps: Annotated[int, operator.add]


def delta_graph(saver: Saver) -> Any:
    """Return a graph whose list is stored as writes, with a snapshot after every third write."""

    def speak(state: Deltas) -> dict[str, Any]:
        return {"lines": [f"answer {len(state['lines'])}"], "steps": 1}

    builder = StateGraph(Deltas)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)
    return builder.compile(checkpointer=saver)


class SaverConformance:
    """Tests what every synchronous saver must do. A subclass provides `saver`."""

    @pytest.fixture
    def saver(self) -> Saver:
        """Return an empty saver."""
        raise NotImplementedError("give the suite a saver fixture")

    @pytest.fixture
    def thread(self) -> str:
        """Return a thread id that no other test uses."""
        return f"thread-{uuid.uuid4().hex}"

    @pytest.mark.parametrize("capability", CAPABILITIES)
    def test_every_capability_is_its_own_in_both_halves(self, saver: Saver, capability: str) -> None:
        for name in (capability, f"a{capability}"):
            assert getattr(type(saver), name) is not getattr(BaseCheckpointSaver, name), name

    # -- put and get_tuple

    def test_a_checkpoint_comes_back_as_it_was_put(self, saver: Saver, thread: str) -> None:
        values = {"text": "héllo", "number": 7, "bytes": b"\x00\xff", "none": None, "nested": {"a": [1, {"b": 2.5}]}}
        versions = {name: saver.get_next_version(None, None) for name in values}
        checkpoint = checkpoint_with(values, versions)
        config = saver.put(config_for(thread), checkpoint, {"source": "input", "step": -1, "parents": {}}, versions)
        saved = saver.get_tuple(config)
        assert saved is not None and saved.checkpoint["channel_values"] == values
        assert saved.checkpoint["id"] == checkpoint["id"] == saved.config["configurable"]["checkpoint_id"]
        assert saved.metadata["source"] == "input" and saved.parent_config is None and saved.pending_writes == []

    def test_nothing_is_found_where_nothing_was_put(self, saver: Saver, thread: str) -> None:
        assert saver.get_tuple(config_for(thread)) is None
        assert saver.get_tuple(config_for(thread, id=str(uuid6()))) is None
        assert list(saver.list(config_for(thread))) == []

    def test_the_newest_is_found_where_none_is_named(self, saver: Saver, thread: str) -> None:
        configs = put_steps(saver, thread, 3)
        saved = saver.get_tuple(config_for(thread))
        assert saved is not None and saved.config == configs[-1] and saved.parent_config == configs[-2]

    def test_every_step_keeps_its_own_values(self, saver: Saver, thread: str) -> None:
        configs = put_steps(saver, thread, 40)
        for step, config in enumerate(configs):
            saved = saver.get_tuple(config)
            assert saved is not None
            assert saved.checkpoint["channel_values"]["items"] == [f"item {n}" for n in range(step + 1)]

    def test_lists_may_shrink_change_and_be_reordered(self, saver: Saver, thread: str) -> None:
        long = ["x" * 400 + str(number) for number in range(8)]
        shapes = [long, long[2:], long[:3], [*long[:2], "new", *long[4:]], [], long[::-1], [long[0]], long * 2]
        last, version, configs = config_for(thread), None, []
        for items in shapes:
            version = saver.get_next_version(version, None)
            checkpoint = checkpoint_with({"items": items}, {"items": version})
            last = saver.put(last, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"items": version})
            configs.append(last)
        for items, config in zip(shapes, configs, strict=True):
            saved = saver.get_tuple(config)
            assert saved is not None and saved.checkpoint["channel_values"]["items"] == items

    def test_a_channel_that_did_not_change_keeps_its_value(self, saver: Saver, thread: str) -> None:
        version = saver.get_next_version(None, None)
        checkpoint = checkpoint_with({"kept": "a"}, {"kept": version})
        config = saver.put(config_for(thread), checkpoint, {"source": "loop", "step": 0}, {"kept": version})
        other = saver.get_next_version(None, None)
        both = checkpoint_with({"kept": "a", "new": 1}, {"kept": version, "new": other})
        config = saver.put(config, both, {"source": "loop", "step": 1}, {"new": other})
        saved = saver.get_tuple(config)
        assert saved is not None and saved.checkpoint["channel_values"] == {"kept": "a", "new": 1}

    def test_namespaces_and_threads_are_apart(self, saver: Saver, thread: str) -> None:
        for ns in ("", "child", "child:1|grand:2"):
            put_steps(saver, thread, 2, ns=ns)
        put_steps(saver, f"{thread}-other", 3)
        for ns in ("", "child", "child:1|grand:2"):
            assert len(list(saver.list(config_for(thread, ns)))) == 2
        assert len(list(saver.list({"configurable": {"thread_id": thread}}))) == 6

    # -- put_writes

    def test_writes_come_back_in_the_order_of_their_tasks(self, saver: Saver, thread: str) -> None:
        config = put_steps(saver, thread, 1)[0]
        saver.put_writes(config, [("b", 2), ("c", 3)], "task-1", "path-2")
        saver.put_writes(config, [("a", 1)], "task-2", "path-1")
        saved = saver.get_tuple(config)
        assert saved is not None
        assert saved.pending_writes == [("task-2", "a", 1), ("task-1", "b", 2), ("task-1", "c", 3)]

    def test_a_write_that_is_there_stays(self, saver: Saver, thread: str) -> None:
        config = put_steps(saver, thread, 1)[0]
        saver.put_writes(config, [("a", "first"), ("__interrupt__", "first")], "task")
        saver.put_writes(config, [("a", "second"), ("__interrupt__", "second")], "task")
        saved = saver.get_tuple(config)
        assert saved is not None
        assert sorted(saved.pending_writes or []) == [("task", "__interrupt__", "second"), ("task", "a", "first")]

    # -- list

    def test_a_list_is_newest_first_and_can_be_bounded(self, saver: Saver, thread: str) -> None:
        configs = put_steps(saver, thread, 5)
        assert [item.config for item in saver.list(config_for(thread))] == configs[::-1]
        assert [item.config for item in saver.list(config_for(thread), limit=2)] == [configs[4], configs[3]]
        older = saver.list(config_for(thread), before=configs[2])
        assert [item.config for item in older] == [configs[1], configs[0]]
        third = saver.list(config_for(thread), filter={"step": 2})
        assert [item.config for item in third] == [configs[2]]
        assert list(saver.list(config_for(thread), limit=0)) == []

    # -- deleting

    def test_a_deleted_thread_is_gone_and_others_stay(self, saver: Saver, thread: str) -> None:
        put_steps(saver, thread, 3)
        put_steps(saver, thread, 1, ns="child")
        others = put_steps(saver, f"{thread}-kept", 2)
        saver.delete_thread(thread)
        assert list(saver.list({"configurable": {"thread_id": thread}})) == []
        assert saver.get_tuple(config_for(thread)) is None
        assert [item.config for item in saver.list(config_for(f"{thread}-kept"))] == others[::-1]
        again = put_steps(saver, thread, 1)
        assert [item.config for item in saver.list(config_for(thread))] == again

    def test_runs_are_deleted_wherever_they_ran(self, saver: Saver, thread: str) -> None:
        first, second = f"run-{uuid.uuid4()}", f"run-{uuid.uuid4()}"
        put_steps(saver, thread, 2, run=first)
        others = put_steps(saver, thread, 2, run=second)
        put_steps(saver, f"{thread}-other", 1, run=first)
        saver.delete_for_runs([first])
        assert [item.config for item in saver.list(config_for(thread))] == others[::-1]
        assert list(saver.list(config_for(f"{thread}-other"))) == []
        saved = saver.get_tuple(others[-1])
        assert saved is not None and saved.checkpoint["channel_values"]["items"] == ["item 0", "item 1"]

    def test_pruning_keeps_the_newest_of_each_namespace_whole(self, saver: Saver, thread: str) -> None:
        root, child = put_steps(saver, thread, 30), put_steps(saver, thread, 3, ns="child")
        saver.put_writes(root[-1], [("a", 1)], "task")
        saver.prune([thread])
        assert [item.config for item in saver.list(config_for(thread, ""))] == [root[-1]]
        assert [item.config for item in saver.list(config_for(thread, "child"))] == [child[-1]]
        saved = saver.get_tuple(root[-1])
        assert saved is not None and saved.pending_writes == [("task", "a", 1)]
        assert saved.checkpoint["channel_values"]["items"] == [f"item {n}" for n in range(30)]
        saver.prune([thread], strategy="delete")
        assert list(saver.list({"configurable": {"thread_id": thread}})) == []

    def test_a_copy_is_whole_and_on_its_own(self, saver: Saver, thread: str) -> None:
        configs = put_steps(saver, thread, 4)
        saver.put_writes(configs[-1], [("a", 1)], "task")
        target = f"{thread}-copy"
        saver.copy_thread(thread, target)
        saver.delete_thread(thread)
        copies = list(saver.list(config_for(target)))
        assert [item.metadata["step"] for item in copies] == [3, 2, 1, 0]
        assert copies[0].pending_writes == [("task", "a", 1)]
        assert copies[0].checkpoint["channel_values"]["items"] == [f"item {n}" for n in range(4)]

    # -- delta channels

    def test_a_graph_rebuilds_its_delta_channel(self, saver: Saver, thread: str) -> None:
        graph = delta_graph(saver)
        lines = _talk(graph, thread, 8)
        assert len(lines) == 16
        assert delta_graph(saver).get_state(config_for(thread)).values["lines"] == lines

    def test_every_past_state_of_a_delta_channel_is_there(self, saver: Saver, thread: str) -> None:
        graph = delta_graph(saver)
        lines = _talk(graph, thread, 6)
        states = [state.values.get("lines", []) for state in graph.get_state_history(config_for(thread))]
        assert states[0] == lines
        assert all(state == lines[: len(state)] for state in states)

    def test_the_history_of_a_delta_channel_ends_at_its_last_value(self, saver: Saver, thread: str) -> None:
        _talk(delta_graph(saver), thread, 5)
        history = saver.get_delta_channel_history(config=config_for(thread), channels=["lines", "none"])
        assert set(history) == {"lines", "none"} and history["none"] == {"writes": []}
        seed = history["lines"]["seed"].value
        assert seed + [item for write in history["lines"]["writes"] for item in write[2]] == _state(saver, thread)
        assert saver.get_delta_channel_history(config=config_for(thread), channels=[]) == {}

    @pytest.mark.parametrize("turns", [1, 2, 3, 4, 7])
    def test_pruning_loses_nothing_of_a_delta_channel(self, saver: Saver, thread: str, turns: int) -> None:
        graph = delta_graph(saver)
        lines = _talk(graph, thread, turns)
        saver.prune([thread])
        assert len(list(saver.list(config_for(thread)))) == 1
        assert _state(saver, thread) == lines
        lines = _talk(graph, thread, 2)
        saver.prune([thread])
        assert _state(saver, thread) == lines and len(lines) == 2 * turns + 4

    def test_copying_and_deleting_lose_nothing_of_a_delta_channel(self, saver: Saver, thread: str) -> None:
        lines = _talk(delta_graph(saver), thread, 4)
        target = f"{thread}-copy"
        saver.copy_thread(thread, target)
        saver.delete_thread(thread)
        assert _state(saver, target) == lines

    def test_deleting_runs_loses_nothing_of_a_delta_channel(self, saver: Saver, thread: str) -> None:
        graph, runs = delta_graph(saver), []
        for turn in range(5):
            runs.append(str(uuid.uuid4()))
            state = graph.invoke(
                {"lines": [f"question {turn}"]}, {**config_for(thread), "metadata": {"run_id": runs[-1]}}
            )
        saver.delete_for_runs(runs[:4])
        assert _state(saver, thread) == state["lines"]

    # -- a whole graph

    def test_an_interrupted_graph_goes_on(self, saver: Saver, thread: str) -> None:
        def ask(state: dict[str, Any]) -> dict[str, Any]:
            return {"answer": interrupt("which one?")}

        builder: Any = StateGraph(dict)  # type: ignore[type-var]
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        graph = builder.compile(checkpointer=saver)
        state = graph.invoke({"question": 1}, config_for(thread))
        assert state["__interrupt__"][0].value == "which one?"
        assert graph.invoke(Command(resume="this"), config_for(thread)) == {"answer": "this"}


def _talk(graph: Any, thread: str, turns: int) -> list[str]:
    before = len(graph.get_state(config_for(thread)).values.get("lines", []))
    for turn in range(turns):
        graph.invoke({"lines": [f"question {before + turn}"]}, config_for(thread))
    lines: list[str] = graph.get_state(config_for(thread)).values["lines"]
    return lines


def _state(saver: Saver, thread: str) -> list[str]:
    lines: list[str] = delta_graph(saver).get_state(config_for(thread)).values["lines"]
    return lines

"""MemoristSaver: the public suite, upstream's suite, strict types, growth, processes that die and race."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from memorist import Memory
from memorist.adapters.langgraph import MemoristSaver
from memorist_testing.langgraph_saver import SaverConformance, checkpoint_with, config_for
from tests.adapters.conftest import OpenMemory

ROOT = Path(__file__).parents[2]
CAPABILITIES = 8
"""Upstream's suite knows eight; the ninth, the history of delta channels, is in ours."""


class TestSaver(SaverConformance):
    @pytest.fixture
    def saver(self, memory: Memory) -> MemoristSaver:
        return MemoristSaver(memory)


def test_upstream_conformance_finds_every_capability_and_passes(open_memory: OpenMemory) -> None:
    memory = open_memory()

    @checkpointer_test(name="MemoristSaver")
    async def saver() -> Any:
        yield MemoristSaver(memory)

    report = asyncio.run(validate(saver))
    results = report.results
    assert len(results) == CAPABILITIES and all(result.detected for result in results.values())
    failed = {name: result.failures for name, result in results.items() if not result.passed}
    assert not failed


# -- types


@dataclass
class Mine:
    """A type that LangGraph does not know."""

    name: str


def test_types_that_were_not_allowed_come_back_as_plain_data(memory: Memory) -> None:
    def restored(saver: MemoristSaver) -> Any:
        version = saver.get_next_version(None, None)
        checkpoint = checkpoint_with({"mine": Mine("ada")}, {"mine": version})
        saver.put(config_for("t"), checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"mine": version})
        saved = saver.get_tuple(config_for("t"))
        assert saved is not None
        return saved.checkpoint["channel_values"]["mine"]

    assert not isinstance(restored(MemoristSaver(memory)), Mine)
    assert restored(MemoristSaver(memory, allow=[Mine])) == Mine("ada")


# -- growth


def _grown(path: Path, steps: int) -> int:
    with Memory(path, embedder=None, extract=None, worker=False) as memory:
        saver, version, last = MemoristSaver(memory), None, config_for("t")
        items: list[str] = []
        for step in range(steps):
            version = saver.get_next_version(version, None)
            items = [*items, f"{step:04}".ljust(1024, "x")]
            checkpoint = checkpoint_with({"items": items}, {"items": version})
            last = saver.put(last, checkpoint, {"source": "loop", "step": step, "parents": {}}, {"items": version})
        newest = saver.get_tuple(last)
        assert newest is not None and newest.checkpoint["channel_values"]["items"] == items
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*") if "ballast" not in file.name)


def test_a_file_grows_with_the_steps_and_not_with_their_square(tmp_path: Path) -> None:
    half, whole = (_grown(tmp_path / f"{steps}.db", steps) for steps in (200, 400))
    assert whole <= 5_000_000
    assert whole <= 2.5 * half  # four times as large where every step writes the whole list


# -- processes

WRITER = """
import sys
from memorist import Memory
from memorist.adapters.langgraph import MemoristSaver
from memorist_testing.langgraph_saver import config_for, put_steps

url, org, name = sys.argv[1:]
with Memory(url, org=org, embedder=None, extract=None, worker=False) as memory:
    saver = MemoristSaver(memory)
    print("ready", flush=True)
    sys.stdin.readline()
    for config in put_steps(saver, "shared", 15):
        saver.put_writes(config, [("said", name)], f"task-{name}")
        print(config["configurable"]["checkpoint_id"], flush=True)
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    """Starts programs that are gone when the test is."""
    running: list[subprocess.Popen[str]] = []

    def start(program: str, *args: str) -> subprocess.Popen[str]:
        running.append(
            subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            )
        )  # fmt: skip
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)
def test_four_processes_on_one_thread_lose_nothing(open_memory: OpenMemory, url: Any, started: Any) -> None:
    memory = open_memory()
    writers = [started(WRITER, str(url), memory.org, str(number)) for number in range(4)]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    written = {line.strip() for writer in writers for line in writer.stdout}
    assert all(writer.wait() == 0 for writer in writers)
    checkpoints = list(MemoristSaver(memory).list(config_for("shared")))
    assert (
        len(written) == 60
        and {checkpoint.config["configurable"]["checkpoint_id"] for checkpoint in checkpoints} == written
    )
    for checkpoint in checkpoints:
        step = checkpoint.metadata["step"]
        assert checkpoint.checkpoint["channel_values"]["items"] == [f"item {n}" for n in range(step + 1)]
        assert [write[1] for write in checkpoint.pending_writes or ()] == ["said"]


KILLED = """
import json, sys
from memorist import Memory
from memorist.adapters.langgraph import MemoristSaver
from memorist_testing.langgraph_saver import put_steps

memory = Memory(sys.argv[1], embedder=None, extract=None, worker=False)
saver = MemoristSaver(memory)
config = put_steps(saver, "t", 3)[-1]
saver.put_writes(config, [("said", "kept")], "task")
print(json.dumps(config), flush=True)
sys.stdin.readline()
"""


def test_a_process_killed_between_its_writes_and_the_next_checkpoint_goes_on(tmp_path: Path, started: Any) -> None:
    path = tmp_path / "memory.db"
    process = started(KILLED, str(path))
    config = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Memory(path, embedder=None, extract=None, worker=False) as memory:
        saved = MemoristSaver(memory).get_tuple(config_for("t"))
    assert saved is not None and saved.config == config
    assert saved.pending_writes == [("task", "said", "kept")]
    assert saved.checkpoint["channel_values"]["items"] == ["item 0", "item 1", "item 2"]

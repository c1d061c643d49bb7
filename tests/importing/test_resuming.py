"""A process that is killed in the middle of an import: the next run makes it whole, and nothing is there twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memorist import Memory

COUNT, THREADS = 6000, 7
PROGRAM = """
import os, signal, sys
from memorist import Memory

path, source, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
seen = []

def tick(done, total):
    if total is not None:
        seen.append(done)
        if len(seen) == batches:
            os.kill(os.getpid(), signal.SIGKILL)

with Memory(path, embedder=None, counter="estimate", worker=False) as memory:
    memory.import_from(source, namespace="user:ada", progress=tick)
"""


def _source(folder: Path) -> Path:
    path = folder / "log.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(COUNT):
            row = {"role": "user", "content": f"message {number}", "thread_id": f"t-{number % THREADS}"}
            file.write(f"{json.dumps(row)}\n")
    return path


@pytest.mark.parametrize("batches", [1, 3])
def test_killed_half_way_and_resumed_is_whole(tmp_path: Path, batches: int) -> None:
    source, path = _source(tmp_path), tmp_path / "memory.db"
    command = [sys.executable, "-c", PROGRAM, str(path), str(source), str(batches)]
    killed = subprocess.run(command, env=dict(os.environ), check=False)
    assert killed.returncode == -signal.SIGKILL
    with Memory(path, embedder=None, counter="estimate", worker=False) as memory:
        begun = sum(thread.length for thread in memory.threads.list("user:ada"))
        assert 0 < begun < COUNT
        report = memory.import_from(source, namespace="user:ada")
        assert report.known["messages"] == begun
        assert report.added["messages"] == COUNT - begun
        for number in range(THREADS):
            texts = [message.text for message in memory.threads.messages(f"t-{number}")]
            assert texts == [f"message {number}" for number in range(number, COUNT, THREADS)]
        assert memory.doctor(deep=True).problems == []
        assert memory.import_from(source, namespace="user:ada").added == {}


def test_two_imports_at_once_bring_everything_once(tmp_path: Path) -> None:
    source, path = _source(tmp_path), tmp_path / "memory.db"
    command = [sys.executable, "-c", PROGRAM, str(path), str(source), "0"]
    running = [subprocess.Popen(command, env=dict(os.environ)) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    with Memory(path, embedder=None, counter="estimate", worker=False) as memory:
        assert [thread.length for thread in memory.threads.list("user:ada")] == [858] + [857] * 6
        texts = [message.text for message in memory.threads.messages("t-0")]
        assert texts == [f"message {number}" for number in range(0, COUNT, THREADS)]

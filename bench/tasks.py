"""Checkpoints: 1,000 steps of a state growing to 100 KB, beside the bare driver writing deltas and snapshots.

    python bench/tasks.py [FOLDER]      a folder on a disk shows what a sync costs; on a RAM disk only the CPU counts

The floor is given each delta ready-made and writes it with the same pragmas, tables and columns: one transaction per
step (the task's row under its version, the step's row), a snapshot of the whole state every 100. Disk is the growth of
the file over an empty store, divided by the final state.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.floor import PRAGMAS
from memorist import Memory
from memorist.records import CheckpointStep
from memorist.stores.codec import codec
from memorist.stores.sqlite.statements import statements

STEPS = 1000
TIME_LIMIT, DISK_LIMIT_ALL, DISK_LIMIT_LATEST = 2.0, 8.0, 3.0
_encode = msgspec.json.Encoder().encode
Step = Callable[[int, dict[str, Any]], None]


def item(number: int) -> dict[str, Any]:
    """What a step adds to the state: about 100 bytes."""
    return {"i": number, "text": f"step {number:05d} " + "x" * 68}


def fresh(folder: Path, name: str) -> Path:
    """An empty store."""
    for old in folder.glob(f"{name}.db*"):
        old.unlink()
    path = folder / f"{name}.db"
    Memory(path, embedder=None, counter="estimate").close()
    return path


def measure_median(step: Step) -> float:
    """The median time of a step, in microseconds."""
    times = []
    for number in range(STEPS):
        entry = item(number)
        start = time.perf_counter()
        step(number, entry)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def floor(folder: Path, durability: str) -> tuple[float, float]:
    """The bare driver."""
    path = fresh(folder, "floor")
    empty = path.stat().st_size
    connection = apsw.Connection(str(path))
    connection.execute(PRAGMAS.format(sync="FULL" if durability == "full" else "NORMAL")).fetchall()
    run = connection.cursor().execute
    run(
        "INSERT INTO tasks (org, task_id, ns, step, status, saved, base, completed, size, owner, fence, leased_until, "
        "created_at, updated_at, version) "
        "VALUES ('default', 't', 'global', 0, 'running', 0, 0, 0, 0, 'o', 1, 0, 0, 0, 0)"
    )
    insert = statements(CheckpointStep).insert
    state: dict[str, Any] = {"log": [], "n": 0}

    def step(number: int, entry: dict[str, Any]) -> None:
        now = time.time_ns() // 1000
        state["log"].append(entry)
        state["n"] = number
        snapshot = number % 100 == 0
        body = _encode(state if snapshot else {"add": {"log": [entry]}, "set": {"n": number}})
        row = ("user", body, f'["{number}"]', now, number, "default", int(snapshot), "running", number, "t")
        run("BEGIN IMMEDIATE")
        run(
            "UPDATE tasks SET step = ?, saved = ?, completed = ?, size = ?, leased_until = ?, updated_at = ?, "
            "version = version + 1 WHERE org = 'default' AND task_id = 't' AND version = ?",
            (number, number, number, len(body), now, now, number),
        )
        run(insert, (*row, codec(CheckpointStep).sum(row)))
        run("COMMIT")

    p50 = measure_median(step)
    size = len(_encode(state))
    connection.close()
    return p50, (path.stat().st_size - empty) / size


def ours(folder: Path, durability: Any, way: str, keep: str) -> tuple[float, float]:
    """The same through `Memory.tasks`: whole states, changes, or checkpoints saved one by one."""
    path = fresh(folder, "ours")
    empty = path.stat().st_size
    state: dict[str, Any] = {"log": [], "n": 0}
    with Memory(path, embedder=None, counter="estimate", durability=durability) as memory:
        if way == "save":
            p50 = measure_median(lambda number, entry: _save(memory, state, number, entry, keep))
        else:
            with memory.tasks.run("t", state=state, keep=keep) as task:
                p50 = measure_median(lambda number, entry: _complete(task, way, number, entry))
                state = task.state
    return p50, (path.stat().st_size - empty) / len(_encode(state))


def _save(memory: Memory, state: dict[str, Any], number: int, entry: dict[str, Any], keep: str) -> None:
    state["log"].append(entry)
    state["n"] = number
    memory.tasks.save({"task_id": "t", "step": number, "state": state}, keep=keep)


def _complete(task: Any, way: str, number: int, entry: dict[str, Any]) -> None:
    if way == "change":
        task.complete(number, update={"n": number}, extend={"log": [entry]})
    else:
        task.state["log"].append(entry)
        task.state["n"] = number
        task.complete(number)


def main() -> int:
    """Print the table; 1 where something falls short."""
    base = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.gettempdir())
    short = []
    print(f"{'durability':<11}{'way':<22}{'save p50 µs':>12}{'× floor':>9}{'disk ÷ state':>14}")
    with tempfile.TemporaryDirectory(dir=base) as temporary:
        folder = Path(temporary)
        for durability in ("full", "normal"):
            bare, disk = floor(folder, durability)
            print(f"{durability:<11}{'floor':<22}{bare:>12.0f}{1:>9.2f}{disk:>14.1f}")
            for way, keep in (("change", "all"), ("whole state", "all"), ("whole state", "latest"), ("save", "all")):
                p50, disk = ours(folder, durability, way, keep)
                name = f"{way}, keep {keep}"
                print(f"{durability:<11}{name:<22}{p50:>12.0f}{p50 / bare:>9.2f}{disk:>14.1f}")
                if p50 / bare > TIME_LIMIT:
                    short.append(f"{durability} {name}: {p50 / bare:.1f} × the floor, limit {TIME_LIMIT}")
                if disk > (DISK_LIMIT_ALL if keep == "all" else DISK_LIMIT_LATEST):
                    short.append(f"{durability} {name}: {disk:.1f} × the state on disk")
    for line in short:
        print("falls short:", line)
    return 1 if short else 0


if __name__ == "__main__":
    raise SystemExit(main())

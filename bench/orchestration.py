"""What issue 7 must show: killed workers, idle processors over a million messages, broken models, stored injections.

    python bench/orchestration.py [--messages 1000000] [--threads 500] [--cases 50] [--only NAME]… [--write]

Everything runs on SQLite in a temporary folder; the tests run the same on every store with smaller numbers
(`RECOLLECT_SOAK=1` for these). The figures of extraction are those of bench/extraction.py.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.orchestration import killing, models
from tests.orchestration.test_broken_models import check, conversation
from tests.orchestration.test_deriving import INJECTIONS
from tests.orchestration.test_trust import stored

from bench.figures import Figure, report
from recollect import Memory
from recollect.records import Fact, Job, Learning, Mark, Thread
from recollect.runtime import run_blocking
from recollect.stores.base import Change, Delete, Put
from recollect.testing import FakeClock

RESULTS = Path(__file__).with_suffix(".md")
LIMIT_MS = 50.0
PER_THREAD = 1000
NOTES = """SQLite; tests repeat killed workers, broken models and injections on the other stores in smaller numbers.
Workers are `recollect worker --lease 3`, not the default of 60 seconds. Messages "only marked as done" are stored with
their marks set by hand: they have no index entries and were never read for facts. Those "indexed and derived from" went
through the real processors, with an embedder of eight dimensions; a million of those was not measured. Broken models
are scripted objects that raise or answer at once: "slow" raises the timeout, it does not wait for one."""
NAMES = ("gc", "facts", "learnings", "embedder", "summarizer", "limiter", "archiver", "dedup")


def killed_workers(folder: Path, asked: Any) -> list[Figure]:
    """Two `recollect worker` processes, one killed every second, until nothing is left."""
    url = str(folder / "killed.db")
    with Memory(url, org="bench", embedder=None, worker=False, durability="normal") as memory:
        killing.prepare(memory, asked.threads)
        start = time.monotonic()
        kills = killing.work_and_kill(
            memory, lambda: killing.start_worker(url, None, "bench", lease=3), every=1.0, kills=10**6, seconds=420
        )
        took = time.monotonic() - start
        found = killing.count(memory, asked.threads)
        dead = len(memory.jobs.dead())
    jobs = 4 * asked.threads
    return [
        Figure("jobs, kill -9 of one of two workers every second", f"{jobs} jobs, {kills} kills, {took:.0f} s"),
        Figure("derived rows there twice", str(found["twice"]), ratio=found["twice"], limit=0),
        Figure("derived rows missing", str(found["missing"]), ratio=found["missing"], limit=0),
        Figure("dead letters", str(dead), ratio=dead, limit=0),
    ]


def idle_processors(folder: Path, asked: Any) -> list[Figure]:
    """Each processor over a store in which nothing is new: many messages marked as done, and fewer that really are."""
    marked = _idle_over(folder / "marked.db", asked.messages, really=False)
    return marked + _idle_over(folder / "worked.db", asked.worked, really=True)


def _idle_over(path: Path, messages: int, *, really: bool) -> list[Figure]:
    with Memory(path, embedder=_letters, counter="estimate", worker=False, durability="normal") as memory:
        for number in range(max(messages // PER_THREAD, 1)):
            thread = memory.threads.create(f"user:u{number % 100}")
            said = [f"note {number}-{i}: the crew of boat {i} mended the nets near the pier" for i in range(PER_THREAD)]
            memory.threads.append(thread.id, *said)
            if not really:
                run_blocking(_worked_through(memory, thread.id))
        for _ in range(2):
            memory.process(*NAMES)
        stats = memory.stats()
        assert stats["waiting"] == {"index": 0, "derive": 0}
        how = "indexed and derived from" if really else "only marked as done"
        return [_idle(memory, name, f"{stats['messages']:,} messages {how}") for name in NAMES]


def _letters(texts: list[str]) -> list[list[float]]:
    return [[1.0 + text.count(letter) for letter in "aeiourst"] for text in texts]


async def _worked_through(memory: Memory, id: str) -> None:
    core = memory._core
    thread = await core.get(Thread, id)
    assert thread is not None
    item, at = f"thread:{id}", core.at()
    changes: list[Change] = [
        Put(Mark(org=core.org, name=name, item=item, position=thread.length, updated_at=at))
        for name in ("index", "derive")
    ]
    detail = {"entries": thread.length, "terms": thread.length, "assistant": 0, "speakers": [], "standing": []}
    changes.append(Put(Mark(org=core.org, name="scope", item=thread.ns, position=1, detail=detail, updated_at=at)))
    archive = Job(org=core.org, queue="archive", ns=thread.ns, item=item, run_at=at, created_at=at, updated_at=at)
    await core.apply(*changes, Put(archive), Delete(Job, (core.org, "index", thread.ns, item)))


def _idle(memory: Memory, name: str, over: str) -> Figure:
    times = []
    for _ in range(7):
        start = time.perf_counter()
        memory.process(name)
        times.append((time.perf_counter() - start) * 1e3)
    took = statistics.median(times)
    return Figure(f"{name}, nothing new in {over}", f"{took:.1f} ms", "50 ms", took / LIMIT_MS, 1)


def broken_models(folder: Path, asked: Any) -> list[Figure]:
    """Conversations over a model that fails in so many ways."""
    out = []
    for way, made in models.BROKEN.items():
        violations = 0
        for number in range(asked.cases):
            clock = FakeClock()
            model: Any = models.Scripted(True, made(number))
            path = folder / f"{way}-{number}.db"
            with Memory(
                path, clock=clock, embedder=None, counter="estimate", worker=False, model=model, durability="normal"
            ) as memory:
                try:
                    run_blocking(check(memory, *run_blocking(conversation(memory, clock))))
                except AssertionError as problem:
                    print(f"{way} {number}: {problem}", file=sys.stderr)
                    violations += 1
        name = f"{way.replace('_', '-')} model, {asked.cases} cases: lost, orphaned, over budget or hidden"
        out.append(Figure(name, str(violations), ratio=violations, limit=0))
    return out


def injections(folder: Path, asked: Any) -> list[Figure]:
    """Stored injection attempts, then every one of them asked about."""
    with Memory(folder / "injected.db", embedder=None, counter="estimate", worker=False) as memory:
        thread = run_blocking(stored(memory))
        memory.process("facts")
        promoted = len(run_blocking(memory._core.scan(Fact))) + len(run_blocking(memory._core.scan(Learning)))
        instructed = 0
        for row in INJECTIONS:
            context = memory.context(row["text"][:200], thread=thread, system="Be careful.", budget=4000)
            slots = [one["content"] for one in context.messages() if one["role"] in ("system", "developer")]
            instructed += slots != ["Be careful."]
    return [
        Figure(
            f"{len(INJECTIONS)} stored injections: facts and learnings made of them", str(promoted), "", promoted, 0
        ),
        Figure("requests in which one reached an instruction slot", str(instructed), "", instructed, 0),
    ]


SECTIONS: dict[str, tuple[str, Callable[[Path, Any], list[Figure]]]] = {
    "workers": ("Killed workers", killed_workers),
    "processors": ("Processors with nothing to do", idle_processors),
    "models": ("Broken models", broken_models),
    "injections": ("Stored injections", injections),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--worked", type=int, default=50_000, help="messages that are really worked through first")
    parser.add_argument("--threads", type=int, default=500, help="each comes to four jobs")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--only", action="append", choices=list(SECTIONS))
    parser.add_argument("--write", action="store_true", help="put the tables into bench/orchestration.md")
    asked = parser.parse_args()
    short, text = [], ""
    for name in asked.only or SECTIONS:
        title, measure = SECTIONS[name]
        with tempfile.TemporaryDirectory() as folder:
            figures = measure(Path(folder), asked)
        made = report(title, figures, "limit")
        print(made, flush=True)
        text += made
        short += [figure.name for figure in figures if figure.short]
        if asked.write:
            write(text)
    print("falls short: " + ", ".join(short) if short else "all met")
    return 1 if short else 0


def write(text: str) -> None:
    """The tables so far, with the command that made them."""
    command = " ".join(["python", "bench/orchestration.py", *sys.argv[1:]])
    head = (
        f"# Orchestration\n\n`{command}`, {datetime.now(UTC):%Y-%m-%d}, two cores shared with other work.\n\n{NOTES}\n"
    )
    RESULTS.write_text(head + text, "utf-8")


if __name__ == "__main__":
    sys.exit(main())

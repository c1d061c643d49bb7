"""What issue 7 must show: killed workers, idle processors over a million messages, broken models, stored injections.

    python bench/orchestration.py [--messages 1000000] [--keep FILE] [--threads 500] [--cases 50] [--only NAME] --write

Everything runs on SQLite in a temporary folder; the tests run the same on every store with smaller numbers
(`MEMORIST_SOAK=1` for these). The figures of extraction are those of bench/extraction.py.
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
from tests.orchestration.slow_server import SlowServer, slow_server
from tests.orchestration.test_broken_models import check, conversation
from tests.orchestration.test_deriving import INJECTIONS
from tests.orchestration.test_trust import stored

from bench.figures import Figure, report
from memorist import Memory
from memorist.ids import new_id
from memorist.records import Fact, Learning
from memorist.runtime import run_blocking
from memorist.testing import FakeClock

RESULTS = Path(__file__).with_suffix(".md")
LIMIT_MS = 50.0
MESSAGES_PER_THREAD, USERS = 1000, 1000
CITIES = ("Lisbon", "Porto", "Faro", "Madrid", "Vigo", "Lyon", "Turin", "Graz", "Oslo", "Turku", "Riga")
JOBS = ("nurse", "baker", "pilot", "plumber", "teacher", "welder", "painter")
DOG_NAMES = ("Rex", "Luna", "Bella", "Max", "Nala", "Milo", "Coco", "Rocky", "Daisy")
ANSWERS = ("short", "long", "friendly", "formal", "detailed", "plain")
NOTES = """SQLite; the tests spread broken models over all stores, blocking and async, and run the rest on the others in
smaller numbers. Workers are `memorist worker --lease 3`, not the default of 60 s. The messages of idle processors
really went through all eight, with an embedder of eight dimensions; one in twenty holds a fact. The slow model is the
OpenAI client with a timeout of 30 ms against a local server that answers late, drips, or never; the other broken models
are scripted objects. MEMORIST_SOAK=1 runs each of their cases on every store, blocking and async: 3,000."""


def _letters(texts: list[str]) -> list[list[float]]:
    return [[1.0 + text.count(letter) for letter in "aeiourst"] for text in texts]


QUIET_OPTIONS: dict[str, Any] = {"embedder": _letters, "counter": "estimate", "worker": False, "durability": "normal"}
PROCESSOR_NAMES = ("gc", "facts", "learnings", "reindex", "summarizer", "limiter", "archiver", "dedup")


def killed_workers(folder: Path, options: Any) -> list[Figure]:
    """Two `memorist worker` processes, one killed every second, until nothing is left."""
    url = str(folder / "killed.db")
    with Memory(url, org="bench", embedder=None, worker=False, durability="normal") as memory:
        killing.prepare(memory, options.threads)
        start = time.monotonic()
        kills = killing.work_and_kill(
            memory, lambda: killing.start_worker(url, None, "bench", lease=3), every=1.0, kills=10**6, seconds=420
        )
        took = time.monotonic() - start
        counts = killing.count(memory, options.threads)
        dead = len(memory.jobs.dead())
    jobs = 4 * options.threads
    return [
        Figure("jobs, kill -9 of one of two workers every second", f"{jobs} jobs, {kills} kills, {took:.0f} s"),
        Figure("derived rows there twice", str(counts["twice"]), ratio=counts["twice"], limit=0),
        Figure("derived rows missing", str(counts["missing"]), ratio=counts["missing"], limit=0),
        Figure("dead letters", str(dead), ratio=dead, limit=0),
    ]


def idle_processors(folder: Path, options: Any) -> list[Figure]:
    """Each processor over a store in which nothing is new, after all of it went through them; and what more costs."""
    path = options.keep or folder / "worked.db"
    with Memory(path, **QUIET_OPTIONS) as memory, Memory(folder / "empty.db", **QUIET_OPTIONS) as empty:
        for number in range(max(options.messages // MESSAGES_PER_THREAD, 1)):
            if memory.threads.get(f"thread-{number}") is None:
                _work(memory, number)
                if number % 50 == 49:
                    print(f"{number + 1} threads", flush=True)
        for _ in range(2):
            memory.process(*PROCESSOR_NAMES)
        stats = memory.stats()
        assert stats.waiting == {"index": 0, "derive": 0} and stats.dead_letters == 0
        over = f"{stats.messages:,} messages"
        memories = f"{stats.facts:,} facts of {len(stats.namespaces):,} users, {stats.summaries:,} summaries"
        idle = [_idle(memory, name, over) for name in PROCESSOR_NAMES]
        return [Figure(f"{over} worked through", memories), *idle, _growth(memory, empty, over)]


def _growth(memory: Memory, empty: Memory, over: str) -> Figure:
    """The same messages in turns into a full store and an empty one, in processor time: other work does not count."""
    took: dict[bool, list[float]] = {True: [], False: []}
    for number in range(12):
        for full in (True, False):
            took[full].append(_work(memory if full else empty, number, f"{new_id()}-{number}"))
    ours, theirs = (statistics.median(took[full]) * 1e3 for full in (True, False))
    name = f"{MESSAGES_PER_THREAD:,} more messages through all eight, with {over} there; limit: an empty store"
    return Figure(name, f"{ours:.0f} ms", f"{theirs:.0f} ms", ours / theirs, 1.5)


def _work(memory: Memory, number: int, id: str | None = None) -> float:
    """One thread appended and worked through; the seconds of processor time it took."""
    start = time.process_time()
    thread = memory.threads.create(f"user:u{number % USERS}", id=id or f"thread-{number}")
    memory.threads.append(thread.id, *(_content(number, index) for index in range(MESSAGES_PER_THREAD)))
    memory.process(*PROCESSOR_NAMES)
    return time.process_time() - start


def _content(number: int, index: int) -> str:
    """Mostly talk that holds no fact; one message in twenty does."""
    if index % 20:
        return f"note {number}-{index}: the crew of boat {index} mended the nets near the pier"
    kind, turn = index // 20 % 5, number + index
    return (
        f"I live in {CITIES[turn % len(CITIES)]}.",
        f"My favourite number is {turn % 97}.",
        f"I work as a {JOBS[turn % len(JOBS)]}.",
        f"My dog is called {DOG_NAMES[turn % len(DOG_NAMES)]}.",
        f"I prefer {ANSWERS[turn % len(ANSWERS)]} answers.",
    )[kind]


def _idle(memory: Memory, name: str, over: str) -> Figure:
    times = []
    for _ in range(7):
        start = time.perf_counter()
        memory.process(name)
        times.append((time.perf_counter() - start) * 1e3)
    took = statistics.median(times)
    return Figure(f"{name}, nothing new in {over}", f"{took:.1f} ms", "50 ms", took / LIMIT_MS, 1)


def broken_models(folder: Path, options: Any) -> list[Figure]:
    """Conversations over a model that fails in so many ways."""
    with slow_server() as server:
        return [_measure_broken_model(folder, way, options.cases, server) for way in models.WAYS]


def _measure_broken_model(folder: Path, way: str, cases: int, server: SlowServer) -> Figure:
    violations = 0
    for number in range(cases):
        clock = FakeClock()
        model = models.broken(way, number, blocking=True, server=server)
        path = folder / f"{way}-{number}.db"
        with Memory(
            path, clock=clock, embedder=None, counter="estimate", worker=False, model=model, durability="normal"
        ) as memory:
            try:
                run_blocking(check(memory, *run_blocking(conversation(memory, clock))))
            except AssertionError as problem:
                print(f"{way} {number}: {problem}", file=sys.stderr)
                violations += 1
    name = f"{way.replace('_', '-')} model, {cases} cases: lost, orphaned, over budget or hidden"
    return Figure(name, str(violations), ratio=violations, limit=0)


def injections(folder: Path, options: Any) -> list[Figure]:
    """Stored injection attempts, then every one of them asked about."""
    with Memory(folder / "injected.db", embedder=None, counter="estimate", worker=False) as memory:
        thread = run_blocking(stored(memory))
        memory.process("facts")
        promoted = len(run_blocking(memory._core.scan(Fact))) + len(run_blocking(memory._core.scan(Learning)))
        instructed = 0
        for row in INJECTIONS:
            context = memory.context(row["text"][:200], thread=thread, system="Be careful.", budget=4000)
            slots = [message["content"] for message in context.messages() if message["role"] in ("system", "developer")]
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
    parser.add_argument("--messages", type=int, default=1_000_000, help="messages to work through, a thousand a thread")
    parser.add_argument("--keep", type=Path, help="the store of those messages; made or gone on with, and kept")
    parser.add_argument("--threads", type=int, default=500, help="each comes to four jobs")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--only", action="append", choices=list(SECTIONS))
    parser.add_argument("--write", action="store_true", help="put the tables into bench/orchestration.md")
    options = parser.parse_args()
    short, text = [], ""
    for name in options.only or SECTIONS:
        title, measure = SECTIONS[name]
        with tempfile.TemporaryDirectory() as folder:
            figures = measure(Path(folder), options)
        table = report(title, figures, "limit")
        print(table, flush=True)
        text += table
        short += [figure.name for figure in figures if figure.short]
        if options.write:
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

"""The ground floor on SQLite: append, last 20, facts, growth to a million messages, disk, import."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memorist import AsyncMemory, Memory

from .figures import Figure, against, median_of
from .floor import BareSqlite

THREAD = "thread-000000000001"
WORDS = (
    "the launch budget was agreed by everyone in the meeting on Monday because our customer asked for an invoice "
    "that lists each delivery with its date and price while the team in Lisbon prepares a report about storage cost "
    "and latency for next quarter and someone still has to call the supplier"
).split()


def texts(count: int, size: int = 300, seed: int = 7) -> list[str]:
    """English-like texts, none twice."""
    dice = random.Random(seed)
    return [f"{n} {' '.join(dice.choices(WORDS, k=90))}"[:size] for n in range(count)]


def prepare(path: str, durability: str) -> Memory:
    memory = Memory(path, durability=durability, worker=False)
    memory.threads.create("global", id=THREAD)
    return memory


def appends(folder: str, durability: str, count: int) -> tuple[list[Figure], Memory, BareSqlite]:
    ours = prepare(os.path.join(folder, f"ours-{durability}.db"), durability)
    prepare(os.path.join(folder, f"floor-{durability}.db"), durability).close()
    floor = BareSqlite(os.path.join(folder, f"floor-{durability}.db"), durability)
    # Of its own for each level: tokens of a text counted before would be remembered.
    contents = texts(count, seed=8 if durability == "full" else 9)
    ours_us, theirs = against(
        lambda i: ours.threads.append(THREAD, {"role": "user", "content": contents[i]}),
        lambda i: floor.append(THREAD, contents[i]),
        count,
    )
    name = f"append one message, durability={durability}, {count:,} of 300 characters"
    return [Figure(name, f"{ours_us:.0f} µs", f"{theirs:.0f} µs", ours_us / theirs, 1.4)], ours, floor


def reads(ours: Memory, floor: BareSqlite) -> list[Figure]:
    ours_us, theirs = against(lambda i: ours.threads.recent(THREAD, 20), lambda i: floor.recent(THREAD, 20), 2000)
    out = [Figure("last 20 messages", f"{ours_us:.0f} µs", f"{theirs:.0f} µs", ours_us / theirs, 2.0)]
    for n in range(1000):
        ours.facts.set("user:ada", f"key{n}", {"value": n, "text": "some value"})
    floor.copy_facts(ours)
    ours_us, theirs = against(
        lambda i: ours.facts.get("user:ada", f"key{i % 1000}"), lambda i: floor.fact("user:ada", f"key{i % 1000}"), 5000
    )
    out.append(Figure("get a fact", f"{ours_us:.1f} µs", f"{theirs:.1f} µs", ours_us / theirs, 2.0))
    return out


def hop(folder: str) -> list[Figure]:
    """What the async twin adds: one hop to the worker thread."""

    async def run() -> tuple[float, float]:
        async with AsyncMemory(os.path.join(folder, "hop.db"), durability="normal", worker=False) as memory:
            await memory.threads.create("global", id=THREAD)
            contents, times, hops = texts(2000), [], []
            for text in contents:
                begun = time.perf_counter()
                await memory.threads.append(THREAD, {"role": "user", "content": text})
                times.append(time.perf_counter() - begun)
                begun = time.perf_counter()
                await memory._core.runtime.call(int)
                hops.append(time.perf_counter() - begun)
            return sorted(times)[1000] * 1e6, sorted(hops)[1000] * 1e6

    took, one_hop = asyncio.run(run())
    with prepare(os.path.join(folder, "nohop.db"), "normal") as memory:
        contents = texts(2000)
        plain = median_of(lambda i: memory.threads.append(THREAD, {"role": "user", "content": contents[i]}), 2000)
    return [
        Figure(
            "AsyncMemory append against blocking plus one bare thread hop",
            f"{took:.0f} µs",
            f"{plain:.0f} + {one_hop:.0f} µs",
            took / (plain + one_hop),
            1.3,
        )
    ]


def growth(folder: str, most: int) -> list[Figure]:
    """The same operations in a file of `most` messages and in one of a thousand, in turns; then the disk they take."""
    path = os.path.join(folder, "growth.db")
    large, small = prepare(path, "normal"), prepare(os.path.join(folder, "small.db"), "normal")
    contents = texts(5000)
    payload = fill(large, contents, most)
    fill(small, contents, 1000)
    figures: list[Figure] = []
    for name, operation in (
        ("append", lambda memory, i: memory.threads.append(THREAD, {"role": "user", "content": contents[i % 5000]})),
        ("last 20", lambda memory, i: memory.threads.recent(THREAD, 20)),
    ):
        big, little = against(lambda i, do=operation: do(large, i), lambda i, do=operation: do(small, i), 1000, 50)
        figures.append(
            Figure(f"{name} at {most:,} against 1,000", f"{big:.0f} µs", f"{little:.0f} µs", big / little, 1.3)
        )
    payload += sum(len(text) for text in contents[:1000])
    wal = Path(path + "-wal").stat().st_size
    large.close()
    small.close()
    disk = Path(path).stat().st_size
    name = f"disk of {most + 1000:,} messages against their text"
    figures.append(Figure(name, f"{disk / 1e6:.0f} MB", f"{payload / 1e6:.0f} MB", disk / payload, 1.5))
    figures.append(Figure("WAL while writing them, MB", f"{wal / 1e6:.1f} MB", "", wal / 1e6, 64.0))
    return figures


def fill(memory: Memory, contents: list[str], count: int) -> int:
    """Append so many messages; the characters of their text."""
    for start in range(0, count, 1000):
        batch = [{"role": "user", "content": contents[(start + n) % 5000]} for n in range(1000)]
        memory.threads.append(THREAD, *batch)
    return sum(len(contents[n % 5000]) for n in range(count))


def importing() -> list[Figure]:
    def took(code: str) -> float:
        times = []
        for _ in range(15):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - begun)
        return sorted(times)[7] * 1000

    bare, ours = took("pass"), took("import memorist")
    opened = took("from memorist import Memory")
    return [
        Figure("import memorist, ms over bare Python", f"{ours - bare:.0f} ms", f"{bare:.0f} ms", ours - bare, 60.0),
        Figure("from memorist import Memory, ms over bare Python", f"{opened - bare:.0f} ms", f"{bare:.0f} ms"),
    ]


def run(*, most: int = 1_000_000, count: int = 20_000, where: str | None = None) -> list[tuple[str, list[Figure]]]:
    """All of it, in a temporary folder (on disk unless told otherwise)."""
    with tempfile.TemporaryDirectory(dir=where) as folder:
        normal, ours, floor = appends(folder, "normal", count)
        full, other, bare = appends(folder, "full", count)
        out = [("Writes and reads, SQLite", [*normal, *full, *reads(ours, floor), *hop(folder)])]
        for opened in (ours, other, floor, bare):
            opened.close()
        out.append(("Growth and disk, SQLite", growth(folder, most)))
    out.append(("Import", importing()))
    return out

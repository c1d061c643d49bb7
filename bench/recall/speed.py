"""How fast and how large, through the public API on SQLite: made-up memories, lexical and vector, default embedder.

    python bench/recall/speed.py 10000 100000 [--scopes 100] [--keep FOLDER]

Memories are appended in bulk; the first recall indexes them, which gives the indexing rate. Times are wall time and CPU
time: on a shared machine only the second says what recall itself costs.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memorist import Memory
from memorist.engine.recalling import Recalling
from memorist.runtime import run_blocking

_SEED = 7
_SYLLABLES = [c + v for c in "bdklmnr" for v in "aeiou"]
_EVERYDAY = (
    "went house garden dinner meeting project train paint music weekend friend sister budget recipe doctor travel book "
    "film match school office holiday birthday coffee report client deadline kitchen bicycle river mountain camera"
).split()
_START = datetime(2026, 1, 1, tzinfo=UTC)
_MESSAGES_PER_THREAD = 200
ROUNDS = 200


def sentences(count: int, rng: random.Random) -> list[str]:
    """Texts of 8 to 30 words, their frequencies falling as in a language: everyday words, then rare made-up ones."""
    rare_words = {"".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(20_000)}
    words = [*_EVERYDAY, *sorted(rare_words)]
    weights = np.cumsum(1 / np.arange(4, len(words) + 4))
    picks = np.random.default_rng(_SEED)
    out = []
    for _ in range(count):
        draw = np.searchsorted(weights, picks.random(int(picks.integers(8, 30))) * weights[-1])
        out.append("I " + " ".join(words[i] for i in draw))
    return out


def measure_seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def fill(memory: Memory, ns: str, texts: list[str]) -> None:
    """Append texts in threads of two people."""
    for at in range(0, len(texts), _MESSAGES_PER_THREAD):
        id = memory.threads.create(ns).id
        memory.threads.append(
            id,
            *(
                {
                    "role": "user",
                    "name": ("Ann", "Bob")[i % 2],
                    "content": texts[i],
                    "created_at": _START + timedelta(minutes=i),
                }
                for i in range(at, min(at + _MESSAGES_PER_THREAD, len(texts)))
            ),
        )


def ask(memory: Memory, ns: str, texts: list[str], rounds: int) -> None:
    """Recall with questions of four words each: the whole, and the reading of the question with its candidates
    alone."""
    recalling = Recalling(memory._core)
    stages: dict[str, Callable[[str], Any]] = {
        "recall": lambda question: memory.recall(question, namespaces=ns),
        "candidates": lambda question: run_blocking(recalling.pool(question, namespaces=ns)),
    }
    for stage, work in stages.items():
        rng = random.Random(1)
        spent = []
        for i in range(rounds + 10):
            words = rng.sample(rng.choice(texts).split()[1:], 4)
            question = f"What did Ann say about {' '.join(words)}?"
            took = measure_seconds(lambda work=work, question=question: work(question))  # type: ignore[misc]
            if i >= 10:
                spent.append(took)
        for name, values in zip(("wall", "CPU"), zip(*spent, strict=True), strict=True):
            ordered = sorted(1000 * value for value in values)
            p50, p95 = ordered[len(ordered) // 2], ordered[int(0.95 * len(ordered))]
            print(f"   {stage + ',':11} {name:4}  p50 {p50:7.2f} ms   p95 {p95:7.2f} ms", flush=True)


def overlap(memory: Memory, ns: str, texts: list[str], rounds: int) -> None:
    """recall@10 of the vector arm against exact search over the same vectors."""
    from memorist.embed.wordllama import WordLlamaEmbedder

    embedder = WordLlamaEmbedder()
    index = memory._core.shared.scopes.get((memory.org, ns)).vectors
    rng = random.Random(2)
    shares = []
    for _ in range(rounds):
        query = embedder.embed([" ".join(rng.choice(texts).split()[:6])])[0]
        exact = index._full(np.arange(len(index)), query)
        top = {index._keys[i] for i in np.argpartition(-exact, 10)[:10]}
        shares.append(len(top & set(index.search(query, 64).keys[:10])) / 10)
    keys = sum(len(key) + 49 for key in index._keys) + 110 * len(index)
    size = (index.nbytes + keys) / len(index)
    print(f"   vector recall@10 against exact {np.mean(shares):.3f}; about {size:.0f} B of RAM each", flush=True)


def measure_scope(size: int, folder: Path, rounds: int) -> None:
    """One scope of so many memories."""
    texts = sentences(size, random.Random(_SEED))
    path = folder / f"speed-{size}.db"
    fresh = not path.exists()
    with Memory(path, worker=False, extract=None) as memory:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if fresh:
            wall, cpu = measure_seconds(lambda: fill(memory, "user:ann", texts))
            print(f"{size:,} memories: appended {size / wall:,.0f}/s ({size / cpu:,.0f} per CPU second)", flush=True)
            wall, cpu = measure_seconds(lambda: memory.recall("warm", namespaces="user:ann"))
            print(f"   indexed {size / wall:,.0f}/s ({size / cpu:,.0f} per CPU second)", flush=True)
        else:
            wall, cpu = measure_seconds(lambda: memory.recall("warm", namespaces="user:ann"))
            print(f"{size:,} memories: loaded in {wall:.1f} s ({cpu:.1f} s of CPU)", flush=True)
        ask(memory, "user:ann", texts, rounds)
        overlap(memory, "user:ann", texts, 30)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # of the embedder too
        print(f"   the process grew by at most {1024 * grown / size:,.0f} B each", flush=True)


def many(scopes: int, folder: Path, rounds: int) -> None:
    """Many scopes of a thousand memories: one of them, and a store that holds only that one."""
    texts = sentences(1000, random.Random(_SEED))
    for count in (1, scopes):
        with Memory(folder / f"scopes-{count}.db", worker=False, extract=None) as memory:
            for number in range(count):
                fill(memory, f"user:u{number}", texts)
                memory.recall("warm", namespaces=f"user:u{number}")
            print(f"1,000 memories in one of {count:,} scopes", flush=True)
            ask(memory, f"user:u{count // 2}", texts, rounds)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("sizes", type=int, nargs="*", default=[10_000, 100_000])
    ap.add_argument("--rounds", type=int, default=ROUNDS)
    ap.add_argument("--scopes", type=int, default=0, help="compare so many scopes of 1,000 memories with one")
    ap.add_argument("--keep", type=Path, help="a folder to keep the files in, and to find them again")
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in a.sizes:
            measure_scope(size, folder, a.rounds)
        if a.scopes:
            many(a.scopes, folder, a.rounds)


if __name__ == "__main__":
    main()

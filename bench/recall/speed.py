"""How fast and how large: synthetic memories in one scope, with the default embedder.

python bench/recall/speed.py 10000 100000 [--vectors-only]
"""

from __future__ import annotations

import argparse
import random
import time
import tracemalloc

import numpy as np

from recollect.embed.wordllama import WordLlamaEmbedder
from recollect.recall.entry import Entry, entry
from recollect.recall.index import ScopeIndex
from recollect.recall.query import analyse
from recollect.recall.select import distinct
from recollect.recall.vectors import VectorIndex

_SEED = 7
_SYLLABLES = [c + v for c in "bdklmnr" for v in "aeiou"]
_EVERYDAY = (
    "went house garden dinner meeting project train paint music weekend friend sister budget recipe doctor travel book "
    "film match school office holiday birthday coffee report client deadline kitchen bicycle river mountain camera"
).split()


def vocabulary(size: int, rng: random.Random) -> list[str]:
    """Everyday words first, then rare made-up ones."""
    made = {"".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(size)}
    return [*_EVERYDAY, *sorted(made)]


def sentences(count: int, rng: random.Random) -> list[str]:
    """Texts of 8 to 30 words, their frequencies falling as in a language."""
    words = vocabulary(20_000, rng)
    weights = np.cumsum(1 / np.arange(4, len(words) + 4))
    picks = np.random.default_rng(_SEED)
    out = []
    for _ in range(count):
        draw = np.searchsorted(weights, picks.random(int(picks.integers(8, 30))) * weights[-1])
        out.append("I " + " ".join(words[i] for i in draw))
    return out


def _message(i: int, texts: list[str]) -> Entry:
    return entry(
        "message",
        str(i),
        texts[i],
        context=texts[i - 1] if i else "",
        thread=f"t{i // 40}",
        seq=i % 40,
        speaker=("Ann", "Bob")[i % 2],
        created_at=i * 60_000_000,
    )


def build(count: int, embedder: WordLlamaEmbedder) -> tuple[ScopeIndex, list[str]]:
    """Index so many memories, and say how fast."""
    texts = sentences(count, random.Random(_SEED))
    scope = ScopeIndex(embedder.dimensions)
    start = time.perf_counter()
    for at in range(0, count, 1000):
        part = [_message(at + i, texts) for i in range(min(1000, count - at))]
        scope.add(part, embedder.embed([e.text for e in part]))
    spent = time.perf_counter() - start
    size = scope.vectors.nbytes / count if scope.vectors else 0
    print(f"{count:,} memories: indexed {count / spent:,.0f}/s; vectors {size:.0f} B each")
    return scope, texts


def measure(scope: ScopeIndex, texts: list[str], embedder: WordLlamaEmbedder, rounds: int) -> None:
    """Recall with four-word questions, all steps included."""
    rng = random.Random(1)
    spent: dict[str, list[float]] = {"analyse+embed": [], "candidates": [], "rank": [], "all": []}
    for _ in range(rounds):
        asked = "What did Ann say about " + " ".join(rng.sample(rng.choice(texts).split()[1:], 4)) + "?"
        t0 = time.perf_counter()
        query = analyse(asked, speakers=scope.stats.speakers, now=10**15)
        vector = embedder.embed([query.embed_text])[0]
        t1 = time.perf_counter()
        keys, _ = scope.candidates(query, vector)
        t2 = time.perf_counter()
        distinct(scope.search(query, vector, explain=10), 10)
        t3 = time.perf_counter()
        for name, value in (
            ("analyse+embed", t1 - t0),
            ("candidates", t2 - t1),
            ("rank", t3 - t2 - (t2 - t1)),
            ("all", t3 - t2 + t1 - t0),
        ):
            spent[name].append(1000 * value)
    for name, values in spent.items():
        values.sort()
        print(f"   {name:14} p50 {values[len(values) // 2]:7.2f} ms   p95 {values[int(0.95 * len(values))]:7.2f} ms")
    print(f"   candidates {len(keys)}")


def overlap(vectors: VectorIndex[tuple[str, str]], embedder: WordLlamaEmbedder, texts: list[str], rounds: int) -> None:
    """recall@10 of the vector arm against exact search over the same vectors."""
    rng = random.Random(2)
    every = list(vectors._keys)
    found = []
    for _ in range(rounds):
        query = embedder.embed([" ".join(rng.choice(texts).split()[:6])])[0]
        exact = vectors.cosines(query, every)
        top = {every[i] for i in np.argpartition(-exact, 10)[:10]}
        found.append(len(top & set(vectors.search(query, 150).keys[:10])) / 10)
    print(f"   vector recall@10 against exact: {np.mean(found):.3f}")


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("sizes", type=int, nargs="*", default=[10_000, 100_000])
    ap.add_argument("--rounds", type=int, default=100)
    ap.add_argument("--memory", action="store_true", help="trace allocations; slower")
    a = ap.parse_args()
    embedder = WordLlamaEmbedder()
    embedder.embed(["warm"])
    for size in a.sizes:
        if a.memory:
            tracemalloc.start()
        scope, texts = build(size, embedder)
        if a.memory:
            total = tracemalloc.get_traced_memory()[0] - sum(len(t) for t in texts)
            print(f"   {total / size:.0f} B of memory per entry over its text")
            tracemalloc.stop()
        measure(scope, texts, embedder, a.rounds)
        if scope.vectors is not None:
            overlap(scope.vectors, embedder, texts, 30)


if __name__ == "__main__":
    main()

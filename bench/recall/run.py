"""Evidence recall on your own files, beside BM25 and plain embeddings.

    python bench/recall/run.py ../shared/bench/dev/locomo.json [--embedder minilm] [--only recollect]

Takes LoCoMo and LongMemEval in their official files, and the neutral format of `score.py`. Prints R@k, NDCG@10, the
tokens that ten hits cost, and milliseconds per question.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parent))
import adapter
from datasets import Conversation, Dataset, Question, load

from recollect.recall.analyze import query_terms, token_string
from recollect.recall.lexical import LexicalIndex
from recollect.recall.vectors import VectorIndex

KS = (1, 5, 10, 20)


class Retriever(Protocol):
    """What is measured; a store's own goes in here through `--store`."""

    def index(self, turns: Sequence[Any]) -> None: ...

    def search(self, query: str, k: int, now: datetime | None = None) -> list[str]: ...


class Bm25:
    """Stemmed BM25 over the bare turns."""

    def __init__(self) -> None:
        self._index: LexicalIndex[str] = LexicalIndex()

    def index(self, turns: Sequence[Any]) -> None:
        for turn in turns:
            self._index.add(turn.id, token_string(turn.text))

    def search(self, query: str, k: int, now: datetime | None = None) -> list[str]:
        return [key for key, _ in self._index.search(query_terms(query), k)]


class Plain:
    """Nearest vectors to the question as it is."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._index: VectorIndex[str] = VectorIndex(embedder.dimensions)

    def index(self, turns: Sequence[Any]) -> None:
        self._index.add([t.id for t in turns], self._embedder.embed([t.text for t in turns]))

    def search(self, query: str, k: int, now: datetime | None = None) -> list[str]:
        return self._index.search(self._embedder.embed([query])[0], k).keys


def measure(data: Dataset, make: Callable[[], Retriever], skip: set[str]) -> dict[str, float]:
    """Mean figures over all questions."""
    rows: list[dict[str, float]] = []
    for talk in data.conversations:
        asked = [q for q in talk.questions if q.category not in skip]
        if asked:
            retriever = make()
            retriever.index(talk.turns)
            rows += [_one(data.level, talk, q, retriever) for q in asked]
    return {key: statistics.fmean(row[key] for row in rows) for key in rows[0]}


def _one(level: str, talk: Conversation, q: Question, retriever: Retriever) -> dict[str, float]:
    place = {turn.id: i for i, turn in enumerate(talk.turns)}
    want = 50 if q.visible is None else len(talk.turns)
    start = time.perf_counter()
    found = retriever.search(q.text, want, now=q.asked_at)
    spent = 1000 * (time.perf_counter() - start)
    found = [i for i in found if q.visible is None or place[i] < q.visible]
    units = found if level == "turn" else [talk.turns[place[i]].session for i in found]
    order = list(dict.fromkeys(units))
    at = [i for i, unit in enumerate(order) if unit in q.gold]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(len(q.gold), 10)))
    row = {f"R@{k}": 100 * sum(i < k for i in at) / len(q.gold) for k in KS}
    row["NDCG@10"] = 100 * sum(1 / math.log2(i + 2) for i in at if i < 10) / ideal
    row["tokens@10"] = sum(len(talk.turns[place[i]].text) // 4 for i in found[:10])
    row["ms"] = spent
    return row


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("data", type=Path, nargs="+")
    ap.add_argument("--embedder", choices=["default", "minilm", "none"], default="default")
    ap.add_argument("--only", choices=["recollect", "bm25", "embedding"])
    ap.add_argument("--skip", nargs="*", default=["adversarial"], help="categories left out")
    a = ap.parse_args()
    make = {"default": adapter.default, "minilm": adapter.minilm, "none": adapter.lexical}[a.embedder]
    embedder = make().embedder
    rivals: dict[str, Callable[[], Retriever]] = {"bm25": Bm25, "recollect": make}
    if embedder is not None:
        rivals["embedding"] = lambda: Plain(embedder)
    for path in a.data:
        data = load(path)
        print(f"{data.name}, evidence is {data.level}s")
        for name, factory in rivals.items():
            if a.only in (None, name):
                row = measure(data, factory, set(a.skip))
                print(f"  {name:10}", "  ".join(f"{key} {value:6.1f}" for key, value in row.items()))


if __name__ == "__main__":
    main()

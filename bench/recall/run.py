"""Evidence recall on your own files through the public API, beside BM25 and plain embeddings.

    python bench/recall/run.py ../shared/bench/dev/locomo.json [--store memory|PATH|URL] [--embedder minilm|none]

Takes LoCoMo and LongMemEval in their official files, and the neutral format. Each conversation becomes one namespace:
a thread for each session, a message for each turn with its speaker's name and time. A question is asked with
`memory.recall`, seeing what was said before it. Prints R@k, NDCG@10, tokens of ten hits, and milliseconds.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parent))
from memorist import Memory
from memorist.checking.datasets import Conversation, Dataset, Question, Turn, load
from memorist.embed.minilm import minilm
from memorist.embed.wordllama import WordLlamaEmbedder
from memorist.recall.analyze import query_terms, token_string
from memorist.recall.lexical import LexicalIndex
from memorist.recall.vectors import VectorIndex

KS = (1, 5, 10, 20)
DEPTH = 50
BATCH_MESSAGES = 200


class Retriever(Protocol):
    """What is measured; `visible` is how many turns existed when the question was asked."""

    def index(self, turns: Sequence[Any]) -> None: ...

    def search(self, question: Question, visible: int) -> list[str]: ...


class Memorist:
    """A memory through its public API."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._ns = f"workflow:{uuid.uuid4().hex}"
        self._turn: dict[str, str] = {}
        self._place: dict[str, int] = {}

    def index(self, turns: Sequence[Turn]) -> None:
        """Append every turn, and let the first recall index them."""
        threads: dict[str, str] = {}
        for session in dict.fromkeys(turn.session for turn in turns):
            threads[session] = self._memory.threads.create(self._ns).id
            session_turns = [turn for turn in turns if turn.session == session]
            for at in range(0, len(session_turns), BATCH_MESSAGES):
                part = session_turns[at : at + BATCH_MESSAGES]
                receipts = self._memory.threads.append(threads[session], *map(_message, part))
                self._turn.update((receipt.message.id, turn.id) for receipt, turn in zip(receipts, part, strict=True))
        self._place = {turn.id: i for i, turn in enumerate(turns)}
        self._memory.recall("anything", namespaces=self._ns)

    def search(self, question: Question, visible: int) -> list[str]:
        """Ask; where only the first turns are visible, deep enough to find ten among them."""
        depth = DEPTH if visible >= len(self._place) else 4 * DEPTH
        hits = self._memory.recall(
            question.text, namespaces=self._ns, top_k=depth, before=_until(question.asked_at), kinds="message"
        )
        return [self._turn[hit.id] for hit in hits]


def _message(turn: Turn) -> dict[str, Any]:
    role = "assistant" if turn.speaker.lower() in ("assistant", "ai", "bot") else "user"
    message: dict[str, Any] = {"role": role, "name": turn.speaker, "content": turn.text}
    return message if turn.timestamp is None else {**message, "created_at": _aware(turn.timestamp)}


def _aware(when: datetime) -> datetime:
    """The files carry no zone; their times are taken as UTC."""
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _until(asked_at: datetime | None) -> datetime | None:
    """A question dated by its day alone was asked at any time of it."""
    if asked_at is None:
        return None
    when = _aware(asked_at)
    day = timedelta(days=1) if when.time() == datetime.min.time() else timedelta(0)
    return when + day + timedelta(microseconds=1)


class Bm25:
    """Stemmed BM25 over the bare turns."""

    def __init__(self) -> None:
        self._index: LexicalIndex[str] = LexicalIndex()

    def index(self, turns: Sequence[Any]) -> None:
        for turn in turns:
            self._index.add(turn.id, token_string(turn.text))

    def search(self, question: Question, visible: int) -> list[str]:
        return [key for key, _ in self._index.search(query_terms(question.text), 10_000)]


class Plain:
    """Nearest vectors to the question as it is."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._index: VectorIndex[str] = VectorIndex(embedder.dimensions)

    def index(self, turns: Sequence[Any]) -> None:
        self._index.add([t.id for t in turns], self._embedder.embed([t.text for t in turns]))

    def search(self, question: Question, visible: int) -> list[str]:
        return self._index.search(self._embedder.embed([question.text])[0], 10_000).keys


def measure(data: Dataset, make: Callable[[], Retriever], skip: set[str]) -> dict[str, float]:
    """Mean figures over all questions; of milliseconds the median and the 95th percentile."""
    rows: list[dict[str, float]] = []
    for talk in data.conversations:
        questions = [q for q in talk.questions if q.category not in skip]
        if questions:
            retriever = make()
            retriever.index(talk.turns)
            rows += [_measure_question(data.level, talk, q, retriever) for q in questions]
    spent = sorted(row.pop("ms") for row in rows)
    means = {key: statistics.fmean(row[key] for row in rows) for key in rows[0]}
    return {**means, "ms p50": spent[len(spent) // 2], "p95": spent[int(0.95 * len(spent))], "questions": len(rows)}


def _measure_question(level: str, talk: Conversation, q: Question, retriever: Retriever) -> dict[str, float]:
    index = {turn.id: i for i, turn in enumerate(talk.turns)}
    visible = len(talk.turns) if q.visible is None else q.visible
    start = time.thread_time()
    retrieved = retriever.search(q, visible)
    spent = 1000 * (time.thread_time() - start)
    retrieved = [i for i in retrieved if index[i] < visible]
    units = retrieved if level == "turn" else [talk.turns[index[i]].session for i in retrieved]
    order = list(dict.fromkeys(units))
    at = [i for i, unit in enumerate(order) if unit in q.gold]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(len(q.gold), 10)))
    row = {f"R@{k}": 100 * sum(i < k for i in at) / len(q.gold) for k in KS}
    row["NDCG@10"] = 100 * sum(1 / math.log2(i + 2) for i in at if i < 10) / ideal
    row["tokens@10"] = sum(len(talk.turns[index[i]].text) // 4 for i in retrieved[:10])
    row["ms"] = spent
    return row


@contextmanager
def open_memory(store: str, embedder: str | None) -> Iterator[Memory]:
    """A memory of its own org on the store named; `sqlite` is a fresh file."""
    with tempfile.TemporaryDirectory() as folder:
        url = {"memory": "memory://", "sqlite": str(Path(folder) / "bench.db")}.get(store, store)
        org = f"bench-{uuid.uuid4().hex[:12]}"
        with Memory(url, org=org, embedder=embedder, worker=False, extract=None) as memory:
            yield memory


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("data", type=Path, nargs="+")
    ap.add_argument("--store", default="sqlite", help="`sqlite` (a fresh file), `memory`, a path or a URL")
    ap.add_argument("--embedder", default="default", help="`default`, `minilm`, `none`, or any other spec")
    ap.add_argument("--only", choices=["memorist", "bm25", "embedding"])
    ap.add_argument("--skip", nargs="*", default=["adversarial"], help="categories left out")
    a = ap.parse_args()
    spec = None if a.embedder == "none" else a.embedder
    rivals: dict[str, Callable[[], Retriever]] = {"bm25": Bm25}
    if a.embedder in ("default", "minilm"):
        plain = WordLlamaEmbedder() if a.embedder == "default" else minilm()
        rivals["embedding"] = lambda: Plain(plain)
    with open_memory(a.store, spec) as memory:
        rivals["memorist"] = lambda: Memorist(memory)
        for path in a.data:
            data = load(path)
            print(f"{data.name}, evidence is {data.level}s; milliseconds are of CPU time", flush=True)
            for name, factory in rivals.items():
                if a.only in (None, name):
                    row = measure(data, factory, set(a.skip))
                    print(f"  {name:10}", "  ".join(f"{key} {value:6.1f}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()

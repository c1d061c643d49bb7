"""Learn the weights of `memorist.recall.sentences` from questions over long documents, through the production path.

    python bench/recall/learn_documents.py [--cv]

Each question of the part `train` is asked of the stored documents, up to the features by which sentences of the first
160 passages are scored. It is a choice among the sentences: those that hold the answer should score above the rest (a
softmax). `--cv` reports in how many questions the answer is within the first 880 and 1,880 tokens of whole passages,
for documents that the weights were fitted without. Prints the weights.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from memorist import Memory
from memorist.engine.recall.hits import PASSAGES
from memorist.engine.recall.recalling import Recalling
from memorist.kinds import FINDABLE
from memorist.recall.rank import CENTRE
from memorist.recall.sentences import WEIGHTS, Passage, features, split
from memorist.records import Chunk
from memorist.runtime import run_blocking

DATA = Path(__file__).parents[2] / "tests" / "data" / "documents"
PENALTY = 0.01
NAMES = list(WEIGHTS)
FOLDS = 5
KEY = FINDABLE["document"].found.key
ROOMS = (880, 1880)
"""What of 1,000 and 2,000 tokens is left for passages."""


class Row(msgspec.Struct):
    """One question: the features of each sentence, whether it holds the answer, and its passage."""

    document: str
    x: Any
    gold: Any
    owner: Any
    held: list[bool]
    """Whether each passage holds the answer."""
    tokens: list[int]


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def rows() -> Iterator[Row]:
    """Run recall up to the features of sentences."""
    questions = [json.loads(line) for line in (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    with Memory("memory://", user="ada", worker=False) as memory:
        for path in sorted(DATA.glob("*.md")):
            memory.documents.add("user:ada", path.read_text(encoding="utf-8"), title=path.stem, source=path.name)
        core = memory._engine._core
        for question in questions:
            if question["part"] != "train":
                continue
            pool = run_blocking(Recalling(core).pool(question["question"], top_k=PASSAGES))
            assert pool is not None
            ranking = pool.ranking()
            best = [pool.entries[place] for place in ranking.order[:PASSAGES]]
            chunks = run_blocking(core.get_many(Chunk, [KEY(e.ns, e.parent, e.seq, e.id) for e in best]))
            raw = ranking.parts.sum(axis=1)[ranking.order[:PASSAGES]] - CENTRE
            passages = [Passage(c.text, c.heading or "", float(r)) for c, r in zip(chunks, raw, strict=True)]
            found = split(passages)
            values = features(question["question"], found, passages, core.shared.embedder.word_vectors)
            answer = plain(question["answer"])
            gold = np.array([answer in plain(text) for text in found.texts])
            yield Row(
                question["document"], np.array([values[name] for name in NAMES]).T, gold, found.owner,
                [answer in plain(p.text) for p in passages], [core.shared.counter.count(p.text) + 2 for p in passages],
            )  # fmt: skip


def fit(given: Sequence[Row], *, steps: int = 120) -> Any:
    """Weights by Adam from zero, the sentences of all questions in one array."""
    some = [row for row in given if row.gold.any()]
    x, gold = np.concatenate([row.x for row in some]), np.concatenate([row.gold for row in some])
    sizes = [len(row.x) for row in some]
    starts = np.cumsum([0, *sizes[:-1]])

    def shares(values: Any) -> Any:
        return values / np.repeat(np.add.reduceat(values, starts), sizes)

    w = m = v = np.zeros(len(NAMES))
    for step in range(1, steps + 1):
        score = x @ w
        share = shares(np.exp(score - np.repeat(np.maximum.reduceat(score, starts), sizes)))
        g = PENALTY * w - x.T @ (shares(share * gold) - share) / len(some)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        w = w - 0.15 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-9)
    return w


def within(row: Row, w: Any, room: int) -> bool:
    """Whether the answer is in the passages that fit, taken by their best sentences."""
    best = np.full(len(row.held), -np.inf)
    np.maximum.at(best, row.owner, row.x @ w)
    for place in np.argsort(-best, kind="stable"):
        if row.tokens[place] <= room:
            room -= row.tokens[place]
            if row.held[place]:
                return True
    return False


def left_out(given: Sequence[Row]) -> list[float]:
    """Per cent of answers within each room, each document fitted without."""
    names = sorted({row.document for row in given})
    found = np.zeros(len(ROOMS))
    for fold in range(FOLDS):
        mine = set(names[fold::FOLDS])
        w = fit([row for row in given if row.document not in mine])
        found += [sum(within(row, w, room) for row in given if row.document in mine) for room in ROOMS]
    return [round(100 * float(value) / len(given), 1) for value in found]


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--cv", action="store_true")
    a = ap.parse_args()
    warnings.simplefilter("ignore")
    given = list(rows())
    w = fit(given)
    if a.cv:
        print("documents left out:", left_out(given))
        used = np.array(list(WEIGHTS.values()))
        print("in use:", [round(100 * sum(within(r, used, room) for r in given) / len(given), 1) for room in ROOMS])
    for name, weight in zip(NAMES, w, strict=True):
        print(f"    {name:22}{weight:6.2f}")


if __name__ == "__main__":
    main()

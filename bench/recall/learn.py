"""Learn the weights of `recollect.recall.weights` from conversations with known evidence.

    python bench/recall/learn.py --data ../shared/bench/dev [--embedder default|minilm|none] [--cv]

Each question is a choice among its candidates: the evidence should score above the rest (a softmax over turns, or over
sessions by their best turn), with a penalty on large weights. Every set counts as a whole, whatever its size. `--cv`
leaves out one conversation at a time and reports what the others' weights find in it: the figure to believe.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import adapter

from recollect.recall.features import columns, features, matrix
from recollect.recall.weights import FIXED, TABLE

SETS = {"locomo": 1.0, "realmem": 0.7, "lme500": 0.3}
"""How much each set counts: by how many conversations and questions stand behind it."""
SKIP = {"adversarial"}
DEPTH = 50
SIGNS = {"asks": -1, "reacts": -1, "second": -1}
"""Features that may only count against a turn; the others in `POSITIVE` only for it."""
FREE = {"long", "user", "short", "length"}


@dataclass
class Row:
    """One question: features of its candidates, the unit (turn or session) of each, and which units are evidence."""

    data: str
    conversation: str
    x: Any
    units: list[str]
    gold: frozenset[str]
    category: str


def rows_of(path: Path, embedder: Any, names: Sequence[str]) -> list[Row]:
    """Run the pipeline up to its features over one set."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    out = []
    for talk in raw["conversations"]:
        turns: list[Any] = [SimpleNamespace(**turn, timestamp=_when(turn["at"])) for turn in talk["turns"]]
        place = {turn.id: i for i, turn in enumerate(turns)}
        unit = {turn.id: turn.id if raw["evidence"] == "turn" else turn.session for turn in turns}
        pipeline = adapter.Pipeline(embedder)
        pipeline.index(turns)
        for q in talk["questions"]:
            if q["category"] in SKIP:
                continue
            asked, vector, allow = pipeline.read(q["text"], _when(q["asked_at"]))
            visible = q["visible_turns"] or len(turns)
            seen = allow if q["visible_turns"] is None else (lambda e, v=visible, at=place: at[e.id] < v)
            keys, similarity = pipeline.scope.candidates(asked, vector, limit=DEPTH, allow=seen)
            if not keys:
                continue
            entries = [pipeline.scope.entries[key] for key in keys]
            frequency = pipeline.scope.lexical.frequency(asked.terms)
            found = features(asked, columns(entries), pipeline.scope.stats, frequency, similarity)
            x = matrix(found, names).astype(np.float32)
            out.append(
                Row(path.stem, talk["id"], x, [unit[e.id] for e in entries], frozenset(q["gold"]), q["category"])
            )
    return out


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


class Problem:
    """All rows end to end, so that one pass of numpy gives loss and gradient."""

    def __init__(self, rows: Sequence[Row]) -> None:
        per_set: dict[str, int] = defaultdict(int)
        for row in rows:
            per_set[row.data] += 1
        xs, self.unit_start, self.query_start = [], [], []
        gold: list[bool] = []
        weight: list[float] = []
        at = 0
        for row in rows:
            order = sorted(range(len(row.units)), key=lambda i: row.units[i])
            flags = [row.units[i] in row.gold for i in order]
            if not any(flags) or all(flags):
                continue
            self.query_start.append(len(self.unit_start))
            weight.append(SETS.get(row.data, 0.5) / per_set[row.data])
            last = None
            for n, i in enumerate(order):
                if row.units[i] != last:
                    last = row.units[i]
                    self.unit_start.append(at + n)
                    gold.append(flags[n])
            xs.append(row.x[order])
            at += len(order)
        self.x = np.concatenate(xs)
        self.gold = np.array(gold)
        self.weight = np.array(weight) / sum(weight)
        self.query_of = np.repeat(np.arange(len(weight)), np.diff([*self.query_start, len(gold)]))
        self.unit_of = np.repeat(np.arange(len(gold)), np.diff([*self.unit_start, at]))

    def gradient(self, w: Any) -> Any:
        """Of the mean negative log-likelihood."""
        score = self.x @ w
        best = np.maximum.reduceat(score, self.unit_start)
        top = np.maximum.reduceat(best, self.query_start)
        e = np.exp(best - top[self.query_of])
        negative = np.add.reduceat(np.where(self.gold, 0, e), self.query_start)[self.query_of]
        count = np.add.reduceat(self.gold.astype(float), self.query_start)
        inverse = np.where(self.gold, 1 / (e + negative), 0)
        pull = np.add.reduceat(inverse, self.query_start)[self.query_of]
        slope = np.where(self.gold, -negative * inverse, e * pull) * (self.weight / count)[self.query_of]
        winner = score == best[self.unit_of]
        return slope[self.unit_of[winner]] @ self.x[winner]


def fit(rows: Sequence[Row], names: Sequence[str], *, steps: int = 130, penalty: float = 1e-3) -> Any:
    """Adam from zero; weights whose sign is known are kept on their side of it."""
    problem = Problem(rows)
    w, m, v = np.zeros(len(names)), np.zeros(len(names)), np.zeros(len(names))
    low = np.array([-np.inf if n in FREE or SIGNS.get(n) == -1 else 0.0 for n in names])
    high = np.array([0.0 if SIGNS.get(n) == -1 else np.inf for n in names])
    for step in range(1, steps + 1):
        g = problem.gradient(w) + penalty * w
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        rate = 0.1 * min(1.0, 2 * (1 - step / (steps + 1)))
        w = np.clip(w - rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-9), low, high)
    return w


def recall_at(rows: Sequence[Row], w: Any, ks: Sequence[int] = (5, 10)) -> list[float]:
    """Share of the evidence in the first k units, in per cent."""
    out = []
    for row in rows:
        order = np.argsort(-(row.x @ w), kind="stable")
        seen = list(dict.fromkeys(row.units[i] for i in order))
        out.append([len(row.gold & set(seen[:k])) / len(row.gold) for k in ks])
    return [round(100 * float(value), 1) for value in np.mean(out, axis=0)]


def report(rows: Sequence[Row], w: Any) -> str:
    sets = dict.fromkeys(row.data for row in rows)
    return "  ".join(f"{s} {'/'.join(map(str, recall_at([r for r in rows if r.data == s], w)))}" for s in sets)


def cross_validate(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Leave one conversation out, and one set out where its conversations hold a single question."""
    out = []
    for data in dict.fromkeys(row.data for row in rows):
        mine = [row for row in rows if row.data == data]
        talks = list(dict.fromkeys(row.conversation for row in mine))
        folds = [set(talks[i :: min(len(talks), 6)]) for i in range(min(len(talks), 6))]
        total = np.zeros(2)
        for fold in folds:
            held = [row for row in mine if row.conversation in fold]
            w = fit([row for row in rows if row.data != data or row.conversation not in fold], names)
            total += np.array(recall_at(held, w)) * len(held)
        out.append(f"{data} {'/'.join(str(round(float(v), 1)) for v in total / len(mine))}")
    return "  ".join(out)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", type=Path, default=Path("../shared/bench/dev"))
    ap.add_argument("--embedder", choices=["default", "minilm", "none"], default="default")
    ap.add_argument("--cv", action="store_true")
    a = ap.parse_args()
    names = [name for name in TABLE if name not in FIXED]
    embedder = {"default": adapter.default, "minilm": adapter.minilm, "none": adapter.lexical}[a.embedder]().embedder
    if embedder is None:
        names = [name for name in names if "cosine" not in name]
    rows = [row for path in sorted(a.data.glob("*.json")) for row in rows_of(path, embedder, names)]
    w = fit(rows, names)
    print(
        "in use:", report(rows, np.array([TABLE[n][{"default": 0, "none": 1, "minilm": 2}[a.embedder]] for n in names]))
    )
    print("fitted:", report(rows, w))
    if a.cv:
        print("left out:", cross_validate(rows, names))
    for name, value in zip(names, w, strict=True):
        print(f'    "{name}": {value:.2f},')


if __name__ == "__main__":
    main()

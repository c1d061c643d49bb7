"""Learn the weights of `memorist.recall.weights` from conversations with known evidence, through the production path.

    python bench/recall/learn.py --data ../shared/bench/dev [--embedder default|minilm|none] [--cv] [--write]

Every question is asked of a stored conversation, up to the features that `memory.recall` would rank by (`Pool`). It is
a choice among its candidates: the evidence should score above the rest (a softmax over turns, or over sessions by
their best turn). Weights are what is expected of a conversation anyway (`PRIOR`), plus what all kinds of talk share,
plus what each kind adds, with a penalty on both, so that a kind that no set teaches falls back to what the others say,
and a feature that no set teaches to what is expected. Weights set by hand (`FIXED`) are part of every score, as in use.
`--cv` reports what weights find in conversations, and in whole sets, that they were fitted without: the figures to
believe.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from datasets import load
from prompt import asked
from stored import SOURCE, USER

from memorist.engine.recall.candidates import Asked
from memorist.engine.recall.recalling import Recalling
from memorist.recall.features import matrix, talk
from memorist.recall.weights import FIXED, TABLE
from memorist.runtime import run_blocking

SETS = {"locomo": 1.0, "realmem": 0.7, "lme500": 0.3, "beam": 0.7}
"""How much each set counts: by how many conversations and questions stand behind it."""
SKIP = {"adversarial"}
DEPTH = 50
KINDS = 3
COLUMNS = {"default": 0, "none": 1, "minilm": 2}
SIGNS = {"asks": -1, "reacts": -1, "second": -1, "user_reacts": -1, "assistant_long": -1}
"""Features that may only count against a turn."""
FREE = {"long", "short", "length", "user_short", "short_gather", "user_asks", "user_gather"}
"""Features that may count either way; all others only for it."""
PRIOR = {
    # Who is asked about says it; reports answer, questions, reactions and words to the other rarely do.
    "speaker": (1.0, 1.0, 1.0), "speaker_first": (0.3, 0.3, 0.3), "first": (0.3, 0.3, 0.3),
    "second": (-0.5, -0.5, -0.5), "asks": (-0.3, -0.3, -0.3), "reacts": (-0.3, -0.3, -0.3), "length": (0.3, 0.3, 0.3),
    # What is asked for is there: a time, a number, a name.
    "times": (0.3, 0.3, 0.3), "when_times": (1.0, 1.0, 1.0), "numbers": (0.5, 0.5, 0.5),
    "names": (0.3, 0.3, 0.3), "name_names": (0.5, 0.5, 0.5),
    # The user's own turns answer a bare question, while an assistant's long answers share words with anything; what a
    # user said in a few words is part of no summary.
    "user": (0.0, 0.0, 0.3), "long": (0.0, 0.0, -0.4), "assistant_long": (0.0, -0.2, -0.4),
    "short_gather": (0.0, 1.0, 1.5),
}  # fmt: skip
"""What a weight is expected to be, by kind of talk, before any conversation is seen; 0 where nothing is said."""
PENALTY, OWN_PENALTY = 1e-3, 4e-3
NAMES = list(TABLE)
LEARNED = np.array([name not in FIXED for name in NAMES])


@dataclass
class Row:
    """One question: features of its candidates, the unit (turn or session) of each, and which units are evidence."""

    data: str
    conversation: str
    x: Any
    units: list[str]
    gold: frozenset[str]
    category: str
    kind: int
    """Which kind of talk: see `memorist.recall.features.talk`."""


def rows_of(path: Path, embedder: str | None) -> Iterator[Row]:
    """Run recall up to its features over one set."""
    data = load(path)
    for conversation, question, store in asked(data, 1.0, embedder, SKIP):
        store.clock.ask(question.asked_at)
        recalling = Recalling(store.memory._core)
        pool = run_blocking(
            recalling.pool(question.text, namespaces=f"user:{USER}", asked=Asked(("message",)), top_k=DEPTH)
        )
        if pool is None:
            continue
        session = {turn.id: turn.session for turn in conversation.turns}
        turns = [store.turn_of[entry.id] for entry in pool.entries[: pool.allowed]]
        units = turns if data.level == "turn" else [session[turn] for turn in turns]
        x = matrix(pool.features(), NAMES)[: pool.allowed].astype(np.float32)
        kind = talk(pool.query, pool.stats)
        yield Row(path.stem, conversation.id, x, units, question.gold, question.category, kind)


def stamped(path: Path, embedder: str | None) -> list[Row]:
    """The rows of a set, made again only when the code that makes them has changed."""
    made = hashlib.blake2b(f"{path}{embedder}{NAMES}".encode(), digest_size=8)
    for file in sorted(
        [*SOURCE.glob("recall/*.py"), *SOURCE.glob("engine/recall/*.py"), *SOURCE.glob("extract/**/*.py")]
    ):
        if file.name not in ("weights.py", "select.py", "passage.py", "hit.py"):
            made.update(file.read_bytes())
    kept = Path(tempfile.gettempdir()) / "memorist-bench" / f"rows-{made.hexdigest()}.pickle"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(list(rows_of(path, embedder))))
    rows: list[Row] = pickle.loads(kept.read_bytes())
    return rows


class Problem:
    """All rows end to end, so that one pass of numpy gives loss and gradient."""

    def __init__(self, rows: Sequence[Row]) -> None:
        per_set: dict[str, int] = defaultdict(int)
        for row in rows:
            per_set[row.data] += 1
        xs, self.unit_start, self.query_start = [], [], []
        gold: list[bool] = []
        weight: list[float] = []
        kinds: list[int] = []
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
            kinds += [row.kind] * len(order)
            at += len(order)
        x, of = np.concatenate(xs), np.array(kinds)
        self.size = len(x)
        self.rows = [np.nonzero(of == kind)[0] for kind in range(KINDS)]
        self.parts = [np.ascontiguousarray(x[rows]) for rows in self.rows]
        self.gold = np.array(gold)
        self.weight = np.array(weight) / sum(weight)
        self.query_of = np.repeat(np.arange(len(weight)), np.diff([*self.query_start, len(gold)]))
        self.unit_of = np.repeat(np.arange(len(gold)), np.diff([*self.unit_start, at]))

    def gradient(self, w: Any) -> Any:
        """Of the mean negative log-likelihood, by the weights of each kind of talk."""
        score = np.empty(self.size, np.float32)
        for kind in range(KINDS):
            score[self.rows[kind]] = self.parts[kind] @ w[kind].astype(np.float32)
        best = np.maximum.reduceat(score, self.unit_start)
        top = np.maximum.reduceat(best, self.query_start)
        e = np.exp(best - top[self.query_of])
        negative = np.add.reduceat(np.where(self.gold, 0, e), self.query_start)[self.query_of]
        count = np.add.reduceat(self.gold.astype(float), self.query_start)
        inverse = np.where(self.gold, 1 / (e + negative), 0)
        pull = np.add.reduceat(inverse, self.query_start)[self.query_of]
        slope = np.where(self.gold, -negative * inverse, e * pull) * (self.weight / count)[self.query_of]
        winner = score == best[self.unit_of]
        out = np.zeros_like(w)
        for kind in range(KINDS):
            mine = winner[self.rows[kind]]
            out[kind] = slope[self.unit_of[self.rows[kind][mine]]] @ self.parts[kind][mine]
        return out


def fit(rows: Sequence[Row], column: int = 0, *, steps: int = 160) -> Any:
    """Weights by kind of talk: Adam from `PRIOR`; those whose sign is known are kept on their side of it."""
    problem = Problem(rows)
    size = len(NAMES)
    prior = np.where(LEARNED, np.array([PRIOR.get(name, (0.0,) * KINDS) for name in NAMES]).T, in_use(column))
    low = np.array([-np.inf if n in FREE or n in FIXED or SIGNS.get(n) == -1 else 0.0 for n in NAMES])
    high = np.array([0.0 if SIGNS.get(n) == -1 else np.inf for n in NAMES])
    shared, own = np.zeros(size), np.zeros((KINDS, size))
    m, v = np.zeros((KINDS + 1, size)), np.zeros((KINDS + 1, size))
    for step in range(1, steps + 1):
        by_kind = problem.gradient(np.clip(prior + shared + own, low, high)) * LEARNED
        g = np.vstack([by_kind.sum(0) + PENALTY * shared, by_kind + OWN_PENALTY * own])
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        rate = 0.1 * min(1.0, 2 * (1 - step / (steps + 1)))
        move = rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-9)
        shared = shared - move[0]
        own = np.clip(prior + shared + own - move[1:], low, high) - shared - prior
    return prior + shared + own


def recall_at(rows: Sequence[Row], w: Any, ks: Sequence[int] = (5, 10)) -> list[float]:
    """Share of the evidence in the first k units, in per cent."""
    out = []
    for row in rows:
        order = np.argsort(-(row.x @ w[row.kind]), kind="stable")
        seen = list(dict.fromkeys(row.units[i] for i in order))
        out.append([len(row.gold & set(seen[:k])) / len(row.gold) for k in ks])
    return [round(100 * float(value), 1) for value in np.mean(out, axis=0)]


def report(rows: Sequence[Row], w: Any) -> str:
    sets = dict.fromkeys(row.data for row in rows)
    return "  ".join(f"{s} {'/'.join(map(str, recall_at([r for r in rows if r.data == s], w)))}" for s in sets)


def by_category(rows: Sequence[Row], w: Any) -> str:
    groups = sorted({(row.data, row.category) for row in rows})
    return "\n".join(
        f"  {data:8} {category:28}"
        + "/".join(map(str, recall_at([r for r in rows if (r.data, r.category) == (data, category)], w)))
        for data, category in groups
    )


def left_out(rows: Sequence[Row], folds: int, column: int) -> str:
    """What weights find in conversations they were fitted without; 0 folds leave out the whole set at once."""
    out = []
    for data in dict.fromkeys(row.data for row in rows):
        mine = [row for row in rows if row.data == data]
        talks = list(dict.fromkeys(row.conversation for row in mine))
        random.Random(7).shuffle(talks)
        parts = min(len(talks), folds) or 1
        total = np.zeros(2)
        for fold in [set(talks[i::parts]) for i in range(parts)]:
            held = [row for row in mine if row.conversation in fold]
            w = fit([row for row in rows if row.data != data or row.conversation not in fold], column)
            total += np.array(recall_at(held, w)) * len(held)
        out.append(f"{data} {'/'.join(str(round(float(v), 1)) for v in total / len(mine))}")
    return "  ".join(out)


def in_use(column: int) -> Any:
    """The weights of the table, as `fit` gives them."""
    return np.array([[TABLE[name][kind][column] for name in NAMES] for kind in range(KINDS)])


def use(w: Any, column: int) -> None:
    """Rank by fitted weights from now on, in this process."""
    for place, name in enumerate(NAMES):
        made = [list(triple) for triple in TABLE[name]]
        for kind in range(KINDS):
            made[kind][column] = float(w[kind][place])
        first, second, third = (tuple(triple) for triple in made)
        TABLE[name] = (first, second, third)


def write(w: Any, column: int) -> None:
    """Put one column of fitted weights into `memorist/recall/weights.py`."""
    path = SOURCE / "recall" / "weights.py"
    lines = []
    for name, triples in TABLE.items():
        made = [list(triple) for triple in triples]
        if name not in FIXED:
            for kind in range(KINDS):
                made[kind][column] = float(round(w[kind][NAMES.index(name)], 2)) + 0.0
        lines.append(f'    "{name}": ({", ".join(str(tuple(triple)) for triple in made)}),\n')
    text = path.read_text()
    path.write_text(
        re.sub(r"(?s)(TABLE: .*? = \{\n).*?(\n\}\n)", lambda m: m[1] + "".join(lines).rstrip("\n") + m[2], text)
    )


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", type=Path, default=Path("../shared/bench/dev"))
    ap.add_argument("--embedder", choices=list(COLUMNS), default="default")
    ap.add_argument("--cv", action="store_true")
    ap.add_argument("--write", action="store_true", help="put the weights into the table")
    ap.add_argument("--without", default="", help="fit without this set")
    a = ap.parse_args()
    column = COLUMNS[a.embedder]
    paths = sorted(a.data.glob("*.json"))
    rows = [row for path in paths for row in stamped(path, None if a.embedder == "none" else a.embedder)]
    print(
        "candidates:",
        {
            s: round(100 * np.mean([len(r.gold & set(r.units)) / len(r.gold) for r in rows if r.data == s]), 1)
            for s in SETS
        },
    )
    print("in use:  ", report(rows, in_use(column)), flush=True)
    w = fit([row for row in rows if row.data != a.without], column)
    print("fitted:  ", report(rows, w), flush=True)
    print(by_category(rows, w))
    if a.cv:
        print("by conversation:", left_out(rows, 6, column), flush=True)
        print("by set:         ", left_out(rows, 0, column), flush=True)
    if a.write:
        write(w, column)
    else:
        for place, name in enumerate(NAMES):
            print(f"    {name:18}", "  ".join(f"{w[kind][place]:6.2f}" for kind in range(KINDS)))


if __name__ == "__main__":
    main()

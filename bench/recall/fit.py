"""Fit the weights of recall and their calibration, and write `src/memorist/recall/weights.json`.

    python bench/recall/fit.py FOLDER [--date 2026-11-18] [--write] [--ablate] [--measure]

FOLDER holds the development files that `bench/DATA.md` names. Weights are fitted on six of them alone (`FIT`); LoCoMo,
BEAM and PersonaMem are measured and never fitted on. Every question goes through the production path up to the pool
that `memory.recall` would rank. A question is a choice among its candidates: the evidence should score above the rest
(a softmax over turns, or over sessions by their best turn). The calibration is a logistic regression in two steps:
does the question have an answer here at all (questions of other people's memories, questions of other sets and small
talk have none), and is this candidate it. Small memories (`SMALL`) count for both steps. The floors of contexts are the
highest that cost at most a point of evidence. The same data gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from pools import Case, cached

from memorist.recall.features import FEATURES
from memorist.recall.ranking import Weights, calibrate, evidence_of, instructions, likelihood_of, newest_first, rank

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
FITTED_SETS = {
    "lme500.json": 1.0, "lme500.named": 1.0, "realmem.json": 1.0, "vehicle.json": 1.5, "memorycode.json": 0.7,
    "proactive.json": 1.0, "factconsolidation.json": 0.5,
}  # fmt: skip
"""The sets that weights are fitted on, and how much each counts."""
SMALL_SETS = {
    "lme500.small": 0.5, "realmem.small": 0.5, "vehicle.small": 0.5, "proactive.small": 0.5, "memorycode.small": 0.3,
}  # fmt: skip
"""Small memories, cut from the same files; ranking is not fitted on them."""
MEASURE_ONLY = ("locomo.json", "beam.json", "personamem2.json")
NO_STRANGERS = {"memorycode", "factconsolidation"}
"""Sets whose questions have answers in the other conversations too."""
INSTRUCTED_SET = "memorycode"
"""The set whose evidence is standing instructions, which a request need not share a word with."""
UNANSWERABLE = {"stranger": 0.4, "foreign": 0.4, "chatter": 0.2}
"""Questions of other conversations, questions of other sets, and small talk, for which nothing should be found, and how
much each counts; the questions of a conversation itself count 1."""
FIXED_WEIGHTS = {"confidence": 1.0}
"""Weights set by hand: no set has doubtful or superseded records."""
HELD_OUT_EVERY = 3
"""Every third conversation is held out when figures of unseen conversations are reported."""
STEPS, PENALTY, LEARNING_RATE = 150, 2e-3, 0.15
LEVELS = tuple(round(step / 100, 2) for step in range(100))
HIT_LEVELS = (0.0, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1)
"""The floors to choose from: of a question, and of each hit."""
QUESTION_POINTS, HIT_POINTS = 0.75, 0.25
"""How much evidence in 2,000 tokens, in points, the floors of questions and of hits may cost."""
SIZES = (10, 30, 100, 400, 2_000)
"""The calibration of memories with fewer entries than these is shown separately."""
DEPTH = 20
"""How many of the best candidates of a question the calibration looks at."""
WEIGHTS = Path(__file__).parents[2] / "src/memorist/recall/weights.json"


@dataclass
class Row:
    """A question with the features of its candidates."""

    name: str
    case: Case
    x: Floats
    held_out: bool
    ranked: tuple[Floats, Floats, NDArray[np.int64], list[str]] = field(init=False)
    """How probably each candidate has to do with it; scores, tokens and units, best first. For choosing floors."""

    @property
    def unanswerable(self) -> str:
        """Which kind of unanswerable question it is; empty for one of the conversation itself."""
        return self.case.category if self.case.category in UNANSWERABLE and not self.excluded else ""

    @property
    def excluded(self) -> bool:
        """Whether it is not known if the question has an answer here."""
        shared = self.case.category == "stranger" and self.name.partition(".")[0] in NO_STRANGERS
        return shared or self.case.category == "adversarial"


def rows_of(folder: Path, name: str, *, vectors: bool) -> list[Row]:
    """The questions of one set."""
    rows, talks = [], {}
    for case in cached(folder / name):
        if case.pool is None:
            continue
        if not vectors:
            case.pool.similarity = None
        number = talks.setdefault(case.conversation, len(talks))
        rows.append(Row(name, case, matrix(case), number % HELD_OUT_EVERY == HELD_OUT_EVERY - 1))
    return rows


def matrix(case: Case) -> Floats:
    """The features of a case as columns in the order of `FEATURES`."""
    assert case.pool is not None
    values = case.pool.features()
    zero = np.zeros(len(case.pool.entries))
    return np.array([values.get(name, zero) for name in FEATURES]).T


def columns(row: Row) -> dict[str, Floats]:
    """The features of a question's candidates by name."""
    return {name: row.x[:, column] for column, name in enumerate(FEATURES)}


class Problem:
    """All questions end to end, so that one pass of numpy gives the gradient."""

    def __init__(self, rows: Sequence[Row]) -> None:
        answerable = [row for row in rows if row.case.gold & set(row.case.units)]
        per_set = {name: sum(row.name == name for row in answerable) for name in FITTED_SETS}
        parts, units, questions, gold, weights, at = [], [], [], [], [], 0
        for row in answerable:
            order = sorted(range(len(row.case.units)), key=lambda i: row.case.units[i])
            last, starts, flags = None, [], []
            for number, candidate in enumerate(order):
                if row.case.units[candidate] != last:
                    last = row.case.units[candidate]
                    starts.append(at + number)
                    flags.append(last in row.case.gold)
            if all(flags):
                continue
            questions.append(len(units))
            units += starts
            gold += flags
            weights.append(FITTED_SETS[row.name] / per_set[row.name])
            parts.append(row.x[order])
            at += len(order)
        self.x, self.gold = np.concatenate(parts), np.array(gold)
        self.units, self.questions = np.array(units), np.array(questions)
        self.weights = np.array(weights) / sum(weights)
        self.question_of = np.repeat(np.arange(len(weights)), np.diff([*questions, len(gold)]))
        self.unit_of = np.repeat(np.arange(len(gold)), np.diff([*units, at]))
        self.counts = np.add.reduceat(self.gold.astype(float), self.questions)

    def gradient(self, w: Floats) -> Floats:
        """Of the mean negative log-likelihood."""
        score = self.x @ w
        best = np.maximum.reduceat(score, self.units)
        top = np.maximum.reduceat(best, self.questions)
        e = np.exp(best - top[self.question_of])
        negative = np.add.reduceat(np.where(self.gold, 0, e), self.questions)[self.question_of]
        inverse = np.where(self.gold, 1 / (e + negative), 0)
        pull = np.add.reduceat(inverse, self.questions)[self.question_of]
        slope = np.where(self.gold, -negative * inverse, e * pull)
        slope = slope * (self.weights / self.counts)[self.question_of]
        winner = score == best[self.unit_of]
        result: Floats = slope[self.unit_of[winner]] @ self.x[winner]
        return result


def fit_weights(rows: Sequence[Row], without: Sequence[str] = ()) -> dict[str, float]:
    """Weights of the features, none below zero, by Adam."""
    problem = Problem(rows)
    learned = np.array([name not in FIXED_WEIGHTS and name not in without for name in FEATURES])
    w = np.where(learned, 0.3, [FIXED_WEIGHTS.get(name, 0.0) for name in FEATURES])
    m, v = np.zeros(len(w)), np.zeros(len(w))
    for step in range(1, STEPS + 1):
        g = (problem.gradient(w) + PENALTY * w) * learned
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        rate = LEARNING_RATE * min(1.0, 2 * (1 - step / (STEPS + 1)))
        move = rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-9)
        w = np.where(learned, np.maximum(w - move, 0.0), w)
    return {name: round(float(value), 2) for name, value in zip(FEATURES, w, strict=True) if name not in without}


def scores(row: Row, weights: dict[str, float]) -> Floats:
    """The raw scores of a question's candidates, the newest of equal statements first."""
    assert row.case.pool is not None
    raw = row.x @ np.array([weights.get(name, 0.0) for name in FEATURES])
    return raw + newest_first(row.case.pool, raw)


def logistic(x: Floats, y: Floats, weight: Floats, penalty: float = 1e-3, offset: float | Floats = 0.0) -> Floats:
    """A weighted logistic regression by Newton's method; `offset` is a part of the log-odds that is not fitted."""
    w = np.zeros(x.shape[1])
    weight = weight / weight.sum()
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(x @ w + offset, -30, 30)))
        g = x.T @ (weight * (p - y)) + penalty * w
        h = (x * (weight * p * (1 - p))[:, None]).T @ x + penalty * np.eye(len(w))
        w = w - np.linalg.solve(h, g)
    return w


def fit_calibration(rows: Sequence[Row], weights: dict[str, float]) -> Weights:
    """Does the question have an answer here, and is a candidate of an answerable question relevant?"""
    xs, ys, ws = [], [], []
    signals, wishes, weight = [], [], []
    answered = [row for row in rows if not row.excluded and row.case.gold & set(row.case.units)]
    judged_rows = [*answered, *(row for row in rows if row.unanswerable)]
    sizes = Counter((row.name, row.unanswerable) for row in judged_rows)
    for row in judged_rows:
        case, raw = row.case, scores(row, weights)
        assert case.pool is not None
        values = columns(row)
        signals.append(evidence_of(case.pool, values))
        wishes.append(float(instructions(values, raw).max(initial=0.0)))
        share = {**FITTED_SETS, **SMALL_SETS}[row.name] / sizes[row.name, row.unanswerable]
        weight.append(share * UNANSWERABLE.get(row.unanswerable, 1.0))
        if not row.unanswerable:
            likely = likelihood_of(case.pool, raw)
            for candidate in judged(row, raw):
                xs.append([float(value[candidate]) for value in likely.values()])
                ys.append(float(case.units[candidate] in case.gold))
                ws.append(share)
    names = list(signals[0])
    x, by = np.array([list(row.values()) for row in signals]), np.array(weight)
    answers = np.array([0.0 if row.unanswerable else 1.0 for row in judged_rows])
    instructed = np.array([row.name.partition(".")[0] == INSTRUCTED_SET for row in judged_rows]) & (answers > 0)
    scale = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    topical = ~instructed
    w = logistic((x / scale)[topical], answers[topical], by[topical]) / scale
    wish = np.array(wishes)[:, None]
    wishful = instructed | (answers == 0)
    w_wish = logistic(wish[wishful], answers[wishful], by[wishful], offset=(x @ w)[wishful])
    h = logistic(np.array(xs), np.array(ys), np.array(ws))
    return Weights(
        weights,
        {name: round(float(value), 3) for name, value in zip([*names, "instructions"], [*w, *w_wish], strict=True)},
        {name: round(float(value), 3) for name, value in zip(likely, h, strict=True)},
        {"question": 0.0, "hit": 0.0},
    )


def judged(row: Row, raw: Floats, units: Sequence[str] | None = None) -> list[int]:
    """The best candidates; of a session the best one, as the evidence does not say which of its turns counts."""
    chosen: Sequence[str] = row.case.units if units is None else units
    places: dict[str, int] = {}
    for candidate in np.argsort(-raw, kind="stable").tolist():
        places.setdefault(chosen[int(candidate)], candidate)
        if len(places) == DEPTH:
            break
    return list(places.values())


def figures(
    rows: Sequence[Row], weights: dict[str, float], only: Callable[[Row], bool] = lambda row: True
) -> dict[str, float]:
    """Evidence found, in per cent."""
    out: dict[str, list[float]] = {}
    for row in rows:
        case = row.case
        if case.category in UNANSWERABLE or row.excluded or not only(row):
            continue
        order = np.argsort(-scores(row, weights), kind="stable").tolist()
        units = list(dict.fromkeys(case.units[candidate] for candidate in order))
        spent = np.cumsum([max(1, len(case.texts[candidate]) // 4) for candidate in order])
        within_budget = order[: int((spent <= 2000).sum())]
        inside = {case.units[candidate] for candidate in within_budget}
        if not case.gold:
            text = " ".join(case.texts[candidate] for candidate in within_budget).lower()
            out.setdefault("two hops, answer in 2,000 tokens", []).append(any(a.lower() in text for a in case.answers))
            continue
        for k in (1, 5, 10):
            out.setdefault(f"R@{k}", []).append(len(case.gold & set(units[:k])) / len(case.gold))
        out.setdefault("in 2,000 tokens", []).append(len(case.gold & inside) / len(case.gold))
        if case.any_of:
            out.setdefault("pairs @10", []).append(float(np.mean([bool(g & set(units[:10])) for g in case.any_of])))
            out.setdefault("pairs in 2,000 tokens", []).append(float(np.mean([bool(g & inside) for g in case.any_of])))
        if case.stale:
            first = [
                min([units.index(u) for u in some if u in units] or [len(units)]) for some in (case.gold, case.stale)
            ]
            out.setdefault("newest first", []).append(first[0] < first[1])
    return {name: round(100 * float(np.mean(values)), 1) for name, values in out.items()}


def calibration_figures(rows: Sequence[Row], table: Weights) -> dict[str, float]:
    """Expected calibration error over the ten best of each question, unanswerable ones among them; and the same for
    memories by their number of entries."""
    by_size: dict[str, list[tuple[float, bool]]] = {}
    for row in rows:
        if row.excluded or not (row.unanswerable or row.case.gold):
            continue
        assert row.case.pool is not None
        _, score, _, units = ranked(row, table)
        fewer = next((size for size in SIZES if row.case.pool.stats.entries < size), None)
        judgements = [
            (float(score[candidate]), units[candidate] in row.case.gold) for candidate in judged(row, score, units)[:10]
        ]
        for name in ("", f", fewer than {fewer:,} entries" if fewer else f", {SIZES[-1]:,} entries and more"):
            by_size.setdefault(f"expected calibration error{name}", []).extend(judgements)
    return {name: calibration_error(judgements) for name, judgements in sorted(by_size.items())}


def calibration_error(judgements: Sequence[tuple[float, bool]]) -> float:
    """The mean difference between the stated and the true share of relevant hits, in ten bins of scores."""
    stated, truth = np.array([p for p, _ in judgements]), np.array([float(y) for _, y in judgements])
    bins = np.minimum((stated * 10).astype(int), 9)
    error = sum(
        abs(truth[bins == b].mean() - stated[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist())
    )
    return round(float(error), 3)


def sent_flags(row: Row, floors: dict[str, float]) -> Flags:
    """Which candidates of a question are sent in 2,000 tokens."""
    related, score, tokens, _ = row.ranked
    above: Flags = (score >= floors["hit"]) & (related >= floors["question"])
    return above & (np.cumsum(np.where(above, tokens, 0)) <= 2000)


def evidence_sent(rows: Sequence[Row], floors: dict[str, float]) -> dict[str, float]:
    """The evidence that is sent in 2,000 tokens, in per cent by set."""
    shares: dict[str, list[float]] = {}
    for row in rows:
        if row.unanswerable or row.excluded or not row.case.gold:
            continue
        units = row.ranked[3]
        inside = {units[candidate] for candidate in np.nonzero(sent_flags(row, floors))[0].tolist()}
        shares.setdefault(row.name, []).append(len(row.case.gold & inside) / len(row.case.gold))
    return {name: 100 * float(np.mean(values)) for name, values in shares.items()}


def choose_floors(rows: Sequence[Row], table: Weights) -> Weights:
    """The table with the highest floors that keep all but a point of the evidence, each set counting once."""
    for row in rows:
        row.ranked = ranked(row, table)
    whole = evidence_sent(rows, {"question": 0.0, "hit": 0.0})

    def lost(question: float, hit: float) -> float:
        with_floor = evidence_sent(rows, {"question": question, "hit": hit})
        return float(np.mean([max(0.0, whole[name] - with_floor[name]) for name in whole]))

    question = max(level for level in LEVELS if lost(level, 0.0) <= QUESTION_POINTS)
    hit = max(level for level in HIT_LEVELS if lost(question, level) <= QUESTION_POINTS + HIT_POINTS)
    return replace(table, floors={"question": question, "hit": hit})


def ranked(row: Row, table: Weights) -> tuple[Floats, Floats, NDArray[np.int64], list[str]]:
    """How probably each candidate has to do with a question; scores, tokens and units, best first."""
    case = row.case
    assert case.pool is not None
    raw = scores(row, table.features)
    related, score = calibrate(case.pool, columns(row), raw, table)
    order = np.argsort(-raw, kind="stable").tolist()
    tokens = np.array([max(1, len(case.texts[candidate]) // 4) for candidate in order], np.int64)
    return related[order], score[order], tokens, [case.units[candidate] for candidate in order]


def report_floors(rows: Sequence[Row], table: Weights, title: str) -> None:
    """What the floors keep, and what they let through."""
    for row in rows:
        row.ranked = ranked(row, table)
    without, with_floor = evidence_sent(rows, {"question": 0.0, "hit": 0.0}), evidence_sent(rows, table.floors)
    print(f"  {title}: floors {table.floors}, evidence in 2,000 tokens without and with them:")
    print("    " + ", ".join(f"{name} {without[name]:.1f} {with_floor[name]:.1f}" for name in without))
    for kind in (*UNANSWERABLE, ""):
        tokens: dict[str, list[int]] = {}
        for row in rows:
            if (row.unanswerable == kind and kind) or (not kind and row.unanswerable):
                tokens.setdefault(row.name, []).append(int(row.ranked[2][sent_flags(row, table.floors)].sum()))
        every = [number for numbers in tokens.values() for number in numbers]
        if every:
            share, median, most = np.mean(np.array(every) > 0), np.median(every), np.percentile(every, 95)
            by = ", ".join(f"{name} {100 * np.mean(np.array(numbers) > 0):.0f}" for name, numbers in tokens.items())
            print(f"    {kind or 'all of these'}: {100 * share:.1f} % get something ({by})")
            print(f"    {'':12}  median {median:.0f}, 95 % up to {most:.0f} tokens")
    for kind in UNANSWERABLE:
        pools = [row.case.pool for row in rows if row.unanswerable == kind and row.case.pool is not None]
        if pools:
            hits = np.mean([rank(pool, table).findable.any() for pool in pools])
            print(f"    {kind}: plain recall returns something for {100 * hits:.1f} %")


def fingerprint(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the weights were fitted on."""
    names = dict.fromkeys(f"{Path(name).stem}.json" for name in FITTED_SETS)
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", type=Path)
    ap.add_argument("--date", default="2026-11-18")
    ap.add_argument("--write", action="store_true", help="write the shipped weights; otherwise they are printed")
    ap.add_argument("--check", action="store_true", help="compare the rebuilt weights with the shipped ones")
    ap.add_argument("--ablate", action="store_true", help="fit without each feature in turn")
    ap.add_argument("--measure", action="store_true", help="also measure the sets that are never fitted on")
    a = ap.parse_args()
    tables = {}
    for kind in ("default", "none"):
        vectors = kind == "default"
        sets = {name: rows_of(a.folder, name, vectors=vectors) for name in FITTED_SETS}
        every = [row for rows in sets.values() for row in rows]
        few = [row for name in SMALL_SETS for row in rows_of(a.folder, name, vectors=vectors)]
        tables[kind] = choose_floors(every, fit_calibration([*every, *few], fit_weights(every)))
        print(f"# {kind}: {tables[kind].features}\n  answer here: {tables[kind].evidence}\n  hit: {tables[kind].hit}")
        training = [row for row in every if not row.held_out]
        few_seen = [row for row in few if not row.held_out]
        table = choose_floors(training, fit_calibration([*training, *few_seen], fit_weights(training)))
        print("  conversations left out of the fit, then all:")
        for name, rows in sets.items():
            print(f"  {name:24} {figures(rows, table.features, lambda row: row.held_out)}")
            print(f"  {'':24} {figures(rows, tables[kind].features)}", flush=True)
        unseen = [row for row in every if row.held_out]
        few_unseen = [row for row in few if row.held_out]
        print(f"  held out: {calibration_figures(unseen, table)}")
        print(f"  held out, with small memories: {calibration_figures([*unseen, *few_unseen], table)}", flush=True)
        report_floors(unseen, table, "held out")
        report_floors(few_unseen, table, "held out, small memories")
        report_floors(every, tables[kind], "all")
        if a.measure and vectors:
            for name in MEASURE_ONLY:
                rows = rows_of(a.folder, name, vectors=True)
                print(f"  {name:24} {figures(rows, tables[kind].features)} {calibration_figures(rows, tables[kind])}")
                report_floors(rows, tables[kind], name)
        for feature in ("", *FEATURES) if a.ablate else ():
            if feature not in FIXED_WEIGHTS:
                less = fit_weights(every, [feature]) if feature else tables[kind].features
                by = {name: figures(rows, less) for name, rows in sets.items()}
                cells = (f"{row['R@10']:.1f} / {row['in 2,000 tokens']:.1f}" for row in by.values())
                print(f"  | {feature or '(nothing)'} | {' | '.join(cells)} |", flush=True)
    origin = {
        "command": f"make recall-fit DATA=FOLDER (python bench/recall/fit.py FOLDER --date {a.date} --write)",
        "date": a.date,
        "data": fingerprint(a.folder),
    }
    body = {
        "made": origin,
        "tables": {k: msgspec.to_builtins(table) for k, table in tables.items()},
    }
    text = json.dumps(body, indent=1) + "\n"
    if a.check:
        same = text.encode() == WEIGHTS.read_bytes()
        print(
            "the shipped weights are rebuilt byte for byte"
            if same
            else "the rebuilt weights differ from the shipped ones"
        )
        sys.exit(0 if same else 1)
    if a.write:
        WEIGHTS.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()

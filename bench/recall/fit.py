"""Fit the weights of recall and their calibration, and write `src/memorist/recall/weights.json`.

    python bench/recall/fit.py FOLDER [--date 2026-11-17] [--write] [--ablate] [--measure]

FOLDER holds the development files that `bench/DATA.md` names. Weights are fitted on six of them alone (`FIT`); LoCoMo,
BEAM and PersonaMem are measured and never fitted on. Every question goes through the production path up to the pool
that `memory.recall` would rank. A question is a choice among its candidates: the evidence should score above the rest
(a softmax over turns, or over sessions by their best turn). The calibration is a logistic regression in two steps:
does the question have an answer here at all (questions of other people's memories have none), and is this candidate
it. The same data gives the same bytes.
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

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from pools import Case, cached

from memorist.recall.features import FEATURES
from memorist.recall.hit import DEFAULT_FLOOR, LEAST_BEST_SCORE
from memorist.recall.ranking import Weights, calibrate, evidence_of, newest_first

Floats = NDArray[np.float64]
FIT = {
    "lme500.json": 1.0, "lme500.named": 1.0, "realmem.json": 1.0, "vehicle.json": 1.5, "memorycode.json": 0.7,
    "proactive.json": 1.0, "factconsolidation.json": 0.5,
}  # fmt: skip
"""The sets that weights are fitted on, and how much each counts."""
MEASURE_ONLY = ("locomo.json", "beam.json", "personamem2.json")
NO_STRANGERS = {"memorycode.json", "factconsolidation.json"}
"""Sets whose questions have answers in the other conversations too."""
MEASURED = ("foreign", "chatter")
"""Unanswerable questions that floors are measured on, and the calibration does not see."""
UNANSWERABLE = ("stranger", *MEASURED)
"""Questions of other conversations, questions of other sets, and small talk: nothing should be found for them."""
FIXED = {"confidence": 1.0}
"""Weights set by hand: no set has doubtful or superseded records."""
HELD_OUT = 3
"""Every third conversation is held out when figures of unseen conversations are reported."""
STEPS, PENALTY, RATE = 150, 2e-3, 0.15
LEVELS = (
    0.0,
    0.0001,
    0.0002,
    0.0005,
    0.001,
    0.002,
    0.005,
    0.01,
    0.015,
    0.02,
    0.03,
    0.04,
    0.05,
    0.06,
    0.08,
    0.1,
    0.15,
    0.2,
)
"""The floors to choose from."""
FLOOR_POINTS = 1.0
"""How much evidence in 2,000 tokens, in points, the floors of contexts may cost."""
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
    ranked: tuple[Floats, NDArray[np.int64], list[str]] = field(init=False)
    """Scores, tokens and units of its candidates, best first, while floors are chosen."""


def rows_of(folder: Path, name: str, *, vectors: bool) -> list[Row]:
    """The questions of one set."""
    rows, talks = [], {}
    for case in cached(folder / name):
        if case.pool is None:
            continue
        if not vectors:
            case.pool.similarity = None
        number = talks.setdefault(case.conversation, len(talks))
        rows.append(Row(name, case, matrix(case), number % HELD_OUT == HELD_OUT - 1))
    return rows


def matrix(case: Case) -> Floats:
    """The features of a case as columns in the order of `FEATURES`."""
    assert case.pool is not None
    values = case.pool.features()
    zero = np.zeros(len(case.pool.entries))
    return np.array([values.get(name, zero) for name in FEATURES]).T


class Problem:
    """All questions end to end, so that one pass of numpy gives the gradient."""

    def __init__(self, rows: Sequence[Row]) -> None:
        answerable = [row for row in rows if row.case.gold & set(row.case.units)]
        per_set = {name: sum(row.name == name for row in answerable) for name in FIT}
        parts, units, questions, gold, weights, at = [], [], [], [], [], 0
        for row in answerable:
            order = sorted(range(len(row.case.units)), key=lambda i: row.case.units[i])
            last, starts, flags = None, [], []
            for number, place in enumerate(order):
                if row.case.units[place] != last:
                    last = row.case.units[place]
                    starts.append(at + number)
                    flags.append(last in row.case.gold)
            if all(flags):
                continue
            questions.append(len(units))
            units += starts
            gold += flags
            weights.append(FIT[row.name] / per_set[row.name])
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
    learned = np.array([name not in FIXED and name not in without for name in FEATURES])
    w = np.where(learned, 0.3, [FIXED.get(name, 0.0) for name in FEATURES])
    m, v = np.zeros(len(w)), np.zeros(len(w))
    for step in range(1, STEPS + 1):
        g = (problem.gradient(w) + PENALTY * w) * learned
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        rate = RATE * min(1.0, 2 * (1 - step / (STEPS + 1)))
        move = rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-9)
        w = np.where(learned, np.maximum(w - move, 0.0), w)
    return {name: round(float(value), 2) for name, value in zip(FEATURES, w, strict=True) if name not in without}


def scores(row: Row, weights: dict[str, float]) -> Floats:
    """The raw scores of a question's candidates, the newest of equal statements first."""
    assert row.case.pool is not None
    raw = row.x @ np.array([weights.get(name, 0.0) for name in FEATURES])
    return raw + newest_first(row.case.pool, raw)


def logistic(x: Floats, y: Floats, weight: Floats, penalty: float = 1e-3) -> Floats:
    """A weighted logistic regression by Newton's method."""
    w = np.zeros(x.shape[1])
    weight = weight / weight.sum()
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        g = x.T @ (weight * (p - y)) + penalty * w
        h = (x * (weight * p * (1 - p))[:, None]).T @ x + penalty * np.eye(len(w))
        w = w - np.linalg.solve(h, g)
    return w


def fit_calibration(rows: Sequence[Row], weights: dict[str, float]) -> Weights:
    """Does the question have an answer here, and is a candidate of an answerable question relevant?"""
    evidence, answers, weight = [], [], []
    xs, ys, ws = [], [], []
    judged_rows = [row for row in rows if row.case.category not in MEASURED]
    sizes = Counter((row.name, row.case.category in UNANSWERABLE) for row in judged_rows)
    for row in judged_rows:
        case, raw = row.case, scores(row, weights)
        assert case.pool is not None
        stranger = case.category in UNANSWERABLE
        if (case.category == "stranger" and row.name in NO_STRANGERS) or (
            not stranger and not case.gold & set(case.units)
        ):
            continue
        values = dict(zip(FEATURES, row.x.T, strict=True))
        evidence.append(evidence_of(case.pool, values, raw))
        answers.append(0.0 if stranger else 1.0)
        same = sizes[row.name, stranger]
        weight.append(FIT[row.name] / same * (1.0 if stranger else 0.7))
        if not stranger:
            for place in judged(row, raw):
                xs.append([1.0, raw[place], raw[place] - raw.max()])
                ys.append(float(case.units[place] in case.gold))
                ws.append(FIT[row.name] / same)
    names = list(evidence[0])
    w = logistic(np.array([[one[name] for name in names] for one in evidence]), np.array(answers), np.array(weight))
    h = logistic(np.array(xs), np.array(ys), np.array(ws))
    return Weights(
        weights,
        {name: round(float(value), 3) for name, value in zip(names, w, strict=True)},
        {name: round(float(value), 3) for name, value in zip(("constant", "score", "behind"), h, strict=True)},
    )


def judged(row: Row, raw: Floats) -> list[int]:
    """The best candidates; of a session the best one, as the evidence does not say which of its turns counts."""
    places: dict[str, int] = {}
    for place in np.argsort(-raw, kind="stable").tolist():
        places.setdefault(row.case.units[place], place)
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
        if case.category in (*UNANSWERABLE, "adversarial") or not only(row):
            continue
        order = np.argsort(-scores(row, weights), kind="stable").tolist()
        units = list(dict.fromkeys(case.units[place] for place in order))
        spent = np.cumsum([max(1, len(case.texts[place]) // 4) for place in order])
        sent = order[: int((spent <= 2000).sum())]
        inside = {case.units[place] for place in sent}
        if not case.gold:
            text = " ".join(case.texts[place] for place in sent).lower()
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


def calibration_figures(rows: Sequence[Row], table: Weights, floor: float) -> dict[str, float]:
    """Expected calibration error over the ten best of each question, and how often a stranger gets a hit."""
    p, y, false, kept, held = [], [], [], [], []
    for row in rows:
        case, stranger = row.case, row.case.category in UNANSWERABLE
        if (
            (case.category == "stranger" and row.name in NO_STRANGERS)
            or case.category == "adversarial"
            or (not stranger and not case.gold)
        ):
            continue
        assert case.pool is not None
        raw = scores(row, table.features)
        values = dict(zip(FEATURES, row.x.T, strict=True))
        score = calibrate(case.pool, values, raw, table)
        places = judged(row, raw)[:10]
        p += [float(score[place]) for place in places]
        y += [float(case.units[place] in case.gold) for place in places]
        if stranger:
            false.append(bool((score >= floor).any()))
        else:
            above = {case.units[place] for place in np.nonzero(score >= floor)[0]}
            kept.append(len(case.gold & above) / len(case.gold))
            held.append(float((score >= floor).sum()))
    bins = np.minimum((np.array(p) * 10).astype(int), 9)
    truth, said = np.array(y), np.array(p)
    error = sum(abs(truth[bins == b].mean() - said[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist()))
    return {
        "expected calibration error": round(float(error), 3),
        "strangers with a hit at the floor, %": round(100 * float(np.mean(false)), 1) if false else 0.0,
        "evidence among the candidates that is above the floor, %": round(100 * float(np.mean(kept)), 1),
        "hits above the floor": round(float(np.mean(held)), 1),
    }


def floored(rows: Sequence[Row], table: Weights, best: float, hit: float) -> float:
    """The evidence that is among the hits above both floors, within 2,000 tokens, in per cent; each set counts once."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.case.category in (*UNANSWERABLE, "adversarial") or not row.case.gold:
            continue
        score, tokens, units = row.ranked
        sent = (score >= hit) & (np.cumsum(tokens) <= 2000) & bool(score.max(initial=0.0) >= best)
        inside = {units[place] for place in np.nonzero(sent)[0].tolist()}
        found.setdefault(row.name, []).append(len(row.case.gold & inside) / len(row.case.gold))
    return 100 * float(np.mean([np.mean(values) for values in found.values()]))


def sent_tokens(rows: Sequence[Row], best: float, hit: float, categories: Sequence[str]) -> list[int]:
    """How many tokens of memory each question of these categories would be sent, of 2,000."""
    out = []
    for row in rows:
        if row.case.category in categories and not (row.case.category == "stranger" and row.name in NO_STRANGERS):
            score, tokens, _ = row.ranked
            allowed = (score >= hit) & (np.cumsum(tokens) <= 2000) & bool(score.max(initial=0.0) >= best)
            out.append(int(tokens[allowed].sum()))
    return out


def choose_floors(rows: Sequence[Row], table: Weights) -> tuple[float, float]:
    """The highest floors that keep all but one point of the evidence in 2,000 tokens: half a point for each."""
    for row in rows:
        row.ranked = ranked(row, table)
    whole = floored(rows, table, 0.0, 0.0)
    best = max(level for level in LEVELS if floored(rows, table, level, 0.0) >= whole - FLOOR_POINTS / 2)
    hit = max(level for level in LEVELS if floored(rows, table, best, level) >= whole - FLOOR_POINTS)
    return best, hit


def ranked(row: Row, table: Weights) -> tuple[Floats, NDArray[np.int64], list[str]]:
    """Scores, tokens and units of a question's candidates, best first."""
    case = row.case
    assert case.pool is not None
    raw = scores(row, table.features)
    score = calibrate(case.pool, dict(zip(FEATURES, row.x.T, strict=True)), raw, table)
    order = np.argsort(-raw, kind="stable").tolist()
    tokens = np.array([max(1, len(case.texts[place]) // 4) for place in order], np.int64)
    return score[order], tokens, [case.units[place] for place in order]


def report_floors(rows: Sequence[Row], table: Weights, best: float, hit: float) -> None:
    """What the floors keep, and what they let through."""
    without, kept = floored(rows, table, 0.0, 0.0), floored(rows, table, best, hit)
    print(f"  floors {best} (best hit), {hit} (each): evidence in 2,000 tokens {kept:.1f}, {without:.1f} without them")
    for category in UNANSWERABLE:
        tokens = sent_tokens(rows, best, hit, [category])
        if tokens:
            share, median, most = np.mean(np.array(tokens) > 0), np.median(tokens), np.percentile(tokens, 95)
            print(f"  {category}: {100 * share:.1f} % get something, median {median:.0f}, 95 % up to {most:.0f} tokens")


def fingerprint(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the weights were fitted on."""
    names = dict.fromkeys(name.replace(".named", ".json") for name in FIT)
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", type=Path)
    ap.add_argument("--date", default="2026-11-17")
    ap.add_argument("--write", action="store_true", help="write the shipped weights; otherwise they are printed")
    ap.add_argument("--check", action="store_true", help="compare the rebuilt weights with the shipped ones")
    ap.add_argument("--ablate", action="store_true", help="fit without each feature in turn")
    ap.add_argument("--measure", action="store_true", help="also measure the sets that are never fitted on")
    ap.add_argument("--floor", type=float, default=0.1)
    a = ap.parse_args()
    tables = {}
    for kind in ("default", "none"):
        sets = {name: rows_of(a.folder, name, vectors=kind == "default") for name in FIT}
        every = [row for rows in sets.values() for row in rows]
        tables[kind] = fit_calibration(every, fit_weights(every))
        seen = [row for row in every if not row.held_out]
        unseen = [row for row in every if row.held_out]
        table = fit_calibration(seen, fit_weights(seen))
        print(f"# {kind}: {tables[kind].features}\n  answer here: {tables[kind].evidence}\n  hit: {tables[kind].hit}")
        print("  conversations left out of the fit, then all:")
        for name, rows in sets.items():
            print(f"  {name:24} {figures(rows, table.features, lambda row: row.held_out)}")
            print(f"  {'':24} {figures(rows, tables[kind].features)}", flush=True)
        print(f"  held out: {calibration_figures(unseen, table, a.floor)}", flush=True)
        if kind == "default":
            highest = choose_floors(every, tables[kind])
            for best, hit in ((LEAST_BEST_SCORE, DEFAULT_FLOOR), highest):
                report_floors(every, tables[kind], best, hit)
        if a.measure and kind == "default":
            for name in MEASURE_ONLY:
                rows = rows_of(a.folder, name, vectors=True)
                print(f"  {name:24} {figures(rows, tables[kind].features)}")
                print(f"  {'':24} {calibration_figures(rows, tables[kind], a.floor)}", flush=True)
        if a.ablate and kind == "default":
            for feature in FEATURES:
                if feature not in FIXED:
                    less = fit_weights(every, [feature])
                    print(f"  without {feature:16} " + "  ".join(
                        f"{name.split('.')[0][:8]} {figures(rows, less)['R@10']:5.1f}" for name, rows in sets.items()
                    ), flush=True)  # fmt: skip
    made = {
        "command": f"make recall-fit DATA=FOLDER (python bench/recall/fit.py FOLDER --date {a.date} --write)",
        "date": a.date,
        "data": fingerprint(a.folder),
    }
    body = {
        "made": made,
        "tables": {k: {"features": t.features, "evidence": t.evidence, "hit": t.hit} for k, t in tables.items()},
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

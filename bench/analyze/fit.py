"""Fit the probabilities of the analyser (`weights.json`), and say how right they are on frameworks left out.

    python bench/analyze/fit.py --checkouts DIR --candidates DIR [--write]

Candidates of every labelled framework with a checkout are computed once and stored in the folder `--candidates`.
Labels are the seventeen truth files and the verdicts of `unseen*.json`. Each framework is scored with weights fitted
on all the others; `--write` then fits on all of them and replaces `weights.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import scoring  # noqa: E402
from scoring import Record  # noqa: E402

WEIGHTS = HERE.parents[1] / "packages" / "analyze" / "src" / "memorist_analyze" / "weights.json"
PENALTY = 3.0
MIN_FRAMEWORKS = 2  # a feature of one framework alone is not learned from
SHOWN_ABOVE = 0.8
UNREAD_CAP = 0.5


@dataclass
class Sample:
    """One candidate with its label; `entries` are the mechanisms of the truth that it hits."""

    framework: str
    candidate: Record
    right: bool
    truth: Record | None = None
    entries: list[int] = field(default_factory=list)


def candidates_of(checkout: Path, stored: Path) -> list[Record]:
    """The candidates of a checkout with their features, computed once."""
    if stored.exists():
        rows: list[Record] = json.loads(stored.read_text(encoding="utf-8"))
        return rows
    from memorist_analyze import analyze
    from memorist_analyze.calibration import features
    from memorist_analyze.conditions import Case
    from memorist_analyze.findings import evictions
    from memorist_analyze.rules import RULES

    analysis = analyze(checkout, time_limit=3000)
    rows = []
    for x in evictions(analysis.world):
        rule = next(r for r in RULES if r.id == x.rule and x.effect.kind in r.effects)
        named = features(rule, Case(analysis.world, x.function, x.effect), x.support)
        rows.append({"strategy": x.strategy, "path": x.path, "line": x.line, "symbol": x.symbol, "rule": x.rule,
                     "wired": x.wired, "reader": x.support.reader, "f": named})  # fmt: skip
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text(json.dumps(rows), encoding="utf-8")
    return rows


def labelled(truth: Record, rows: list[Record]) -> list[Sample]:
    """The candidates inside the truth's folders; what the truth does not list counts as wrong."""
    samples: list[Sample] = []
    for row in scoring.in_scope(truth, rows):
        hits = scoring.matched(truth, row)
        entries = [i for i, e in enumerate(truth["eviction"]) if e in hits]
        samples.append(Sample(truth["name"], row, bool(hits), truth, entries))
    return samples


def judged(framework: Record, rows: list[Record]) -> list[Sample]:
    """The candidates that somebody judged; those of a function that was missed have no label."""
    verdicts: dict[tuple[str, str, str], bool] = {}
    for finding in framework["findings"]:
        strategy, _, location = finding["id"].partition("@")
        verdicts[location.rpartition(":")[0], finding["symbol"], strategy] = finding["verdict"] == "right"
    others = {(f["path"], f["symbol"]): f["verdict"] for f in framework["without_finding"]}
    samples: list[Sample] = []
    for row in rows:
        location = (row["path"], row["symbol"])
        verdict = verdicts.get((*location, row["strategy"]))
        if verdict is None and not any(key[:2] == location and right for key, right in verdicts.items()):
            wrong = others.get(location) == "none" or any(key[:2] == location for key in verdicts)
            verdict = False if wrong else None
        if verdict is not None:
            samples.append(Sample(framework["name"], row, verdict))
    return samples


class Model:
    """A logistic model with a quadratic penalty, fitted by Newton's method."""

    def __init__(self, samples: list[Sample]) -> None:
        where: dict[str, set[str]] = {}
        for sample in samples:
            for name in sample.candidate["f"]:
                where.setdefault(name, set()).add(sample.framework)
        self.names = sorted(name for name, frameworks in where.items() if len(frameworks) >= MIN_FRAMEWORKS)
        self.index = {name: at + 1 for at, name in enumerate(self.names)}
        inputs = np.array([self._row(s.candidate) for s in samples])
        labels = np.array([float(s.right) for s in samples])
        penalty = np.full(inputs.shape[1], PENALTY)
        penalty[0] = 1e-3
        self.weights = np.zeros(inputs.shape[1])
        for _ in range(40):
            likely = 1 / (1 + np.exp(-inputs @ self.weights))
            slope = inputs.T @ (likely - labels) + penalty * self.weights
            curve = (inputs.T * (likely * (1 - likely))) @ inputs + np.diag(penalty)
            step = np.linalg.solve(curve, slope)
            self.weights -= step
            if np.abs(step).max() < 1e-5:
                break

    def _row(self, candidate: Record) -> Any:
        row = np.zeros(len(self.names) + 1)
        row[0] = 1
        for name in candidate["f"]:
            if name in self.index:
                row[self.index[name]] = 1
        return row

    def probability(self, candidate: Record) -> float:
        """The probability as `calibration.py` computes it."""
        likely = float(1 / (1 + np.exp(-self._row(candidate) @ self.weights)))
        if candidate["strategy"] in ("content_elision", "offload") and not candidate["reader"]:
            return min(likely, UNREAD_CAP)
        return likely

    def as_dict(self) -> Record:
        """The weights as `weights.json` holds them; tiny ones are left out."""
        pairs = ((n, round(float(self.weights[i]), 3)) for n, i in self.index.items())
        return {"bias": round(float(self.weights[0]), 3), "features": {n: w for n, w in pairs if abs(w) >= 0.02}}


def left_out(samples: list[Sample]) -> list[float]:
    """The probability of each sample by the weights fitted on the other frameworks."""
    probabilities = [0.0] * len(samples)
    for name in sorted({s.framework for s in samples}):
        model = Model([s for s in samples if s.framework != name])
        for at, sample in enumerate(samples):
            if sample.framework == name:
                probabilities[at] = model.probability(sample.candidate)
    return probabilities


def show(title: str, samples: list[Sample], likely: list[float]) -> None:
    """Print precision and recall at several thresholds, and how well the probabilities are calibrated."""
    truths = {s.framework: s.truth for s in samples if s.truth is not None}
    expected = {(n, i) for n, t in truths.items() for i, e in enumerate(t["eviction"]) if e.get("wired", True)}
    print(f"{title}: {len({s.framework for s in samples})} frameworks, {len(samples)} candidates")
    for bound in (SHOWN_ABOVE, 0.7, 0.6, 0.5, 0.3, 0.2, 0.1, 0.05):
        above = [s for s, p in zip(samples, likely, strict=True) if p > bound and s.candidate["wired"]]
        right = sum(s.right for s in above)
        hit = {(s.framework, i) for s in above for i in s.entries} & expected
        recall = f"mechanisms {len(hit)} of {len(expected)}: {len(hit) / len(expected):.2f}" if expected else ""
        print(f"  above {bound:.2f}: {right} of {len(above)} right: {right / max(1, len(above)):.2f}  {recall}")
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = [s.right for s, p in zip(samples, likely, strict=True) if low <= p < low + 0.2]
        if inside:
            print(f"  said {low:.1f} to {low + 0.2:.1f}: {sum(inside) / len(inside):.2f} of {len(inside)}")


def main() -> int:
    """Collect, fit with each framework left out, print, and perhaps write the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--truth", type=Path, default=HERE.parents[2] / "shared" / "analyzer" / "truth")
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--candidates", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="replace weights.json")
    parser.add_argument("--worst", action="store_true", help="list what is shown and wrong")
    options = parser.parse_args()
    samples: list[Sample] = []
    for path in sorted(options.truth.glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        samples += labelled(truth, _rows(truth["name"], options))
    for path in sorted(HERE.glob("unseen*.json")):
        for framework in json.loads(path.read_text(encoding="utf-8"))["frameworks"]:
            samples += judged(framework, _rows(framework["name"], options))
    if not samples:
        print(f"no labelled framework has a checkout in {options.checkouts}", file=sys.stderr)
        return 2
    likely = left_out(samples)
    for title, own in (("truth files, each left out", True), ("verdicts, each framework left out", False)):
        part = [(s, p) for s, p in zip(samples, likely, strict=True) if (s.truth is not None) == own]
        if part:
            show(title, [s for s, _ in part], [p for _, p in part])
    if options.worst:
        for sample, p in sorted(zip(samples, likely, strict=True), key=lambda pair: -pair[1]):
            if p > SHOWN_ABOVE and not sample.right:
                c = sample.candidate
                print(f"{p:.2f} {sample.framework} {c['strategy']} {c['path']}:{c['line']} {c['symbol']} {c['rule']}")
    if options.write:
        fitted = Model(samples).as_dict()
        WEIGHTS.write_text(packed(fitted), encoding="utf-8")
        print(f"wrote {len(fitted['features'])} weights; labels: {dict(Counter(s.right for s in samples))}")
    return 0


def packed(fitted: Record) -> str:
    """The weights as JSON, as many on a line as fit."""
    pairs = ", ".join(f"{json.dumps(name)}:{weight}" for name, weight in sorted(fitted["features"].items()))
    lines = "\n".join(textwrap.wrap(pairs, 118, break_on_hyphens=False))
    return f'{{"bias": {fitted["bias"]}, "features": {{\n{lines}\n}}}}\n'


def _rows(name: str, options: argparse.Namespace) -> list[Record]:
    stored = options.candidates / f"{name}.json"
    if not stored.exists() and not (options.checkouts / name).is_dir():
        return []
    return candidates_of(options.checkouts / name, stored)


if __name__ == "__main__":
    sys.exit(main())

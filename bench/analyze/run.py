"""Run the analyser on checkouts with hand-made truth and print every figure beside its threshold.

    python bench/analyze/run.py --checkouts DIR [--truth DIR] [NAME ...]

DIR holds one checkout per framework, in a folder named like its truth file, at the truth's commit.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import scoring
from scoring import Record, Score

from memorist_analyze import analyze, as_dict, as_json

ROOT = Path(__file__).resolve().parents[2]
THRESHOLDS = {
    "precision of what is shown": (0.85, "at least"), "traps": (0.20, "at most"), "counting": (0.80, "at least"),
    "storage": (0.80, "at least"), "slots": (0.80, "at least"), "cpu s per 500k lines": (30.0, "at most"),
    "memory GB": (2.0, "at most"),
}  # fmt: skip


@dataclass
class Run:
    """One framework analysed."""

    name: str
    truth: Record
    report: Record
    seconds: float
    cpu_seconds: float
    lines: int


def main() -> int:
    """Analyse, score, print; 1 if a threshold is missed, 2 if nothing could be scored."""
    options = _options()
    runs = [run for path in sorted(options.truth.glob("*.json")) if (run := _run(path, options)) is not None]
    if not runs:
        print(f"nothing to score: no truth in {options.truth} has a checkout in {options.checkouts}", file=sys.stderr)
        return 2
    total = _print_frameworks(runs)
    _print_strategies(runs)
    _print_bounded(runs)
    return _verdict(runs, total)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--truth", type=Path, default=ROOT.parent / "shared" / "analyzer" / "truth")
    parser.add_argument("--checkouts", type=Path, default=Path("."))
    parser.add_argument("--reports", type=Path, help="score the JSON reports in this folder instead of analysing")
    parser.add_argument("--write", type=Path, help="also write the JSON reports into this folder")
    parser.add_argument("--twice", action="store_true", help="analyse twice and compare bytes")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def _run(path: Path, options: argparse.Namespace) -> Run | None:
    truth: Record = json.loads(path.read_text(encoding="utf-8"))
    if options.reports is not None:
        report: Record = json.loads((options.reports / path.name).read_text(encoding="utf-8"))
        return Run(truth["name"], truth, report, 0.0, 0.0, sum(report["languages"].values()))
    checkout = options.checkouts / truth["name"]
    if not checkout.is_dir() or (options.names and truth["name"] not in options.names):
        return None
    started, worked = time.perf_counter(), _cpu_seconds()
    analysis = analyze(checkout, name=truth["name"])
    seconds, cpu_seconds = time.perf_counter() - started, _cpu_seconds() - worked
    if options.write is not None:
        (options.write / path.name).write_text(json.dumps(as_dict(analysis)), encoding="utf-8")
    if options.twice and as_json([analysis]) != as_json([analyze(checkout, name=truth["name"])]):
        print(f"{truth['name']}: two runs differ", file=sys.stderr)
    return Run(truth["name"], truth, as_dict(analysis), seconds, cpu_seconds, sum(analysis.languages.values()))


def _cpu_seconds() -> float:
    """Processor seconds used so far, by this process and those it started and waited for."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _print_frameworks(runs: list[Run]) -> Score:
    head = (
        "framework",
        "recall",
        "precision",
        "traps",
        "counting",
        "storage",
        "slots",
        "order",
        "lines",
        "seconds",
        "cpu s",
    )
    print("Five core strategies; counting, storage and slots as F1; order as agreeing pairs")
    print(f"{head[0]:13}" + "".join(f"{h:>10}" for h in head[1:]))
    total = Score()
    for run in runs:
        result = scoring.score(run.truth, run.report)
        total.add(result)
        order = scoring.order_agreement(run.truth, run.report)
        print(_line(run.name, result, f"{order:10.2f}{run.lines:10}{run.seconds:10.1f}{run.cpu_seconds:10.1f}"))
    print(_line("all", total, ""))
    print(f"triggers shared with the truth: {total.triggers_right}/{total.triggers}; ", end="")
    print(f"default_on as in the truth: {total.defaults_right}/{total.defaults}")
    return total


def _line(name: str, result: Score, rest: str) -> str:
    recall = f"{result.recalled}/{result.entries}"
    precision = f"{result.right}/{result.reported}"
    traps = f"{result.trapped}/{result.traps}"
    sets = "".join(f"{result.f1(n):10.2f}" for n in ("counting", "storage", "slots"))
    return f"{name:13}{recall:>10}{precision:>10}{traps:>10}{sets}{rest}"


def _print_strategies(runs: list[Run]) -> None:
    total = Score()
    for run in runs:
        total.add(scoring.score(run.truth, run.report, core=False))
    print(f"\nAll ten strategies: recall {total.recall:.2f}, precision {total.precision:.2f}")
    for strategy in sorted({e["strategy"] for r in runs for e in r.truth["eviction"]}):
        scored = _of(runs, strategy)
        print(f"{strategy:22} recall {scored.recalled}/{scored.entries}  precision {scored.right}/{scored.reported}")
    for language in ("python", "typescript"):
        own = _core(runs, language)
        print(f"{language:22} core recall {own.recalled}/{own.entries}  core precision {own.right}/{own.reported}")


def _of(runs: list[Run], strategy: str) -> Score:
    """The score of one strategy alone."""
    total = Score()
    for run in runs:
        truth = {**run.truth, "eviction": [e for e in run.truth["eviction"] if e["strategy"] == strategy]}
        report = {**run.report, "eviction": [f for f in run.report["eviction"] if f["strategy"] == strategy]}
        total.add(scoring.score(truth, report, core=False))
    return total


def _print_bounded(runs: list[Run]) -> None:
    """Does `unbounded-history` say what the truth says: is the history bounded by default?"""
    bounding = ("fifo_message_count", "token_window", "summarization", "vector_swap", "provider_managed")
    right = wrong = open_ = 0
    for run in runs:
        is_bounded = any(
            e.get("default_on") and e.get("subject") == "history" and e["strategy"] in bounding
            for e in run.truth["eviction"]
        )
        status = next(c["status"] for c in run.report["checks"] if c["rule"] == "unbounded-history")
        open_ += status == "cannot tell"
        right += status == ("holds" if is_bounded else "fails")
        wrong += status == ("fails" if is_bounded else "holds")
    print(f"\nunbounded-history: right {right}, wrong {wrong}, cannot tell {open_}")


def _core(runs: list[Run], language: str) -> Score:
    total = Score()
    for run in runs:
        if run.truth["language"] == language:
            total.add(scoring.score(run.truth, run.report))
    return total


def _verdict(runs: list[Run], total: Score) -> int:
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures: dict[str, float] = {
        "precision of what is shown": total.precision,
        "traps": total.trap_rate,
        "counting": total.f1("counting"),
        "storage": total.f1("storage"),
        "slots": total.f1("slots"),
        "cpu s per 500k lines": sum(r.cpu_seconds for r in runs) / max(1, sum(r.lines for r in runs)) * 500_000,
        "memory GB": (own + 2 * children) / 1_048_576,
    }
    print("\nAgainst the thresholds")
    short: list[str] = []
    for name, value in figures.items():
        bound, sense = THRESHOLDS[name]
        good = value >= bound if sense == "at least" else value <= bound
        if not good:
            short.append(name)
        print(f"{name:24}{value:8.2f}  {sense} {bound:.2f}  {'ok' if good else 'FALLS SHORT'}")
    print("nothing falls short" if not short else f"falls short: {', '.join(short)}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())

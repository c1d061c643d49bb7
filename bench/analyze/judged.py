"""Score the recorded answers of a judge (`judged.json`) against the truth files.

python bench/analyze/judged.py [--truth DIR]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import scoring  # noqa: E402
from scoring import CORE, Record  # noqa: E402

CERTAIN_ENOUGH = 0.7


def confirmed(answers: list[Record], bound: float, core: bool) -> list[Record]:
    """The findings that a report shows after these answers."""
    findings: list[Record] = []
    for answer in answers:
        path = answer["candidate"].partition("@")[2].rpartition(":")[0]
        if answer["kind"] != "none" and answer["certainty"] >= bound and (not core or answer["kind"] in CORE):
            findings.append(
                {"strategy": answer["kind"], "path": path, "line": answer["line"], "symbol": answer["symbol"]}
            )
    return findings


def main() -> int:
    """Print precision and recall at several bounds of certainty, for the core strategies and for all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--truth", type=Path, default=HERE.parents[2] / "shared" / "analyzer" / "truth")
    truths = {t["name"]: t for p in parser.parse_args().truth.glob("*.json") if (t := json.loads(p.read_text("utf-8")))}
    recorded = json.loads((HERE / "judged.json").read_text("utf-8"))["frameworks"]
    for core in (True, False):
        print("five core strategies" if core else "all ten strategies")
        for bound in (0.5, 0.6, CERTAIN_ENOUGH, 0.8):
            right = reported = hit = entry_count = 0
            for name, truth in sorted(truths.items()):
                findings = confirmed(recorded[name], bound, core)
                entries = [e for e in truth["eviction"] if e.get("wired", True) and (not core or e["strategy"] in CORE)]
                right += sum(bool(scoring.matched(truth, f)) for f in findings)
                reported += len(findings)
                entry_count += len(entries)
                hit += sum(any(e in scoring.matched(truth, f) for f in findings) for e in entries)
            print(f"  certainty from {bound}: {right} of {reported} right: {right / reported:.2f}, "
                  f"{hit} of {entry_count} found: {hit / entry_count:.2f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

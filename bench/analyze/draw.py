"""Draw what to read by hand in a framework nobody has looked at: its findings, and functions without one.

    python bench/analyze/draw.py CHECKOUT [--most 20]

Prints an entry for `unseen.json` without verdicts. The functions are those that do most to lists of messages, so no
chance is involved and a second run draws the same; misses are likelier there than in functions drawn blindly.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from memorist_analyze import analyze
from memorist_analyze.pack import without_finding


def main() -> None:
    """Analyse one checkout and print the places to judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--most", type=int, default=20)
    options = parser.parse_args()
    analysis = analyze(options.checkout, name=options.checkout.name)
    findings = [{"id": f.id, "symbol": f.symbol, "rule": f.rule} for f in analysis.eviction[: options.most]]
    others = [
        {"path": f.path, "symbol": f.symbol, "line": f.line, "end": f.end}
        for f in without_finding(analysis, options.most)
    ]
    print(json.dumps({"name": analysis.name, "findings": findings, "without_finding": others}, indent=1))


if __name__ == "__main__":
    main()

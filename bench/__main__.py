"""`python -m bench`: the figures of the ground floor beside the raw floor, as ratios; says what falls short.

    python -m bench [--quick] [--on FOLDER] [--write]
    python -m bench --peers [--write]

The other benchmarks are commands of their own: bench/turns.py (an earlier version beside this one), bench/context.py,
bench/tasks.py, bench/postgres.py, bench/redis.py, bench/extraction.py, bench/recall/run.py, bench/recall/speed.py and
bench/analyze.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from . import ground
from .figures import report

RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, 100,000 messages instead of a million")
    parser.add_argument("--on", help="a folder to measure on, such as a RAM disk; a temporary one otherwise")
    parser.add_argument("--peers", action="store_true", help="peers from the package index instead, in .venv-peers")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/RESULTS.md")
    options = parser.parse_args()
    if options.peers:
        from . import peers

        sections, name = peers.run(), "peers"
    else:
        sizes = {"most": 100_000, "count": 4_000} if options.quick else {}
        sections, name = ground.run(where=options.on, **sizes), "ground" if not options.on else "ground-ram"
    beside = "peer" if options.peers else "floor"
    text = "".join(report(title, figures, beside) for title, figures in sections)
    print(text)
    short = [figure.name for _, figures in sections for figure in figures if figure.short]
    print("falls short: " + "; ".join(short) if short else "nothing falls short")
    if options.write:
        _write(name, text)
    return 0


def _write(name: str, text: str) -> None:
    """Replace one section of the results, between its marks."""
    command = f"python -m bench {' '.join(sys.argv[1:])}".strip()
    body = f"<!-- {name} -->\n\nMeasured on {datetime.now(UTC):%Y-%m-%d} with `{command}`.\n{text}\n<!-- end {name} -->"
    old = RESULTS.read_text("utf-8") if RESULTS.exists() else "# Results\n"
    start, end = old.find(f"<!-- {name} -->"), old.find(f"<!-- end {name} -->")
    new = old[:start] + body + old[end + len(f"<!-- end {name} -->") :] if start >= 0 else f"{old}\n{body}\n"
    RESULTS.write_text(new, "utf-8")


if __name__ == "__main__":
    sys.exit(main())

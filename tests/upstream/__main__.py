"""Runs the frameworks' own tests with our classes: `python -m tests.upstream [NAME …] [--theirs] [--url URL]`.

The archives come from the package index, by pinned digest, and are unpacked outside the project. Exit 1 where a test
fails that should not, hangs, or where fewer tests than before built our class or passed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from glob import glob
from pathlib import Path

from .archives import unpacked
from .suites import SUITES, Suite
from .watching import run_watched

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def main() -> int:
    """Run the suites that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(suite.name for suite in SUITES))
    parser.add_argument("--theirs", action="store_true", help="run with the framework's own class, to compare")
    parser.add_argument("--url", default="", help="the store to run on; a SQLite file where none is named")
    options = parser.parse_args()
    chosen = [suite for suite in SUITES if not options.names or suite.name in options.names]
    if len(chosen) < len(options.names):
        parser.error(f"suites are {', '.join(suite.name for suite in SUITES)}")
    problems = [problem for suite in chosen for problem in _run(suite, options.theirs, options.url)]
    print("\n".join(problems))
    return 1 if problems else 0


def _run(suite: Suite, theirs: bool, url: str) -> list[str]:
    folder = unpacked(suite.project, suite.version, suite.sha256) / suite.folder
    with tempfile.TemporaryDirectory() as folder_name:
        report = Path(folder_name) / "report.json"
        environment = {
            **os.environ, **suite.settings, "MEMORIST_UPSTREAM_REPORT": str(report), "MEMORIST_UPSTREAM_URL": url,
            "PYTHONPATH": os.pathsep.join([str(HERE / "swaps"), str(ROOT / "src")]),
        }  # fmt: skip
        files = [file for pattern in suite.files for file in sorted(glob(pattern, root_dir=folder))]
        swap = [] if theirs else ["-p", suite.swap]
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "counted", *swap, "-p", "no:cacheprovider", "-o", "addopts=",
            "-W", "ignore", "--tb=short", *suite.arguments, *files,
        ]  # fmt: skip
        run = run_watched(command, folder, environment)
        if run.hung:
            return [f"{suite.name}: {run.hung}\n{run.output[-3000:]}"]
        if not report.exists():
            return [f"{suite.name}: the run did not finish\n{run.output[-5000:]}"]
        return _judged(suite, json.loads(report.read_text()), run.output, theirs)


def _judged(suite: Suite, report: dict[str, object], output: str, theirs: bool) -> list[str]:
    outcomes = dict(report["outcomes"])  # type: ignore[call-overload]
    built = set(report["built"])  # type: ignore[call-overload]
    passed = [name for name, outcome in outcomes.items() if outcome == "passed"]
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    own_passed = [name for name in passed if name in built]
    print(
        f"{suite.name}: {len(passed)} of {len(passed) + len(failed)} pass; "
        f"{len(built)} build our class, {len(own_passed)} of these pass"
    )
    if theirs:
        print("\n".join(f"  {name}" for name in failed))
        return []
    unexpected = [name for name in failed if not any(name.endswith(end) for end in suite.failing)]
    for name in failed:
        reason = next((why for end, why in suite.failing.items() if name.endswith(end)), "UNEXPECTED")
        print(f"  {name}: {reason}")
    problems = [f"{suite.name}: {name} fails" for name in unexpected]
    if unexpected:
        problems.append(output[-6000:])
    if len(built) < suite.built:
        problems.append(f"{suite.name}: {len(built)} tests built our class, {suite.built} did before")
    if len(own_passed) < suite.passed:
        problems.append(f"{suite.name}: {len(own_passed)} of them passed, {suite.passed} did before")
    return problems


if __name__ == "__main__":
    raise SystemExit(main())

"""Compares requests with recorded ones, or records them with `--update`."""

from __future__ import annotations

import shlex
from difflib import unified_diff
from pathlib import Path

from .cases import Case
from .expectations import Failure
from .request import Asked

FOLDER = "snapshots"


def snapshot_path(case: Case) -> Path:
    """Return the path of a case's recorded request, which is next to the case file."""
    file = Path(case.file)
    return file.parent / FOLDER / file.name.partition(".")[0] / f"{case.slug}.txt"


def compare_snapshot(asked: Asked, *, update: bool) -> list[Failure]:
    """Return the difference between the request and the recorded one. With `update`, the request is recorded."""
    path, request = snapshot_path(asked.case), asked.snapshot()
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(request, "utf-8")
        return []
    command = (shlex.join(["memorist", "test", asked.case.file, "-k", asked.case.name, "--update"]),)
    if not path.exists():
        return [Failure(expectation="snapshot", message="no request has been recorded yet", reproduce=command)]
    recorded = path.read_text("utf-8")
    if recorded == request:
        return []
    lines = unified_diff(recorded.splitlines(), request.splitlines(), "recorded", "now", lineterm="", n=2)
    return [
        Failure(
            expectation="snapshot",
            message="the request differs from the recorded one",
            parts=tuple(lines),
            reproduce=command,
        )
    ]

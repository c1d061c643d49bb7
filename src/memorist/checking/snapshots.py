"""Compares requests with recorded ones, or records them with `--update`."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

from .cases import Case, rerun_command
from .expectations import Failure
from .request import CaseRequest
from .stages import context_command

FOLDER = "snapshots"


def snapshot_path(case: Case) -> Path:
    """Return the path of a case's recorded request, which is next to the case file."""
    file = Path(case.file)
    return file.parent / FOLDER / file.name.partition(".")[0] / f"{case.slug}.txt"


def compare_snapshot(case_request: CaseRequest, *, update: bool) -> list[Failure]:
    """Return the difference between the request and the recorded one. With `update`, the request is recorded."""
    path, request = snapshot_path(case_request.case), case_request.snapshot()
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(request, "utf-8")
        return []
    update_command = rerun_command(case_request.case.file, case_request.case.name, "update")
    if not path.exists():
        message = f"no request has been recorded yet; record it with: {update_command}"
        return [Failure(expectation="snapshot", message=message)]
    recorded = path.read_text("utf-8")
    if recorded == request:
        return []
    lines = unified_diff(recorded.splitlines(), request.splitlines(), "recorded", "now", lineterm="", n=2)
    return [
        Failure(
            expectation="snapshot",
            message=f"the request differs from the recorded one; if it should, run: {update_command}",
            parts=tuple(lines),
            reproduce=(context_command(case_request),),
        )
    ]

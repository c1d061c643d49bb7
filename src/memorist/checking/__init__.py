"""Tests what an agent will remember. It contains the cases, their runner, mutations of memories, and measurements of
recall.

`memorist test` and the pytest plugin run cases, and `memorist eval` measures recall. Each name is loaded when it is
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import load

_HOMES = {
    "Case": "checking.cases",
    "read_cases": "checking.reading",
    "CaseResult": "checking.running",
    "Failure": "checking.expectations",
    "check_request": "checking.running",
    "run_case": "checking.running",
    "mutate": "checking.mutating",
    "evaluate": "checking.evaluating",
}

if TYPE_CHECKING:
    from .cases import Case
    from .evaluating import evaluate
    from .expectations import Failure
    from .mutating import mutate
    from .reading import read_cases
    from .running import CaseResult, check_request, run_case

__all__ = ["Case", "CaseResult", "Failure", "check_request", "evaluate", "mutate", "read_cases", "run_case"]


def __getattr__(name: str) -> object:
    return load(__name__, _HOMES, name)

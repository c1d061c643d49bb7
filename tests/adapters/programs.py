"""Programs of operations that run on a framework's own store and on ours, and must give the same answers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import HealthCheck, settings

from memorist import Memory

RUNS = int(os.environ.get("MEMORIST_ADAPTER_RUNS", "40"))
"""How many programs are tried; `make soak-adapters` tries 5,000."""
tried = settings(max_examples=RUNS, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def ram() -> Memory:
    """A memory of a program's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Memory("memory://", embedder=None, extract=None, worker=False)


async def answer(work: Callable[[], Awaitable[Any]], comparable: Callable[[Any], Any] = lambda value: value) -> Any:
    """What an operation gives, or the name of what it raises."""
    try:
        return comparable(await work())
    except Exception as problem:
        return type(problem).__name__

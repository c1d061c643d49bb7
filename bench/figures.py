"""Figures in one shape: what was measured, the ratio, the limit, and whether it falls short."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of a report."""

    name: str
    ours: str
    floor: str = ""
    ratio: float | None = None
    limit: float | None = None

    @property
    def short(self) -> bool:
        """Whether it falls short of its limit."""
        return self.ratio is not None and self.limit is not None and self.ratio > self.limit

    def row(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        limit = "" if self.limit is None else f"≤ {self.limit:g}"
        verdict = "" if self.limit is None else ("**falls short**" if self.short else "ok")
        return f"| {self.name} | {self.ours} | {self.floor} | {ratio} | {limit} | {verdict} |"


def report(title: str, figures: Sequence[Figure], beside: str = "floor") -> str:
    """A Markdown table; `beside` is what ours stands beside."""
    head = ["", f"### {title}", "", f"| what | ours | {beside} | × | limit | |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *(figure.row() for figure in figures), ""])


def against(
    ours: Callable[[int], object], floor: Callable[[int], object], count: int, block: int = 200
) -> tuple[float, float]:
    """Median microseconds of both, run in alternating blocks so that a noisy minute hits both alike."""
    ours_seconds: list[float] = []
    theirs: list[float] = []
    clock = time.perf_counter
    for start in range(0, count, block):
        for function, times in ((ours, ours_seconds), (floor, theirs)):
            for i in range(start, min(start + block, count)):
                begun = clock()
                function(i)
                times.append(clock() - begun)
    return statistics.median(ours_seconds) * 1e6, statistics.median(theirs) * 1e6


def median_of(function: Callable[[int], object], count: int) -> float:
    """Median microseconds of a call."""
    times = []
    for i in range(count):
        begun = time.perf_counter()
        function(i)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6

"""Logs each use of a tool: its name, its duration, and its tokens in and out, but never content."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgspec

from .callers import Caller

log = logging.getLogger("memorist.mcp")


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """Describes one tool call."""

    tool: str
    outcome: str
    """This is `ok`, or the kind of the error."""
    milliseconds: float
    tokens_in: int
    tokens_out: int
    key: str


class Clocked:
    """Measures the duration of one call and logs it."""

    def __init__(self, caller: Caller, tool: str, tokens_in: int, report: Callable[[Use], None] | None = None) -> None:
        self._caller, self._tool, self._tokens_in, self._told = caller, tool, tokens_in, report
        self._start = time.perf_counter()

    def done(self, outcome: str, tokens_out: int) -> None:
        """Log the call and report it."""
        took = (time.perf_counter() - self._start) * 1000
        use = Use(
            tool=self._tool, outcome=outcome, milliseconds=round(took, 1), tokens_in=self._tokens_in,
            tokens_out=tokens_out, key=self._caller.id,
        )  # fmt: skip
        log.info(
            "tool=%s outcome=%s ms=%.1f tokens_in=%d tokens_out=%d key=%s",
            use.tool, use.outcome, use.milliseconds, use.tokens_in, use.tokens_out, use.key,
        )  # fmt: skip
        if self._told is not None:
            self._told(use)

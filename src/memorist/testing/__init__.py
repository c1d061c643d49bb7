"""For tests of programs that use a memory: a clock that moves when told to.

The conformance suites for authors of stores are in the package `memorist-testing`.
"""

from __future__ import annotations

from .clock import FakeClock

__all__ = ["FakeClock"]

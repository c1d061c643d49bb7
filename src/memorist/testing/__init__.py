"""Provides a clock that you move yourself, for tests of programs that use a memory.

The conformance suites for authors of stores are in the package `memorist-testing`.
"""

from __future__ import annotations

from .clock import FakeClock

__all__ = ["FakeClock"]

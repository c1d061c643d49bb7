"""Provides the public test kit: a fake clock, a pytest plugin, and the suites that every store and every facade must
pass. Put `pytest_plugins = ["memorist_testing.plugin"]` into a conftest, and subclass `StoreConformance` with one
fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorist.testing.clock import FakeClock

if TYPE_CHECKING:
    from .memories import MemoryConformance
    from .stores import StoreConformance

__all__ = ["FakeClock", "MemoryConformance", "StoreConformance"]


def __getattr__(name: str) -> Any:
    # Imported lazily, because the suites import pytest and the fake clock alone should not need it.
    if name == "StoreConformance":
        from .stores import StoreConformance

        return StoreConformance
    if name == "MemoryConformance":
        from .memories import MemoryConformance

        return MemoryConformance
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

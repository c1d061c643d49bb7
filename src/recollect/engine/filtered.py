"""Filters the engine itself asks for."""

from __future__ import annotations

from ..filters import Filter, Test


def same(field: str, value: str) -> Filter:
    """Rows whose field has this value."""
    return Test((field,), "$eq", value)

"""The suite that both facades must pass, on every store."""

from __future__ import annotations


class MemoryConformance:
    """Every promise of the public surface."""

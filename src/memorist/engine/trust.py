"""Ranks the sources of memories by how far they are trusted."""

from __future__ import annotations

from collections.abc import Iterable

TRUSTED = {"web": 0, "tool": 1, "document": 2, "processor": 3, "assistant": 3, "import": 4, "system": 4, "user": 4}
"""The order of trust levels."""


def lowest_trust(trusts: Iterable[str]) -> str:
    """Return the lowest of several trust levels, which text based on several sources gets."""
    return min(trusts, key=lambda trust: TRUSTED.get(trust, 0))

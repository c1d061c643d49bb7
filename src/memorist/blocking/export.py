"""Blocking export.

Made by scripts/generate-blocking from engine/portable.py; change that, then run the script.
"""

from __future__ import annotations

from typing import Self

from ..engine.portable import AsyncExport
from ..runtime import run_blocking


class Export:
    """Iterates over the bytes of an export."""

    def __init__(self, engine: AsyncExport) -> None:
        self._engine = engine

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        try:
            return run_blocking(self._engine.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

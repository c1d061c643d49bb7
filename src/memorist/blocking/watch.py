"""Blocking watch.

Made by scripts/generate-blocking from engine/watching.py; change that, then run the script.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from ..engine.watching import AsyncWatch, Notice
from ..runtime import run_blocking


class Watch:
    """Waits for changes by this and other processes. You can iterate over its notices indefinitely."""

    def __init__(self, engine: AsyncWatch) -> None:
        self._engine = engine

    def start(self) -> Self:
        """Start watching. No change after this call is missed; `next` and iteration call it too.

        Returns:
            The watch itself.
        """
        run_blocking(self._engine.start())
        return self

    def next(self, timeout: float | None = None) -> list[Notice]:
        """Return the changes since the last call, at most one per kind and namespace, or nothing after `timeout`
        seconds.

        Args:
            timeout: How many seconds to wait for a change. None means to wait forever.

        Returns:
            The notices, or an empty list.
        """
        return run_blocking(self._engine.next(timeout))

    def close(self) -> None:
        """Stop watching, which ends a loop over the notices."""
        run_blocking(self._engine.close())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Notice:
        try:
            return run_blocking(self._engine.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Self:
        run_blocking(self._engine.__aenter__())
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._engine.__aexit__(error_type, error, trace))

"""The embedder behind one coroutine, whatever it is: local, remote, a function."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..errors import ModelError, RecollectError
from ..runtime import Runtime


class Embedding:
    """Turns texts into unit vectors; local work goes where it does not stall a loop."""

    def __init__(self, spec: Any, runtime: Runtime) -> None:
        from ..embed import open_embedder

        self._inner = open_embedder(spec, blocking=runtime.blocking)
        self._runtime = runtime

    @property
    def name(self) -> str:
        """Stored beside each vector it makes."""
        return str(self._inner.name)

    @property
    def dimensions(self) -> int:
        """How long its vectors are."""
        return int(self._inner.dimensions)

    async def embed(self, texts: Sequence[str]) -> Any:
        """One unit vector per text; any failure is a ModelError."""
        try:
            if inspect.iscoroutinefunction(self._inner.embed):
                return await self._inner.embed(texts)
            return await self._runtime.call(self._inner.embed, texts)
        except RecollectError:
            raise
        except Exception as cause:
            raise ModelError(f"the embedder {self.name!r} failed: {type(cause).__name__}") from cause

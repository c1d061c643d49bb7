"""The embedder behind one coroutine, whatever it is: local, remote, a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ModelError, RecollectError, UsageError
from ...runtime import Runtime


class Embedding:
    """Turns texts into unit vectors; local work goes where it does not stall a loop."""

    def __init__(self, spec: Any, runtime: Runtime) -> None:
        from ...embed import open_embedder

        inner = open_embedder(spec, blocking=runtime.blocking)
        if inner is None:
            raise UsageError("no embedder was named")
        self._inner = inner
        self._offload = None if runtime.blocking else runtime.offload

    @property
    def name(self) -> str:
        """Stored beside each vector it makes."""
        return str(self._inner.name)

    @property
    def dimensions(self) -> int:
        """How long its vectors are."""
        return int(self._inner.dimensions)

    @property
    def static(self) -> bool:
        """Whether it only averages word vectors, so that a question is better given without its stop words."""
        return bool(getattr(self._inner, "static", False))

    async def embed(self, texts: Sequence[str]) -> Any:
        """One unit vector per text; any failure is a ModelError."""
        try:
            return await self._inner.embed(texts, offload=self._offload)
        except RecollectError:
            raise
        except Exception as cause:
            raise ModelError(f"the embedder {self.name!r} failed: {type(cause).__name__}") from cause

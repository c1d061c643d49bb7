"""Implements `@memory.task` and `run_with_memory` for a remote memory. Functions run on the client, which sends
requests to recall memories and store the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from ..engine.sessions.assembling import Recall
from ..engine.sessions.inject import TASK_HITS, Basis, Injection, Output
from ..ports import as_datetime

if TYPE_CHECKING:
    from ..recall.hit import Hit
    from .core import RemoteCore


class RemoteInjection(Injection):
    """Runs agents and functions on the client, and stores their output on the server."""

    async def recall(self, query: str, spec: Recall) -> tuple[Basis, list[Hit]]:
        """Return the memories that a task receives for a query. The server adds the sources of its output."""
        core = cast("RemoteCore", self._core)
        top_k = TASK_HITS if spec.top_k is None else spec.top_k
        hits = await core.call("functions.recall", query=query, **{**msgspec.structs.asdict(spec), "top_k": top_k})
        return Basis(as_datetime(hits.made.since, "since"), tuple(hits.made.sources), hits.made.trust), hits.hits

    async def keep(self, output: Output, recalled: Basis) -> bool:
        """Store the output with its sources, in one commit on the server."""
        core = cast("RemoteCore", self._core)
        from_nothing = not recalled.sources  # its time is then meaningless, and comes from the client's clock
        fields = msgspec.structs.asdict(output)
        stored: bool = await core.call(
            "functions.keep", said=fields.pop("text"), **fields, made=None if from_nothing else recalled
        )
        return stored

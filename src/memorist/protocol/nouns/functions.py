"""Serves functions that clients run with memory (`@memory.task`). One request recalls memories for a function, and
another stores its output."""

from __future__ import annotations

from typing import Any

import msgspec

from ...engine.sessions.assembling import Recall
from ...engine.sessions.inject import TASK_HITS, Basis, Injection, Output, Remember
from ...engine.trust import TRUSTED
from ...errors import InvalidValue
from ...ports import as_datetime
from ...values import JsonObject, check_name
from ..server_nouns import MadeFrom, Recalled, RememberAs
from .caller import ServerNoun

MAX_SOURCES = 500


class Functions(ServerNoun):
    """Provides memory to functions that run on clients."""

    async def recall(
        self,
        query: str,
        namespaces: str | list[str] | None = None,
        top_k: int = TASK_HITS,
        kinds: list[str] | None = None,
        min_score: float | None = None,
        where: JsonObject | None = None,
    ) -> Recalled:
        """Recall memories for a function. Send `made` from the answer together with the function's output, so that the
        output can be traced and forgotten.
        """
        spec = Recall(namespaces, top_k, None if kinds is None else tuple(kinds), min_score, where)
        recalled, hits = await Injection(self._core).recall(query, spec)
        return Recalled(hits, MadeFrom(recalled.since.isoformat(), list(recalled.sources), recalled.trust))

    async def keep(
        self,
        value: Any,
        said: str,
        asked: str = "",
        remember: RememberAs | None = None,
        thread: str | None = None,
        made: MadeFrom | None = None,
    ) -> bool:
        """Store a function's output as a fact, and the exchange in a thread, in one commit, with all their sources.

        Returns False if no fact was stored because one of its sources was forgotten in the meantime.
        """
        fact = None if remember is None else Remember(*msgspec.structs.astuple(remember))
        return await Injection(self._core).keep(Output(value, said, asked, fact, thread), self._origin(made))

    async def again(self, call: str, remember: RememberAs | None = None, **rest: object) -> bool:
        """Return the answer to an output whose idempotency key was used before."""
        return remember is None or await self._memory.facts.get(remember.namespace, remember.key) is not None

    def _origin(self, origin: MadeFrom | None) -> Basis:
        if origin is None:
            return Basis(self._core.at())
        if len(origin.sources) > MAX_SOURCES:
            raise InvalidValue(f"an output has at most {MAX_SOURCES} sources")
        if origin.trust is not None and origin.trust not in TRUSTED:
            raise InvalidValue(f"trust must be one of {', '.join(TRUSTED)}")
        sources = tuple(check_name(source, "source") for source in origin.sources)
        return Basis(as_datetime(origin.since, "since"), sources, origin.trust)

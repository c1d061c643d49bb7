"""Functions that clients run with memory (`@memory.task`): recalling for one and storing its output are requests."""

from __future__ import annotations

from typing import Any

import msgspec

from ...engine.sessions.assembling import Recall
from ...engine.sessions.inject import TASK_HITS, TRUSTED, Injection, Made, Output, Remember
from ...errors import InvalidValue
from ...ports import as_datetime
from ...recall.hit import Hit
from ...values import check_name
from .asked import ServerNoun

MAX_SOURCES = 500


class MadeFrom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an output was made from, as `recall` returned it; to be sent back with the output."""

    since: str
    """When the recall began, by the server's clock: a source that was forgotten later leaves no fact."""
    sources: list[str] = []
    trust: str | None = None
    """The lowest trust of the sources; it can lower that of the output, never raise it."""


class Recalled(msgspec.Struct, frozen=True):
    """What a function is given, and what its output will be made from."""

    hits: list[Hit]
    made: MadeFrom


class RememberAs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fact that an output is stored as."""

    namespace: str
    key: str
    ttl: float | None = None
    confidence: float = 1.0


class Functions(ServerNoun):
    """Functions with memory that run on clients."""

    async def recall(
        self,
        query: str,
        namespaces: str | list[str] | None = None,
        top_k: int = TASK_HITS,
        kinds: list[str] | None = None,
        min_score: float | None = None,
        where: dict[str, Any] | None = None,
    ) -> Recalled:
        """Recall for a function; `made` of the answer goes with its output, so that it can be traced and forgotten."""
        spec = Recall(namespaces, top_k, None if kinds is None else tuple(kinds), min_score, where)
        made, hits = await Injection(self._core).recall(query, spec)
        return Recalled(hits, MadeFrom(made.since.isoformat(), list(made.sources), made.trust))

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

        False if no fact is kept, because one of its sources was forgotten meanwhile.
        """
        fact = None if remember is None else Remember(*msgspec.structs.astuple(remember))
        return await Injection(self._core).keep(Output(value, said, asked, fact, thread), self._made(made))

    async def again(self, call: str, remember: RememberAs | None = None, **rest: Any) -> bool:
        """The answer to an output whose idempotency key was used before."""
        return remember is None or await self._memory.facts.get(remember.namespace, remember.key) is not None

    def _made(self, given: MadeFrom | None) -> Made:
        if given is None:
            return Made(self._core.at())
        if len(given.sources) > MAX_SOURCES:
            raise InvalidValue(f"an output has at most {MAX_SOURCES} sources")
        if given.trust is not None and given.trust not in TRUSTED:
            raise InvalidValue(f"trust must be one of {', '.join(TRUSTED)}")
        sources = tuple(check_name(source, "source") for source in given.sources)
        return Made(as_datetime(given.since, "since"), sources, given.trust)

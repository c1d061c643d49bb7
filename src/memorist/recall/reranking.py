"""Calls a memory's reranker on the best candidates of the first ranking, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from ..errors import MemoristError, ModelError, UsageError
from ..ports import Model, RerankerSpec
from ..runtime import Runtime

MAX_RERANKED_TEXTS = 50
"""How many candidates a reranker receives."""


class Verdict(msgspec.Struct, frozen=True):
    """Holds a reranker's scores in the order of the texts. They are None if the first ranking is kept, and `note` then
    says why."""

    name: str
    scores: list[float] | None
    note: str


class Reranking:
    """Calls the memory's reranker within its time limit."""

    def __init__(self, spec: RerankerSpec, runtime: Runtime, model: Model | None) -> None:
        from ..embed.reranking import TIME_LIMIT_SECONDS, open_reranker

        self._runtime = runtime
        self._inner = open_reranker(spec, blocking=runtime.blocking)
        self._model = model
        if self._inner is None and model is None:
            raise UsageError('reranker="model" needs a model=')
        self._limit = TIME_LIMIT_SECONDS * 5 if self._inner is None else self._inner.time_limit
        self._busy = 0

    @property
    def name(self) -> str:
        """This is the reranker's name, which is shown in the reasons for hits."""
        return self._inner.name if self._inner is not None else f"model {self._model.name if self._model else ''}"

    async def judge(self, query: str, texts: Sequence[str]) -> Verdict:
        """Return scores for the texts, or the reason why there are none."""
        if self._busy:
            # A call that timed out is still running; a second one beside it would only be slower.
            return Verdict(self.name, None, "still busy with an earlier question: the first ranking stands")
        began = time.perf_counter()
        try:
            scores, cost = await self._runtime.within(self._limit, lambda: self._ask_within_limit(query, texts))
        except TimeoutError:
            return Verdict(self.name, None, f"no answer in {self._limit:g} s: the first ranking stands")
        took = f"{len(texts)} texts, {1000 * (time.perf_counter() - began):.0f} ms"
        return Verdict(self.name, scores, f"{took}, {cost}" if cost else took)

    async def _ask_within_limit(self, query: str, texts: Sequence[str]) -> tuple[list[float], str]:
        from ..embed.reranking import checked

        self._busy += 1
        try:
            if self._inner is None:
                return await self._by_model(query, texts)
            call = self._inner.call
            answer = call(query, texts) if self._inner.is_async else await self._runtime.offload(call, query, texts)
            return checked(self.name, await self._runtime.resolve(answer), len(texts)), ""
        except MemoristError:
            raise
        except Exception as cause:
            raise ModelError(f"the reranker {self.name!r} failed: {type(cause).__name__}") from cause
        finally:
            self._busy -= 1

    async def _by_model(self, query: str, texts: Sequence[str]) -> tuple[list[float], str]:
        from ..models.searching import scores

        assert self._model is not None
        values, completion = await scores(self._model, query, texts)
        usage = completion.usage
        return values, f"{usage.input_tokens} tokens in, {usage.output_tokens} out"

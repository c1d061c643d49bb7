"""`@memory.task` and `run_with_memory` over a remote memory: the output is stored by one batch."""

from __future__ import annotations

from typing import Any

from ..engine.facts import Facts
from ..engine.inject import Injection, Made, Remember, _is_json, _said
from ..engine.threads import Threads


class RemoteInjection(Injection):
    """Runs agents and functions on the client, and stores their output on the server."""

    async def _record(
        self,
        output: Any,
        remember: Remember | None,
        thread: str | None,
        made: Made,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        core: Any = self._core
        if remember is None and thread is None:
            return
        batch = core.batched()
        if remember is not None:
            value = output if _is_json(output) else _said(output)
            source = made.sources[0] if made.sources else None
            await batch.part(Facts).set(
                remember.namespace, remember.key, value, ttl=remember.ttl, confidence=remember.confidence, source=source
            )
        if thread is not None:
            asked = "\n".join(value for value in (*args, *kwargs.values()) if isinstance(value, str))
            said = [{"role": "user", "content": asked}] if asked else []
            told = {"role": "assistant", "content": _said(output)}
            await batch.part(Threads).append(thread, *said, told, create=core.scope.own())
        await core.commit(batch)

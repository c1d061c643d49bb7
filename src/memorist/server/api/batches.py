"""Commits several operations, sent as data, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import Forbidden, InvalidValue
from ...protocol import server_nouns
from ...protocol.keys import ApiKey
from ...protocol.operations import BY_NAME, COLLECTED, Operation
from ...protocol.server_nouns import Committed, Step
from ..calls import answer_data, call_from
from ..narrowing import narrow_to
from ..nouns import noun_of
from .asked import ServerNoun

MAX_STEPS = 1000


class Batches(ServerNoun, server_nouns.Batches):
    """Commits several writes in one transaction."""

    async def commit(self, operations: list[Step]) -> Committed:
        async with self._memory.batch() as batch:
            results = await collected(batch, operations, self._key)
        return Committed(len(results), results)

    async def read(self, operations: list[Step], last: Step) -> Any:
        asked = checked(last, self._key)
        # This batch is never committed. It only lets the last operation see the writes of the others.
        batch = self._core.batched().facade()
        await collected(batch, operations, self._key)
        return answer_data(asked, await _called(batch, asked, last, self._key))

    async def again(self, call: str, operations: Sequence[Step], **rest: object) -> Committed:
        """Return the answer to a commit whose idempotency key was used before."""
        return Committed(len(operations), [], replayed=True)


async def collected(batch: object, steps: Sequence[Step], key: ApiKey) -> list[object]:
    """Run the operations in an open batch, and return the result of each as JSON data."""
    if len(steps) > MAX_STEPS:
        raise InvalidValue(f"a batch may have at most {MAX_STEPS} operations; send {len(steps)} as several batches")
    results = []
    for step in steps:
        operation = checked(step, key)
        if not operation.writes:
            raise InvalidValue(f"{operation.name} is not a write; a batch commits writes")
        results.append(answer_data(operation, await _called(batch, operation, step, key)))
    return results


def checked(step: Step, key: ApiKey) -> Operation:
    """Return the operation of a step if it can be part of a batch and the key may call it."""
    operation = BY_NAME.get(step.operation)
    if operation is None or operation.noun not in COLLECTED:
        raise InvalidValue("this operation cannot be part of a batch; only writes of facts, threads and the like can")
    if operation.of_server and operation.name != "entity_cache.invalidate":
        raise InvalidValue(f"{operation.name} cannot be part of a batch")
    try:
        key.check(operation.role)
    except Forbidden as lacking:
        raise Forbidden(f"{operation.name}: {lacking}") from None
    return operation


async def _called(batch: Any, operation: Operation, step: Step, key: ApiKey) -> Any:
    if step.scope is not None:
        batch = narrow_to(batch, key, step.scope)
    call = call_from(operation, step.arguments)
    noun = batch.entities if operation.noun == "entity_cache" else noun_of(batch, operation.noun)
    return await getattr(noun, operation.call)(*call.args, **call.options)

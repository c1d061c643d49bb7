"""Batches: several operations sent as data and committed in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ...errors import Forbidden, InvalidValue
from ...protocol.operations import BY_NAME, COLLECTED, Operation
from ..auth import ApiKey
from ..calls import answer_data, call_from
from ..nouns import noun_of
from .asked import ServerNoun

MAX_STEPS = 1000


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operation of a batch: its name, such as `facts.set`, and its arguments by name."""

    operation: str
    arguments: dict[str, Any] = {}


class Committed(msgspec.Struct, frozen=True):
    """The result of a batch."""

    count: int
    results: list[Any]
    """The result of each operation, in order; sequence numbers are assigned by the commit and not in them yet."""
    replayed: bool = False
    """Whether this idempotency key was used before, so that nothing was done now."""


class Batches(ServerNoun):
    """Commits several writes in one transaction."""

    async def commit(self, operations: list[Step]) -> Committed:
        """Commit several writes together, or none of them."""
        async with self._memory.batch() as batch:
            results = await collected(batch, operations, self._key)
        return Committed(len(results), results)

    async def read(self, operations: list[Step], last: Step) -> Any:
        """The result of the operation `last` as if these writes were committed; nothing is committed."""
        asked = checked(last, self._key)
        batch = self._memory._over(self._core.batched())
        await collected(batch, operations, self._key)
        return answer_data(asked, await _called(batch, asked, last))

    async def again(self, call: str, operations: Sequence[Step], **rest: Any) -> Committed:
        """The answer to a commit whose idempotency key was used before."""
        return Committed(len(operations), [], replayed=True)


async def collected(batch: Any, steps: Sequence[Step], key: ApiKey) -> list[Any]:
    """Run the operations in an open batch; the result of each, as JSON data."""
    if len(steps) > MAX_STEPS:
        raise InvalidValue(f"a batch takes at most {MAX_STEPS} operations; send {len(steps)} as several batches")
    results = []
    for step in steps:
        operation = checked(step, key)
        if not operation.writes:
            raise InvalidValue(f"{operation.name} is not a write; a batch commits writes")
        results.append(answer_data(operation, await _called(batch, operation, step)))
    return results


def checked(step: Step, key: ApiKey) -> Operation:
    """The operation of a step, if the key may do it and it can be part of a batch."""
    operation = BY_NAME.get(step.operation)
    if operation is None or operation.noun not in COLLECTED:
        raise InvalidValue("this operation cannot be part of a batch; it takes writes of facts, threads and the like")
    if operation.of_server and operation.name != "entity_cache.invalidate":
        raise InvalidValue(f"{operation.name} cannot be part of a batch")
    try:
        key.check(operation.role)
    except Forbidden as lacking:
        raise Forbidden(f"{operation.name}: {lacking}") from None
    return operation


async def _called(batch: Any, operation: Operation, step: Step) -> Any:
    call = call_from(operation, step.arguments)
    noun = batch.entities if operation.noun == "entity_cache" else noun_of(batch, operation.noun)
    return await getattr(noun, operation.call)(*call.args, **call.options)

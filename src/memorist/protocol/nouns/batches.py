"""Commits several operations, sent as data, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import Forbidden, InvalidValue
from ..keys import ApiKey
from ..operations import BY_NAME, COLLECTED, Operation
from ..server_nouns import Committed, Step
from .caller import ServerNoun

if TYPE_CHECKING:
    from ...server.app import Server

MAX_STEPS = 1000


class Batches(ServerNoun):
    """Commits several writes in one transaction."""

    async def commit(self, operations: list[Step]) -> Committed:
        """Commit several writes in one transaction. If one fails, nothing is committed."""
        async with self._memory.batch() as batch:
            results = await collected(self._server, batch, operations, self._key)
        return Committed(len(results), results)

    async def read(self, operations: list[Step], last: Step) -> Any:
        """Return the result of the operation `last` as if these writes were committed, without committing anything."""
        operation = checked(last, self._key)
        # This batch is never committed. It only lets the last operation see the writes of the others.
        batch = self._core.batched().facade()
        await collected(self._server, batch, operations, self._key)
        return await self._server.call_step(batch, operation, last, self._key)

    async def again(self, call: str, operations: Sequence[Step], **rest: object) -> Committed:
        """Return the answer to a commit whose idempotency key was used before."""
        return Committed(len(operations), [], replayed=True)


async def collected(server: Server, batch: object, steps: Sequence[Step], key: ApiKey) -> list[object]:
    """Run the operations in an open batch, and return the result of each as JSON data."""
    if len(steps) > MAX_STEPS:
        raise InvalidValue(f"a batch may have at most {MAX_STEPS} operations; send {len(steps)} as several batches")
    results = []
    for step in steps:
        operation = checked(step, key)
        if not operation.writes:
            raise InvalidValue(f"{operation.name} is not a write; a batch commits writes")
        results.append(await server.call_step(batch, operation, step, key))
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

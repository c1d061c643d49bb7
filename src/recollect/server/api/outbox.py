"""Waiting for what is derived from messages."""

from __future__ import annotations

from ...engine.receipts import MessageReceipt
from ...errors import InvalidValue
from .asked import ServerNoun

MAX_WAIT = 30.0
MAX_MESSAGES = 500


class OutboxOf(ServerNoun):
    """Receipts as they stand."""

    async def wait(self, ids: list[str], timeout: float = 0.0) -> list[MessageReceipt]:
        """Wait until messages are indexed and derived from, for 30 seconds at most; their receipts as they are then."""
        if len(ids) > MAX_MESSAGES:
            raise InvalidValue(f"at most {MAX_MESSAGES} messages at once")
        found = [await self._memory.threads.message(id) for id in ids]
        receipts = [MessageReceipt(one, True, False, "pending") for one in found if one is not None]
        if not 0 <= timeout <= MAX_WAIT:
            raise InvalidValue(f"timeout is from 0 to {MAX_WAIT:.0f} seconds")
        return await self._memory.wait(receipts, timeout=timeout) if receipts else []

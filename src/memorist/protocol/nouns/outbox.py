"""Waits for messages to be indexed and processed by the outbox."""

from __future__ import annotations

from ...engine.threads.receipts import MessageReceipt
from ...errors import InvalidValue
from .caller import ServerNoun

MAX_WAIT_SECONDS = 30.0
MAX_MESSAGES = 500


class OutboxOf(ServerNoun):
    """Waits for the outbox."""

    async def wait(self, ids: list[str], timeout: float = 0.0) -> list[MessageReceipt]:
        """Wait up to `timeout` seconds (30 at most) until messages are indexed and processed, and return their
        receipts.
        """
        if len(ids) > MAX_MESSAGES:
            raise InvalidValue(f"wait accepts at most {MAX_MESSAGES} messages at once")
        messages = [await self._memory.threads.message(id) for id in ids]
        receipts = [MessageReceipt(message, True, False, "pending") for message in messages if message is not None]
        if not 0 <= timeout <= MAX_WAIT_SECONDS:
            raise InvalidValue(f"timeout must be from 0 to {MAX_WAIT_SECONDS:.0f} seconds")
        return await self._memory.wait(receipts, timeout=timeout) if receipts else []

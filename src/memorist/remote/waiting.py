"""Waits over HTTP until messages are processed, by long polling."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING

from ..engine.threads.receipts import MessageReceipt

if TYPE_CHECKING:
    from .core import RemoteCore

MAX_POLL_SECONDS = 20.0
"""The maximum time that one request waits on the server."""


class RemoteWaiting:
    """Implements `Waiting` for a remote memory."""

    def __init__(self, core: RemoteCore) -> None:
        self._core = core

    async def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Wait until messages have been indexed and facts derived from them, or until either step has failed."""
        wanted = [receipts] if isinstance(receipts, MessageReceipt) else list(receipts)
        ids = [receipt.message.id for receipt in wanted]
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            # Proxies close requests that stay silent for long, so each one waits only a part of the time.
            left = MAX_POLL_SECONDS if deadline is None else max(0.0, min(MAX_POLL_SECONDS, deadline - monotonic()))
            answer = await self._core.call("outbox.wait", ids=ids, timeout=left) if ids else []
            by_id = {receipt.message.id: receipt for receipt in answer}
            # A message that was deleted meanwhile is missing from the answer and keeps its last known state.
            settled = [by_id.get(receipt.message.id, receipt) for receipt in wanted]
            is_done = all(receipt.derived != "pending" and receipt.indexed for receipt in settled)
            if is_done or (deadline is not None and monotonic() >= deadline):
                return settled

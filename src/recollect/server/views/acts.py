"""What the inspector does that the public API has no verb for: going back to a version, pinning, retrying one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ...engine.corrections import restore
from ...engine.pinning import pin
from .shared import fact_row, message_row

if TYPE_CHECKING:
    from ...memory import AsyncMemory


class Restore(msgspec.Struct, forbid_unknown_fields=True):
    """A version of a fact to go back to, and the version that must be there now."""

    ns: str
    key: str
    version: int
    expect: int | None = None


class Pin(msgspec.Struct, forbid_unknown_fields=True):
    """A message to pin, or to let go."""

    message: str
    pinned: bool = True


class Retry(msgspec.Struct, forbid_unknown_fields=True):
    """The dead letters of one item, or all."""

    item: str | None = None


async def restore_version(handle: AsyncMemory, asked: Restore) -> Any:
    """Write an earlier version again, with its confidence and sources."""
    return fact_row(await restore(handle._core, asked.ns, asked.key, asked.version, expect=asked.expect))


async def pin_message(handle: AsyncMemory, asked: Pin) -> Any:
    """Pin a message: every later request of its thread sends it."""
    return message_row(await pin(handle._core, asked.message, pinned=asked.pinned))


async def retry(handle: AsyncMemory, asked: Retry) -> Any:
    """Give dead letters another chance."""
    return {"revived": await handle.jobs.retry_dead(item=asked.item)}

"""Implements the inspector's writes, which restore a version, pin a message or retry a job and then return the rows to
show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .shared import Row, fact_row, message_row

if TYPE_CHECKING:
    from ...memory import AsyncMemory


class Restore(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the version of a fact to restore, and the version that the fact must currently have (compare-and-set)."""

    ns: str
    key: str
    version: int
    expect: int | None = None


class Pin(msgspec.Struct, forbid_unknown_fields=True):
    """Represents a message to pin or unpin."""

    message: str
    pinned: bool = True


class Retry(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the item whose dead letters are to be retried; the default is all items."""

    item: str | None = None


async def restore_version(handle: AsyncMemory, asked: Restore) -> Row:
    """Restore an earlier version, with its confidence and sources."""
    return fact_row(await handle.facts.restore(asked.ns, asked.key, asked.version, expect=asked.expect))


async def pin_message(handle: AsyncMemory, asked: Pin) -> Row:
    """Pin a message, so that every later context of its thread includes it."""
    return message_row(await handle.threads.pin(asked.message, pinned=asked.pinned))


async def retry(handle: AsyncMemory, asked: Retry) -> Row:
    """Put dead letters back into their queue."""
    return {"revived": await handle.jobs.retry_dead(item=asked.item)}

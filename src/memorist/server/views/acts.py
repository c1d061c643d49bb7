"""Implements the inspector's writes, which restore a version, pin a message or retry a job and then return the rows to
show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .shared import Row, fact_row, message_row

if TYPE_CHECKING:
    from ...memory import AsyncMemory


async def restore_version(handle: AsyncMemory, *, ns: str, key: str, version: int, expect: int | None = None) -> Row:
    """Restore an earlier version, with its confidence and sources."""
    return fact_row(await handle.facts.restore(ns, key, version, expect=expect))


async def pin_message(handle: AsyncMemory, *, message: str, pinned: bool = True) -> Row:
    """Pin a message, so that every later context of its thread includes it."""
    return message_row(await handle.threads.pin(message, pinned=pinned))


async def retry(handle: AsyncMemory, *, item: str | None = None) -> Row:
    """Put dead letters back into their queue."""
    return {"revived": await handle.jobs.retry_dead(item=item)}

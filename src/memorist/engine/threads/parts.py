"""Stores the binary parts of messages separately, and reads them back; see `memorist.messages.parts`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from ...errors import CorruptRecord
from ...filters import Test
from ...messages.message import Message
from ...messages.parts import PARTS, may_hold_parts, part_digests, put_back, set_apart
from ...records import Key, MessagePart, Thread
from ...stores.base import Append, Change, Delete, Expect, Load, Put, Scan, Store
from ..core import Core

_replace = msgspec.structs.replace


async def changes_apart(store: Store, changes: Sequence[Change], now: int, at: datetime) -> Sequence[Change]:
    """Return the changes with binary parts in separate rows at the end. The order of the changes stays the same."""
    written: list[Change] = []
    rows: dict[Key, Change] = {}
    for change in changes:
        if isinstance(change, Append):
            messages = [set_apart(message) for message in change.messages]
            parts = {digest: data for _, own in messages for digest, data in own.items()}
            if parts:
                change = _replace(change, messages=tuple(message for message, _ in messages))
                expires_at = await _expiry(store, changes, change.org, change.thread, now)
                rows |= _rows(change.org, change.thread, parts, at, expires_at)
        elif isinstance(change, Load | Put) and isinstance(change.record, Message):
            message, parts = set_apart(change.record)
            change = _replace(change, record=message) if parts else change
            rows |= _rows(message.org, message.thread, parts, at, message.expires_at)
        written.append(change)
    return [*written, *rows.values()] if rows else changes


def _rows(
    org: str, thread: str, parts: dict[str, bytes], at: datetime, expires_at: datetime | None
) -> dict[Key, Change]:
    rows = [
        MessagePart(org=org, thread=thread, digest=digest, data=data, created_at=at, expires_at=expires_at)
        for digest, data in parts.items()
    ]
    # A part is named by its digest, so an existing row already holds these bytes.
    return {row.row_key: Put(row, absent=True) for row in rows}


async def _expiry(store: Store, changes: Sequence[Change], org: str, thread: str, now: int) -> datetime | None:
    """Return when the thread and its parts expire."""
    for change in changes:
        if isinstance(change, Put) and isinstance(change.record, Thread) and change.record.row_key == (org, thread):
            return change.record.expires_at
    # Otherwise the thread is there already, and its parts must not outlive it.
    row = await store.get(Thread, (org, thread), now=now)
    return None if row is None else row.expires_at


async def whole_messages(store: Store, messages: Sequence[Message | None], now: int) -> list[Message | None]:
    """Return the messages as they were appended, with their binary parts."""
    keys = dict.fromkeys(
        (message.org, message.thread, digest)
        for message in messages
        if message is not None
        for digest in message.metadata.get(PARTS, ())
    )
    rows = await store.get_many(MessagePart, list(keys), now=now)
    parts = {key: row.data for key, row in zip(keys, rows, strict=True) if row is not None}
    return [None if message is None else _whole(message, parts) for message in messages]


def _whole(message: Message, parts: dict[tuple[str, str, str], bytes]) -> Message:
    digests = message.metadata.get(PARTS)
    if not digests:
        return message
    own = {digest: parts.get((message.org, message.thread, digest)) for digest in digests}
    if None in own.values():
        raise CorruptRecord(f"a binary part of message {message.id} is missing", thread=message.thread)
    return put_back(message, {digest: data for digest, data in own.items() if data is not None})


async def released_parts(core: Core, thread: Thread, removed: Sequence[Message]) -> list[Change]:
    """Return changes that delete the binary parts that no message in the thread contains once some messages are
    deleted.

    They expect the thread to be unchanged, because an append in the meantime may refer to a part again.
    """
    digests = {digest for message in removed if may_hold_parts(message) for digest in part_digests(message)}
    if not digests:
        return []
    unused = digests - await _digests_in_use(core, thread.id, {message.seq for message in removed})
    deletions = [Delete(MessagePart, (core.org, thread.id, digest)) for digest in sorted(unused)]
    return [Expect(Thread, thread.row_key, thread.version), *deletions] if deletions else []


async def _digests_in_use(core: Core, thread: str, removed: Collection[int]) -> set[str]:
    # With the store's own rows, in which the parts are set apart, and without expiry: a row that has expired but is not
    # purged yet still holds its parts.
    scan = Scan(Message, (core.org, thread), where=Test(("metadata", PARTS), "$exists", True))
    rows = await core.store.scan(scan, now=0)
    return {digest for row in rows if row.seq not in removed for digest in part_digests(row)}


async def release_parts(core: Core, id: str, removed: Sequence[Message]) -> None:
    """Delete the binary parts of deleted messages if no other message in the thread contains them."""
    # Most messages are plain text, and need no read here.
    if not any(may_hold_parts(message) for message in removed):
        return

    async def attempt() -> None:
        thread = await core.get(Thread, id)
        changes = [] if thread is None else await released_parts(core, thread, removed)
        if changes:
            await core.apply(*changes)

    await core.retry(attempt)

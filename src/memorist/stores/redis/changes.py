"""Encodes changes as the arguments of apply.lua, and turns the script's answers into results or errors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha1
from typing import Any, NamedTuple

import msgspec

from ...errors import StoreError, Unsupported
from ...messages.message import Message
from ...ports import to_datetime, to_micros
from ...records import Receipt, Record
from ..base import (
    Append,
    Appended,
    Change,
    ChangeResult,
    Delete,
    DeleteRange,
    Expect,
    Increment,
    Load,
    Put,
    Stored,
    org_of,
)
from ..refusals import counter_overflow, no_thread, not_an_integer, wrong_version
from .keys import bounds, encode_key, stamp, unstamp
from .rows import Argument, layout


def require_one_org(changes: Sequence[Change]) -> str:
    """Return the only org of a batch, or refuse a batch with several."""
    # The org is the hash tag of its keys. Two orgs are in two slots, and a script may only use keys of one.
    orgs = {org_of(change) for change in changes}
    if len(orgs) != 1:
        raise Unsupported("a batch on Redis must belong to one org, so that it is one atomic script; split it by org")
    return orgs.pop()


def only_removes(changes: Sequence[Change]) -> bool:
    """Return whether a batch writes no new rows. Such a batch must succeed even when the server is out of memory."""
    return all(isinstance(change, Delete | DeleteRange | Expect) for change in changes)


def removes(changes: Sequence[Change]) -> bool:
    """Return whether a batch deletes anything."""
    return any(isinstance(change, Delete | DeleteRange) for change in changes)


class Merged(NamedTuple):
    """Holds an encoded record that includes unknown cells (from columns of a newer version) of the row it replaces."""

    digest: str
    """This is the SHA-1 of the old body. The script compares it, so that a row written in the meantime is merged again
    (optimistic retry)."""
    shape: int
    encoded: list[Argument]


Merges = dict[int, Merged]
"""Merged records by the index of their change in the batch."""


def merge(changes: Sequence[Change], merges: Merges, reply: list[Any]) -> Merges:
    """Add the merged records that the script asked for. Its reply names rows with columns that are unknown to us."""
    more = dict(merges)
    for number, shape, body in zip(reply[1::3], reply[2::3], reply[3::3], strict=True):
        change = changes[int(number) - 1]
        assert isinstance(change, Put | Load | Increment)
        table = layout(type(change.record))
        encoded, new_shape = table.merge_cells(table.encode(change.record), int(shape), body)
        more[int(number) - 1] = Merged(sha1(body, usedforsecurity=False).hexdigest(), new_shape, encoded)
    return more


def arguments(changes: Sequence[Change], now: int, slack_ms: int, merges: Merges) -> list[Argument]:
    """Return the arguments of apply.lua."""
    body: list[Argument] = []
    for number, change in enumerate(changes):
        body += _ENCODERS[type(change)](change, merges.get(number))
    return [stamp(now), slack_ms, len(changes), *body]


def _row(record: Record, merged: Merged | None) -> tuple[list[Argument], list[Argument]]:
    """Return the description of a row that is to be written, and its parts."""
    table = layout(type(record))
    if merged is None:
        # No body has an empty digest, so the script replaces no row of a shape that is unknown to us.
        return [*table.spec, b""], table.encode(record)
    return [*table.spec_as(merged.shape), merged.digest], merged.encoded


def _put(change: Put, merged: Merged | None) -> list[Argument]:
    table = layout(type(change.record))
    cached = _encoded_puts.get(id(change.record)) if change.absent and merged is None else None
    if cached is not None and cached[0] is change.record:
        return cached[1]
    head, parts = _row(change.record, merged)
    out = [b"P", *head, table.flags + "a" * change.absent, table.history, *parts]
    if change.absent and merged is None:
        # The engine puts the same Job object with every append to a thread, so its encoding is cached.
        if len(_encoded_puts) >= 1024:
            _encoded_puts.clear()
        _encoded_puts[id(change.record)] = (change.record, out)
    return out


_encoded_puts: dict[int, tuple[Record, list[Argument]]] = {}
"""A cache by the `id()` of the record. It also contains the record, so that the id is not reused."""


def _append(change: Append, merged: Merged | None) -> list[Argument]:
    thread = encode_key((change.thread,))
    table, keyed = layout(Message), change.key is not None
    receipt = encode_key((change.thread, change.key or "")) if keyed else b""
    tokens = sum(message.tokens or 0 for message in change.messages)
    # A thread's row contains its member in the index by namespace, which the script compares with this one.
    ns_member = b"" if change.ns is None else encode_key((change.ns, change.thread))
    out: list[Argument] = [
        b"A",
        thread,
        ns_member,
        receipt,
        stamp(to_micros(change.at)),
        tokens,
        len(change.messages),
        table.shape,
    ]
    for message in change.messages:
        # The Append decides where a message is stored. A wrong org in the message must not reach another tenant.
        if message.org != change.org or message.thread != change.thread:
            message = msgspec.structs.replace(message, org=change.org, thread=change.thread)
        cells = table.encode(message)
        # These are `created_at` and the body. Only the script knows the others: the sequence number that the thread has
        # reached, and the thread's expiry.
        out += [cells[3], cells[-1]]
    if change.key is not None:
        # Only the body is sent. `first` and `count` are fields, which the script fills in.
        done = Receipt(org=change.org, thread=change.thread, key=change.key, first=0, count=0, created_at=change.at)
        out += [layout(Receipt).shape, layout(Receipt).encode(done)[-1]]
    return out


def _load(change: Load, merged: Merged | None) -> list[Argument]:
    head, parts = _row(change.record, merged)
    return [b"L", *head, *parts]


def _delete(change: Delete, merged: Merged | None) -> list[Argument]:
    table = layout(change.kind)
    return [b"D", *table.spec, table.member(change.key)]


def _delete_range(change: DeleteRange, merged: Merged | None) -> list[Argument]:
    return [b"R", *layout(change.kind).spec, *bounds(change.prefix[1:], change.after, change.before, None)]


def _increment(change: Increment, merged: Merged | None) -> list[Argument]:
    head, (member, *row) = _row(change.record, merged)
    return [b"I", *head, member, int(change.record.value), *row]


def _expect(change: Expect, merged: Merged | None) -> list[Argument]:
    table = layout(change.kind)
    return [b"E", *table.spec, table.member(change.key), change.version]


_ENCODERS: dict[type, Any] = {
    Put: _put, Load: _load, Append: _append, Delete: _delete, DeleteRange: _delete_range, Increment: _increment,
    Expect: _expect,
}  # fmt: skip


def results(changes: Sequence[Change], reply: list[Any]) -> list[ChangeResult]:
    """Return the results of a batch from the script's reply. Raises our error if the script refused a change."""
    verdict = reply[0]
    if verdict == b"done":
        # Where there is no result, the script returns false, which arrives as None. A Lua nil would end the array.
        return [_result(change, answer) for change, answer in zip(changes, reply[1:], strict=True)]
    raise _refusal(verdict, changes[int(reply[1]) - 1], reply)


def _result(change: Change, answer: Any) -> ChangeResult:
    if isinstance(change, Put):
        return None if answer is None else Stored(int(answer[0] or 0), _time(answer[1]))
    if isinstance(change, Append):
        return Appended(int(answer[0]), int(answer[1]), replayed=bool(answer[3]), expires_at=_time(answer[2]))
    if isinstance(change, Delete):
        return bool(answer)
    return None if answer is None else int(answer)


def _time(text: bytes) -> datetime | None:
    return to_datetime(unstamp(text)) if text else None


def _refusal(verdict: bytes, change: Change, reply: list[Any]) -> Exception:
    if verdict == b"thread" and isinstance(change, Append):
        return no_thread(change)
    if verdict == b"conflict" and isinstance(change, Expect):
        return wrong_version(change, int(reply[2]))
    if verdict == b"integer" and isinstance(change, Increment):
        return not_an_integer(change.record)
    if verdict == b"range" and isinstance(change, Increment):
        return counter_overflow(change.record)
    return StoreError("the script returned an answer this version does not know; do all clients run the same version?")

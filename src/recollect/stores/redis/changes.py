"""Between changes and the apply script: its arguments, and its answers as results or errors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha1
from typing import Any, NamedTuple

import msgspec

from ...errors import Conflict, InvalidValue, NotFound, StoreError, Unsupported, UsageError
from ...messages import Message
from ...ports import to_datetime, to_micros
from ...records import Receipt, Record, StateEntry
from ..base import Append, Appended, Change, Delete, DeleteRange, Expect, Increment, Load, Put, Stored
from .keys import bounds, encode_key, stamp, unstamp
from .rows import layout


def org_of(changes: Sequence[Change]) -> str:
    """The one org of a batch."""
    orgs = {_org(change) for change in changes}
    if len(orgs) != 1:
        raise Unsupported("a batch on Redis is of one org, so that it is one atomic script; split it by org")
    return orgs.pop()


def _org(change: Change) -> str:
    if isinstance(change, Put | Load | Increment):
        return change.record.org
    if isinstance(change, Append):
        return change.org
    key = change.prefix if isinstance(change, DeleteRange) else change.key
    if not key:
        raise UsageError("a DeleteRange names its org first")
    return str(key[0])


def only_removes(changes: Sequence[Change]) -> bool:
    """Whether nothing new is written, so that it works on a full server too."""
    return all(isinstance(change, Delete | DeleteRange | Expect) for change in changes)


def removes(changes: Sequence[Change]) -> bool:
    """Whether something is taken away, with or without something written beside it."""
    return any(isinstance(change, Delete | DeleteRange) for change in changes)


class Merged(NamedTuple):
    """A record encoded together with the cells of the row it replaces that this version does not know."""

    digest: str
    """SHA-1 of the body it was merged from: a row that was written since is merged again."""
    shape: int
    encoded: list[Any]


Merges = dict[int, Merged]
"""By the place of the change."""


def merge(changes: Sequence[Change], merges: Merges, reply: list[Any]) -> Merges:
    """What the script needs besides, once it said which rows are of a shape that it does not know."""
    more = dict(merges)
    for number, shape, body in zip(reply[1::3], reply[2::3], reply[3::3], strict=True):
        change = changes[int(number) - 1]
        assert isinstance(change, Put | Load | Increment)
        kept = layout(type(change.record))
        encoded, new_shape = kept.merged(kept.encode(change.record), int(shape), body)
        more[int(number) - 1] = Merged(sha1(body, usedforsecurity=False).hexdigest(), new_shape, encoded)
    return more


def arguments(changes: Sequence[Change], now: int, slack_ms: int, merges: Merges) -> list[Any]:
    """What apply.lua takes."""
    body: list[Any] = []
    for number, change in enumerate(changes):
        if number in merges:
            _merged(change, merges[number], body)
        else:
            _ENCODERS[type(change)](change, body)
    return [stamp(now), slack_ms, len(changes), *body]


def _merged(change: Change, merged: Merged, out: list[Any]) -> None:
    assert isinstance(change, Put | Load | Increment)
    kept, (member, *row) = layout(type(change.record)), merged.encoded
    head = [*kept.spec_as(merged.shape), merged.digest]
    if isinstance(change, Put):
        out += [b"P", *head, kept.flags + "a" * change.absent, kept.history, member, *row]
    elif isinstance(change, Load):
        out += [b"L", *head, member, *row]
    else:
        out += [b"I", *head, member, int(change.record.value), *row]


def _put(change: Put, out: list[Any]) -> None:
    known = _encoded_puts.get(id(change.record)) if change.absent else None
    if known is not None and known[0] is change.record:
        out += known[1]
        return
    kept = layout(type(change.record))
    flags = kept.flags + "a" if change.absent else kept.flags
    made = [b"P", *kept.spec, b"", flags, kept.history, *kept.encode(change.record)]
    if change.absent:
        # The engine puts the same job with every append to a thread: as the same object, so it is encoded once.
        if len(_encoded_puts) >= 1024:
            _encoded_puts.clear()
        _encoded_puts[id(change.record)] = (change.record, made)
    out += made


_encoded_puts: dict[int, tuple[Record, list[Any]]] = {}
"""By identity; each keeps its record, so that no other object takes its number meanwhile."""


def _append(change: Append, out: list[Any]) -> None:
    thread = encode_key((change.thread,))
    kept, keyed = layout(Message), change.key is not None
    receipt = encode_key((change.thread, change.key or "")) if keyed else b""
    tokens = sum(message.tokens or 0 for message in change.messages)
    # A thread's row holds its place in the first index, which begins with the namespace.
    where = b"" if change.ns is None else encode_key((change.ns, change.thread))
    out += [b"A", thread, where, receipt, stamp(to_micros(change.at)), tokens, len(change.messages), kept.shape]
    for message in change.messages:
        # Where a message goes is said by the append alone: a stray org in it must not lead into another tenant.
        if message.org != change.org or message.thread != change.thread:
            message = msgspec.structs.replace(message, org=change.org, thread=change.thread)
        cells = kept.encode(message)
        out += [cells[3], cells[-1]]
    if change.key is not None:
        done = Receipt(org=change.org, thread=change.thread, key=change.key, first=0, count=0, created_at=change.at)
        out += [layout(Receipt).shape, layout(Receipt).encode(done)[-1]]


def _load(change: Load, out: list[Any]) -> None:
    kept = layout(type(change.record))
    out += [b"L", *kept.spec, b"", *kept.encode(change.record)]


def _delete(change: Delete, out: list[Any]) -> None:
    kept = layout(change.kind)
    out += [b"D", *kept.spec, kept.member(change.key)]


def _delete_range(change: DeleteRange, out: list[Any]) -> None:
    out += [b"R", *layout(change.kind).spec, *bounds(change.prefix[1:], change.after, change.before, None)]


def _increment(change: Increment, out: list[Any]) -> None:
    kept = layout(StateEntry)
    member, *row = kept.encode(change.record)
    out += [b"I", *kept.spec, b"", member, int(change.record.value), *row]


def _expect(change: Expect, out: list[Any]) -> None:
    kept = layout(change.kind)
    out += [b"E", *kept.spec, kept.member(change.key), change.version]


_ENCODERS: dict[type, Any] = {
    Put: _put, Load: _load, Append: _append, Delete: _delete, DeleteRange: _delete_range, Increment: _increment,
    Expect: _expect,
}  # fmt: skip


def results(changes: Sequence[Change], reply: list[Any]) -> list[Any]:
    """What the script answered, as the store's results; its refusals as errors."""
    verdict = reply[0]
    if verdict == b"done":
        # A trailing nil is still an element: the script answers false for it.
        return [_result(change, answer) for change, answer in zip(changes, reply[1:], strict=True)]
    raise _refusal(verdict, changes[int(reply[1]) - 1], reply)


def _result(change: Change, answer: Any) -> Any:
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
        return NotFound("no such thread; create it first", thread=change.thread)
    if verdict == b"conflict" and isinstance(change, Expect):
        name, actual = change.kind.table.name, int(reply[2])
        return Conflict(
            f"a row of {name} has version {actual}, expected {change.version}; read it again",
            expected=change.version,
            actual=actual,
            key=change.key,
        )
    if verdict == b"integer" and isinstance(change, Increment):
        text = "the entry is not an integer; only integers can be incremented"
        return InvalidValue(text, key=change.record.key)
    if verdict == b"range" and isinstance(change, Increment):
        return InvalidValue("the counter would pass 64 bits", key=change.record.key)
    return StoreError("the script gave an answer this version does not know; do all clients run the same version?")

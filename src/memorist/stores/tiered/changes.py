"""Determines the effects of a batch on hot copies, and reads rows back from copies. These are pure functions without
I/O.

The value of a copy is a small dict. `{"b": body}` contains a body, `{"w": time}` marks a write in progress, and `{}` is
empty. The body of a row is `{"r": cells, "s": shape}`, and that of a known absence is `{"a": time or None}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ...messages.message import Message
from ...ports import to_micros
from ...records import CachedEntity, Key, Record, StateEntry, Thread, WorkingDocument
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
    live,
)
from ..codec import cells_of, codec, decoded, row_of
from .copies import Copy, HotSide

ROW_KINDS = (WorkingDocument, CachedEntity, StateEntry, Thread)
WINDOW_MESSAGES = 200
MAX_COPY_BYTES = 256 * 1024
FILLED, NEWEST = "}", "~"
"""The keys of two copies for a thread, which sort after those of its messages. They contain the extent of the last fill
and the newest number."""
MISS = object()
"""Returned by `row_in_copy` for a copy that cannot answer."""


class Marks(msgspec.Struct, frozen=True):
    """Holds the marks of a batch in progress: the generation under which they were written, and the version of each
    marked copy."""

    generation: int | None
    versions: dict[Key, int]


class CopyPlan:
    """Describes the effects of a batch on the copies of one org. Each change has its index in the batch."""

    def __init__(self) -> None:
        self.rows: dict[Key, list[tuple[int, Change]]] = {}
        self.windows: dict[Key, list[tuple[int, Append]] | None] = {}
        """The appends to each thread, or None if its messages are changed in another way."""
        self.wipe = False
        """Whether the batch deletes a range of hot rows, so that all copies of the org must be deleted."""

    def copy_keys(self) -> list[Key]:
        """Return the keys of all copies that the batch affects."""
        return [*self.rows, *self.windows]

    def settling_changes(self, results: list[ChangeResult], hot: HotSide, now: int) -> list[Change]:
        """Return the changes that update the copies once the batch is committed."""
        out: list[Change] = []
        for copy_key, numbered_changes in self.rows.items():
            number, change = numbered_changes[0]
            # After several changes to one row, no single result describes it, so its copy is emptied.
            body, ends = (None, None) if len(numbered_changes) > 1 else _body_after(change, results[number])
            out.append(
                hot.emptying_put(copy_key, now) if body is None else Put(hot.entry(copy_key, {"b": body}, now, ends))
            )
        for copy_key, appends in self.windows.items():
            out += _window_changes(copy_key, appends, results, hot, now)
        return out


def copy_plans(changes: Sequence[Change], hot: HotSide) -> dict[str, CopyPlan]:
    """Return the plan for each org that a batch affects."""
    plans: dict[str, CopyPlan] = {}
    for number, change in enumerate(changes):
        if isinstance(change, Append):
            # An append also changes the length and the tokens of its thread's row.
            plan = plans.setdefault(change.org, CopyPlan())
            plan.rows.setdefault(hot.copy_key(change.org, "threads", (change.thread,)), []).append((number, change))
            copy_key = (change.org, hot.partition("messages", [change.thread]), NEWEST)
            appends = plan.windows.setdefault(copy_key, [])
            if appends is not None:
                appends.append((number, change))
            continue
        if isinstance(change, Expect):
            continue
        record_type, key = _target(change)
        if record_type not in ROW_KINDS and record_type is not Message:
            continue
        org = str(key[0])
        plan = plans.setdefault(org, CopyPlan())
        if record_type is Message and len(key) >= 2:
            plan.windows[(org, hot.partition("messages", [key[1]]), NEWEST)] = None
        elif isinstance(change, DeleteRange):
            # Nothing tells which copies exist in a range. It is rare enough to delete all of the org's.
            plan.wipe = True
        else:
            plan.rows.setdefault(hot.copy_key(org, record_type.table.name, key[1:]), []).append((number, change))
    return plans


def _target(change: Change) -> tuple[type[Record], Key]:
    """Return the kind of row that a change affects, and its key or, for a range, the first columns of its keys."""
    if isinstance(change, Put | Load | Increment):
        return type(change.record), change.record.row_key
    if isinstance(change, DeleteRange):
        return change.kind, change.prefix
    assert isinstance(change, Delete)
    return change.kind, change.key


def _body_after(change: Change, result: object) -> tuple[object, int | None]:
    """Return the body of the copy after a change, and its expiry, or None if the change does not determine it."""
    if isinstance(change, Delete):
        return {"a": None}, None
    if isinstance(change, Load):
        return body_of(change.record), ends_of(change.record)
    if isinstance(change, Put) and isinstance(result, Stored):
        # The store assigned these two. With them, the copy equals the row that a read would return.
        cells = {"version": result.version, "created_at": result.created_at}
        row = msgspec.structs.replace(change.record, **cells)
        return body_of(row), ends_of(row)
    return None, None


def _window_changes(
    copy_key: Key, appends: list[tuple[int, Append]] | None, results: list[ChangeResult], hot: HotSide, now: int
) -> list[Change]:
    """Return the changes to the copied messages of a thread after appends.

    After any other change to its messages, all copies are deleted.
    """
    emptied: list[Change] = [DeleteRange(StateEntry, copy_key[:2], before=(NEWEST,)), hot.emptying_put(copy_key, now)]
    if appends is None:
        return emptied
    # The messages themselves are at hand, so the window of a thread in use grows without being read again.
    out: list[Change] = []
    top = 0
    for number, change in appends:
        result = results[number]
        assert isinstance(result, Appended)
        for seq, message in enumerate(change.messages, result.first):
            stored = msgspec.structs.replace(
                message, org=change.org, thread=change.thread, seq=seq, expires_at=result.expires_at
            )
            body = body_of(stored)
            if body is None:
                return emptied
            out.append(Put(hot.entry((*copy_key[:2], number_key(seq)), {"b": body}, now, ends_of(stored))))
        top = result.first + result.count - 1
    if not out:
        return [hot.emptying_put(copy_key, now)]
    if top > WINDOW_MESSAGES:
        out.append(DeleteRange(StateEntry, copy_key[:2], before=(number_key(top - WINDOW_MESSAGES + 1),)))
    return [*out, Put(hot.entry(copy_key, {"b": {"top": top}}, now))]


def row_in_copy(record_type: type[Record], copy: Copy, now: int) -> object:
    """Return the row that a copy contains, None for a known absence, or MISS."""
    body = copy.body
    if body is None:
        return MISS
    if "a" in body:
        # The row was absent at that time. A reader whose clock is behind may still have to see an expired row.
        return None if body["a"] is None or now >= body["a"] else MISS
    if body["s"] != codec(record_type).shape:
        return MISS
    # The hot store may keep a copy for a while after its row has ended, like any other row.
    row = _decode(record_type, body)
    return row if live(ends_of(row), now) else None


def newest_messages(copies: list[StateEntry], limit: int, now: int) -> list[Message] | None:
    """Return the newest messages from a thread's copies, newest first, or None if the copies do not contain all of
    them."""
    if len(copies) < 2 or copies[0].key != NEWEST or copies[1].key != FILLED:
        return None
    head, filled = copies[0].value.get("b"), copies[1].value.get("b")
    # An emptied or marked head has no body. A fill leaves out rows that have expired by its own clock, and a reader
    # whose clock is behind may still have to see them.
    if head is None or filled is None or now < filled["at"]:
        return None
    bodies = [copy.value["b"] for copy in copies[2:]]
    if any(body["s"] != codec(Message).shape for body in bodies):
        return None
    rows = [_decode(Message, body) for body in bodies]
    # Messages appended since the fill must be complete. Those of the fill itself expire together with its marker.
    # A copy may be missing because it expired, or because two writers settled at once.
    appended = [row.seq for row in rows if row.seq > filled["top"]]
    count = min(limit, head["top"] - filled["top"])
    if appended != list(range(head["top"], head["top"] - count, -1)):
        return None
    if any(not live(ends_of(row), now) for row in rows):
        return None
    # Fewer rows than asked for are an answer only if no older message can exist outside the window.
    is_complete = filled["whole"] and head["top"] <= WINDOW_MESSAGES
    return rows if len(rows) == limit or is_complete else None


def number_key(seq: int) -> str:
    """Return the key of a message's copy, which is its number with leading zeros, so that keys sort like numbers."""
    return f"{seq:016d}"


def body_of(row: Record) -> object:
    """Return the body of a row's copy (its cells by name and its shape), or None if the row is too large to be copied.

    `row_in_copy` refuses a copy of another shape, because a version with fewer columns creates copies without the cells
    it does not know, which the durable row may have.
    """
    record_type = type(row)
    cells = cells_of(record_type, codec(record_type).encode(row))
    size = sum(len(cell) for cell in cells.values() if isinstance(cell, str))
    return None if size > MAX_COPY_BYTES else {"r": cells, "s": codec(record_type).shape}


def _decode(record_type: type[Record], body: Any) -> Any:
    return decoded(record_type, row_of(record_type, body["r"]))


def ends_of(row: object) -> int | None:
    """Return a row's expiry in microseconds, if it has one."""
    ends = getattr(row, "expires_at", None)
    return None if ends is None else to_micros(ends)

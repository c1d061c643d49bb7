"""Translates the changes of an `apply` into SQL statements, and the server's replies into results. It sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from ...errors import StoreError, Unsupported
from ...messages.message import Message
from ...ports import to_datetime, to_micros
from ...records import Key, Record, StateEntry
from ...values import INT_MAX, INT_MIN
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
from ..codec import Row, codec
from ..refusals import counter_overflow, no_thread, not_an_integer, wrong_version
from .pipeline import Cell, Failed, Reply, Step, cell
from .rows import summed
from .statements import (
    APPEND_CELLS,
    BEGIN_APPEND,
    INCREMENT,
    LOADING,
    Shape,
    append_first_sql,
    append_next_sql,
    can_expire,
    delete_range_sql,
    put_cells,
    write_statements,
)

Read = Callable[[Reply], ChangeResult]


def plan(changes: Sequence[Change], now: int, enter: Callable[[str], Step]) -> Plan:
    """Return statements for the changes. `enter` creates the step that switches row-level security to an org."""
    statements = Plan(now, enter)
    for position in _lock_order(changes):
        statements.add(position, changes[position])
    return statements


class Plan:
    """Collects the statements of one `apply`."""

    def __init__(self, now: int, enter: Callable[[str], Step]) -> None:
        self.steps: list[Step] = []
        self.owners: list[int | None] = []
        """The change to which each step belongs, by its index. The steps that enter an org belong to none."""
        self._readers: list[Read | None] = []
        """The function that reads a change's result from the reply to a step, for each step whose reply contains
        one."""
        self._now = b"%d" % now
        self._enter = enter
        self._org: str | None = None
        self._absent: set[tuple[type[Record], Key]] = set()
        """Rows that must not exist according to an earlier Expect in this batch. A Put of one of them is a plain
        insert."""

    def results(self, replies: Sequence[Reply]) -> list[ChangeResult]:
        """Return one result per change."""
        results: dict[int | None, ChangeResult] = {}
        for owner, read, reply in zip(self.owners, self._readers, replies, strict=True):
            if read is not None:
                results[owner] = read(reply)
        # The steps are in the order of the locks, and the results in that of the changes.
        return [results[position] for position in range(len(results))]

    def add(self, index: int, change: Change) -> None:
        self._enter_org(org_of(change))
        if isinstance(change, Append):
            self._append(index, change)
        elif isinstance(change, Put):
            self._put(index, change)
        elif isinstance(change, Load):
            self._load(index, change.record)
        elif isinstance(change, Delete):
            self._delete(index, change)
        elif isinstance(change, DeleteRange):
            self._delete_range(index, change)
        elif isinstance(change, Increment):
            self._increment(index, change.record)
        else:
            self._expect(index, change)

    def _enter_org(self, org: str) -> None:
        # Row-level security checks writes too. A batch may name several orgs, so each run of changes names its own.
        if org != self._org:
            self._org = org
            self._step(None, self._enter(org))

    def _step(self, owner: int | None, step: Step, read: Read | None = None) -> None:
        self.steps.append(step)
        self.owners.append(owner)
        self._readers.append(read)

    def _put(self, index: int, change: Put) -> None:
        record_type = type(change.record)
        row = codec(record_type).encode(change.record)
        sql, cells = write_statements(record_type), row_cells(record_type, row, put_cells(record_type))
        fresh = self._is_first_write(change.record)
        text = sql.put
        if change.absent or fresh:
            text = sql.ensure if change.absent else sql.fresh
            if can_expire(record_type):
                cells.append(self._now)
        self._step(index, Step(text, cells, _formats(sql.put_binary, cells)), stored_reader(record_type))

    def _is_first_write(self, record: Record) -> bool:
        """Return whether this write creates a row that an Expect of this batch found to be absent."""
        # A row that does not exist cannot be locked, so the Expect alone would let two writers through. With `fresh`,
        # the INSERT of the second waits until the first commits, and then fails because the row exists.
        row = (type(record), record.row_key)
        is_first = row in self._absent
        # What this batch does with the row after that concerns its own row.
        self._absent.discard(row)
        return is_first

    def _delete(self, index: int, change: Delete) -> None:
        sql, cells = write_statements(change.kind).delete, [cell(value) for value in change.key]
        if (change.kind, change.key) in self._absent:
            # The Expect could not lock the missing row. If another transaction has created it since, it must stay, so
            # that the Put that follows conflicts with it and everything is rolled back.
            sql = write_statements(change.kind).delete_expired
            if can_expire(change.kind):
                cells.append(self._now)
        self._step(index, Step(sql, cells), lambda reply: reply.touched > 0)

    def _load(self, index: int, record: Record) -> None:
        record_type = type(record)
        row = codec(record_type).encode(record)
        sql, cells = write_statements(record_type), row_cells(record_type, row, range(len(row)))
        # An import brings its own history, so the trigger must not add the rows that it replaces.
        if record_type.table.history:
            self._step(index, Step(LOADING, [b"on"]))
        text = sql.load
        if self._is_first_write(record):
            text = sql.fresh_load
            if can_expire(record_type):
                cells.append(self._now)
        self._step(index, Step(text, cells, _formats(sql.binary, cells)), lambda reply: None)
        if record_type.table.history:
            self._step(index, Step(LOADING, [b"off"]))

    def _delete_range(self, index: int, change: DeleteRange) -> None:
        after, before = change.after or (), change.before or ()
        sql = delete_range_sql(change.kind, Shape(None, len(change.prefix), len(after), len(before)))
        cells = [cell(value) for value in (*change.prefix, *after, *before)]
        self._step(index, Step(sql, cells), lambda reply: reply.touched)

    def _append(self, index: int, change: Append) -> None:
        count = len(change.messages)
        tokens = sum(message.tokens or 0 for message in change.messages)
        numbers = (change.key, change.ns, count, tokens, to_micros(change.at))
        begin = [*map(cell, numbers), self._now]
        if not count:
            step = Step(BEGIN_APPEND, [cell(change.org), cell(change.thread), *begin])
            self._step(index, step, lambda reply: _appended(reply, count))
            return
        # The numbers come from the thread's row and not from a sequence. Transactions commit in another order than they
        # draw from a sequence, so a reader of "everything after N" would miss messages. The first statement locks the
        # row and reserves all numbers. The others count back from the thread's new length, which no other transaction
        # can change before the commit.
        rows = [_message_cells(change, message) for message in change.messages]
        self._step(index, Step(append_first_sql(), [*rows[0], *begin]), lambda reply: _appended(reply, count))
        for back, cells in zip(range(count - 2, -1, -1), rows[1:], strict=True):
            self._step(index, Step(append_next_sql(), [*cells, b"%d" % back]))

    def _increment(self, index: int, record: StateEntry) -> None:
        by = int(record.value)
        # The server checks the sum, but an amount beyond 64 bits could not even be sent.
        if not INT_MIN <= by <= INT_MAX:
            raise counter_overflow(record)
        at = codec(StateEntry).position_of
        row = codec(StateEntry).encode(record)
        times = [cell(row[at[name]]) for name in ("created_at", "updated_at", "expires_at")]
        cells = [cell(record.org), cell(record.ns), cell(record.key), b"%d" % by, *times, self._now]
        self._step(index, Step(INCREMENT, cells), lambda reply: reply.rows[0][0])

    def _expect(self, index: int, change: Expect) -> None:
        sql = write_statements(change.kind).expect
        if not sql:
            raise Unsupported(f"rows of {change.kind.table.name} have no version to expect")
        cells: list[Cell] = [*map(cell, change.key), b"%d" % change.version]
        if can_expire(change.kind):
            cells.append(self._now)
        if change.version == 0:
            self._absent.add((change.kind, change.key))
        self._step(index, Step(sql, cells), lambda reply: None)


def _lock_order(changes: Sequence[Change]) -> list[int]:
    """Return the order in which to apply the changes, as indexes. Consecutive changes to different rows are sorted by
    row. Two batches that write the same rows then acquire their row locks in the same order, which avoids deadlocks."""
    order: list[int] = []
    run: dict[tuple[str, str], int] = {}
    for position, change in enumerate(changes):
        if isinstance(change, Put | Increment):
            # Any order will do, as long as it is the same in every process.
            row = (change.record.table.name, repr(change.record.row_key))
        elif isinstance(change, Delete):
            row = (change.kind.table.name, repr(change.key))
        else:
            order += [run[row] for row in sorted(run)]
            order.append(position)
            run = {}
            continue
        # Two changes to the same row keep their order.
        if row in run:
            order += [run[row] for row in sorted(run)]
            run = {}
        run[row] = position
    return order + [run[row] for row in sorted(run)]


def _formats(raw: tuple[int, ...] | None, cells: list[Cell]) -> Sequence[int] | None:
    # The cells that follow a row, its checksum and the time, are text.
    return None if raw is None else (*raw, *(0,) * (len(cells) - len(raw)))


def row_cells(record_type: type[Record], row: Row, positions: Iterable[int]) -> list[Cell]:
    """Return the cells of a row at these positions as parameters, followed by the row's checksum if the table has
    one."""
    cells = [cell(row[position]) for position in positions]
    if record_type.table.checksum:
        cells.append(b"%d" % codec(record_type).sum(summed(record_type)(row)))
    return cells


def _message_cells(change: Append, message: Message) -> list[Cell]:
    # The Append decides where a message is stored. A wrong org in the message must not reach another tenant.
    if message.org != change.org or message.thread != change.thread:
        message = replace(message, org=change.org, thread=change.thread)
    row = codec(Message).encode(message)
    total = codec(Message).sum(summed(Message)(row))
    return [*[cell(row[position]) for position in APPEND_CELLS], b"%d" % total]


def stored_reader(record_type: type[Record]) -> Read:
    """Return a function that reads the reply to a Put."""
    has_creation_time = "created_at" in codec(record_type).position_of

    def read(reply: Reply) -> Stored | None:
        rows = reply.rows
        if not rows:  # `ensure` met a live row
            return None
        version, created = rows[0]
        return Stored(version, to_datetime(created) if has_creation_time and created is not None else None)

    return read


def _appended(reply: Reply, count: int) -> Appended:
    first, expires = reply.rows[0]
    return Appended(first, count, expires_at=None if expires is None else to_datetime(expires))


def refusal(failed: Failed, changes: Sequence[Change], owner: int | None) -> Appended:
    """Turn a refusal from our SQL functions (SQLSTATE MM001 to MM005) into the result of a replayed append, or
    raise."""
    # The functions raise errors instead of returning a code, because an error also undoes the rest of the batch.
    change = None if owner is None else changes[owner]
    if failed.state == "MM003":
        first, count = failed.detail.split(",")
        return Appended(int(first), int(count), replayed=True)
    if failed.state == "MM001" and isinstance(change, Expect):
        raise wrong_version(change, int(failed.detail))
    if failed.state == "MM002" and isinstance(change, Append):
        raise no_thread(change)
    if isinstance(change, Increment) and failed.state == "MM004":
        raise not_an_integer(change.record)
    if isinstance(change, Increment) and failed.state == "MM005":
        raise counter_overflow(change.record)
    raise StoreError(f"Postgres refused a change ({failed.state})")

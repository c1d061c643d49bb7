"""The units of work that come most often, each as one statement: a message appended, a step saved, a new record put.

A new record is a plain insert, refused where its key is taken. The others are an insert into a temporary view whose
trigger writes two rows under guards. A statement by itself is a transaction that holds the write lock from its start,
so that there is nothing to begin, to read first or to commit. What a caller takes for granted (how long the thread is,
the task's version, that the job is there) is a guard: it is looked at inside the statement, whatever other processes
did. Where one fails the statement does, nothing is written, and the changes go the general way, which also says what is
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from ...messages import Message
from ...ports import to_micros
from ...records import CheckpointStep, Job, RecordPiece, StoredRecord, Task
from ..base import Append, Appended, Change, DeleteRange, Expect, Load, Put, Stored
from ..codec import codec
from .statements import column_names, statements

if TYPE_CHECKING:
    from .connection import Connections

KNOWN_THREADS = 10_000
_MESSAGE, _TASK, _STEP = codec(Message), codec(Task), codec(CheckpointStep)
_ORG, _THREAD, _SEQ, _EXPIRES = (_MESSAGE.place[name] for name in ("org", "thread", "seq", "expires_at"))
_RECORD, _VERSION = codec(StoredRecord), codec(StoredRecord).place["version"]
_PUT_NEW = statements(StoredRecord).insert
_TASK_FIXED = ("org", "task_id", "ns", "expires_at")
"""Columns in a key or an index: a save that changes one goes the general way, so that no index is written."""

_messages = column_names(Message)
_tasks, _steps = column_names(Task), column_names(CheckpointStep)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _guarded(names: Sequence[str]) -> str:
    """The new values, without a checksum where the update before found no row: that is refused, and undoes all."""
    return ", ".join("CASE changes() WHEN 1 THEN new.crc END" if name == "crc" else f"new.{name}" for name in names)


def _view(name: str, columns: Sequence[str]) -> str:
    return f"CREATE TEMP VIEW {name} ({_listed(columns)}) AS SELECT {', '.join('0' * len(columns))}"


_STEPPED = (*(f"task_{name}" for name in _tasks), *_steps)
SCHEMA = f"""
{_view("appended", (*_messages, "grown_at", "queue", "ns", "item"))};
CREATE TEMP TRIGGER append_message INSTEAD OF INSERT ON appended BEGIN
  UPDATE main.threads
    SET length = new.seq, tokens = tokens + coalesce(new.tokens, 0), updated_at = new.grown_at, version = version + 1
    WHERE org = new.org AND id = new.thread AND length = new.seq - 1 AND +ns = new.ns AND expires_at IS NULL
    AND EXISTS (
      SELECT 1 FROM main.jobs WHERE org = new.org AND queue = new.queue AND ns = new.ns AND item = new.item
    );
  INSERT INTO main.messages ({_listed(_messages)}) VALUES ({_guarded(_messages)});
END;
{_view("stepped", _STEPPED)};
CREATE TEMP TRIGGER save_step INSTEAD OF INSERT ON stepped BEGIN
  UPDATE main.tasks SET {", ".join(f"{name} = new.task_{name}" for name in _tasks if name not in _TASK_FIXED)}
    WHERE org = new.task_org AND task_id = new.task_task_id AND version = new.task_version - 1
    AND +ns = new.task_ns AND expires_at IS NULL AND new.task_expires_at IS NULL;
  INSERT INTO main.checkpoint_steps ({_listed(_steps)}) VALUES ({_guarded(_steps)});
END;
"""
"""For the connection that writes; nothing of it is in the file.

`+ns` keeps SQLite from going through the index over `ns`, which is one more tree to walk than the primary key.
"""

_APPEND = f"INSERT INTO temp.appended VALUES ({', '.join('?' * (len(_messages) + 4))})"
_SAVE = f"INSERT INTO temp.stepped VALUES ({', '.join('?' * len(_STEPPED))})"


Write = Callable[[str, Sequence[Any]], bool]
"""Runs one statement; whether its guards let it."""


def within(cursor: apsw.Cursor) -> Write:
    """Statements inside the transaction that is open: one that is refused undoes itself alone."""

    def write(sql: str, values: Sequence[Any]) -> bool:
        try:
            cursor.execute(sql, values)
        except apsw.ConstraintError:
            return False
        return True

    return write


class FastAppend:
    """Tries the fast way; knows how long the threads are that this process alone has been appending to."""

    def __init__(self, connections: Connections) -> None:
        self._write = connections.write_one
        self._known: dict[tuple[str, str], tuple[int, bool]] = {}
        """The last number given by this process, and whether it followed another of its own."""

    def apply(self, changes: Sequence[Change], write: Write | None = None) -> list[Any] | None:
        """The results, or None where nothing was written because the changes are others or a guard failed.

        `write` runs the statement; without it the statement is a transaction of its own.
        """
        first, write = changes[0] if changes else None, write or self._write
        if type(first) is Append:
            return self._append(first, changes, write)
        if type(first) is Put and type(first.record) is StoredRecord and len(changes) == 2 and not first.absent:
            return self._put_new(first.record, changes[1], write)
        if type(first) is Expect and first.kind is Task and len(changes) == 3:
            return self._save(first, changes, write)
        return None

    def _put_new(self, record: StoredRecord, pieces: Change, write: Write) -> list[Any] | None:
        """A record under a key that has none: then there are no pieces to remove either."""
        if type(pieces) is not DeleteRange or pieces != DeleteRange(RecordPiece, record.row_key):
            return None
        cells = list(_RECORD.encode(record))
        cells[_VERSION] = 1
        return [Stored(1, record.created_at), 0] if write(_PUT_NEW, (*cells, _RECORD.sum(cells))) else None

    def _append(self, change: Append, changes: Sequence[Change], write: Write) -> list[Any] | None:
        key = (change.org, change.thread)
        length, alone = self._known.get(key, (0, False))
        if not alone or len(changes) != 2 or len(change.messages) != 1 or change.key is not None:
            return None
        ensured = changes[1]
        job = ensured.record if type(ensured) is Put and ensured.absent else None
        if type(job) is not Job or job.org != change.org or change.ns not in (None, job.ns):
            return None
        seq = length + 1
        cells: list[Any] = [*_MESSAGE.encode(change.messages[0])]
        cells[_ORG], cells[_THREAD] = key
        cells[_SEQ], cells[_EXPIRES] = seq, None
        cells += (_MESSAGE.sum(cells), to_micros(change.at), job.queue, job.ns, job.item)
        if not write(_APPEND, cells):
            self._known.pop(key, None)
            return None
        self._known[key] = (seq, True)
        return [Appended(seq, 1), None]

    def learn(self, changes: Sequence[Change], done: Sequence[Any]) -> None:
        """Note what an append that went the general way has shown.

        The fast way is taken after two appends with nobody else's between them: a thread that several processes
        write to would mostly be tried in vain, waiting for the lock twice.
        """
        change = changes[0] if changes else None
        if type(change) is not Append or done[0] is None or done[0].replayed or done[0].expires_at is not None:
            return
        key, last = (change.org, change.thread), done[0].first + done[0].count - 1
        before, _ = self._known.get(key, (-1, False))
        if len(self._known) >= KNOWN_THREADS:
            self._known.clear()
        self._known[key] = (last, before == done[0].first - 1)

    def _save(self, expect: Expect, changes: Sequence[Change], write: Write) -> list[Any] | None:
        task, step = changes[1], changes[2]
        if type(task) is not Load or type(step) is not Load or type(step.record) is not CheckpointStep:
            return None
        after = task.record
        if type(after) is not Task or after.version != expect.version + 1 or (after.org, after.task_id) != expect.key:
            return None
        row = _STEP.encode(step.record)
        return [None, None, None] if write(_SAVE, (*_TASK.encode(after), *row, _STEP.sum(row))) else None

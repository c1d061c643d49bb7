"""Generates random operations on a store, using few keys so that they collide. The same seed produces the same
program."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from memorist.filters import parse_filter
from memorist.messages.message import Message
from memorist.records import (
    AuditEvent,
    Fact,
    FactVersion,
    Job,
    Key,
    Link,
    Receipt,
    Record,
    RecordPiece,
    Ref,
    StateEntry,
    StoredRecord,
    Summary,
    Thread,
    WorkingDocument,
)
from memorist.stores.base import Append, Change, Delete, DeleteRange, Expect, Increment, Load, Put, Scan
from memorist.values import INT_MAX

from .samples import NOW, SECOND, WHEN, entry, fact, job, later, message, thread

KEYS = ("a", "ab", "a:", "\u00e9", "e\u0301", "9", "10", "\U00010000")
SPACES = ("global", "user:a")
THREADS = ("t", "t:")
TIMES = (NOW, NOW, NOW + 30 * SECOND, NOW + 60 * SECOND)
VALUES: tuple[Any, ...] = (
    0, 1, 5, -0.0, 1.0, INT_MAX, "x", "", None, True, [1, "\u0000"], {"b": 1, "a": [None]}, {"n": 9}, {"n": 10}
)  # fmt: skip
FILTERS: tuple[Any, ...] = ({"n": {"$gt": 9}}, {"value": "x"}, {"$not": {"n": 9}}, {"version": {"$gte": 2}})
KINDS: tuple[type[Record], ...] = (
    StateEntry, Fact, FactVersion, Thread, Message, Link, Job, Summary, AuditEvent, WorkingDocument, StoredRecord,
    RecordPiece,
)  # fmt: skip


class Operation(msgspec.Struct, frozen=True):
    """Represents one call to a store: the method, its arguments and its options."""

    method: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = {}


class Dice:
    """Generates random operations on one org."""

    def __init__(self, seed: int, org: str) -> None:
        self._random = random.Random(seed)
        self._org = org

    def program(self, length: int) -> list[Operation]:
        """Return a list of random operations, half of them writes."""
        return [self._operation() for _ in range(length)]

    def _pick(self, options: Any) -> Any:
        return self._random.choice(options)

    def _operation(self) -> Operation:
        throw = self._random.random()
        if throw < 0.5:
            changes = _each_key_once([self._change() for _ in range(self._pick((1, 1, 1, 2, 4, 7)))])
            return Operation("apply", (changes,), {"now": self._pick(TIMES)})
        if throw < 0.53:
            return self._drop_thread()
        reads = (self._get, self._get_many, self._scan, self._scan, self._starting, self._index_scan, self._claim)
        return self._purge() if throw > 0.96 else self._pick(reads)()

    # -- changes

    def _change(self) -> Change:
        makers: tuple[tuple[int, Callable[[], Change]], ...] = (
            (8, self._random_put), (5, self._append), (3, self._increment), (2, self._delete), (1, self._delete_range),
            (1, self._load), (3, self._expect),
        )  # fmt: skip
        weights = [weight for weight, _ in makers]
        return self._random.choices([maker for _, maker in makers], weights)[0]()

    def _random_put(self) -> Change:
        record = self._record()
        # A thread's row counts its messages, so it must not be overwritten by one that starts at zero.
        return Put(record, absent=isinstance(record, Thread) or self._random.random() < 0.3)

    def _load(self) -> Change:
        record = self._record()
        while isinstance(record, Thread):
            record = self._record()
        numbered = "version" in record.__struct_fields__
        return Load(msgspec.structs.replace(record, version=self._pick((1, 2, 3))) if numbered else record)

    def _append(self) -> Change:
        id = self._pick(THREADS)
        texts = [self._pick(KEYS) for _ in range(self._pick((0, 1, 1, 2, 3)))]
        messages = tuple(message(self._org, text, thread=id, tokens=self._pick((None, 2))) for text in texts)
        return Append(self._org, id, messages, self._random_time(), self._pick((None, None, None, "k1", "k2", "k3")))

    def _increment(self) -> Change:
        by = self._pick((1, 1, -7, INT_MAX))
        return Increment(entry(self._org, self._key(), by, ns=self._space(), expires_at=self._expiry()))

    def _delete(self) -> Change:
        kind, key = self._random_key()
        while kind is Thread:
            kind, key = self._random_key()
        return Delete(kind, key)

    def _delete_range(self) -> Change:
        kind, prefix, bound = self._range()
        while kind is Thread:
            kind, prefix, bound = self._range()
        return DeleteRange(kind, prefix, **self._pick(({}, {"after": (bound,)}, {"before": (bound,)})))

    def _expect(self) -> Change:
        kind, key = self._random_key()
        while "version" not in kind.__struct_fields__:
            kind, key = self._random_key()
        return Expect(kind, key, self._pick((0, 1, 1, 2, 3)))

    def _drop_thread(self) -> Operation:
        """Delete a thread together with its messages and receipts."""
        key = (self._org, self._pick(THREADS))
        changes = [DeleteRange(Message, key), DeleteRange(Receipt, key), Delete(Thread, key)]
        return Operation("apply", (changes,), {"now": self._pick(TIMES)})

    # -- reads

    def _get(self) -> Operation:
        return Operation("get", self._random_key(), {"now": self._pick(TIMES)})

    def _get_many(self) -> Operation:
        keys = [(self._org, self._space(), self._key()) for _ in range(self._pick((0, 1, 4)))]
        return Operation("get_many", (self._pick((Fact, StateEntry)), keys), {"now": self._pick(TIMES)})

    def _scan(self) -> Operation:
        kind, prefix, bound = self._range()
        options: dict[str, Any] = self._pick(({}, {"after": (bound,)}, {"before": (bound,)})) | self._sight()
        if self._random.random() < 0.3:
            options["where"] = parse_filter(self._pick(FILTERS))
        return _scanning(kind, prefix, options)

    def _starting(self) -> Operation:
        starts = self._pick(("", "a", "a:", "e", "1", "\U00010000"))
        kind = self._pick((StateEntry, Fact))
        return _scanning(kind, (self._org, self._space()), {"starts": starts} | self._sight())

    def _index_scan(self) -> Operation:
        kind, index, prefix = self._pick(
            ((Thread, "by_ns", (self._space(),)), (Thread, "by_ns", ()), (AuditEvent, "by_subject", (self._key(),)))
        )
        return _scanning(kind, (self._org, *prefix), {"index": index} | self._sight())

    def _sight(self) -> dict[str, Any]:
        return {
            "now": self._pick(TIMES),
            "reverse": self._pick((False, True)),
            "limit": self._pick((None, None, 0, 1, 2)),
        }

    def _claim(self) -> Operation:
        options = {"owner": self._pick(("w1", "w2")), "now": self._pick(TIMES), "lease": 20 * SECOND}
        return Operation("claim", (f"q{self._org}",), options | {"limit": self._pick((1, 2, 9))})

    def _purge(self) -> Operation:
        # With a limit that is never reached, because stores may purge in different orders.
        return Operation("purge", (), {"now": self._pick(TIMES), "limit": 1000})

    # -- what they are made of

    def _key(self) -> str:
        return str(self._pick(KEYS))

    def _space(self) -> str:
        return str(self._pick(SPACES))

    def _expiry(self) -> datetime | None:
        return self._pick((None, None, later(30), later(60)))  # type: ignore[no-any-return]

    def _random_time(self) -> datetime:
        return self._pick((later(-5), WHEN, later(30), later(45)))  # type: ignore[no-any-return]

    def _record(self) -> Record:
        org, key = self._org, self._key()
        creation: dict[str, Any] = {"created_at": self._random_time()}
        both: dict[str, Any] = creation | {"updated_at": WHEN}
        options: tuple[Callable[[], Record], ...] = (
            lambda: StateEntry(
                org=org, ns=self._space(), key=key, value=self._pick(VALUES), expires_at=self._expiry(), **both
            ),
            lambda: fact(org, key, self._pick(VALUES), ns=self._space(), expires_at=self._expiry()),
            lambda: fact(org, key, self._pick(VALUES), ns=self._space()),
            lambda: StoredRecord(
                org=org,
                ns=self._space(),
                key=key,
                data=self._pick((None, b"", b"\x00\xff")),
                metadata={"n": 9},
                expires_at=self._expiry(),
                **both,
            ),
            lambda: RecordPiece(
                org=org,
                ns="global",
                key=key,
                upload=self._pick(("u", "v")),
                number=self._pick((0, 1, 10)),
                data=b"\xff",
                expires_at=self._expiry(),
                **creation,
            ),
            lambda: thread(org, self._pick(THREADS), ns=self._space(), metadata={"n": 9}),
            lambda: Link.of(org, Ref("source", key=key), Ref("fact", "user:x", self._key()), creation["created_at"]),
            lambda: job(
                org, key, queue=f"q{org}", status=self._pick(("ready", "ready", "done")), run_at=self._random_time()
            ),
            lambda: Summary(
                org=org, thread="t", last=self._pick((1, 9, 10)), text="s", tokens=1, ns="global", **creation
            ),
            lambda: AuditEvent(
                org=org, id=key, action="set", kind="fact", subject=self._key(), actor="user", **creation
            ),
            lambda: WorkingDocument(
                org=org, user=key, session=self._pick(("", "s")), doc={}, expires_at=self._expiry(), **both
            ),
        )
        return self._pick(options)()  # type: ignore[no-any-return]

    def _random_key(self) -> tuple[type[Record], Key]:
        space, key, id = self._space(), self._key(), self._pick(THREADS)
        options: tuple[tuple[type[Record], Key], ...] = (
            (StateEntry, (space, key)), (Fact, (space, key)), (Thread, (id,)), (Message, (id, self._pick((1, 2, 3)))),
            (Link, ("", key, "source", "", "derived", "user:x", self._key(), "fact", "")),
            (WorkingDocument, (key, "")), (Job, (f"q{self._org}", "global", key)),
            (StoredRecord, (space, key)), (RecordPiece, ("global", key, "u", self._pick((0, 1)))),
        )  # fmt: skip
        kind, rest = self._pick(options)
        return kind, (self._org, *rest)

    def _range(self) -> tuple[type[Record], Key, str | int]:
        space, key, id = self._space(), self._key(), self._pick(THREADS)
        options: tuple[tuple[type[Record], Key, str | int], ...] = (
            (StateEntry, (space,), key), (Fact, (space,), key), (FactVersion, (space, key), self._pick((1, 2))),
            (Message, (id,), self._pick((1, 2, 4))), (Summary, ("t",), 9), (Link, ("", key), "source"),
            (StateEntry, (), "user:"),
            (Thread, (), "t"), (Job, (f"q{self._org}", "global"), key), (WorkingDocument, (key,), ""),
            (WorkingDocument, (), key), (StoredRecord, (space,), key), (RecordPiece, ("global", key), "u"),
            (RecordPiece, ("global",), key),
        )  # fmt: skip
        kind, rest, bound = self._pick(options)
        return kind, (self._org, *rest), bound


def _each_key_once(changes: list[Change]) -> list[Change]:
    """Return the changes without repeated idempotency keys, which the engine refuses before a store sees them."""
    used: set[Any] = set()
    unique = []
    for change in changes:
        if isinstance(change, Append) and change.key is not None:
            if (change.thread, change.key) in used:
                change = msgspec.structs.replace(change, key=None)
            used.add((change.thread, change.key))
        unique.append(change)
    return unique


def _scanning(record_type: type[Record], prefix: Key, options: dict[str, Any]) -> Operation:
    bounds = {name: value for name, value in options.items() if name != "now"}
    return Operation("scan", (Scan(record_type, prefix, **bounds),), {"now": options["now"]})

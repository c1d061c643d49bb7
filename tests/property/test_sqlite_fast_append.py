"""The fast way of the SQLite store against the reference store, with a second process at the same file."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memorist.messages.message import Message
from memorist.records import CheckpointStep, Job, Task, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Append, Change, Delete, DeleteRange, Expect, Load, Put, Scan
from memorist.stores.memory import MemoryStore
from memorist.stores.sqlite import SqliteStore
from memorist.stores.sqlite.connection import Connections
from memorist_testing.dice import Operation
from memorist_testing.properties import outcome
from memorist_testing.samples import NOW, WHEN, job, later, message, thread

PROGRAMS = 2000 if os.environ.get("MEMORIST_SOAK") else 60
LENGTH = 60
KINDS = (Thread, Message, Job, Task, CheckpointStep)


class Throw:
    """Changes of one org: mostly the two shapes that have a fast way, and what gets in their way."""

    def __init__(self, seed: int, org: str) -> None:
        self._one: Any = random.Random(seed).choice
        self._org = org

    def changes(self) -> Sequence[Change]:
        usual = [self._message] * 8 + [self._step] * 8
        changes: Sequence[Change] = self._one([*usual, self._thread, self._other_appends, self._loss])()
        return changes

    def _job(self) -> Put:
        return Put(job(self._org, "thread:t", queue="index"), absent=True)

    def _message(self) -> Sequence[Change]:
        more: dict[str, Any] = self._one(({}, {}, {"metadata": {"a": 1}, "expires_at": later(9)}, {"tokens": None}))
        sent_message = message(self._org, self._one(("x", ["part"], None, 'q"\u00e9')), **more)
        return (Append(self._org, "t", (sent_message,), later(self._one((0, 5)))), self._job())

    def _other_appends(self) -> Sequence[Change]:
        messages = [message(self._org, text) for text in self._one((("y",), ("y", "z")))]
        return (Append(self._org, "t", tuple(messages), WHEN, self._one((None, "k"))),)

    def _thread(self) -> Sequence[Change]:
        expires = self._one((None, None, later(60)))
        recreated = Put(thread(self._org, expires_at=expires))
        return (DeleteRange(Message, (self._org, "t")), Delete(Thread, (self._org, "t")), recreated)

    def _step(self) -> Sequence[Change]:
        version = self._one((0, 1, 1, 2, 2, 3, 4))
        ns, expires = self._one(("global",) * 6 + ("user:a",)), self._one((None,) * 6 + (later(60),))
        task = Task(
            org=self._org, task_id="w", ns=ns, step=version, completed=2, created_at=WHEN, updated_at=later(version),
            expires_at=expires, version=version + 1,
        )  # fmt: skip
        number = self._one((version, 9))
        step = CheckpointStep(
            org=self._org, task_id="w", number=number, snapshot=False, body=f"{version}", completed=("\u00e9",),
            created_at=WHEN,
        )  # fmt: skip
        expected = self._one(("w",) * 9 + ("v",))
        return (Expect(Task, (self._org, expected), version), Load(task), Load(step))

    def _loss(self) -> Sequence[Change]:
        lost: Sequence[Change] = (
            Delete(Job, (self._org, "index", "global", "thread:t")),
            Delete(Message, (self._org, "t", self._one((3, 4, 5)))),
            Delete(Task, (self._org, "w")),
            DeleteRange(CheckpointStep, (self._org, "w")),
        )
        return (self._one(lost),)


def test_two_processes_answer_as_the_reference_store_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bool] = []
    write_one = Connections.write_one

    def noted(self: Connections, sql: str, values: Any) -> bool:
        tried.append(write_one(self, sql, values))
        return tried[-1]

    monkeypatch.setattr(Connections, "write_one", noted)
    reference = MemoryStore()
    stores = [SqliteStore(str(tmp_path / "s.db"), runtime=BlockingRuntime(), durability="normal") for _ in range(2)]
    for store in stores:
        run_blocking(store.open())
    for seed in range(PROGRAMS):
        throw, at = Throw(seed, f"org{seed}"), random.Random(-seed)
        for _ in range(LENGTH):
            operation = Operation("apply", (throw.changes(),), {"now": NOW})
            store = stores[at.random() < 0.1]
            assert run_blocking(outcome(store, operation)) == run_blocking(outcome(reference, operation)), operation
        for kind in KINDS:
            look = Operation("scan", (Scan(kind, (f"org{seed}",)),), {"now": NOW})
            assert run_blocking(outcome(stores[0], look)) == run_blocking(outcome(reference, look)), kind
    for store in stores:
        run_blocking(store.close())
    assert tried.count(True) > PROGRAMS and tried.count(False) > PROGRAMS, "both ends of the fast way must be met"

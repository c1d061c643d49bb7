"""Notices name namespaces, so forgetting a user takes them along."""

from __future__ import annotations

from pathlib import Path

from memorist import Memory
from memorist.records import ChangeNotice
from memorist.runtime import run_blocking


def test_no_notice_names_a_forgotten_user_and_watchers_hear_of_the_end(tmp_path: Path) -> None:
    where = str(tmp_path / "file.db")
    with (
        Memory(where, worker=False, extract=None, embedder=None, counter="estimate") as memory,
        memory.watch(kinds=["fact"]) as changes,
    ):
        memory.facts.set("user:ada", "city", "Lisbon")
        memory.facts.set("user:ben", "city", "Rome")
        assert {notice.namespace for notice in changes.next(timeout=30)} == {"user:ada", "user:ben"}
        memory.forget(user="ada")
        assert [notice.namespace for notice in changes.next(timeout=30)] == ["user:ada"]
        assert changes.next(timeout=0) == []
        notices = run_blocking(memory._core.scan(ChangeNotice))
        assert [(notice.kind, notice.ns) for notice in notices] == [("fact", "user:ben")]

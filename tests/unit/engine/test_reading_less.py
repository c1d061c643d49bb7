"""Reads that need a few columns do not load whole rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from memorist import Memory
from memorist.records import Key, Record
from memorist.stores.base import R, Scan
from memorist.stores.codec import codec
from memorist.stores.memory import MemoryStore

TABLES_WITH_CONTENT = {"records": "data", "facts": "value", "documents": "text", "learnings": "content"}


class WatchedStore(MemoryStore):
    """Keeps the kinds that were scanned, and counts other reads."""

    def __init__(self) -> None:
        super().__init__()
        self.scanned: list[type[Record]] = []
        self.calls = 0

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        self.calls += 1
        return await super().get(record_type, key, now=now)

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        self.calls += 1
        return [await MemoryStore.get(self, record_type, key, now=now) for key in keys]

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        self.scanned.append(scan.kind)
        return await super().scan(scan, now=now)

    def loaded(self) -> set[str]:
        """The content columns that the scans loaded."""
        return {
            f"{kind.table.name}.{column}"
            for kind in self.scanned
            if (column := TABLES_WITH_CONTENT.get(kind.table.name)) in codec(kind).names
        }


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def memory(store: WatchedStore) -> Iterator[Any]:
    options: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, "extract": None}
    with Memory(store, record_bytes=10_000, **options) as memory:
        yield memory


def test_keys_only_loads_no_data(memory: Any, store: WatchedStore) -> None:
    memory.records.put("global", ("a", 1), b"x" * 1000, meta={"n": 1})
    store.scanned.clear()
    (record,) = memory.records.scan("global", ("a",), where={"n": 1}, keys_only=True)
    assert (record.key, record.data, record.size, record.meta) == (("a", 1), None, 1000, {"n": 1})
    assert store.scanned and store.loaded() == set()


def test_the_quota_is_counted_without_data(memory: Any, store: WatchedStore) -> None:
    memory.records.put("global", ("a", 1), b"x" * 1000)
    memory._core.shared.record_bytes.clear()
    store.scanned.clear()
    memory.records.put("global", ("a", 2), b"x" * 1000)
    assert store.scanned and store.loaded() == set()


def test_stats_count_without_content(memory: Any, store: WatchedStore) -> None:
    memory.facts.set("global", "a", "b")
    memory.learnings.add("Likes tea")
    memory.documents.add("global", "Words.")
    memory.threads.append("talk", "hello", create="user:ada")
    store.scanned.clear()
    stats = memory.stats()
    assert (stats.facts, stats.learnings, stats.documents, stats.threads, stats.messages) == (1, 1, 1, 1, 1)
    assert stats.namespaces == ["global", "user:ada"]
    assert store.scanned and store.loaded() == set()


@pytest.mark.parametrize("actor", ["user", "processor"])
def test_many_facts_are_set_with_the_reads_of_a_few(memory: Any, store: WatchedStore, actor: str) -> None:
    """A processor's values are looked up among what was rejected, too."""
    reads: list[int] = []
    handle = memory.scope(actor=actor)
    handle.facts.set("global", "first", 0)
    for count in (10, 200):
        store.scanned.clear()
        store.calls = 0
        handle.facts.set_many("global", {f"{count}.{number}": number for number in range(count)})
        reads.append(len(store.scanned) + store.calls)
    assert reads[0] == reads[1] < 5

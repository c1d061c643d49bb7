"""A scrub rewrites the whole file, and leaves everything in it where the text index expects it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from memorist.records import Entry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Delete, Load
from memorist.stores.sqlite.store import SqliteStore


def test_words_find_the_same_entries_after_a_scrub_that_closes_gaps(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "memory.db"), runtime=BlockingRuntime(), durability="normal")
    entries = [
        Entry(org="o", ns="global", kind="fact", id=f"k{n}", stamp=n, terms=f"word{n}", created_at=datetime.now(UTC))
        for n in range(60)
    ]

    def search(n: int) -> list[str]:
        return [entry.id for entry in run_blocking(store.search_text("o", "global", [f"word{n}"], limit=5, now=0))]

    run_blocking(store.open())
    try:
        run_blocking(store.apply([Load(entry) for entry in entries], now=0))
        run_blocking(store.apply([Delete(Entry, entry.row_key) for entry in entries[::3]], now=0))
        run_blocking(store.scrub())
        assert [search(n) for n in range(60)] == [[] if n % 3 == 0 else [f"k{n}"] for n in range(60)]
    finally:
        run_blocking(store.close())

"""Tests concurrent callers of one store. There must be no lost updates, no duplicates and no partial reads."""

from __future__ import annotations

from typing import Any

from memorist.errors import Conflict
from memorist.messages.message import Message
from memorist.records import StateEntry
from memorist.stores.base import ChangeResult, Expect, Increment, Put, Scan, Store

from ..plugin import Together
from ..samples import NOW, append, appended, entry, thread

K = ("global", "k")


class Concurrency:
    """Concurrency."""

    async def test_one_hot_thread_stays_dense(self, store: Store, org: str, together: Together) -> None:
        await store.apply([Put(thread(org))], now=NOW)

        async def writer(n: int) -> list[int]:
            return [appended((await store.apply([append(org, f"{n}-{i}")], now=NOW))[0]).first for i in range(25)]

        batches = await together([_bound(writer, n) for n in range(8)])
        assert sorted(seq for numbers in batches for seq in numbers) == list(range(1, 201))
        contents = {item.seq: item.content for item in await store.scan(Scan(Message, (org, "t")), now=NOW)}
        assert contents == {seq: f"{n}-{i}" for n, numbers in enumerate(batches) for i, seq in enumerate(numbers)}

    async def test_counters_lose_no_increment(self, store: Store, org: str, together: Together) -> None:
        async def count() -> list[ChangeResult]:
            return [(await store.apply([Increment(entry(org))], now=NOW))[0] for _ in range(25)]

        totals = await together([count] * 8)
        assert sorted(total for each in totals for total in each) == list(range(1, 201))

    async def test_compare_and_set_loses_no_update(self, store: Store, org: str, together: Together) -> None:
        await store.apply([Put(entry(org, value=0))], now=NOW)

        async def add_ten() -> None:
            added = 0
            while added < 10:
                row = await store.get(StateEntry, (org, *K), now=NOW)
                assert row is not None
                try:
                    await store.apply(
                        [Expect(StateEntry, (org, *K), row.version), Put(entry(org, value=row.value + 1))], now=NOW
                    )
                except Conflict:
                    continue
                added += 1

        await together([add_ten] * 6)
        row = await store.get(StateEntry, (org, *K), now=NOW)
        assert row is not None and (row.value, row.version) == (60, 61)

    async def test_one_of_many_makes_the_absent_row(self, store: Store, org: str, together: Together) -> None:
        async def make(n: int) -> Any:
            return (await store.apply([Put(entry(org, value=n), absent=True)], now=NOW))[0]

        results = await together([_bound(make, n) for n in range(16)])
        assert sum(item is not None for item in results) == 1

    async def test_the_same_key_at_once_appends_once(self, store: Store, org: str, together: Together) -> None:
        await store.apply([Put(thread(org))], now=NOW)

        async def send() -> Any:
            return (await store.apply([append(org, "a", "b", key="once"), Increment(entry(org))], now=NOW))[0]

        results = await together([send] * 16)
        assert [item.first for item in results] == [1] * 16
        assert sum(not item.replayed for item in results) == 1
        row = await store.get(StateEntry, (org, *K), now=NOW)
        assert row is not None and row.value == 16  # the other changes are done each time

    async def test_readers_see_whole_batches_and_dense_prefixes(
        self, store: Store, org: str, together: Together
    ) -> None:
        await store.apply([Put(thread(org))], now=NOW)

        async def write() -> int:
            for i in range(15):
                await store.apply([append(org, f"{i}a", f"{i}b", f"{i}c")], now=NOW)
            return 0

        async def read() -> int:
            bad = 0
            for _ in range(15):
                numbers = [item.seq for item in await store.scan(Scan(Message, (org, "t")), now=NOW)]
                bad += numbers != list(range(1, len(numbers) + 1)) or len(numbers) % 3 != 0
            return bad

        assert sum(await together([write, read, write, read, read])) == 0


def _bound(work: Any, n: int) -> Any:
    return lambda: work(n)

"""Tests expiry. An expired row is invisible, whether or not a collector has run."""

from __future__ import annotations

import pytest

from memorist.errors import Conflict, NotFound
from memorist.messages.message import Message
from memorist.records import StateEntry, Thread
from memorist.stores.base import Expect, Increment, Put, Scan, Store, Stored

from ..samples import NOW, SECOND, append, entry, later, thread

K = ("global", "k")
BEFORE, AT = NOW + 60 * SECOND - 1, NOW + 60 * SECOND


class Expiry:
    """Time to live."""

    async def test_a_row_is_there_until_its_moment_and_not_at_it(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org, expires_at=later(60)))], now=NOW)
        assert await store.get(StateEntry, (org, *K), now=BEFORE) is not None
        assert await store.get(StateEntry, (org, *K), now=AT) is None

    async def test_expiry_comes_back_to_the_microsecond(self, store: Store, org: str) -> None:
        ends = later(60.000001)
        await store.apply([Put(entry(org, expires_at=ends))], now=NOW)
        row = await store.get(StateEntry, (org, *K), now=AT)
        assert row is not None and row.expires_at == ends
        assert await store.get(StateEntry, (org, *K), now=AT + 1) is None

    async def test_scans_and_their_limits_do_not_see_expired_rows(self, store: Store, org: str) -> None:
        await store.apply(
            [Put(entry(org, f"k{i}", expires_at=later(60) if i % 2 else None)) for i in range(9)], now=NOW
        )
        rows = await store.scan(Scan(StateEntry, (org, "global"), limit=3), now=AT)
        assert [item.key for item in rows] == ["k0", "k2", "k4"]
        rows = await store.scan(Scan(StateEntry, (org, "global"), reverse=True, limit=2), now=AT)
        assert [item.key for item in rows] == ["k8", "k6"]

    async def test_get_many_does_not_see_expired_rows(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org, "a", expires_at=later(60))), Put(entry(org, "b"))], now=NOW)
        rows = await store.get_many(StateEntry, [(org, "global", "a"), (org, "global", "b")], now=AT)
        assert [item and item.key for item in rows] == [None, "b"]

    async def test_a_clock_set_back_brings_nothing_back_early(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org, expires_at=later(60)))], now=NOW)
        assert await store.get(StateEntry, (org, *K), now=AT) is None
        assert await store.get(StateEntry, (org, *K), now=NOW - 86_400 * SECOND) is not None

    async def test_a_put_without_expiry_takes_the_old_one_away(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org, expires_at=later(60)))], now=NOW)
        await store.apply([Put(entry(org, value=2))], now=NOW)
        row = await store.get(StateEntry, (org, *K), now=AT)
        assert row is not None and (row.value, row.expires_at) == (2, None)

    async def test_expect_takes_an_expired_row_for_none(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org, expires_at=later(60)))], now=NOW)
        with pytest.raises(Conflict):
            await store.apply([Expect(StateEntry, (org, *K), 1)], now=AT)
        await store.apply([Expect(StateEntry, (org, *K), 0), Put(entry(org, value=2))], now=AT)
        row = await store.get(StateEntry, (org, *K), now=AT)
        assert row is not None and row.value == 2

    async def test_put_if_absent_takes_an_expired_row_for_none(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org, value="old", expires_at=later(60)))], now=NOW)
        assert await store.apply([Put(entry(org, value="early"), absent=True)], now=BEFORE) == [None]
        results = await store.apply([Put(entry(org, value="new"), absent=True)], now=AT)
        assert results[0] is not None
        row = await store.get(StateEntry, (org, *K), now=AT)
        assert row is not None and row.value == "new"

    async def test_an_expired_counter_starts_again_with_a_new_expiry(self, store: Store, org: str) -> None:
        await store.apply([Increment(entry(org, value=5, expires_at=later(60)))], now=NOW)
        assert await store.apply([Increment(entry(org, value=1, expires_at=later(120)))], now=AT) == [1]
        row = await store.get(StateEntry, (org, *K), now=AT)
        assert row is not None and row.expires_at == later(120)

    async def test_an_increment_keeps_the_expiry_the_counter_has(self, store: Store, org: str) -> None:
        await store.apply([Increment(entry(org, expires_at=later(60))), Increment(entry(org, "forever"))], now=NOW)
        await store.apply([Increment(entry(org, expires_at=later(999)))], now=NOW)
        await store.apply([Increment(entry(org, "forever", expires_at=later(9)))], now=NOW)
        row = await store.get(StateEntry, (org, *K), now=NOW)
        permanent = await store.get(StateEntry, (org, "global", "forever"), now=AT)
        assert row is not None and row.expires_at == later(60)
        assert permanent is not None and (permanent.value, permanent.expires_at) == (2, None)

    async def test_an_expired_thread_takes_no_more_messages(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org, expires_at=later(60))), append(org, "a")], now=NOW)
        with pytest.raises(NotFound):
            await store.apply([append(org, "b")], now=AT)
        assert await store.scan(Scan(Message, (org, "t")), now=AT) == []

    async def test_purge_removes_what_expired_and_nothing_else(self, store: Store, org: str) -> None:
        await _purge_all(store, AT)
        await store.apply(
            [Put(entry(org, f"k{i}", expires_at=later(30 * i) if i else None)) for i in range(5)]
            + [Put(thread(org, expires_at=later(10))), append(org, "a", "b")],
            now=NOW,
        )
        counts = await store.purge(now=AT)
        assert {name: n for name, n in counts.items() if n} == {"state": 2, "threads": 1, "messages": 2}
        # With the clock set back before any expiry, only what purge left is there.
        rows = await store.scan(Scan(StateEntry, (org, "global")), now=NOW)
        assert [item.key for item in rows] == ["k0", "k3", "k4"]
        assert not any((await store.purge(now=AT)).values())

    async def test_purge_takes_no_more_rows_than_its_limit(self, store: Store, org: str) -> None:
        await _purge_all(store, AT)
        await store.apply([Put(entry(org, f"k{i}", expires_at=later(1))) for i in range(25)], now=NOW)
        counts = [(await store.purge(now=AT, limit=10)).get("state", 0) for _ in range(4)]
        assert counts == [10, 10, 5, 0]
        assert await store.scan(Scan(StateEntry, (org, "global")), now=NOW) == []

    async def test_what_was_purged_leaves_no_trace_in_an_index(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org, expires_at=later(60), ns="user:a"))], now=NOW)
        await _purge_all(store, AT)
        assert await store.scan(Scan(Thread, (org, "user:a"), index="by_ns"), now=NOW) == []
        [stored] = await store.apply([Put(thread(org, ns="user:b"))], now=AT)
        assert isinstance(stored, Stored) and stored.version == 1
        assert await store.scan(Scan(Thread, (org, "user:a"), index="by_ns"), now=AT) == []


async def _purge_all(store: Store, now: int) -> None:
    """Purge everything, because a shared server may contain expired rows of other tests."""
    while any((await store.purge(now=now)).values()):
        pass

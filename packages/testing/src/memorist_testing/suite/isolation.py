"""Tests tenant isolation. No org can read, write or find out about another org's rows, whatever its name."""

from __future__ import annotations

from memorist.messages.message import Message
from memorist.records import Fact, FactVersion, StateEntry, Thread
from memorist.stores.base import Append, Delete, DeleteRange, Increment, Put, Scan, Store

from ..samples import ADVERSARIAL, NOW, WHEN, append, appended, entry, fact, message, thread


def tenants(org: str) -> list[str]:
    """Return orgs with names that are easily confused."""
    return [org, *(f"{org}{odd}" for odd in ADVERSARIAL[:56]), *(f"{odd}{org}" for odd in ADVERSARIAL[:30])]


class Isolation:
    """Tenants."""

    async def test_each_org_reads_its_own_row_under_the_same_key(self, store: Store, org: str) -> None:
        for name in tenants(org):
            await store.apply(
                [Put(entry(name, value=name)), Put(fact(name, value=name)), Put(fact(name, value=name))], now=NOW
            )
        for name in tenants(org):
            row = await store.get(StateEntry, (name, "global", "k"), now=NOW)
            assert row is not None and (row.org, row.value) == (name, name)
            assert [item.value for item in await store.scan(Scan(Fact, (name,)), now=NOW)] == [name]
            assert [item.value for item in await store.scan(Scan(FactVersion, (name,)), now=NOW)] == [name]

    async def test_deleting_all_of_one_org_leaves_the_others_whole(self, store: Store, org: str) -> None:
        names = tenants(org)
        for name in names:
            await store.apply([Put(entry(name, "a")), Put(entry(name, "b"))], now=NOW)
        for doomed in names[::9]:
            assert await store.apply([DeleteRange(StateEntry, (doomed,))], now=NOW) == [2]
        for name in names:
            rows = await store.scan(Scan(StateEntry, (name,)), now=NOW)
            assert len(rows) == (0 if name in names[::9] else 2)

    async def test_threads_of_the_same_id_number_apart(self, store: Store, org: str) -> None:
        names = tenants(org)[:40]
        for name in names:
            await store.apply([Put(thread(name)), append(name, name, key="once")], now=NOW)
        for name in names:
            result = appended((await store.apply([append(name, "second", key="twice")], now=NOW))[0])
            assert (result.first, result.replayed) == (2, False)
            assert [item.content for item in await store.scan(Scan(Message, (name, "t")), now=NOW)] == [name, "second"]

    async def test_counters_of_the_same_key_count_apart(self, store: Store, org: str) -> None:
        for _ in range(2):
            for name in tenants(org)[:30]:
                await store.apply([Increment(entry(name))], now=NOW)
        for name in tenants(org)[:30]:
            row = await store.get(StateEntry, (name, "global", "k"), now=NOW)
            assert row is not None and row.value == 2

    async def test_a_key_cannot_spell_its_way_into_another_org(self, store: Store, org: str) -> None:
        other = f"{org}-b"
        await store.apply([Put(entry(other, "secret", ns="user:x")), Put(thread(other, "t"))], now=NOW)
        for sep in (":", "/", "}", "}{", "\\", "|", "\x1f", "\x1e", "\x01", "%", "*", "'", '"', "#"):
            for key in (f"{sep}{other}{sep}user:x{sep}secret", f"..{sep}{other}", f"{other}{sep}secret", sep):
                assert await store.get(StateEntry, (org, "user:x", key), now=NOW) is None
                assert await store.scan(Scan(StateEntry, (org, key)), now=NOW) == []
                assert await store.apply([Delete(StateEntry, (org, key, "secret"))], now=NOW) == [False]
        assert await store.get(StateEntry, (other, "user:x", "secret"), now=NOW) is not None

    async def test_scans_by_index_stay_in_their_org(self, store: Store, org: str) -> None:
        for name in tenants(org)[:40]:
            await store.apply([Put(thread(name, "t", ns="user:a"))], now=NOW)
        for name in tenants(org)[:40]:
            assert [item.org for item in await store.scan(Scan(Thread, (name, "user:a"), index="by_ns"), now=NOW)] == [
                name
            ]
            assert len(await store.scan(Scan(Thread, (name,), index="by_ns"), now=NOW)) == 1

    async def test_an_append_cannot_write_into_another_org(self, store: Store, org: str) -> None:
        other = f"{org}-b"
        await store.apply([Put(thread(org))], now=NOW)
        await store.apply([Put(thread(other))], now=NOW)
        await store.apply([Append(org, "t", (message(other, "stray"),), WHEN)], now=NOW)
        assert await store.scan(Scan(Message, (other,)), now=NOW) == []
        assert [item.content for item in await store.scan(Scan(Message, (org,)), now=NOW)] == ["stray"]

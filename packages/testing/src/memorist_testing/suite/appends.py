"""Tests appends: sequence numbers without gaps, idempotency keys, and messages that exist only in threads."""

from __future__ import annotations

import msgspec
import pytest

from memorist.errors import Conflict, NotFound
from memorist.messages.message import Message
from memorist.records import StateEntry, Thread
from memorist.stores.base import Append, Appended, Delete, Expect, Put, Scan, Store, Stored

from ..samples import ADVERSARIAL, NOW, WHEN, append, appended, entry, later, message, thread


async def sequence(store: Store, org: str, id: str = "t") -> list[tuple[int, str]]:
    """Return the numbers and contents of a thread's messages."""
    return [(item.seq, item.content) for item in await store.scan(Scan(Message, (org, id)), now=NOW)]


class Appends:
    """Appending."""

    async def test_sequence_numbers_are_dense_from_one(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        results = [
            (await store.apply([append(org, *texts)], now=NOW))[0] for texts in (("a",), ("b", "c", "d"), ("e",))
        ]
        assert results == [Appended(1, 1), Appended(2, 3), Appended(5, 1)]
        assert await sequence(store, org) == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]

    async def test_an_append_moves_its_thread_on(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org, title="x", metadata={"a": 1}))], now=NOW)
        await store.apply([append(org, "a", "b", at=later(5))], now=NOW)
        await store.apply([append(org, "c", at=later(6))], now=NOW)
        row = await store.get(Thread, (org, "t"), now=NOW)
        assert row == msgspec.structs.replace(
            thread(org, title="x", metadata={"a": 1}), length=3, tokens=3, version=3, updated_at=later(6)
        )

    async def test_tokens_not_counted_count_as_none(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        messages = (message(org, "a", tokens=7), message(org, "b", tokens=None))
        await store.apply([Append(org, "t", messages, WHEN)], now=NOW)
        row = await store.get(Thread, (org, "t"), now=NOW)
        stored = await store.scan(Scan(Message, (org, "t")), now=NOW)
        assert row is not None and row.tokens == 7
        assert [item.tokens for item in stored] == [7, None]

    async def test_a_thread_and_its_first_messages_can_be_made_together(self, store: Store, org: str) -> None:
        results = await store.apply([Put(thread(org)), append(org, "a"), append(org, "b", "c")], now=NOW)
        assert results == [Stored(1, WHEN), Appended(1, 1), Appended(2, 2)]
        assert await sequence(store, org) == [(1, "a"), (2, "b"), (3, "c")]

    async def test_appending_to_no_thread_is_not_found(self, store: Store, org: str) -> None:
        with pytest.raises(NotFound):
            await store.apply([append(org, "a")], now=NOW)
        assert await sequence(store, org) == []

    async def test_appending_to_a_deleted_thread_is_not_found(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), Delete(Thread, (org, "t"))], now=NOW)
        with pytest.raises(NotFound):
            await store.apply([append(org, "a")], now=NOW)

    async def test_an_append_of_no_messages_gives_no_numbers(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, "a")], now=NOW)
        assert appended((await store.apply([append(org)], now=NOW))[0]).count == 0
        assert await store.apply([append(org, "b")], now=NOW) == [Appended(2, 1)]

    async def test_a_key_used_again_answers_the_first_numbers(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, "a", "b", key="once")], now=NOW)
        await store.apply([append(org, "c")], now=NOW)
        assert await store.apply([append(org, "a", "b", key="once")], now=NOW) == [Appended(1, 2, replayed=True)]
        assert await sequence(store, org) == [(1, "a"), (2, "b"), (3, "c")]

    async def test_a_key_seen_before_skips_its_own_append_alone(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, "a", key="once"), Put(entry(org, value=1))], now=NOW)
        results = await store.apply(
            [Put(entry(org, value=2)), append(org, "b", key="once"), append(org, "c"), append(org, "d", key="new")],
            now=NOW,
        )
        assert results == [Stored(2, WHEN), Appended(1, 1, replayed=True), Appended(2, 1), Appended(3, 1)]
        row = await store.get(StateEntry, (org, "global", "k"), now=NOW)
        assert row is not None and row.value == 2
        assert await sequence(store, org) == [(1, "a"), (2, "c"), (3, "d")]

    async def test_a_batch_that_is_refused_uses_up_no_key(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, "a", key="one")], now=NOW)
        with pytest.raises(Conflict):
            await store.apply(
                [append(org, "a", key="one"), append(org, "b", key="two"), Expect(Thread, (org, "t"), 99)], now=NOW
            )
        assert await store.apply([append(org, "b", key="two")], now=NOW) == [Appended(2, 1)]

    async def test_an_append_names_the_namespace_its_thread_must_be_in(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org, ns="user:a"))], now=NOW)
        for key in (None, "once"):
            here = msgspec.structs.replace(append(org, "a", key=key), ns="user:a")
            elsewhere = msgspec.structs.replace(here, ns="user:b")
            with pytest.raises(NotFound):
                await store.apply([elsewhere], now=NOW)
            assert appended((await store.apply([here], now=NOW))[0]).count == 1
            # For a thread in another namespace not even a replay is reported.
            with pytest.raises(NotFound):
                await store.apply([elsewhere], now=NOW)
        assert await sequence(store, org) == [(1, "a"), (2, "a")]

    async def test_a_key_belongs_to_one_thread(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org, "t")), Put(thread(org, "u")), append(org, "a", key="once")], now=NOW)
        assert await store.apply([append(org, "b", thread="u", key="once")], now=NOW) == [Appended(1, 1)]

    async def test_each_of_several_keys_that_were_seen_answers(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, "a", key="one")], now=NOW)
        await store.apply([append(org, "b", key="two")], now=NOW)
        results = await store.apply([append(org, "b", key="two"), append(org, "a", key="one")], now=NOW)
        assert results == [Appended(2, 1, replayed=True), Appended(1, 1, replayed=True)]

    async def test_an_odd_key_replays_only_itself(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        for number, key in enumerate(ADVERSARIAL, 1):
            assert await store.apply([append(org, "a", key=key)], now=NOW) == [Appended(number, 1)]
            assert await store.apply([append(org, "b", key=key)], now=NOW) == [Appended(number, 1, replayed=True)]
        assert len(await sequence(store, org)) == len(ADVERSARIAL)

    async def test_messages_take_org_thread_and_number_from_the_append(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        stray = msgspec.structs.replace(message(f"{org}-other", "x", thread="elsewhere"), seq=99)
        assert await store.apply([Append(org, "t", (stray,), WHEN)], now=NOW) == [Appended(1, 1)]
        stored = await store.get(Message, (org, "t", 1), now=NOW)
        assert stored is not None and (stored.org, stored.thread, stored.seq, stored.content) == (org, "t", 1, "x")
        assert await store.scan(Scan(Message, (f"{org}-other",)), now=NOW) == []

    async def test_messages_expire_with_their_thread(self, store: Store, org: str) -> None:
        ends = later(60)
        await store.apply([Put(thread(org, expires_at=ends))], now=NOW)
        assert await store.apply([append(org, "a")], now=NOW) == [Appended(1, 1, expires_at=ends)]
        stored = await store.get(Message, (org, "t", 1), now=NOW)
        assert stored is not None and stored.expires_at == ends

    async def test_the_last_messages_are_read_from_the_end(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, *map(str, range(1, 121)))], now=NOW)
        last = await store.scan(Scan(Message, (org, "t"), reverse=True, limit=3), now=NOW)
        assert [item.seq for item in last] == [120, 119, 118]
        page = await store.scan(Scan(Message, (org, "t"), reverse=True, limit=2, before=(100,)), now=NOW)
        assert [item.seq for item in page] == [99, 98]

    async def test_a_gap_made_by_deleting_is_never_filled(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, "a", "b")], now=NOW)
        await store.apply([Delete(Message, (org, "t", 2))], now=NOW)
        assert await store.apply([append(org, "c")], now=NOW) == [Appended(3, 1)]
        assert await sequence(store, org) == [(1, "a"), (3, "c")]

    async def test_threads_number_apart(self, store: Store, org: str) -> None:
        ids = ADVERSARIAL[:30]
        await store.apply([Put(thread(org, id)) for id in ids], now=NOW)
        results = await store.apply([append(org, id, thread=id) for id in ids for _ in range(2)], now=NOW)
        assert [appended(item).first for item in results] == [1, 2] * len(ids)
        for id in ids:
            assert await sequence(store, org, id) == [(1, id), (2, id)]

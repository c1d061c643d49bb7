"""Tests writes. `apply` is atomic, and each kind of change does what it promises."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memorist.errors import Conflict, InvalidValue, MemoristError, NotFound
from memorist.messages.message import Message
from memorist.records import Fact, FactVersion, StateEntry, Thread, Tombstone
from memorist.stores.base import Change, Delete, DeleteRange, Expect, Increment, Put, Scan, Store, Stored
from memorist.values import INT_MAX, INT_MIN

from ..samples import ADVERSARIAL, NOW, WHEN, append, appended, entry, fact, later, message, thread

K = ("global", "k")


async def value(store: Store, org: str, key: str = "k") -> Any:
    """Return the value of a state entry, or None."""
    row = await store.get(StateEntry, (org, "global", key), now=NOW)
    return row and row.value


class Writes:
    """Writing."""

    async def test_versions_count_up_from_one(self, store: Store, org: str) -> None:
        for version in (1, 2, 3):
            assert await store.apply([Put(fact(org, value=version))], now=NOW) == [Stored(version, WHEN)]
        row = await store.get(Fact, (org, *K), now=NOW)
        assert row is not None and (row.version, row.value) == (3, 3)

    async def test_the_version_given_in_a_put_is_not_believed(self, store: Store, org: str) -> None:
        assert await store.apply([Put(fact(org, version=41))], now=NOW) == [Stored(1, WHEN)]

    async def test_a_later_put_keeps_when_the_row_was_first_made(self, store: Store, org: str) -> None:
        await store.apply([Put(fact(org))], now=NOW)
        newer = msgspec.structs.replace(fact(org), created_at=later(9), updated_at=later(9))
        assert await store.apply([Put(newer)], now=NOW) == [Stored(2, WHEN)]
        row = await store.get(Fact, (org, *K), now=NOW)
        assert row is not None and (row.created_at, row.updated_at) == (WHEN, later(9))

    async def test_a_version_inside_the_key_is_kept_as_given(self, store: Store, org: str) -> None:
        past = FactVersion(org=org, ns="global", key="k", value=1, version=5, created_at=WHEN, updated_at=WHEN)
        assert await store.apply([Put(past), Put(past)], now=NOW) == [Stored(5, WHEN)] * 2
        assert await store.scan(Scan(FactVersion, (org, "global", "k")), now=NOW) == [past]

    async def test_a_row_without_a_version_may_be_put_twice(self, store: Store, org: str) -> None:
        tombstone = Tombstone(org=org, kind="fact", fingerprint="a", created_at=WHEN)
        assert await store.apply([Put(tombstone), Put(tombstone)], now=NOW) == [Stored(0, WHEN)] * 2
        assert await store.scan(Scan(Tombstone, (org, "fact")), now=NOW) == [tombstone]

    async def test_put_if_absent_leaves_what_is_there(self, store: Store, org: str) -> None:
        first = await store.apply([Put(fact(org, value="first"), absent=True)], now=NOW)
        second = await store.apply([Put(fact(org, value="second"), absent=True)], now=NOW)
        assert (first, second) == ([Stored(1, WHEN)], [None])
        row = await store.get(Fact, (org, *K), now=NOW)
        assert row is not None and (row.value, row.version) == ("first", 1)

    async def test_every_overwrite_of_a_fact_is_kept_in_its_history(self, store: Store, org: str) -> None:
        for n in range(1, 13):
            await store.apply([Put(fact(org, value={"n": n}, reason=f"r{n}"))], now=NOW)
        versions = await store.scan(Scan(FactVersion, (org, *K)), now=NOW)
        assert [(item.version, item.value, item.reason) for item in versions] == [
            (n, {"n": n}, f"r{n}") for n in range(1, 12)
        ]

    async def test_deleting_a_fact_leaves_its_history_until_that_goes_too(self, store: Store, org: str) -> None:
        await store.apply([Put(fact(org, value=1)), Put(fact(org, value=2))], now=NOW)
        assert await store.apply([Delete(Fact, (org, *K))], now=NOW) == [True]
        assert len(await store.scan(Scan(FactVersion, (org, *K)), now=NOW)) == 1
        assert await store.apply([DeleteRange(FactVersion, (org, *K))], now=NOW) == [1]
        assert await store.scan(Scan(FactVersion, (org,)), now=NOW) == []

    async def test_delete_says_whether_there_was_a_row(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org))], now=NOW)
        assert await store.apply([Delete(StateEntry, (org, *K)), Delete(StateEntry, (org, *K))], now=NOW) == [
            True,
            False,
        ]

    async def test_delete_range_counts_what_went_and_leaves_its_neighbours(self, store: Store, org: str) -> None:
        places = [
            ("user:a", "1"),
            ("user:a", "2"),
            ("user:a", "3"),
            ("user:a", "4"),
            ("user:ab", "1"),
            ("user:a:", "1"),
        ]
        await store.apply([Put(entry(org, key, ns=ns)) for ns, key in places], now=NOW)
        cut = DeleteRange(StateEntry, (org, "user:a"), after=("1",), before=("4",))
        assert await store.apply([cut], now=NOW) == [2]
        rows = await store.scan(Scan(StateEntry, (org,)), now=NOW)
        assert [(item.ns, item.key) for item in rows] == [
            ("user:a", "1"),
            ("user:a", "4"),
            ("user:a:", "1"),
            ("user:ab", "1"),
        ]
        assert await store.apply([DeleteRange(StateEntry, (org, "user:a"))], now=NOW) == [2]
        assert await store.apply([DeleteRange(StateEntry, (org, "user:a"))], now=NOW) == [0]

    async def test_delete_range_takes_number_bounds(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org)), append(org, *map(str, range(1, 13)))], now=NOW)
        assert await store.apply([DeleteRange(Message, (org, "t"), before=(10,))], now=NOW) == [9]
        assert [m.seq for m in await store.scan(Scan(Message, (org, "t")), now=NOW)] == [10, 11, 12]

    async def test_deleting_one_odd_key_deletes_no_other(self, store: Store, org: str) -> None:
        remaining = set(ADVERSARIAL)
        await store.apply([Put(entry(org, key)) for key in remaining], now=NOW)
        for key in ADVERSARIAL:
            assert await store.apply([Delete(StateEntry, (org, "global", key))], now=NOW) == [True]
            remaining.remove(key)
            assert [item.key for item in await store.scan(Scan(StateEntry, (org, "global")), now=NOW)] == sorted(
                remaining
            )

    async def test_a_batch_sees_its_own_earlier_changes(self, store: Store, org: str) -> None:
        row = (org, *K)
        results = await store.apply(
            [
                Expect(StateEntry, row, 0),
                Put(entry(org, value=1)),
                Expect(StateEntry, row, 1),
                Put(entry(org, value=2)),
                Increment(entry(org, value=40)),
                Expect(StateEntry, row, 3),
                Delete(StateEntry, row),
                Expect(StateEntry, row, 0),
                DeleteRange(StateEntry, (org,)),
            ],
            now=NOW,
        )
        assert results == [None, Stored(1, WHEN), None, Stored(2, WHEN), 42, None, True, None, 0]

    async def test_a_batch_of_nothing_does_nothing(self, store: Store) -> None:
        assert await store.apply([], now=NOW) == []

    async def test_a_large_batch_is_one(self, store: Store, org: str) -> None:
        results = await store.apply([Put(entry(org, f"k{i:04}", i)) for i in range(2500)], now=NOW)
        assert results == [Stored(1, WHEN)] * 2500
        assert len(await store.scan(Scan(StateEntry, (org,)), now=NOW)) == 2500

    async def test_expect_refuses_another_version_and_says_both(self, store: Store, org: str) -> None:
        await store.apply([Put(entry(org))], now=NOW)
        with pytest.raises(Conflict) as caught:
            await store.apply([Expect(StateEntry, (org, *K), 7), Put(entry(org, value=2))], now=NOW)
        assert (caught.value.expected, caught.value.actual) == (7, 1)
        with pytest.raises(Conflict) as caught:
            await store.apply([Expect(StateEntry, (org, *K), 0)], now=NOW)
        assert (caught.value.expected, caught.value.actual) == (0, 1)
        with pytest.raises(Conflict) as caught:
            await store.apply([Expect(StateEntry, (org, "global", "none"), 1)], now=NOW)
        assert (caught.value.expected, caught.value.actual) == (1, 0)
        assert await value(store, org) == 1

    @pytest.mark.parametrize("fault", ["conflict", "no thread", "not a number", "too big", "bad value", "bad message"])
    async def test_a_batch_that_fails_leaves_everything_as_it_was(self, store: Store, org: str, fault: str) -> None:
        before: list[Change] = [
            Put(thread(org)),
            append(org, "one"),
            Put(entry(org, "text", "x")),
            Put(entry(org, "n", 5)),
            Put(fact(org)),
        ]
        await store.apply([*before, Put(entry(org, "word", "w"))], now=NOW)
        before_batch = await _everything(store, org)
        bad, error = _faults(org)[fault]
        good: list[Change] = [
            Put(entry(org, "new")), Put(fact(org, value=2)), append(org, "two", key="once"),
            Delete(StateEntry, (org, "global", "text")),
            Increment(entry(org, "n")), Put(thread(org, "t2")), DeleteRange(Message, (org, "t")),
            Put(thread(org, ns="user:moved")),
        ]  # fmt: skip
        with pytest.raises(error):
            await store.apply([*good, bad], now=NOW)
        assert await _everything(store, org) == before_batch
        # The idempotency key of the append that was rolled back was not used up.
        assert appended((await store.apply([append(org, "two", key="once")], now=NOW))[0]).replayed is False

    async def test_increment_makes_adds_and_answers_the_total(self, store: Store, org: str) -> None:
        changes = [Increment(entry(org, value=n)) for n in (1, 10, -31)]
        assert await store.apply(changes, now=NOW) == [1, 11, -20]
        row = await store.get(StateEntry, (org, *K), now=NOW)
        assert row is not None and (row.value, row.version) == (-20, 3)

    async def test_increment_goes_to_both_ends_of_64_bits_and_no_further(self, store: Store, org: str) -> None:
        for key, end, over in (("max", INT_MAX, 1), ("min", INT_MIN, -1)):
            assert await store.apply([Increment(entry(org, key, end))], now=NOW) == [end]
            with pytest.raises(InvalidValue):
                await store.apply([Increment(entry(org, key, over))], now=NOW)
            assert await store.apply([Increment(entry(org, key, -over))], now=NOW) == [end - over]
        rows = await store.scan(Scan(StateEntry, (org,)), now=NOW)
        assert [item.value for item in rows] == [INT_MAX - 1, INT_MIN + 1]

    @pytest.mark.parametrize("content", ["text", "7", 1.0, True, None, [1], {"n": 1}])
    async def test_only_an_integer_can_be_incremented(self, store: Store, org: str, content: Any) -> None:
        await store.apply([Put(entry(org, value=content))], now=NOW)
        with pytest.raises(InvalidValue):
            await store.apply([Increment(entry(org))], now=NOW)
        assert await value(store, org) == content


def _faults(org: str) -> dict[str, tuple[Change, type[MemoristError]]]:
    return {
        "conflict": (Expect(Fact, (org, *K), 9), Conflict),
        "no thread": (append(org, "x", thread="none"), NotFound),
        "not a number": (Increment(entry(org, "word")), InvalidValue),
        "too big": (Increment(entry(org, "n", INT_MAX)), InvalidValue),
        "bad value": (Put(fact(org, "nan", float("nan"))), InvalidValue),
        "bad message": (_bad_append(org), InvalidValue),
    }


def _bad_append(org: str) -> Change:
    change = append(org, "x")
    return msgspec.structs.replace(change, messages=(message(org, "fine"), message(org, "\ud800")))


async def _everything(store: Store, org: str) -> list[Any]:
    kinds = (Thread, Message, StateEntry, Fact, FactVersion)
    return [await store.scan(Scan(kind, (org,)), now=NOW) for kind in kinds]

"""Tests get, get_many and scan, with their bounds, orders, filters and limits."""

from __future__ import annotations

import msgspec
import pytest

from memorist.filters import parse_filter
from memorist.records import Fact, Link, Record, Ref, StateEntry, Summary, Thread, WorkingDocument
from memorist.stores.base import Delete, Put, Scan, Store
from memorist.stores.codec import kinds

from ..samples import ADVERSARIAL, NOW, WHEN, bare, entry, fact, full, thread

FILTERS: tuple[tuple[dict[str, object], str], ...] = (
    ({"v": 9}, "a"), ({"v": "9"}, "c"), ({"v": {"$gt": 9}}, "b"), ({"v": {"$gt": "10"}}, "ch"),
    ({"v": True}, "d"),
    ({"v": 1}, ""), ({"v": None}, "e"), ({"v": {"$exists": False}}, "fij"),
    ({"v": {"$in": [9, "9", None]}}, "ace"),
    ({"v": {"$nin": [9, "9"]}}, "bdefghij"), ({"v": {"$ne": 9}}, "bcdefghij"), ({"w.x": 1}, "f"),
    ({"w.x'\"%": 2}, "f"),
    ({"v": {"$contains": "x"}}, "gh"), ({"v.0": "x"}, "g"), ({"$or": [{"v": 9}, {"v": 10}]}, "ab"),
    ({"$and": [{"v": {"$gte": 9}}, {"v": {"$lte": 9}}]}, "a"), ({"$not": {"v": {"$exists": True}}}, "fij"),
    ({"v": {"$not": {"$gt": 9}}}, "acdefghij"), ({"confidence": {"$lt": 1}}, "a"),
    ({"status": "active"}, "abcdefghij"),
    ({"key": {"$gte": "h"}}, "hij"), ({"dotted.name": 1}, "i"), ({"V": 9}, "j"), ({"x' OR 1=1 --": 1}, ""),
)  # fmt: skip


async def put(store: Store, *records: Record) -> None:
    """Write records together."""
    await store.apply([Put(record) for record in records], now=NOW)


async def keys(store: Store, org: str, *prefix: str, **bounds: object) -> list[str]:
    """Return the keys of the state entries that a scan finds."""
    rows = await store.scan(Scan(StateEntry, (org, *prefix), **bounds), now=NOW)  # type: ignore[arg-type]  # passed on as is
    return [item.key for item in rows]


class Reads:
    """Reading."""

    async def test_a_missing_row_is_none(self, store: Store, org: str) -> None:
        assert await store.get(Fact, (org, "global", "nothing"), now=NOW) is None

    @pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
    async def test_every_kind_of_record_comes_back_as_written(self, store: Store, org: str, kind: type[Record]) -> None:
        for record in (full(kind, org), bare(kind, org)):
            await put(store, record)
            back = await store.get(kind, record.row_key, now=NOW)
            assert back is not None
            assert msgspec.structs.asdict(back) == msgspec.structs.asdict(record) | _fields_set_by_store(back)
            await store.apply([Delete(kind, record.row_key)], now=NOW)

    async def test_get_many_answers_in_the_order_asked(self, store: Store, org: str) -> None:
        await put(store, entry(org, "a", "va"), entry(org, "b", "vb"))
        row_keys = [(org, "global", key) for key in ("b", "missing", "a", "b")]
        rows = await store.get_many(StateEntry, row_keys, now=NOW)
        assert [item and item.value for item in rows] == ["vb", None, "va", "vb"]

    async def test_get_many_of_nothing_is_nothing(self, store: Store) -> None:
        assert await store.get_many(StateEntry, [], now=NOW) == []

    async def test_get_many_takes_more_keys_than_a_statement_has_parameters(self, store: Store, org: str) -> None:
        await put(store, *(entry(org, f"k{i}", i) for i in range(0, 3000, 3)))
        rows = await store.get_many(StateEntry, [(org, "global", f"k{i}") for i in range(3000)], now=NOW)
        assert [None if item is None else item.value for item in rows] == [
            i if i % 3 == 0 else None for i in range(3000)
        ]

    async def test_scan_stays_inside_its_prefix(self, store: Store, org: str) -> None:
        await put(store, entry(org, "x", ns="user:a"), entry(org, "y", ns="user:ab"), entry(org, "z", ns="user:a:b"))
        assert await keys(store, org, "user:a") == ["x"]

    async def test_scan_of_nothing_is_empty(self, store: Store, org: str) -> None:
        assert await keys(store, org, "global") == []

    async def test_scan_by_the_whole_key_finds_one_row(self, store: Store, org: str) -> None:
        await put(store, entry(org, "a"), entry(org, "ab"))
        assert await keys(store, org, "global", "a") == ["a"]

    async def test_scan_of_an_org_goes_by_namespace_then_key(self, store: Store, org: str) -> None:
        places = [("user:b", "1"), ("global", "2"), ("user:a", "3"), ("agent:z", "9"), ("user:a", "10")]
        await put(store, *(entry(org, key, ns=ns) for ns, key in places))
        rows = await store.scan(Scan(StateEntry, (org,)), now=NOW)
        assert [(item.ns, item.key) for item in rows] == sorted(places)

    async def test_text_keys_come_in_code_point_order(self, store: Store, org: str) -> None:
        await put(store, *(entry(org, key) for key in reversed(ADVERSARIAL)))
        assert await keys(store, org, "global") == sorted(ADVERSARIAL)
        assert await keys(store, org, "global", reverse=True) == sorted(ADVERSARIAL, reverse=True)

    async def test_namespaces_and_keys_do_not_run_together(self, store: Store, org: str) -> None:
        places = sorted((ns, key) for ns in ADVERSARIAL[:24] for key in ("a", ":", "b:c", "\\", "}"))
        await put(store, *(entry(org, key, ns=ns) for ns, key in places))
        rows = await store.scan(Scan(StateEntry, (org,)), now=NOW)
        assert [(item.ns, item.key) for item in rows] == places

    async def test_number_keys_come_in_number_order(self, store: Store, org: str) -> None:
        ends = [0, 9, 10, 11, 99, 100, 2**31, 2**40, 2**53 + 1]
        await put(store, *(_summary(org, last) for last in reversed(ends)))
        rows = await store.scan(Scan(Summary, (org, "t")), now=NOW)
        assert [item.last for item in rows] == ends
        rows = await store.scan(Scan(Summary, (org, "t"), after=(9,), before=(100,)), now=NOW)
        assert [item.last for item in rows] == [10, 11, 99]

    async def test_an_empty_part_of_a_key_is_a_key(self, store: Store, org: str) -> None:
        docs = [_working(org, "ada", ""), _working(org, "ada", "s"), _working(org, "ad", "a")]
        await put(store, *docs)
        rows = await store.scan(Scan(WorkingDocument, (org, "ada")), now=NOW)
        assert [item.session for item in rows] == ["", "s"]
        assert await store.get(WorkingDocument, (org, "ada", ""), now=NOW) is not None

    async def test_after_and_before_leave_their_bounds_out(self, store: Store, org: str) -> None:
        await put(store, *(entry(org, key) for key in "abcde"))
        assert await keys(store, org, "global", after=("b",)) == ["c", "d", "e"]
        assert await keys(store, org, "global", before=("d",)) == ["a", "b", "c"]
        assert await keys(store, org, "global", after=("a",), before=("e",)) == ["b", "c", "d"]
        assert await keys(store, org, "global", after=("bb",), before=("bc",)) == []
        assert await keys(store, org, "global", after=("d",), before=("b",)) == []

    async def test_a_bound_of_two_columns_compares_both(self, store: Store, org: str) -> None:
        places = [("agent:a", "5"), ("agent:b", "1"), ("agent:b", "2"), ("agent:b", "3"), ("agent:c", "0")]
        await put(store, *(entry(org, key, ns=ns) for ns, key in places))
        assert await keys(store, org, after=("agent:b", "1")) == ["2", "3", "0"]
        assert await keys(store, org, before=("agent:b", "2")) == ["5", "1"]
        assert await keys(store, org, after=("agent:a", "5"), before=("agent:c", "0")) == ["1", "2", "3"]

    async def test_a_bound_of_one_column_skips_all_rows_equal_in_it(self, store: Store, org: str) -> None:
        places = [("agent:a", "1"), ("agent:b", "2"), ("agent:b", "3"), ("agent:c", "4")]
        await put(store, *(entry(org, key, ns=ns) for ns, key in places))
        assert await keys(store, org, after=("agent:b",)) == ["4"]
        assert await keys(store, org, before=("agent:b",)) == ["1"]

    async def test_reverse_with_a_limit_gives_the_newest_first(self, store: Store, org: str) -> None:
        await put(store, *(entry(org, key) for key in "abcde"))
        assert await keys(store, org, "global", reverse=True, limit=2) == ["e", "d"]
        assert await keys(store, org, "global", reverse=True, limit=2, before=("d",)) == ["c", "b"]
        assert await keys(store, org, "global", reverse=True, limit=9, after=("c",)) == ["e", "d"]

    async def test_a_limit_of_none_at_all_gives_nothing(self, store: Store, org: str) -> None:
        await put(store, entry(org))
        assert await keys(store, org, "global", limit=0) == []

    async def test_starts_is_taken_literally(self, store: Store, org: str) -> None:
        await put(store, *(entry(org, key) for key in ADVERSARIAL))
        for start in (*"a%_*[{'e\\", "a%", "a_", "\u00e9", "\U0010ffff", "zz", "x" * 400):
            expected = sorted(key for key in ADVERSARIAL if key.startswith(start))
            assert await keys(store, org, "global", starts=start) == expected
            assert await keys(store, org, "global", starts=start, reverse=True, limit=2) == expected[::-1][:2]

    async def test_starts_goes_with_bounds_and_limit(self, store: Store, org: str) -> None:
        await put(store, *(entry(org, key) for key in ("a", "aa", "ab", "ac", "b")))
        assert await keys(store, org, "global", starts="a", after=("aa",)) == ["ab", "ac"]
        assert await keys(store, org, "global", starts="a", before=("ab",), limit=1) == ["a"]
        assert await keys(store, org, "global", starts="") == ["a", "aa", "ab", "ac", "b"]

    async def test_starts_of_a_namespace_keeps_all_its_keys(self, store: Store, org: str) -> None:
        await put(store, *(entry(org, "k", ns=ns) for ns in ("agent:a", "user:a", "user:b", "userx")))
        rows = await store.scan(Scan(StateEntry, (org,), starts="user:"), now=NOW)
        assert [item.ns for item in rows] == ["user:a", "user:b"]

    async def test_limit_counts_only_rows_that_pass_the_filter(self, store: Store, org: str) -> None:
        await put(store, *(fact(org, f"k{i:02}", {"n": i}) for i in range(40)))
        rows = await store.scan(Scan(Fact, (org, "global"), where=parse_filter({"n": {"$gte": 9}}), limit=3), now=NOW)
        assert [item.value["n"] for item in rows] == [9, 10, 11]
        last = await store.scan(
            Scan(Fact, (org, "global"), where=parse_filter({"n": {"$lt": 10}}), limit=2, reverse=True), now=NOW
        )
        assert [item.value["n"] for item in last] == [9, 8]

    async def test_filters_mean_the_same_on_every_store(self, store: Store, org: str) -> None:
        values = {
            "a": {"v": 9}, "b": {"v": 10}, "c": {"v": "9"}, "d": {"v": True}, "e": {"v": None},
            "f": {"w": {"x": 1, "x'\"%": 2}},
            "g": {"v": ["x", 1]}, "h": {"v": "axb"}, "i": {"dotted.name": 1}, "j": {"V": 9},
        }  # fmt: skip
        await put(store, *(fact(org, k, v, confidence=0.5 if k == "a" else 1.0) for k, v in values.items()))
        for where, expected in FILTERS:
            rows = await store.scan(Scan(Fact, (org, "global"), where=parse_filter(where)), now=NOW)
            assert "".join(item.key for item in rows) == expected, where

    async def test_filters_see_metadata_fields_as_their_own(self, store: Store, org: str) -> None:
        await put(store, thread(org, "t1", metadata={"topic": "x"}), thread(org, "t2", metadata={"topic": "y"}))
        rows = await store.scan(Scan(Thread, (org,), where=parse_filter({"topic": "y"})), now=NOW)
        assert [item.id for item in rows] == ["t2"]

    async def test_an_index_gives_its_own_order(self, store: Store, org: str) -> None:
        await put(store, thread(org, "t3", ns="user:a"), thread(org, "t1", ns="user:b"), thread(org, "t2", ns="user:a"))
        rows = await store.scan(Scan(Thread, (org, "user:a"), index="by_ns"), now=NOW)
        assert [item.id for item in rows] == ["t2", "t3"]
        rows = await store.scan(Scan(Thread, (org, "user:a"), index="by_ns", after=("t2",), limit=5), now=NOW)
        assert [item.id for item in rows] == ["t3"]
        rows = await store.scan(Scan(Thread, (org,), index="by_ns", reverse=True), now=NOW)
        assert [item.id for item in rows] == ["t1", "t3", "t2"]

    async def test_an_index_follows_its_rows(self, store: Store, org: str) -> None:
        await put(store, thread(org, "t1", ns="user:a"), thread(org, "t2", ns="user:a"))
        await put(store, thread(org, "t1", ns="user:b"))
        await store.apply([Delete(Thread, (org, "t2"))], now=NOW)
        assert await store.scan(Scan(Thread, (org, "user:a"), index="by_ns"), now=NOW) == []
        assert [t.id for t in await store.scan(Scan(Thread, (org, "user:b"), index="by_ns"), now=NOW)] == ["t1"]

    async def test_pages_of_a_long_scan_join_without_gap_or_overlap(self, store: Store, org: str) -> None:
        source, numbers = Ref("source", key="s"), range(1000)
        await put(store, *(Link.of(org, source, Ref("thread", key=f"{number:04}"), WHEN) for number in numbers))
        target_keys: list[str] = []
        while page := await store.scan(
            Scan(
                Link,
                (org, "", "s", "source", "", "derived", ""),
                limit=137,
                after=(target_keys[-1], "thread", "") if target_keys else None,
            ),
            now=NOW,
        ):
            target_keys.extend(link.target_key for link in page)
        assert target_keys == [f"{i:04}" for i in range(1000)]


def _fields_set_by_store(back: Record) -> dict[str, object]:
    """Return the fields that the store itself sets on a new row."""
    return {"version": 1} if "version" in back.__struct_fields__ and "version" not in back.table.key else {}


def _summary(org: str, last: int) -> Summary:
    return Summary(org=org, thread="t", last=last, text="x", tokens=1, ns="global", created_at=WHEN)


def _working(org: str, user: str, session: str) -> WorkingDocument:
    return WorkingDocument(org=org, user=user, session=session, doc={}, created_at=WHEN, updated_at=WHEN)

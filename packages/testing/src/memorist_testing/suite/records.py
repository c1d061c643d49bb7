"""Tests records through the public API."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from memorist.engine.records import PIECE_BYTES, RecordPut
from memorist.errors import Conflict, Forbidden, InvalidValue, TooLarge
from memorist.testing.clock import FakeClock

from ..plugin import Together
from ..samples import ADVERSARIAL

NS = "workflow:graph"


class RecordTests:
    """Tests opaque values under ordered keys."""

    async def test_a_record_is_given_back_as_it_was_put(self, memory: Any) -> None:
        values: list[Any] = [b"", b"\x00\xff\x80", {"a": [1, 2.5, None]}, "text", None, 0, [], b"x" * 100_000]
        for number, data in enumerate(values):
            written = await memory.records.put(NS, ("k", number), data, meta={"n": number})
            record = await memory.records.get(NS, ("k", number))
            assert record.data == data and type(record.data) is type(data)
            assert (record.key, record.meta, record.version) == (("k", number), {"n": number}, 1)
            assert written == record
        assert await memory.records.get(NS, ("k", 99)) is None

    async def test_odd_keys_are_told_apart(self, memory: Any) -> None:
        keys = [(text,) for text in ADVERSARIAL] + [("a", "b"), ("a\x00b",), ("ab", ""), (1, "a"), ("1", "a"), (1.5,)]
        await memory.records.put_many(NS, {key: [*key] for key in keys})
        records = await memory.records.get_many(NS, [*keys, ("none",)])
        assert [record.data for record in records[:-1]] == [list(key) for key in keys]
        assert records[-1] is None

    async def test_long_keys_are_kept(self, memory: Any) -> None:
        key = ("checkpoint", *("\u00e9" * 60 for _ in range(11)), 7)
        await memory.records.put(NS, key, b"deep")
        assert [record.key for record in await memory.records.scan(NS, key[:-1])] == [key]
        with pytest.raises(TooLarge):
            await memory.records.put(NS, ("x" * 2000,), b"")

    async def test_records_are_scanned_in_the_order_of_their_keys(self, memory: Any) -> None:
        keys = [(-10,), (-9.5,), (0,), (2,), (10,), ("A",), ("a",), ("a", 1), ("a", 9), ("a", 10), ("a", "x"), ("ab",)]
        await memory.records.put_many(NS, [(key, None) for key in reversed(keys)])

        async def scan(*args: Any, **options: Any) -> list[Any]:
            return [record.key for record in await memory.records.scan(NS, *args, **options)]

        assert await scan() == keys
        assert await scan(reverse=True) == keys[::-1]
        assert await scan(("a",)) == [("a",), ("a", 1), ("a", 9), ("a", 10), ("a", "x")]
        assert await scan(("a",), reverse=True, limit=1) == [("a", "x")]
        assert await scan(("a",), after=("a", 1), before=("a", "x")) == [("a", 9), ("a", 10)]
        assert await scan(after=("a",), limit=2) == [("a", 1), ("a", 9)]
        assert await scan(before=(2,), reverse=True, limit=2) == [(0,), (-9.5,)]
        assert await scan(("b",)) == []
        assert await scan(limit=0) == []

    async def test_a_scan_is_filtered_by_meta(self, memory: Any) -> None:
        for step in range(12):
            await memory.records.put(NS, (step,), b"", meta={"step": step, "run": "a" if step % 2 else "b"})
        records = await memory.records.scan(NS, where={"run": "a", "step": {"$gt": 8}}, reverse=True)
        assert [record.meta["step"] for record in records] == [11, 9]
        assert len(await memory.records.scan(NS, where={"run": "a"}, limit=3)) == 3

    async def test_keys_alone_come_without_data(self, memory: Any) -> None:
        await memory.records.put(NS, ("k",), b"secret", meta={"a": 1})
        (record,) = await memory.records.scan(NS, keys_only=True)
        assert (record.key, record.data, record.meta, record.size, record.version) == (("k",), None, {"a": 1}, 6, 1)

    async def test_a_record_is_compared_and_set(self, memory: Any) -> None:
        first = await memory.records.put(NS, ("k",), 1, expect=0)
        second = await memory.records.put(NS, ("k",), 2, expect=first.version)
        assert (second.version, second.created_at) == (2, first.created_at)
        for expect in (0, 1, 3):
            with pytest.raises(Conflict):
                await memory.records.put(NS, ("k",), 3, expect=expect)
            with pytest.raises(Conflict):
                await memory.records.delete(NS, ("k",), expect=expect)
        assert (await memory.records.get(NS, ("k",))).data == 2
        assert await memory.records.delete(NS, ("k",), expect=2) is True
        assert await memory.records.delete(NS, ("k",)) is False

    async def test_put_if_absent_leaves_what_is_there(self, memory: Any) -> None:
        assert not (await memory.records.put(NS, ("k",), "first", absent=True)).existed
        again = await memory.records.put(NS, ("k",), "second", absent=True)
        assert (again.existed, again.data, again.version) == (True, "first", 1)
        records = await memory.records.put_many(NS, {("k",): "third", ("n",): "new"}, absent=True)
        assert [(record.existed, record.data) for record in records] == [(True, "first"), (False, "new")]

    async def test_put_many_is_all_or_nothing(self, memory: Any) -> None:
        puts = [RecordPut(key=("a",), data=1, meta={"m": 1}), RecordPut(key=("b",), data=2, expect=4)]
        with pytest.raises(Conflict):
            await memory.records.put_many(NS, puts)
        assert await memory.records.scan(NS) == []
        assert await memory.records.put_many(NS, []) == []

    async def test_a_record_with_a_ttl_ends(self, memory: Any, clock: FakeClock) -> None:
        await memory.records.put(NS, ("k",), b"1", ttl=10)
        await memory.records.put(NS, ("long",), b"x" * (PIECE_BYTES + 1), ttl=10)
        clock.advance(10)
        assert await memory.records.get(NS, ("k",)) is None
        assert await memory.records.scan(NS) == []
        assert not (await memory.records.put(NS, ("k",), b"2", absent=True)).existed
        assert (await memory.records.put(NS, ("long",), b"3", expect=0)).data == b"3"

    async def test_a_range_is_deleted(self, memory: Any) -> None:
        keys = [("a",), ("a", 1), ("a", 2), ("a", 3), ("ab",), ("b", 1)]
        await memory.records.put_many(NS, dict.fromkeys(keys))
        await memory.records.put("workflow:other", ("a", 1), None)
        assert await memory.records.delete_range(NS, ("a",), after=("a", 1), before=("a", 3)) == 1
        assert await memory.records.delete_range(NS, ("a",)) == 3
        assert [record.key for record in await memory.records.scan(NS)] == [("ab",), ("b", 1)]
        assert await memory.records.delete_range(NS) == 2
        assert len(await memory.records.scan("workflow:other")) == 1

    async def test_long_values_are_kept_in_pieces(self, memory: Any) -> None:
        values = [bytes([n]) * (PIECE_BYTES * n + n) for n in (1, 2, 11)]
        for value in values:
            await memory.records.put(NS, ("k",), value)
            assert (await memory.records.get(NS, ("k",))).data == value
        text = "\u00e9" * PIECE_BYTES
        await memory.records.put(NS, ("text",), {"text": text})
        assert [record.data for record in await memory.records.scan(NS)] == [values[-1], {"text": text}]
        assert (await memory.records.put(NS, ("k",), values[0], absent=True)).data == values[-1]
        await memory.records.put(NS, ("k",), b"short")
        assert (await memory.records.get(NS, ("k",))).data == b"short"
        assert await memory.records.delete_range(NS) == 2

    async def test_a_reader_sees_long_values_whole(self, memory: Any, together: Together) -> None:
        size = 3 * PIECE_BYTES
        await memory.records.put(NS, ("k",), b"0" * size)

        async def write(mark: bytes) -> None:
            for _ in range(2):
                await memory.records.put(NS, ("k",), mark * size)
                await memory.records.put(NS, ("k",), mark)

        async def read() -> None:
            for _ in range(6):
                data = (await memory.records.get(NS, ("k",))).data
                assert len(data) in (1, size) and data == data[:1] * len(data)

        await together([lambda: write(b"a"), lambda: write(b"b"), read, read])
        assert len((await memory.records.get(NS, ("k",))).data) == 1

    async def test_of_many_racers_one_wins(self, memory: Any, together: Together) -> None:
        await memory.records.put(NS, ("k",), 0)
        won: list[int] = []

        async def race(number: int) -> None:
            try:
                await memory.records.put(NS, ("k",), number, expect=1)
                won.append(number)
            except Conflict:
                pass

        await together([partial(race, number) for number in range(1, 9)])
        assert [(await memory.records.get(NS, ("k",))).data] == won

    async def test_records_are_part_of_a_batch(self, memory: Any) -> None:
        await memory.records.put(NS, ("old",), 1)
        with pytest.raises(ZeroDivisionError):
            async with memory.batch() as batch:
                await batch.records.put(NS, ("long",), b"x" * (PIECE_BYTES + 1))
                await batch.records.delete(NS, ("old",))
                raise ZeroDivisionError
        assert [record.key for record in await memory.records.scan(NS)] == [("old",)]
        async with memory.batch() as batch:
            await batch.records.put(NS, ("long",), b"x" * (PIECE_BYTES + 1))
            await batch.records.put(NS, ("new",), 2, expect=0)
            await batch.records.delete(NS, ("old",), expect=1)
            await batch.facts.set("global", "k", 1)
        assert [record.key for record in await memory.records.scan(NS, keys_only=True)] == [("long",), ("new",)]
        assert (await memory.records.get(NS, ("long",))).size == PIECE_BYTES + 1

    async def test_a_batch_with_a_stale_record_writes_nothing(self, memory: Any) -> None:
        await memory.records.put(NS, ("k",), 1)
        with pytest.raises(Conflict):
            async with memory.batch() as batch:
                await batch.facts.set("global", "k", 1)
                await batch.records.put(NS, ("k",), 2, expect=7)
        assert await memory.facts.get("global", "k") is None

    async def test_records_leave_no_trace_elsewhere(self, memory: Any) -> None:
        await memory.records.put("global", ("plan",), {"text": "the zebra crossed the road"})
        await memory.records.put("global", ("plan",), {"text": "the zebra crossed the road again"})
        assert await memory.recall("zebra road") == []
        assert await memory.audit.list() == []
        assert sum(queue.waiting for queue in await memory.jobs.backlog()) == 0
        assert await memory.facts.list("global") == []

    async def test_records_of_a_user_are_that_users(self, memory: Any) -> None:
        ada, eve = memory.scope(user="ada"), memory.scope(user="eve")
        await ada.records.put("user:ada", ("k",), b"ada's")
        for call in (eve.records.get, eve.records.delete):
            with pytest.raises(Forbidden):
                await call("user:ada", ("k",))
        with pytest.raises(Forbidden):
            await eve.records.scan("user:ada")

    async def test_forgetting_a_user_takes_their_records(self, memory: Any) -> None:
        for key, data in ((("k",), b"short"), (("long",), b"x" * (2 * PIECE_BYTES))):
            await memory.records.put("user:ada", key, data)
            await memory.records.put("user:eve", key, data)
        report = await memory.forget(user="ada")
        assert (report.counts["records"], report.counts["record_pieces"]) == (2, 2)
        assert await memory.records.scan("user:ada") == []
        assert len(await memory.records.scan("user:eve")) == 2

    async def test_abandoned_uploads_are_collected(self, memory: Any, clock: FakeClock) -> None:
        with pytest.raises(ZeroDivisionError):
            async with memory.batch() as batch:
                await batch.records.put(NS, ("k",), b"x" * (PIECE_BYTES + 1))
                raise ZeroDivisionError
        await memory.records.put(NS, ("kept",), b"y" * (PIECE_BYTES + 1))
        (early,) = await memory.process("gc")
        assert early.counts.get("uploads") is None
        clock.advance(3601)
        (late,) = await memory.process("gc")
        assert late.counts["uploads"] >= 1  # other tests may have left some in a shared store
        (again,) = await memory.process("gc")
        assert again.counts.get("uploads") is None
        assert (await memory.records.get(NS, ("kept",))).size == PIECE_BYTES + 1

    async def test_what_cannot_be_kept_is_refused(self, memory: Any) -> None:
        for key in ((), "text", (None,), (float("nan"),), (b"x",)):
            with pytest.raises(InvalidValue):
                await memory.records.put(NS, key, 1)
        for data in ({1: 2}, {"a": {1, 2}}, float("inf"), object()):
            with pytest.raises(InvalidValue):
                await memory.records.put(NS, ("k",), data)
        with pytest.raises(InvalidValue):
            await memory.records.put(NS, ("k",), 1, meta={"a": b"x"})
        assert await memory.records.scan(NS) == []

    async def test_an_org_keeps_no_more_than_its_limit(self, open_memory: Any, clock: FakeClock) -> None:
        memory = open_memory(record_bytes=1000)
        await memory.records.put(NS, ("a",), b"x" * 600)
        with pytest.raises(TooLarge):
            await memory.records.put(NS, ("b",), b"x" * 600)
        clock.advance(2)
        await memory.records.delete(NS, ("a",))
        await memory.records.put(NS, ("b",), b"x" * 600)
        assert [record.key for record in await memory.records.scan(NS)] == [("b",)]

    async def test_records_are_put_only_while_others_stand_as_expected(self, memory: Any) -> None:
        await memory.records.put(NS, ("base",), 1)
        await memory.records.put_many(NS, [(("next",), 2)], expect=[(("base",), 1), (("none",), 0)])
        for expected in ([(("base",), 2)], [(("none",), 1)], [(("base",), 1), (("next",), 0)]):
            with pytest.raises(Conflict):
                await memory.records.put_many(NS, [(("after",), 3)], expect=expected)
        assert [record.key for record in await memory.records.scan(NS)] == [("base",), ("next",)]

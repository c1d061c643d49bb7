"""Tests facts through the public API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memorist.errors import Conflict, InvalidNamespace, InvalidValue, NotFound, TooLarge, UsageError
from memorist.scope import Namespace
from memorist.testing.clock import FakeClock

from .inputs import ACCEPTED_VALUES, REFUSED_VALUES, exact

NS = "user:ada"


class FactTests:
    """Facts."""

    async def test_a_fact_is_read_as_it_was_set(self, memory: Any, clock: FakeClock) -> None:
        fact = await memory.facts.set(NS, "home", {"city": "Rome"}, confidence=0.8, source="t#1")
        assert (fact.value, fact.confidence, fact.source, fact.version) == ({"city": "Rome"}, 0.8, "t#1", 1)
        assert (fact.created_at, fact.actor, fact.status, fact.namespace) == (clock(), "user", "active", NS)
        assert await memory.facts.get(NS, "home") == fact
        assert await memory.facts.get(NS, "work") is None

    async def test_a_namespace_may_be_text_or_built(self, memory: Any) -> None:
        await memory.facts.set(Namespace("workflow", "review"), "k", 1)
        assert (await memory.facts.get("workflow:review", "k")).value == 1

    async def test_the_last_write_wins_and_keeps_when_it_began(self, memory: Any, clock: FakeClock) -> None:
        first = await memory.facts.set(NS, "home", "Rome")
        clock.advance(60)
        second = await memory.facts.set(NS, "home", "Oslo")
        assert (second.version, second.created_at, second.updated_at) == (2, first.created_at, clock())
        assert (await memory.facts.get(NS, "home")).value == "Oslo"

    async def test_expect_writes_only_over_the_version_named(self, memory: Any) -> None:
        await memory.facts.set(NS, "k", 1, expect=0)
        await memory.facts.set(NS, "k", 2, expect=1)
        for stale in (0, 1, 3):
            with pytest.raises(Conflict) as caught:
                await memory.facts.set(NS, "k", 9, expect=stale)
            assert (caught.value.expected, caught.value.actual) == (stale, 2)
        assert (await memory.facts.get(NS, "k")).value == 2

    async def test_history_has_every_version_oldest_first(self, memory: Any) -> None:
        for value in ("a", "b", "c"):
            await memory.facts.set(NS, "k", value)
        assert [(fact.value, fact.version) for fact in await memory.facts.history(NS, "k")] == [
            ("a", 1),
            ("b", 2),
            ("c", 3),
        ]
        assert await memory.facts.history(NS, "other") == []

    async def test_as_of_answers_what_held_then(self, memory: Any, clock: FakeClock) -> None:
        before = clock()
        clock.advance(10)
        await memory.facts.set(NS, "k", "a")
        first = clock()
        clock.advance(10)
        await memory.facts.set(NS, "k", "b")
        assert await memory.facts.get(NS, "k", as_of=before) is None
        assert (await memory.facts.get(NS, "k", as_of=first)).value == "a"
        assert (await memory.facts.get(NS, "k", as_of=first + timedelta(seconds=9))).value == "a"
        assert (await memory.facts.get(NS, "k", as_of=clock())).value == "b"

    async def test_a_fact_with_a_ttl_is_gone_when_it_ends(self, memory: Any, clock: FakeClock) -> None:
        await memory.facts.set(NS, "a", 1, ttl=60)
        await memory.facts.set(NS, "b", 1, ttl=timedelta(minutes=2))
        clock.advance(60)
        assert await memory.facts.get(NS, "a") is None
        assert [fact.key for fact in await memory.facts.list(NS)] == ["b"]
        assert (await memory.facts.set(NS, "a", 2, expect=0)).value == 2
        clock.advance(60)
        assert await memory.facts.delete_expired() >= 1

    async def test_a_list_is_in_key_order_and_pages(self, memory: Any) -> None:
        await memory.facts.set_many(NS, {key: n for n, key in enumerate(["b", "a", "c", "a.x", "A"])})
        assert [fact.key for fact in await memory.facts.list(NS)] == ["A", "a", "a.x", "b", "c"]
        assert [fact.key for fact in await memory.facts.list(NS, prefix="a")] == ["a", "a.x"]
        page = await memory.facts.list(NS, limit=2)
        rest = await memory.facts.list(NS, limit=9, after=page[-1].key)
        assert [fact.key for fact in page + rest] == ["A", "a", "a.x", "b", "c"]

    async def test_a_list_can_be_filtered(self, memory: Any) -> None:
        await memory.facts.set_many(NS, [("a", {"age": 9}), ("b", {"age": 10}), ("c", {"age": "9"}), ("d", 5)])
        assert [fact.key for fact in await memory.facts.list(NS, where={"age": {"$gt": 9}})] == ["b"]
        assert [fact.key for fact in await memory.facts.list(NS, where={"$or": [{"age": "9"}, {"value": 5}]})] == [
            "c",
            "d",
        ]
        refused: list[dict[str, Any]] = [{"$where": 1}, {"age": {"$gt": []}}, {"age": {"$regex": "x"}}, {"$or": []}]
        for bad in refused:
            with pytest.raises(UsageError):
                await memory.facts.list(NS, where=bad)

    async def test_a_deleted_fact_is_gone_and_its_past_stays(self, memory: Any) -> None:
        await memory.facts.set(NS, "k", "secret")
        assert await memory.facts.delete(NS, "k") is True
        assert await memory.facts.delete(NS, "k") is False
        assert await memory.facts.get(NS, "k") is None
        assert [fact.status for fact in await memory.facts.history(NS, "k")] == ["active", "deleted"]
        assert (await memory.facts.set(NS, "k", "new")).version == 3

    async def test_a_correction_supersedes_and_says_why(self, memory: Any) -> None:
        await memory.facts.set(NS, "home", "Rome", source="t#1")
        fixed = await memory.facts.correct(NS, "home", "Oslo", reason="moved")
        assert (fixed.value, fixed.version, fixed.reason) == ("Oslo", 2, "moved")
        assert [fact.value for fact in await memory.facts.history(NS, "home")] == ["Rome", "Oslo"]

    async def test_a_rejected_value_does_not_come_back_from_a_derivation(self, memory: Any, open_memory: Any) -> None:
        await memory.facts.set(NS, "home", "Rome", source="t#1")
        rejected = await memory.facts.reject(NS, "home", reason="never said")
        assert rejected.status == "rejected"
        assert await memory.facts.get(NS, "home") is None
        derived = open_memory(actor="processor")
        await derived.facts.set(NS, "home", "Rome", source="t#1")
        assert await memory.facts.get(NS, "home") is None
        await derived.facts.set(NS, "home", "Oslo", source="t#2")
        assert (await memory.facts.get(NS, "home")).value == "Oslo"
        # The user may say it again.
        await memory.facts.set(NS, "home", "Rome")
        assert (await memory.facts.get(NS, "home")).value == "Rome"

    async def test_rejecting_what_is_not_there_is_not_found(self, memory: Any) -> None:
        with pytest.raises(NotFound):
            await memory.facts.reject(NS, "nothing")

    async def test_many_are_set_together_or_not_at_all(self, memory: Any) -> None:
        facts = await memory.facts.set_many(NS, {"a": 1, "b": [2]})
        assert [(fact.key, fact.value, fact.version) for fact in facts] == [("a", 1, 1), ("b", [2], 1)]
        with pytest.raises(InvalidValue):
            await memory.facts.set_many(NS, {"c": 1, "d": float("nan")})
        assert await memory.facts.get(NS, "c") is None
        assert await memory.facts.set_many(NS, {}) == []

    async def test_many_with_a_rejected_value_return_the_rejected_version_in_its_place(
        self, memory: Any, open_memory: Any
    ) -> None:
        await memory.facts.set(NS, "home", "Rome")
        await memory.facts.reject(NS, "home")
        derived = open_memory(actor="processor")
        facts = await derived.facts.set_many(NS, {"age": 9, "home": "Rome", "work": "Oslo"})
        assert [(fact.key, fact.status) for fact in facts] == [
            ("age", "active"), ("home", "rejected"), ("work", "active"),
        ]  # fmt: skip
        assert [fact.key for fact in await memory.facts.list(NS)] == ["age", "work"]

    async def test_facts_come_back_exactly(self, memory: Any) -> None:
        changed = []
        for name, value in ACCEPTED_VALUES.items():
            await memory.facts.set(NS, name, value)
            if exact((await memory.facts.get(NS, name)).value) != exact(value):
                changed.append(name)
        assert changed == []

    async def test_values_that_cannot_come_back_are_refused(self, memory: Any) -> None:
        for value, error in REFUSED_VALUES.values():
            with pytest.raises(error):
                await memory.facts.set(NS, "k", value)
            with pytest.raises(error):
                await memory.state.set("k", value)
            with pytest.raises(error):
                await memory.threads.create(NS, id="t", metadata={"x": value})
        assert await memory.facts.list(NS) == []
        assert await memory.state.get("k") is None
        assert await memory.threads.get("t") is None

    @pytest.mark.parametrize("key", ["", "a\u0000b", "\ud800", 5, None, b"x"], ids=ascii)
    async def test_a_key_that_no_store_can_keep_is_refused(self, memory: Any, key: Any) -> None:
        for call in (
            memory.facts.set(NS, key, 1), memory.facts.get(NS, key), memory.facts.delete(NS, key),
            memory.facts.history(NS, key), memory.state.set(key, 1), memory.state.get(key), memory.state.increment(key),
            memory.threads.get(key), memory.threads.append(key, "x"), memory.threads.recent(key),
        ):  # fmt: skip
            with pytest.raises(InvalidValue):
                await call

    async def test_a_key_too_long_is_refused(self, memory: Any) -> None:
        await memory.facts.set(NS, "x" * 512, 1)
        for long in ("x" * 513, "\u00e9" * 257):
            with pytest.raises(TooLarge):
                await memory.facts.set(NS, long, 1)

    @pytest.mark.parametrize(
        "ns", ["", "ada", "robot:x", "user:", "global:x", "user", ":", None, 5, "user:\u0000"], ids=ascii
    )
    async def test_what_is_no_namespace_is_refused(self, memory: Any, ns: Any) -> None:
        for call in (memory.facts.set(ns, "k", 1), memory.facts.list(ns), memory.threads.create(ns)):
            with pytest.raises(InvalidNamespace):
                await call

    @pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), "high", None, True])
    async def test_a_confidence_is_from_nought_to_one(self, memory: Any, confidence: Any) -> None:
        with pytest.raises(InvalidValue):
            await memory.facts.set(NS, "k", 1, confidence=confidence)

    @pytest.mark.parametrize("ttl", [0, -1, "soon", float("nan"), float("inf"), timedelta(0), True], ids=str)
    async def test_a_ttl_is_a_positive_time(self, memory: Any, ttl: Any) -> None:
        for call in (memory.facts.set(NS, "k", 1, ttl=ttl), memory.state.set("k", 1, ttl=ttl)):
            with pytest.raises(UsageError):
                await call

    @pytest.mark.parametrize("limit", [-1, 1.5, "2", True], ids=str)
    async def test_a_limit_is_a_whole_number(self, memory: Any, limit: Any) -> None:
        await memory.threads.create(NS, id="t")
        for call in (
            memory.facts.list(NS, limit=limit),
            memory.threads.messages("t", limit),
            memory.threads.list(NS, limit=limit),
        ):
            with pytest.raises(UsageError):
                await call

    async def test_many_facts_share_a_ttl(self, memory: Any, clock: FakeClock) -> None:
        await memory.facts.set_many("global", {"a": 1, "b": 2}, ttl=10)
        clock.advance(10)
        assert await memory.facts.list("global") == []

    async def test_a_touched_fact_lives_on_without_a_new_version(self, memory: Any, clock: FakeClock) -> None:
        await memory.facts.set("global", "pet", "a zebra called Stripes", ttl=10)
        assert len(await memory.recall("zebra stripes")) == 1
        clock.advance(9)
        touched = await memory.facts.touch("global", "pet", 10)
        assert touched.version == 1
        clock.advance(9)
        assert [hit.text for hit in await memory.recall("zebra stripes")] == ["Pet: a zebra called Stripes"]
        assert (await memory.facts.get("global", "pet")).version == 1
        assert len(await memory.facts.history("global", "pet")) == 1
        assert (await memory.facts.touch("global", "pet", None)).expires_at is None
        clock.advance(10**6)
        assert await memory.facts.get("global", "pet") is not None
        assert await memory.facts.touch("global", "none", 10) is None

    async def test_a_fact_is_deleted_only_as_expected(self, memory: Any) -> None:
        await memory.facts.set("global", "k", 1)
        for history in (True, False):
            with pytest.raises(Conflict) as refused:
                await memory.facts.delete("global", "k", expect=2, history=history)
            assert (refused.value.expected, refused.value.actual) == (2, 1)
            with pytest.raises(Conflict):
                await memory.facts.delete("global", "none", expect=1, history=history)
        assert await memory.facts.delete("global", "k", expect=1) is True
        assert await memory.facts.delete("global", "k", expect=0) is False

    async def test_a_fact_is_deleted_with_its_history(self, memory: Any) -> None:
        for value in ("the zebra ran", "the zebra slept"):
            await memory.facts.set("global", "k", value)
        assert len(await memory.recall("zebra")) == 1
        assert await memory.facts.delete("global", "k", history=False) is True
        assert await memory.facts.history("global", "k") == []
        assert await memory.recall("zebra") == []
        assert await memory.facts.delete("global", "k", history=False) is False

    async def test_facts_are_deleted_by_prefix(self, memory: Any) -> None:
        for key in ("a.1", "a.2", "ab", "b"):
            await memory.facts.set_many("global", {key: 1})
            await memory.facts.set_many("global", {key: 2})
        assert await memory.facts.delete_range("global", "a.") == 2
        assert len(await memory.facts.history("global", "a.1")) == 3
        assert await memory.facts.delete_range("global", "a", history=False) == 1
        for key in ("a.1", "a.2", "ab"):
            assert await memory.facts.history("global", key) == []
        assert [fact.key for fact in await memory.facts.list("global")] == ["b"]
        assert await memory.facts.delete_range("global", history=False) == 1
        assert await memory.facts.history("global", "b") == []

    async def test_a_fact_that_is_not_indexed_is_not_recalled(self, memory: Any) -> None:
        await memory.facts.set(NS, "favourite fruit", "persimmons", index=False)
        assert await memory.recall("favourite fruit persimmons", namespaces=[NS]) == []
        assert (await memory.facts.get(NS, "favourite fruit")).value == "persimmons"
        context = await memory.scope(user="ada").context("what is my favourite fruit?")
        assert "persimmons" not in str(context.messages())
        await memory.facts.set_many(NS, {"favourite fruit": "persimmons"})
        assert [hit.kind for hit in await memory.recall("persimmons", namespaces=[NS])] == ["fact"]
        await memory.facts.set(NS, "favourite fruit", "persimmons", index=False)
        assert await memory.recall("persimmons", namespaces=[NS]) == []

    async def test_a_fact_is_found_by_the_fields_that_were_chosen(self, memory: Any) -> None:
        value = {"title": "Orchards", "notes": [{"text": "persimmons"}, {"text": "quinces"}], "secret": "walnuts"}
        fact = await memory.facts.set(NS, "doc-1", value, index=["title", "notes.text"])
        assert fact.indexed == ["title", "notes.text"]
        for words, count in (("quinces", 1), ("orchards", 1), ("walnuts", 0)):
            hits = await memory.recall(words, namespaces=[NS], min_score=0.2)
            assert len(hits) == count, words
        assert "walnuts" in (await memory.recall("quinces", namespaces=[NS]))[0].text
        corrected = await memory.facts.correct(NS, "doc-1", {**value, "title": "Gardens"})
        assert corrected.indexed == fact.indexed
        assert await memory.recall("walnuts", namespaces=[NS], min_score=0.2) == []
        for bad in ([], "title", [3]):
            with pytest.raises(UsageError):
                await memory.facts.set(NS, "doc-1", value, index=bad)

    async def test_an_earlier_version_is_restored_with_what_it_had(self, memory: Any) -> None:
        await memory.facts.set(NS, "home", "Rome", confidence=0.6, source="t#1")
        await memory.facts.set(NS, "home", "Oslo")
        with pytest.raises(Conflict):
            await memory.facts.restore(NS, "home", 1, expect=1)
        restored = await memory.facts.restore(NS, "home", 1, expect=2)
        assert (restored.value, restored.confidence, restored.sources, restored.version) == ("Rome", 0.6, ("t#1",), 3)
        assert await memory.facts.get(NS, "home") == restored
        with pytest.raises(NotFound):
            await memory.facts.restore(NS, "home", 9)

    async def test_a_rejected_version_that_is_restored_may_be_derived_again(
        self, memory: Any, open_memory: Any
    ) -> None:
        derive = open_memory(actor="processor").facts.set
        await derive(NS, "home", "Rome", source="t#1")
        await memory.facts.reject(NS, "home")
        await memory.facts.restore(NS, "home", 1)
        await memory.facts.delete(NS, "home")
        assert (await derive(NS, "home", "Rome", source="t#1")).status == "active"

    async def test_a_fact_that_is_not_indexed_is_not_indexed_when_restored(self, memory: Any) -> None:
        for city in ("Reykjavik", "Oslo"):
            await memory.facts.set(NS, "home", city, index=False)
        restored = await memory.facts.restore(NS, "home", 1)
        assert restored.indexed == []
        assert await memory.recall("Reykjavik", namespaces=NS) == []

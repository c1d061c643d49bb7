"""Provides a suite for LangGraph stores (`BaseStore`). LangGraph itself does not publish one.

    class TestMine(BaseStoreConformance):
        @pytest.fixture
        def store(self):
            with MyStore("items.db") as store:
                yield store


    class TestMineSearched(SemanticSearchConformance):
        @pytest.fixture
        def store(self):
            with MyStore("items.db", index={"dims": DIMENSIONS, "embed": letters, "fields": ["text"]}) as store:
                yield store

Every test runs twice: once with the plain methods, and once with the async methods on an event loop. A class attribute
`halves = ("plain",)` leaves one of them out. Tests of expiry wait in real time unless the `elapse` fixture moves a fake
clock. It needs `langgraph` and `pytest`.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

DIMENSIONS = 32
ODD_NAMES = ("a b", "ünï", "a/b", "a:b", "a'b", 'a"b', "a%b", "a_b", "a\\b", "*", "日本", "A", "a")
"""Labels and keys that a careless store would confuse: SQL wildcards, quotes, separators, and letters that differ in
case."""


def letters(texts: Sequence[str]) -> list[list[float]]:
    """Embed texts deterministically, by how often each letter occurs, so that texts with the same letters are close
    together.
    """
    rows = []
    for text in texts:
        row = [0.0] * DIMENSIONS
        for letter in text.lower():
            row[ord(letter) % DIMENSIONS] += 1.0
        rows.append(row)
    return rows


class Calls:
    """Calls the methods of a store, directly or on one event loop."""

    def __init__(self, store: BaseStore, runner: asyncio.Runner | None) -> None:
        self.store = store
        self._runner = runner

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        if self._runner is None:
            return getattr(self.store, name)(*args, **options)
        return self._runner.run(getattr(self.store, f"a{name}")(*args, **options))

    def put(self, namespace: tuple[str, ...], key: str, value: dict[str, Any], **options: Any) -> None:
        """Write an item."""
        self._call("put", namespace, key, value, **options)

    def get(self, namespace: tuple[str, ...], key: str, **options: Any) -> Any:
        """Return one item, or None."""
        return self._call("get", namespace, key, **options)

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Delete an item."""
        self._call("delete", namespace, key)

    def search(self, prefix: tuple[str, ...], **options: Any) -> list[Any]:
        """Return items below a prefix."""
        items: list[Any] = self._call("search", prefix, **options)
        return items

    def keys(self, prefix: tuple[str, ...], **options: Any) -> list[str]:
        """Return the keys of the items that a search returns, in the same order."""
        return [item.key for item in self.search(prefix, **options)]

    def namespaces(self, **options: Any) -> list[tuple[str, ...]]:
        """Return the namespaces that are not empty."""
        return [tuple(namespace) for namespace in self._call("list_namespaces", **options)]

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        """Run several operations at once, and return their results."""
        results: list[Any] = self._call("batch", list(ops))
        return results


class _Suite:
    """Holds what both suites share: a store, the two ways to call it, and a separate namespace for each test."""

    halves: ClassVar[tuple[str, ...]] = ("plain", "awaited")

    @pytest.fixture
    def store(self) -> BaseStore:
        """A store."""
        raise NotImplementedError("give the suite a store fixture")

    @pytest.fixture(params=["plain", "awaited"])
    def calls(self, request: pytest.FixtureRequest, store: BaseStore) -> Iterator[Calls]:
        """Return the store's methods, called as this test requires."""
        if request.param not in self.halves:
            pytest.skip(f"the store has no {request.param} half")
        if request.param == "plain":
            yield Calls(store, None)
            return
        with asyncio.Runner() as runner:
            yield Calls(store, runner)

    @pytest.fixture
    def root(self) -> str:
        """Return the first label of this test's namespaces, so that tests can share a store."""
        return f"r{uuid.uuid4().hex[:12]}"


class BaseStoreConformance(_Suite):
    """Tests what every store must do, with or without an index. A subclass provides `store`."""

    @pytest.fixture
    def elapse(self) -> Callable[[float], None]:
        """Return a function that lets the given number of seconds pass."""
        return time.sleep

    # -- items

    def test_an_item_comes_back_as_it_was_put(self, calls: Calls, root: str) -> None:
        value = {"text": "héllo \u0000 \U0001f600", "n": 2**53, "x": 2.5, "no": None, "yes": True, "in": {"a": [1, {}]}}
        calls.put((root, "a"), "k", value)
        item = calls.get((root, "a"), "k")
        assert item.value == value and item.key == "k" and tuple(item.namespace) == (root, "a")
        assert item.value["yes"] is True and item.created_at.tzinfo is not None

    def test_nothing_is_found_where_nothing_was_put(self, calls: Calls, root: str) -> None:
        assert calls.get((root,), "k") is None and calls.search((root,)) == []
        assert calls.namespaces(prefix=(root,)) == []

    def test_putting_again_replaces_the_value_and_keeps_when_it_was_created(self, calls: Calls, root: str) -> None:
        calls.put((root,), "k", {"a": 1, "b": 2})
        first = calls.get((root,), "k")
        calls.put((root,), "k", {"a": 3})
        again = calls.get((root,), "k")
        assert again.value == {"a": 3} and again.created_at == first.created_at
        assert again.updated_at >= first.updated_at

    def test_a_deleted_item_is_gone_and_deleting_nothing_is_no_error(self, calls: Calls, root: str) -> None:
        calls.put((root,), "k", {"a": 1})
        calls.put((root,), "other", {"a": 1})
        calls.delete((root,), "k")
        calls.delete((root,), "k")
        calls.delete((root, "none"), "k")
        assert calls.get((root,), "k") is None and calls.keys((root,)) == ["other"]

    def test_what_is_given_and_taken_can_be_changed_without_changing_the_store(self, calls: Calls, root: str) -> None:
        value = {"list": [1], "in": {"a": 1}}
        calls.put((root,), "k", value)
        value["list"].append(2)  # type: ignore[attr-defined]  # a value of this dict is a list
        calls.get((root,), "k").value["in"]["a"] = 2
        calls.search((root,))[0].value["list"].append(3)
        assert calls.get((root,), "k").value == {"list": [1], "in": {"a": 1}}

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_odd_names_of_keys_and_labels_are_apart(self, calls: Calls, root: str, name: str) -> None:
        for other in ODD_NAMES:
            calls.put((root, other), other, {"is": other})
        assert calls.get((root, name), name).value == {"is": name}
        assert [item.value for item in calls.search((root, name))] == [{"is": name}]
        calls.delete((root, name), name)
        remaining = {item.key for item in calls.search((root,), limit=100)}
        assert remaining == set(ODD_NAMES) - {name}

    # -- namespaces

    def test_a_prefix_is_of_labels_and_not_of_letters(self, calls: Calls, root: str) -> None:
        for labels in (("user",), ("user", "a"), ("user", "a", "b"), ("users",), ("use",)):
            calls.put((root, *labels), "-".join(labels), {"v": 1})
        assert set(calls.keys((root, "user"))) == {"user", "user-a", "user-a-b"}
        assert set(calls.keys((root, "user", "a"))) == {"user-a", "user-a-b"}
        assert len(calls.keys((root,))) == 5

    @pytest.mark.parametrize("namespace", [(), ("",), ("a", ""), ("a.b",), ("langgraph", "x")])
    def test_a_bad_namespace_is_refused_by_put(self, calls: Calls, namespace: tuple[str, ...]) -> None:
        with pytest.raises(InvalidNamespaceError):
            calls.put(namespace, "k", {"v": 1})

    @pytest.mark.parametrize("label", ["a.b", "", 7])
    def test_a_bad_label_is_refused_in_every_operation_of_a_batch(self, calls: Calls, root: str, label: Any) -> None:
        ops: list[Op] = [
            GetOp((root, label), "k"), PutOp((root, label), "k", {"v": 1}), SearchOp((root, label)),
            ListNamespacesOp((MatchCondition("prefix", (root, label)),)),
        ]  # fmt: skip
        for op in ops:
            with pytest.raises(InvalidNamespaceError):
                calls.batch([op])

    def test_namespaces_are_listed_by_prefix_suffix_and_wildcard(self, calls: Calls, root: str) -> None:
        for labels in (("a", "x", "z"), ("a", "y", "z"), ("b", "x"), ("a",)):
            calls.put((root, *labels), "k", {"v": 1})
        a, axz, ayz, bx = (root, "a"), (root, "a", "x", "z"), (root, "a", "y", "z"), (root, "b", "x")
        assert calls.namespaces(prefix=(root,)) == [a, axz, ayz, bx]
        assert calls.namespaces(prefix=(root, "a", "x")) == [axz]
        assert calls.namespaces(prefix=(root, "*", "x")) == [axz, bx]
        assert calls.namespaces(prefix=(root,), suffix=("z",)) == [axz, ayz]
        assert calls.namespaces(prefix=(root,), suffix=("*", "z")) == [axz, ayz]

    def test_namespaces_cut_to_a_depth_are_listed_once_and_in_pages(self, calls: Calls, root: str) -> None:
        for labels in (("a", "x", "1"), ("a", "x", "2"), ("a", "y"), ("b",), ("c", "x")):
            calls.put((root, *labels), "k", {"v": 1})
        cut = [(root, "a", "x"), (root, "a", "y"), (root, "b"), (root, "c", "x")]
        assert calls.namespaces(prefix=(root,), max_depth=3) == cut
        pages = [calls.namespaces(prefix=(root,), max_depth=3, limit=3, offset=start) for start in (0, 3, 6)]
        assert pages == [cut[:3], cut[3:], []]

    def test_a_namespace_goes_with_its_last_item(self, calls: Calls, root: str) -> None:
        calls.put((root, "a"), "k", {"v": 1})
        calls.put((root, "b"), "k", {"v": 1})
        calls.delete((root, "a"), "k")
        assert calls.get((root, "c"), "k") is None
        assert calls.namespaces(prefix=(root,)) == [(root, "b")]

    # -- filters and pages

    def test_pages_are_disjoint_and_complete(self, calls: Calls, root: str) -> None:
        for number in range(25):
            calls.put((root, str(number % 3)), f"k{number}", {"n": number})
        pages = [calls.keys((root,), limit=10, offset=start) for start in (0, 10, 20, 30)]
        assert [len(page) for page in pages] == [10, 10, 5, 0]
        assert {key for page in pages for key in page} == {f"k{number}" for number in range(25)}
        assert len(calls.search((root,))) == 10 and calls.search((root,), limit=0) == []

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({"n": 9}, "nine"),
            ({"n": {"$eq": 10}}, "ten"),
            ({"n": {"$ne": 9}}, "ten minus half"),
            ({"n": {"$gt": 9}}, "ten"),
            ({"n": {"$gte": 9}}, "nine ten"),
            ({"n": {"$lt": 9}}, "minus half"),
            ({"n": {"$lte": 0.5}}, "minus half"),
            ({"n": {"$gt": -5, "$lt": 10}}, "nine half minus"),
            ({"kind": "it's"}, "half"),
            ({"kind": {"$ne": "a"}}, "half"),
            ({"flag": True}, "nine"),
            ({"flag": False, "kind": "a"}, "ten"),
            ({"in": {"deep": 1}}, "ten"),
            ({"n": 9, "kind": "b"}, ""),
        ],
        ids=str,
    )
    def test_filters_compare_as_json_does(self, calls: Calls, root: str, where: Any, expected: str) -> None:
        calls.put((root,), "nine", {"n": 9, "kind": "a", "flag": True})
        calls.put((root,), "ten", {"n": 10, "kind": "a", "flag": False, "in": {"deep": 1, "other": 2}})
        calls.put((root,), "minus", {"n": -1, "kind": "a", "flag": 1})
        calls.put((root,), "half", {"n": 0.5, "kind": "it's", "in": {"deep": 2}})
        assert set(calls.keys((root,), filter=where)) == set(expected.split())

    def test_a_filter_and_pages_count_what_passes(self, calls: Calls, root: str) -> None:
        for number in range(30):
            calls.put((root,), f"k{number}", {"even": number % 2 == 0})
        pages = [calls.keys((root,), filter={"even": True}, limit=6, offset=start) for start in (0, 6, 12)]
        assert [len(page) for page in pages] == [6, 6, 3]
        assert {key for page in pages for key in page} == {f"k{number}" for number in range(0, 30, 2)}

    @pytest.mark.parametrize("key", ["a') OR ('1'='1", 'a" --', "a; DROP TABLE store"])
    def test_a_filter_never_becomes_part_of_a_query(self, calls: Calls, root: str, key: str) -> None:
        calls.put((root,), "k", {"a": 1})
        try:
            keys = calls.keys((root,), filter={key: "x"})
        except ValueError:
            keys = []
        assert keys == [] and calls.keys((root,)) == ["k"]
        assert calls.keys((root,), filter={"a": key}) == []

    # -- batches

    def test_the_results_of_a_batch_stand_in_its_order(self, calls: Calls, root: str) -> None:
        calls.put((root,), "old", {"n": 1})
        results = calls.batch(
            [
                PutOp((root,), "new", {"n": 2}), GetOp((root,), "old"), SearchOp((root,)),
                ListNamespacesOp((MatchCondition("prefix", (root,)),)), GetOp((root,), "none"),
            ]
        )  # fmt: skip
        assert results[0] is None and results[1].value == {"n": 1} and results[4] is None
        assert "old" in [item.key for item in results[2]] and [tuple(ns) for ns in results[3]] == [(root,)]
        assert calls.get((root,), "new").value == {"n": 2}

    def test_the_last_write_of_a_batch_stays(self, calls: Calls, root: str) -> None:
        twice = [PutOp((root,), "k", {"n": 1}), PutOp((root,), "k", {"n": 2})]
        calls.batch([*twice, PutOp((root,), "gone", {"n": 1}), PutOp((root,), "gone", None)])
        assert calls.get((root,), "k").value == {"n": 2} and calls.get((root,), "gone") is None
        calls.batch([PutOp((root,), "k", None), PutOp((root,), "k", {"n": 3})])
        assert calls.get((root,), "k").value == {"n": 3}

    def test_a_batch_that_is_refused_writes_nothing(self, calls: Calls, root: str) -> None:
        with pytest.raises(Exception):  # noqa: B017  # which error it is, is the store's own matter
            calls.batch([PutOp((root,), "k", {"n": 1}), PutOp((root, "a.b"), "k", {"n": 1})])
        assert calls.get((root,), "k") is None

    def test_writers_in_several_threads_lose_nothing(self, store: BaseStore, root: str) -> None:
        if "plain" not in self.halves:
            pytest.skip("the store has no plain half")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: store.put((root, str(n % 2)), f"k{n}", {"n": n}), range(40)))
        assert {item.value["n"] for item in store.search((root,), limit=100)} == set(range(40))

    # -- expiry

    def test_what_expired_is_gone_on_read(self, calls: Calls, root: str, elapse: Callable[[float], None]) -> None:
        if not calls.store.supports_ttl:
            with pytest.raises(NotImplementedError):
                calls.put((root,), "k", {"n": 1}, ttl=1.0)
            return
        calls.put((root, "a"), "short", {"n": 1}, ttl=1 / 60)
        calls.put((root, "b"), "long", {"n": 1}, ttl=60.0)
        calls.put((root, "b"), "ever", {"n": 1}, ttl=None)
        assert calls.get((root, "a"), "short", refresh_ttl=False).value == {"n": 1}
        elapse(1.5)
        assert calls.get((root, "a"), "short") is None and set(calls.keys((root,))) == {"long", "ever"}
        assert calls.namespaces(prefix=(root,)) == [(root, "b")]

    def test_reading_makes_an_item_live_longer_if_asked(
        self, calls: Calls, root: str, elapse: Callable[[float], None]
    ) -> None:
        if not calls.store.supports_ttl:
            pytest.skip("the store has no expiry")
        for key in ("got", "left"):
            calls.put((root, key), key, {"n": 1}, ttl=4 / 60)
        elapse(2.5)
        calls.get((root, "got"), "got", refresh_ttl=True)
        calls.get((root, "left"), "left", refresh_ttl=False)
        elapse(2.5)
        assert calls.keys((root,), refresh_ttl=False) == ["got"]


class SemanticSearchConformance(_Suite):
    """Tests what a store with an index must do. A subclass provides a `store` that embeds the field `text` with
    `letters`."""

    def test_the_nearest_comes_first_and_scores_fall(self, calls: Calls, root: str) -> None:
        for key, text in (("near", "aaab"), ("middle", "aabb"), ("far", "zzzz")):
            calls.put((root, key), key, {"text": text})
        items = calls.search((root,), query="aaab")
        assert items[0].key == "near" and items[0].score is not None
        scores = [item.score for item in items if item.score is not None]
        assert scores == sorted(scores, reverse=True)

    def test_a_query_stays_below_its_prefix_and_its_filter(self, calls: Calls, root: str) -> None:
        for number in range(6):
            calls.put((root, "in"), f"k{number}", {"text": "same words here", "even": number % 2 == 0})
            calls.put((root, "out"), f"o{number}", {"text": "same words here", "even": True})
        assert set(calls.keys((root, "in"), query="same words here")) == {f"k{number}" for number in range(6)}
        even = calls.keys((root, "in"), query="same words here", filter={"even": True})
        assert set(even) == {"k0", "k2", "k4"}

    def test_pages_of_a_query_are_disjoint(self, calls: Calls, root: str) -> None:
        for number in range(9):
            calls.put((root,), f"k{number}", {"text": "b" * (number + 1) + "words"})
        pages = [calls.keys((root,), query="words", limit=4, offset=start) for start in (0, 4, 8)]
        assert [len(page) for page in pages] == [4, 4, 1] and len({key for page in pages for key in page}) == 9

    def test_a_new_value_is_found_by_its_new_text(self, calls: Calls, root: str) -> None:
        calls.put((root,), "k", {"text": "qqqq jjjj"})
        calls.put((root,), "other", {"text": "hello there"})
        calls.put((root,), "k", {"text": "something else entirely"})
        assert calls.keys((root,), query="something else entirely")[0] == "k"
        best = calls.search((root,), query="qqqq jjjj", limit=1)
        assert best == [] or best[0].score is None or best[0].score < 0.9

    def test_what_is_not_indexed_is_kept_and_not_scored(self, calls: Calls, root: str) -> None:
        calls.put((root,), "hidden", {"text": "exactly this text"}, index=False)
        calls.put((root,), "shown", {"text": "exactly this other text"})
        assert calls.get((root,), "hidden").value == {"text": "exactly this text"}
        assert {item.key for item in calls.search((root,), query="exactly this text") if item.score is not None} == {
            "shown"
        }

    def test_fields_may_be_named_for_one_item(self, calls: Calls, root: str) -> None:
        calls.put((root,), "k", {"text": "zzzz", "title": "lemon tree"}, index=["title"])
        calls.put((root,), "other", {"text": "qqqq"})
        assert calls.keys((root,), query="lemon tree")[0] == "k"

    def test_a_deleted_item_is_not_found(self, calls: Calls, root: str) -> None:
        calls.put((root,), "k", {"text": "lemon tree"})
        calls.delete((root,), "k")
        assert calls.keys((root,), query="lemon tree") == []

"""Filters: checked once, evaluated by type."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memorist.errors import InvalidFilter
from memorist.filters import MAX_FILTER_DEPTH, document_of, matches, parse_filter
from memorist_testing.samples import fact, thread

DOCUMENT = {
    "n": 9, "text": "9", "yes": True, "none": None, "list": ["a", 1, {"x": 2}], "deep": {"er": {"k": 1}},
    "dotted.name": 5,
    "when": datetime(2030, 1, 1, tzinfo=UTC), "float": 9.5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"n": 9}, True), ({"n": "9"}, False), ({"n": 9.0}, True), ({"text": 9}, False), ({"yes": True}, True),
        ({"yes": 1}, False),
        ({"n": {"$gt": 10}}, False), ({"n": {"$lt": 10}}, True), ({"text": {"$gt": "10"}}, True),
        ({"n": {"$gt": "1"}}, False),
        ({"yes": {"$gt": 0}}, False), ({"none": None}, True), ({"missing": None}, False),
        ({"missing": {"$ne": 1}}, True),
        ({"none": {"$exists": True}}, True), ({"missing": {"$exists": False}}, True), ({"n": {"$in": [1, 9]}}, True),
        ({"n": {"$in": []}}, False),
        ({"n": {"$nin": []}}, True), ({"list": {"$contains": "a"}}, True), ({"list": {"$contains": True}}, False),
        ({"text": {"$contains": "9"}}, True),
        ({"deep": {"$contains": "er"}}, True), ({"deep.er.k": 1}, True), ({"deep.er": {"k": 1}}, True),
        ({"list.2.x": 2}, True), ({"list.9": 1}, False),
        ({"dotted.name": 5}, True), ({"when": {"$gte": datetime(2030, 1, 1, tzinfo=UTC)}}, True),
        ({"float": {"$gte": 9, "$lte": 10}}, True),
        ({"$not": {"n": 9}}, False), ({"$or": [{"n": 1}, {"text": "9"}]}, True),
        ({"$and": [{"n": 9}, {"text": "x"}]}, False), ({"n": 9, "text": "x"}, False),
        ({"n": {"$not": {"$gt": 10}}}, True), ({"list." + "9" * 5000: 1}, False), ({"list.\u0663": 1}, False),
        ({"n": {"$gt": float("nan")}}, False),
        ({"list": ["a", 1.0, {"x": 2}]}, True), ({"list": ("a", 1, {"x": 2})}, True),
        ({"list": ["a", True, {"x": 2}]}, False), ({"deep": {"er": {"k": True}}}, False),
    ],
    ids=lambda item: ascii(item)[:60],
)  # fmt: skip
def test_a_filter_compares_values_of_one_type(where: dict[str, Any], expected: bool) -> None:
    assert matches(parse_filter(where), DOCUMENT) is expected


@pytest.mark.parametrize(
    "where",
    [
        5, "x", [], {"$where": 1}, {"": 1}, {5: 1}, {"a": {"$regex": "x"}}, {"a": {"$in": 5}}, {"a": {"$exists": 1}},
        {"$or": []},
        {"$or": {"a": 1}}, {"$not": 5}, {"a": {"$gt": None}}, {"a": {"$gt": True}}, {"a": {"$gt": [1]}},
        {"a": {"$not": 5}},
        {"a": {"$lt": datetime(2030, 1, 1)}}, {"$and": [5]},
    ],
    ids=ascii,
)  # fmt: skip
def test_a_bad_filter_is_refused(where: Any) -> None:
    with pytest.raises(InvalidFilter):
        parse_filter(where)


def test_no_filter_lets_everything_pass() -> None:
    assert parse_filter(None) is None
    assert parse_filter({}) is None
    assert matches(None, {})


def test_a_filter_may_be_nested_only_so_deep() -> None:
    nested: dict[str, Any] = {"a": 1}
    for _ in range(MAX_FILTER_DEPTH - 1):
        nested = {"$not": nested}
    parse_filter(nested)
    with pytest.raises(InvalidFilter):
        parse_filter({"$not": nested})


def test_a_filter_sees_fields_with_metadata_or_value_on_top() -> None:
    assert document_of(fact("o", value={"city": "Rome", "status": "mine"}))["city"] == "Rome"
    assert document_of(fact("o", value={"status": "mine"}))["status"] == "mine"
    assert document_of(thread("o", metadata={"topic": "x"}))["topic"] == "x"
    assert document_of(fact("o", value=5))["value"] == 5

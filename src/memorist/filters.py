"""Parses and checks the filters that users pass, and evaluates them. Postgres also runs them as SQL.

`{"status": "open", "age": {"$gte": 18}, "$or": [{"city": "Rome"}, {"tags": {"$contains": "vip"}}]}`; names may be
dotted paths. Only values of the same type are compared: 9 < 10 as numbers, "9" > "10" as text, and 9 is not "9".
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from .errors import InvalidFilter
from .values import JsonMapping

MAX_FILTER_DEPTH = 20
COMPARISONS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$contains")
_ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
MISSING: object = msgspec.UNSET


class Test(msgspec.Struct, frozen=True):
    """Compares the value at a path."""

    path: tuple[str, ...]
    op: str
    operand: Any


class All(msgspec.Struct, frozen=True):
    """Matches if every part matches."""

    parts: tuple[Any, ...]


class Any_(msgspec.Struct, frozen=True):
    """Matches if at least one part matches."""

    parts: tuple[Any, ...]


class Not(msgspec.Struct, frozen=True):
    """Matches if the part does not match."""

    part: Any


Filter = Test | All | Any_ | Not
Where = JsonMapping
"""A filter as users write it."""


def parse_filter(where: Where | None) -> Filter | None:
    """Parse and check a filter. Return None for an empty filter."""
    if where is None or where == {}:
        return None
    return _parse(where, 1)


def _parse(where: object, depth: int) -> Filter:
    if depth > MAX_FILTER_DEPTH:
        raise InvalidFilter(f"the filter is nested deeper than {MAX_FILTER_DEPTH} levels")
    if not isinstance(where, Mapping):
        raise InvalidFilter(f"a filter is a dict, not {type(where).__name__}")
    return _all([part for name, operand in where.items() for part in _parse_item(name, operand, depth)])


def _all(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_item(name: object, operand: object, depth: int) -> list[Filter]:
    if not isinstance(name, str) or not name:
        raise InvalidFilter("a filter key is a field name or one of $and, $or, $not")
    if name in ("$and", "$or"):
        if not isinstance(operand, list | tuple) or not operand:
            raise InvalidFilter(f"{name} needs a list of filters")
        parts = tuple(_parse(part, depth + 1) for part in operand)
        return [All(parts) if name == "$and" else Any_(parts)]
    if name == "$not":
        return [Not(_parse(operand, depth + 1))]
    if name.startswith("$"):
        raise InvalidFilter(f"unknown operator {name!r}; use $and, $or, $not, or a field name")
    path = tuple(name.split("."))
    # A dict without operators is a value to compare with. An empty one too: `{"tags": {}}` asks for an empty dict.
    if isinstance(operand, Mapping) and operand and all(isinstance(op, str) and op.startswith("$") for op in operand):
        return [_test(path, op, value, depth) for op, value in operand.items()]
    return [_test(path, "$eq", operand, depth)]


def _test(path: tuple[str, ...], op: str, operand: object, depth: int) -> Filter:
    if op == "$not":
        if not isinstance(operand, Mapping):
            raise InvalidFilter("$not needs a filter")
        return Not(_all([_test(path, inner, value, depth) for inner, value in operand.items()]))
    if op not in COMPARISONS:
        raise InvalidFilter(f"unknown operator {op!r}; use one of {', '.join(COMPARISONS)}")
    if op in ("$in", "$nin") and not isinstance(operand, list | tuple | set | frozenset):
        raise InvalidFilter(f"{op} needs a list")
    if op == "$exists" and not isinstance(operand, bool):
        raise InvalidFilter("$exists needs true or false")
    if op in _ORDERS and _rank(operand) is None:
        raise InvalidFilter(f"{op} compares numbers, texts or times, not {type(operand).__name__}")
    if isinstance(operand, datetime) and operand.tzinfo is None:
        raise InvalidFilter(f"{op} needs an aware datetime, such as datetime.now(timezone.utc)")
    return Test(path, op, operand)


def matches(filter: Filter | None, document: Mapping[str, object]) -> bool:
    """Return whether a document passes a filter."""
    if filter is None:
        return True
    if isinstance(filter, All):
        return all(matches(part, document) for part in filter.parts)
    if isinstance(filter, Any_):
        return any(matches(part, document) for part in filter.parts)
    if isinstance(filter, Not):
        return not matches(filter.part, document)
    return _holds(filter, _at(document, filter.path))


def _at(document: object, path: tuple[str, ...]) -> object:
    # A key that itself contains dots wins over a path through nested dicts.
    whole = ".".join(path)
    if isinstance(document, Mapping) and whole in document:
        return document[whole]
    for name in path:
        if isinstance(document, Mapping) and name in document:
            document = document[name]
        elif isinstance(document, list | tuple) and is_place(name) and int(name) < len(document):
            document = document[int(name)]
        else:
            return MISSING
    return document


def is_place(name: str) -> bool:
    """Return whether a name in a path may be a list index."""
    return name.isascii() and name.isdecimal() and len(name) < 10


def _holds(test: Test, value: object) -> bool:
    op, operand = test.op, test.operand
    if op == "$exists":
        return (value is not MISSING) is operand
    if op == "$eq":
        return _equal(value, operand)
    if op == "$ne":
        return not _equal(value, operand)
    if op == "$in":
        return any(_equal(value, option) for option in operand)
    if op == "$nin":
        return not any(_equal(value, option) for option in operand)
    if op == "$contains":
        return _contains(value, operand)
    return _ordered(op, value, operand)


def _equal(value: object, operand: object) -> bool:
    if value is MISSING:
        return False
    # In Python, True == 1. JSON and the SQL stores keep the two apart, and so must this.
    if isinstance(value, bool) or isinstance(operand, bool):
        return value is operand
    if isinstance(value, list | tuple) and isinstance(operand, list | tuple):
        return len(value) == len(operand) and all(map(_equal, value, operand))
    if isinstance(value, Mapping) and isinstance(operand, Mapping):
        return value.keys() == operand.keys() and all(_equal(value[name], operand[name]) for name in operand)
    return bool(value == operand)


def _contains(value: object, operand: object) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    if isinstance(value, list | tuple):
        return any(_equal(item, operand) for item in value)
    return isinstance(value, Mapping) and isinstance(operand, str) and operand in value


def _rank(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "time" if isinstance(value, datetime) else None


def _ordered(op: str, value: Any, operand: Any) -> bool:
    # Values of different types have no order. Comparing 9 with "10" as text would put 9 last.
    if value is MISSING or _rank(value) is None or _rank(value) != _rank(operand):
        return False
    return bool(_ORDERS[op](value, operand))


def document_of(record: Any) -> JsonMapping:
    """Return the document that a filter is tested against. It consists of a record's fields, overridden by those of its
    metadata (or of its value, if that is a dict)."""
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    inner = fields["value"] if "value" in fields else fields.get("metadata")
    return {**fields, **inner} if isinstance(inner, dict) else fields


def same(field: str, value: str) -> Filter:
    """Return a filter for rows whose field has this value."""
    return Test((field,), "$eq", value)

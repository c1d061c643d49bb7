"""Evaluates the filters and namespace patterns of LangGraph's stores in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.store.base import ListNamespacesOp, MatchCondition

_FILTER_KEY = re.compile(r"[A-Za-z0-9_.\-]+\Z")
_MISSING = object()
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: value > wanted,
    "$gte": lambda value, wanted: value >= wanted,
    "$lt": lambda value, wanted: value < wanted,
    "$lte": lambda value, wanted: value <= wanted,
}


def check_filter(filter: Mapping[str, object] | None) -> None:
    """Raise ValueError for an invalid key or an unknown operator."""
    for key, expected in (filter or {}).items():
        if not isinstance(key, str) or not _FILTER_KEY.match(key):
            raise ValueError(f"Invalid filter key: {str(key)[:60]!r}; it is letters, digits, '_', '-' and '.'")
        unknown = [name for name in _operators(expected) if name not in _OPERATORS]
        if unknown:
            raise ValueError(f"Unsupported operator: {unknown[0][:20]}")


def passes(value: Mapping[str, object], filter: Mapping[str, object] | None) -> bool:
    """Return whether a value matches all parts of a filter; dotted keys address nested values."""
    return all(_compare(_at(value, key), expected) for key, expected in (filter or {}).items())


def _at(value: object, key: str) -> object:
    if isinstance(value, Mapping) and key in value:
        return value[key]
    first, dot, rest = key.partition(".")
    if dot and isinstance(value, Mapping) and first in value:
        return _at(value[first], rest)
    return _MISSING


def _compare(value: object, expected: object) -> bool:
    if isinstance(expected, Mapping):
        operators = _operators(expected)
        if operators:
            return all(_operate(value, name, expected[name]) for name in operators)
        return isinstance(value, Mapping) and all(_compare(_at(value, key), item) for key, item in expected.items())
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(_compare(item, other) for item, other in zip(value, expected, strict=True))
        )
    return _equal(value, expected)


def _operators(expected: object) -> list[str]:
    return [key for key in expected if str(key).startswith("$")] if isinstance(expected, Mapping) else []


def _operate(value: object, name: str, expected: object) -> bool:
    if name in ("$eq", "$ne"):
        return _equal(value, expected) == (name == "$eq")
    alike = isinstance(value, str) and isinstance(expected, str)
    if not alike and not (_number(value) and _number(expected)):
        return False
    return _OPERATORS[name](value, expected)


def _equal(value: object, expected: object) -> bool:
    """Compare two values as JSON: true is not 1, and a missing value equals null."""
    value = None if value is _MISSING else value
    return isinstance(value, bool) == isinstance(expected, bool) and bool(value == expected)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def listed(namespaces: Sequence[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the page of namespaces that an operation asks for."""
    chosen = [ns for ns in namespaces if all(_matches(condition, ns) for condition in op.match_conditions or ())]
    if op.max_depth is not None:
        chosen = [ns[: op.max_depth] for ns in chosen]
    return sorted(set(chosen))[op.offset : op.offset + op.limit]


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(expected in ("*", label) for expected, label in zip(path, part, strict=True))

"""The tree of errors."""

import inspect
import re

import pytest

from memorist import errors
from memorist.errors import BudgetError, Conflict, MemoristError, NotFound, StoreError, UsageError

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_is_ours_and_in_the_tree_on_top_of_the_module(kind: type[Exception]) -> None:
    assert issubclass(kind, MemoristError)
    assert re.search(rf"\b{kind.__name__}\b", errors.__doc__ or "")


def test_usage_errors_are_value_errors_and_missing_things_lookup_errors() -> None:
    assert issubclass(UsageError, ValueError)
    assert issubclass(NotFound, LookupError)


def test_facts_are_attributes() -> None:
    error = NotFound("no thread", thread="t")
    assert error.thread == "t"  # type: ignore[attr-defined]
    assert error.facts == {"thread": "t"}
    conflict = Conflict("moved on", expected=1, actual=2, key=("o",))
    assert (conflict.expected, conflict.actual, conflict.facts) == (1, 2, {"key": ("o",)})
    assert BudgetError("too big", sections={"system": 9}, budget_tokens=5).sections == {"system": 9}


def test_only_what_was_surely_not_done_may_be_retried() -> None:
    retryable = {kind.__name__ for kind in ALL if issubclass(kind, StoreError) and kind.retryable}  # type: ignore[attr-defined]
    assert retryable == {"StoreUnavailable", "StoreTimeout"}

"""Defines options that the methods of several nouns share: pages, limits, reasons, scopes, periods and expected
versions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypedDict

from ..errors import InvalidValue, UsageError
from ..records import Key
from ..values import check_name, check_text

MAX_LIMIT = 2**31 - 1
"""Larger limits are reduced to this, because databases refuse limits that exceed their integer type."""


MemoryScope = Literal["standing", "conversation", "task"]
SCOPES: tuple[MemoryScope, ...] = ("standing", "conversation", "task")


class PageBounds(TypedDict, total=False):
    """Holds the bounds of a scan for one page."""

    limit: int | None
    reverse: bool
    after: Key
    before: Key


def page(limit: int | None, after: str | None, reverse: bool) -> PageBounds:
    """Return the bounds of a scan for one page of a list; in reverse order, `after` becomes an upper bound."""
    bounds: PageBounds = {"limit": checked_limit(limit), "reverse": reverse}
    if after is not None:
        bounds["before" if reverse else "after"] = (check_name(after, "after"),)
    return bounds


def checked_limit(limit: int | None) -> int | None:
    """Return a limit after checking that it is None or a non-negative whole number."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise UsageError("limit must be a whole number, zero or more")
    return min(limit, MAX_LIMIT)


def check_reason(reason: str | None) -> None:
    """Raise an error unless a reason is None or a short text."""
    if reason is not None:
        check_text(reason, "reason", limit=10_000)


def check_scope(scope: object) -> str:
    """Raise an error if a scope is not one of `SCOPES`."""
    if scope not in SCOPES:
        raise InvalidValue(f"scope must be one of {', '.join(SCOPES)}")
    return str(scope)


def check_period(valid_from: datetime | None, valid_until: datetime | None) -> None:
    """Raise an error if a memory would end before it begins."""
    if valid_from is not None and valid_until is not None and valid_until < valid_from:
        raise InvalidValue("valid_until is before valid_from")


def version_of(expect: object) -> int:
    """Return the version to expect after checking that it is a non-negative whole number."""
    if isinstance(expect, bool) or not isinstance(expect, int) or not 0 <= expect < 1 << 63:
        raise UsageError("expect is a version number; 0 means that it must not exist yet")
    return expect

"""Converts our errors to problem+json (RFC 9457) and back.

The server and the remote client share this table, so a program sees the same exceptions whether its store is a file or
a server.
"""

from __future__ import annotations

import msgspec

from .. import errors
from ..errors import MemoristError
from ..values import JsonObject

_STATUS: dict[type[MemoristError], int] = {
    errors.InvalidNamespace: 422,
    errors.Forbidden: 403,
    errors.InvalidFilter: 422,
    errors.InvalidValue: 422,
    errors.TooLarge: 413,
    errors.NotAdmitted: 422,
    errors.Unsupported: 501,
    errors.UsageError: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.BudgetError: 422,
    errors.StoreUnavailable: 503,
    errors.StoreTimeout: 504,
    errors.CorruptRecord: 500,
    errors.SchemaError: 500,
    errors.UnknownOutcome: 502,
    errors.StoreError: 500,
    errors.ModelError: 502,
    errors.LeaseLost: 409,
}
"""The HTTP status of each error. An unlisted subclass has the status of its nearest base class."""
_PREFIX = "urn:memorist:"


class Problem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Holds the body of an error response, which never contains stored content."""

    type: str
    title: str
    status: int
    detail: str = ""
    retryable: bool = False
    facts: JsonObject = {}
    request_id: str = ""


def name_of(error_type: type[MemoristError]) -> str:
    """Convert a class name to a problem name: `StoreUnavailable` becomes `store-unavailable`."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in error_type.__name__).strip("-")


def error_tree() -> dict[str, JsonObject]:
    """Return the type, base and status of every error that a problem may represent, by name, with bases first."""
    problem = {
        kind.__name__: {"type": f"{_PREFIX}{name_of(kind)}", "base": kind.__mro__[1].__name__, "status": status}
        for kind, status in _STATUS.items()
    }
    return dict(sorted(problem.items(), key=lambda item: item[1]["base"] != "MemoristError"))


def status_of(error: MemoristError) -> int:
    """Return the HTTP status of an error."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)


def problem_of(error: MemoristError, *, request_id: str = "") -> Problem:
    """Return the problem for one of our errors."""
    # An error that the table does not list is sent as its nearest listed base class, which every client knows.
    kind = next(kind for kind in type(error).__mro__ if kind in _STATUS or kind is MemoristError)
    facts = {name: value for name, value in _facts(error).items() if _is_plain(value)}
    return Problem(
        type=f"{_PREFIX}{name_of(kind)}",
        title=kind.__name__,
        status=status_of(error),
        detail=str(error),
        retryable=error.retryable,
        facts=facts,
        request_id=request_id,
    )


def _facts(error: MemoristError) -> JsonObject:
    facts = dict(error.facts)
    if isinstance(error, errors.Conflict):
        facts |= {"expected": error.expected, "actual": error.actual}
    if isinstance(error, errors.BudgetError):
        facts |= {"sections": error.sections, "budget_tokens": error.budget_tokens}
    return facts


def _is_plain(value: object) -> bool:
    """Return whether a detail can be sent, that is, whether it consists of numbers, strings, and lists or objects of
    these."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(inner) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def error_of(problem: Problem) -> MemoristError:
    """Return the error that a problem represents, with its details. An unknown problem becomes a StoreError."""
    name = problem.type.removeprefix(_PREFIX)
    kind = next((kind for kind in _STATUS if name_of(kind) == name), errors.StoreError)
    facts = dict(problem.facts)
    if problem.request_id:
        facts["request_id"] = problem.request_id
    if kind is errors.BudgetError:
        return errors.BudgetError(
            problem.detail,
            sections=dict(facts.get("sections") or {}),
            budget_tokens=int(facts.get("budget_tokens") or 0),
        )
    return kind(problem.detail or problem.title, **facts)

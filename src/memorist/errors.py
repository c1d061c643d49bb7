"""Every error Memorist raises.

MemoristError
├── UsageError           also ValueError: the caller asked for something impossible or invalid
│   ├── InvalidNamespace
│   ├── Forbidden        this handle may not do it: another user's, not granted, or for the whole org
│   ├── InvalidFilter
│   ├── InvalidValue     a value, id or name that no store can keep exactly
│   ├── TooLarge
│   ├── NotAdmitted      the gate refuses it: a secret, or personal data; carries the kinds
│   └── Unsupported      this store or build cannot do it; says which can
├── NotFound             also LookupError
├── Conflict             the record was changed since it was read; carries both versions
├── BudgetError          what is pinned does not fit; carries the sections and their tokens
├── StoreError           the driver failed
│   ├── StoreUnavailable nothing was done; may be retried
│   ├── StoreTimeout     nothing was done in time
│   ├── CorruptRecord    stored bytes are damaged; never served as an answer
│   ├── SchemaError      not our file, or written by a newer version
│   └── UnknownOutcome   the reply was lost: done or not, the store could not say
├── ModelError           an embedder or language model failed
├── LeaseLost            another worker holds the task or job now
└── SuspendedError       a blocking call reached code that needs a loop

A message says what happened, to which thing, and what to do. Facts are attributes, not prose to parse.
Messages carry ids, names and lengths, never stored content.
"""

from __future__ import annotations

from typing import Any


class MemoristError(Exception):
    """Base of every error raised by Memorist."""

    retryable = False

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.facts = facts
        for name, value in facts.items():
            setattr(self, name, value)


class UsageError(MemoristError, ValueError):
    """The caller asked for something impossible or invalid."""


class InvalidNamespace(UsageError):
    """Not a namespace: `kind:id`, or `global`."""


class Forbidden(UsageError):
    """This handle may not do that: it belongs to another user, was not granted, or is for a handle on the whole org."""


class InvalidFilter(UsageError):
    """A filter with an unknown operator, a wrong operand or too much nesting."""


class InvalidValue(UsageError):
    """A value, id or name that no store could give back exactly."""


class TooLarge(UsageError):
    """Over a documented limit."""


class NotAdmitted(UsageError):
    """The policy of the gate refuses to store this; `kinds` names the secrets or the classes of personal data."""


class Unsupported(UsageError):
    """This store or build cannot do it."""


class NotFound(MemoristError, LookupError):
    """Nothing of that id, key or name exists in this scope."""


class Conflict(MemoristError):
    """The record was changed by someone else since it was read."""

    def __init__(self, message: str, *, expected: Any = None, actual: Any = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.expected = expected
        self.actual = actual


class BudgetError(MemoristError):
    """What must be kept does not fit the token budget."""

    def __init__(self, message: str, *, sections: dict[str, int] | None = None, budget_tokens: int = 0) -> None:
        super().__init__(message)
        self.sections = sections or {}
        self.budget_tokens = budget_tokens


class StoreError(MemoristError):
    """The database or its driver failed."""

    refuses_writes = False
    """Whether the store can still be read: its disk is full, or it is read-only."""


class StoreUnavailable(StoreError):
    """The store could not be reached; nothing was done."""

    retryable = True


class StoreTimeout(StoreError):
    """The store did not answer in time; nothing was done."""

    retryable = True


class CorruptRecord(StoreError):
    """Stored bytes do not match their checksum or cannot be decoded."""


class SchemaError(StoreError):
    """Not a Memorist store, or one written by a newer version."""


class UnknownOutcome(StoreError):
    """The reply to a write was lost: it may or may not have been done."""


class ModelError(MemoristError):
    """An embedder or a language model failed."""


class LeaseLost(MemoristError):
    """Another worker took over; nothing was written."""


class SuspendedError(MemoristError):
    """A blocking client reached code that needs an event loop; use AsyncMemory."""

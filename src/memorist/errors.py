"""Defines every error that Memorist raises.

MemoristError
├── UsageError           also ValueError: the caller asked for something impossible or invalid
│   ├── InvalidNamespace
│   ├── Forbidden        this handle has no access: another user's data, not granted, or reserved for the org
│   ├── InvalidFilter
│   ├── InvalidValue     a value, id or name that a store could not return exactly
│   ├── TooLarge
│   ├── NotAdmitted      the gate refuses to store a secret or personal data; has the kinds
│   └── Unsupported      this store or build does not support the operation
├── NotFound             also LookupError
├── Conflict             the record has changed since you read it; has both versions
├── BudgetError          the pinned content does not fit; has the sections and their tokens
├── StoreError           the driver failed
│   ├── StoreUnavailable nothing was done; you can retry
│   ├── StoreTimeout     the store did not answer in time; nothing was done
│   ├── CorruptRecord    stored bytes are damaged
│   ├── SchemaError      not a Memorist store, or one written by a newer version
│   └── UnknownOutcome   the reply was lost; the write may or may not have happened
├── ModelError           an embedder or language model failed
├── LeaseLost            another worker has taken over the task or job
└── SuspendedError       a blocking call reached code that needs an event loop

A message says what happened, to which item, and what to do next. Details are attributes, so that you never have to
parse a message. Messages contain ids, names and lengths, never stored content.
"""

from __future__ import annotations

from typing import Any


class MemoristError(Exception):
    """This is the base class of all errors that Memorist raises."""

    retryable = False

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.facts = facts
        for name, value in facts.items():
            setattr(self, name, value)


class UsageError(MemoristError, ValueError):
    """The caller asked for something impossible or invalid."""


class InvalidNamespace(UsageError):
    """The text is not a namespace, such as `user:ada` or `global`."""


class Forbidden(UsageError):
    """This handle has no access, because the data belongs to another user, was not granted, or needs a handle on the
    whole org."""


class InvalidFilter(UsageError):
    """The filter has an unknown operator, a wrong operand or too much nesting."""


class InvalidValue(UsageError):
    """A store could not return this value, id or name exactly."""


class TooLarge(UsageError):
    """The value exceeds a documented limit."""


class NotAdmitted(UsageError):
    """The gate's policy refuses to store this; `kinds` lists the kinds of secrets or personal data."""


class Unsupported(UsageError):
    """This store or build does not support the operation."""


class NotFound(MemoristError, LookupError):
    """Nothing with that id, key or name exists in this scope."""


class Conflict(MemoristError):
    """Someone else has changed the record since you read it."""

    def __init__(self, message: str, *, expected: Any = None, actual: Any = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.expected = expected
        self.actual = actual


class BudgetError(MemoristError):
    """The content that must be sent does not fit into the token budget."""

    def __init__(self, message: str, *, sections: dict[str, int] | None = None, budget_tokens: int = 0) -> None:
        super().__init__(message)
        self.sections = sections or {}
        self.budget_tokens = budget_tokens


class StoreError(MemoristError):
    """The database or its driver failed."""

    refuses_writes = False
    """This is True if only writes fail, because the disk is full or the store is read-only."""


class StoreUnavailable(StoreError):
    """The store could not be reached; nothing was done."""

    retryable = True


class StoreTimeout(StoreError):
    """The store did not answer in time; nothing was done."""

    retryable = True


class CorruptRecord(StoreError):
    """Stored bytes do not match their checksum or cannot be decoded."""


class SchemaError(StoreError):
    """This is not a Memorist store, or a newer version wrote it."""


class UnknownOutcome(StoreError):
    """The reply to a write was lost, so the write may or may not have happened."""


class ModelError(MemoristError):
    """An embedder or a language model failed."""

    cut_answer: Any = None
    """This is the truncated answer (`Completion`) of a model. Part of it may be usable."""


class LeaseLost(MemoristError):
    """Another worker took over; nothing was written."""


class SuspendedError(MemoristError):
    """A blocking client reached code that needs an event loop; use AsyncMemory."""

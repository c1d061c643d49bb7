"""Translates driver errors into ours: what happened, where, and what to do; never a password or written data."""

from __future__ import annotations

from typing import Any

from redis.exceptions import AuthenticationError, BusyLoadingError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ...errors import StoreError, StoreTimeout, StoreUnavailable, UnknownOutcome
from .clients import Lost, NotSent

_REFUSALS: dict[str, tuple[type[StoreError], str]] = {
    "OOM": (StoreError, "is out of memory and refuses writes; raise maxmemory or remove data. Nothing was done"),
    "MISCONF": (StoreError, "cannot write its files and refuses writes; see its log and its disk. Nothing was done"),
    "READONLY": (StoreUnavailable, "is a read-only replica; connect to the primary. Nothing was done"),
    "MASTERDOWN": (StoreUnavailable, "is a replica that lost its primary. Nothing was done"),
    "NOREPLICAS": (StoreUnavailable, "has too few replicas to accept writes. Nothing was done"),
    "CLUSTERDOWN": (StoreUnavailable, "is part of a cluster that is down. Nothing was done"),
    "TRYAGAIN": (StoreUnavailable, "is moving these keys to another node; try again. Nothing was done"),
    "ASK": (StoreUnavailable, "is moving these keys to another node; try again. Nothing was done"),
    "BUSY": (StoreUnavailable, "is busy with a long script; try again. Nothing was done"),
    "LOADING": (StoreUnavailable, "is still loading its data; try again. Nothing was done"),
    "NOAUTH": (StoreError, "wants a password; put it in the URL. Nothing was done"),
    "WRONGPASS": (StoreError, "refused the user name or password. Nothing was done"),
    "NOPERM": (StoreError, "does not allow this user a command that is needed; see docs/deploy-redis.md"),
}

_NO_WRITES = ("OOM", "MISCONF", "READONLY", "NOREPLICAS")
"""Refusals of writes by a server that still answers reads."""


def not_sent(error: NotSent, where: str) -> StoreError:
    """The error for a server that could not be reached."""
    cause = error.cause
    if isinstance(cause, AuthenticationError):
        return StoreError(f"Redis at {where} refused the user name or password; nothing was done", address=where)
    if isinstance(cause, BusyLoadingError):
        return StoreUnavailable(f"Redis at {where} is still loading its data; try again", address=where)
    if isinstance(cause, RedisTimeoutError):
        return StoreUnavailable(
            f"Redis at {where} did not answer within the connect timeout; nothing was done", address=where
        )
    return StoreUnavailable(f"Redis at {where} cannot be reached; nothing was done", address=where)


def lost(error: Lost, where: str, *, write: bool) -> StoreError:
    """The error for a command whose reply never came."""
    if write:
        return UnknownOutcome(
            f"the reply of Redis at {where} was lost: the write was done or it was not; "
            "read to find out, or append with key=… to repeat it safely",
            address=where,
        )
    if error.timeout:
        return StoreTimeout(f"Redis at {where} did not answer in time", address=where)
    return StoreUnavailable(f"the connection to Redis at {where} broke while reading", address=where)


def refused(error: ResponseError, where: str) -> StoreError:
    """The error for a command that the server refused."""
    # Servers repeat arguments in some messages, so only the code is quoted; the rest is in __cause__.
    code = code_of(error)
    kind, what = _REFUSALS.get(code, (StoreError, f"refused a command ({code or type(error).__name__})"))
    facts: dict[str, Any] = {"refuses_writes": True} if code in _NO_WRITES else {}
    return kind(f"Redis at {where} {what}", address=where, code=code, **facts)


def code_of(error: ResponseError) -> str:
    """The first word of an error reply, also where the driver has cut it off."""
    names = {
        "OutOfMemoryError": "OOM", "ReadOnlyError": "READONLY", "NoPermissionError": "NOPERM", "AskError": "ASK",
        "TryAgainError": "TRYAGAIN", "ClusterDownError": "CLUSTERDOWN", "MasterDownError": "MASTERDOWN",
        "MovedError": "MOVED", "NoScriptError": "NOSCRIPT",
    }  # fmt: skip
    known = names.get(type(error).__name__)
    if known:
        return known
    word = str(error).split(" ", 1)[0]
    return word if word.isupper() and word.isalpha() else ""

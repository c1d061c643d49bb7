"""Translates driver errors into ours, which say what happened, where, and what to do, but never contain passwords or
written data."""

from __future__ import annotations

from typing import Any

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from ...errors import StoreError, StoreTimeout, StoreUnavailable, UnknownOutcome

_REFUSALS: dict[str, tuple[type[StoreError], str]] = {
    "OOM": (StoreError, "is out of memory and refuses writes; raise maxmemory or remove data. Nothing was done"),
    "MISCONF": (
        StoreError,
        "cannot write its files and refuses writes; check its log and its disk space. Nothing was written",
    ),
    "READONLY": (StoreUnavailable, "is a read-only replica; connect to the primary. Nothing was done"),
    "MASTERDOWN": (StoreUnavailable, "is a replica that lost its primary. Nothing was done"),
    "NOREPLICAS": (StoreUnavailable, "has too few replicas to accept writes. Nothing was done"),
    "CLUSTERDOWN": (StoreUnavailable, "is part of a cluster that is down. Nothing was done"),
    "TRYAGAIN": (StoreUnavailable, "is moving these keys to another node; try again. Nothing was done"),
    "ASK": (StoreUnavailable, "is moving these keys to another node; try again. Nothing was done"),
    "BUSY": (StoreUnavailable, "is busy with a long script; try again. Nothing was done"),
    "LOADING": (StoreUnavailable, "is still loading its data; try again. Nothing was done"),
    "NOAUTH": (StoreError, "needs a password; put it in the URL. Nothing was done"),
    "WRONGPASS": (StoreError, "refused the user name or password. Nothing was done"),
    "NOPERM": (StoreError, "does not allow this user to run a required command; see docs/deploy-redis.md"),
}

_NO_WRITES = ("OOM", "MISCONF", "READONLY", "NOREPLICAS")
"""Errors with which a server that still answers reads refuses writes."""


def was_sent(error: BaseException) -> bool:
    """Return whether a command may have been carried out even though it raised this error instead of returning a
    reply."""
    # redis-py raises these as connection errors, but the last two are replies that refuse the command. The first one
    # is raised when no node could be found to send it to.
    if isinstance(error, RedisClusterException | AuthenticationError | BusyLoadingError):
        return False
    # Behind Sentinels, redis-py raises a ConnectionError if a server refuses a write because it is a replica.
    return not getattr(error, "before_sending", False) and not isinstance(error.__context__, ReadOnlyError)


def no_reply_error(error: BaseException, where: str, *, write: bool) -> StoreError:
    """Return the error for a command that received no reply."""
    if isinstance(error, AuthenticationError | BusyLoadingError):
        return refusal_error(error, where)
    if not was_sent(error):
        return _not_sent_error(error, where)
    if write:
        return UnknownOutcome(
            f"the reply of Redis at {where} was lost: the write may or may not have been done; "
            "read to find out, or append with key=… to repeat it safely",
            address=where,
        )
    if isinstance(error, RedisTimeoutError):
        return StoreTimeout(f"Redis at {where} did not answer in time", address=where)
    return StoreUnavailable(f"the connection to Redis at {where} broke while reading", address=where)


def _not_sent_error(error: BaseException, where: str) -> StoreError:
    if isinstance(error, RedisTimeoutError):
        return StoreUnavailable(
            f"Redis at {where} did not answer within the connect timeout; nothing was done", address=where
        )
    if isinstance(error, RedisClusterException) and "not enabled" in str(error):
        return StoreError(f"Redis at {where} is not part of a cluster; write the URL as redis://…", address=where)
    return StoreUnavailable(f"Redis at {where} cannot be reached; nothing was done", address=where)


def refusal_error(error: RedisError, where: str) -> StoreError:
    """Return the error for a command that the server refused."""
    # Some messages of the server repeat arguments, so only the code is quoted. The rest is in __cause__.
    code = code_of(error)
    error_type, reason = _REFUSALS.get(code, (StoreError, f"refused a command ({code or type(error).__name__})"))
    facts: dict[str, Any] = {"refuses_writes": True} if code in _NO_WRITES else {}
    return error_type(f"Redis at {where} {reason}", address=where, code=code, **facts)


def code_of(error: RedisError) -> str:
    """Return the first word of an error reply."""
    if error.status_code is not None:  # redis-py removes the codes that it knows from the message
        return error.status_code
    if isinstance(error, AuthenticationError):
        return "WRONGPASS"
    if type(error) is ClusterError:  # redis-py's Cluster client followed too many redirects in a row
        return "TRYAGAIN"
    word = str(error).split(" ", 1)[0]
    return word if word.isupper() and word.isalpha() else ""

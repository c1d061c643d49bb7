"""Retries with exponential back-off and jitter, honouring `Retry-After`, within one deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

import msgspec

from ..backoff import pause
from ..errors import ModelError

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


class Retry(msgspec.Struct, frozen=True):
    """Represents a retry policy with at most `attempts` attempts, and waits that start at `first` seconds and double up
    to `most`."""

    attempts: int = 3
    first: float = 0.5
    most: float = 8.0
    retry_after_most: float = 30.0
    """This is the longest accepted `Retry-After`. If it is longer, the error is raised, with `retry_after` in
    its facts."""


async def retrying(
    attempt: Callable[[float], Awaitable[T]],
    *,
    policy: Retry,
    timeout: float,
    sleep: Sleep,
) -> T:
    """Call `attempt(seconds left)` until it succeeds, fails permanently, or the deadline passes."""
    deadline = monotonic() + timeout
    for tried in range(1, policy.attempts + 1):
        left = deadline - monotonic()
        try:
            return await attempt(max(left, 0.001))
        except ModelError as error:
            error.facts["attempts"] = tried
            wait = _wait(error, tried, policy)
            if not error.retryable or tried == policy.attempts or wait is None or monotonic() + wait >= deadline:
                raise
        await sleep(wait)
    raise AssertionError("a retry policy needs at least one attempt")


def _wait(error: ModelError, tried: int, policy: Retry) -> float | None:
    """Return the seconds until the next attempt: the server's `Retry-After`, or the back-off. Return None if the server
    asks for too long a wait."""
    retry_after = error.facts.get("retry_after")
    if isinstance(retry_after, int | float):
        return float(retry_after) if retry_after <= policy.retry_after_most else None
    return pause(tried, first=policy.first, longest=policy.most)

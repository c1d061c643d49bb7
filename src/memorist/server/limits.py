"""Limits the rate of requests with token buckets per key, in this process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import msgspec

MAX_BUCKETS = 10_000


class Rate(msgspec.Struct, frozen=True):
    """Holds the parameters of a token bucket: the refill rate and the capacity."""

    per_second: float
    burst: float


USUAL = Rate(50, 100)
HEAVY = Rate(10, 20)
"""The limit for recall and contexts, which are more expensive per request."""
BAD_KEYS = Rate(10 / 60, 10)
"""The limit on wrong keys per address, which makes guessing keys impractical."""


class Refused(msgspec.Struct, frozen=True):
    """Describes a refused request and the number of seconds until the next token."""

    retry_after: float


class Buckets:
    """Holds the buckets by key. The least recently used one is dropped if there are too many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str, rate: Rate) -> Refused | float:
        """Take one token. Return the number of tokens left, or Refused. A key always has the same rate."""
        now = self._clock()
        # Removing the bucket and adding it again moves it to the end, so the first one is always the least recently
        # used.
        level, then = self._buckets.pop(key, (rate.burst, now))
        # Refilled when it is used: no task has to visit the buckets of idle keys.
        level = min(rate.burst, level + (now - then) * rate.per_second)
        if len(self._buckets) >= MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        if level < 1:
            self._buckets[key] = (level, now)
            return Refused((1 - level) / rate.per_second)
        self._buckets[key] = (level - 1, now)
        return level - 1


def rate_headers(name: str, rate: Rate, remaining: Refused | float) -> list[tuple[bytes, bytes]]:
    """Return the `RateLimit` header (tokens left, seconds until the bucket is full) and `RateLimit-Policy` (its
    capacity and the seconds it takes to fill)."""
    level = 0 if isinstance(remaining, Refused) else int(remaining)
    again, window = math.ceil((rate.burst - level) / rate.per_second), math.ceil(rate.burst / rate.per_second)
    return [
        (b"ratelimit", b'"%s";r=%d;t=%d' % (name.encode(), level, again)),
        (b"ratelimit-policy", b'"%s";q=%d;w=%d' % (name.encode(), rate.burst, window)),
    ]

"""How fast a key may ask: token buckets in this process, refilled with time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import msgspec

KEPT_BUCKETS = 10_000


class Rate(msgspec.Struct, frozen=True):
    """So many requests a second, and so many at once after a pause."""

    per_second: float
    burst: float


USUAL = Rate(50, 100)
HEAVY = Rate(10, 20)
"""For recall and contexts, which read much for one request."""
BAD_KEYS = Rate(10 / 60, 10)
"""For keys that do not exist, per address: guessing stays hopeless."""


class Refused(msgspec.Struct, frozen=True):
    """A request that came too soon, and when it may come again."""

    retry_after: float


class Buckets:
    """One bucket per key and rate; the least used go when there are too many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str, rate: Rate) -> Refused | float:
        """Take one token: how many are left, or how long to wait for the next. A key has one rate."""
        now = self._clock()
        level, then = self._buckets.pop(key, (rate.burst, now))
        level = min(rate.burst, level + (now - then) * rate.per_second)
        if len(self._buckets) >= KEPT_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        if level < 1:
            self._buckets[key] = (level, now)
            return Refused((1 - level) / rate.per_second)
        self._buckets[key] = (level - 1, now)
        return level - 1


def rate_headers(name: str, rate: Rate, left: Refused | float) -> list[tuple[bytes, bytes]]:
    """`RateLimit` and `RateLimit-Policy`: the requests left of a burst, the seconds until it is whole again, and both
    of the policy itself."""
    level = 0 if isinstance(left, Refused) else int(left)
    again, window = math.ceil((rate.burst - level) / rate.per_second), math.ceil(rate.burst / rate.per_second)
    return [
        (b"ratelimit", b'"%s";r=%d;t=%d' % (name.encode(), level, again)),
        (b"ratelimit-policy", b'"%s";q=%d;w=%d' % (name.encode(), rate.burst, window)),
    ]

"""How long to wait before trying again: one rule for every retry of the engine and the stores.

The longest wait doubles with each try, up to a limit, and the wait itself is a random part of it, at least half. Two
contenders that failed at the same moment therefore do not meet again at the next one.
"""

from __future__ import annotations

import random

_random = random.Random()


def pause(tries: int, *, first: float, longest: float) -> float:
    """Seconds to wait after so many failed tries (1 is the first)."""
    top = min(first * 2.0 ** min(tries - 1, 60), longest)
    return float(top * _random.uniform(0.5, 1.0))

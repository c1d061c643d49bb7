"""Exponential back-off with jitter: one rule for every retry.

The longest wait doubles with each try, up to a limit, and the wait itself is random between half of it and all, so that
two contenders that failed at the same moment do not collide again. The generator is our own, so `random.seed` in a
program does not affect it, and a forked child is seeded anew.
"""

from __future__ import annotations

import os
import random

_random = random.Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def pause(tries: int, *, first: float, longest: float) -> float:
    """Return seconds to wait after so many failed tries (1 is the first)."""
    top = min(first * 2.0 ** min(tries - 1, 60), longest)
    return float(top * _random.uniform(0.5, 1.0))


def spread(longest: float) -> float:
    """Return seconds to wait, anywhere up to a limit, for contenders that must not come back at the same moment."""
    return _random.uniform(0.0, longest)

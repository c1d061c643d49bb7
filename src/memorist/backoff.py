"""Computes exponential back-off with jitter, for every retry in the package.

The maximum wait doubles with each try, up to a limit. The actual wait is a random time between half the maximum and the
maximum, so that two contenders that failed at the same moment do not collide again. The module has its own random
generator, so `random.seed` in a program does not affect it, and a forked child gets a new seed.
"""

from __future__ import annotations

import os
import random

_random = random.Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def pause(tries: int, *, first: float, longest: float) -> float:
    """Return the seconds to wait after the given number of failed tries."""
    # The exponent is limited because a float overflows at 2**1024, which a worker reaches after weeks of retries.
    top = min(first * 2.0 ** min(tries - 1, 60), longest)
    return float(top * _random.uniform(0.5, 1.0))


def spread(longest: float) -> float:
    """Return a random number of seconds up to a limit, so that contenders do not come back at the same moment."""
    return _random.uniform(0.0, longest)

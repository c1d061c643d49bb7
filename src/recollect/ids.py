"""New ids: short, unique, and sorted by when they were made."""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: read aloud without mistakes


def new_id() -> str:
    """20 characters: 50 bits of milliseconds, 50 bits of chance."""
    number = (time.time_ns() // 1_000_000) << 50 | int.from_bytes(os.urandom(7)) >> 6
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(95, -1, -5))

"""Creates new ids, which are short, unique and sorted by creation time, and ids that are hashes of content."""

from __future__ import annotations

import os
import threading
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o and u, so that ids can be read aloud without mistakes
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Return a new id of 20 characters. It consists of 56 bits of microseconds, increasing within a process, and 44
    random bits."""
    global _last
    with _lock:
        # Ids keep increasing even within one microsecond, or after the clock has been set back.
        _last = max(time.time_ns() // 1000, _last + 1)
        moment = _last
    number = moment << 44 | int.from_bytes(os.urandom(6)) >> 4
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(95, -1, -5))


def digest(data: bytes, size: int = 16) -> str:
    """Return an id for content: the hexadecimal BLAKE2b hash, `size` bytes long, of its bytes."""
    import hashlib  # imported lazily, because it loads OpenSSL, which takes longer than most of our modules

    return hashlib.blake2b(data, digest_size=size).hexdigest()


def fingerprint(*parts: str) -> str:
    """Return a hash of names, which is enough to recognise a thing but reveals nothing about it."""
    return digest("\x00".join(parts).encode("utf-8", "surrogatepass"))

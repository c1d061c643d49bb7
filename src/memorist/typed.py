"""Initialises struct types under a lock before threads share them.

msgspec analyses a struct's fields on its first decode, in Python code, during which other threads may run. If two
threads initialise the same type at once, the interpreter can crash. So the first decode of a type happens under a lock.
"""

from __future__ import annotations

import threading

import msgspec

_lock = threading.Lock()
_ready: set[object] = set()


def ready(struct_type: object) -> None:
    """Initialise a type. Afterwards, any thread may decode or convert to it."""
    if struct_type in _ready:
        return
    with _lock:
        if struct_type not in _ready:
            msgspec.json.Decoder(struct_type)
            # Added last: a thread that sees the type here without the lock may decode to it at once.
            _ready.add(struct_type)

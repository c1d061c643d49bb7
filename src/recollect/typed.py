"""Struct types made ready before threads share them.

msgspec works out a struct's fields when it first decodes one, in Python code during which other threads run; two
threads that do so for the same type at once can crash the interpreter. So the first time is under a lock.
"""

from __future__ import annotations

import threading
from typing import Any

import msgspec

_lock = threading.Lock()
_ready: set[Any] = set()


def ready(kind: Any) -> None:
    """After this, any thread may decode or convert to the type."""
    if kind in _ready:
        return
    with _lock:
        if kind not in _ready:
            msgspec.json.Decoder(kind)
            _ready.add(kind)

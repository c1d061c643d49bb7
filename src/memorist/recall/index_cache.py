"""Keeps the in-process recall indexes of recently searched namespaces."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorist.recall.candidates import Scoped

MAX_CACHED_VECTORS = 3_000_000
"""The maximum number of vectors in all cached indexes together. When it is exceeded, the index that has not been used
for the longest time is dropped."""
MIN_COUNTED_VECTORS = 64
"""An index counts for at least this many more vectors than it has. Otherwise any number of indexes without vectors
would fit."""


class IndexCache:
    """Implements an LRU cache of namespaces' in-process indexes, limited by the number of vectors."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[str, str], Scoped] = {}
        # A thread lock, because forgetting also drops the indexes of the twin (blocking or async) in its own thread.
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str]) -> Scoped | None:
        """Return the cached index of a namespace, marked as recently used."""
        with self._lock:
            # Dicts keep the order of insertion, so inserting the key again makes it the newest.
            index = self._indexes.pop(key, None)
            if index is not None:
                self._indexes[key] = index
            return index

    def put(self, key: tuple[str, str], index: Scoped) -> None:
        """Cache an index, and evict the least recently used ones for as long as there are too many vectors."""
        with self._lock:
            indexes = self._indexes
            indexes[key] = index
            # The newest index always stays, even if it alone is over the limit.
            while len(indexes) > 1 and _count_vectors(indexes) > MAX_CACHED_VECTORS:
                del indexes[next(iter(indexes))]

    def drop(self, org: str) -> None:
        """Evict all indexes of an org, because something in it was forgotten."""
        with self._lock:
            for key in self.keys(org):
                del self._indexes[key]

    def keys(self, org: str) -> list[tuple[str, str]]:
        """Return the keys (org and namespace) of an org's cached indexes."""
        return [key for key in self._indexes if key[0] == org]


def _count_vectors(indexes: dict[tuple[str, str], Scoped]) -> int:
    return sum(len(index.vectors or ()) + MIN_COUNTED_VECTORS for index in indexes.values())

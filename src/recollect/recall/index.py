"""One scope in memory: both arms, the candidates, the ranking. Stores with engines of their own do the same steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from recollect.recall.entry import Entry, ScopeStats, is_assistant
from recollect.recall.features import Similarity
from recollect.recall.lexical import LexicalIndex
from recollect.recall.query import Query
from recollect.recall.rank import Scored, Weights, rank
from recollect.recall.reach import CANDIDATES, DATED, NEAR, NEIGHBOURS_OF
from recollect.recall.signals import NAMES
from recollect.recall.vectors import VectorIndex
from recollect.recall.weights import TABLE

STANDING = 16
"""Newest standing instructions that are always looked at."""
_STANDING_BYTE = NAMES.index("standing")

Key = tuple[str, str]


class ScopeIndex:
    """Everything remembered in one scope, by (kind, id)."""

    def __init__(self, dimensions: int | None = None, *, contextual: bool = False) -> None:
        self.contextual = contextual
        self.entries: dict[Key, Entry] = {}
        self.lexical: LexicalIndex[Key] = LexicalIndex()
        self.vectors: VectorIndex[Key] | None = VectorIndex(dimensions) if dimensions else None
        self._speakers: dict[str, int] = {}
        self._assistant = 0
        self._standing: dict[Key, int] = {}
        self._place: dict[tuple[str, int], Key] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, entries: Sequence[Entry], vectors: Any = None) -> None:
        """Index entries, replacing those with the same key; a row of `vectors` for each, if there are any."""
        for entry in entries:
            key = (entry.kind, entry.id)
            self.remove([key])
            self.entries[key] = entry
            self.lexical.add(key, entry.terms, entry.context_terms)
            self._count(entry, 1)
            if entry.thread:
                self._place[entry.thread, entry.seq] = key
            if entry.signals[_STANDING_BYTE : _STANDING_BYTE + 1] == b"\xff" or entry.kind == "learning":
                self._standing[key] = entry.created_at
        if vectors is not None and self.vectors is not None:
            self.vectors.add([(entry.kind, entry.id) for entry in entries], vectors)

    def remove(self, keys: Iterable[Key]) -> int:
        """Forget entries, from both arms."""
        gone = 0
        for key in keys:
            entry = self.entries.pop(key, None)
            if entry is None:
                continue
            gone += 1
            self.lexical.remove(key)
            self._standing.pop(key, None)
            self._place.pop((entry.thread, entry.seq), None)
            self._count(entry, -1)
            if self.vectors is not None:
                self.vectors.remove([key])
        return gone

    @property
    def stats(self) -> ScopeStats:
        """Counts over the scope."""
        return ScopeStats(
            entries=len(self.entries),
            mean_terms=self.lexical.mean_terms,
            assistant_entries=self._assistant,
            speakers=tuple(self._speakers),
        )

    def search(
        self,
        query: Query,
        vector: Any = None,
        *,
        limit: int = 10,
        allow: Callable[[Entry], bool] | None = None,
        weights: Weights = TABLE,
        explain: int = 0,
    ) -> list[Scored]:
        """Rank the candidates of both arms; `allow` filters before the cut."""
        keys, similarity = self.candidates(query, vector, limit=limit, allow=allow)
        chosen = [self.entries[key] for key in keys]
        frequency = self.lexical.frequency(query.terms)
        return rank(query, chosen, self.stats, frequency, similarity, weights=weights, explain=explain)

    def candidates(
        self, query: Query, vector: Any = None, *, limit: int = 10, allow: Callable[[Entry], bool] | None = None
    ) -> tuple[list[Key], Similarity | None]:
        """What either arm finds, what stands beside it, what the dates name; and the cosine of each of them."""
        take = max(CANDIDATES, 3 * limit)
        allowed = None if allow is None else {key for key, entry in self.entries.items() if allow(entry)}
        worded = [key for key, _ in self.lexical.search(query.terms, take, allowed=allowed)]
        nearest = None
        if vector is not None and self.vectors is not None and len(self.vectors):
            mask = None if allowed is None else self.vectors.positions(allowed)
            nearest = self.vectors.search(vector, take, mask=mask)
        close: list[Key] = nearest.keys if nearest is not None else []
        dated = self._dated(query, None if nearest is None else vector)
        beside = self.neighbours([*worded[:NEIGHBOURS_OF], *close[:NEIGHBOURS_OF]])
        lane = self._lane(query)
        more = [key for key in beside + dated + lane if allowed is None or key in allowed]
        keys = list(dict.fromkeys([*worded, *close, *more]))
        if nearest is None or self.vectors is None:
            return keys, None
        cosine = self.vectors.cosines(vector, keys, missing=nearest.mean).astype(np.float64)
        return keys, Similarity(cosine, nearest.mean, nearest.std, self.contextual)

    def neighbours(self, keys: Iterable[Key]) -> list[Key]:
        """Turns around some, in their threads."""
        found = []
        for key in keys:
            entry = self.entries[key]
            if entry.thread:
                around = (self._place.get((entry.thread, entry.seq + offset)) for offset in NEAR)
                found += [other for other in around if other is not None]
        return found

    def _dated(self, query: Query, vector: Any) -> list[Key]:
        """Of what was said at the times that a question names, the nearest, or the first where there are no vectors."""
        found: list[Key] = []
        for start, end in query.dates:
            within = [key for key, entry in self.entries.items() if start <= entry.created_at < end]
            if vector is not None and self.vectors is not None:
                within = self.vectors.search(vector, DATED, mask=self.vectors.positions(within)).keys
            found += within[:DATED]
        return found

    def _lane(self, query: Query) -> list[Key]:
        """Standing wishes, where something is asked for."""
        if query.kind != "request":
            return []
        return sorted(self._standing, key=lambda key: -self._standing[key])[:STANDING]

    def _count(self, entry: Entry, by: int) -> None:
        if is_assistant(entry.role, entry.speaker):
            self._assistant += by
        elif entry.speaker:
            self._speakers[entry.speaker] = self._speakers.get(entry.speaker, 0) + by
            if not self._speakers[entry.speaker]:
                del self._speakers[entry.speaker]

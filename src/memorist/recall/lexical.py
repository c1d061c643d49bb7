"""Provides an in-memory inverted index with BM25 ranking, for stores that have no text index."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Generic, TypeVar

import numpy as np

from memorist.recall.features import CONTEXT_SHARE, K1, B, idf
from memorist.recall.query import MAX_TERMS

Key = TypeVar("Key", bound=Hashable)

FREQUENT, FREQUENT_MOST = 0.02, 5_000
"""In a large scope, terms that occur in more than this share (or number) of entries are skipped if two rarer terms
remain."""
SMALL_SCOPE_ENTRIES = 2_000
"""In a scope with up to this many entries, all terms are searched."""


def select_terms(terms: Sequence[str], frequency: Mapping[str, int], entries: int) -> list[str]:
    """Return the terms worth searching: those that exist, except frequent ones if two rarer ones remain."""
    existing = [term for term in terms if frequency.get(term, 0) > 0]
    if len(existing) > MAX_TERMS:
        existing = sorted(existing, key=lambda term: frequency[term])[:MAX_TERMS]
    if entries <= SMALL_SCOPE_ENTRIES:
        return existing
    # The posting list of a word that is everywhere costs the most and distinguishes the least.
    rare = [term for term in existing if frequency[term] <= min(FREQUENT * entries, FREQUENT_MOST)]
    if len(rare) >= 2:
        return rare
    return sorted(existing, key=lambda term: frequency[term])[: max(2, len(rare))]


class _Postings:
    """Holds the posting list of a term: ascending slots (entry numbers), with the term's counts in the text and in its
    context."""

    __slots__ = ("context", "live", "own", "slots")

    def __init__(self) -> None:
        self.slots = array("I")
        self.own = array("B")
        self.context = array("B")
        self.live = 0
        """The document frequency of the term, which is the number of entries (excluding removed ones) that contain it
        in their own text."""


class LexicalIndex(Generic[Key]):
    """Maps terms to entries. A removed entry leaves its slot empty, and slots are compacted when a quarter of them are
    empty."""

    def __init__(self) -> None:
        self._postings: dict[str, _Postings] = {}
        self._keys: list[Key | None] = []
        self._slot: dict[Key, int] = {}
        self._terms: list[str] = []
        self._lengths = array("H")
        self._total = 0

    def __len__(self) -> int:
        return len(self._slot)

    @property
    def mean_terms(self) -> float:
        """This is the average number of index terms per entry."""
        return self._total / len(self._slot) if self._slot else 0.0

    def add(self, key: Key, terms: str, context_terms: str = "") -> None:
        """Index an entry by its space-joined terms, replacing any entry with the same key."""
        self.remove(key)
        slot = len(self._keys)
        split = terms.split()
        self._append(slot, Counter(split), Counter(context_terms.split()))
        self._keys.append(key)
        self._slot[key] = slot
        self._terms.append(terms)
        # Two bytes per entry. A longer text counts as having that many terms, which only affects its length norm.
        self._lengths.append(min(len(split), 65535))
        self._total += len(split)

    def remove(self, key: Key) -> bool:
        """Remove an entry. Return False if there is none."""
        slot = self._slot.pop(key, None)
        if slot is None:
            return False
        # Only the frequencies are corrected now. Removing the slot from every posting list would cost as much as
        # indexing; `_sweep` does it for many removals at once.
        for term in set(self._terms[slot].split()):
            self._postings[term].live -= 1
        self._total -= self._lengths[slot]
        self._keys[slot] = None
        self._terms[slot] = ""
        if len(self._keys) > 64 and len(self._slot) < 0.75 * len(self._keys):
            self._sweep()
        return True

    def frequency(self, terms: Iterable[str]) -> dict[str, int]:
        """Return the document frequency of each indexed term."""
        return {term: posting.live for term in terms if (posting := self._postings.get(term)) is not None}

    def search(self, terms: Sequence[str], limit: int) -> list[tuple[Key, float]]:
        """Return the best entries by BM25 over text and context, best first."""
        frequency = self.frequency(terms)
        chosen = select_terms(terms, frequency, len(self))
        # A term that occurs only beside other entries has no document frequency, but it still points to its neighbours.
        context_only = [t for t in terms if t in self._postings and not frequency.get(t)]
        if not chosen and not context_only:
            return []
        scores = np.zeros(len(self._keys))
        lengths = np.frombuffer(self._lengths, np.uint16).astype(np.float64)
        norm = K1 * (1 - B + B * lengths / max(self.mean_terms, 1.0))
        for term in [*chosen, *context_only]:
            posting = self._postings[term]
            slots = np.frombuffer(posting.slots, np.uint32)
            count = np.frombuffer(posting.own, np.uint8) + CONTEXT_SHARE * np.frombuffer(posting.context, np.uint8)
            weight = idf(len(self), min(posting.live, len(self)))
            scores[slots] += weight * count * (K1 + 1) / (count + norm[slots])
        matched = np.nonzero(scores)[0]
        best = matched[np.argsort(-scores[matched], kind="stable")].tolist()
        # Removed entries still have postings until the next sweep, so they are skipped here.
        living = ((key, float(scores[slot])) for slot in best if (key := self._keys[slot]) is not None)
        return list(islice(living, limit))

    def _append(self, slot: int, own: Mapping[str, int], context: Mapping[str, int]) -> None:
        for term in {**own, **context}:
            posting = self._postings.get(term)
            if posting is None:
                posting = self._postings[term] = _Postings()
            posting.slots.append(slot)
            # One byte per count: BM25 saturates long before 255.
            posting.own.append(min(own.get(term, 0), 255))
            posting.context.append(min(context.get(term, 0), 255))
            posting.live += term in own

    def _sweep(self) -> None:
        """Compact the index: renumber the slots in use and drop the postings of removed entries."""
        alive = np.array([key is not None for key in self._keys])
        renumber = np.cumsum(alive) - 1
        for term in list(self._postings):
            posting = self._postings[term]
            slots = np.frombuffer(posting.slots, np.uint32)
            keep = alive[slots]
            if not keep.any():
                del self._postings[term]
                continue
            own = np.frombuffer(posting.own, np.uint8)[keep].tobytes()
            context = np.frombuffer(posting.context, np.uint8)[keep].tobytes()
            renumbered = renumber[slots[keep]].astype(np.uint32).tobytes()
            posting.slots, posting.own, posting.context = array("I"), array("B"), array("B")
            posting.slots.frombytes(renumbered)
            posting.own.frombytes(own)
            posting.context.frombytes(context)
        self._terms = [terms for terms, living in zip(self._terms, alive, strict=True) if living]
        self._lengths = array("H", [n for n, living in zip(self._lengths, alive, strict=True) if living])
        self._keys = [key for key in self._keys if key is not None]
        self._slot = {key: slot for slot, key in enumerate(self._keys) if key is not None}

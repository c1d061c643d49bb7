"""Finds the nearest vectors in one scope: exactly if it is small, and with a PCA sketch and re-scoring if it is large.

A vector is quantised to a scale and one byte per dimension. For 256 dimensions, that is 260 bytes, both in the store
and in memory. Beyond `MAX_EXACT_VECTORS` vectors, projections onto the first principal components (the sketch) are
compared first, and only the best of them in full. A matrix product over the sketch is several times cheaper than one
over the vectors.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from memorist.errors import CorruptRecord, UsageError

Key = TypeVar("Key", bound=Hashable)
Number = TypeVar("Number", bound=np.generic)
Floats = NDArray[np.float32]

MAX_EXACT_VECTORS = 4_096
SKETCH_DIMENSIONS = 64
MIN_RESCORED_VECTORS = 200
"""The minimum number of sketch hits to compare in full."""
RESCORE_SHARE = 250
"""In a large index, one in this many vectors is compared in full."""
_BLOCK_ROWS = 2_048
_SPREAD_ROWS = 32_768
"""The mean and standard deviation are estimated from an even sample of about this many scores."""


def encode(vector: ArrayLike) -> bytes:
    """Return a vector as bytes: a float32 scale, followed by one signed byte per dimension."""
    return encode_many(np.asarray(vector, np.float32)[None])[0]


def encode_many(vectors: ArrayLike) -> list[bytes]:
    """Do the same as `encode` for each row of a matrix."""
    codes, scales = _quantise(np.asarray(vectors, np.float32))
    return [scales[i].tobytes() + codes[i].tobytes() for i in range(len(codes))]


def decode(data: bytes) -> Floats:
    """Return the vector that `encode` wrote, accurate to within half a step of its scale."""
    if len(data) < 5:
        raise CorruptRecord(f"a stored vector of {len(data)} bytes; re-embed with `memorist process vectors`")
    scale = np.frombuffer(data[:4], "<f4")[0]
    result: Floats = np.frombuffer(data[4:], np.int8).astype(np.float32) * scale
    return result


def _quantise(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    # One scale per vector, not per index, so that a vector added later never changes the code of another.
    scales = (np.abs(vectors).max(axis=1) / 127).astype("<f4")
    # A zero vector (a text without known words) would otherwise divide by zero.
    scales[scales == 0] = 1.0
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


class Nearest(msgspec.Struct, Generic[Key], frozen=True):
    """Holds the result of a vector search, and the mean and standard deviation of the cosines of all vectors
    searched."""

    keys: list[Key]
    cosines: NDArray[np.float32]
    mean: float
    std: float


class VectorIndex(Generic[Key]):
    """Holds the vectors of one scope by key, updated in place. No index has to be built beforehand."""

    def __init__(self, dimensions: int, *, exact: int = MAX_EXACT_VECTORS, sketch: int = SKETCH_DIMENSIONS) -> None:
        if dimensions < 1:
            raise UsageError("a vector needs at least one dimension")
        self.dimensions = dimensions
        self._exact = exact
        self._width = min(sketch, dimensions)
        self._keys: list[Key] = []
        self._place: dict[Key, int] = {}
        self._codes = np.zeros((0, dimensions), np.int8)
        self._scales = np.zeros(0, np.float32)
        self._times = np.zeros(0, np.int64)
        self._groups = np.zeros(0, np.uint8)
        self._rotation: Floats | None = None
        self._sketch = np.zeros((0, self._width), np.float32)
        self._fitted = 0

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        """This is the memory that the vectors themselves use."""
        arrays = (self._codes, self._scales, self._sketch, self._times, self._groups)
        return sum(part.nbytes for part in arrays)

    def add(self, keys: Sequence[Key], vectors: ArrayLike) -> None:
        """Add or replace vectors, passed as rows of floats."""
        rows = np.asarray(vectors, np.float32).reshape(len(keys), -1)
        if rows.shape[1:] != (self.dimensions,) and len(keys):
            raise UsageError(f"these vectors have {rows.shape[1]} dimensions, but the index has {self.dimensions}")
        self._put(keys, *_quantise(rows))

    def add_encoded(
        self,
        keys: Sequence[Key],
        data: Sequence[bytes],
        *,
        times: Sequence[int] | None = None,
        groups: Sequence[int] | None = None,
    ) -> None:
        """Add or replace vectors encoded by `encode`. You can filter by their `times` and `groups` (see `between`)."""
        size = self.dimensions + 4
        if any(len(item) != size for item in data):
            raise CorruptRecord(f"a stored vector is not {size} bytes; re-embed with `memorist process vectors`")
        raw = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), size)
        self._put(keys, raw[:, 4:].view(np.int8), np.ascontiguousarray(raw[:, :4]).view("<f4")[:, 0])
        places = [self._place[key] for key in keys]
        self._times[places] = 0 if times is None else times
        self._groups[places] = 0 if groups is None else groups

    def remove(self, keys: Iterable[Key]) -> int:
        """Remove vectors. The last one moves into the gap, and its old bytes are zeroed."""
        count = 0
        for key in keys:
            at = self._place.pop(key, None)
            if at is None:
                continue
            # Rows stay contiguous, so that a search is one product of a matrix with a vector.
            last = len(self._keys) - 1
            moved = self._keys.pop()
            if at != last:
                self._keys[at] = moved
                self._place[moved] = at
                for part in (self._codes, self._scales, self._times, self._groups):
                    part[at] = part[last]
                if self._rotation is not None:
                    self._sketch[at] = self._sketch[last]
            # What was forgotten must not stay in memory, so the row that is no longer used is overwritten.
            self._codes[last] = 0
            if self._rotation is not None:
                self._sketch[last] = 0
            count += 1
        return count

    def search(self, vector: ArrayLike, limit: int, *, mask: NDArray[np.bool_] | None = None) -> Nearest[Key]:
        """Return the nearest vectors by cosine, best first. `mask` (from `between`) is applied before the limit."""
        query = _unit(np.asarray(vector, np.float32))
        count = len(self._keys)
        if count == 0 or limit < 1 or (mask is not None and not mask.any()):
            return Nearest([], np.zeros(0, np.float32), 0.0, 0.0)
        # The sketch saves nothing if most vectors are compared in full anyway.
        if count <= self._exact or limit * 2 >= count:
            scores = self._full(np.arange(count), query)
            pool = None
        else:
            scores = self._approximate(query)
            # The sketch misorders near neighbours, so a multiple of the limit is compared again with the full vectors.
            pool = max(MIN_RESCORED_VECTORS, 3 * limit, count // RESCORE_SHARE)
        # The spread of all vectors, not only of those that the mask allows: it says how unusual a cosine is here.
        sample = scores[:: 1 + count // _SPREAD_ROWS]
        mean, std = float(sample.mean()), float(sample.std())
        if mask is not None:
            scores = np.where(mask[:count], scores, -np.inf)
        if pool is None:
            best = _top(scores, limit)
            return self._nearest(best, scores[best], mean, std)
        best = _top(scores, pool)
        best = best[np.isfinite(scores[best])]
        full = self._full(best, query)
        order = np.argsort(-full, kind="stable")[:limit]
        return self._nearest(best[order], full[order], mean, std)

    def between(
        self, start: int | None, end: int | None, groups: Sequence[int] | None = None
    ) -> NDArray[np.bool_] | None:
        """Return a mask for `search` that allows times from `start` up to but not including `end`, and only the given
        groups."""
        count = len(self._keys)
        times, mask = self._times[:count], None
        if start is not None:
            mask = times >= start
        if end is not None:
            mask = times < end if mask is None else mask & (times < end)
        if groups is not None:
            some = np.isin(self._groups[:count], groups)
            mask = some if mask is None else mask & some
        return mask

    def _put(self, keys: Sequence[Key], codes: NDArray[np.int8], scales: Floats) -> None:
        start = len(self._keys)
        self._reserve(start + len(keys))
        places = []
        for key in keys:
            at = self._place.get(key)
            if at is None:
                at = self._place[key] = len(self._keys)
                self._keys.append(key)
            places.append(at)
        self._codes[places], self._scales[places] = codes, scales
        if self._rotation is not None:
            # Replaced vectors are projected one at a time, because they may lie anywhere; new ones are one block.
            for at in {at for at in places if at < start}:
                self._project(at, at + 1)
            self._project(start, len(self._keys))
        # The directions fit the vectors that were there when they were computed. Fitting again each time that their
        # number quadruples costs a constant share per vector.
        if len(self._keys) > self._exact and len(self._keys) >= 4 * self._fitted:
            self._fit()

    def reserve(self, size: int) -> None:
        """Allocate room for a number of vectors, so that loading them causes no reallocation."""
        if size > len(self._codes):
            self._resize(size)

    def _reserve(self, size: int) -> None:
        room = len(self._codes)
        if size > room:
            # Growing by a quarter keeps the cost of copying constant per vector, and wastes at most a fifth of the
            # memory.
            self._resize(max(size, room + room // 4, 64))

    def _resize(self, grown: int) -> None:
        self._codes, self._scales = _grow(self._codes, grown), _grow(self._scales, grown)
        self._times, self._groups = _grow(self._times, grown), _grow(self._groups, grown)
        if self._rotation is not None:
            self._sketch = _grow(self._sketch, grown)

    def _fit(self) -> None:
        """Compute the principal components of the current vectors. This is repeated each time their number
        quadruples."""
        count = len(self._keys)
        sample = np.linspace(0, count - 1, min(count, 4 * _BLOCK_ROWS)).astype(np.int64)
        rows = self._codes[sample].astype(np.float32) * self._scales[sample, None]
        _, directions = np.linalg.eigh(rows.T @ rows)
        self._rotation = np.ascontiguousarray(directions[:, ::-1][:, : self._width]).astype(np.float32)
        self._sketch = np.zeros((len(self._codes), self._width), np.float32)
        self._fitted = count
        self._project(0, count)

    def _project(self, start: int, stop: int) -> None:
        assert self._rotation is not None
        for at in range(start, stop, _BLOCK_ROWS):
            part = slice(at, min(at + _BLOCK_ROWS, stop))
            self._sketch[part] = (self._codes[part].astype(np.float32) * self._scales[part, None]) @ self._rotation

    def _approximate(self, query: Floats) -> Floats:
        if self._rotation is None:
            self._fit()
        assert self._rotation is not None
        return np.asarray(self._sketch[: len(self._keys)] @ (query @ self._rotation), np.float32)

    def _full(self, places: NDArray[np.int64], query: Floats) -> Floats:
        out = np.empty(len(places), np.float32)
        # Slices of the matrix need no copy, whereas selecting rows by index copies each of them.
        whole = len(places) == len(self._keys) and np.array_equal(places, np.arange(len(places)))
        for at in range(0, len(places), _BLOCK_ROWS):
            part = slice(at, min(at + _BLOCK_ROWS, len(places)))
            rows = self._codes[part] if whole else self._codes[places[part]]
            out[part] = rows.astype(np.float32) @ query
        out *= self._scales[places]
        return out

    def _nearest(self, places: NDArray[np.int64], scores: Floats, mean: float, std: float) -> Nearest[Key]:
        keep = np.isfinite(scores)
        return Nearest([self._keys[i] for i in places[keep].tolist()], scores[keep], mean, std)


def _grow(old: NDArray[Number], size: int) -> NDArray[Number]:
    new = np.zeros((size, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def _top(scores: Floats, limit: int) -> NDArray[np.int64]:
    """Return the indices of the highest scores, best first."""
    if limit >= len(scores):
        return np.argsort(-scores, kind="stable")
    likely = _find_likely(scores, limit) if len(scores) > 2 * _SPREAD_ROWS else None
    some = np.argpartition(-(scores if likely is None else scores[likely]), limit - 1)[:limit]
    # `argpartition` returns ties in any order. Sorting by index first makes equal scores come out alike everywhere.
    some = np.sort(some if likely is None else likely[some])
    return some[np.argsort(-scores[some], kind="stable")]


def _find_likely(scores: Floats, limit: int) -> NDArray[np.int64] | None:
    """Return the indices of scores above a threshold estimated from a sample. They include all of the best
    ones, and there are a few times as many as `limit`. Comparing a million scores with one number takes a tenth of the
    time needed to partition them.
    """
    sample = scores[:: len(scores) // _SPREAD_ROWS]
    rank = min(len(sample), 8 + 4 * limit * len(sample) // len(scores))
    some = np.nonzero(scores >= np.partition(sample, len(sample) - rank)[len(sample) - rank])[0]
    return some if len(some) >= limit else None

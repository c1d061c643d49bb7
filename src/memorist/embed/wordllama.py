"""Implements the default embedder, which uses static word vectors bundled with this package and needs no download and
no key.

The vectors come from WordLlama, quantised to one signed byte per number. `static/NOTICE` describes their origin and
licence, and `scripts/make-vectors` rebuilds them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorist.embed.pieces import Pieces
from memorist.errors import ModelError

_FOLDER = Path(__file__).parent / "static"
_BATCH_TEXTS = 256
MAX_CHARS = 8_192
"""Longer texts are cut, because more words would hardly change the mean."""
CACHED_WORDS = 8_192
"""The number of word vectors to cache, at about a kilobyte each. When the cache is full, it is cleared."""
_UNBROKEN = re.compile(r"([!-~]{64})[!-~]++")


class WordLlamaEmbedder:
    """Averages 256-dimensional token vectors, and embeds about 20,000 short texts a second."""

    name = "wordllama-l2-supercat-256"
    dimensions = 256
    static = True
    """This embedder averages word vectors, so questions are embedded without stop words."""

    def __init__(self) -> None:
        self._words: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text. The vector of a text without words is all zeros."""
        table = _table()
        out = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _BATCH_TEXTS):
            ids = [table.pieces.encode(_words_of(text)) for text in texts[start : start + _BATCH_TEXTS]]
            lengths = np.array([len(item) for item in ids])
            full = np.nonzero(lengths)[0]
            if not len(full):
                continue
            flat = np.fromiter((i for item in ids for i in item), np.intp, int(lengths.sum()))
            offsets = np.concatenate(([0], np.cumsum(lengths[full])[:-1]))
            sums = np.add.reduceat(table.rows(flat), offsets, axis=0)
            out[start + full] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return out

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return each word's vector from the table. A longer vector has more weight in the average of a text."""
        cached = {word: vector for word in words if (vector := self._words.get(word)) is not None}
        fresh = list(dict.fromkeys(word for word in words if word not in cached))
        if fresh:
            computed = dict(zip(fresh, self._sums(fresh), strict=True))
            cached.update(computed)
            if len(self._words) + len(computed) > CACHED_WORDS:
                self._words = {}
            self._words.update(computed)
        return np.stack([cached[word] for word in words])

    def _sums(self, words: Sequence[str]) -> NDArray[np.float32]:
        table = _table()
        ids = [table.pieces.encode(_words_of(word)) for word in words]
        lengths = np.array([len(item) for item in ids])
        flat = np.fromiter((i for item in ids for i in item), np.intp, int(lengths.sum()))
        sums: NDArray[np.float32] = np.add.reduceat(
            table.rows(flat), np.concatenate(([0], np.cumsum(lengths)[:-1])), axis=0
        )
        return sums


COMMON_LENGTH, RARE_LENGTH = 6.0, 16.0
"""Typical vector lengths: the first for words like "thanks" and "want", the second for words like "python" and
"dog"."""


def word_rarity(words: Sequence[str]) -> list[float]:
    """Return how rare each word is in general, from the length of its vector. The result is 0 for everyday words, and
    about 1 for others."""
    if not words:
        return []
    lengths = np.linalg.norm(_shared().word_vectors(words), axis=1)
    return [max((float(length) - COMMON_LENGTH) / (RARE_LENGTH - COMMON_LENGTH), 0.0) for length in lengths]


@cache
def _shared() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def _words_of(text: str) -> str:
    """Return the start of a text, with strings longer than any word (keys, hashes, base64) cut to 64 characters."""
    return _UNBROKEN.sub(r"\1", text[:MAX_CHARS])


@cache
def _table() -> _Table:
    return _Table()


class _Table:
    """Holds a vector for each token. The table is memory-mapped from this package's folder, so processes share it."""

    def __init__(self) -> None:
        try:
            self.pieces = Pieces((_FOLDER / "vocabulary.txt").read_bytes().decode().split("\n"))
            self._vectors: NDArray[np.int8] = np.load(_FOLDER / "vectors.npy", mmap_mode="r")
            self._scales: NDArray[np.float32] = np.load(_FOLDER / "scales.npy")
        except (OSError, ValueError) as error:
            raise ModelError("the default embedder's files cannot be read; reinstall `memorist`") from error

    def rows(self, ids: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors of the given tokens."""
        return np.multiply(self._vectors[ids], self._scales[ids, None], dtype=np.float32)

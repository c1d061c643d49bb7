"""Implements the tokenizer of the default embedder: byte-pair encoding over the vocabulary of Llama 2, in plain Python.

It returns the same ids as Hugging Face's `tokenizers` for that vocabulary (a test compares them), but does not need
that package, which depends on an HTTP client and twenty others. Text is split before each run of spaces, because no
token crosses one. So most words need only one lookup in a cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

_SPACE = "▁"
_FIRST_WORD = 259
"""Smaller ids are <unk>, <s>, </s> and the 256 single bytes, which merges never produce."""
_FIRST_BYTE = 3
_SPACES_LAST = 1 << 16
"""Added to the rank of runs of spaces, so that they are merged last."""
_SPECIAL = re.compile("(<unk>|<s>|</s>)")
_WORDS = re.compile(f"{_SPACE}*[^{_SPACE}]+|{_SPACE}+")
_CACHED_WORDS = 1 << 16
_CACHED_LENGTH = 32

_Merge = tuple[int, int, int, int, str, str]


class Pieces:
    """Encodes text as token ids."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._ids = {token: at for at, token in enumerate(vocabulary)}
        self._cache: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text. Special tokens such as `<s>` in the text are encoded as special tokens."""
        ids: list[int] = []
        for part in _SPECIAL.split(text) if "<" in text else (text,):
            if part in ("<unk>", "<s>", "</s>"):
                ids.append(self._ids[part])
            elif part:
                for word in _WORDS.findall(_SPACE + part.replace(" ", _SPACE)):
                    ids += self._cache.get(word) or self._word(word)
        return ids

    def _word(self, word: str) -> tuple[int, ...]:
        """Return the ids of an uncached word; only short words are cached."""
        ids = self._merged(word)
        if len(word) <= _CACHED_LENGTH:
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            self._cache[word] = ids
        return ids

    def _merged(self, word: str) -> tuple[int, ...]:
        """Encode by merging the neighbours with the lowest rank until none are left. A heap makes this O(n log n)."""
        parts: list[str | None] = list(word)
        after = [*range(1, len(parts)), -1]
        before = list(range(-1, len(parts) - 1))
        heap = [merge for at in range(len(parts) - 1) if (merge := self._merge(at, word[at], word[at + 1]))]
        heapify(heap)
        while heap:
            _, _, _, at, left, right = heappop(heap)
            following = after[at]
            # A neighbour was merged after this entry was pushed. Skipping stale entries is cheaper than removing them.
            if following < 0 or parts[at] != left or parts[following] != right:
                continue
            parts[at], parts[following] = left + right, None
            after[at] = following = after[following]
            if following >= 0:
                before[following] = at
                self._push(heap, at, parts[at], parts[following])
            if before[at] >= 0:
                self._push(heap, before[at], parts[before[at]], parts[at])
        return tuple(self._looked_up(parts))

    def _push(self, heap: list[_Merge], at: int, left: str | None, right: str | None) -> None:
        if left is not None and right is not None and (merge := self._merge(at, left, right)):
            heappush(heap, merge)

    def _merge(self, at: int, left: str, right: str) -> _Merge | None:
        """Return the heap entry of two neighbours, ordered by the id of the token they form, or None if they form no
        token."""
        ids = self._ids
        rank = ids.get(left + right, 0)
        if rank < _FIRST_WORD or left not in ids or right not in ids:
            return None
        if right[-1] == _SPACE:
            # Only a run of spaces ends in a space, because words are split before spaces.
            rank += _SPACES_LAST
        return rank, ids[left], ids[right], at, left, right

    def _looked_up(self, parts: list[str | None]) -> Iterator[int]:
        """Yield the ids of the parts. A character that is not a token is encoded as its UTF-8 bytes."""
        for part in parts:
            if part is None:
                continue
            piece_id = self._ids.get(part)
            if piece_id is not None:
                yield piece_id
            else:
                yield from (_FIRST_BYTE + byte for byte in part.encode("utf-8", "replace"))

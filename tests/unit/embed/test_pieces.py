"""The default embedder's own tokenizer and vectors, against the library and the weights they replace."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.embed.pieces import Pieces
from memorist.embed.wordllama import _FOLDER, WordLlamaEmbedder, _words_of

ROOT = Path(__file__).parents[3]
TEXTS = [
    "I live in London and work as a nurse.",
    "naïve 🙂 数据库",
    "a <s> b</s>",
    "x" * 400,
    "   spaces   here",
    "é\n\tß",
]


@cache
def pieces() -> Pieces:
    return Pieces((_FOLDER / "vocabulary.txt").read_bytes().decode().split("\n"))


@cache
def reference() -> tuple[Any, Any]:
    """The tokenizer and weights of the published package, read by the libraries it uses itself."""
    from safetensors import safe_open
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    with safe_open(str(folder / "weights/l2_supercat_256.safetensors"), "np") as file:
        return tokenizer, file.get_tensor("embedding.weight").astype(np.float32)


def expected(text: str) -> list[int]:
    ids: list[int] = reference()[0].encode(text, add_special_tokens=False).ids
    return ids


words = st.sampled_from(
    ["hello", "London", "▁", " ", "  ", "<s>", "<unk>", "<0x0A>", "\n", "\r", "数据", "🙂", "ing", "12"]
)


@settings(max_examples=150)
@given(st.one_of(st.text(max_size=60), st.lists(words, max_size=20).map("".join)))
def test_a_text_has_the_ids_that_the_reference_gives(text: str) -> None:
    assert pieces().encode(text) == expected(text)


def test_vectors_are_those_of_the_published_weights() -> None:
    weights = reference()[1]
    vectors = WordLlamaEmbedder().embed(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        # What no word is as long as is cut short before it is embedded.
        full = weights[expected(_words_of(text))].sum(axis=0)
        assert vector @ full / np.linalg.norm(full) > 0.9998


def test_lone_surrogates_are_embedded_and_not_refused() -> None:
    assert np.isfinite(WordLlamaEmbedder().embed(["broken \ud83d text", ""])).all()


class Counting(Pieces):
    """Counts the pairs it looks at."""

    looked = 0

    def _merge(self, at: int, left: str, right: str) -> Any:
        self.looked += 1
        return super()._merge(at, left, right)


def test_work_grows_with_the_length_of_a_word_and_not_its_square() -> None:
    merges = []
    for size in (1_000, 8_000):
        counting = Counting((_FOLDER / "vocabulary.txt").read_bytes().decode().split("\n"))
        counting.encode("abracadabra" * (size // 11))
        merges.append(counting.looked)
    assert merges[1] < 10 * merges[0]


def test_the_files_are_what_the_script_makes() -> None:
    process = subprocess.run([sys.executable, ROOT / "scripts/make-vectors", "--check"], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout

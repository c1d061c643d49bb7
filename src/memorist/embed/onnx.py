"""Runs an ONNX transformer from a folder or from the Hugging Face hub.

Sentence encoders (`sentences.py`) and cross-encoders (`crossing.py`) build on it. A hub name is looked up in the local
cache first, and downloaded only if it is missing and `HF_HUB_OFFLINE` is not set. Nothing is loaded before the first
text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import numpy as np
from numpy.typing import NDArray

from memorist.errors import ModelError, UsageError
from memorist.extras import install_command
from memorist.values import JsonMapping, JsonObject

INSTALL = install_command("onnx")
BATCH_TEXTS = 16
MAX_TOKENS = 512
MAX_CHARS = 16_384
"""Texts are cut to this length before they are tokenized; no encoder reads more."""
_HUB = re.compile(r"[\w.-]+/[\w.-]+(?:@[\w.-]+)?")
_PLAIN = ("onnx/model.onnx", "model.onnx")
_QUANTIZED = (
    "onnx/model_quantized.onnx", "model_quantized.onnx", "onnx/model_int8.onnx", "model_int8.onnx",
    "onnx/model_qint8_avx512.onnx", "onnx/model_qint8_arm64.onnx", "onnx/model_uint8.onnx", "model_uint8.onnx",
)  # fmt: skip
_SETTINGS = (
    "tokenizer.json", "config.json", "config_sentence_transformers.json", "sentence_bert_config.json",
    "1_Pooling/config.json",
)  # fmt: skip

Arrays = NDArray[Any]


class Source(msgspec.Struct, frozen=True):
    """Holds the location and options of a model, written `FOLDER_OR_NAME?option=value&…`."""

    location: str
    options: Mapping[str, str] = {}

    @property
    def folder(self) -> Path | None:
        """This is the folder, or None if the location is a name on the hub."""
        path = Path(self.location).expanduser()
        return path if path.is_dir() else None


def source(text: str, names: Sequence[str]) -> Source:
    """Parse the text after `onnx:`. Raises UsageError for an invalid location, an unknown option or missing
    packages."""
    path, _, rest = text.partition("?")
    options = dict(parse_qsl(rest, keep_blank_values=True))
    unknown = sorted(set(options) - {"file", "quantized", "max_tokens", "threads", *names})
    if unknown:
        there = ", ".join(("file", "quantized", "max_tokens", "threads", *names))
        raise UsageError(f"an ONNX model has no option {unknown[0]!r}; use one of: {there}")
    for name in ("max_tokens", "threads"):
        if name in options and not options[name].isdigit():
            raise UsageError(f"the option {name} of an ONNX model must be a whole number")
    if any(find_spec(name) is None for name in ("onnxruntime", "tokenizers")):
        raise UsageError(f"an ONNX model needs packages that are not installed; run: {INSTALL}")
    source = Source(path, options)
    folder = source.folder
    if folder is None and (path.startswith((".", "/", "~")) or not _HUB.fullmatch(path)):
        raise UsageError("an ONNX model is a folder that exists or a name on the hub, such as intfloat/e5-small-v2")
    if folder is not None and not (folder / "tokenizer.json").is_file():
        raise UsageError("an ONNX model needs a folder with tokenizer.json next to model.onnx or onnx/model.onnx")
    return source


class Settings(msgspec.Struct, frozen=True):
    """Holds the contents of the JSON files next to a model."""

    files: Mapping[str, JsonMapping]

    def get(self, file: str, key: str) -> object:
        """Return one value from one file, or None."""
        return self.files.get(file, {}).get(key)


class OnnxModel:
    """Holds an ONNX session and its tokenizer, which are loaded on first use."""

    def __init__(self, where: Source) -> None:
        self._where = where
        self._loaded: tuple[Any, Any] | None = None
        self._settings: Settings | None = None
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """This is the folder of the model's files. A model on the hub is downloaded first if needed."""
        if self._folder is None:
            self._folder = self._where.folder or _fetched(self._where)
        return self._folder

    @property
    def settings(self) -> Settings:
        """These are the parsed JSON files next to the model."""
        if self._settings is None:
            self._settings = Settings(
                {name: _json(self.folder / name) for name in _SETTINGS if name != "tokenizer.json"}
            )
        return self._settings

    @property
    def max_tokens(self) -> int:
        """This is the maximum number of tokens read from a text. It is the value of the option, or the model's own
        limit, which is at most 512."""
        asked = self._where.options.get("max_tokens")
        if asked:
            return int(asked)
        max_length = self.settings.get("sentence_bert_config.json", "max_seq_length")
        places = self.settings.get("config.json", "max_position_embeddings")
        limits = [n for n in (max_length, places) if isinstance(n, int) and n > 0]
        return min([MAX_TOKENS, *limits])

    def run(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Iterator[tuple[list[int], Any, Arrays]]:
        """Run the model in batches, and yield (indices of the texts, outputs by name, attention mask) for each
        batch."""
        session, tokenizer = self._loaded = self._loaded or self._load()
        inputs: list[object] = [text[:MAX_CHARS] for text in texts]
        if pairs is not None:
            inputs = [(text, pair[:MAX_CHARS]) for text, pair in zip(inputs, pairs, strict=True)]
        encoded = tokenizer.encode_batch(inputs)
        names = {item.name: item.type for item in session.get_inputs()}
        outputs = [item.name for item in session.get_outputs()]
        # Sort by length, so that the texts of a batch need little padding.
        order = sorted(range(len(inputs)), key=lambda i: len(encoded[i].ids))
        for start in range(0, len(order), BATCH_TEXTS):
            places = order[start : start + BATCH_TEXTS]
            feed = _feed([encoded[i] for i in places], names)
            mask = feed["attention_mask"]
            wanted = {
                name: value.astype(_TYPES.get(names[name], np.int64)) for name, value in feed.items() if name in names
            }
            try:
                arrays = session.run(None, wanted)
            except Exception as cause:
                raise ModelError(f"the ONNX model failed: {type(cause).__name__}") from cause
            yield places, dict(zip(outputs, arrays, strict=True)), mask

    def _load(self) -> tuple[Any, Any]:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = int(self._where.options.get("threads", 0))
        path = self._file()
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        except Exception as cause:
            raise ModelError("the files of the ONNX model cannot be read; are they complete?") from cause
        tokenizer.enable_truncation(self.max_tokens)
        tokenizer.no_padding()
        return session, tokenizer

    def _file(self) -> Path:
        named = self._where.options.get("file")
        order = [named] if named else _order(self._where)
        model_file = next((self.folder / name for name in order if (self.folder / name).is_file()), None)
        if model_file is None:
            raise ModelError(f"the ONNX model has no file {named or 'model.onnx'} in its folder")
        return model_file


_TYPES = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}


def _order(where: Source) -> tuple[str, ...]:
    """Return model files by preference. Quantised ones come first if the option `quantized` is set."""
    quantized = where.options.get("quantized", "").lower() in ("1", "true", "yes")
    return (*_QUANTIZED, *_PLAIN) if quantized else (*_PLAIN, *_QUANTIZED)


def _feed(encoded: Sequence[Any], names: Mapping[str, str]) -> dict[str, Arrays]:
    width = max(len(item.ids) for item in encoded)
    ids, mask, types = (np.zeros((len(encoded), width), np.int64) for _ in range(3))
    for row, item in enumerate(encoded):
        ids[row, : len(item.ids)] = item.ids
        mask[row, : len(item.ids)] = 1
        types[row, : len(item.ids)] = item.type_ids
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    if "position_ids" in names:
        feed["position_ids"] = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
    return feed


def _json(path: Path) -> JsonMapping:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as cause:
        raise ModelError(f"{path.name} of the ONNX model cannot be read") from cause
    return read if isinstance(read, dict) else {}


def _fetched(where: Source) -> Path:
    """Return the folder of a hub model in the local cache, after downloading the model if it is missing."""
    if find_spec("huggingface_hub") is None:
        raise ModelError(f"a name on the hub needs a package that is not installed; run: {INSTALL}")
    from huggingface_hub import snapshot_download

    name, _, revision = where.location.partition("@")
    wanted = [*_SETTINGS, where.options["file"]] if "file" in where.options else [*_SETTINGS, *_order(where)[:4]]
    wanted += [f"{file}_data" for file in wanted if file.endswith(".onnx")]
    ask: JsonObject = {"revision": revision or None, "allow_patterns": wanted}
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    try:
        return Path(snapshot_download(name, local_files_only=True, **ask))
    except Exception as absent:  # the library raises different errors for a missing model in different versions
        if offline:
            raise ModelError(f"the model {name!r} is not in the local cache, and HF_HUB_OFFLINE is set") from absent
    try:
        return Path(snapshot_download(name, **ask))
    except Exception as cause:
        raise ModelError(
            f"the model {name!r} could not be downloaded: {type(cause).__name__}; is the hub reachable?"
        ) from cause

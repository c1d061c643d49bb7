"""Small transformers of the tests' own in ONNX: real graphs that onnxruntime runs, made when a test asks for one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WIDTH = 8
WORDS = (
    "[PAD] [UNK] [CLS] [SEP] query : passage cat kitten dog puppy bank money loan das die katze bellt hund 猫 犬 の が "
    "sleeps barks where is my who answers nothing"
).split()
MEANINGS = (
    ("cat", "kitten", "katze", "猫"),
    ("dog", "puppy", "hund", "犬", "barks", "bellt"),
    ("bank", "money", "loan"),
)


def tokenizer(folder: Path) -> None:
    """Words and single characters to ids, a pair as `[CLS] a [SEP] b [SEP]`."""
    words_tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words_tokenizer.normalizer = normalizers.Lowercase()
    words_tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    folder.mkdir(parents=True, exist_ok=True)
    words_tokenizer.save(str(folder / "tokenizer.json"))


def _table() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """A vector per word: words of one meaning share a direction, whatever their language."""
    table = np.random.default_rng(7).normal(0, 0.05, (len(WORDS), WIDTH)).astype(np.float32)
    for direction, words in enumerate(MEANINGS):
        for word in words:
            table[WORDS.index(word), direction] += 3.0
    table[WORDS.index("query"), 6] = table[WORDS.index("passage"), 7] = 4.0
    table[:4] = 0.0
    table[2, 5] = 1.0
    return table


def _saved(graph: onnx.GraphProto, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def encoder(folder: Path, *, inputs: Sequence[str] = ("input_ids", "attention_mask"), quantized: bool = False) -> Path:
    """A sentence encoder that gives the vectors of its tokens: a table of words and one layer over it."""
    tokenizer(folder)
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs]
    layer = np.eye(WIDTH, dtype=np.float32) * 2
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["embedded"]),
        helper.make_node("MatMul", ["embedded", "layer"], ["last_hidden_state"]),
    ]
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", WIDTH])
    initializers = [numpy_helper.from_array(_table(), "table"), numpy_helper.from_array(layer, "layer")]
    plain = folder / "onnx" / "model.onnx"
    _saved(helper.make_graph(nodes, "encoder", values, [out], initializers), plain)
    if quantized:
        quantize_dynamic(str(plain), str(folder / "onnx" / "model_quantized.onnx"), weight_type=QuantType.QInt8)
    return folder


def cross_encoder(folder: Path) -> Path:
    """A cross-encoder: how much the two texts of a pair, told apart by `token_type_ids`, have one meaning."""
    tokenizer(folder)
    names = ("input_ids", "attention_mask", "token_type_ids")
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["embedded"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["real", "second"], ["first"]),
        helper.make_node("Unsqueeze", ["first", "axis2"], ["first3"]),
        helper.make_node("Unsqueeze", ["second", "axis2"], ["second3"]),
        helper.make_node("Mul", ["embedded", "first3"], ["of_first"]),
        helper.make_node("Mul", ["embedded", "second3"], ["of_second"]),
        helper.make_node("ReduceSum", ["of_first", "axis1"], ["a"], keepdims=0),
        helper.make_node("ReduceSum", ["of_second", "axis1"], ["b"], keepdims=0),
        helper.make_node("Mul", ["a", "b"], ["ab"]),
        helper.make_node("ReduceSum", ["ab", "axis1"], ["logits"], keepdims=1),
    ]
    initializers = [
        numpy_helper.from_array(_table(), "table"),
        numpy_helper.from_array(np.array([1], np.int64), "axis1"),
        numpy_helper.from_array(np.array([2], np.int64), "axis2"),
    ]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    _saved(helper.make_graph(nodes, "cross", values, [out], initializers), folder / "model.onnx")
    return folder


def settings(folder: Path, name: str, **values: object) -> None:
    """A JSON file beside a model."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")

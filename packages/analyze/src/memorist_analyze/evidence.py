"""Collects evidence from single expressions, without data flow: token counting, storage, and shares of a token
budget."""

from __future__ import annotations

import re

from memorist_analyze import words
from memorist_analyze.catalog import NOTE_WORDS, is_module, libraries
from memorist_analyze.records import Evidence, File, Function
from memorist_analyze.syntax import Node, arguments, dotted, last_name, spelled, walk, walk_all
from memorist_analyze.words import bag

_USAGE = bag(
    "prompt_tokens completion_tokens input_tokens output_tokens total_tokens promptTokens completionTokens inputTokens "
    "outputTokens totalTokens prompt_token_count promptTokenCount total_token_count totalTokenCount "
    "candidates_token_count usage_metadata usageMetadata cache_read_input_tokens"
)
_COUNT_CALLS = bag("count_tokens counttokens acount_tokens count_tokens_async")
_PROVIDERS = (
    "anthropic", "openai", "google", "vertexai", "boto3", "botocore", "mistralai", "cohere", "@anthropic-ai/sdk",
    "@google/genai", "@google/generative-ai", "@aws-sdk/client-bedrock-runtime",
)  # fmt: skip
_DIVISORS = bag("2 2.5 3 3.2 3.3 3.5 3.6 3.7 4 4.0 5 6")
_BUDGETS = bag("max limit budget available threshold target remaining reserved window")
_STORING = bag("store storage session saver history service memory repository")
_CHAR_RATIO = re.compile(r"CHAR(ACTER)?S?_?PER_?TOKEN|BYTES?_?PER_?TOKEN|TOKENS?_?PER_?CHAR", re.I)
_MARKDOWN = re.compile(r"\.mdc?\b")
_SQLITE_URL = re.compile(r"^sqlite(\+\w+)?:")


def collect(root: Node, file: File) -> None:
    """Add the counting, storage and budget evidence of one file to its record."""
    where = _Where(file)
    _imports(file, where)
    for node in walk_all(root):
        match node.kind:
            case "call":
                _call(node, file, where)
            case "bin":
                _ratio(node, file, where)
            case "attr":
                _usage(node, file, where)
            case "index":
                _usage_key(node, file, where)
            case "str" | "fstr":
                _text(node, file, where)
            case "assign":
                _budget(node, file, where)
    _pluggable(file)
    _dictionaries(file)


class _Where:
    """Looks up the innermost function around a line."""

    def __init__(self, file: File) -> None:
        self.spans = sorted(
            ((f.line, f.end, f.symbol) for f in file.functions if f.name != "<module>"), key=lambda s: (s[0], -s[1])
        )

    def symbol(self, line: int) -> str:
        innermost = "<module>"
        for start, end, symbol in self.spans:
            if start > line:
                break
            if line <= end:
                innermost = symbol
        return innermost


def _note(target: list[Evidence], value: str, node: Node, where: _Where, why: str) -> None:
    if not any(e.value == value and e.line == node.line for e in target):
        target.append(Evidence(value, node.line, where.symbol(node.line), why))


def _imports(file: File, where: _Where) -> None:
    text = " ".join(sorted(file.references))
    for module, names, line in file.imports:
        if module.startswith("litellm") and "token_counter" in names:
            file.counting.append(Evidence("litellm_counter", line, where.symbol(line), "imports litellm.token_counter"))
        for full in (m.strip() for m in module.split(",")):
            inner = tuple(f"{full}.{n.strip()}" for n in names.split(",") if n.strip().isidentifier())
            counters, storages = libraries((full, *inner))
            for counter in counters:
                file.counting.append(Evidence(counter, line, where.symbol(line), f"imports {full}"))
            for name, needed in storages:
                if not needed or re.search(rf"\b{needed}", text, re.I):
                    file.storage.append(Evidence(name, line, where.symbol(line), f"imports {full}"))


def _call(node: Node, file: File, where: _Where) -> None:
    callee = dotted(node.kids[0])
    name = callee.rpartition(".")[2]
    owner = callee.rpartition(".")[0]
    low = name.lower()
    if callee == "require" and len(node.kids) == 2 and node.kids[1].kind == "str":
        _is_required(node, file, where)
    if (low in ("token_counter", "encode") and owner.endswith("litellm")) or (
        low == "token_counter" and not owner and any(m.startswith("litellm") for m, _, _ in file.imports)
    ):
        _note(file.counting, "litellm_counter", node, where, callee)
    elif low in _COUNT_CALLS and _is_provider(owner, file):
        _note(file.counting, "provider_count_api", node, where, callee)
    elif (low == "from_pretrained" and "okenizer" in owner) or low in (
        "create_pretrained_tokenizer",
        "apply_chat_template",
    ):
        _note(file.counting, "tokenizer_model", node, where, callee)
    elif low in ("encoding_for_model", "get_encoding", "encodingformodel", "getencoding"):
        _note(file.counting, "tiktoken", node, where, callee)
    elif low in ("dump", "dumps", "stringify") and owner in ("json", "JSON", "orjson", "ujson", "msgspec.json"):
        _json_file(node, file, where)
    elif name in ("StorageContext", "VectorStoreIndex", "load_index_from_storage"):
        _note(file.storage, "vector_index_files", node, where, callee)
    elif low in ("client", "resource") and owner.endswith(("boto3", "session", "Session")):
        for _, value in arguments(node)[:1]:
            if value.kind == "str" and value.text in ("s3", "dynamodb"):
                _note(file.storage, value.text, node, where, f"{callee}({value.text!r})")


def _is_required(node: Node, file: File, where: _Where) -> None:
    module = node.kids[1].text
    counters, storages = libraries((module,))
    for counter in counters:
        _note(file.counting, counter, node, where, f"requires {module}")
    for name, needed in storages:
        if not needed:
            _note(file.storage, name, node, where, f"requires {module}")


def _is_provider(owner: str, file: File) -> bool:
    """Return whether the receiver is a provider's client rather than an interface of the package itself."""
    parts = owner.split(".")
    if parts[-1] in ("messages", "models", "beta"):
        return True
    last = words.words(parts[-1])
    speaks = any(is_module(module, _PROVIDERS) for module, _, _ in file.imports)
    return speaks and bool(last) and last[-1] in ("client", "genai", "anthropic")


def _json_file(node: Node, file: File, where: _Where) -> None:
    """Record `json_files` if the function that serialises JSON also writes files."""
    symbol = where.symbol(node.line)
    for function in file.functions:
        if function.symbol == symbol and any(
            c.name in ("open", "write", "write_text", "writeFile", "writeFileSync", "write_bytes", "dump", "rename")
            or c.name.startswith(("write", "save", "_write"))
            for c in function.calls
        ):
            _note(file.storage, "json_files", node, where, spelled(node, 60))
            return


def _ratio(node: Node, file: File, where: _Where) -> None:
    """Record a token estimate, which is a length divided by a number of characters per token, or multiplied by its
    inverse."""
    if node.text not in ("/", "//", "*"):
        return
    left, right = node.kids
    measures = _measures(left)
    by_name = right.kind in ("name", "attr") and bool(_CHAR_RATIO.search(right.text))
    divisor = right.kind == "num" and right.text in _DIVISORS
    factor = right.kind == "num" and right.text in ("0.25", "0.3", "0.33", "0.4", "0.5", "1.3")
    if node.text == "*" and not factor:
        lengths = [
            k for k in walk(node)
            if (k.kind == "call" and last_name(k.kids[0]) == "len") or _is_length_name(k)
        ]  # fmt: skip
        lengths = [k for k in lengths if k.text != "len"]
        if len(lengths) >= 2 and any("token" in k.text.lower() for k in walk(node) if k.kind in ("name", "attr")):
            _note(file.counting, "length_estimate", node, where, spelled(node, 60))
        return
    by_name = by_name or (measures and any(k.kind == "name" and _CHAR_RATIO.search(k.text) for k in walk(right)))
    if (measures and (divisor or by_name or factor)) or (by_name and left.kind in ("name", "attr", "call")):
        symbol = where.symbol(node.line)
        near = f"{symbol} {file.path.rpartition('/')[2]}"
        if by_name or "token" in near.lower() or "estimate" in symbol.lower() or _assigns_tokens(node, file):
            _note(file.counting, "length_estimate", node, where, spelled(node, 60))


def _is_length_name(node: Node) -> bool:
    return node.kind == "name" and "len" in words.words(node.text)


def _measures(node: Node) -> bool:
    return any(
        (k.kind == "call" and last_name(k.kids[0]) in ("len", "byteLength"))
        or (k.kind in ("name", "attr") and {"chars", "length", "characters", "bytes"} & set(words.words(k.text)))
        for k in walk(node)
    )


def _assigns_tokens(node: Node, file: File) -> bool:
    """Return whether an assignment to a name about tokens starts on the same line."""
    return any(e.value == "assigned" and e.line == node.line for e in file.budget)


def _usage(node: Node, file: File, where: _Where) -> None:
    if node.text in _USAGE and (node.text.lower().startswith("usage") or "usage" in dotted(node.kids[0]).lower()):
        _note(file.counting, "api_usage", node, where, spelled(node, 60))


def _usage_key(node: Node, file: File, where: _Where) -> None:
    key = node.kids[1]
    if key.kind == "str" and key.text in _USAGE and "usage" in spelled(node.kids[0], 80).lower():
        _note(file.counting, "api_usage", node, where, spelled(node, 60))


def _text(node: Node, file: File, where: _Where) -> None:
    if _SQLITE_URL.match(node.text):
        _note(file.storage, "sqlite", node, where, repr(node.text[:40]))
    if len(node.text) < 80 and _MARKDOWN.search(node.text):
        near = set(words.words(node.text)) | set(words.words(where.symbol(node.line)))
        near |= set(words.words(file.path.rpartition("/")[2]))
        if near & NOTE_WORDS and "readme" not in near:
            _note(file.storage, "markdown_files", node, where, repr(node.text[:40]))


def _budget(node: Node, file: File, where: _Where) -> None:
    """Record assignments to names about tokens, in particular those that compute a share of a token budget."""
    target, value = node.kids
    name = last_name(target)
    name_words = set(words.words(name))
    if not name_words & {"token", "tokens", "budget"}:
        return
    _note(file.budget, "assigned", node, where, name)
    operators = {k.text for k in walk(value) if k.kind == "bin"}
    shares = {"*", "//", "/", "-"} & operators
    if shares and name_words & _BUDGETS:
        _note(file.budget, "share", node, where, spelled(node, 90))


def _pluggable(file: File) -> None:
    """Record parameters and fields that accept a user's token counter, except in files about splitting documents."""
    if {"chunker", "chunking", "splitter", "splitters", "retrievers"} & set(words.words(file.path)):
        return
    for function in file.functions:
        for param in function.params:
            _maybe_pluggable(file, param.name, param.annotation, function.line, function)
    for record in file.classes:
        for name, (annotation, _, line) in record.fields.items():
            _maybe_pluggable(file, name, annotation, line, None, record.name)


def _maybe_pluggable(
    file: File, name: str, annotation: str, line: int, function: Function | None, owner: str = ""
) -> None:
    callable_type = "Callable" in annotation or "=>" in annotation
    name_words = set(words.words(name))
    counts = name_words & {"tokenizer", "tokenize"} or (
        name_words & {"token", "tokens"}
        and name_words & {"count", "counter", "fn", "func", "estimate", "estimator", "len", "length"}
    )
    if callable_type and counts:
        symbol = function.symbol if function is not None else owner
        file.counting.append(Evidence("pluggable_callable", line, symbol, f"{name}: {annotation[:50]}"))


def _dictionaries(file: File) -> None:
    """Record `python_dict` for store classes that keep their records in a dictionary."""
    if file.language != "python":
        return
    for record in file.classes:
        name_words = set(words.words(record.name))
        simple = {"in", "memory"} <= name_words or name_words & {"simple", "dict", "local", "volatile", "ephemeral"}
        if not simple or not name_words & _STORING:
            continue
        for name, (annotation, value, line) in record.fields.items():
            if (
                annotation.lower().startswith(("dict", "defaultdict"))
                or value in ("dict()", "dict({})")
                or "dict(" in value
            ):
                file.storage.append(Evidence("python_dict", line, record.name, f"{name}: {annotation or value}"))
                break

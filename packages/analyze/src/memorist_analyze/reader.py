"""Extracts the facts of one lowered file: functions with their effects, classes, imports, references and evidence."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

from memorist_analyze import evidence, slots, words
from memorist_analyze.effects import Reader, is_vector_call
from memorist_analyze.flow import Scope
from memorist_analyze.guards import Guards
from memorist_analyze.origins import Origins, keywords_of
from memorist_analyze.parts import Sequences
from memorist_analyze.records import Call, Class, File, Function
from memorist_analyze.syntax import Head, Node, Unit, dotted, last_name, spelled, walk, walk_all

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_OUTDATED = words.bag("outdated duplicate duplicates dedup stale superseded")
_RANKED = words.bag("ranked ranking rank importance priority")
_PAIRED = re.compile(r"tool|function_?(call|result|exec)|observation", re.I)


def read(unit: Unit, package: str) -> File:
    """Return the facts of one file. For a file with parse errors, only `broken` is set, to the reason."""
    file = File(unit.path, unit.language, unit.lines, package)
    if unit.errors:
        file.broken = f"{unit.errors} of {unit.lines} lines unreadable"
        return file
    _references(unit.root, file)
    strings = _constants(unit.root, file)
    _definitions(unit.root, file, "", "", {}, strings)
    _function(unit.root, file, "<module>", "", Head("<module>", end_line=unit.lines), {}, strings)
    evidence.collect(unit.root, file)
    return file


def _references(root: Node, file: File) -> None:
    counts = file.references
    for node in walk_all(root):
        if node.kind in ("name", "attr") and node.text:
            counts[node.text] = counts.get(node.text, 0) + 1
        elif node.kind == "import":
            file.imports.append((node.text, node.note, node.line))
            for name in _IDENTIFIER.findall(node.note):
                counts[name] = counts.get(name, 0) + 1
        if node.kind == "pair" and node.kids and node.kids[0].kind == "attr" and node.kids[0].text == node.text:
            file.dispatched = file.dispatched | {node.text}  # a dispatch table from tool names to methods
        elif (node.kind == "str" and node.text.isidentifier()) or (node.kind == "pair" and node.text[:1].isupper()):
            # Lazy-import tables and registries refer to classes by strings, so strings count as references.
            counts[node.text] = counts.get(node.text, 0) + 1


def _constants(root: Node, file: File) -> dict[str, str]:
    strings: dict[str, str] = {}
    for node in root.kids:
        if node.kind == "assign" and node.kids[0].kind == "name":
            name, value = node.kids[0].text, node.kids[1]
            if value.kind in ("str", "fstr"):
                strings[name] = value.text[:400]
            if value.kind in ("num", "bin", "un") or (value.kind == "const" and name.isupper()):
                file.constants[name] = (spelled(value, 40), node.line)
    return strings


def _definitions(
    block: Node, file: File, prefix: str, owner: str, fields: dict[str, str], strings: dict[str, str]
) -> None:
    for node in _members(block):
        if node.kind == "class":
            _class(node, file, prefix, strings)
        elif node.kind == "func" and node.head is not None:
            symbol = f"{prefix}{node.text}"
            _function(node.kids[0] if node.kids else Node("block", node.line), file, symbol, owner, node.head, fields,
                      strings, node.line)  # fmt: skip
            if node.kids:
                _definitions(node.kids[0], file, f"{symbol}.", owner, fields, strings)


def _members(block: Node) -> list[Node]:
    """Return definitions inside a block, wherever they are nested, but not inside other definitions."""
    definitions: list[Node] = []
    stack = list(reversed(block.kids))
    while stack:
        node = stack.pop()
        if node.kind in ("func", "class"):
            definitions.append(node)
        else:
            stack.extend(reversed(node.kids))
    return definitions


def _class(node: Node, file: File, prefix: str, strings: dict[str, str]) -> None:
    block = node.kids[-1]
    bases = tuple(b for b in (last_name(k) or dotted(k) for k in node.kids[:-1] if k.kind != "kw") if b)
    record = Class(file.path, node.text, node.line, int(node.note or node.line), bases)
    for item in block.kids:
        if item.kind == "assign" and item.kids[0].kind == "name":
            record.fields[item.kids[0].text] = (item.note, spelled(item.kids[1], 60), item.line)
        elif item.kind == "other" and item.text == "type" and item.kids:
            continue
    for method in _members(block):
        if method.kind == "func" and method.text in ("__init__", "constructor") and method.kids:
            _own_fields(method, record)
    file.classes.append(record)
    typed = {name: annotation for name, (annotation, _, _) in record.fields.items()}
    _definitions(block, file, f"{prefix}{node.text}.", node.text, typed, strings)


def _own_fields(method: Node, record: Class) -> None:
    annotations = {p.name: p.annotation for p in method.head.params} if method.head else {}
    for item in walk(method.kids[0]):
        if item.kind == "assign" and item.kids[0].kind == "attr" and dotted(item.kids[0].kids[0]) == "self":
            name, value = item.kids[0].text, item.kids[1]
            note = item.note or (annotations.get(value.text, "") if value.kind == "name" else "")
            record.fields.setdefault(name, (note, spelled(value, 60), item.line))


def _function(
    body: Node,
    file: File,
    symbol: str,
    owner: str,
    head: Head,
    fields: dict[str, str],
    strings: dict[str, str],
    line: int = 1,
) -> None:
    scope = Scope(body, file.path, {p.name: p.annotation for p in head.params}, fields)
    guards = Guards(body, scope)
    record = Function(
        file.path, symbol, head.name, owner, line, head.end_line, head.params, head.returns, head.decorators
    )
    origins = Origins(scope)
    reader = Reader(scope, guards, strings, origins)
    record.effects = reader.read()
    record.guards = guards.seen
    marks: set[str] = set()
    for node in scope.nodes:
        if node.kind == "call":
            _call(node, record, guards, marks, scope, origins)
        elif node.kind == "handler" and node.text:
            record.exceptions.append(node.text)
        elif (node.kind == "return" and node.kids and _gives_messages(node.kids[0], scope)) or (
            node.kind == "assign" and node.kids[0].kind in ("attr", "slice") and scope.likeness(node.kids[0]) > 1
        ):
            marks.add("gives_messages")
    return_origins = [o for n in scope.nodes if n.kind == "return" for k in n.kids for o in origins.of(k)]
    record.returned = frozenset(return_origins)
    record.exposed_fields = frozenset(
        n.text
        for n in scope.nodes
        if n.kind == "attr"
        and n.kids[0].text in ("self", "this")
        and scope.likeness(n) > 0
        and scope.flow(n).partition(":")[0] in ("returned", "model", "prompt", "passed")
    )
    record.fates = {p.name: scope.fate(p.name) for p in head.params}
    record.slots = slots.hints(scope, symbol, {c.line for c in record.model_calls})
    parts = Sequences(scope, {c.line for c in (*record.model_calls, *record.likely_model_calls)})
    record.sent_parts, record.returned_parts, record.filled, record.handed = (
        parts.sent_parts,
        parts.returned_parts,
        parts.filled,
        parts.handed,
    )
    _marks(record, scope, marks)
    if reader.shortens_text():
        marks.add("shortens_text")
    if reader.written is not None:
        marks.add("writes_text")
    if (file.dispatched and head.name in file.dispatched) or any("tool" in words.words(d) for d in head.decorators):
        marks.add("dispatched")
    record.marks = frozenset(marks)
    record.shape = _shape(scope)
    file.functions.append(record)


def _is_of_messages(callee: Node, scope: Scope) -> bool:
    return scope.likeness(callee.kids[0]) > 1 or "messages" in words.words(callee.text)


def _gives_messages(value: Node, scope: Scope) -> bool:
    if value.kind == "dict":
        return any(p.kind == "pair" and words.name_likeness(p.text) > 1 for p in value.kids)
    if value.kind == "list" and value.text == "tuple":
        return any(scope.likeness(k) > 1 for k in value.kids)
    return scope.likeness(value) > 1


def _call(node: Node, record: Function, guards: Guards, marks: set[str], scope: Scope, origins: Origins) -> None:
    callee = dotted(node.kids[0])
    if not callee:
        return
    args = tuple(
        k.text for a in node.kids[1:] for k in walk(a) if k.kind in ("name", "attr") and k.text not in ("self", "len")
    )[:12]
    fed = frozenset(o for a in node.kids[1:] for o in origins.of(a))
    call = Call(callee, node.line, args, keywords_of(node), guards.of.get(id(node), ()), fed, id(node) in guards.loops)
    record.calls.append(call)
    if words.is_model_call(callee) and not callee.endswith(".create.bind"):
        record.model_calls.append(call)
    elif words.is_asked_like_a_model(callee, call.keywords):
        record.likely_model_calls.append(call)
    low = call.name.lower()
    removing = low.startswith(("remove", "delete", "drop", "prune", "evict", "archive"))
    if removing and node.kids[0].kind == "attr" and _is_of_messages(node.kids[0], scope):
        marks.add("removes_messages")
    vectors = is_vector_call(callee)
    if vectors:
        marks.add(f"vector_{vectors}")


def _marks(record: Function, scope: Scope, marks: set[str]) -> None:
    name_words = set(words.words(record.symbol))
    if words.SUMMARY.search(record.symbol):
        marks.add("summary_name")
    texts: dict[str, set[str]] = {}
    for node in scope.nodes:
        texts.setdefault(node.kind, set()).add(node.text)
    names = set().union(*(texts.get(kind, ()) for kind in ("name", "attr", "kw")))
    for text in names:
        marks |= _word_marks(text)
    if any(words.SUMMARY.search(text) for kind in ("str", "fstr") for text in texts.get(kind, ())):
        marks.add("summary_words")
    if any(_PAIRED.search(text[:60]) for kind in ("str", "pair") for text in texts.get(kind, ())):
        marks.add("minds_tools")
    if name_words & words.SCORE:
        marks.add("score_words")
    if any(scope.likeness(Node("name", 1, p.name)) > 1 for p in record.params):
        marks.add("takes_messages")
    if {"logger", "log", "telemetry"} & name_words:
        marks.add("logging")


@lru_cache(maxsize=65536)
def _word_marks(name: str) -> frozenset[str]:
    """Return what a name used in a function reveals about the function."""
    own = set(words.words(name))
    marks = {
        "dedup_words": own & _OUTDATED, "score_words": own & _RANKED, "minds_tools": _PAIRED.search(name[:60]),
        "summary_words": words.SUMMARY.search(name),
    }  # fmt: skip
    return frozenset(mark for mark, matches in marks.items() if matches)


@lru_cache(maxsize=65536)
def _bare(name: str) -> str:
    """Return a name in lower case without an async prefix."""
    return re.sub(r"^(_*)(async_?|a(?=[a-z_]{3}))", r"\1", name.lower())


def _shape(scope: Scope) -> str:
    """Return a fingerprint of the body that ignores async prefixes, so that async and blocking copies share it."""
    parts: list[str] = []
    for node in scope.nodes:
        if node.kind in ("name", "attr", "call", "slice", "assign", "if", "while", "for", "return"):
            parts.append(node.kind[0] + _bare(node.text))
    return f"{len(parts)}:{zlib.crc32('|'.join(parts).encode()):08x}" if len(parts) > 12 else ""

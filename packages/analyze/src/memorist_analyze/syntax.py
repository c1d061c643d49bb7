"""Defines the common syntax tree (intermediate representation) that Python, TypeScript and JavaScript are lowered
to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# Kinds of node and the meaning of their children:
#   name, str, num, const            text only
#   attr [object], text = attribute  call [callee, *args], text = "new" for constructors
#   kw [value], spread [value]       index [object, key]
#   slice [object, low, high]        bin, un, cmp, bool [operands], text = operator
#   fstr [*interpolated]             list [*items], text = list | tuple | set
#   dict [pair | spread ...]         pair [value], text = key
#   comp [element, target, iterable, *conditions]
#   lambda [body]                    cond [test, then, otherwise]
#   assign [target, value], text = operator, note = annotation
#   if [test, block, block]          while [test, block]     for [target, iterable, block]
#   try [block, handler ..., block]  handler [block], text = exception types
#   return, raise, del [values]      block [*statements]     jump, text = break | continue
#   func [block], head = Head        class [*bases, block], text = name, note = end line
#   import, text = module, note = comma-joined names
#   other [*children]


class Node:
    """Represents one node of the lowered tree."""

    __slots__ = ("head", "kids", "kind", "line", "note", "text")

    def __init__(self, kind: str, line: int, text: str = "", kids: list[Node] | None = None, note: str = "") -> None:
        self.kind = kind
        self.line = line
        self.text = text
        self.kids: list[Node] = [] if kids is None else kids
        self.note = note
        self.head: Head | None = None

    def __repr__(self) -> str:
        return f"{self.kind}:{self.text}({', '.join(map(repr, self.kids))})"


@dataclass(slots=True)
class Param:
    """Describes one parameter, with its name, annotation text and default value."""

    name: str
    annotation: str = ""
    default: str = ""


@dataclass(slots=True)
class Head:
    """Describes the signature of a function: its name, parameters, return annotation and decorators."""

    name: str
    params: list[Param] = field(default_factory=list)
    returns: str = ""
    decorators: list[str] = field(default_factory=list)
    end_line: int = 0


@dataclass(slots=True)
class Unit:
    """Represents one lowered source file. `errors` counts the lines that could not be parsed."""

    path: str
    language: str
    root: Node
    lines: int
    errors: int = 0


def walk(node: Node) -> Iterator[Node]:
    """Yield this node and every node below it, without entering nested functions or classes."""
    yield node
    stack = node.kids[::-1]
    while stack:
        top = stack.pop()
        if top.kind != "func" and top.kind != "class":
            yield top
            if top.kids:
                stack.extend(top.kids[::-1])


def walk_all(node: Node) -> Iterator[Node]:
    """Yield this node and every node below it, including nested definitions."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        if top.kids:
            stack.extend(top.kids[::-1])


def dotted(node: Node) -> str:
    """Return the dotted spelling of a name, attribute, call or subscript chain: `self.llm.chat`."""
    parts: list[str] = []
    current = node
    while True:
        if current.kind == "attr":
            parts.append(current.text)
            current = current.kids[0]
        elif current.kind == "name":
            parts.append(current.text)
            break
        elif current.kind in ("call", "index", "slice") and current.kids:
            current = current.kids[0]
        else:
            break
    parts.reverse()
    return ".".join(parts)


def last_name(node: Node) -> str:
    """Return the rightmost identifier of a callee or value: `chat` for `self.llm.chat`."""
    if node.kind in ("attr", "name"):
        return node.text
    if node.kind in ("call", "index", "slice") and node.kids:
        return last_name(node.kids[0])
    return ""


def arguments(call: Node) -> list[tuple[str, Node]]:
    """Return the arguments of a call as (keyword or empty, value)."""
    return [(a.text, a.kids[0]) if a.kind == "kw" else ("", a) for a in call.kids[1:]]


def spelled(node: Node, limit: int = 80) -> str:
    """Return an expression as readable text of at most `limit` characters, for evidence in reports."""
    text = _spell(node, 0)
    return text if len(text) <= limit else text[: limit - 1] + "…"


_SPELLED = {
    "attr": "{0}.{text}", "spread": "*{0}", "index": "{0}[{1}]", "slice": "{0}[{1}:{2}]", "un": "{text}{0}",
    "assign": "{0} {text} {1}", "none": "", "name": "{text}", "num": "{text}", "const": "{text}", "kw": "{text}={0}",
    "pair": "{text}={0}",
}  # fmt: skip


def _spell(node: Node, depth: int) -> str:
    if depth > 6:
        return "…"
    kids = [_spell(k, depth + 1) for k in node.kids]
    match node.kind:
        case "str" | "fstr":
            return ("f" if node.kind == "fstr" else "") + repr(node.text[:24])
        case "call":
            return f"{kids[0]}({', '.join(kids[1:])})"
        case "bin" | "cmp" | "bool" if len(kids) == 2:
            return f"{kids[0]} {node.text} {kids[1]}"
        case "list":
            return f"[{', '.join(kids)}]"
        case "del":
            return f"del {', '.join(kids)}"
        case kind if kind in _SPELLED and (kids or kind not in ("kw", "pair")):
            return _SPELLED[kind].format(*kids, text=node.text)
        case _:
            return node.text if node.kind in ("kw", "pair") else f"{node.kind}({', '.join(kids[:2])})"

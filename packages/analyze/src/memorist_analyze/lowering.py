"""Lowers tree-sitter's syntax trees to the common tree in `syntax.py`. This module contains the parts that both
languages share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tree_sitter import Node as Raw

from memorist_analyze.syntax import Node

Handler = Callable[[Raw], Node]


def text_of(raw: Raw | None) -> str:
    """Return the source text of a raw node, or an empty string."""
    data = raw.text if raw is not None else None
    return data.decode("utf-8", "replace") if data else ""


def line_of(raw: Raw) -> int:
    """Return the line of a raw node, counted from 1."""
    return raw.start_point[0] + 1


def field(raw: Raw, name: str) -> Raw | None:
    """Return a named child."""
    return raw.child_by_field_name(name)


class Grammar:
    """Defines how the nodes of one grammar are lowered, with a handler for each type, wrappers to unwrap, and types to
    skip."""

    def __init__(self, transparent: set[str], skipped: set[str], *, one_inside: bool) -> None:
        self.handlers: dict[str, Handler] = {}
        self._transparent, self.skipped, self._one_inside = transparent, skipped, one_inside

    def lower(self, raw: Raw) -> Node:
        """Lower one raw node and everything below it."""
        kind = raw.type
        handler = self.handlers.get(kind)
        if handler is not None:
            return handler(raw)
        if kind in self._transparent:
            inner = [c for c in raw.named_children if c.type not in self.skipped]
            if inner and (len(inner) == 1 or not self._one_inside):
                return self.lower(inner[0])
        return Node("other", raw.start_point[0] + 1, kind, self.below(raw))

    def below(self, raw: Raw) -> list[Node]:
        """Lower the children of a raw node."""
        return [self.lower(c) for c in raw.named_children if c.type not in self.skipped]

    def maybe(self, raw: Raw | None, line: int) -> Node:
        """Lower a node that may be absent."""
        return Node("none", line) if raw is None else self.lower(raw)

    def fields(self, raw: Raw, *names: str) -> list[Node]:
        """Lower some named children."""
        line = raw.start_point[0] + 1
        return [self.maybe(raw.child_by_field_name(name), line) for name in names]

    # -- handlers for nodes that need no code of their own

    def leaf(self, kind: str, text: str = "") -> Handler:
        """Return a node with its text and no children."""
        return lambda raw: Node(kind, raw.start_point[0] + 1, text or text_of(raw))

    def listed(self, kind: str, text: str = "") -> Handler:
        """Return a node with all its children."""
        return lambda raw: Node(kind, raw.start_point[0] + 1, text, self.below(raw))

    def build(self, kind: str, *names: str, text: str = "", label: str = "") -> Handler:
        """Return a node with the named children. Its text is fixed, or comes from the child `label`."""

        def make(raw: Raw) -> Node:
            node_text = text_of(raw.child_by_field_name(label)) if label else text
            return Node(kind, raw.start_point[0] + 1, node_text, self.fields(raw, *names))

        return make

    def handle(self, handler: Handler, types: str) -> None:
        """Use a handler for the given types, which are passed as words."""
        self.handlers.update(dict.fromkeys(types.split(), handler))


def spread(grammar: Grammar) -> Handler:
    """Lower `*values` and `...values`."""
    return lambda raw: Node("spread", line_of(raw), "", grammar.below(raw) or [Node("none", line_of(raw))])


def texts(raws: Iterable[Raw]) -> list[str]:
    """Return the source texts of the given raw nodes."""
    return [text_of(raw) for raw in raws]

"""Finds guards, which are the kinds of conditions that a statement depends on (control dependence).

The kinds are `token_count`, `message_count`, `char_count` and `overflow_error`.
"""

from __future__ import annotations

from memorist_analyze import words
from memorist_analyze.flow import Scope
from memorist_analyze.syntax import Node, last_name, walk

_LEAVING = ("return", "jump")  # not `raise`: a text that raises an error is refused, not shortened


def classify(test: Node, scope: Scope) -> list[str]:
    """Return the guard kinds of a condition, in the order of its comparisons and calls."""
    kinds: list[str] = []
    for node in walk(test):
        if node.kind == "cmp" and any(op in node.text for op in ("<", ">")):
            kind = _comparison(node, scope)
            if kind and kind not in kinds:
                kinds.append(kind)
        elif node.kind == "call":
            kind = _predicate(node, scope)
            if kind and kind not in kinds:
                kinds.append(kind)
    return kinds


def _comparison(node: Node, scope: Scope) -> str:
    if scope.speaks_of_tokens(node):
        return "token_count"
    if any(kid.kind == "num" and kid.text in ("0", "1") for kid in node.kids):
        return ""  # a test for emptiness, no limit
    names = {w for item in walk(node) if item.kind in ("name", "attr") for w in words.words(item.text)}
    for item in walk(node):
        if item.kind == "call" and last_name(item.kids[0]) == "len" and len(item.kids) > 1:
            return "message_count" if scope.likeness(item.kids[1]) > 0 else "char_count"
    counted = scope.length_names | scope.position_names
    if any(item.kind == "name" and item.text in counted for item in walk(node)):
        return "message_count"
    if names & words.CHARS:
        return "char_count"
    if names & {"count", "window", "messages", "turns", "events", "keep"} and names & (words.LIMITS | {"size", "keep"}):
        return "message_count"
    return ""


def _predicate(node: Node, scope: Scope) -> str:
    """Return the guard kind of a predicate call, by its name: `is_context_overflow(error)`."""
    name = last_name(node.kids[0])
    name_words = set(words.words(name))
    if words.OVERFLOW.search(name) and name_words & {"is", "error", "exceeded", "exception"}:
        return "overflow_error"
    if words.TOKENS & name_words and name_words & {"exceeds", "exceed", "over", "too", "fits", "within", "should"}:
        return "token_count"
    return ""


class Guards:
    """Holds the guards of every node of a function (`of`) and the innermost loop around it (`loops`), both by node
    id."""

    def __init__(self, body: Node, scope: Scope) -> None:
        self.scope = scope
        self.of: dict[int, tuple[str, ...]] = {}
        self.loops: dict[int, Node] = {}
        self.seen: list[tuple[str, int]] = []
        self._visit(body, (), None)

    def _visit(self, node: Node, guards: tuple[str, ...], loop: Node | None) -> None:
        self.of[id(node)] = guards
        if loop is not None:
            self.loops[id(node)] = loop
        if node.kind == "block":
            self._block(node, guards, loop)
        elif node.kind == "if":
            kinds = self._kinds(node.kids[0])
            self._visit(node.kids[0], guards, loop)
            for branch in node.kids[1:]:
                self._visit(branch, _join_kinds(kinds, guards), loop)
        elif node.kind in ("while", "cond"):
            kinds = self._kinds(node.kids[0])
            around = node if node.kind == "while" else loop
            for kid in node.kids:
                self._visit(kid, _join_kinds(kinds, guards), around)
        elif node.kind == "for":
            self._visit(node.kids[0], guards, loop)
            self._visit(node.kids[1], guards, loop)
            self._visit(node.kids[2], guards, node)
        elif node.kind == "handler":
            kinds = ["overflow_error"] if words.OVERFLOW.search(node.text) else []
            for kid in node.kids:
                self._visit(kid, _join_kinds(kinds, guards), loop)
        else:
            for kid in node.kids:
                if kid.kind not in ("func", "class"):
                    self._visit(kid, guards, loop)

    def _block(self, node: Node, guards: tuple[str, ...], loop: Node | None) -> None:
        current = guards
        for kid in node.kids:
            if kid.kind in ("func", "class"):
                continue
            self._visit(kid, current, loop)
            # After `if small_enough: return`, the rest of the block depends on the condition too.
            if kid.kind == "if" and kid.kids[1].kids and kid.kids[1].kids[-1].kind in _LEAVING:
                current = _join_kinds(self._kinds(kid.kids[0]), current)

    def _kinds(self, test: Node) -> list[str]:
        kinds = classify(test, self.scope)
        self.seen.extend((kind, test.line) for kind in kinds if (kind, test.line) not in self.seen)
        return kinds


def _join_kinds(kinds: list[str], guards: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kinds) + tuple(g for g in guards if g not in kinds)

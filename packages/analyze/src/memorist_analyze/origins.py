"""Tracks the origins of values inside one function, like taint tracking: the parameters, calls and model answers that a
value comes from. The analysis is flow-insensitive. Assignments, unpacking, loops and `append` add to the origins of a
name, in any order, until nothing changes (at most three rounds). This is precise enough to say "this text comes from
that call".
"""

from __future__ import annotations

from memorist_analyze import words
from memorist_analyze.flow import Scope
from memorist_analyze.syntax import Node, dotted, last_name, walk
from memorist_analyze.words import bag

MODEL = "model"
_MEASURING = bag("len count size length bool isinstance type hash id any all sum min max print range typeof")
_SIZES = bag("len count size length isinstance")
_GROWING = bag("append extend push unshift insert add set update appendleft")
_MAX_ORIGINS = 16


def keywords_of(call: Node) -> tuple[str, ...]:
    """Return the keyword argument names of a call, including the keys of a trailing options object."""
    names = tuple(a.text for a in call.kids[1:] if a.kind == "kw")
    if call.kids[1:] and call.kids[-1].kind == "dict":
        names += tuple(p.text for p in call.kids[-1].kids if p.kind == "pair")
    return names


def asks_model(call: Node) -> bool:
    """Return whether a call goes to a language model, judging by the callee's name or by its keyword arguments."""
    callee = dotted(call.kids[0])
    if not callee or callee.endswith(".create.bind"):
        return False
    return words.is_model_call(callee) or words.is_asked_like_a_model(callee, keywords_of(call))


class Origins:
    """Holds the origins of one function's values: `model`, `call:NAME` and `param:NAME`. `names` contains what was
    assigned to a name, and `grown` contains what was added to its list or dict.
    """

    def __init__(self, scope: Scope) -> None:
        self.names: dict[str, frozenset[str]] = {p: frozenset((f"param:{p}",)) for p in scope.params}
        self.grown: dict[str, frozenset[str]] = {}
        self._asked = {id(n): asks_model(n) for n in scope.nodes if n.kind == "call"}
        moves = [n for n in scope.nodes if n.kind in ("assign", "for", "call", "comp")]
        for _ in range(3):
            before = (dict(self.names), dict(self.grown))
            for node in moves:
                self._move(node)
            if (self.names, self.grown) == before:
                break

    def model_call_ids(self) -> set[int]:
        """Return the ids of the nodes that are model calls."""
        return {key for key, is_model_call in self._asked.items() if is_model_call}

    def _move(self, node: Node) -> None:
        if (node.kind == "assign" and len(node.kids) == 2) or node.kind == "for":
            self._give(node.kids[0], self.of(node.kids[1], grown=False), self.names)
        elif node.kind == "comp":
            self._give(node.kids[1], self.of(node.kids[2], grown=False), self.names)
        elif node.kind == "call" and node.kids[0].kind == "attr" and node.kids[0].text.lower() in _GROWING:
            added = frozenset(o for a in node.kids[1:] for o in self.of(a))
            self._give(node.kids[0].kids[0], added, self.grown)

    def _give(self, target: Node, origins: frozenset[str], origins_by_name: dict[str, frozenset[str]]) -> None:
        if not origins:
            return
        for name in _targets(target):
            self._hold(name, origins, origins_by_name)
            root = name.partition(".")[0]
            if root != name and root not in ("self", "this", "cls"):
                # A local object contains everything assigned to its fields.
                self._hold(root, origins, self.grown)

    def _hold(self, name: str, origins: frozenset[str], origins_by_name: dict[str, frozenset[str]]) -> None:
        previous = origins_by_name.get(name, frozenset())
        if not origins <= previous and len(previous) < _MAX_ORIGINS:
            origins_by_name[name] = previous | origins

    def of(self, value: Node, *, grown: bool = True) -> frozenset[str]:
        """Return the origins of a value. With `grown`, they include those of values that were added to the lists in
        it."""
        origins: set[str] = set()
        stack = [value]
        while stack:
            node = stack.pop()
            if node.kind == "name":
                origins |= self._origins_of_name(node.text, grown)
                continue
            if node.kind == "attr":
                origins |= self._origins_of_name(dotted(node), grown)
            elif node.kind == "call":
                if _measures(node.kids[0]):
                    continue
                if self._asked.get(id(node)):
                    origins.add(MODEL)
                else:
                    callee = dotted(node.kids[0])
                    if callee:
                        origins.add(f"call:{callee}")
            elif node.kind == "cmp" or node.kind in ("func", "class"):
                continue
            stack.extend(node.kids)
        return frozenset(sorted(origins)[:_MAX_ORIGINS] if len(origins) > _MAX_ORIGINS else origins)

    def _origins_of_name(self, name: str, grown: bool) -> frozenset[str]:
        direct = self.names.get(name, frozenset())
        return direct | self.grown[name] if grown and name in self.grown else direct


def _measures(callee: Node) -> bool:
    """Return whether a call turns its arguments into a number or a boolean. `Promise.all(…)` returns its arguments."""
    name = last_name(callee).lower()
    return name in _MEASURING and (callee.kind == "name" or name in _SIZES or dotted(callee).startswith("Math."))


def _targets(target: Node) -> list[str]:
    if target.kind == "name":
        return [target.text]
    if target.kind == "attr":
        return [dotted(target)]
    if target.kind in ("index", "slice"):
        return _targets(target.kids[0])
    return [k.text for k in walk(target) if k.kind == "name"]

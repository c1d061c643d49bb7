"""Defines the base class of the effect readers, which handles value origins, names of summaries, and the recording of
effects."""

from __future__ import annotations

import re

from memorist_analyze import words
from memorist_analyze.flow import Scope
from memorist_analyze.guards import Guards
from memorist_analyze.origins import MODEL, Origins
from memorist_analyze.records import Effect
from memorist_analyze.syntax import Node, dotted, last_name, spelled, walk


class EffectBase:
    """Holds the data-flow facts of one function and the effects found so far. An *effect* is something that the
    function does to a list of messages or to the content of a message (`records.Effect`).
    """

    def __init__(self, scope: Scope, guards: Guards, strings: dict[str, str], origins: Origins) -> None:
        self.scope = scope
        self.guards = guards
        self.strings = strings
        self.origins = origins
        self.effects: list[Effect] = []
        self.model_names = {n.rpartition(".")[2] for n, name_origins in origins.names.items() if MODEL in name_origins}
        self.summary_names = self._summary_names()
        self.shortened_names = {
            n.kids[0].text
            for n in scope.nodes
            if n.kind == "assign" and n.kids[0].kind == "name" and self.marker(n.kids[1]) == "shortened"
        }

    def _add(
        self,
        kind: str,
        node: Node,
        subject: Node,
        likeness: int,
        flow: str = "",
        *marks: str,
        fed: frozenset[str] = frozenset(),
    ) -> None:
        self.effects.append(
            Effect(
                kind,
                node.line,
                dotted(subject) or spelled(subject, 40),
                likeness,
                spelled(node),
                flow,
                self.guards.of.get(id(node), ()),
                frozenset(marks),
                fed,
            )
        )

    def branches(self, node: Node) -> list[tuple[int, int]]:
        """Return the `if` statements around a node, each with the number of the branch that contains it."""
        branches: list[tuple[int, int]] = []
        current, around = node, self.scope.parent(node)
        while around is not None:
            if around.kind == "if" and current is not around.kids[0]:
                branches.append((id(around), next(at for at, kid in enumerate(around.kids) if kid is current)))
            current, around = around, self.scope.parent(around)
        return branches

    def _summary_names(self) -> set[str]:
        """Return local names that contain a summary, or a value derived from one in two rounds of assignments."""
        names: set[str] = set()
        for _ in range(2):
            for node in self.scope.nodes:
                if node.kind != "assign" or node.text != "=" or node.kids[0].kind != "name":
                    continue
                if self._tells_summary(node.kids[1], names):
                    names.add(node.kids[0].text)
        return names

    def _tells_summary(self, value: Node, names: set[str]) -> bool:
        """Return whether a value is a summary, judging by the call or names that produce it."""
        if value.kind in ("item", "spread", "list", "bin", "cond", "bool", "dict", "pair", "kw", "attr") and value.kids:
            if value.kind == "attr" and words.SUMMARY.search(value.text):
                return True
            return any(self._tells_summary(k, names) for k in value.kids)
        if value.kind == "name":
            planned = {"to", "should", "idx", "index", "count", "enabled"} & set(words.words(value.text))
            return value.text in names or bool(words.SUMMARY.search(value.text) and not planned)
        if value.kind == "fstr":
            return bool(words.SUMMARY.search(value.text)) or any(self._tells_summary(k, names) for k in value.kids)
        if value.kind == "call":
            callee = last_name(value.kids[0])
            callee_words = set(words.words(callee))
            if words.SUMMARY.search(callee) and not callee_words & {"should", "is", "needs", "has"}:
                return True
            makes = callee[:1].isupper() or callee_words & {
                "message",
                "msg",
                "build",
                "make",
                "new",
                "create",
                "dict",
                "wrap",
            }
            if any(k.kind == "name" and "summary" in words.words(k.text) for k in value.kids[1:]):
                return "count" not in callee_words and "tokens" not in callee_words
            return bool(makes) and any(self._tells_summary(k, names) for k in value.kids[1:])
        return False

    def _tells(self, value: Node) -> list[str]:
        marks = ["model_value"] if self._from_model(value) else []
        if self._tells_summary(value, self.summary_names):
            marks.append("summary_value")
        return marks if value.kind in ("dict", "call", "name") else []

    def _from_model(self, part: Node) -> bool:
        return any(
            (k.kind in ("name", "attr") and k.text in self.model_names)
            or (k.kind == "call" and words.is_model_call(dotted(k.kids[0])))
            for k in walk(part)
        )

    def _fate(self, owner: Node) -> str:
        return "replaced" if owner.kind != "name" else self.scope.fate(owner.text)

    def marker(self, value: Node) -> str:
        """Return `marker` for a notice ("[truncated]"), `shortened` for a truncating call, or an empty string."""
        for item in walk(value):
            state = item.text.isidentifier() and item.text.islower()  # a single lower-case word is the name of a state
            is_text = item.kind in ("str", "fstr") and len(item.text) < 400 and not state
            if is_text and words.MARKER.search(item.text):
                return "marker"
            if item.kind in ("name", "attr"):
                text = self.strings.get(item.text, "")
                if text and words.MARKER.search(text):
                    return "marker"
                named = {"truncated", "placeholder", "masked", "elided", "redacted"} & set(words.words(item.text))
                if named and not (item.kind == "attr" and item.kids[0].text in self.scope.elements):
                    return "marker"  # a field of the message itself is no notice in its place
            if item.kind == "call" and re.search(r"truncat|elide|shorten|redact|mask", last_name(item.kids[0]), re.I):
                return "shortened"
        return ""

"""Effects on the content of messages: cut, masked, moved elsewhere, or left to the provider."""

from __future__ import annotations

import re

from recollect.analyze import words
from recollect.analyze.effect_base import EffectBase
from recollect.analyze.syntax import Node, dotted
from recollect.analyze.words import bag

_HIDDEN = re.compile(r"masked|omitted|truncated|redacted|elided|cleared|removed", re.I)
_CUT = re.compile(r"truncated|head|tail|preview|prefix", re.I)
_NOTICE = re.compile(r"notice|marker|ellipsis|suffix|truncat.*(message|text|note)", re.I)
_PUTTING = bag("put store save write write_text write_bytes upload writeFile set")


class ContentEffects(EffectBase):
    """Finds content that is shortened, hidden or stored elsewhere."""

    def _content(self, node: Node, target: Node, value: Node) -> None:
        """Content of one message replaced by a marker or a shortened text."""
        field = target.text if target.kind == "attr" else ""
        if target.kind == "index" and target.kids[1].kind == "str":
            field = target.kids[1].text
        owner = target.kids[0] if target.kids else target
        root = dotted(owner).split(".")[0]
        if target.kind == "name" and target.text in ("result", "output", "observation", "content"):
            told = value.kind in ("str", "fstr") and _HIDDEN.search(value.text)
            if node.text == "=" and (told or (value.kind == "name" and value.text == "marker")):
                self._add("content", node, target, 2, "stored", "marker")
            return
        if field not in ("content", "text", "output", "result", "parts", "value", "response", "data"):
            return
        if root in self.scope.elements or self.scope.likeness(owner) > 0 or words.words(root)[-1:] == ("message",):
            mark = self.marker(value)
            if mark:
                self._add("content", node, target, 2, "stored", mark)

    def _copied_content(self, node: Node) -> None:
        """`{ ...block, content: shortened }`: a copy of a message whose content was cut."""
        if not any(k.kind == "spread" for k in node.kids):
            return
        for pair in node.kids:
            if pair.kind == "pair" and pair.text in ("content", "text", "output", "result", "parts") and pair.kids:
                value = pair.kids[0]
                if self.marker(value) or (value.kind == "name" and value.text in self.shortened_names):
                    self._add("content", pair, value, 2, self.scope.flow(node), "copied")
                    return

    def _shortened(self, node: Node) -> None:
        """A text built of a head, a marker and perhaps a tail."""
        if node.text != "+" or (around := self.scope.parent(node)) is None or around.kind == "bin":
            return
        pieces = _flat(node)
        cut = [p for p in pieces if p.kind == "slice" or (p.kind == "name" and _CUT.search(p.text))]
        says = [
            p for p in pieces
            if (p.kind in ("str", "fstr") and words.MARKER.search(p.text))
            or (p.kind in ("name", "attr") and _NOTICE.search(p.text))
        ]  # fmt: skip
        if cut and says:
            self._add("shortened", node, cut[0], 0, self.scope.flow(node))

    def _provider(self, node: Node, keywords: list[tuple[str, Node]]) -> None:
        for key, value in keywords:
            if (key in ("context_management", "contextManagement") and value.kind in ("dict", "list")) or (
                key == "truncation" and value.kind == "str" and value.text == "auto"
            ):
                self._add("provider", node, value, 1, "model")

    def _offload(self) -> None:
        """A result written to a store, with a preview or reference put where it was."""
        names = {n.text.lower() for n in self.scope.nodes if n.kind in ("name", "attr")}
        left = any({"preview", "placeholder", "reference", "references"} & set(words.words(n)) for n in names)
        tools = any({"tool", "result", "results"} & set(words.words(n)) for n in names)
        if not (left and tools):
            return
        for node in self.scope.nodes:
            if node.kind == "call" and node.kids[0].kind == "attr" and node.kids[0].text in _PUTTING:
                owner = set(words.words(dotted(node.kids[0].kids[0])))
                if owner & {"storage", "store", "artifact", "artifacts", "files", "fs", "offload", "blob", "backend"}:
                    self._add("offload", node, node.kids[0].kids[0], 1, "stored")
                    return


def _flat(node: Node) -> list[Node]:
    if node.kind == "bin" and node.text == "+":
        return [p for k in node.kids for p in _flat(k)]
    return [node]

"""Finds effects of summaries, which are stored in a field, put into a cleared list, or replace a message's content."""

from __future__ import annotations

from memorist_analyze import words
from memorist_analyze.effect_base import EffectBase
from memorist_analyze.origins import MODEL
from memorist_analyze.syntax import Node, dotted, last_name, walk
from memorist_analyze.words import bag

_CLEARING = bag("clear reset delete_messages clear_messages clear_memory clear_history reset_messages "
                      "clear_chat_history reset_history delete_all clearmessages clearhistory")  # fmt: skip
_REFILLING = bag(
    "append extend insert add set put push update_memory add_message add_messages set_messages write_record "
    "write_records save add_user_message add_ai_message append_message record_message replace_messages set_history "
    "sethistory addmessage addhistory update aadd_messages aset put_messages"
)


def _clears(name: str) -> bool:
    """Return whether a name says that something is emptied, such as `clear_session` or `deleteAllMessages`."""
    name_words = words.words(name)
    return name_words[:1] in (("clear",), ("delete",), ("reset",), ("wipe",), ("purge",)) and bool(
        set(name_words[1:]) & (words.STRONG | {"all", "session", "memory", "memories", "items", "records", "chat"})
    )


def _same_things(clearing: str, filling: str) -> bool:
    """Return whether two names refer to the same object, as `clear_user_memories` and `upsert_user_memory` do."""
    left, right = ({w.removesuffix("ies").removesuffix("s").removesuffix("y") for w in words.words(n)[1:]}
                   for n in (clearing, filling))  # fmt: skip
    return len(left & right) > 0 and bool((left & right) - {"all"})


def _refills(name: str) -> bool:
    """Return whether a name says that something is added or stored."""
    return name in _REFILLING or words.words(name)[:1] in (("add",), ("append",), ("insert",), ("upsert",), ("save",))


class SummaryEffects(EffectBase):
    """Finds summaries that replace messages; lists rebuilt from a summary are found in `effects.py`."""

    def _is_kept(self, part: Node) -> bool:
        inner = part.kids[0] if part.kind == "spread" else part
        if inner.kind == "name":
            return self.scope.likeness(inner) > 0 or bool(
                {"tail", "recent", "remaining", "kept", "keep", "rest"} & set(words.words(inner.text))
            )
        return inner.kind in ("slice", "comp", "attr") and self.scope.likeness(inner) > 0

    def _summary_field(self, node: Node, target: Node, value: Node) -> None:
        """Record `self.summary = self.summarize(self.messages)`. The rules check elsewhere whether it replaces the
        messages."""
        makes_object = value.kind == "call" and last_name(value.kids[0])[:1].isupper()
        if target.kind != "attr" or not words.SUMMARY.search(target.text) or makes_object:
            return
        if node.text != "=" or (value.kind == "bin" and any(dotted(k) == dotted(target) for k in _pieces(value))):
            return  # a text that grows while it is streamed
        fed = any(self.scope.likeness(k) > 1 for k in walk(value) if k.kind in ("name", "attr"))
        value_origins = self.origins.of(value, grown=False)
        is_summary = MODEL in value_origins or self._tells_summary(value, self.summary_names)
        if is_summary and (fed or any(not o.startswith("param:") for o in value_origins)):
            marks = [
                "summary_value",
                *(["given_away"] if self._is_draft(target) else []),
            ]
            self._add("summary_field", node, target, 2, "stored", *marks, fed=value_origins)

    def _is_draft(self, target: Node) -> bool:
        """Return whether a field belongs to a local object that is only written out, and not to the object that the
        function works on.
        """
        root = dotted(target).partition(".")[0]
        if root in ("self", "this", "cls") or root in self.scope.params or root in self.scope.elements:
            return False
        begun = [
            n.kids[1].kind
            for n in self.scope.nodes
            if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text == root
        ]
        return begun == ["dict"] and self.scope.fate(root).partition(":")[0] in ("read", "prompt")

    def _summary_aside(self) -> None:
        """Record a function that stores a summary in a field and cuts the summarised list in another assignment."""
        summaries = [
            n for n in self.scope.nodes
            if n.kind == "assign" and n.kids[0].kind == "attr" and words.SUMMARY.search(n.kids[0].text)
            and (self._from_model(n.kids[1]) or self._tells_summary(n.kids[1], self.summary_names))
        ]  # fmt: skip
        if not summaries:
            return
        for node in self.scope.nodes:
            if node.kind != "assign" or node.text != "=" or node.kids[0].kind not in ("attr", "slice"):
                continue
            target, value = node.kids
            like = max(self.scope.likeness(target), self.scope.likeness(value))
            stands = like > 1 and target.kind == "attr" and not words.SUMMARY.search(target.text)
            if stands and (self._empties(node) or any(self._is_kept(p) for p in parts_of(value))):
                self._add("rebuild", node, target, like, "replaced", "summary_value")
                return

    def _empties(self, node: Node) -> bool:
        """Return whether an assignment empties a stored message list, or replaces it with a name or slice."""
        target, value = node.kids
        empty = value.kind == "list" and not value.kids and value.text == "list"
        is_kept_part = value.kind in ("name", "slice") and node.text == "="
        return (empty or is_kept_part) and target.kind == "attr" and self.scope.likeness(target) > 1

    def _clear_and_refill(self) -> None:
        cleared: tuple[Node, Node] | None = None
        for node in self.scope.nodes:
            if node.kind == "assign" and self._empties(node):
                cleared = (node, node.kids[0])
            if node.kind != "call":
                continue
            name = last_name(node.kids[0]).lower()
            owner = node.kids[0].kids[0] if node.kids[0].kind == "attr" else node.kids[0]
            if name in _CLEARING or _clears(name):
                likely = self.scope.likeness(owner)
                memory = set(words.words(dotted(node.kids[0]))) & (words.STRONG | {"memory", "memories", "chat"})
                if likely or memory or (self.scope.place and dotted(owner) == "self" and name == "reset"):
                    cleared = (node, owner)
                    self._add("clear", node, owner, max(2 if memory else 1, likely), "stored")
            elif cleared is not None and _refills(name) and self._follows(node, cleared[0]):
                is_summary = any(self._tells_summary(a, self.summary_names) for a in node.kids[1:])
                same = dotted(owner).split(".")[:2] == dotted(cleared[1]).split(".")[:2]
                same = same or (is_summary and dotted(owner) == dotted(cleared[1]).rpartition(".")[0])
                same = same or (cleared[0].kind == "call" and _same_things(last_name(cleared[0].kids[0]), name))
                if same or self.scope.likeness(owner) or "memory" in words.words(name):
                    values = [k for a in node.kids[1:] for k in walk(a) if k.kind in ("name", "attr")]
                    marks = ["summary_value"] if is_summary else []
                    if same:
                        marks.append("same_owner")
                    if self._one_for_each(node):
                        marks.append("one_for_each")
                    if any(k.text in self.model_names for k in values):
                        marks.append("model_value")
                    fed = frozenset(o for a in node.kids[1:] for o in self.origins.of(a))
                    if set(marks) - {"one_for_each"} or cleared[0].kind == "call":
                        self._add("refill", cleared[0], cleared[1], 2, "stored", *marks, fed=fed)
                    if set(marks) - {"same_owner", "one_for_each"}:
                        return

    def _follows(self, node: Node, before: Node) -> bool:
        """Return whether a node runs after another one, that is, it comes later and is not in the other branch of the
        same `if`."""
        if node.line <= before.line:
            return False
        branches = dict(self.branches(before))
        return all(branches.get(key, branch) == branch for key, branch in self.branches(node))

    def _one_for_each(self, node: Node) -> bool:
        """Return a loop that creates one element per item, which means that the list is built anew and was not
        emptied."""
        return self.guards.loops.get(id(node)) is not None and any(k.kind in ("dict", "call") for k in node.kids[1:])


def _pieces(value: Node) -> list[Node]:
    """Return the operands of a sum of texts, including those of `old or ""` inside it."""
    return [p for k in value.kids for p in _pieces(k)] if value.kind in ("bin", "bool", "cond") else [value]


def parts_of(value: Node) -> list[Node]:
    """Return the pieces of a list expression, which are the same for `[a] + b` and `[a, *b]`.

    Single items become `item` nodes.
    """
    if value.kind == "bin" and value.text == "+":
        return [p for k in value.kids for p in parts_of(k)]
    if value.kind == "list" and value.text == "list":
        return [k if k.kind == "spread" else Node("item", k.line, "", [k]) for k in value.kids]
    if value.kind == "call" and len(value.kids) == 2 and last_name(value.kids[0])[:1].isupper():
        inner = value.kids[1].kids[0] if value.kids[1].kind == "kw" else value.kids[1]
        return parts_of(inner) if inner.kind in ("bin", "list") else [value]
    return [value]

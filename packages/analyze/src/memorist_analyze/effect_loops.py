"""Finds effects of loops that remove or collect messages until a token or message limit is reached."""

from __future__ import annotations

from memorist_analyze import words
from memorist_analyze.effect_base import EffectBase
from memorist_analyze.origins import MODEL
from memorist_analyze.syntax import Node, dotted, last_name, walk


class LoopEffects(EffectBase):
    """Finds loops that choose the messages for a window of tokens or messages."""

    def _loop(self, node: Node) -> None:
        if node.kind == "while":
            self._trim_loop(node)
        self._fill_loop(node)

    def _trim_loop(self, node: Node) -> None:
        """Record `while tokens > limit:` with a removal in its body."""
        kinds = [k for k in self.guards.of.get(id(node.kids[1]), ()) if k in ("token_count",)]
        test_is_tokens = self.scope.speaks_of_tokens(node.kids[0])
        if not kinds or not test_is_tokens:
            return
        for item in walk(node.kids[1]):
            trimmed = self._trimmed_list(item)
            if trimmed is not None:
                marks = ["in_loop", *(["after_asking"] if self._is_answer(node, trimmed) else [])]
                self._add(
                    "token_trim", item, trimmed, max(1, self.scope.likeness(trimmed)), self._fate(trimmed), *marks
                )
                return

    def _is_answer(self, loop: Node, trimmed: Node) -> bool:
        """Return whether the trimmed list is local and contains a model's answer, with no model call after it."""
        if dotted(trimmed).startswith(("self.", "this.")) or MODEL not in self.origins.of(trimmed):
            return False
        model_call_ids = self.origins.model_call_ids()
        around = self.guards.loops.get(id(loop))
        again = around is not None and any(id(k) in model_call_ids for k in walk(around))
        return not again and all(n.line < loop.line for n in self.scope.nodes if id(n) in model_call_ids)

    def _trimmed_list(self, item: Node) -> Node | None:
        if item.kind == "call" and item.kids[0].kind == "attr":
            method_words = set(words.words(item.kids[0].text))
            if method_words & {"clear", "remove", "drop", "delete", "pop", "evict"} and method_words & words.STRONG:
                return Node("attr", item.line, "messages", item.kids[0].kids)  # the method is named for the list
            removed = [
                k for k in item.kids[1:] if k.kind == "name" and method_words & {"remove", "delete", "evict", "drop"}
            ]
            if removed and words.words(removed[0].text)[:1] in (("message",), ("msg",), ("oldest",), ("turn",)):
                return Node("name", item.line, "messages")  # a method of the store removes one message
            name = item.kids[0].text.lower()
            if name in ("pop", "popleft", "splice", "remove", "delete", "removemessage"):
                owner = item.kids[0].kids[0]
                return owner if self.scope.likeness(owner) else None
        if item.kind == "del" and item.kids and item.kids[0].kind in ("index", "slice"):
            owner = item.kids[0].kids[0]
            return owner if self.scope.likeness(owner) else None
        if item.kind == "slice" and self.scope.likeness(item.kids[0]):
            around = self.scope.parent(item)
            if around is not None and around.kind == "assign":
                return item.kids[0]
        return None

    def _fill_loop(self, node: Node) -> None:
        """Record a loop that adds up tokens and stops at a limit."""
        iterable = node.kids[1] if node.kind == "for" else node.kids[0]
        adds = tokens = stops = False
        gathered: list[Node] = []
        body = node.kids[2] if node.kind == "for" else node.kids[1]
        for item in walk(body):
            if (
                item.kind == "assign"
                and item.text in ("+=", "-=")
                and (
                    self.scope.speaks_of_tokens(item)
                    or (item.kids[0].kind == "name" and item.kids[0].text in self.scope.token_names)
                )
            ):
                adds = True
            elif item.kind == "assign" and item.text == "=" and item.kids[1].kind == "bin":
                total = item.kids[0]
                adds = adds or (total.kind == "name" and total.text in self.scope.token_names)
            elif item.kind == "cmp" and any(op in item.text for op in ("<", ">")):
                tokens = tokens or self.scope.speaks_of_tokens(item)
            elif item.kind == "jump" and item.text == "break":
                stops = True
            elif item.kind == "call" and last_name(item.kids[0]).lower() in (
                "append",
                "insert",
                "unshift",
                "add",
                "set",
            ):
                gathered.append(item)
        if node.kind == "while" and self.scope.speaks_of_tokens(node.kids[0]):
            tokens = stops = True
        if not (adds and tokens) or not (stops or gathered):
            return
        subject = self._loop_subject(iterable, body)
        if subject is None:
            return
        marks = ["in_loop"]
        if self._is_backwards(node, iterable, body):
            marks.append("backwards")
        if stops:
            marks.append("stops")
        line = gathered[-1] if gathered else node
        fate = "read"
        for item in gathered:
            owner = item.kids[0].kids[0] if item.kids[0].kind == "attr" else item.kids[0]
            fate = "stored" if owner.kind == "attr" else fate
            if owner.kind == "name":
                verdict = self.scope.fate(owner.text)
                fate = verdict if fate == "read" else fate
            if "summar" in owner.text.lower():
                marks.append("for_summary")
        if gathered:
            marks.append("gathers")
            if all(len(g.kids) > 1 and _is_id(g.kids[-1]) for g in gathered):
                marks.append("ids_only")
        self._add("token_fill", line, subject, self.scope.likeness(subject), fate, *marks)

    def _loop_subject(self, iterable: Node, body: Node) -> Node | None:
        best: Node | None = None
        for item in list(walk(iterable)) + list(walk(body)):
            if item.kind in ("name", "attr") and self.scope.likeness(item) > (
                self.scope.likeness(best) if best is not None else 0
            ):
                best = item
        return best

    def _is_backwards(self, node: Node, iterable: Node, body: Node) -> bool:
        if node.text == "down":
            return True
        for item in walk(iterable):
            if item.kind == "call" and last_name(item.kids[0]) == "reversed":
                return True
            if item.kind == "slice" and item.text == "step":
                return True
            if item.kind == "call" and last_name(item.kids[0]) == "range" and len(item.kids) == 4:
                return True
        return any(
            (k.kind == "call" and last_name(k.kids[0]).lower() in ("insert", "unshift"))
            or (k.kind == "assign" and k.text == "-=" and k.kids[1].kind == "num")
            for k in walk(body)
        )


def _is_id(value: Node) -> bool:
    """Return whether a value is an id or an index of a message (`message.id`, `call.tool_call_id`), not a message."""
    last = words.words(last_name(value))[-1:]
    return value.kind in ("attr", "index", "name") and last in (("id",), ("ids",), ("index",), ("idx",), ("i",))

"""Finds effects on the content of messages, which is truncated, masked, offloaded to a store, or left to the provider
to shorten."""

from __future__ import annotations

import re
from functools import cached_property

from memorist_analyze import words
from memorist_analyze.effect_base import EffectBase
from memorist_analyze.flow import unwrapped
from memorist_analyze.syntax import Node, arguments, dotted, last_name, spelled, walk
from memorist_analyze.words import bag

_FIELDS = bag(
    "content contents text output result parts value response data observation body payload outputs stdout stderr "
    "tool_result tool_output toolresult message_content original_content result_for_assistant"
)
_ONE_WORDS = bag("message msg entry event turn step part block node item chunk observation m e result output response")
_ONE_TYPES = re.compile(
    r"\b\w*(Message|Msg|Content|Part|Event|Turn|Step|Block|Observation|ToolResult|Result|Item)\w*\b"
)
_RECORD_TYPES = re.compile(r"([Dd]ict|(Mutable)?Mapping|Record|Any|object|unknown)\b")
_COPYING = bag("copy deepcopy model_copy clone structuredclone replace _replace evolve with_content dict cast")
_WRITING_VERBS = bag("write awrite save asave upload aupload output put")
_WRITTEN = bag("text bytes file blob object string artifact content")
_FINDING = bag("find index search match exec finditer start end position boundary")
_DOING = bag("handle run call execute invoke dispatch send perform")
_PUTTING = bag("put store save write set upload create awrite asave aput add")
_KEEPERS = bag(
    "storage store artifact artifacts files fs offload blob backend filesystem workspace sandbox bucket cache file disk"
)
_SAVED = re.compile(
    r"\b(sav(ed|ing)|stored|written|wrote|offload\w*|persist\w*|moved|spill\w*|retriev\w*|artifact|full "
    r"(output|result|content|"
    r"text|response|log|version)|complete (output|result)|read (it|the file)|see )\b",
    re.I,
)


class ContentEffects(EffectBase):
    """Finds message content that is truncated, masked or offloaded."""

    def prepare_content(self) -> None:
        """Collect the names that contain one message or part of one (`ones`), and those that contain a truncated
        text."""
        self.has_slices = any(n.kind == "slice" for n in self.scope.nodes)
        self.ones = set(self.scope.elements)
        for name, annotation in self.scope.params.items():
            listed = words.LIST_TYPES.search(annotation)
            is_single = bool(set(words.words(name)[-1:]) & _ONE_WORDS) and not listed
            if is_single and (not annotation or _ONE_TYPES.search(annotation) or _RECORD_TYPES.match(annotation)):
                self.ones.add(name)
        self.cut_names: set[str] = set()
        for _ in range(2):
            for node in self.scope.nodes:
                if node.kind != "assign" or node.kids[0].kind != "name" or node.text not in ("=", "+="):
                    continue
                target, value = node.kids
                if self._is_one(value):
                    self.ones.add(target.text)
                cut = self.text_cuts(value) or (value.kind == "call" and self._is_joined_cut(value))
                if cut or (value.kind in ("fstr", "bin") and self._mentions_cut(value)):
                    self.cut_names.add(target.text)

    def _mentions_cut(self, value: Node) -> bool:
        return any(k.kind == "name" and k.text in self.cut_names for k in walk(value))

    def _is_one(self, value: Node) -> bool:
        """Return whether a value is a single message, which is an element of a message list or a copy of one."""
        if value.kind == "name":
            return value.text in self.ones
        if value.kind == "index":
            return self.scope.likeness(value.kids[0]) > 1 and value.kids[1].kind != "str"
        if value.kind == "dict":
            return any(k.kind == "spread" and self._is_one(k.kids[0]) for k in value.kids)
        if value.kind == "call" and last_name(value.kids[0]).lower() in _COPYING:
            inner = value.kids[1:] or []
            owner = value.kids[0].kids[0] if value.kids[0].kind == "attr" else None
            return any(self._is_one(k) for k in inner[:1]) or (owner is not None and self._is_one(owner))
        return False

    def text_cuts(self, value: Node) -> list[Node]:
        """Return the slices inside a value that cut a text to a length."""
        return [k for k in walk(value) if k.kind == "slice" and self._is_text_cut(k)] if self.has_slices else []

    def _is_text_cut(self, node: Node) -> bool:
        if node.kind != "slice" or node.text == "step" or self.scope.likeness(node.kids[0]) > 0:
            return False
        low, high = node.kids[1:3]
        bounds = [b for b in (low, high) if b.kind not in ("none",) and b.text != "0"]
        if not bounds or any(self._is_search_result(b) for b in bounds) or self._drops_prefix(low, high):
            return False
        if high.kind == "un" and high.text == "-":
            return False  # `text[:-2]` removes an ending, whatever the length
        if low.kind != "none" and low.text != "0" and high.kind != "none":
            return False  # `text[at : at + size]` is one of several pieces that add up to the whole text
        return all(b.kind not in ("num", "str") or (b.text.isdigit() and int(b.text) >= 40) for b in bounds)

    def _is_search_result(self, bound: Node) -> bool:
        """Return whether a bound comes from a search, so that the slice takes a text apart instead of fitting it to a
        size."""
        bound_origins = {o for k in walk(bound) if k.kind == "name" for o in self.origins.names.get(k.text, ())}
        bound_origins |= self.origins.of(bound)
        return any(o.startswith("call:") and _takes_apart(o.rpartition(".")[2]) for o in bound_origins)

    def _drops_prefix(self, low: Node, high: Node) -> bool:
        """Return whether a slice is `text[n:]`, which removes a prefix, and not `text[-n:]`."""
        if high.kind != "none":
            return False
        return not any(
            (k.kind == "un" and k.text == "-") or (k.kind == "bin" and k.text == "-") for k in walk(low)
        ) and (low.kind != "name" or not self._is_counted_from_end(low.text))

    def _is_counted_from_end(self, name: str) -> bool:
        return any(
            k.kind in ("bin", "un") and k.text == "-"
            for n in self.scope.nodes
            if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text == name
            for k in walk(n.kids[1])
        )

    def _is_joined_cut(self, value: Node) -> bool:
        return last_name(value.kids[0]) in ("join", "concat") and bool(self.text_cuts(value))

    def shrunk(self, value: Node) -> list[str]:
        """Return the ways in which a value may be shorter than the one it replaces.

        The ways are `marker`, `shortened`, `cut`, `const`, `blanked` and `call`. `call` means that a helper (`by:NAME`)
        computed the value; only its summary (`summaries.py`) shows whether that helper shortens text.
        """
        marks: list[str] = []
        marker = self.marker(value)
        if marker:
            marks.append(marker)
        if self.text_cuts(value) or self._mentions_cut(value):
            marks.append("cut")
        if self._is_constant(value):
            marks.append("const")
        if value.kind == "comp" and self._leaves_parts_out(value):
            marks.append("cut")
        for item in self._pieces(value):
            blanks = item.kind == "call" and last_name(item.kids[0]) in ("sub", "replace", "replaceAll")
            if blanks and any(k.kind == "str" and k.text == "" for k in item.kids[1:]):
                marks.append("blanked")
            if item.kind == "call" and not last_name(item.kids[0])[:1].isupper():
                marks.extend(("call", f"by:{dotted(item.kids[0])}"))
            if item.kind == "name" and any(o.startswith("call:") for o in self.origins.names.get(item.text, ())):
                marks.append("call")
        return list(dict.fromkeys(marks))

    def _pieces(self, value: Node) -> list[Node]:
        """Return the nodes of a value, including those of values that were assigned or added to its names."""
        names = {k.text for k in walk(value) if k.kind == "name"}
        assigned = [n.kids[1] for n in self.scope.nodes if n.kind == "assign" and dotted(n.kids[0]) in names]
        assigned += [
            a for n in self.scope.nodes
            if n.kind == "call" and n.kids[0].kind == "attr" and n.kids[0].text in ("append", "extend", "unshift")
            and dotted(n.kids[0].kids[0]) in names
            for a in n.kids[1:]
        ]  # fmt: skip
        return [k for v in (value, *assigned) for k in walk(v)]

    def _leaves_parts_out(self, value: Node) -> bool:
        """Return whether a value contains the parts of one message except those of a certain kind: `[p for p in
        m.content if p.type != "image"]`.
        """
        owner = unwrapped(value.kids[2])
        of_one = owner.kind in ("attr", "index") and dotted(owner).partition(".")[0] in self.ones
        return of_one and any(
            k.kind == "cmp" and k.text in ("!=", "not in") and any(v.kind == "str" for v in walk(k))
            for test in value.kids[3:]
            for k in walk(test)
        )

    def _is_constant(self, value: Node) -> bool:
        """Return whether a value is a fixed text, such as a literal, an upper-case constant, or a list or dict of
        these."""
        if value.kind == "str":
            return len(value.text) >= 8
        if value.kind == "name":
            return value.text.isupper() and len(value.text) > 3
        if value.kind == "list" and len(value.kids) == 1:
            return self._is_constant(value.kids[0])
        if value.kind == "dict":
            texts = [
                p.kids[0] for p in value.kids if p.kind == "pair" and p.text in ("text", "content", "output") and p.kids
            ]
            return bool(texts) and all(self._is_constant(t) for t in texts)
        return False

    def _content(self, node: Node, target: Node, value: Node) -> None:
        """Record an assignment that replaces the content of one message with a notice or a shortened text."""
        field = target.text if target.kind == "attr" else ""
        if target.kind == "index" and target.kids[1].kind == "str":
            field = target.kids[1].text
        if field.lower() not in _FIELDS or node.text != "=":
            return
        owner = target.kids[0] if target.kids else target
        root = dotted(owner).split(".")[0]
        if root == "self" or (owner.kind == "name" and owner.text == "this"):
            return
        if root in self.ones or self.scope.likeness(owner) > 0:
            marks = self.shrunk(value)
            if marks and not self._only_read_copy(root) and not self._holds_whole(value, target, field):
                self._add(
                    "content", node, target, 2, "stored", *marks, *self._loop_marks(node), fed=self.origins.of(value)
                )

    def _holds_whole(self, value: Node, target: Node, field: str) -> bool:
        """Return whether a value contains all of the old content, wrapped or extended: `[Text(m.content)]`."""
        if value.kind in ("list", "kw", "dict", "pair", "item", "fstr", "bool") or (
            value.kind == "bin" and value.text == "+"
        ):
            return any(self._holds_whole(k, target, field) for k in value.kids)
        if value.kind == "call" and last_name(value.kids[0])[:1].isupper():
            return any(self._holds_whole(k, target, field) for k in value.kids[1:])
        if value.kind == "call" and last_name(value.kids[0]) == "get":
            owner, keys = value.kids[0].kids[0], value.kids[1:2]
            return dotted(owner) == dotted(target.kids[0]) and any(k.text == field for k in keys)
        return value.kind in ("attr", "index") and spelled(value) == spelled(target)

    def _only_read_copy(self, name: str) -> bool:
        """Return whether a name is a copy of a message that is only read afterwards, such as a copy for the log."""
        assigned = [
            n.kids[1] for n in self.scope.nodes
            if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text == name
        ]  # fmt: skip
        copied = any(v.kind == "call" and last_name(v.kids[0]).lower() in _COPYING for v in assigned)
        return copied and len(assigned) == 1 and self.scope.fate(name) == "read"

    def _loop_marks(self, node: Node) -> list[str]:
        return ["in_loop"] if self.guards.loops.get(id(node)) is not None else []

    def _record_notice_instead(self, node: Node, target: Node, value: Node) -> None:
        """Record `result = "[left out]"` if the same name contains the result of a call earlier or in another
        branch."""
        if target.kind != "name" or node.text != "=" or target.text.lower() not in _FIELDS:
            return
        holds_result = any(
            o.startswith("call:")
            for n in self.scope.nodes
            if n.kind == "assign" and n.text == "=" and n is not node and _holds(n.kids[0], target.text)
            for o in self.origins.of(n.kids[1], grown=False)
        )
        named = words.words(target.text)[-1] in ("result", "results", "output", "outputs", "observation", "response")
        if holds_result and named and value.kind in ("str", "fstr") and self.marker(value):
            self._add("content", node, target, 2, "stored", "marker", "instead")

    def _record_flagged_cut(self, node: Node) -> None:
        """Record `{ output: text.slice(0, limit), truncated: true }`, which is a truncated text with a field that says
        so."""
        is_flagged = any(
            p.kind == "pair" and {"truncated", "omitted", "clipped"} & set(words.words(p.text)) for p in node.kids
        )
        cuts = [c for p in node.kids if is_flagged and p.kind == "pair" for c in self.text_cuts(p)]
        cuts += [
            k for p in node.kids if is_flagged and p.kind == "pair" for k in p.kids
            if k.kind == "name" and k.text in self.cut_names
        ]  # fmt: skip
        if cuts:
            subject = cuts[0].kids[0] if cuts[0].kind == "slice" else cuts[0]
            self._add("shortened", node, subject, 0, self.scope.flow(node), "marker", fed=self.origins.of(node))

    def _record_chosen_content(self, key: str, value: Node) -> None:
        """Record `output: part.old ? "[cleared]" : part.output`, in which a notice replaces the content."""
        if key.lower() not in _FIELDS or value.kind != "cond":
            return
        notices = [k for k in value.kids[1:] if k.kind in ("str", "fstr") and self.marker(k)]
        keeps_field = any(k.kind == "attr" and k.text.lower() in _FIELDS for b in value.kids[1:] for k in walk(b))
        if notices and keeps_field:
            self._add("content", value, notices[0], 2, self.scope.flow(value), "copied", "marker")

    def _record_copied_content(self, node: Node) -> None:
        """Record `{ ...block, content: shortened }`, which is a copy of a message with shorter content.

        `{ content, ...(failed ? { status } : {}) }` copies nothing, and `data: part.data` copies all of the content.
        """
        if not any(k.kind == "spread" and k.kids[0].kind not in ("cond", "bool", "dict") for k in node.kids):
            return
        for pair in node.kids:
            if pair.kind == "pair" and pair.text.lower() in _FIELDS and pair.kids:
                value = pair.kids[0]
                whole = value.kind == "attr" and value.text == pair.text
                marks = [] if whole else self.shrunk(value)
                spreads_message = any(k.kind == "spread" and self._is_one(_root(k.kids[0])) for k in node.kids)
                if marks:
                    likeness = 2 if spreads_message else 1 + self.scope.place
                    flow, fed = self.scope.flow(node), self.origins.of(value)
                    self._add(
                        "content", pair, value, likeness, flow, "copied", *marks, *self._loop_marks(pair), fed=fed
                    )
                    return

    def _record_copy_by_call(self, node: Node) -> None:
        """Record `message.model_copy(update={"content": short})` and `replace(message, content=short)`."""
        if last_name(node.kids[0]).lower() not in _COPYING or not self._is_one(node):
            return
        pairs = [(k, v) for k, v in arguments(node) if k]
        for _, value in list(arguments(node)):
            if value.kind == "dict":
                pairs.extend((p.text, p.kids[0]) for p in value.kids if p.kind == "pair" and p.kids)
        for key, value in pairs:
            if key.lower() in _FIELDS and (marks := self.shrunk(value) or self._marks_of_field(value)):
                flow = self.scope.flow(node)
                self._add("content", node, value, 2, flow, "copied", *marks, fed=self.origins.of(value))
                return

    def _record_mapping(self, node: Node, owner: Node, element: Node, new_element: Node) -> None:
        """Record `[shorter(m) for m in messages]`, in which a helper creates each message. `World` knows what the
        helper does."""
        names = {k.text for k in walk(element) if k.kind == "name"}
        helpers = [
            k for k in self._results(new_element)
            if k.kind == "call" and any(a.kind == "name" and a.text in names for _, a in arguments(k))
        ]  # fmt: skip
        called = frozenset(
            f"call:{name}" for k in helpers
            if (name := dotted(k.kids[0])) and not _DOING & set(words.words(last_name(k.kids[0]))[:1])
        )  # fmt: skip
        if called and self.scope.likeness(owner) > 1:
            self._add("mapped", node, owner, 2, self.scope.flow(node), "copied", fed=called)

    def _results(self, expression: Node) -> list[Node]:
        """Return the possible results of an expression, or of the function that a list is mapped through."""
        if expression.kind == "lambda" and expression.text == "block":
            return [r for k in walk(expression) if k.kind == "return" for v in k.kids for r in self._results(v)]
        if expression.kind in ("lambda", "cond", "bool"):
            return [r for k in expression.kids for r in self._results(k)]
        if expression.kind == "name":
            return [
                n.kids[1] for n in self.scope.nodes
                if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text == expression.text
            ]  # fmt: skip
        return [expression]

    def _put_back(self, node: Node, target: Node, value: Node) -> None:
        """Record `messages[i] = shorter(messages[i])`, in which a helper creates one message."""
        if target.kind != "index" or value.kind != "call" or self.scope.likeness(target.kids[0]) < 2:
            return
        own = dotted(target.kids[0])
        same = any(a.kind == "index" and dotted(a.kids[0]) == own for _, a in arguments(value))
        name = dotted(value.kids[0])
        if name and (same or any(self._is_one(a) for _, a in arguments(value))):
            marks = ["copied", *self._loop_marks(node)]
            self._add("mapped", node, target.kids[0], 2, "stored", *marks, fed=frozenset((f"call:{name}",)))

    def _marks_of_field(self, value: Node) -> list[str]:
        """Return `["const"]` if the new content is a field of the object, such as a configured placeholder."""
        return ["const"] if value.kind == "attr" and dotted(value.kids[0]) in ("self", "this") else []

    def _masking_loop(self, node: Node) -> None:
        """Record a loop that copies a message list and replaces the content of some messages with a fixed text or a
        notice."""
        if node.kind != "for" or self.scope.likeness(unwrapped(node.kids[1])) == 0:
            return
        names = {k.text for k in walk(node.kids[0]) if k.kind == "name"}
        added = [
            n for n in walk(node.kids[-1])
            if n.kind == "call" and last_name(n.kids[0]) in ("append", "push", "unshift") and len(n.kids) == 2
        ]  # fmt: skip
        whole = any(self._passes_on(n.kids[1], names) for n in added)
        for item in added:
            value = item.kids[1]
            if value.kind not in ("call", "dict"):
                continue
            pairs = arguments(value) if value.kind == "call" else [(p.text, p.kids[0]) for p in value.kids if p.kids]
            texts = [
                v for k, v in pairs if (not k or k.lower() in _FIELDS) and v.kind in ("str", "fstr", "name", "attr")
            ]
            marked = any(self.marker(t) == "marker" for t in texts)
            if whole and (marked or any(self._is_constant(t) for t in texts)):
                how = "marker" if marked else "const"
                self._add("content", item, node.kids[1], 2, "returned", how, "copied", "in_loop")
                return

    def _passes_on(self, value: Node, names: set[str]) -> bool:
        """Return whether a value is an unchanged message or a copy of one. A converter, by contrast, creates every
        message anew."""
        if value.kind == "dict":
            return any(k.kind == "spread" and _root(k.kids[0]).text in names for k in value.kids)
        return (value.kind == "name" and value.text in names) or self._is_one(value)

    def _record_shortened(self, node: Node) -> None:
        """Record a text that consists of a truncated head, a notice and optionally a tail. Error messages do not
        count."""
        if (node.kind == "bin" and node.text != "+") or self._says_what_failed(node):
            return
        if (around := self.scope.parent(node)) is None or (around.kind == "bin" and around.text == "+"):
            return
        pieces = list(node.kids) if node.kind == "fstr" else _flat(node)
        cut = [p for p in pieces if self.text_cuts(p) or (p.kind == "name" and p.text in self.cut_names)]
        says = [p for p in pieces if p.kind in ("str", "fstr") and len(p.text.strip()) >= 3]
        says += [p for p in pieces if p.kind in ("name", "attr") and (p.text.isupper() or self._is_notice(p.text))]
        if node.kind == "fstr" and len(node.text.strip()) >= 3:
            says.append(node)
        if cut and says:
            inside = [c for p in cut for c in self.text_cuts(p)]
            subject = inside[0].kids[0] if inside else cut[0]
            markers = (
                ["marker"] if any(self.marker(p) == "marker" for p in (node, *self._texts_assigned_to(says))) else []
            )
            flow = self.scope.flow(node)
            if node.kind == "fstr" and flow == "prompt":
                flow = "read"
            self._add(
                "shortened", node, subject, 0, flow, *markers, *self._marks_of_names(around), fed=self.origins.of(node)
            )

    def _marks_of_names(self, around: Node) -> list[str]:
        """Return marks for the names under which a new text is passed on, such as `as:shown` if it is only shown."""
        names: list[str] = []
        assignment = around
        while (
            assignment.kind == "assign" and assignment.kids[0].kind == "name" and assignment.kids[0].text not in names
        ):
            names.append(assignment.kids[0].text)
            onward = [
                n for n in self.scope.nodes
                if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text not in names
                and any(k.kind == "name" and k.text == names[-1] for k in walk(n.kids[1]))
                and not any(k is assignment for k in walk(n.kids[1]))
            ]  # fmt: skip
            if len(onward) != 1:
                break
            assignment = onward[0]
        return [f"as:{name}" for name in names]

    def _says_what_failed(self, node: Node) -> bool:
        """Return whether a text is created in the handler of an exception other than an overflow."""
        around = self.scope.parent(node)
        while around is not None and around.kind != "handler":
            around = self.scope.parent(around)
        return around is not None and "overflow_error" not in self.guards.of.get(id(node), ())

    def _is_notice(self, name: str) -> bool:
        """Return whether a local name contains a text that the function itself wrote."""
        return bool(self._texts_assigned_to([Node("name", 0, name)]))

    def _texts_assigned_to(self, pieces: list[Node]) -> list[Node]:
        """Return the texts that the function itself assigns to the names among the given pieces."""
        names = {p.text for p in pieces if p.kind == "name"}
        return [
            n.kids[1] for n in self.scope.nodes
            if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text in names
            and n.kids[1].kind in ("str", "fstr") and len(n.kids[1].text.strip()) >= 3
        ]  # fmt: skip

    def shortens_text(self) -> bool:
        """Return whether the function returns one of its text parameters cut to a length."""
        text_params = {
            p for p, a in self.scope.params.items() if a in ("", "str", "string", "unknown", "any", "Any") or "str" in a
        }
        for node in self.scope.nodes:
            if node.kind != "return":
                continue
            values = [node.kids[0]] if node.kids else []
            names = {k.text for v in values for k in walk(v) if k.kind == "name"} & self.cut_names
            cuts = [c for v in values for c in self.text_cuts(v)]
            cuts += [
                c for n in self.scope.nodes
                if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text in names
                for c in self.text_cuts(n.kids[1])
            ]  # fmt: skip
            if any(self._comes_from_param(c.kids[0], text_params) for c in cuts):
                return True
        return False

    def _comes_from_param(self, text: Node, text_params: set[str]) -> bool:
        return any(o[6:] in text_params for o in self.origins.of(text) if o.startswith("param:"))

    @cached_property
    def written(self) -> Node | None:
        """Return the first call that writes a parameter, or the result of a call, to a file or store."""
        for node in self.scope.nodes:
            if node.kind != "call" or len(node.kids) < 2:
                continue
            name = last_name(node.kids[0]).lower()
            owner = set(words.words(dotted(node.kids[0]).rpartition(".")[0]))
            if name == "add" and (around := self.scope.parent(node)) is not None and around.kind == "block":
                continue  # adds to a set; a store would return the location of the text
            own = words.words(last_name(node.kids[0]))
            is_write = (
                (bool(set(own[:1]) & _WRITING_VERBS) and bool(set(own[1:]) & _WRITTEN))
                or (name in _PUTTING and bool(owner & _KEEPERS))
                or (
                    name == "write" and (len(node.kids) > 2 or bool(owner & {"f", "file", "fh", "fp", "handle", "out"}))
                )
            )
            if is_write and any(o.startswith(("param:", "call:")) for a in node.kids[1:] for o in self.origins.of(a)):
                return node
        return None

    def _provider(self, node: Node, keywords: list[tuple[str, Node]]) -> None:
        for key, value in keywords:
            if (key in ("context_management", "contextManagement") and value.kind in ("dict", "list")) or (
                key == "truncation" and value.kind == "str" and value.text == "auto"
            ):
                self._add("provider", node, value, 1, "model")

    def _offload(self) -> None:
        """Record offloading, in which a text is written elsewhere and replaced by a note or a preview."""
        notes = [
            n for n in self.scope.nodes
            if n.kind in ("fstr", "str") and len(n.text) > 8 and _SAVED.search(n.text)
            and not _is_logged(self.scope.parent(n)) and not self._only_raised(n)
        ]  # fmt: skip
        inserted_notes = [
            n for n in notes if n.kind == "fstr" or (p := self.scope.parent(n)) is None or p.kind in ("bin", "list")
        ]
        written = self.written
        where = self._says_where(written) if written is not None else False
        if written is not None and (inserted_notes or where):
            marks = ["noted", *(["says_where"] if where else []), *(["optional"] if self._is_optional(written) else [])]
            self._add("offload", written, written.kids[0], 1, "stored", *marks, fed=self.origins.of(written))
        elif inserted_notes:
            marks = ["noted", "through_helper", *(["optional"] if self._is_optional(inserted_notes[0]) else [])]
            self._add("offload", inserted_notes[0], inserted_notes[0], 1, self.scope.flow(inserted_notes[0]), *marks)
        elif written is not None and self.cut_names:
            self._add("offload", written, written.kids[0], 1, "stored", "preview", fed=self.origins.of(written))

    def _only_raised(self, node: Node) -> bool:
        """Return whether a text ends up in an exception, directly or through the only name that contains it."""
        current, around = node, self.scope.parent(node)
        while around is not None and around.kind in ("list", "bin", "fstr", "attr", "call", "kw"):
            current, around = around, self.scope.parent(around)
        if around is None or around.kind != "assign" or around.kids[0].kind != "name" or around.kids[0] is current:
            return around is not None and around.kind == "raise"
        uses = [n for n in self.scope.uses.get(around.kids[0].text, []) if n is not around.kids[0]]
        return bool(uses) and all(self._only_raised(n) for n in uses)

    def _says_where(self, written: Node) -> bool:
        """Return whether the remaining text names the place written to, which is the first argument or the owner."""
        callee = written.kids[0]
        destination = written.kids[1] if len(written.kids) > 2 else callee.kids[0] if callee.kind == "attr" else callee
        names = {k.text for k in walk(destination) if k.kind == "name"} - {"self", "fs", "path", "os"}
        names |= {destination.text} if destination.kind == "name" else set()
        texts = [n for n in self.scope.nodes if n.kind == "fstr" and n.line >= written.line]
        return any(
            k.kind == "name" and k.text in names
            for n in texts
            if not _is_logged(self.scope.parent(n)) and self.scope.flow(n) not in ("read", "passed:Error")
            for k in walk(n)
        )

    def _is_optional(self, saved: Node) -> bool:
        """Return whether the text is cut even if it is not saved, because it is saved in a branch after the cut."""
        cuts = [n for n in self.scope.nodes if self._is_text_cut(n)]
        inside = {key for key, _ in self.branches(saved)}
        outside = [c for c in cuts if c.line < saved.line and inside - {key for key, _ in self.branches(c)}]
        return bool(cuts) and len(outside) == len(cuts)


def _takes_apart(name: str) -> bool:
    """Return whether a function searches for a position in a text. A cut at the last line end before a limit still
    counts as a cut to a size.
    """
    name_words = set(words.words(name))
    return bool(name_words & _FINDING and "last" not in name_words) or "split" in name_words


def _is_logged(around: Node | None) -> bool:
    """Return whether a text is written to a log, the console or an exception."""
    if around is None:
        return False
    if around.kind == "raise":
        return True
    name = dotted(around.kids[0]).lower() if around.kind == "call" and around.kids else ""
    return bool(re.search(r"log|warn|debug|print|error|info|exception|console", name))


def _holds(target: Node, name: str) -> bool:
    return any(k.kind == "name" and k.text == name for k in walk(target))


def _root(node: Node) -> Node:
    while node.kind == "attr" and node.kids:
        node = node.kids[0]
    return node


def _flat(node: Node) -> list[Node]:
    if node.kind == "bin" and node.text == "+":
        return [p for k in node.kids for p in _flat(k)]
    return [node]

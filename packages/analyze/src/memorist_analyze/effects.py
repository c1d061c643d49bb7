"""Finds the effects of one function, in a pass over its syntax tree that records what it does to lists of messages.

`Reader` combines the readers of content, lists, loops and summaries (`effect_*.py`). The rules (`rules.py`) decide
which effects are evictions.
"""

from __future__ import annotations

import re

from memorist_analyze import words
from memorist_analyze.effect_content import ContentEffects
from memorist_analyze.effect_lists import ListEffects
from memorist_analyze.effect_loops import LoopEffects
from memorist_analyze.effect_summaries import SummaryEffects, parts_of
from memorist_analyze.flow import unwrapped
from memorist_analyze.records import Effect
from memorist_analyze.syntax import Node, arguments, dotted, last_name, spelled, walk
from memorist_analyze.words import bag

_REMOVED = re.compile(
    r"^(\w*_)?(forgotten|removed?|dropped|pruned|evicted|discarded|deleted|archived|summari[sz]ed)_?\w*"
    r"(ids?|Ids?|messages|events|Messages|Events)$|^(messages|events|msgs|turns)_?(Removed|Dropped|removed|dropped)$"
)
_NEWEST_ROWS = re.compile(r"order\s+by\s.*\bdesc\b.*\blimit\s*(\?|:|%|\$|$|\{)", re.I | re.S)
_ROWS_OF = re.compile(r"\b(\w*messages?|\w*history|\w*conversations?|\w*turns|\w*events)\b", re.I)
_VECTOR = bag(
    "vector vectors vectorstore vectordb embedding embeddings collection chroma qdrant pinecone faiss milvus weaviate "
    "lancedb index retriever similarity"
)
_VECTOR_ADD = bag(
    "add aadd async_add add_texts aadd_texts add_documents aadd_documents upsert insert insert_nodes add_nodes "
    "ainsert_nodes add_embeddings"
)
_VECTOR_QUERY = bag(
    "query aquery search asearch similarity_search asimilarity_search retrieve aretrieve get_relevant_documents"
)
_OVERWRITING = (("set",), ("save",), ("replace",), ("update",), ("write",), ("put",), ("store",), ("overwrite",))


def is_vector_call(callee: str) -> str:
    """Return `add` or `query` for a call to a vector store, and an empty string for any other call."""
    owner, _, name = callee.rpartition(".")
    low = name.lower()
    if set(words.words(owner)) & _VECTOR and words.last_word(owner) not in ("ids", "id", "keys", "names", "set"):
        return "add" if low in _VECTOR_ADD else "query" if low in _VECTOR_QUERY else ""
    return "add" if low in ("add_texts", "add_documents", "upsert_vectors") else ""


class Reader(SummaryEffects, ListEffects, ContentEffects, LoopEffects):
    """Finds the effects of one function in a single pass over its nodes."""

    def read(self) -> list[Effect]:
        """Return all effects, in source order."""
        self.prepare_content()
        for node in self.scope.nodes:
            match node.kind:
                case "slice":
                    self._slice(node)
                case "call":
                    self._call(node)
                case "del":
                    self._delete(node)
                case "assign":
                    self._assign(node)
                case "return":
                    self._record_returned(node)
                case "while" | "for":
                    self._loop(node)
                    self._record_filter_loop(node)
                    self._masking_loop(node)
                case "comp":
                    self._filter(node)
                    self._record_mapping(node, node.kids[2], node.kids[1], node.kids[0])
                case "str" | "fstr":
                    if _NEWEST_ROWS.search(node.text) and _ROWS_OF.search(node.text):
                        self._add("query_limit", node, node, 2, "returned")
                    if node.kind == "fstr":
                        self._record_shortened(node)
                case "bin":
                    self._record_shortened(node)
                case "pair" | "kw" if node.kids:
                    self._record_chosen_content(node.text, node.kids[0])
                case "dict":
                    self._record_flagged_cut(node)
                    self._record_copied_content(node)
                    self._provider(node, [(p.text, p.kids[0]) for p in node.kids if p.kind == "pair"])
                    self._removal(node, [(p.text, p.kids[0]) for p in node.kids if p.kind == "pair"])
        self._clear_and_refill()
        self._summary_aside()
        self._offload()
        self.effects.sort(key=lambda e: (e.line, e.kind))
        return self.effects

    def _slice(self, node: Node) -> None:
        owner, low, high = node.kids
        likeness = self.scope.likeness(owner)
        if likeness == 0:
            self._record_sorted_cut(node, owner)
            return
        if node.text == "step":
            return
        shape = self._bounds(owner, low, high, node)
        if shape in ("", "copy", "whole") or self._is_one_exchanged(node, owner):
            return
        self._record_sorted_cut(node, owner)
        flow = self.scope.flow(node)
        marks = [shape]
        if self.guards.loops.get(id(node)) is not None:
            marks.append("in_loop")
        marks += [f"bound:{item.text}" for item in walk(low) if item.kind == "name" and item.text in self.scope.params]
        around = self.scope.parent(node)
        if around is not None and around.kind == "assign" and around.kids[1] is node:
            target = around.kids[0].kids[0] if around.kids[0].kind == "slice" else around.kids[0]
            if dotted(target) == dotted(owner) or (target.kind == "index" and self.scope.likeness(target.kids[0])):
                marks.append("back_into_itself")
        if self._is_rejoined(node, owner):
            marks.append("rejoined")
        self._add("slice", node, owner, likeness, flow, *marks)

    def _is_rejoined(self, node: Node, owner: Node) -> bool:
        """Return whether the first element of a list and a slice of it are joined again: `[messages[0],
        *messages[cut:]]`."""
        around = self.scope.parent(node)
        is_assigned = around is not None and around.kind == "assign" and around.kids[0].kind == "name"
        name = around.kids[0].text if around is not None and is_assigned else ""
        for item in self.scope.nodes:
            if item.kind != "list" or not any(
                k.kind == "index" and dotted(k.kids[0]) == dotted(owner) for k in item.kids
            ):
                continue
            if any(k.kind == "spread" and (k.kids[0] is node or (name and k.kids[0].text == name)) for k in item.kids):
                return True
        return False

    def _is_one_exchanged(self, node: Node, owner: Node) -> bool:
        """Return whether everything around one element stays: `[*messages[:at], new, *messages[at + 1 :]]`."""
        parent = self.scope.parent(node)
        around = self.scope.parent(parent) if parent is not None and parent.kind == "spread" else None
        if around is None or around.kind != "list":
            return False
        sides = [k.kids[0] for k in around.kids if k.kind == "spread" and k.kids[0].kind == "slice"]
        own = [k for k in sides if dotted(k.kids[0]) == dotted(owner)]
        return any(
            before.kids[1].kind in ("none", "num")
            and after.kids[2].kind == "none"
            and after.kids[1].kind == "bin"
            and after.kids[1].text == "+"
            and after.kids[1].kids[1].text == "1"
            and spelled(after.kids[1].kids[0]) == spelled(before.kids[2])
            for before in own for after in own
        )  # fmt: skip

    def _bounds(self, owner: Node, low: Node, high: Node, node: Node) -> str:
        if low.kind == "none" and high.kind == "none":
            return "copy"
        if high.kind == "none":
            if low.kind == "call" and last_name(low.kids[0]) == "len":
                return "skip_known"
            if low.kind == "name" and low.text in self.scope.length_names:
                return "skip_known"
            negative = _leading_minus(low)
            if negative is not None:
                inner = negative.kids[0]
                if inner.kind == "num":
                    return "tail_const" if inner.text not in ("1", "2") else "last"
                if self._is_length_of(inner, owner, node):
                    return "whole"
                return "tail"
            if low.kind == "num":
                return "skip_const"
            return "tail" if self._names_length(low) or self._counts_from_end(low) else "from"
        if low.kind in ("none", "num"):
            if high.kind == "num" or (high.kind == "un" and high.kids[0].kind == "num"):
                return "head_const"
            return "head"
        return "middle"

    def _counts_from_end(self, low: Node) -> bool:
        """Return whether the bound is `len(messages) - keep`, so that `messages[cut:]` is the newest part."""
        if low.kind != "name":
            return False
        return any(
            k.kind == "bin" and k.text == "-" and self._names_length(k.kids[0]) and k.kids[1].kind != "num"
            for n in self.scope.nodes
            if n.kind == "assign" and n.text == "=" and n.kids[0].kind == "name" and n.kids[0].text == low.text
            for k in walk(n.kids[1])
        )

    def _names_length(self, node: Node) -> bool:
        return any(k.kind == "call" and last_name(k.kids[0]) == "len" for k in walk(node))

    def _is_length_of(self, inner: Node, owner: Node, node: Node) -> bool:
        """Return whether a bound is the length of the list, so that `x[-len(x):]` is the whole list."""
        if inner.kind == "call" and last_name(inner.kids[0]) == "len":
            return True
        if inner.kind != "name" or inner.text not in self.scope.length_names:
            return False
        changed = [
            n.line for n in self.scope.nodes
            if n.kind == "assign" and n.text != "=" and n.kids[0].kind == "name" and n.kids[0].text == inner.text
        ]  # fmt: skip
        return not any(line <= node.line for line in changed)

    def _call(self, node: Node) -> None:
        callee = node.kids[0]
        name = last_name(callee)
        low = name.lower()
        if callee.kind == "attr":
            owner = callee.kids[0]
            likeness = self.scope.likeness(owner)
            if low == "splice" and likeness and len(node.kids) > 3:
                is_summary = any(self._tells_summary(k, self.summary_names) for k in node.kids[3:])
                front = node.kids[1].text == "0" and node.kids[2].kind != "num"  # takes out the oldest, puts this there
                marks = [
                    *(["summary_value"] if is_summary else []),
                    *(["precedes"] if front or self._is_cut(owner) else []),
                ]
                fed = frozenset(o for k in node.kids[3:] for o in self.origins.of(k))
                self._add("rebuild", node, owner, likeness, self._find_sink_in_place(owner), *marks, fed=fed)
            elif low in ("pop", "popleft", "splice", "remove", "popitem") and likeness:
                self._pop(node, owner, low, likeness)
            elif low == "sort":
                self._sort(node, owner)
            elif low in ("append", "insert", "unshift") and likeness > 1 and self._carries_summary(node.kids[-1]):
                fed = self.origins.of(node.kids[-1])
                self._add("summary_put", node, owner, likeness, self._fate(owner), "summary_value", fed=fed)
            elif low in ("insert", "unshift") and likeness and self._is_cut(owner):
                fed = self.origins.of(node.kids[-1])
                self._add("rebuild", node, owner, likeness, self._fate(owner), "precedes", fed=fed)
            elif low == "limit":
                self._query(node)
        elif low in ("sorted", "nlargest", "nsmallest"):
            self._sort(node, node.kids[-1] if low != "sorted" else node.kids[min(1, len(node.kids) - 1)])
        keywords = [(k, v) for k, v in arguments(node) if k]
        self._record_handed_over(node, name)
        self._newest_read(node)
        self._record_copy_by_call(node)
        if callee.kind == "attr" and low in ("map", "flatmap") and node.kids[1:] and node.kids[1].kind == "lambda":
            element = Node("name", node.line, node.kids[1].note)
            self._record_mapping(node, callee.kids[0], element, node.kids[1])
        self._vector_put(node)
        self._removal(node, keywords)
        self._provider(node, keywords)
        if name[:1].isupper() and words.words(name) in (
            ("remove", "message"),
            ("delete", "message"),
            ("drop", "message"),
        ):
            self._add("removal", node, node, 2, "returned")

    def _find_sink_in_place(self, owner: Node) -> str:
        """Return the sink of a list changed in place. A parameter, or a field with another name, belongs to
        other code.
        """
        shared = owner.text in self.scope.params or any(
            n.kids[1].kind == "attr" for n in self.scope.nodes
            if n.kind == "assign" and n.text == "=" and n.kids[0].kind == "name" and n.kids[0].text == owner.text
        )  # fmt: skip
        return "replaced" if owner.kind == "name" and shared else self._fate(owner)

    def _record_handed_over(self, node: Node, name: str) -> None:
        """Record a rebuilt list passed to a store: `store.replace(id, [summary, *messages[-keep:]])`."""
        if name[:1].isupper() or words.words(name)[:1] not in _OVERWRITING:
            return
        for _, value in arguments(node):
            if value.kind in ("list", "bin", "name") and self.scope.likeness(value) > 1:
                self._replacement(node, value, value, self.scope.likeness(value), f"passed:{name}")

    def _vector_put(self, node: Node) -> None:
        """Record a call that adds to a vector store."""
        if is_vector_call(dotted(node.kids[0])) == "add":
            likeness = max((self.scope.likeness(k) for a in node.kids[1:] for k in walk(a)), default=0)
            self._add("vector_put", node, node.kids[0], likeness, "stored")

    def _carries_summary(self, value: Node) -> bool:
        """Return whether a value mentions a name that contains a summary. Text that asks for a summary does not
        count."""
        return any(
            k.kind in ("name", "attr") and (k.text in self.summary_names or "summary" in words.words(k.text))
            for k in walk(value)
        )

    def _query(self, node: Node) -> None:
        """Record `select(...).order_by(x.desc()).limit(n)`, which is a query for the newest n rows."""
        newest = bound = False
        for item in walk(node):
            newest = newest or (item.kind in ("name", "attr") and item.text in ("desc", "descending"))
            bound = bound or (item.kind == "attr" and item.text in ("order_by", "orderBy", "sort"))
        if newest and bound and len(node.kids) == 2 and node.kids[1].kind in ("name", "attr"):
            self._add("query_limit", node, node, 2, "returned")

    def _pop(self, node: Node, owner: Node, name: str, likeness: int) -> None:
        first = node.kids[1] if len(node.kids) > 1 else None
        front = name == "popleft" or (first is not None and first.kind == "num" and first.text == "0")
        kind = "pop_front" if front else "pop_other"
        marks = ["in_loop"] if self.guards.loops.get(id(node)) is not None else []
        onward = self.scope.flow(node)
        self._add(kind, node, owner, likeness, onward if onward.startswith("passed") else "stored", *marks)

    def _delete(self, node: Node) -> None:
        for target in node.kids:
            if target.kind not in ("index", "slice"):
                continue
            likeness = self.scope.likeness(target.kids[0])
            if likeness:
                front = target.kind == "slice" and target.kids[1].kind in ("none", "num")
                front = front or (target.kind == "index" and target.kids[1].text == "0")
                self._add("pop_front" if front else "pop_other", node, target.kids[0], likeness, "stored")

    def _removal(self, node: Node, keywords: list[tuple[str, Node]]) -> None:
        removed = [k for k, v in keywords if _REMOVED.match(k) and not _is_nothing(v)]
        if removed:
            marks = (
                ["with_summary"]
                if any("summary" in words.words(k) and v.kind not in ("str", "const") for k, v in keywords)
                else []
            )
            self._add("removal", node, node.kids[0] if node.kids else node, 2, self.scope.flow(node), *marks)

    def _assign(self, node: Node) -> None:
        target, value = node.kids[0], node.kids[1]
        self._content(node, target, value)
        self._record_notice_instead(node, target, value)
        self._put_back(node, target, value)
        self._summary_field(node, target, value)
        if target.kind == "index" and self.scope.likeness(target.kids[0]) > 1 and self._tells(value):
            owner = target.kids[0]
            self._add("rebuild", node, owner, 2, self._fate(owner), *self._tells(value))
            return
        if target.kind == "slice":
            likeness = self.scope.likeness(target.kids[0])
        elif target.kind in ("attr", "index", "name"):
            likeness = self.scope.likeness(target)
        else:
            return
        if node.text != "=" or likeness == 0:
            if target.kind == "attr" and target.text == "length":
                self._add("clear", node, target.kids[0], self.scope.likeness(target.kids[0]), "stored")
            return
        flow = "replaced" if target.kind != "name" else self.scope.fate(target.text)
        self._replacement(node, target, value, likeness, flow)

    def _record_returned(self, node: Node) -> None:
        if node.kids:
            value = node.kids[0]
            likeness = self.scope.likeness(value)
            self._replacement(node, value, value, likeness, "returned")
            if value.kind == "list" and value.text == "tuple":
                self._record_returned_pair(node, value.kids)
                for part in value.kids:
                    if part.kind in ("list", "bin") and self.scope.likeness(part) > 1:
                        self._replacement(node, part, part, 2, "returned")
            elif value.kind == "call" and last_name(value.kids[0])[:1].isupper():
                self._record_returned_pair(node, [v for _, v in arguments(value)])
            if value.kind == "dict":
                for pair in value.kids:
                    if pair.kind == "pair" and words.name_likeness(pair.text) > 0:
                        likeness = max(words.name_likeness(pair.text), self.scope.likeness(pair.kids[0]))
                        self._replacement(pair, pair, pair.kids[0], likeness, "returned")

    def _record_returned_pair(self, node: Node, values: list[Node]) -> None:
        """Record a summary paired with the kept messages: `return summary, messages[-keep:]`."""
        has_summary = any(self._tells_summary(k, self.summary_names) for k in values if k.kind != "call")
        kept_messages = [k for k in values if self._is_cut(k)]
        if has_summary and kept_messages:
            self._add("rebuild", node, kept_messages[0], 2, "returned", "summary_value")

    def _is_cut(self, value: Node) -> bool:
        """Return whether a value is a slice or filter of a message list, directly or through a local name."""
        if value.kind == "slice":
            small = [k for k in value.kids[1:] if k.kind == "num" and k.text in ("0", "1")]
            fixed = len(small) == 1 and all(k.kind in ("num", "none") for k in value.kids[1:])
            return self.scope.likeness(value) > 1 and not fixed
        if value.kind == "list" and value.text == "list":
            picked = [k for k in value.kids if k.kind == "index" and self.scope.likeness(k.kids[0]) > 1]
            return bool(picked) or any(self._is_cut(k.kids[0]) for k in value.kids if k.kind == "spread")
        if value.kind != "name":
            return False
        return any(
            (k.kind == "slice" or (k.kind == "comp" and any(c.kind == "cond_filter" for c in k.kids[3:])))
            and max(self.scope.likeness(k), self.scope.likeness(value)) > 1
            for n in self.scope.nodes
            if n.kind == "assign" and n.kids[0].kind == "name" and n.kids[0].text == value.text
            for k in walk(n.kids[1])
        )

    def _replacement(self, node: Node, target: Node, value: Node, likeness: int, flow: str) -> None:
        if value.kind == "list" and not value.kids and value.text == "list":
            if target.kind in ("attr", "slice", "index") and node.kind == "assign":
                self._add("clear", node, target, likeness, flow)
            return
        parts = parts_of(value)
        if value.kind == "name" and (built := self.built(value.text)):
            self._rebuilt(node, target, built, max(likeness, 1 + self.scope.place), flow)
        kept_parts = [p for p in parts if self._is_kept(p)]
        fresh = [p for p in parts if self._is_fresh(p)]
        if value.kind == "name" and value.text not in self.model_names | self.summary_names:
            # A list returned by its name counts as rebuilt only if a summary was put into it.
            fresh = fresh if any(e.kind == "summary_put" for e in self.effects) else []
        places = ("attr", "slice", "index") if node.kind == "assign" else ()
        persisted = target.kind in places and not any(_keeps(p) for p in fresh)
        if fresh and (kept_parts or persisted):
            marks = ["model_value"] if any(self._from_model(p) for p in fresh) else []
            if any(self._tells_summary(p, self.summary_names) for p in parts):
                marks.append("summary_value")
            if self._precedes(parts):
                marks.append("precedes")
            if kept_parts or marks:
                fed = frozenset(o for p in fresh for o in self.origins.of(p))
                self._add("rebuild", node, target, max(likeness, 1 + self.scope.place), flow, *marks, fed=fed)
        elif likeness and persisted and self._from_model(value) and value.kind in ("name", "call", "attr"):
            self._add("rebuild", node, target, likeness, flow, "model_value")

    def _rebuilt(self, node: Node, target: Node, parts: list[Node], likeness: int, flow: str) -> None:
        """Record a list filled step by step, first with a new item and then with the kept part of another
        list."""
        fresh = [p for p in parts if self._is_fresh(p)]
        if fresh and self._precedes(parts):
            fed = frozenset(o for p in fresh for o in self.origins.of(p))
            self._add("rebuild", node, target, likeness, flow, "precedes", fed=fed)

    def _precedes(self, parts: list[Node]) -> bool:
        """Return whether a new item precedes the kept part of a cut list. (A reply is always appended after it.)"""
        fresh = [at for at, part in enumerate(parts) if self._is_fresh(part)]
        kept_positions = [at for at, part in enumerate(parts) if self._is_cut(_inner(part))]
        return bool(fresh and kept_positions) and fresh[0] < kept_positions[-1]

    def _is_fresh(self, part: Node) -> bool:
        inner = part.kids[0] if part.kind == "spread" else part
        if part.kind == "item":
            return inner.kind not in ("num", "const")
        return (
            inner.kind == "call"
            or (inner.kind == "name" and inner.text in self.model_names)
            or bool(inner.kind in ("name", "attr") and words.SUMMARY.search(inner.text))
        )

    def _sort(self, node: Node, owner: Node) -> None:
        keys = [v for k, v in arguments(node) if k == "key"] or [k for k in node.kids[1:] if k.kind == "lambda"]
        key_words = {
            w
            for key in keys
            for item in walk(key)
            if item.kind in ("name", "attr", "str")
            for w in words.words(item.text)
        }
        if key_words & words.SCORE or last_name(node.kids[0]) == "nlargest":
            self._add("score_sort", node, owner, self.scope.likeness(owner), self.scope.flow(node))

    def _filter(self, node: Node) -> None:
        self._record_index_filter(node)
        likeness = self.scope.likeness(node.kids[2])
        if likeness < 2 or not any(k.kind == "cond_filter" for k in node.kids[3:]) or node.text != "list":
            return
        names = {w for c in node.kids[3:] for k in walk(c) if k.kind in ("name", "attr") for w in words.words(k.text)}
        marks = ["by_score"] if names & words.SCORE else []
        self._add("filter", node, node.kids[2], likeness, self.scope.flow(node), *marks)

    def _record_index_filter(self, node: Node) -> None:
        """Record `[m for i, m in enumerate(messages) if i >= cut]`, which is a tail slice."""
        inner = unwrapped(node.kids[2])
        if inner is not node.kids[2] and node.kids[1].kind == "list" and node.kids[1].kids:
            index, likeness = node.kids[1].kids[0].text, self.scope.likeness(inner)
            later = any(
                k.kind == "cmp" and k.text in (">=", ">") and k.kids[0].text == index and k.kids[1].kind != "num"
                for c in node.kids[3:] for k in walk(c)
            )  # fmt: skip
            if likeness > 1 and later:
                self._add("slice", node, inner, likeness, self.scope.flow(node), "tail")


def _inner(part: Node) -> Node:
    return part.kids[0] if part.kind in ("spread", "item") and part.kids else part


def _is_nothing(value: Node) -> bool:
    return value.kind in ("num", "const") or (value.kind == "list" and not value.kids)


def _leading_minus(node: Node) -> Node | None:
    """Return the unary minus at the start of an index (`-n`, `-(n + 1)`, `-n * 2`), or None."""
    current = node
    while current.kind == "bin" and current.text in ("*", "-", "+"):
        current = current.kids[0]
    return current if current.kind == "un" and current.text == "-" else None


def _keeps(part: Node) -> bool:
    """Return whether a piece is only a copy or conversion of an existing list."""
    inner = part.kids[0] if part.kind in ("spread", "item") and part.kids else part
    return inner.kind == "call" and last_name(inner.kids[0]).lower() in (
        "copy", "list", "deepcopy", "split", "tolist", "reversed", "sorted", "get", "pop", "setdefault", "model_copy",
    )  # fmt: skip

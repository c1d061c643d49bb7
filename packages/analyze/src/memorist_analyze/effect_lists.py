"""Finds effects on lists, which are filtered in a loop, sorted and cut, read newest first up to a limit, or
deduplicated."""

from __future__ import annotations

from memorist_analyze import words
from memorist_analyze.effect_base import EffectBase
from memorist_analyze.flow import unwrapped
from memorist_analyze.syntax import Node, arguments, dotted, last_name, walk
from memorist_analyze.words import bag

_TIMES = bag(
    "created updated timestamp time date modified accessed at ts age when last recency recent turn index order"
)

_BOUNDING = bag(
    "limit take last lastn last_n top k topk top_k n count max perpage per_page page_size pagesize first num maxresults"
)
_COPIES = bag("list copy deepcopy slice concat from")
_ADDERS = bag("append push add insert unshift appendleft")
_KEPT_WORDS = bag("memory memories records matches results facts entries notes items hits candidates entities events")


class ListEffects(EffectBase):
    """Finds lists that are shorter at the end of a function, no matter how the filter is written."""

    def built(self, name: str) -> list[Node]:
        """Return the pieces of a local list in order: its initial value, then every value appended or extended."""
        parts: list[Node] = []
        begun = False
        for node in self.scope.nodes:
            if node.kind == "assign" and node.text == "=" and node.kids[0].kind == "name" and node.kids[0].text == name:
                value = node.kids[1]
                begun = value.kind == "list" and value.text == "list"
                if not begun:
                    return []
                parts = [k if k.kind == "spread" else Node("item", k.line, "", [k]) for k in value.kids]
            elif begun and node.kind == "call" and node.kids[0].kind == "attr" and len(node.kids) > 1:
                callee = node.kids[0]
                if callee.kids[0].kind != "name" or callee.kids[0].text != name:
                    continue
                added = node.kids[-1]
                if callee.text in ("append", "push"):
                    many = [k if k.kind == "spread" else Node("item", k.line, "", [k]) for k in node.kids[1:]]
                    parts.extend(many)
                elif callee.text == "extend":
                    parts.append(Node("spread", node.line, "", [added]))
                elif callee.text in ("insert", "unshift"):
                    parts.insert(0, Node("item", node.line, "", [added]))
        return parts

    def _record_filter_loop(self, loop: Node) -> None:
        """Record `for m in xs: if …: kept.append(m)`, which is a filter written as a loop."""
        if loop.kind != "for":
            return
        likeness = self._listlike(unwrapped(loop.kids[1]))
        if likeness == 0:
            return
        names = {k.text for k in walk(loop.kids[0]) if k.kind == "name"}
        gathered: dict[str, list[Node]] = {}
        for item in walk(loop.kids[2]):
            if item.kind == "call" and item.kids[0].kind == "attr" and item.kids[0].text in _ADDERS and item.kids[1:]:
                value, owner = item.kids[-1], item.kids[0].kids[0]
                if owner.kind == "name" and value.kind == "name" and value.text in names:
                    gathered.setdefault(owner.text, []).append(item)
        for name, items in gathered.items():
            if _always_adds(loop.kids[2], name) or self._begun_from_a_list(name, loop.line):
                continue
            marks = self._why_kept(loop)
            flow = self._fate(Node("name", loop.line, name))
            self._add("kept_in_loop", items[0], unwrapped(loop.kids[1]), likeness, flow, *marks)

    def _begun_from_a_list(self, name: str, line: int) -> bool:
        """Return whether the collected list began as a copy of another one, so that the loop joins two lists instead of
        filtering one.
        """
        return any(
            node.kind == "assign"
            and node.line < line
            and node.kids[0].kind == "name"
            and node.kids[0].text == name
            and _copies(node.kids[1])
            for node in self.scope.nodes
        )

    def _why_kept(self, loop: Node) -> list[str]:
        """Return marks for the criterion by which elements are kept: a set of seen elements, an id or a score."""
        marks: list[str] = []
        tests = [n.kids[0] for n in walk(loop.kids[2]) if n.kind == "if"]
        added = {dotted(n.kids[0].kids[0]) for n in walk(loop.kids[2])
                 if n.kind == "call" and n.kids[0].kind == "attr" and n.kids[0].text == "add"}  # fmt: skip
        for test in tests:
            for item in walk(test):
                if item.kind == "cmp" and item.text in ("in", "not in") and len(item.kids) == 2:
                    marks.extend(["unseen"] if dotted(item.kids[1]) in added else [])
                    marks.extend(["by_id_seen"] if _names_id(item.kids[0]) else [])
                elif item.kind == "call" and last_name(item.kids[0]) == "has" and item.kids[0].kind == "attr":
                    marks.extend(["unseen"] if dotted(item.kids[0].kids[0]) in added else [])
                    marks.extend(["by_id_seen"] if any(_names_id(k) for k in item.kids[1:]) else [])
        source = unwrapped(loop.kids[1])
        if self._find_sort_order(source) or (source.kind == "name" and self._find_sort_order(source)):
            marks.append(f"sorted_{self._find_sort_order(source)}")
        if unwrapped(loop.kids[1]) is not loop.kids[1]:
            marks.append("backwards")
        return list(dict.fromkeys(marks))

    def _listlike(self, node: Node) -> int:
        """Return how likely it is that the list contains messages or memory records."""
        likeness = self.scope.likeness(node)
        if likeness:
            return likeness
        if node.kind == "call" and last_name(node.kids[0]) == "sorted" and len(node.kids) > 1:
            return self._listlike(node.kids[1])
        named = set(words.words(last_name(node)))
        return 1 + self.scope.place if named & _KEPT_WORDS and self.scope.place else 0

    def _find_sort_order(self, node: Node) -> str:
        """Return how a list was ordered: `time`, `score`, or an empty string if it was not ordered or the code does not
        show it."""
        if node.kind == "call":
            name = last_name(node.kids[0])
            if name in ("sorted", "toSorted", "sort", "nlargest", "orderBy", "sortBy"):
                return self._key_of(node)
            return ""
        if node.kind not in ("name", "attr"):
            return ""
        spelled = dotted(node)
        for item in self.scope.nodes:
            if item.kind == "assign" and dotted(item.kids[0]) == spelled and item.kids[1].kind == "call":
                order = self._find_sort_order(item.kids[1])
                if order:
                    return order
            callee = item.kids[0] if item.kind == "call" and item.kids else None
            if (
                callee is not None
                and callee.kind == "attr"
                and callee.text == "sort"
                and dotted(callee.kids[0]) == spelled
            ):
                return self._key_of(item)
        return ""

    def _key_of(self, call: Node) -> str:
        keys = [v for k, v in arguments(call) if k == "key"] or [k for k in call.kids[1:] if k.kind == "lambda"]
        key_words = {
            w for key in keys for k in walk(key) if k.kind in ("name", "attr", "str") for w in words.words(k.text)
        }  # fmt: skip
        if key_words & words.SCORE or {"similarity", "distance", "relevancy", "confidence"} & key_words:
            return "score"
        highest = any(k == "reverse" and v.text.lower() == "true" for k, v in arguments(call))
        if highest and any(key.kids and key.kids[0].kind == "index" for key in keys if key.kind == "lambda"):
            return "score"  # pairs of an item and its score: `key=lambda pair: pair[1], reverse=True`
        return "time" if key_words & _TIMES else "key" if keys else ""

    def _record_sorted_cut(self, node: Node, owner: Node) -> None:
        """Record `sorted(xs, key=…)[:n]`, or a slice of a list that was sorted earlier."""
        if node.text == "step" or all(k.kind in ("none",) for k in node.kids[1:]):
            return
        bound = [k for k in node.kids[1:] if k.kind not in ("none",)]
        if any(k.kind == "num" and k.text in ("0", "1") for k in bound) and len(bound) == 1:
            return
        how = self._find_sort_order(owner)
        if how:
            source = owner.kids[1] if owner.kind == "call" and len(owner.kids) > 1 else owner
            if owner.kind == "call" and owner.kids[0].kind == "attr":
                source = owner.kids[0].kids[0]
            variable = any(k.kind not in ("none", "num") for k in node.kids[1:])
            marks = [f"sorted_{how}", *([] if variable else ["fixed"])]
            if all(k.kind != "none" and k.text != "0" for k in node.kids[1:3]):
                marks.append("page")
            self._add("sorted_cut", node, source, self._listlike(source), self.scope.flow(node), *marks)

    def _newest_read(self, node: Node) -> None:
        """Record `store.list({limit: n, orderBy: "desc"})` and `lrange(key, -n, -1)`, which read the newest n stored
        items. If the direction may also be ascending, the call is for browsing and does not count.
        """
        name = last_name(node.kids[0])
        if name.lower() == "lrange" and len(node.kids) > 3:
            low = node.kids[2]
            if low.kind == "un" and low.kids[0].kind != "num":
                self._add("query_limit", node, node, 2, "returned", "options")
            return
        pairs = _options(node)
        bounded = any(k.lower() in _BOUNDING and v.kind not in ("num", "const", "str") for k, v in pairs)
        paged = any(
            k.lower() not in _BOUNDING
            and words.words(k)[-1:] in (("page",), ("offset",), ("cursor",), ("skip",), ("after",))
            and v.kind not in ("num", "const")
            for k, v in pairs
        )
        if not bounded or paged:
            return
        newest = any(
            words.words(k)[:1] in (("order",), ("sort",), ("orderby",), ("direction",), ("reverse",), ("descending",))
            and any(
                (i.kind in ("str", "name", "attr") and {"desc", "descending", "newest"} & set(words.words(i.text)))
                or (i.kind == "str" and i.text == "-1")
                or (i.kind == "un" and i.text == "-") or (i.kind == "const" and i.text.lower() == "true")
                for i in walk(v)
            ) and not any(i.kind == "str" and i.text.lower() in ("asc", "ascending", "oldest", "1") for i in walk(v))
            for k, v in pairs
        )  # fmt: skip
        if newest:
            names = [dotted(node.kids[0]), *(v.text for _, v in pairs if v.kind == "str")]
            message_words = {w for s in names for w in words.words(s)} & (
                words.STRONG | {"message", "events", "history"}
            )
            self._add(
                "query_limit",
                node,
                node,
                2 if message_words else 1 + self.scope.place,
                self.scope.flow(node),
                "options",
            )


def _options(call: Node) -> list[tuple[str, Node]]:
    options = [(k, v) for k, v in arguments(call) if k]
    for value in call.kids[1:]:
        if value.kind == "dict":
            options.extend((p.text, p.kids[0]) for p in value.kids if p.kind == "pair" and p.kids)
    return options


def _copies(value: Node) -> bool:
    """Return whether a value is a copy of a whole list: `list(xs)`, `[*xs]`, `xs[:]`, `xs.copy()`."""
    if value.kind == "call":
        return last_name(value.kids[0]) in _COPIES and (len(value.kids) == 2 or value.kids[0].kind == "attr")
    if value.kind == "list":
        return any(k.kind == "spread" for k in value.kids)
    return value.kind == "slice" and all(k.kind == "none" for k in value.kids[1:3])


def _always_adds(block: Node, name: str) -> bool:
    """Return whether every path through a block adds to the list, so that it is not a filter."""
    for node in block.kids:
        if node.kind == "if":
            branches = node.kids[1:3]
            if len(branches) == 2 and all(_always_adds(b, name) for b in branches):
                return True
            if branches and _leaves(branches[0]) and not _always_adds(branches[0], name):
                return False
        elif (node.kind in ("block", "try", "other") and _always_adds(node, name)) or (
            node.kind not in ("for", "while") and any(_adds_to(k, name) for k in walk(node))
        ):
            return True
    return False


def _leaves(block: Node) -> bool:
    return bool(block.kids) and block.kids[-1].kind == "jump"


def _adds_to(node: Node, name: str) -> bool:
    return (
        node.kind == "call"
        and node.kids[0].kind == "attr"
        and node.kids[0].text in _ADDERS
        and node.kids[0].kids[0].kind == "name"
        and node.kids[0].kids[0].text == name
    )


def _names_id(value: Node) -> bool:
    return any(k.kind in ("name", "attr", "str") and words.words(k.text)[-1:] == ("id",) for k in walk(value))

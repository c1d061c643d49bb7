"""Implements intraprocedural data flow, which shows which names contain message lists or token counts, and where values
end up.

`Scope` infers types from names, annotations and uses. `Scope.flow` follows a value forward to its sink; the sinks are
`returned`, `replaced` (assigned to a stored message list), `stored`, `model` (argument of a model call), `prompt`
(rendered into text), `passed:NAME` (argument of another function) and `read` (only read).
"""

from __future__ import annotations

import re

from memorist_analyze import words
from memorist_analyze.syntax import Node, dotted, last_name, walk
from memorist_analyze.words import bag

_IDENTIFIER = re.compile(r"\w+")
# Calls that return their list argument, possibly copied, reordered or filtered.
_KEEPING = bag(
    "list tuple copy deepcopy reversed sorted array from set_messages structuredclone slice cast filter values"
)
_READING = bag("len any all sum enumerate range min max isinstance bool print hash id str repr iter next zip")
_ADDING = bag("append extend insert unshift add push update set put")
_SAYING = bag("content contents text message messages parts string str dict dump format render copy json body")
# Keys of records that contain text or actions.
_TEXT_WORDS = bag(
    "role content contents text message messages parts part input inputs output outputs prompt response question "
    "answer query reply user assistant human ai data value body observation result action event summary thought "
    "tool call fact"
)
# Helpers that return the list they were given with small changes: `return self._merge_system(system, kept)`.
_FINISHING = bag("merge combine concat prepend ensure repair sanitize normalize finalize")
_RENDERING = bag("format join render format_messages stringify dumps replace format_prompt get_buffer_string f")


# Methods that return the list they are called on, whole or in part: `page.items.filter(…).reverse()`.
_PLACING = bag("find cut point index boundary position split start")
_CHAINING = bag("filter map flatMap reverse toReversed sort toSorted concat")


class Scope:
    """Holds the nodes of one function with their parents, and the inferred types of its names."""

    def __init__(self, body: Node, path: str, params: dict[str, str], fields: dict[str, str]) -> None:
        self.body = body
        self.path = path
        self.place = words.place_likeness(path)
        self.parents: dict[int, Node] = {}
        self.nodes: list[Node] = list(walk(body))
        for node in self.nodes:
            for kid in node.kids:
                self.parents[id(kid)] = node
        self.fields = fields
        self.typed: dict[str, int] = {n: words.type_likeness(a) for n, a in params.items()}
        self.params = params
        self.token_names: set[str] = set()
        self.length_names: set[str] = set()
        self.position_names: set[str] = set()  # computed from the length of a list: `len(messages) - keep`
        self.elements: set[str] = set()
        self.uses: dict[str, list[Node]] = {}
        self.listed = self._find_listed_names()
        self.measurements = self._measurements()
        self.texts = {  # names of texts that grow: `buffer = ""`, `buffer += f"{line}"`
            dotted(n.kids[0]) for n in self.nodes
            if n.kind == "assign" and n.kids[0].kind in ("name", "attr") and n.kids[1].kind in ("str", "fstr")
        }  # fmt: skip
        self._sources = self._find_loop_iterables()
        for node in self.nodes:
            if node.kind == "name":
                self.uses.setdefault(node.text, []).append(node)
        self._infer()

    def _find_listed_names(self) -> set[str]:
        """Return names ending in the singular `message` that are lists, because they are looped over or appended to."""
        list_names: set[str] = set()
        for node in self.nodes:
            target: Node | None = None
            if node.kind == "for":
                target = node.kids[1]
            elif node.kind == "comp":
                target = node.kids[2]
            elif node.kind == "call" and node.kids[0].kind == "attr" and node.kids[0].text in ("append", "unshift"):
                target = node.kids[0].kids[0]
            elif node.kind == "assign" and node.kids[1].kind == "list" and node.kids[1].text == "list":
                target = node.kids[0]
            if target is not None and target.kind == "name" and target.text[-7:].lower() == "message":
                list_names.add(target.text)
        return list_names

    def _measurements(self) -> set[str]:
        """Return lists that receive only records without any text: `history.append({"at": …, "used": …})`."""
        shapes: dict[str, list[set[str]]] = {}
        for node in self.nodes:
            if node.kind == "call" and node.kids[0].kind == "attr" and node.kids[0].text in ("append", "unshift"):
                added = node.kids[-1]
                plain = added.kind == "dict" and all(p.kind == "pair" for p in added.kids) and len(added.kids) > 1
                keys = {w for p in added.kids for w in words.words(p.text)} if plain else _TEXT_WORDS
                shapes.setdefault(dotted(node.kids[0].kids[0]), []).append(set(keys))
        return {name for name, key_sets in shapes.items() if not any(keys & _TEXT_WORDS for keys in key_sets)}

    def _infer(self) -> None:
        for _ in range(2):
            for node in self.nodes:
                if node.kind == "assign" and len(node.kids) == 2:
                    self._infer_assign(node)
                elif node.kind == "for":
                    self._infer_loop(node.kids[0], node.kids[1])
                elif node.kind == "comp":
                    self._infer_loop(node.kids[1], node.kids[2])
                elif node.kind == "call":
                    self._infer_added(node)
                    self._infer_sent(node)
                elif node.kind in ("attr", "index"):
                    self._infer_spoken(node)

    def _infer_assign(self, node: Node) -> None:
        target, value = node.kids
        if target.kind == "list" and value.kind != "list":
            for item in target.kids:
                if item.kind == "name" and words.TOKENS & set(words.words(item.text)):
                    self.token_names.add(item.text)
            return
        if target.kind not in ("name", "attr"):
            return
        name = target.text
        if target.kind == "name":
            likeness = max(words.type_likeness(node.note), self._value_likeness(value))
            if likeness and likeness > self.typed.get(name, 0):
                self.typed[name] = likeness
            measured = value.kids[1:] if value.kind == "call" and last_name(value.kids[0]) == "len" else []
            if measured and self.likeness(measured[0]) > 0:
                self.length_names.add(name)
            elif value.kind in ("bin", "call") and any(
                k.kind == "call" and last_name(k.kids[0]) == "len" and self.likeness(k.kids[-1]) > 0
                for k in walk(value)
            ):
                self.position_names.add(name)
        if self.speaks_of_tokens(_measure(value)):
            self.token_names.add(name)

    def _infer_added(self, node: Node) -> None:
        """Infer a message list from `xs.append({"role": …, "content": …})`."""
        callee = node.kids[0]
        if callee.kind != "attr" or callee.text not in ("append", "insert", "unshift") or callee.kids[0].kind != "name":
            return
        keys = {p.text for a in node.kids[1:] if a.kind == "dict" for p in a.kids if p.kind == "pair"}
        if {"role", "content"} <= keys or {"role", "parts"} <= keys:
            self.typed[callee.kids[0].text] = 2

    def _infer_sent(self, node: Node) -> None:
        """Infer a message list from an argument named `messages` or `chat_history`."""
        pairs = [(k.text, k.kids[0]) for k in node.kids[1:] if k.kind == "kw" and k.kids]
        for value in node.kids[1:]:
            if value.kind == "dict":
                pairs.extend((p.text, p.kids[0]) for p in value.kids if p.kind == "pair" and p.kids)
        for key, value in pairs:
            if key in ("messages", "chat_history", "chatHistory") and value.kind == "name":
                self.typed[value.text] = max(2, self.typed.get(value.text, 0))

    def _infer_spoken(self, node: Node) -> None:
        """Infer a message list from the use of an element's `role`."""
        key = node.text if node.kind == "attr" else node.kids[1].text if node.kids[1].kind == "str" else ""
        owner = node.kids[0]
        if key != "role":
            return
        if owner.kind == "index" and owner.kids[0].kind == "name" and owner.kids[1].kind != "str":
            self.typed[owner.kids[0].text] = 2
        elif owner.kind == "name":
            for source in self._sources.get(owner.text, ()):
                if source.kind == "name":
                    self.typed[source.text] = 2

    def _find_loop_iterables(self) -> dict[str, list[Node]]:
        """Return the iterables of each loop variable."""
        iterables: dict[str, list[Node]] = {}
        for node in self.nodes:
            if node.kind == "for" or node.kind == "comp":
                target, iterable = (node.kids[0], node.kids[1]) if node.kind == "for" else (node.kids[1], node.kids[2])
                for item in walk(target):
                    if item.kind == "name":
                        iterables.setdefault(item.text, []).append(unwrapped(iterable))
        return iterables

    def _infer_loop(self, target: Node, iterable: Node) -> None:
        if self.likeness(unwrapped(iterable)) > 0:
            for item in walk(target):
                if item.kind == "name":
                    self.elements.add(item.text)

    def _value_likeness(self, value: Node) -> int:
        if value.kind in ("slice", "bin", "cond", "bool", "name", "attr", "list", "call", "comp"):
            return self.likeness(value)
        return 0

    def likeness(self, node: Node) -> int:
        """Return how likely it is that an expression is a list of messages: 0 means no, 1 perhaps, and 2 or more
        yes."""
        match node.kind:
            case "name":
                if node.text in self.texts:
                    return 0
                base = max(words.name_likeness(node.text), self.typed.get(node.text, 0))
                if node.text in self.measurements and not self.typed.get(node.text):
                    return 0
                if node.text in self.listed:
                    return 2
                if self.params.get(node.text) in ("str", "string", "int", "number", "bool"):
                    return 0
                return base + (self.place if base == 1 else 0)
            case "attr":
                base = max(words.name_likeness(node.text), words.type_likeness(self.fields.get(node.text, "")))
                unsaid = self.measurements | self.texts
                if unsaid and dotted(node) in unsaid:
                    return 0
                return base + (self.place if base == 1 else 0)
            case "slice" | "index" if node.kind == "slice":
                return self.likeness(node.kids[0])
            case "call":
                return self._call_likeness(node)
            case "bin":
                return max((self.likeness(k) for k in node.kids), default=0) if node.text == "+" else 0
            case "cond":
                return max((self.likeness(k) for k in node.kids[1:]), default=0)
            case "bool":
                return max((self.likeness(k) for k in node.kids), default=0) if node.text == "or" else 0
            case "comp":
                return self.likeness(unwrapped(node.kids[2])) if node.text in ("list", "generator") else 0
            case "list":
                return max((self.likeness(k.kids[0]) for k in node.kids if k.kind == "spread"), default=0)
            case "spread":
                return self.likeness(node.kids[0])
            case "index":
                key = node.kids[1]
                return words.name_likeness(key.text) if key.kind == "str" else 0
            case _:
                return 0

    def _call_likeness(self, node: Node) -> int:
        name = last_name(node.kids[0])
        low = name.lower()
        if low in _READING and low not in ("zip",):
            return 0
        if low in _KEEPING or low in ("copy", "tolist", "toarray"):
            inner = node.kids[1:] or (node.kids[0].kids if node.kids[0].kind == "attr" else [])
            return max((self.likeness(k) for k in inner[:1]), default=0)
        name_words = words.words(name)
        if not name_words or name[:1].isupper():
            return 0
        if name_words[-1] in words.STRONG and name_words[0] in (
            "get", "load", "list", "fetch", "read", "retrieve", "select", "aget", "build", "to", "all", "filter",
            "format", "prepare", "convert", "normalize", "create", "compute",
        ):  # fmt: skip
            return 2
        owner = node.kids[0].kids[0] if node.kids[0].kind == "attr" and node.kids[0].kids else None
        if owner is not None and low in ("get", "get_all", "load", "retrieve", "all", "list", "setdefault"):
            return min(2, self.likeness(owner))
        return 0

    def speaks_of_tokens(self, node: Node) -> bool:
        """Return whether an expression contains a token count, judging by its name or by data flow."""
        for item in walk(node):
            if item.kind in ("name", "attr"):
                name_words = words.words(item.text)
                if words.TOKENS & set(name_words) and not {"id", "ids", "auth", "access", "api", "key"} & set(
                    name_words
                ):
                    return True
                if item.text in self.token_names:
                    return True
        return False

    def parent(self, node: Node) -> Node | None:
        """Return the parent of a node, or None at the root."""
        return self.parents.get(id(node))

    def flow(self, node: Node, depth: int = 0, visited: set[str] | None = None) -> str:
        """Return the sink of a value, found by walking up its parents and through local names."""
        visited = set() if visited is None else visited
        current = node
        for _ in range(12):
            around = self.parents.get(id(current))
            if around is None:
                return "read"
            verdict = self._step(current, around, depth, visited)
            if verdict is None:
                current = around
                continue
            return verdict
        return "read"

    def _step(self, current: Node, around: Node, depth: int, visited: set[str]) -> str | None:
        kind = around.kind
        if kind == "return":
            return "returned"
        if kind in ("list", "spread", "pair", "dict", "kw", "bool") or (kind == "bin" and around.text == "+"):
            return None
        if kind == "cond":
            return "read" if around.kids[0] is current else None
        if kind == "comp":
            if current is not around.kids[2] or _projects(around.kids[0]):
                return "read"
            return None
        if kind == "assign":
            return self._follow_assignment(current, around, depth, visited)
        if kind == "call":
            return self._follow_call(current, around, depth, visited)
        if kind == "slice" and current is around.kids[0]:
            return None
        if kind == "for" and current is around.kids[1]:
            return self._follow_loop(around, depth, visited)
        if kind == "attr" and (words.name_likeness(around.text) > 0 or around.text in ("data", "rows", "results")):
            return None  # the list inside a response object: `page.items`
        if kind == "attr" and around.text in _CHAINING:
            return None
        if kind in ("fstr",):
            return "prompt"
        if kind == "lambda" and current is around.kids[0]:
            return "read"
        return "read"

    def _follow_assignment(self, current: Node, around: Node, depth: int, visited: set[str]) -> str:
        if current is around.kids[0]:
            return "read"
        target = around.kids[0]
        if target.kind in ("attr", "index", "slice"):
            container = target.kids[0] if target.kind == "slice" else target
            return "replaced" if self.likeness(container) > 1 else "stored"
        if target.kind == "list":
            return "read"
        return self._follow_name(target.text, depth, visited)

    def fate(self, name: str) -> str:
        """Return the strongest sink among all uses of a local name."""
        return self._follow_name(name, 0, set())

    def _follow_name(self, name: str, depth: int, visited: set[str]) -> str:
        if depth > 5 or name in visited:
            return "read"
        visited.add(name)
        best = "read"
        for use in self.uses.get(name, []):
            around = self.parents.get(id(use))
            if around is not None and around.kind == "assign" and around.kids[0] is use:
                continue
            best = better(best, self.flow(use, depth + 1, visited))
        return best

    def _follow_call(self, current: Node, around: Node, depth: int, visited: set[str]) -> str | None:
        if current is around.kids[0]:
            return None if current.kind == "attr" and current.text in _CHAINING else "read"
        callee = around.kids[0]
        name = last_name(callee)
        low = name.lower()
        if words.is_model_call(dotted(callee)):
            return "model"
        if callee.kind == "name" and name in self.params:
            return None  # passed to the next handler of a chain, whose result is used: `return await proceed(newest)`
        if low in _READING:
            return "read"
        if (
            low in _KEEPING
            or _FINISHING & set(words.words(name))
            or (name[:1].isupper() and low not in ("error", "exception"))
        ):
            return None
        if low in _ADDING and callee.kind == "attr":
            owner = callee.kids[0]
            if owner.kind == "name":
                onward = self._follow_name(owner.text, depth, visited)
                return better(onward, "stored") if owner.text in self.params and self.likeness(owner) > 1 else onward
            return "stored"
        if low in _RENDERING:
            return "prompt"
        return f"passed:{name}"

    def _find_carried_names(self, loop: Node) -> set[str]:
        """Return the loop variables, and the names derived from them, that still contain the message or its content."""
        names = {k.text for k in walk(loop.kids[0]) if k.kind == "name"}
        for item in walk(loop.kids[2]):
            is_assignment = item.kind == "assign" and item.kids[0].kind == "name"
            if is_assignment and _mentions(item.kids[1], names) and not _projects(item.kids[1]):
                names.add(item.kids[0].text)
        return names

    def _follow_loop(self, loop: Node, depth: int, visited: set[str]) -> str:
        """Return the strongest sink of the containers that a loop adds its elements to, or `read` if there are none."""
        best = "read"
        carried = self._find_carried_names(loop)
        for item in walk(loop.kids[2]):
            target = None
            rendered = item.kind == "assign"
            if item.kind == "call" and last_name(item.kids[0]).lower() in ("append", "extend", "insert"):
                if len(item.kids) > 1 and (_projects(item.kids[-1]) or not _mentions(item.kids[-1], carried)):
                    continue
                target = item.kids[0].kids[0] if item.kids[0].kind == "attr" else None
            elif item.kind == "call" and item.kids[0].kind == "attr" and _adds_message(item.kids[0].text):
                if not any(_mentions(k, carried) for k in item.kids[1:]):
                    continue
                target = item.kids[0].kids[0]
            elif item.kind == "call" and item.kids[0].kind == "attr" and item.kids[0].text in _ADDING:
                owner = item.kids[0].kids[0]
                if self.likeness(owner) > 1 and any(_mentions(k, carried) for k in item.kids[1:]):
                    target = owner
            elif item.kind == "assign" and item.text == "+=":
                target = item.kids[0]
            if target is None:
                continue
            if target.kind == "name":
                verdict = self._follow_name(target.text, depth + 1, visited)
                best = better(best, "prompt" if rendered and verdict == "returned" else verdict)
            elif target.kind == "attr":
                best = better(best, "stored")
        return best


def _adds_message(name: str) -> bool:
    """Return whether a method name means adding a message: `add_user_message`, `addAssistantMessage`."""
    name_words = words.words(name)
    return name_words[:1] in (("add",), ("append",), ("push",)) and name_words[-1] in ("message", "messages")


def _projects(element: Node) -> bool:
    """Return whether an expression reads a field of a message other than its content (an id, a role)."""
    if element.kind == "cond":
        return all(_projects(k) for k in element.kids[1:] if k.kind != "const")
    if element.kind == "call" and len(element.kids) == 1 and element.kids[0].kind == "attr":
        return not _SAYING & set(words.words(element.kids[0].text))
    return element.kind == "attr" and not _SAYING & set(words.words(element.text))


def _measure(value: Node) -> Node:
    """Return what a value measures. A call that searches for a position does not return a number of tokens."""
    placed = value.kind == "call" and _PLACING & set(words.words(last_name(value.kids[0])))
    return value.kids[0] if placed else value


def unwrapped(node: Node) -> Node:
    """Return the iterable inside `enumerate(…)` and `reversed(…)`."""
    while node.kind == "call" and last_name(node.kids[0]) in ("enumerate", "reversed") and len(node.kids) > 1:
        node = node.kids[1]
    return node


def _mentions(node: Node, names: set[str]) -> bool:
    return any(k.kind == "name" and k.text in names for k in walk(node))


_RANK = {"read": 0, "passed": 1, "prompt": 2, "stored": 3, "model": 4, "returned": 5, "replaced": 6}


def better(left: str, right: str) -> str:
    """Return the stronger of two sinks, in the order of `_RANK`."""
    return right if _RANK[right.partition(":")[0]] > _RANK[left.partition(":")[0]] else left

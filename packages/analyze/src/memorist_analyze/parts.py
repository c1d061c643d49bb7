"""Finds the ordered parts of the message lists that one function sends to a model, returns or passes to calls. The pass
is flow-sensitive. It follows each list through the statements in source order (creation, append, prepend, copy,
concatenation). A part whose role or name identifies a slot is of kind `slot`. Otherwise it is a reference for
`slices.py` to resolve: a parameter (see the callers), a call (see the callee) or a field (see the class).
"""

from __future__ import annotations

from memorist_analyze import words
from memorist_analyze.flow import Scope
from memorist_analyze.records import Part
from memorist_analyze.slots import ORDER, keyed_slot, role_slot, slot_of
from memorist_analyze.syntax import Node, arguments, dotted, last_name, walk
from memorist_analyze.words import bag

Parts = tuple[Part, ...]
_MAX_PARTS = 24
_MAX_DEPTH = 12
_COPYING_CALLS = bag("list tuple copy deepcopy reversed sorted array from slice cast filter map concat tolist toarray")
_APPENDING_METHODS = bag("append push add put aput addmessage add_message")
_EXTENDING_METHODS = bag("extend")
_PREPENDING_METHODS = bag("unshift appendleft")
_MESSAGE_KEYS = bag(
    "messages message input inputs contents content prompt prompts history chat_history chathistory msgs items request"
)
_MESSAGE = (
    (bag("system developer"), "system_prompt"),
    (bag("tool function"), "scratchpad"),
    (bag("user human"), "current_input"),
)


class Sequences:
    """Holds the parts of one function's lists, by destination. `sent_parts` contains lists sent to a model, by the
    line of the call, and `returned_parts` contains returned lists. `filled` contains lists assigned to fields of the
    object, by field, and `handed` contains arguments of other calls, by line and then by name or position.
    """

    def __init__(self, scope: Scope, model_lines: set[int]) -> None:
        self._scope = scope
        self._held: dict[str, Parts] = {}
        self._empty: set[str] = set()  # lists that start empty: their name does not say what they contain
        self._loops: dict[str, tuple[int, int]] = {}
        self.sent_parts: dict[int, Parts] = {}
        self.returned_parts: Parts = ()
        self.filled: dict[str, Parts] = {}
        self.handed: dict[int, dict[str, Parts]] = {}
        for node in scope.nodes:
            if node.kind == "assign" and len(node.kids) == 2:
                self._read_assignment(node)
            elif node.kind == "for" and node.kids[0].kind == "name":
                self._held[node.kids[0].text] = self._parts(node.kids[1])
            elif node.kind == "call":
                self._read_call(node, model_lines)
            elif node.kind == "return":
                parts = tuple(p for k in node.kids for p in self._parts(k))
                if len(parts) > len(self.returned_parts):
                    self.returned_parts = parts[:_MAX_PARTS]

    # -- statements

    def _read_assignment(self, node: Node) -> None:
        target, value = node.kids
        if target.kind == "index" and target.kids[1].kind == "str" and target.kids[0].kind == "name":
            # `request["tools"] = tools` adds an argument to a request that is built step by step.
            owner = target.kids[0].text
            previous, new = self._held.get(owner, ()), self._parts_of_key(target.kids[1].text, value)
            ahead = keyed_slot(target.kids[1].text)
            self._held[owner] = ((*new, *previous) if ahead else (*previous, *new))[:_MAX_PARTS]
        if target.kind not in ("name", "attr"):
            return
        key = dotted(target)
        parts = self._parts(value)
        if value.kind == "list" and not value.kids:
            self._empty.add(key)
        self._hold(target, key, (*self._held.get(key, ()), *parts) if node.text == "+=" else parts)

    def _read_call(self, node: Node, model_lines: set[int]) -> None:
        callee = node.kids[0]
        name = last_name(callee).lower()
        if callee.kind == "attr" and (
            name in _APPENDING_METHODS or name in _EXTENDING_METHODS or name in _PREPENDING_METHODS or name == "insert"
        ):
            self._read_growth(callee.kids[0], name, node.kids[1:])
        if node.line in model_lines and node.line not in self.sent_parts:
            self.sent_parts[node.line] = self._request(node)
        elif callee.kind in ("name", "attr"):
            self._record_arguments(node)

    def _read_growth(self, owner: Node, name: str, values: list[Node]) -> None:
        if owner.kind not in ("name", "attr") or not values:
            return
        key = dotted(owner)
        if key not in self._held and self._scope.likeness(owner) == 0 and "memory" not in words.words(key):
            return
        front = name in _PREPENDING_METHODS or (name == "insert" and values[0].text == "0")
        new = self._parts(values[-1])
        previous = self._held[key] if key in self._held else self._parts(owner)
        grown = (*new, *previous) if front else self._in_turn(key, owner, previous, new)
        self._hold(owner, key, grown, new)

    def _in_turn(self, key: str, owner: Node, previous: Parts, new: Parts) -> Parts:
        """Append parts. Those added in one loop are put into the conventional slot order, because its branches have no
        order."""
        loop = self._loop_around(owner)
        if not loop:
            return (*previous, *new)
        before, start = self._loops.get(key, (0, 0))
        if before != loop:
            start = len(previous)
            self._loops[key] = (loop, start)
        turns = [*previous[start:], *new]
        return (*previous[:start], *sorted(turns, key=lambda p: ORDER.index(p.name if p.kind == "slot" else "history")))

    def _loop_around(self, node: Node) -> int:
        around = self._scope.parent(node)
        while around is not None:
            if around.kind in ("for", "while"):
                return around.line
            around = self._scope.parent(around)
        return 0

    def _hold(self, target: Node, key: str, parts: Parts, new: Parts | None = None) -> None:
        self._held[key] = parts[:_MAX_PARTS]
        if target.kind == "attr" and target.kids[0].text in ("self", "this") and parts:
            previous = self.filled.get(target.text, ())
            fresh = parts if new is None else new
            self.filled[target.text] = (*previous, *(p for p in fresh if p not in previous))[:_MAX_PARTS]

    def _record_arguments(self, node: Node) -> None:
        """Record the parts of each argument of a call, by name or position. `slices.py` looks up parameters here."""
        parts_by_argument: dict[str, Parts] = {}
        for number, (key, value) in enumerate(arguments(node)):
            if value.kind in ("num", "const", "none", "lambda", "func"):
                continue
            parts = self._parts(value)
            if parts:
                parts_by_argument[key or str(number)] = parts[:_MAX_PARTS]
            if value.kind == "dict":
                parts_by_argument.update(
                    (p.text, q[:_MAX_PARTS]) for p in value.kids if p.kind == "pair" and (q := self._pair(p))
                )
        if parts_by_argument:
            self.handed[node.line] = parts_by_argument

    def _request(self, node: Node) -> Parts:
        """Return the parts of a request to a model, in the order in which the model reads them."""
        parts: list[Parts] = []
        for key, value in arguments(node):
            if key:
                parts.append(self._parts_of_key(key, value))
            elif value.kind == "dict":
                parts += [self._pair(pair) for pair in value.kids]
            elif value.kind not in ("str", "num", "const"):
                parts.append(self._parts(value))
        return _as_read(parts)

    def _pair(self, pair: Node) -> Parts:
        if not pair.kids:
            return ()
        return self._parts_of_key(pair.text, pair.kids[0]) if pair.kind == "pair" else self._parts(pair.kids[0])

    def _parts_of_key(self, key: str, value: Node) -> Parts:
        slot = keyed_slot(key)
        if slot and value.kind not in ("const", "num", "none"):
            inner = () if slot == "tools" else self._parts(value)
            return _message(slot, value.line, f"{key}=", inner)
        if key.lower() in _MESSAGE_KEYS or self._scope.likeness(value) > 1:
            return self._parts(value)
        return ()

    # -- expressions

    def _parts(self, node: Node, depth: int = 0) -> Parts:
        if depth > _MAX_DEPTH:
            return ()
        match node.kind:
            case "name" | "attr":
                return self._parts_of_name(node)
            case "call":
                return self._of_call(node, depth)
            case "dict":
                return self._of_dict(node, depth)
            case "comp":
                return self._parts(node.kids[2], depth + 1)
            case "slice":
                return self._parts(node.kids[0], depth + 1)
            case "index":
                key = node.kids[1]
                slot = slot_of(key.text) if key.kind == "str" else ""
                return (Part("slot", slot, node.line, key.text),) if slot else self._parts(node.kids[0], depth + 1)
            case "cmp" | "lambda" | "func" | "class" | "str" | "num" | "const" | "none":
                return ()
            case "cond":
                return self._join_parts(node.kids[1:], depth)
            case _:
                return self._join_parts(node.kids, depth)

    def _join_parts(self, kids: list[Node], depth: int) -> Parts:
        joined: dict[Part, None] = {}
        for kid in kids:
            joined.update(dict.fromkeys(self._parts(kid, depth + 1)))
        return tuple(joined)[:_MAX_PARTS]

    def _parts_of_name(self, node: Node) -> Parts:
        key = dotted(node)
        if self._held.get(key) or key in self._empty:
            return self._held[key]
        slot = slot_of(node.text)
        own = node.kind == "attr" and node.kids[0].text in ("self", "this")
        if slot and slot != "history":
            return (Part("slot", slot, node.line, node.text),)
        if node.kind == "name" and node.text in self._scope.params:
            return (Part("param", node.text, node.line, slot),)
        if own:
            suggested = slot or ("history" if self._scope.likeness(node) > 1 else "")
            return (Part("field", node.text, node.line, suggested),)
        if slot or self._scope.likeness(node) > 1:
            return (Part("slot", "history", node.line, node.text),)
        return (
            self._parts_of_name(node.kids[0]) if node.kind == "attr" and node.kids[0].kind in ("name", "attr") else ()
        )

    def _of_call(self, node: Node, depth: int) -> Parts:
        callee = node.kids[0]
        name = last_name(callee)
        values = [v for _, v in arguments(node)]
        if name.lower() in _COPYING_CALLS:
            owner = callee.kids if callee.kind == "attr" else []
            return self._join_parts([*owner, *values], depth)
        spoken = _message_slot(name) or next((s for k, v in arguments(node) if k == "role" and (s := _role(v))), "")
        if spoken:
            return _message(spoken, node.line, name, self._join_parts(values, depth))
        inner = self._join_parts(values, depth)
        full = dotted(callee)
        return (Part("call", full, node.line, slot_of(name), inner[:8]),) if full else inner

    def _of_dict(self, node: Node, depth: int) -> Parts:
        role = next((p.kids[0] for p in node.kids if p.kind == "pair" and p.text == "role" and p.kids), None)
        if role is None:
            return _as_read([self._pair(pair) for pair in node.kids])
        slot = _role(role)
        inner = self._join_parts([k for p in node.kids if p.text != "role" for k in p.kids], depth)
        if not slot:
            return inner
        return _message(slot, node.line, f"role {role.text}", inner)


def _message(slot: str, line: int, says: str, inner: Parts) -> Parts:
    """Return the part of a message, followed by other slots in its text. A system prompt is assumed to contain no
    turns."""
    turns = ("history", "current_input", "scratchpad") if slot == "system_prompt" else ()
    woven = (p for p in inner if p.name != slot and not (p.kind == "slot" and p.name in turns))
    return (Part("slot", slot, line, says), *woven)[:_MAX_PARTS]


def _as_read(arguments: list[Parts]) -> Parts:
    """Move the system prompt and the tools to the front, because the model reads them first, whatever the order of the
    arguments."""
    first = ("system_prompt", "tools")
    ahead = [p for slot in first for p in arguments if p and p[0].says.endswith("=") and p[0].name == slot]
    rest = [p for p in arguments if p not in ahead]
    return tuple(part for parts in (*ahead, *rest) for part in parts)[:_MAX_PARTS]


def _role(value: Node) -> str:
    """Return the slot of a message with this role, which is text or a member of an enumeration."""
    text = value.text if value.kind in ("str", "attr", "name") else next((k.text for k in walk(value)), "")
    return role_slot(text.lower())


def _message_slot(name: str) -> str:
    """Return the slot of a message class, such as `SystemMessage`, `UserMessageParam` or `ToolMessage`."""
    if not name[:1].isupper() or "message" not in name.lower():
        return ""
    name_words = set(words.words(name))
    return next((slot for telling, slot in _MESSAGE if name_words & telling), "")

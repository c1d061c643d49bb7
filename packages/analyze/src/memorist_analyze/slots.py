"""Finds the slots of the model's context (system prompt, history, tools, ...) that one function fills, judging by its
names.

`ORDER` is the conventional order of the slots.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from memorist_analyze import words
from memorist_analyze.flow import Scope
from memorist_analyze.records import Evidence
from memorist_analyze.syntax import Node, dotted, last_name, walk
from memorist_analyze.words import bag

Note = Callable[[str, Node, str], None]

ORDER = (
    "system_prompt", "examples", "context_files", "retrieved_memory", "summary", "history", "current_input",
    "scratchpad", "reminder", "tools",
)  # fmt: skip

_KEYS: dict[str, str] = {
    "system": "system_prompt", "system_prompt": "system_prompt", "systemprompt": "system_prompt",
    "system_instruction": "system_prompt", "systeminstruction": "system_prompt", "instructions": "system_prompt",
    "system_message": "system_prompt", "systemmessage": "system_prompt",
    "tools": "tools", "tool_specs": "tools", "toolconfig": "tools", "tool_choice": "tools", "toolspecs": "tools",
    "tool_schemas": "tools", "function_declarations": "tools",
}  # fmt: skip
_ROLES = {"system": "system_prompt", "developer": "system_prompt", "tool": "scratchpad", "function": "scratchpad"}
_ROLE_SLOTS = {**_ROLES, "user": "current_input", "human": "current_input"}
_RESULT = re.compile(
    r"tool_?(result|response|output|message|call_?output)|function_?(response|result|call_?output|execution)|observation"
    r"|scratchpad|ToolMessage|action_?output",
    re.I,
)
_INPUT = re.compile(
    r"user_?(input|message|msg|prompt|query|content|request|turn)|(new|initial|input)_?(message|msg|prompt|task)|"
    r"^(task|query|prompt|question|goal)$|current_?(input|message)|HumanMessage|UserMessage|pending_?(user)?_?message",
    re.I,
)
_MEMORY_CALL = re.compile(
    r"^_?a?(retrieve|recall|search|similarity_search|query|find_relevant|get_relevant\w*|get_context_?\w*|load_memory\w*)$",
    re.I,
)
_MEMORY_OWNER = bag("memory memories retriever knowledge vector vectorstore recall rag longterm ltm semantic episodic ")
_FILES = re.compile(
    r"^(get_)?(chat|read_?only|context|open|attached|mentioned|workspace|active)_?files?(_?(content|messages|context))?$",
    re.I,
)
_SUMMARY = re.compile(r"^(conversation_?)?summary(_?(message|msg|content|text|node))?$", re.I)
_REMINDER = re.compile(r"^(system_?)?reminder(_?(message|prompt|text))?s?$", re.I)
_EXAMPLES = re.compile(r"few_?shot|example_?(messages|msgs|selector|conversation)|^examples$", re.I)
_MAPPED = re.compile(
    r"memory_?(content|context|block|prompt)s?$|^recall(ed)?_?[a-z]+|"
    r"(retrieved|relevant)_?(memor|knowledge|context|docs|documents|nodes|chunks|facts)",
    re.I,
)
# Words in the names of concatenated pieces, most specific first.
_PIECES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"system", "instructions", "prefix"}), "system_prompt"),
    (frozenset({"examples", "example", "fewshot", "shots"}), "examples"),
    (frozenset({"reminder"}), "reminder"),
    (frozenset({"files", "file"}), "context_files"),
    (frozenset({"repo", "memory", "memories", "retrieved", "recalled", "knowledge", "context"}), "retrieved_memory"),
    (frozenset({"summary", "summaries"}), "summary"),
    (frozenset({"scratchpad", "observations", "tool", "results"}), "scratchpad"),
    (frozenset({"tools", "functions"}), "tools"),
    (frozenset({"cur", "current", "input", "query", "user", "task", "new"}), "current_input"),
    (frozenset({"done", "history", "messages", "chat", "conversation", "past", "previous", "msgs"}), "history"),
)

# Patterns of names that identify a slot; other names are classified by the words of `_PIECES`.
_NAMES = (
    (_REMINDER, "reminder"), (_EXAMPLES, "examples"), (_FILES, "context_files"), (_MAPPED, "retrieved_memory"),
    (_SUMMARY, "summary"), (_RESULT, "scratchpad"), (_INPUT, "current_input"),
)  # fmt: skip
# Words of names that are not slots: settings, counts, callbacks.
_VAGUE_WORDS = bag(
    "id ids count tokens limit max min size model client config settings callback type index name names manager choice "
    "parallel"
)


def role_slot(role: str) -> str:
    """Return the slot of a message with a role, or an empty string."""
    return _ROLE_SLOTS.get(role, "")


def keyed_slot(key: str) -> str:
    """Return the slot that an argument with this name fills, or an empty string."""
    return _KEYS.get(key.lower(), "")


@lru_cache(maxsize=65536)
def slot_of(name: str) -> str:
    """Return the slot that a variable or function with this name contains, or an empty string."""
    for pattern, slot in _NAMES:
        if pattern.search(name):
            return slot
    name_words = set(words.words(name))
    if name_words & _VAGUE_WORDS:
        return ""
    return next((slot for telling, slot in _PIECES if name_words & telling - {"tool", "context", "file"}), "")


def hints(scope: Scope, symbol: str, model_lines: set[int]) -> list[Evidence]:
    """Return the slots that a function fills, each with the first line that shows it."""
    evidence: list[Evidence] = []

    def note(slot: str, node: Node, why: str) -> None:
        if not any(e.value == slot for e in evidence):
            evidence.append(Evidence(slot, node.line, symbol, why))

    for node in scope.nodes:
        if node.kind in ("bin", "list"):
            _note_concatenation(node, scope, note)
    for node in scope.nodes:
        if node.kind in ("kw", "pair"):
            _note_key(node, note)
        elif node.kind == "call":
            _note_call(node, scope, note)
        elif node.kind in ("name", "attr"):
            _note_name(node, scope, note)
    if model_lines and not any(e.value == "history" for e in evidence):
        for node in scope.nodes:
            if node.kind in ("name", "attr") and scope.likeness(node) > 1:
                note("history", node, dotted(node))
                break
    return evidence


def _note_concatenation(node: Node, scope: Scope, note: Note) -> None:
    """Record the pieces of `self.system + self.examples + self.done + self.cur`, or of the same expression written with
    spreads."""
    around = scope.parent(node)
    if node.kind == "bin" and (node.text != "+" or (around is not None and around.kind == "bin")):
        return
    pieces = _flat(node)
    if len(pieces) < 3 or not all(p.kind in ("name", "attr", "spread", "call", "cond", "bool") for p in pieces):
        return
    named = [(slot, p) for p in pieces if (slot := _piece(p))]
    if len({slot for slot, _ in named}) >= 3:
        for slot, piece in named:
            note(slot, piece, f"concatenated: {last_name(piece)}")


def _flat(node: Node) -> list[Node]:
    if node.kind == "bin" and node.text == "+":
        return [p for k in node.kids for p in _flat(k)]
    if node.kind == "list" and node.text == "list":
        return [k.kids[0] if k.kind == "spread" else k for k in node.kids]
    return [node]


def _piece(node: Node) -> str:
    name = last_name(node)
    name_words = set(words.words(name))
    return next((slot for telling, slot in _PIECES if name_words & telling), "")


def _note_key(node: Node, note: Note) -> None:
    key = node.text.lower()
    value = node.kids[0] if node.kids else node
    if key == "role" and value.kind == "str" and value.text in _ROLES:
        note(_ROLES[value.text], node, f"role {value.text}")
    elif key in _KEYS and value.kind not in ("const", "num"):
        note(_KEYS[key], node, f"{node.text}=")


def _note_call(node: Node, scope: Scope, note: Note) -> None:
    callee = dotted(node.kids[0])
    name = callee.rpartition(".")[2]
    low = name.lower()
    owner = node.kids[0].kids[0] if node.kids[0].kind == "attr" else None
    if low in (
        "append",
        "extend",
        "insert",
        "unshift",
        "add",
        "add_message",
        "put",
        "aput",
        "update_memory",
        "addmessage",
    ):
        if owner is not None and (
            scope.likeness(owner) > 0 or "memory" in words.words(dotted(owner)) or "memory" in low
        ):
            _note_added(node, note)
    elif _MEMORY_CALL.match(name) and owner is not None and set(words.words(dotted(owner))) & _MEMORY_OWNER:
        note("retrieved_memory", node, callee)
    elif name in ("SystemMessage", "SystemMessageParam") or low in ("get_system_message", "build_system_prompt"):
        note("system_prompt", node, callee)
    elif name == "ToolMessage":
        note("scratchpad", node, callee)


def _note_added(node: Node, note: Note) -> None:
    """Record the slot of a message that is added to a list, judging by the names inside it."""
    for item in (k for a in node.kids[1:] for k in walk(a)):
        if item.kind in ("name", "attr"):
            if _SUMMARY.search(item.text):
                note("summary", node, item.text)
            elif _RESULT.search(item.text):
                note("scratchpad", node, item.text)
            elif _INPUT.search(item.text):
                note("current_input", node, item.text)
        elif item.kind in ("kw", "pair") and item.text == "role" and item.kids[0].text == "user":
            note("current_input", node, "role user")


def _note_name(node: Node, scope: Scope, note: Note) -> None:
    text = node.text
    around = scope.parent(node)
    if around is not None and around.kind == "call" and around.kids[0] is node and not _FILES.search(text):
        return
    if _REMINDER.search(text):
        note("reminder", node, text)
    elif _EXAMPLES.search(text):
        note("examples", node, text)
    elif _FILES.search(text) and not {"tool", "upload"} & set(words.words(text)):
        note("context_files", node, text)
    elif _MAPPED.search(text):
        note("retrieved_memory", node, text)
    elif scope.likeness(node) > 1:
        note("history", node, text)
    elif _RESULT.search(text):
        note("scratchpad", node, text)
    elif text.lower() in ("system_prompt", "systemprompt", "system_message", "systemmessage"):
        note("system_prompt", node, text)
    elif text in ("tools", "tool_specs", "toolSpecs", "tool_schemas"):
        note("tools", node, text)

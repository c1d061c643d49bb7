"""Finds passages that a fold must keep word for word: plans, open tasks and pasted requirements.

It recognises them by their structure: checklists, numbered lists, lists below a line that ends with a colon, and code
blocks of a user, and plans written by a tool call. A newer version of a list replaces the older one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..messages.message import Message
from .tokens import Counter

MIN_LISTED_LINES = 3
"""The minimum number of items for a user's list to count as requirements."""
MIN_PLAN_STEPS = 2
SAME_LIST_SHARE = 0.5
"""Two lists with at least this share of items in common are versions of one list."""
MAX_PASSAGE_CHARACTERS = 6_000
LANE_SHARE = 0.7
"""The maximum share of a summary that these passages may use."""
_TASK = re.compile(r"^\s*[-*+]\s+\[(?P<state>[ xX~-])\]\s+(?P<text>\S.*)$")
_NUMBERED = re.compile(r"^\s{0,3}(?:\(?\d{1,3}[.):]|[A-Z]{1,5}-?\d{1,4}[.:)])\s+\S")
_BULLET = re.compile(r"^\s{0,3}[-*+•]\s+\S")
_FENCE = re.compile(r"^(?:[^\n]*[:：][ \t]*\n)?(?P<mark>```+|~~~+).*?^(?P=mark)[ \t]*$", re.M | re.S)
"""A code block, with the line that introduces it."""
_DONE = frozenset(("completed", "complete", "done", "closed", "cancelled", "canceled"))
_KEEP = re.compile(r"^\W{0,4}KEEP:\s*(?P<quote>\S.*?)\s*$", re.M)


def passages(messages: Iterable[Message]) -> list[str]:
    """Return the passages to keep word for word, oldest first, with only the newest version of each list."""
    lane: list[str] = []
    for message in messages:
        for passage in _passages_of(message):
            lane = merge(lane, [passage])
    return lane


def merge(lane: Sequence[str], newer: Iterable[str]) -> list[str]:
    """Return the lane with newer passages appended, and without lists that are completed or have a newer version."""
    merged = list(lane)
    for passage in newer:
        merged = [old for old in merged if not _same_list(old, passage)]
        merged.append(passage)
    return [passage for passage in merged if not _is_done(passage)]


def fitting(lane: Sequence[str], max_tokens: int, counter: Counter) -> list[str]:
    """Return the newest passages that fit into their share of a summary, in order."""
    room, chosen = int(max_tokens * LANE_SHARE), list[str]()
    for passage in reversed(lane):
        cost = counter.count(passage) + 8
        if cost <= room:
            room -= cost
            chosen.append(passage)
    return chosen[::-1]


def quotes(text: str, source: str) -> tuple[str, list[str]]:
    """Return a model's summary without its KEEP lines, and the quotes in these lines that occur in the source."""
    chosen = [match["quote"].strip('"“”') for match in _KEEP.finditer(text)]
    return _KEEP.sub("", text).strip(), [quote for quote in chosen if quote in source]


def _passages_of(message: Message) -> Iterable[str]:
    for call in message.tool_calls:
        plan = _plan(call.name, call.arguments)
        if plan:
            yield plan
    if message.role not in ("user", "assistant") or message.tool_results:
        return
    text = message.text
    if message.role == "user":
        for block in _FENCE.finditer(text):
            if len(block.group()) <= MAX_PASSAGE_CHARACTERS:
                yield block.group()
    yield from _lists(_FENCE.sub("", text), own=message.role == "user")


def _lists(text: str, *, own: bool) -> Iterable[str]:
    """Return all checklists and the user's lists, each with the line that introduces it."""
    lines = text.splitlines()
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and (_is_item(lines[end]) or (end > start and lines[end].startswith(("  ", "\t")))):
            end += 1
        block = lines[start:end]
        tasks = sum(_TASK.match(line) is not None for line in block)
        head = lines[start - 1 : start] if start and lines[start - 1].rstrip().endswith((":", "：")) else []
        items = sum((_is_item if head else _is_numbered)(line) for line in block)
        if tasks or (own and items >= MIN_LISTED_LINES):
            passage = "\n".join([*head, *block])
            if len(passage) <= MAX_PASSAGE_CHARACTERS:
                yield passage
        start = max(end, start + 1)


def _is_numbered(line: str) -> bool:
    return _NUMBERED.match(line) is not None


def _is_item(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_TASK, _NUMBERED, _BULLET))


def _plan(name: str, arguments: object) -> str:
    """Return the plan that a tool call wrote: a list of steps that each have a text and a status."""
    values = list(arguments.values()) if isinstance(arguments, Mapping) else []
    for steps in values:
        if not isinstance(steps, list) or len(steps) < MIN_PLAN_STEPS:
            continue
        rows = [_step(step) for step in steps]
        listed = [row for row in rows if row is not None]
        if len(listed) == len(rows) and any(" " in text for _, text in listed):
            return "\n".join([f"Plan ({name}):", *(f"- [{state}] {text}" for state, text in listed)])
    return ""


def _step(step: object) -> tuple[str, str] | None:
    """Return the state and the text of a step, which is its first text of several words, or else its longest."""
    if not isinstance(step, Mapping) or not isinstance(step.get("status"), str):
        return None
    texts = [value for key, value in step.items() if key != "status" and isinstance(value, str) and value]
    text = next((text for text in texts if " " in text), max(texts, key=len, default=""))
    return ("x" if step["status"].casefold() in _DONE else " ", text) if text else None


def _items(passage: str) -> set[str]:
    """Return the items of a list without their states and numbers."""
    items: set[str] = set()
    for line in passage.splitlines():
        task = _TASK.match(line)
        if task is not None:
            items.add(task["text"].casefold().strip())
        elif _is_item(line):
            items.add(line.strip().partition(" ")[2].casefold().strip())
    return items


def _same_list(old: str, new: str) -> bool:
    if old == new:
        return True
    first, second = _items(old), _items(new)
    if not first or not second:
        return False
    plan = old.startswith("Plan (") and old.partition("\n")[0] == new.partition("\n")[0]
    return plan or len(first & second) >= SAME_LIST_SHARE * min(len(first), len(second))


def _is_done(passage: str) -> bool:
    """Return whether all tasks in a checklist are done."""
    states = [match["state"] for line in passage.splitlines() if (match := _TASK.match(line))]
    return bool(states) and all(state in "xX" for state in states) and not _NUMBERED.search(passage)

"""Edits JSON text in place, so that everything else in a file stays as it is: comments, formatting and line ends.

Hosts read JSON with comments and trailing commas, and people write both. Each edit is a small insertion or deletion,
and the text is parsed again afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null')
_MARK = "\ufeff"


class NotJson(ValueError):
    """Raised for a configuration file that cannot be read as JSON, and therefore not changed safely."""


class Part(msgspec.Struct):
    """Describes a member of an object, or an item of an array."""

    name: str | None
    start: int
    node: Node
    comma: int | None = None
    """This is the position of the comma that follows."""


class Node(msgspec.Struct):
    """Describes a value and its position in the text."""

    start: int
    end: int
    value: Any
    parts: list[Part]

    def part(self, name: str) -> Part | None:
        """Return the member of this name. If there are several, the last one counts."""
        return next((part for part in reversed(self.parts) if part.name == name), None)


def parse(text: str) -> Node:
    """Parse a text that contains one JSON object."""
    node = _value(text, _skip(text, len(_MARK) if text.startswith(_MARK) else 0))
    if _skip(text, node.end) != len(text):
        raise _problem(text, _skip(text, node.end), "there is text after its end")
    if not isinstance(node.value, dict):
        raise NotJson("it does not contain a JSON object")
    return node


def node_at(text: str, path: Sequence[str]) -> Node | None:
    """Return the value at a path of names, or None."""
    node: Node = parse(text)
    for name in path:
        part = node.part(name)
        if part is None:
            return None
        node = part.node
    return node


def insert(text: str, path: Sequence[str], name: str | None, value: object) -> str:
    """Return the text with a new last member of the object at `path`, or a new last item of the array there."""
    # These files belong to other programs and often contain comments, so only the new characters are inserted. Writing
    # the parsed value back would lose everything else.
    root, node = parse(text), node_at(text, path)
    assert node is not None
    content = text[root.start : root.end]
    inner = text[node.start : node.end]
    is_compact = "\n" not in (inner if node.parts else content) and bool(root.parts)
    end = "\r\n" if "\r\n" in text else "\n"
    unit = _line_indent(text, root.parts[0].start) if root.parts else ""
    base = _line_indent(text, node.start)
    own = (_line_indent(text, node.parts[0].start) if node.parts else "") or base + (unit or "  ")
    dumped = json.dumps(value, ensure_ascii=False, indent=None if is_compact else unit or "  ")
    piece = ("" if name is None else f"{json.dumps(name)}: ") + dumped.replace("\n", end + own)
    lead = " " if is_compact else end + own
    close = node.end - 1
    if not node.parts:
        lead, tail = ("", "") if is_compact else (lead, end + base)
        return text[: node.start + 1] + lead + piece + tail + text[close:]
    last = node.parts[-1]
    after = last.node.end if last.comma is None else last.comma + 1
    # A comment after the last member stays with it.
    tail_start = after + len(text[after:close].rstrip())
    # Some hosts accept a trailing comma and others reject it, so the file keeps its own style.
    comma = "," if last.comma is None else ""
    final = "" if last.comma is None else ","
    return text[:after] + comma + text[after:tail_start] + lead + piece + final + text[tail_start:]


def remove(text: str, path: Sequence[str], index: int) -> str:
    """Return the text without one part of the value at `path`, and without its comma."""
    node = node_at(text, path)
    assert node is not None
    part = node.parts[index]
    # With the white space before it, so that no empty line remains.
    start = len(text[: part.start].rstrip())
    if part.comma is not None:
        return text[:start] + text[part.comma + 1 :]
    if index > 0:
        comma = node.parts[index - 1].comma
        assert comma is not None
        return text[:comma] + text[comma + 1 : start] + text[part.node.end :]
    rest = text[part.node.end : node.end - 1]
    return text[:start] + (rest if rest.strip() else "") + text[node.end - 1 :]


def _line_indent(text: str, position: int) -> str:
    """Return the white space that begins the line of a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())]


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None
    return match.end()


def _value(text: str, position: int) -> Node:
    if text.startswith(("{", "["), position):
        return _container(text, position)
    match = _SCALAR.match(text, position)
    if match is None:
        raise _problem(text, position, "a value is missing")
    return Node(position, match.end(), json.loads(match[0]), [])


def _container(text: str, start: int) -> Node:
    is_object = text[start] == "{"
    close = "}" if is_object else "]"
    parts: list[Part] = []
    position = _skip(text, start + 1)
    while not text.startswith(close, position):
        if parts and parts[-1].comma is None:
            raise _problem(text, position, f"a comma or {close!r} is missing")
        part_start, name = position, None
        if is_object:
            key = _SCALAR.match(text, position)
            if key is None or not key[0].startswith('"'):
                raise _problem(text, position, "a name in double quotes is missing")
            name = json.loads(key[0])
            colon = _skip(text, key.end())
            if not text.startswith(":", colon):
                raise _problem(text, colon, "a colon is missing")
            position = _skip(text, colon + 1)
        node = _value(text, position)
        position = _skip(text, node.end)
        part = Part(name, part_start, node)
        if text.startswith(",", position):
            part.comma = position
            position = _skip(text, position + 1)
        parts.append(part)
    values = [part.node.value for part in parts]
    value = {part.name: part.node.value for part in parts} if is_object else values
    return Node(start, position + 1, value, parts)


def _problem(text: str, position: int, what: str) -> NotJson:
    return NotJson(f"it is not JSON: {what} in line {text.count(chr(10), 0, position) + 1}")

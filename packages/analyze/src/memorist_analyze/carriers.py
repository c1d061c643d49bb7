"""Classes whose instances hold messages and their token counts, found by a regular-expression scan of every file.

The scan runs before the files are parsed, because the typing of message lists (`flow.py`) needs these names.
"""

from __future__ import annotations

import re
from pathlib import Path

from memorist_analyze.discover import Source

_CLASS = re.compile(rb"^(?:export\s+)?(?:abstract\s+)?(?:class|interface)\s+(\w+)")
_FIELD = re.compile(rb"^\s{1,8}(?:readonly\s+|public\s+|private\s+)?(messages|tokens)\??\s*:")


def carriers(root: Path, sources: list[Source]) -> frozenset[str]:
    """Names of classes that hold both `messages` and their `tokens`: a list of these is a list of messages."""
    found: set[str] = set()
    for source in sources:
        try:
            data = (root / source.path).read_bytes()
        except OSError:
            continue  # `gather` reports unreadable files when it parses them
        if b"messages" in data and b"tokens" in data:
            found |= _in_file(data)
    return frozenset(found)


def _in_file(data: bytes) -> set[str]:
    found: set[str] = set()
    name = ""
    fields: set[bytes] = set()
    for line in data.split(b"\n"):
        opened = _CLASS.match(line)
        if opened:
            name, fields = opened[1].decode(), set()
        elif line[:1].strip():
            name = "" if not line.startswith((b")", b"}")) else name
        field = _FIELD.match(line)
        if field and name:
            fields.add(field[1])
            if len(fields) == 2:
                found.add(name)
    return found

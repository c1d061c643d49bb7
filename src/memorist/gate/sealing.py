"""Decides which fields of a record are content, and puts them into one sealed cell. This module does not handle keys.

The content of a row is stored in one of its fields as one ciphertext, and the other content fields are left empty. Row
keys, times, counts, roles and kinds stay readable, so that stores can sort, count and expire rows without a key.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec

from ..kinds import KINDS
from ..messages.message import Message
from ..records import CheckpointStep, Record, RecordPiece, StateEntry, StoredRecord, Thread

MARK = "memorist-sealed:"
"""The beginning of a sealed cell, which is followed by the id of its key and the ciphertext."""
_CELL = re.compile(rf"{MARK}[0-9a-f]{{16}}:[A-Za-z0-9+/]+={{0,2}}")
"""The whole form is checked, because users can write texts that only begin like a cell."""
_BYTES_CELL = re.compile(_CELL.pattern.encode())
UNREADABLE = "memorist.unreadable"
"""The metadata key of a record whose key was destroyed."""
CONTENT: dict[type[Record], tuple[str, ...]] = {kind.record: kind.content for kind in KINDS if kind.content}
"""The content of each kind. The first field holds the sealed cell."""
BY_TABLE: dict[str, type[Record]] = {record.table.name: record for record in CONTENT}
_EMPTY: dict[str, object] = {
    "metadata": {}, "extra": {}, "tags": (), "people": (), "proposal": {}, "doc": {}, "signals": b"",
    "context_terms": "",
}  # fmt: skip
_TEXTS = frozenset({"text", "content", "terms"})
_BYTES = frozenset({"data", "body"})
_replace = msgspec.structs.replace
encode_json = msgspec.json.Encoder().encode


def sealed_cell(record: Record) -> str | bytes | None:
    """Return the sealed cell of a record, or None if it is not sealed."""
    fields = CONTENT.get(type(record))
    cell = None if fields is None else getattr(record, fields[0])
    if isinstance(cell, dict):
        cell = cell.get(MARK)
    if isinstance(cell, str):
        return cell if cell.startswith(MARK) and _CELL.fullmatch(cell) else None
    return cell if isinstance(cell, bytes) and _BYTES_CELL.fullmatch(cell) else None


def content_of(record: Record) -> bytes | None:
    """Return the content of a record as bytes to be sealed, or None if there is nothing to seal."""
    fields = CONTENT[type(record)]
    values = [getattr(record, name) for name in fields]
    if isinstance(record, StateEntry) and isinstance(record.value, int):
        return None  # a counter: stores add to it
    if isinstance(record, Thread) and not record.title and not record.metadata:
        return None
    if isinstance(record, StoredRecord | RecordPiece | CheckpointStep) and values[0] is None and not any(values[1:]):
        return None
    return _encode(values)


def message_content(message: Message) -> bytes:
    """Return the content of a message as bytes to be sealed. This is fastest for messages that contain only text, as
    most do."""
    is_plain = type(message.content) is str and message.name is None and message.raw is None
    if is_plain and not message.extra and not message.metadata:
        return encode_json([{"v": message.content}])
    return _encode([getattr(message, name) for name in CONTENT[Message]])


def with_message_cell(message: Message, cell: str) -> Message:
    """Return the message with its content replaced by a sealed cell."""
    return _replace(message, content=cell, name=None, extra={}, metadata={}, raw=None)


def with_cell(record: Record, cell: str) -> Record:
    """Return the record with its content replaced by a sealed cell."""
    holder, *others = CONTENT[type(record)]
    fields: dict[str, object] = {name: _EMPTY.get(name) for name in others}
    if holder in ("metadata", "doc"):
        fields[holder] = {MARK: cell}
    elif holder in _BYTES:
        fields[holder] = cell.encode()
    else:
        fields[holder] = cell
    return _replace(record, **fields)


def with_content(record: Record, content: bytes) -> Record:
    """Return the record with its content restored."""
    names = CONTENT[type(record)]
    values = _decode(content)
    # Trailing fields that are empty are left out.
    values += [_EMPTY.get(name) for name in names[len(values) :]]
    for index, name in enumerate(names):
        if name in ("tags", "people"):
            values[index] = tuple(values[index])
    return _replace(record, **dict(zip(names, values, strict=True)))


def without_content(record: Record) -> Record:
    """Return the record with empty content, because its key is gone. If it has metadata, the metadata says so."""
    fields: dict[str, object] = {}
    for name in CONTENT[type(record)]:
        fields[name] = "" if name in _TEXTS else b"" if name in _BYTES else _EMPTY.get(name)
    if "metadata" in fields:
        fields["metadata"] = {UNREADABLE: True}
    return _replace(record, **fields)


def _encode(values: list[object]) -> bytes:
    return encode_json([{"b": base64.b64encode(v).decode()} if isinstance(v, bytes) else {"v": v} for v in values])


def _decode(content: bytes) -> list[Any]:
    cells: list[dict[str, Any]] = msgspec.json.decode(content)
    return [base64.b64decode(cell["b"]) if "b" in cell else cell["v"] for cell in cells]

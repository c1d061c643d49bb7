"""Encodes values for which JSON has no type, such as bytes in records and documents."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ..engine.documents.files import read_bytes
from ..engine.records import OpaqueRecord, RecordPut
from ..errors import InvalidValue
from ..values import JsonMapping, JsonObject

BYTES, PLAIN = "$bytes", "$json"
"""Bytes are sent as `{"$bytes": "<base64>"}`. JSON data that resembles either of these forms is wrapped in `{"$json":
…}`."""


class SentBytes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents bytes as JSON."""

    base64: str = msgspec.field(name=BYTES)


class RecordItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Represents one of several records put in one call."""

    key: list[str | int | float]
    data: Any = None
    meta: JsonObject | None = None
    ttl: float | None = None
    expect: int | None = None
    absent: bool = False


def data_out(data: object) -> object:
    """Encode a record's data."""
    if isinstance(data, bytes | bytearray | memoryview):
        return {BYTES: base64.b64encode(data).decode()}
    # A user's own {"$bytes": …} is wrapped, so that the receiver does not take it for bytes.
    return {PLAIN: data} if _marked(data) is not None else data


def data_in(sent: Any) -> object:
    """Decode a record's data. This is the inverse of `data_out`."""
    mark = _marked(sent)
    if mark == PLAIN:
        return sent[PLAIN]
    if mark == BYTES:
        try:
            return base64.b64decode(sent[BYTES], validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise InvalidValue('bytes must be sent as {"$bytes": "<base64>"}') from None
    return sent


def with_file_bytes(arguments: Mapping[str, object]) -> JsonMapping:
    """Return the arguments of `documents.add` with the bytes of a file instead of its path, which is meaningless on
    another machine.
    """
    path = arguments.get("text")
    if not isinstance(path, os.PathLike):
        return arguments
    source = os.fspath(path) if arguments.get("source") is None else arguments["source"]
    return {**arguments, "text": read_bytes(path), "source": source}


def document_in(sent: str | SentBytes) -> str | bytes:
    """Decode a document. This is the inverse of `data_out`. A string is never interpreted as a path."""
    return sent if isinstance(sent, str) else cast("bytes", data_in({BYTES: sent.base64}))


def _marked(data: object) -> str | None:
    if isinstance(data, dict) and len(data) == 1:
        (name,) = data
        return name if name in (BYTES, PLAIN) else None
    return None


def record_out(record: OpaqueRecord) -> JsonObject:
    """Encode a record."""
    fields = msgspec.structs.asdict(record)
    return {**fields, "data": data_out(record.data)}


def record_in(sent: Mapping[str, object]) -> OpaqueRecord:
    """Decode a record. This is the inverse of `record_out`."""
    record = msgspec.convert({**sent, "data": None}, OpaqueRecord, strict=False)
    return msgspec.structs.replace(record, data=data_in(sent.get("data")))


def put_in(item: RecordItem) -> RecordPut | tuple[object, object]:
    """Return a record to put, in the engine's form: (key, data) if the options of the whole call apply."""
    if item == RecordItem(key=item.key, data=item.data):
        return tuple(item.key), data_in(item.data)
    fields = msgspec.structs.asdict(item)
    return RecordPut(**{**fields, "data": data_in(item.data)})


def items_out(items: Any) -> list[JsonObject]:
    """Encode records to put, which can be a mapping, pairs or `RecordPut`s."""
    pairs = items.items() if isinstance(items, Mapping) else items
    return [_item_out(item) for item in pairs]


def _item_out(item: Any) -> JsonObject:
    if isinstance(item, RecordPut):
        fields = {name: value for name, value in msgspec.structs.asdict(item).items() if value is not None}
        return {**fields, "data": data_out(item.data)}
    key, data = item
    return {"key": key, "data": data_out(data)}

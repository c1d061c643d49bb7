"""Between records and rows: one row shape for every store, so that all give back the same bytes.

A column is text, an integer, a real, bytes or exact JSON text; times are integer microseconds; empty JSON is NULL.
The two functions per record are compiled once from its fields: a loop over fields would cost several times the row.
"""

from __future__ import annotations

import types
import typing
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from ..errors import CorruptRecord, InvalidValue
from ..ports import FLOAT_EXACT, to_datetime, to_micros
from ..records import Record
from ..values import encode_json

Row = tuple[Any, ...]
pack = msgspec.msgpack.Encoder().encode
_load = msgspec.json.Decoder().decode


class Column(NamedTuple):
    """A field as a store keeps it: `kind` is text, int, real, bool, time, bytes or json."""

    name: str
    kind: str
    nullable: bool


class Codec(NamedTuple):
    """How one record becomes a row and back."""

    columns: tuple[Column, ...]
    encode: Callable[[Any], Row]
    decode: Callable[[Any], Any]
    place: dict[str, int]


@cache
def codec(kind: type[Record]) -> Codec:
    """The codec of a record, compiled on first use."""
    columns = tuple(_columns(kind))
    scope = {
        "kind": kind, "json": _json_or_none, "value": encode_json, "load": _load, "exact": to_datetime,
        "micros": to_micros, "when": datetime.fromtimestamp, "UTC": UTC, "freeze": tuple, "real": _real,
    }  # fmt: skip
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    encode = ", ".join(_encoder(column, fields[column.name]) for column in columns)
    # The source is made of field names alone, none of it from users.
    return Codec(
        columns,
        eval(f"lambda r: ({encode},)", scope),
        eval(f"lambda row: {_decode_source(columns, fields)}", scope),
        {column.name: i for i, column in enumerate(columns)},
    )


def _decode_source(columns: tuple[Column, ...], fields: dict[str, msgspec.structs.FieldInfo]) -> str:
    """Most rows leave most optional columns empty: those take a shorter call, a third of the cost of the full one."""
    whole, brief, empty = [], [], []
    for i, column in enumerate(columns):
        part = f"{column.name}={_decoder(i, column, fields[column.name])}"
        whole.append(part)
        if _is_empty_default(fields[column.name]) or (column.nullable and fields[column.name].default is None):
            empty.append(f"row[{i}] is None")
        elif column.kind == "bool" and fields[column.name].default is False:
            empty.append(f"not row[{i}]")
        else:
            brief.append(part)
    full = f"kind({', '.join(whole)})"
    return f"kind({', '.join(brief)}) if {' and '.join(empty)} else {full}" if empty else full


def kinds() -> list[type[Record]]:
    """Every kind of record there is, by the name of its table."""
    from ..kinds import RECORDS

    return sorted(RECORDS, key=lambda kind: kind.table.name)


def checksum(row: Sequence[Any]) -> int:
    """CRC of every column of a row."""
    return zlib.crc32(pack(row))


def verify(kind: type[Record], row: Row, stored: int) -> None:
    """Raise CorruptRecord unless the row is what was written."""
    if zlib.crc32(pack(row)) != stored:
        key = row[: len(kind.table.key)]
        raise CorruptRecord(
            f"a row of {kind.table.name} does not match its checksum; restore it from a backup or delete it",
            table=kind.table.name,
            key=key,
        )


def decoded(kind: type[Record], row: Row) -> Any:
    """The record of a row, or CorruptRecord where its JSON is damaged."""
    try:
        return codec(kind).decode(row)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, ValueError, OverflowError) as cause:
        raise CorruptRecord(
            f"a row of {kind.table.name} cannot be decoded; restore it from a backup or delete it",
            table=kind.table.name,
        ) from cause


def _columns(kind: type[Record]) -> list[Column]:
    hints = typing.get_type_hints(kind)
    return [_column(field.name, hints[field.name]) for field in msgspec.structs.fields(kind)]


def _column(name: str, hint: Any) -> Column:
    nullable = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        nullable, hint = True, options[0]
    kinds: dict[Any, str] = {str: "text", int: "int", float: "real", bool: "bool", datetime: "time", bytes: "bytes"}
    kind = kinds.get(hint, "json")
    return Column(name, kind, nullable or kind == "json")


def _is_empty_default(field: msgspec.structs.FieldInfo) -> bool:
    made = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    return made in ({}, ())


def _encoder(column: Column, field: msgspec.structs.FieldInfo) -> str:
    name = f"r.{column.name}"
    if column.kind == "json":
        empty = f"(value({name}, {column.name!r}) if {name} else None)"
        return empty if _is_empty_default(field) else f"value({name}, {column.name!r})"
    if column.kind == "time":
        return f"(None if {name} is None else micros({name}))" if column.nullable else f"micros({name})"
    if column.kind == "bool":
        return f"int({name})"
    if column.kind == "real":
        made = f"real({name}, {column.name!r})"
        return f"(None if {name} is None else {made})" if column.nullable else made
    return name


def _decoder(place: int, column: Column, field: msgspec.structs.FieldInfo) -> str:
    cell = f"row[{place}]"
    if column.kind == "json":
        if not _is_empty_default(field):
            return f"load({cell})"
        made = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        if made == {}:
            return f"({{}} if {cell} is None else load({cell}))"
        return f"(() if {cell} is None else freeze(load({cell})))"
    if column.kind == "time":
        # As `to_datetime` does it, without the call.
        made = f"(when({cell} / 1e6, UTC) if 0 <= {cell} < {FLOAT_EXACT} else exact({cell}))"
        return f"(None if {cell} is None else {made})" if column.nullable else made
    if column.kind == "bool":
        return f"bool({cell})"
    return cell


def _real(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidValue(f"{what} must be a number") from cause
    if not isfinite(number):
        raise InvalidValue(f"{what} is {number!r}, which no store can keep")
    # SQLite keeps whole reals as integers, which have no minus zero.
    return number + 0.0


def _json_or_none(value: Any, what: str) -> str | None:
    return encode_json(value, what) if value else None

"""Converts records to rows and back, using one row format for every store, so that all stores return the same bytes.

A column is text, an integer, a real, bytes or exact JSON text. Times are integer microseconds, and empty JSON is NULL.
The two functions for each record are compiled once from its fields, because a loop over the fields would take several
times as long.

Rows outlive the program that wrote them, so one store may contain two versions of a record. These rules apply:

- Columns are sorted by name, so that every version puts them in the same order.
- A missing cell (NULL in a column that was added later) gets its field's default.
- A checksum names the set of columns it covers (see `Sum`), so it stays valid whatever columns are added later.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from ..errors import CorruptRecord, InvalidValue
from ..ports import MAX_EXACT_FLOAT_MICROS, to_datetime, to_micros
from ..records import Key, Record
from ..values import MAX_UNCHECKED_CHARACTERS, encode_json

Row = tuple[Any, ...]
pack = msgspec.msgpack.Encoder().encode
_dump, _load = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode


class Column(NamedTuple):
    """Represents a field as it is stored. `kind` is text, int, real, bool, time, bytes or
    json."""

    name: str
    kind: str
    nullable: bool


class Codec(NamedTuple):
    """Converts one kind of record to rows and back."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    encode: Callable[[Any], Row]
    decode: Callable[[Any], Any]
    position_of: dict[str, int]
    key: Callable[[Row], Key]
    missing: Row
    """This is the cell (the field's default) for each column that is missing from an older row."""
    shape: int
    """This is a hash of the column names. See `shape_of`."""
    sum_base: int
    """These are the upper bits (algorithm and shape) of a row's checksum over these columns. The CRC fills the
    lower 32 bits."""
    versioned: bool
    """This is True if the store assigns each row its version."""

    def sum(self, row: Sequence[object]) -> int:
        """Return the checksum of a whole row."""
        return self.sum_base | crc32(pack(row))


@cache
def codec(record_type: type[Record]) -> Codec:
    """Return the codec of a record, compiled on first use."""
    columns = _columns(record_type)
    scope = {
        "kind": record_type, "load": _load, "exact": to_datetime, "when": datetime.fromtimestamp, "UTC": UTC,
    }  # fmt: skip
    fields = _fields(record_type)
    # The evaluated source consists of field names only, never of text from users.
    names = tuple(column.name for column in columns)
    positions = {name: i for i, name in enumerate(names)}
    scope.update({f"default_{name}": field.default for name, field in fields.items()})
    # Typed decoders return tuples, including nested ones, where plain JSON would return lists.
    scope.update({f"load_{name}": msgspec.json.Decoder(hint).decode for name, hint in _tuples(record_type)})
    shape = shape_of(names)
    return Codec(
        columns,
        names,
        encoder(record_type),
        eval(f"lambda row: {_decode_source(columns, fields)}", scope),
        positions,
        itemgetter(*(positions[name] for name in record_type.table.key)),
        tuple(_missing(column, fields[column.name]) for column in columns),
        shape,
        CRC32 << 56 | shape << 32,
        "version" in positions and "version" not in record_type.table.key,
    )


def encoder(record_type: type[Record], *replaced: str) -> Callable[..., Row]:
    """Compile a function that converts a record to its row. It accepts the cells of the `replaced` columns as
    additional arguments."""
    fields = _fields(record_type)
    cells = [
        column.name if column.name in replaced else _encoder(column, fields[column.name])
        for column in _columns(record_type)
    ]
    scope = {"value": encode_json, "dump": _dump, "micros": to_micros, "real": _real}
    encode: Callable[..., Row] = eval(f"lambda {', '.join(('r', *replaced))}: ({', '.join(cells)},)", scope)
    return encode


CRC32 = 1
# Keep this below 128: it fills the highest byte of the checksum, which SQL stores keep in a signed 64-bit column.
"""The number of the only checksum algorithm so far. It is the CRC-32 of the cells as a MessagePack array, sorted by
name."""


@cache
def shape_of(names: tuple[str, ...]) -> int:
    """Return a 24-bit hash that identifies a set of columns. `names` is sorted."""
    return int.from_bytes(blake2b(" ".join(names).encode(), digest_size=3).digest(), "big")


class Sum(NamedTuple):
    """Holds the parts of a stored checksum: its algorithm, the hash of the columns it covers (see `shape_of`), and the
    CRC.

    As one integer, the checksum is `algorithm << 56 | shape << 32 | crc`.
    """

    algorithm: int
    shape: int
    crc: int

    @classmethod
    def of(cls, stored: int) -> Sum:
        return cls(stored >> 56, stored >> 32 & 0xFFFFFF, stored & 0xFFFFFFFF)


def columns_summed(shape: int, physical: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that a checksum covers, or None if no version of the table had that set.

    `physical` lists the table's columns in the order in which they were added, without the checksum. New columns are
    only ever added at the end, so each version of the program knew a prefix of that list. All prefixes are tried.
    """
    for count in range(len(physical), 0, -1):
        names = tuple(sorted(physical[:count]))
        if shape_of(names) == shape:
            return names
    return None


def _missing(column: Column, field: msgspec.structs.FieldInfo) -> object:
    """Return a field's default as a cell, or None for a nullable column."""
    if column.nullable or field.default is msgspec.NODEFAULT:
        return None
    if column.kind == "time":
        return to_micros(field.default)
    return int(field.default) if column.kind == "bool" else field.default


def _decode_source(columns: tuple[Column, ...], fields: dict[str, msgspec.structs.FieldInfo]) -> str:
    """Return the source of a decoder. It uses a short constructor call for rows without optional cells, and the full
    call for all others.

    Most rows are of the first kind, for which the short call takes a third of the time."""
    whole, brief, empty = [], [], []
    created = next((i for i, column in enumerate(columns) if column.name == "created_at" and not column.nullable), None)
    for i, column in enumerate(columns):
        source = _decoder(i, column, fields[column.name])
        # Columns are sorted by name, so the generated source evaluates `created_at` before `updated_at`, which reuses
        # it.
        if i == created:
            source = f"(created := {source})"
        elif created is not None and column.name == "updated_at":  # equal in most rows, which were never changed
            source = f"(created if row[{i}] == row[{created}] else {source})"
        part = f"{column.name}={source}"
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
    """Return every kind of record by the name of its table."""
    from ..kinds import RECORDS

    return sorted(RECORDS, key=lambda kind: kind.table.name)


def damaged(record_type: type[Record], key: Key) -> CorruptRecord:
    """Return the error for a row that does not match its checksum."""
    return CorruptRecord(
        f"a row of {record_type.table.name} does not match its checksum; restore it from a backup or delete it",
        table=record_type.table.name,
        key=key,
    )


def cells_of(record_type: type[Record], row: Row) -> dict[str, object]:
    """Return a row by the names of its columns, without empty cells."""
    return {name: cell for name, cell in zip(codec(record_type).names, row, strict=True) if cell is not None}


def row_of(record_type: type[Record], cells: Mapping[str, object]) -> Row:
    """Return the row for cells by name. Missing cells are set to their defaults, and unknown ones are ignored."""
    return tuple(map(cells.get, codec(record_type).names, codec(record_type).missing))


def unknown_cells(record_type: type[Record], cells: Mapping[str, object]) -> dict[str, object]:
    """Return the cells of columns that this version of a record does not have."""
    positions = codec(record_type).position_of
    return {name: cell for name, cell in cells.items() if name not in positions}


UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, TypeError, ValueError, OverflowError)
"""Exceptions that may be raised when a damaged row is decoded."""


def decoded(record_type: type[Record], row: Row) -> object:
    """Return the record of a row. Raises CorruptRecord if its JSON is damaged."""
    try:
        return codec(record_type).decode(row)
    except UNDECODABLE as cause:
        raise CorruptRecord(
            f"a row of {record_type.table.name} cannot be decoded; restore it from a backup or delete it",
            table=record_type.table.name,
        ) from cause


# Evaluating a record's annotations takes longer than compiling its codec, so the results are cached.


@cache
def _hints(record_type: type[Record]) -> dict[str, object]:
    return typing.get_type_hints(record_type)


@cache
def _fields(record_type: type[Record]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(record_type)}


@cache
def _columns(record_type: type[Record]) -> tuple[Column, ...]:
    # The order is part of the checksum, so it must not depend on the order of declaration, which versions may change.
    columns = [_column(name, _hints(record_type)[name]) for name in record_type.__struct_fields__]
    return tuple(sorted(columns, key=lambda column: column.name))


def _tuples(record_type: type[Record]) -> list[tuple[str, object]]:
    """Return the fields that are tuples, with their types."""
    return [(name, hint) for name, hint in _hints(record_type).items() if typing.get_origin(hint) is tuple]


def _column(name: str, hint: object) -> Column:
    nullable = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        nullable, hint = True, options[0]
    if typing.get_origin(hint) is typing.Literal:  # all of ours list texts
        hint = str
    kinds: dict[Any, str] = {str: "text", int: "int", float: "real", bool: "bool", datetime: "time", bytes: "bytes"}
    kind = kinds.get(hint, "json")
    return Column(name, kind, nullable or kind == "json")


def _default_of(field: msgspec.structs.FieldInfo) -> object:
    # msgspec turns an empty dict that is declared as a default into a factory.
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default


def _is_empty_default(field: msgspec.structs.FieldInfo) -> bool:
    return _default_of(field) in ({}, ())


def _encoder(column: Column, field: msgspec.structs.FieldInfo) -> str:
    name = f"r.{column.name}"
    if column.kind == "json":
        empty = f"(value({name}, {column.name!r}) if {name} else None)"
        if _is_empty_default(field):
            return empty
        # Short ASCII text cannot be too large or contain a lone surrogate, so it skips the checks of `encode_json`.
        short = f"type({name}) is str and len({name}) <= {MAX_UNCHECKED_CHARACTERS} and {name}.isascii()"
        source = f"(dump({name}).decode() if {short} else value({name}, {column.name!r}))"
        return f"(None if {name} is None else {source})" if field.default is None else source
    if column.kind == "time":
        return f"(None if {name} is None else micros({name}))" if column.nullable else f"micros({name})"
    if column.kind == "bool":
        return f"int({name})"
    if column.kind == "real":
        source = f"real({name}, {column.name!r})"
        return f"(None if {name} is None else {source})" if column.nullable else source
    return name


def _decoder(index: int, column: Column, field: msgspec.structs.FieldInfo) -> str:
    """Return the source code that reads one cell.

    An empty cell in a column added later is replaced by the field's default.
    """
    cell = f"row[{index}]"
    source = _filled_decoder(cell, column, field)
    late = field.default is not msgspec.NODEFAULT and (column.kind == "json" or not column.nullable)
    if not late or _is_empty_default(field):
        return source
    return f"({source} if {cell} is not None else default_{column.name})"


def _filled_decoder(cell: str, column: Column, field: msgspec.structs.FieldInfo) -> str:
    if column.kind == "json":
        if not _is_empty_default(field):
            return f"load({cell})"
        if _default_of(field) == {}:
            return f"({{}} if {cell} is None else load({cell}))"
        return f"(() if {cell} is None else load_{column.name}({cell}))"
    if column.kind == "time":
        # The same arithmetic as in `to_datetime`, without the cost of a call.
        exact_time = f"(when({cell} / 1e6, UTC) if 0 <= {cell} < {MAX_EXACT_FLOAT_MICROS} else exact({cell}))"
        return f"(None if {cell} is None else {exact_time})" if column.nullable else exact_time
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
    # Adding 0.0 turns -0.0 into 0.0. SQLite stores whole reals as integers, which have no negative zero, and the
    # checksum of the row would no longer match.
    return number + 0.0

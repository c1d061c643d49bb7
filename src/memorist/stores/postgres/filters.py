"""Translates a filter into a condition that Postgres evaluates, in which every name and value is a bound parameter.

JSON columns contain exact text and are cast to `jsonb` for the comparison, once per row (`source`). The condition
accepts at least the rows that `matches` accepts, and the store checks each returned row with `matches`. So a filter
means the same here as on every other store, even where SQL differs:

- Postgres compares a number beyond 2**53 as a decimal, and Python as a binary float, so such a test accepts all rows.
- `jsonb` cannot contain `\\u0000`, so a row whose JSON contains it is accepted.
- Tests of raw bytes, and operands that are not JSON, accept all rows.

A part that accepts too many rows is not `exact`, and its negation accepts all rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from ...errors import MemoristError
from ...filters import All, Filter, Not, Test, is_place
from ...ports import to_micros
from ...records import Record
from ...values import MAX_DEPTH
from ..codec import codec
from .pipeline import Cell, Failed, array_cell, text_cell

MAX_EXACT_INTEGER = 2**53
"""Integers up to this value are exact both as binary floats and as decimals."""
_OPERATORS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_NUL = r"'\u0000'"
_PARAMETER = re.compile(r"\$(\d+)")


class Condition(NamedTuple):
    """Represents a translated filter."""

    source: str
    """This is joined to the table. It contains, as `jsonb`, the JSON columns that the condition reads."""
    sql: str
    cells: list[Cell]
    exact: bool
    """This is True if the condition accepts exactly the rows that `matches` accepts, apart from those with
    `\\u0000`."""


class _Part(NamedTuple):
    sql: str
    exact: bool


_PASSES = _Part("true", False)


class _Inexact(Exception):
    """Raised if SQL would compare a value differently from Python."""


def translate(
    filter: Filter, record_type: type[Record], first: int, fields: Mapping[str, str] | None = None
) -> Condition:
    """Return a filter over the rows of a kind, whose parameters are numbered from `first`.

    The filter can use the record's metadata and the `fields`, by their names there, or all fields by default.
    """
    translation = _Translation(record_type, first, fields)
    return translation.whole(translation.part(filter))


class _Translation:
    """Collects the parameters and the JSON columns of one condition."""

    def __init__(self, record_type: type[Record], first: int, fields: Mapping[str, str] | None) -> None:
        columns = {column.name: column for column in codec(record_type).columns}
        self._columns = columns if fields is None else {name: columns[field] for name, field in fields.items()}
        self._fields = {field.name: field for field in msgspec.structs.fields(record_type)}
        self._missing = dict(zip(codec(record_type).names, codec(record_type).missing, strict=True))
        self._inner = next((name for name in ("value", "metadata") if name in columns), None)
        self._first = first
        self._cells: list[Cell] = []
        self._used: dict[str, None] = {}

    def whole(self, part: _Part) -> Condition:
        """Return the condition with the columns it needs."""
        sql, cells = self._numbered(part.sql)
        if not self._used:
            return Condition("", sql, cells, part.exact)
        read = ", ".join(
            f'CASE WHEN strpos(t."{c}", {_NUL}) = 0 THEN t."{c}"::jsonb END AS "f_{c}"' for c in self._used
        )
        # OFFSET 0 keeps the planner from inlining the cast, which would then run once for each use.
        source = f" CROSS JOIN LATERAL (SELECT {read} OFFSET 0) AS f"
        odd = " OR ".join(f'coalesce(strpos(t."{c}", {_NUL}), 0) > 0' for c in self._used)
        return Condition(source, f"({odd} OR {sql})", cells, part.exact)

    def _numbered(self, sql: str) -> tuple[str, list[Cell]]:
        """Return the SQL with its parameters renumbered, without the parameters of unused parts."""
        # Postgres refuses a parameter that a statement does not use, because it cannot know its type.
        used = sorted({int(number) for number in _PARAMETER.findall(sql)})
        positions = {number: self._first + n for n, number in enumerate(used)}
        return _PARAMETER.sub(lambda match: f"${positions[int(match[1])]}", sql), [self._cells[n] for n in used]

    def part(self, filter: Filter) -> _Part:
        """Return a part of the filter. Its SQL is never NULL."""
        if isinstance(filter, Not):
            inner = self.part(filter.part)
            # A part that accepts too many rows would, when negated, reject rows that match.
            return _Part(f"NOT {inner.sql}", True) if inner.exact else _PASSES
        if isinstance(filter, Test):
            try:
                return self._test(filter)
            except _Inexact:
                return _PASSES
        parts = [self.part(inner) for inner in filter.parts]
        word = " AND " if isinstance(filter, All) else " OR "
        empty = "true" if isinstance(filter, All) else "false"
        return _Part(f"({word.join(part.sql for part in parts) or empty})", all(part.exact for part in parts))

    # -- one test

    def _test(self, test: Test) -> _Part:
        name, *rest = test.path
        column = self._columns.get(name)
        if column is not None and column.kind == "bytes" and not rest:
            return _PASSES
        if column is not None and column.kind == "time" and not rest:
            timed = self._of_time(test, name)
            inner = self._in(self._inner, [name])
            sql = timed if inner is None else f"CASE WHEN {inner} IS NULL THEN {timed} ELSE {self._of(test, inner)} END"
            return _Part(sql, True)
        return _Part(self._of(test, self._value(test.path)), True)

    def _value(self, path: Sequence[str]) -> str:
        """Return the value at a path in the same way as `matches` does, or NULL if it is missing."""
        name, *rest = path
        field = self._field(name)
        walked = "NULL::jsonb" if field is None else self._walk(field, rest)
        inner = self._in(self._inner, [name])
        if inner is not None:
            # A name in the metadata hides the field of that name, even if the rest of the path is not in it.
            walked = f"CASE WHEN {inner} IS NULL THEN {walked} ELSE {self._walk(inner, rest)} END"
        if not rest:
            return walked
        dotted = self._in(self._inner, [".".join(path)])
        return walked if dotted is None else f"coalesce({dotted}, {walked})"

    def _in(self, column: str | None, names: Sequence[str]) -> str | None:
        """Return the value under a name in the JSON object of a column, or None if there is no such column."""
        return None if column is None else self._walk(self._json(column), names, top=True)

    def _walk(self, value: str, names: Sequence[str], *, top: bool = False) -> str:
        for name in names:
            if not _is_sendable(name):
                return "NULL::jsonb"
            key = f"{value} -> {self._bind(text_cell(name))}::text"
            if is_place(name) and not top:
                # `->` treats a scalar as an array of one element, so check the type first.
                item = f"CASE WHEN jsonb_typeof({value}) = 'array' THEN {value} -> {int(name)} END"
                key = f"coalesce({key}, {item})"
            value = f"({key})"
        return value

    def _field(self, name: str) -> str | None:
        """Return a field of the record as `jsonb`, or its default if the cell is empty. Return None if there is no such
        field."""
        column = self._columns.get(name)
        if column is None or column.kind in ("time", "bytes"):
            return None
        if column.kind == "json":
            default = self._bind(msgspec.json.encode(self._default(column.name)))
            return f"coalesce({self._json(column.name)}, {default}::jsonb)"
        missing = self._missing[column.name]
        if column.kind == "bool" and missing is not None:
            missing = bool(missing)
        return f'coalesce(to_jsonb(t."{column.name}"), {self._bind(msgspec.json.encode(missing))}::jsonb)'

    def _default(self, name: str) -> object:
        field = self._fields[name]
        if field.default_factory is not msgspec.NODEFAULT:
            return field.default_factory()
        return None if field.default is msgspec.NODEFAULT else field.default

    def _json(self, column: str) -> str:
        self._used[column] = None
        return f'f."f_{column}"'

    def _bind(self, cell: Cell) -> str:
        self._cells.append(cell)
        return f"${len(self._cells) - 1}"

    # -- comparisons

    def _of(self, test: Test, value: str) -> str:
        """Return the test for a JSON value."""
        op, operand = test.op, test.operand
        if op == "$exists":
            return f"({value} IS {'NOT ' if operand else ''}NULL)"
        if op in ("$eq", "$ne"):
            return self._one_of(value, [operand], negated=op == "$ne")
        if op in ("$in", "$nin"):
            return self._one_of(value, list(operand), negated=op == "$nin")
        if op == "$contains":
            return self._contains(value, operand)
        return self._ordered(op, value, operand)

    def _one_of(self, value: str, options: Sequence[object], *, negated: bool) -> str:
        # JSON has no times, so no value equals one. `jsonb` equality ignores the order of keys and treats 1 and 1.0 as
        # equal, as Python does.
        cells = [_json_text(option) for option in options if not isinstance(option, datetime)]
        word = "NOT " if negated else ""
        return f"{word}coalesce({value} = ANY ({self._bind(array_cell(cells))}::jsonb[]), false)"

    def _contains(self, value: str, operand: object) -> str:
        if isinstance(operand, datetime):
            return "false"
        item = f"{self._bind(_json_text(operand).encode())}::jsonb"
        array = f"CASE WHEN jsonb_typeof({value}) = 'array' THEN {value} END"
        branches = f"WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements({array}) AS i(one) WHERE one = {item})"
        if isinstance(operand, str):
            text = f"{self._bind(text_cell(operand))}::text"
            branches += f" WHEN 'string' THEN strpos({value} #>> '{{}}', {text}) > 0"
            branches += f" WHEN 'object' THEN {value} ? {text}"
        return f"CASE jsonb_typeof({value}) {branches} ELSE false END"

    def _ordered(self, op: str, value: str, operand: object) -> str:
        if isinstance(operand, datetime) or operand != operand:
            return "false"  # NaN is neither greater nor less than any number
        if isinstance(operand, str):
            # The C collation compares code points, as Python does. The database's own collation may differ.
            typed = f"({value} #>> '{{}}') COLLATE \"C\" {_OPERATORS[op]} {self._bind(_text(operand))}::text"
            return f"CASE jsonb_typeof({value}) WHEN 'string' THEN {typed} ELSE false END"
        # Only CASE has a guaranteed order of evaluation in SQL. With AND, the server could first cast a string to a
        # number, and fail.
        typed = f"{value}::numeric {_OPERATORS[op]} {self._bind(_json_text(operand).encode())}::numeric"
        return f"CASE jsonb_typeof({value}) WHEN 'number' THEN {typed} ELSE false END"

    def _of_time(self, test: Test, name: str) -> str:
        """Return the test for a time, which is stored in microseconds."""
        op, operand, column = test.op, test.operand, f't."{name}"'
        if op == "$exists":
            # An empty time is a field with the value None, which exists.
            return "true" if operand else "false"
        if op in ("$eq", "$ne", "$in", "$nin"):
            options = [operand] if op in ("$eq", "$ne") else list(operand)
            some = array_cell([to_micros(option) for option in options if isinstance(option, datetime)])
            empty = f"{column} IS NULL" if any(option is None for option in options) else "false"
            word = "NOT " if op in ("$ne", "$nin") else ""
            return f"{word}({empty} OR coalesce({column} = ANY ({self._bind(some)}::bigint[]), false))"
        if op == "$contains" or not isinstance(operand, datetime):
            return "false"
        return f"coalesce({column} {_OPERATORS[op]} {self._bind(b'%d' % to_micros(operand))}::bigint, false)"


def cannot_compare(refused: MemoristError) -> bool:
    """Return whether the server failed to cast a column to `jsonb`, because the JSON is invalid or exceeds a limit."""
    # 22 is the class of data exceptions, and 54 that of exceeded limits.
    cause = refused.__cause__
    return isinstance(cause, Failed) and cause.state[:2] in ("22", "54")


def _is_sendable(text: str) -> bool:
    """Return whether Postgres can store a string. No row contains a string that it cannot store."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _text(operand: str) -> bytes:
    if not _is_sendable(operand):
        raise _Inexact
    return text_cell(operand)


def _json_text(operand: object) -> str:
    """Return an operand as JSON if Postgres compares it with JSON in the same way as Python does."""
    _check(operand, 0)
    return msgspec.json.encode(operand).decode()


def _check(operand: object, depth: int) -> None:
    if operand is None or isinstance(operand, bool):
        return
    if isinstance(operand, str):
        _text(operand)
    elif isinstance(operand, int | float):
        if abs(operand) > MAX_EXACT_INTEGER or operand != operand:
            raise _Inexact
    elif depth < MAX_DEPTH and isinstance(operand, list | tuple):
        for item in operand:
            _check(item, depth + 1)
    elif depth < MAX_DEPTH and isinstance(operand, dict) and all(isinstance(key, str) for key in operand):
        for key, item in operand.items():
            _text(key)
            _check(item, depth + 1)
    else:
        raise _Inexact

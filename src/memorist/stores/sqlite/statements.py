"""Creates SQL statements from the declarations of records. Names come only from the declarations, and every value is a
parameter."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ...records import Record
from ..codec import codec


class Statements(NamedTuple):
    """Holds the fixed statements of one table."""

    get: str
    insert: str
    upsert: str
    state: str
    old: str
    to_history: str
    last_version: str
    delete: str


@cache
def statements(record_type: type[Record]) -> Statements:
    """Return the fixed statements of a kind of record, which are created on first use."""
    table, names = record_type.table, column_names(record_type)
    columns, marks = ", ".join(names), ", ".join("?" * len(names))
    key, match = ", ".join(table.key), " AND ".join(f"{name} = ?" for name in table.key)
    # Columns are always named. A newer version of the program may have added columns that this one does not know, and
    # an upsert leaves those as they are.
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in table.key)
    insert = f"INSERT INTO {table.name} ({columns}) VALUES ({marks})"
    positions = codec(record_type).position_of
    preserved = [name for name in ("version", "created_at") if name in positions and name not in table.key]
    return Statements(
        get=f"SELECT {columns} FROM {table.name} WHERE {match}",
        insert=insert,
        upsert=f"{insert} ON CONFLICT ({key}) DO UPDATE SET {changed}"
        if changed
        else f"{insert} ON CONFLICT DO NOTHING",
        state=f"SELECT {'version' if 'version' in positions else '0'}, "
        f"{'expires_at' if 'expires_at' in positions else 'NULL'} FROM {table.name} WHERE {match}",
        old=f"SELECT {', '.join(preserved)} FROM {table.name} WHERE {match}" if preserved else "",
        # SELECT * also copies columns that a newer version has added. Both tables have the same columns.
        to_history=f"INSERT OR REPLACE INTO {table.history} SELECT * FROM {table.name} WHERE {match}",
        last_version=f"SELECT max(version) FROM {table.history} WHERE {match}",
        delete=f"DELETE FROM {table.name} WHERE {match}",
    )


@cache
def column_names(record_type: type[Record]) -> tuple[str, ...]:
    """Return the columns of a table: those of the record, and the checksum if the table has one."""
    names = codec(record_type).names
    return (*names, "crc") if record_type.table.checksum else names


@cache
def many_sql(record_type: type[Record], shared: int) -> str:
    """Select the rows of a JSON list of keys, each with its index in the list.

    The first `shared` columns are the same in all keys and are bound once.
    """
    # In SQLite, CROSS JOIN fixes the order of the loops, so the planner cannot scan the table for each key instead.
    columns = ", ".join(f"t.{name}" for name in column_names(record_type))
    key = record_type.table.key
    match = [f"t.{name} = ?" for name in key[:shared]]
    match += [f"t.{name} = json_extract(k.value, '$[{i}]')" for i, name in enumerate(key[shared:])]
    condition = " AND ".join(match)
    return f"SELECT {columns}, k.key FROM json_each(?) AS k CROSS JOIN {record_type.table.name} AS t ON {condition}"


@cache
def scan_sql(
    record_type: type[Record], index: str | None, prefix: int, after: int, before: int, starts: int, reverse: bool
) -> str:
    """Return a scan over `prefix` fixed columns, with bounds on the columns that follow.

    `starts` is 0, 1 (from) or 2 (from, to).
    """
    table = record_type.table
    order = table.order(index)
    parts = bounds_sql(order, prefix, after, before, starts)
    if "expires_at" in codec(record_type).position_of:
        # Expired rows stay until the collector removes them, so every read has to leave them out.
        parts.append("(expires_at IS NULL OR expires_at > ?)")
    way = " DESC" if reverse else ""
    by = ", ".join(f"{name}{way}" for name in order)
    where = f" WHERE {' AND '.join(parts)}" if parts else ""
    return f"SELECT {', '.join(column_names(record_type))} FROM {table.name}{where} ORDER BY {by} LIMIT ?"


@cache
def delete_range_sql(record_type: type[Record], prefix: int, after: int, before: int) -> str:
    """Delete expired rows and the rows that a scan with the same bounds would return."""
    parts = bounds_sql(record_type.table.key, prefix, after, before, 0)
    return f"DELETE FROM {record_type.table.name}" + (f" WHERE {' AND '.join(parts)}" if parts else "")


def bounds_sql(order: tuple[str, ...], prefix: int, after: int, before: int, starts: int) -> list[str]:
    """Return conditions whose parameters are the prefix, `after`, `before` and `starts`."""
    parts = [f"{name} = ?" for name in order[:prefix]]
    rest = order[prefix:]
    for width, sign in ((after, ">"), (before, "<")):
        if width == 1:
            parts.append(f"{rest[0]} {sign} ?")
        elif width:
            # SQLite follows an index in order for a comparison of row values, but not for the same written with OR.
            parts.append(f"({', '.join(rest[:width])}) {sign} ({', '.join('?' * width)})")
    if starts:
        parts.append(f"{rest[0]} >= ?")
    if starts == 2:
        parts.append(f"{rest[0]} < ?")
    return parts

"""Creates SQL statements from the declarations of records. Names come only from the declarations, and every value is a
parameter."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ...messages.message import Message
from ...records import Job, Record
from ..codec import codec


class Writes(NamedTuple):
    """Holds the fixed write statements of one table. Their parameters are the row (its `put_cells`, except for the
    loads), its checksum if the table has one, and, for `ensure` and the fresh ones, the time if rows expire."""

    put: bytes
    """Inserts or updates the row."""
    ensure: bytes
    """Inserts the row, or replaces an expired one. A live row is not changed (`Put.absent`)."""
    fresh: bytes
    """Does the same for a row that an Expect found to be absent. It raises a serialization failure if another
    transaction has created the row."""
    load: bytes
    fresh_load: bytes
    """Does the same as `load` for a row that an Expect found to be absent, like `fresh`."""
    delete: bytes
    delete_expired: bytes
    """Deletes the row if it has expired. It also needs the time if rows expire."""
    expect: bytes
    binary: tuple[int, ...] | None
    """This is the format (1 for binary) of each cell in a whole row, or None if all cells are text."""
    put_binary: tuple[int, ...] | None
    """This is the format of each cell that a put needs."""


def column_list(names: Iterable[str]) -> str:
    """Return column names as a list. They are quoted, because some are SQL keywords ("user")."""
    return ", ".join(_q(name) for name in names)


def key_match(record_type: type[Record]) -> str:
    """Return the condition that selects the row under a key, whose parameters come first."""
    return " AND ".join(f"{_q(name)} = ${i}" for i, name in enumerate(record_type.table.key, 1))


def can_expire(record_type: type[Record]) -> bool:
    """Return whether rows can expire. Their statements then take the time as a parameter."""
    return "expires_at" in codec(record_type).position_of


def table(record_type: type[Record]) -> str:
    """Return the table of a record."""
    return f'memorist."{record_type.table.name}"'


@cache
def select_list(record_type: type[Record]) -> str:
    """Return the columns that a read selects: the record's own, and the checksum if the table has one."""
    # The codec, like SQLite, represents a bool as 0 or 1, and computes checksums over that.
    names = [f'"{c.name}"::int' if c.kind == "bool" else f'"{c.name}"' for c in codec(record_type).columns]
    return ", ".join([*names, "checksum"] if record_type.table.checksum else names)


@cache
def put_cells(record_type: type[Record]) -> tuple[int, ...]:
    """Return the positions in a row that a put passes as parameters. These are all positions except that of the
    version, which the server assigns."""
    return tuple(
        i
        for i, c in enumerate(codec(record_type).columns)
        if not (c.name == "version" and codec(record_type).versioned)
    )


@cache
def write_statements(record_type: type[Record]) -> Writes:
    """Return the write statements of a kind of record, which are created on first use."""
    columns, key = codec(record_type).columns, record_type.table.key
    names = tuple(column.name for column in columns)
    parameters = {name: f"${i}" for i, name in enumerate(names, 1)}
    inserted = {names[position]: f"${i}" for i, position in enumerate(put_cells(record_type), 1)}
    now = f"${len(inserted) + bool(record_type.table.checksum) + 1}"
    if codec(record_type).versioned:
        inserted["version"] = _first_version(record_type, inserted)
    replaced = {name: f"excluded.{_q(name)}" for name in names if name not in key}
    # A put keeps the first creation time and counts the version up. Only the server knows both, and the row's lock,
    # which ON CONFLICT DO UPDATE takes, keeps them from changing until the commit.
    updated = dict(replaced)
    if "version" in updated:
        updated["version"] = "t.version + 1"
    if "created_at" in updated:
        updated["created_at"] = "t.created_at"
    back = ", ".join(_q(name) if name in names else "0" for name in ("version", "created_at"))
    insert, conflict = _insert(record_type, inserted), f"ON CONFLICT ({column_list(key)}) DO UPDATE SET"
    put = f"{insert} {conflict} {_set(record_type, updated)}"
    ensure = f"{put} WHERE t.expires_at <= {now}" if can_expire(record_type) else f"{insert} ON CONFLICT DO NOTHING"
    match = key_match(record_type)
    expired = f"expires_at <= ${len(key) + 1}" if can_expire(record_type) else "false"
    # A load stores every column as it is. A table whose columns are all in the key has nothing to update.
    loaded = _insert(record_type, parameters)
    load = f"{loaded} {conflict} {_set(record_type, replaced)}" if replaced else f"{loaded} ON CONFLICT DO NOTHING"
    time = f"${len(names) + bool(record_type.table.checksum) + 1}"
    if_expired = f"{load} WHERE t.expires_at <= {time}"
    first_load = if_expired if can_expire(record_type) else f"{loaded} ON CONFLICT DO NOTHING"
    return Writes(
        put=f"{put} RETURNING {back}".encode(),
        ensure=f"{ensure} RETURNING {back}".encode(),
        fresh=_fresh(ensure, back).encode(),
        load=load.encode(),
        fresh_load=_fresh(first_load, "0, 0").encode(),
        delete=f"DELETE FROM {table(record_type)} WHERE {match}".encode(),
        delete_expired=f"DELETE FROM {table(record_type)} WHERE {match} AND {expired}".encode(),
        expect=_expect(record_type, match).encode(),
        binary=_binary(record_type, range(len(columns))),
        put_binary=_binary(record_type, put_cells(record_type)),
    )


def _fresh(insert: str, back: str) -> str:
    """Return an insert that fails if a live row is there."""
    # If the condition of DO UPDATE is false, RETURNING returns no row, which shows that a live row existed. ON CONFLICT
    # sees rows that were committed after this transaction began, so it finds the row that the Expect could not lock.
    # The serialization failure makes `Session.run` send the batch again, and its Expect then reports the conflict.
    return (
        f"WITH w AS ({insert} RETURNING {back}) SELECT * FROM w "
        f"UNION ALL SELECT memorist.lost_race(), 0 WHERE NOT EXISTS (SELECT FROM w)"
    )


def _q(name: str) -> str:
    return f'"{name}"'


def _binary(record_type: type[Record], positions: Iterable[int]) -> tuple[int, ...] | None:
    formats = tuple(int(codec(record_type).columns[position].kind == "bytes") for position in positions)
    return formats if any(formats) else None


def _first_version(record_type: type[Record], cells: dict[str, str]) -> str:
    if not record_type.table.history:
        return "1"
    # A new row continues the version numbers in the history of the deleted one, so that no version is reused.
    match = " AND ".join(f"h.{_q(name)} = {cells[name]}" for name in record_type.table.key)
    return f'1 + coalesce((SELECT max(h.version) FROM memorist."{record_type.table.history}" h WHERE {match}), 0)'


def _insert(record_type: type[Record], values: dict[str, str]) -> str:
    names, cells = list(values), list(values.values())
    # The checksum's parameter follows those of the row. `version` is an expression and has none of its own.
    if record_type.table.checksum:
        cells.append(f"${sum(cell.startswith('$') for cell in cells) + 1}")
        names.append("checksum")
    return f"INSERT INTO {table(record_type)} AS t ({column_list(names)}) VALUES ({', '.join(cells)})"


def _set(record_type: type[Record], values: dict[str, str]) -> str:
    parts = [f"{_q(name)} = {value}" for name, value in values.items()]
    if record_type.table.checksum:
        parts.append("checksum = excluded.checksum")
    return ", ".join(parts)


def _type(record_type: type[Record], name: str) -> str:
    types = {"text": "text", "json": "text", "real": "float8", "bool": "boolean", "bytes": "bytea"}
    return types.get(codec(record_type).columns[codec(record_type).position_of[name]].kind, "bigint")


def _expect(record_type: type[Record], match: str) -> str:
    if "version" not in codec(record_type).position_of:
        return ""
    width = len(record_type.table.key)
    alive = f"CASE WHEN expires_at <= ${width + 2} THEN 0 ELSE version END"
    version = alive if can_expire(record_type) else "version"
    # FOR UPDATE holds the row lock until the commit, so that the version cannot change after this check.
    return (
        f"SELECT memorist.expect(${width + 1}::bigint, "
        f"coalesce((SELECT {version} FROM {table(record_type)} WHERE {match} FOR UPDATE), 0))"
    )


def _alive(record_type: type[Record], index: int) -> str:
    # Expired rows stay until they are purged, so every read checks. The time is the client's, because the
    # clock can be replaced.
    return f" AND (expires_at IS NULL OR expires_at > ${index})" if can_expire(record_type) else ""


@cache
def get_sql(record_type: type[Record]) -> bytes:
    """Return the statement that selects the live row under a key. Its parameters are the key and, if rows expire, the
    time."""
    alive = _alive(record_type, len(record_type.table.key) + 1)
    return f"SELECT {select_list(record_type)} FROM {table(record_type)} WHERE {key_match(record_type)}{alive}".encode()


@cache
def get_many_sql(record_type: type[Record]) -> bytes:
    """Return the statement that selects the live rows of an org under several keys, each with its position. The keys
    are passed as one array for each of the other columns.

    The org is a separate parameter, so that the planner knows the partition."""
    key = record_type.table.key
    arrays = ", ".join(f"${i}::{_type(record_type, name)}[]" for i, name in enumerate(key[1:], 2))
    names = ", ".join(f"k{i}" for i in range(1, len(key)))
    match = " AND ".join(["org = $1", *(f"{_q(name)} = k{i}" for i, name in enumerate(key[1:], 1))])
    # OFFSET 0 keeps this an index look-up per key. Without statistics, the planner might scan the table instead.
    alive = _alive(record_type, len(key) + 1)
    row = f"SELECT {select_list(record_type)} FROM {table(record_type)} WHERE {match}{alive} OFFSET 0"
    return (
        f"SELECT n, r.* FROM unnest({arrays}) WITH ORDINALITY AS k({names}, n) CROSS JOIN LATERAL ({row}) AS r"
    ).encode()


class Shape(NamedTuple):
    """Describes the bounds of a scan and the number of columns in each. Every shape has one statement."""

    along: str | None
    """This is the index to follow, or None for the key."""
    prefix: int
    after: int = 0
    before: int = 0
    starts: int = 0
    """This is 0, 1 (from) or 2 (from, to)."""
    reverse: bool = False
    limited: bool = False


@cache
def scan_sql(record_type: type[Record], shape: Shape) -> bytes:
    """Return the statement for a scan. Its parameters are the prefix, `after`, `before`, `starts`, the time if rows
    expire, and the limit."""
    return filtered_sql(record_type, shape, "", "true")


def filtered_sql(record_type: type[Record], shape: Shape, source: str, condition: str) -> bytes:
    """Return the statement for a scan for rows (alias `t`) that pass a condition on the row and on the tables joined to
    it (`source`)."""
    order = record_type.table.order(shape.along)
    parts, position = _bounds(order, shape)
    alive = _alive(record_type, position)
    position += bool(alive)
    way = " DESC" if shape.reverse else ""
    by = ", ".join(f"{_q(name)}{way}" for name in order[shape.prefix :] or order[-1:])
    limit = f" LIMIT ${position}" if shape.limited else ""
    where = " AND ".join([*parts, condition])
    rows = f"SELECT {select_list(record_type)} FROM {table(record_type)} AS t{source}"
    return f"{rows} WHERE {where}{alive} ORDER BY {by}{limit}".encode()


@cache
def delete_range_sql(record_type: type[Record], shape: Shape) -> bytes:
    """Return the statement that deletes expired rows and the rows that a scan with the same bounds would return."""
    parts, _ = _bounds(record_type.table.key, shape)
    return f"DELETE FROM {table(record_type)} WHERE {' AND '.join(parts) or 'true'}".encode()


def _bounds(order: tuple[str, ...], shape: Shape) -> tuple[list[str], int]:
    parts, position = [f"{_q(name)} = ${i}" for i, name in enumerate(order[: shape.prefix], 1)], shape.prefix + 1
    rest = order[shape.prefix :]
    for width, sign in ((shape.after, ">"), (shape.before, "<")):
        if width:
            # Postgres compares rows column by column and reads the range from the index. ANDs of the columns would
            # mean something else, and ORs would read everything from the start.
            marks = ", ".join(f"${i}" for i in range(position, position + width))
            parts.append(f"({column_list(rest[:width])}) {sign} ({marks})")
            position += width
    for sign in (">=", "<")[: shape.starts]:
        parts.append(f"{_q(rest[0])} {sign} ${position}")
        position += 1
    return parts, position


LOADING = b"SELECT set_config('memorist.loading', $1, true)"
"""Turns off, during a Load, the trigger that copies replaced rows into the history."""
BEGIN_APPEND = b"SELECT * FROM memorist.begin_append($1, $2, $3, $4, $5, $6, $7, $8)"


APPEND_CELLS = tuple(i for i, c in enumerate(codec(Message).columns) if c.name not in ("seq", "expires_at"))
"""The positions in a message's row that are parameters of its insert. The other two cells come from the thread."""
_ORG, _THREAD = (1 + APPEND_CELLS.index(codec(Message).position_of[name]) for name in ("org", "thread"))
"""The numbers of the parameters that name the thread."""


@cache
def append_first_sql() -> bytes:
    """Return the statement that locks the thread and inserts the first message. Its parameters are the cells, the CRC,
    and the parameters of begin_append."""
    at = len(APPEND_CELLS) + 1
    marks = ", ".join(f"${i}" for i in range(at + 1, at + 7))
    source = f"memorist.begin_append(${_ORG}::text, ${_THREAD}::text, {marks}) AS b"
    return f"{_append(source, 'b.o_first', 'b.o_expires')} RETURNING seq, expires_at".encode()


@cache
def append_next_sql() -> bytes:
    """Return the statement that inserts a further message of an append, when the thread is already locked and includes
    it in its count. Its parameters are the cells, the CRC, and the number of messages that still follow in the
    append."""
    back = f"${len(APPEND_CELLS) + 2}::bigint"
    source = f"memorist.threads AS t WHERE t.org = ${_ORG} AND t.id = ${_THREAD}"
    return _append(source, f"t.length - {back}", "t.expires_at").encode()


def _append(source: str, seq: str, expires: str) -> str:
    names = tuple(column.name for column in codec(Message).columns)
    parameters = {
        names[position]: f"${i}::{_type(Message, names[position])}" for i, position in enumerate(APPEND_CELLS, 1)
    }
    parameters |= {"seq": seq, "expires_at": expires}
    cells = ", ".join(parameters[name] for name in names)
    checksum = f"${len(APPEND_CELLS) + 1}::bigint"
    return (
        f"INSERT INTO memorist.messages ({column_list([*names, 'checksum'])}) SELECT {cells}, {checksum} FROM {source}"
    )


# ON CONFLICT DO UPDATE locks the row and reads its newest version, so concurrent increments all count.
INCREMENT = b"""
INSERT INTO memorist.state AS t (org, ns, "key", value, created_at, updated_at, expires_at, version)
VALUES ($1, $2, $3, $4::numeric::text, $5, $6, $7, 1)
ON CONFLICT (org, ns, "key") DO UPDATE SET
  value = CASE WHEN t.expires_at <= $8 THEN excluded.value ELSE memorist.add_json(t.value, $4::numeric) END,
  expires_at = CASE WHEN t.expires_at <= $8 THEN excluded.expires_at ELSE t.expires_at END,
  updated_at = excluded.updated_at, version = t.version + 1
RETURNING value::bigint
"""

CLAIM_ANY = b"SELECT * FROM memorist.claim_jobs($1, $2, $3, $4, $5)"
ORGS = b"SELECT * FROM memorist.all_orgs()"
PURGE = b"SELECT * FROM memorist.purge_expired($1, $2)"


@cache
def claim_sql() -> bytes:
    """Return the statement that leases due jobs of the transaction's org. Its parameters are queue, owner, now, lease,
    limit and org."""
    # SKIP LOCKED keeps workers from waiting for each other. FOR UPDATE is not allowed on a UNION, so each half locks
    # its own rows; the commit releases those that are not picked.
    due = (
        "SELECT j.ns, j.item, j.run_at FROM memorist.jobs j WHERE j.org = $6 AND j.queue = $1 AND {} "
        "ORDER BY j.run_at, j.ns, j.item LIMIT $5 FOR UPDATE SKIP LOCKED"
    )
    back = ", ".join(f"j.{_q(column.name)}" for column in codec(Job).columns)
    return (
        f"WITH ready AS ({due.format(_READY_CONDITION)}), "
        f"left_behind AS ({due.format(_ABANDONED_CONDITION)}), picked AS ("
        "SELECT * FROM ready UNION ALL SELECT * FROM left_behind ORDER BY run_at, ns, item LIMIT $5) "
        "UPDATE memorist.jobs j SET status = 'running', attempts = j.attempts + 1, owner = $2, "
        "leased_until = $3::bigint + $4::bigint, updated_at = $3, version = j.version + 1 FROM picked p "
        f"WHERE j.org = $6 AND j.queue = $1 AND j.ns = p.ns AND j.item = p.item RETURNING {back}"
    ).encode()


_READY_CONDITION = "j.status = 'ready' AND j.run_at <= $3"
_ABANDONED_CONDITION = "j.status = 'running' AND j.leased_until <= $3"

"""Implements `memorist records`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from ..engine.records import OpaqueRecord
from ..values import JsonObject, encode_json
from .grouping import InNamespace, group
from .session import Session, read_filter, read_json, session_of

_KEY_HELP = "KEY is JSON, like '[\"thread-1\", 7]', or one plain word."


@group()
def records() -> None:
    """Manage records: bytes and JSON values of integrations, under ordered keys."""


@records.command("list", cls=InNamespace)
@click.argument("namespace")
@click.option("--prefix", default="[]", help="List only keys that start with this: JSON or one plain word.")
@click.option("--after", help="Start after this key.")
@click.option("--where", help="A JSON filter on metadata.")
@click.option("--reverse", is_flag=True, help="List the keys in reverse order.")
@click.option("--limit", type=int, default=100, show_default=True, help="List at most this many.")
@session_of
def list_(
    session: Session, namespace: str, prefix: str, after: str | None, where: str | None, reverse: bool, limit: int
) -> None:
    """List the keys in a namespace in order, with their size and metadata."""
    bound: Any = {} if after is None else {"before" if reverse else "after": _key(after)}
    with session.memory() as memory:
        listing = memory.records.scan(
            namespace, _key(prefix), where=read_filter(where), reverse=reverse, limit=limit, keys_only=True, **bound
        )
    rows = [_head(record, session.as_json) for record in listing]
    session.show(rows, ("key", "size", "version", "meta", "updated_at"))


@records.command(help=f"Show one record. Exits with 1 if it does not exist. {_KEY_HELP}", cls=InNamespace)
@click.argument("namespace")
@click.argument("key")
@click.option("--raw", is_flag=True, help="Write only the data, byte for byte, to standard output.")
@session_of
def get(session: Session, namespace: str, key: str, raw: bool) -> None:
    with session.memory() as memory:
        record = memory.records.get(namespace, _key(key))
    if record is not None and raw:
        data = record.data if isinstance(record.data, bytes) else msgspec.json.encode(record.data)
        sys.stdout.buffer.write(data)
        return
    row = None if record is None else {**_head(record, session.as_json), "data": _shown(record.data)}
    session.show_record(row, missing=f"no record {key}")


@records.command(
    help=f"Write a record. VALUE is JSON or plain text; use --file for bytes. {_KEY_HELP}", cls=InNamespace
)
@click.argument("namespace")
@click.argument("key")
@click.argument("value", required=False)
@click.option(
    "--file", "path", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Write the bytes of this file, or of standard input for -.",
)  # fmt: skip
@click.option("--meta", help="The metadata, as a JSON object.")
@click.option("--ttl", type=float, help="Delete it after this many seconds.")
@click.option("--expect", type=int, help="Write only if this is the current version; 0 means it must not exist.")
@session_of
def put(
    session: Session,
    /,
    namespace: str,
    key: str,
    value: str | None,
    path: Path | None,
    meta: str | None,
    **options: Any,
) -> None:
    if (value is None) == (path is None):
        raise click.UsageError("give a VALUE or --file")
    data = _bytes(path) if path is not None else read_json(value or "")
    with session.memory(create=True) as memory:
        record = memory.records.put(namespace, _key(key), data, meta=read_filter(meta), **options)
    session.done(
        {"key": list(record.key), "version": record.version, "size": record.size}, f"{key} version {record.version}"
    )


@records.command(
    help=f"Delete a record, or with --range all records whose key starts with KEY. {_KEY_HELP}", cls=InNamespace
)
@click.argument("namespace")
@click.argument("key")
@click.option(
    "--range", "ranged", is_flag=True, help="Delete all records whose key starts with KEY; '[]' matches every key."
)
@click.option("--expect", type=int, help="Delete only if this is the current version.")
@session_of
def delete(session: Session, namespace: str, key: str, ranged: bool, expect: int | None) -> None:
    with session.memory() as memory:
        if ranged:
            count = memory.records.delete_range(namespace, _key(key))
            session.done({"deleted": count}, f"deleted {count} records")
            return
        session.gone(memory.records.delete(namespace, _key(key), expect=expect), key, missing=f"no record {key}")


def _key(text: str) -> tuple[Any, ...]:
    value = read_json(text)
    return tuple(value) if isinstance(value, list) else (value,)


def _bytes(path: Path) -> bytes:
    return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()


def _head(record: OpaqueRecord, as_json: bool) -> JsonObject:
    fields = ("size", "version", "meta", "created_at", "updated_at", "expires_at")
    key = list(record.key) if as_json else encode_json(record.key)
    return {"key": key, **{name: getattr(record, name) for name in fields}}


def _shown(data: object) -> object:
    return data if not isinstance(data, bytes) else {"bytes": len(data), "start": data[:64].hex()}

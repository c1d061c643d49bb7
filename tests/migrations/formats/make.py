"""Writes the files of this directory: one row of every kind, as the stores of this version keep it.

    python -m tests.migrations.formats.make NAME

Run once for a release; the files of earlier ones are never written again. Until the first release `first` may be.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg

import redis
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Load, Store
from memorist.stores.codec import kinds
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres.schema import migrations
from memorist.stores.redis import RedisStore
from memorist.stores.sqlite import SqliteStore
from memorist_testing.samples import NOW, bare, full
from tests.servers.postgres import start_postgres
from tests.servers.redis import start_redis

FOLDER = Path(__file__).parent
ORGS = {"full": full, "bare": bare}


def fill(store: Store) -> None:
    """A row of every kind with all cells, and one with as few as can be."""
    run_blocking(store.open())
    for org, make in ORGS.items():
        run_blocking(store.apply([Load(make(kind, org)) for kind in kinds()], now=NOW))
    run_blocking(store.close())


def sqlite_file() -> bytes:
    """A SQLite file, packed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        fill(SqliteStore(str(path), runtime=BlockingRuntime()))
        return gzip.compress(path.read_bytes(), mtime=0)


def redis_keys() -> dict[str, Any]:
    """Every key of a Redis: a text, a set as a list, or a sorted set as pairs; bytes in base64."""
    server = start_redis(aof="no")
    try:
        fill(RedisStore(server.url, runtime=BlockingRuntime(), on_risk="ignore"))
        client = redis.Redis.from_url(server.url)
        return {_text(key): _value(client, key) for key in sorted(client.keys("mm:*"))}
    finally:
        server.stop()


def _value(client: redis.Redis, key: bytes) -> Any:
    kind = client.type(key)
    if kind == b"zset":
        return [[_text(member), score] for member, score in client.zrange(key, 0, -1, withscores=True)]
    return sorted(map(_text, client.smembers(key))) if kind == b"set" else _text(client.get(key) or b"")


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def postgres_rows() -> dict[str, Any]:
    """How many migrations there were, and the rows of every table by column."""
    server = start_postgres()
    try:
        fill(PostgresStore(server.url, runtime=BlockingRuntime()))
        rows: dict[str, Any] = {}
        with psycopg.connect(server.url, autocommit=True) as connection:
            for kind in kinds():
                name = kind.table.name
                text = f'SELECT row_to_json(t)::text FROM memorist."{name}" t'
                records = connection.execute(text).fetchall()  # pyright: ignore[reportArgumentType, reportCallIssue]
                rows[name] = [json.loads(row[0]) for row in records]
        return {"migrations": migrations()[-1].number, "rows": rows}
    finally:
        server.stop()


def main() -> None:
    """Write the three files of one release."""
    name = sys.argv[1]
    (FOLDER / f"{name}.sqlite.gz").write_bytes(sqlite_file())
    (FOLDER / f"{name}.redis.json").write_text(json.dumps(redis_keys(), indent=0))
    (FOLDER / f"{name}.postgres.json").write_text(json.dumps(postgres_rows(), indent=0))


if __name__ == "__main__":
    main()

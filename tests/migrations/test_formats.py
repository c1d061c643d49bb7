"""What released versions wrote is read by this one; `formats/` has a file per store and release, see its `make.py`."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

import redis
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Scan, Store
from memorist.stores.codec import kinds
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres import schema as postgres_schema
from memorist.stores.redis import RedisStore
from memorist.stores.sqlite import SqliteStore
from tests.migrations.formats.make import FOLDER, ORGS
from tests.servers.redis import start_redis

RELEASES = sorted({path.name.partition(".")[0] for path in FOLDER.glob("*.gz")})
releases = pytest.mark.parametrize("release", RELEASES)


def check(store: Store) -> None:
    """Every row of a release is there, each field that the samples still have with its value, and can be written."""
    run_blocking(store.open())
    row_count = 0
    for org, make in ORGS.items():
        for kind in kinds():
            for row in run_blocking(store.scan(Scan(kind, (org,)), now=0)):
                expected = msgspec.structs.asdict(make(kind, org))
                assert {name: getattr(row, name) for name in expected} == expected
                row_count += 1
    assert row_count >= 40, "one row of every kind with all cells, one with few"
    report: Any = run_blocking(store.diagnose(deep=True))  # type: ignore[attr-defined]
    assert not [problem for problem in report["problems"] if "damaged" in problem]
    run_blocking(store.close())


def restore(client: redis.Redis, key: bytes, value: Any) -> None:
    """Write a key of a fixture."""
    if isinstance(value, str):
        client.set(key, base64.b64decode(value))
    elif isinstance(value[0], str):
        client.sadd(key, *map(base64.b64decode, value))
    else:
        client.zadd(key, {base64.b64decode(member): score for member, score in value})


@releases
def test_a_sqlite_file_is_read(release: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(gzip.decompress((FOLDER / f"{release}.sqlite.gz").read_bytes()))
    path.chmod(0o600)
    check(SqliteStore(str(path), runtime=BlockingRuntime()))


@releases
def test_the_keys_of_a_redis_are_read(release: str) -> None:
    server = start_redis(aof="no")
    try:
        client = redis.Redis.from_url(server.url)
        for key, value in json.loads((FOLDER / f"{release}.redis.json").read_text()).items():
            restore(client, base64.b64decode(key), value)
        check(RedisStore(server.url, runtime=BlockingRuntime(), on_risk="ignore"))
    finally:
        server.stop()


@releases
def test_the_rows_of_a_postgres_are_read(release: str, other_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = json.loads((FOLDER / f"{release}.postgres.json").read_text())
    then = [migration for migration in postgres_schema.migrations() if migration.number <= sample["migrations"]]
    with monkeypatch.context() as past:
        past.setattr(postgres_schema, "migrations", lambda: then)
        store = PostgresStore(other_database, runtime=BlockingRuntime())
        run_blocking(store.open())
        run_blocking(store.close())
    with psycopg.connect(other_database, autocommit=True) as connection:
        for table, rows in sample["rows"].items():
            generated = {"lexemes", "embedding"}
            for row in rows:
                names = ", ".join(f'"{name}"' for name in row if name not in generated)
                head = f'INSERT INTO memorist."{table}" ({names}) SELECT {names} '
                sql = f'{head}FROM json_populate_record(NULL::memorist."{table}", %s)'
                connection.execute(sql, (json.dumps(row),))  # pyright: ignore[reportArgumentType, reportCallIssue]
    check(PostgresStore(other_database, runtime=BlockingRuntime()))

"""Migrations and records agree, and `open` leaves alone what it does not know."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from memorist.errors import SchemaError
from memorist.records import Record
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.codec import codec, kinds
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres.schema import migrations

TYPES = {
    "text": "text", "json": "text", "int": "bigint", "time": "bigint", "real": "double precision",
    "bool": "boolean", "bytes": "bytea",
}  # fmt: skip
OUR_SQLSTATES = {"checksum", "lexemes", "embedding"}
KINDS = kinds()


def rows(url: str, text: str, *args: Any) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(text, args).fetchall()  # pyright: ignore[reportArgumentType, reportCallIssue]


def opened(url: str) -> PostgresStore:
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    return store


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.table.name)
def test_a_table_has_the_columns_of_its_record(postgres_url: str, kind: type[Record]) -> None:
    columns = rows(
        postgres_url,
        "SELECT column_name, data_type, is_nullable, collation_name FROM information_schema.columns "
        "WHERE table_schema = 'memorist' AND table_name = %s ORDER BY column_name COLLATE \"C\"",
        kind.table.name,
    )
    ordered = set(kind.table.key).union(*kind.table.indexes.values())
    expected = [
        (c.name, TYPES[c.kind], "YES" if c.nullable else "NO", "C" if c.kind == "text" and c.name in ordered else None)
        for c in codec(kind).columns
    ]
    assert [row for row in columns if row[0] not in OUR_SQLSTATES] == expected
    assert ("checksum" in {row[0] for row in columns}) is kind.table.checksum


def keys_of(url: str, name: str) -> dict[str, tuple[bool, list[str]]]:
    key_columns = rows(
        url,
        "SELECT c.relname, i.indisprimary, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(att, n) ON true "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att "
        "WHERE i.indrelid = ('memorist.' || quote_ident(%s))::regclass ORDER BY c.relname, k.n",
        name,
    )
    keys: dict[str, tuple[bool, list[str]]] = {}
    for index, primary, column in key_columns:
        keys.setdefault(index, (primary, []))[1].append(column)
    return keys


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.table.name)
def test_a_table_has_the_keys_of_its_record(postgres_url: str, kind: type[Record]) -> None:
    table = kind.table
    expected = {f"{table.name}_pkey": (True, list(table.key))}
    expected |= {f"{table.name}_{name}": (False, list(columns)) for name, columns in table.indexes.items()}
    if "expires_at" in codec(kind).position_of:
        expected[f"{table.name}_ends"] = (False, ["expires_at"])
    if table.name == "entries":
        expected["entries_lexemes"] = (False, ["lexemes"])
    assert keys_of(postgres_url, table.name) == expected


def test_every_order_starts_with_the_org_but_those_of_work_across_orgs(postgres_url: str) -> None:
    starts = {
        name: columns[0] for kind in KINDS for name, (_, columns) in keys_of(postgres_url, kind.table.name).items()
    }
    across = {name for name, first in starts.items() if first != "org" and not name.endswith("_ends")}
    assert across == {"jobs_ready", "entries_lexemes"}


def test_there_is_no_table_without_a_record(postgres_url: str) -> None:
    tables = rows(postgres_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'memorist'")
    assert {name for (name,) in tables} == {kind.table.name for kind in KINDS} | {"migrations"}


def test_each_migration_is_recorded_once(postgres_url: str) -> None:
    recorded = rows(postgres_url, "SELECT version, name FROM memorist.migrations ORDER BY version")
    assert recorded == [(migration.number, migration.name) for migration in migrations()]
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))


def test_many_open_a_new_database_at_once(new_database: Callable[[], str]) -> None:
    url = new_database()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: run_blocking(opened(url).close()), range(8)))
    assert rows(url, "SELECT count(*) FROM memorist.migrations") == [(len(migrations()),)]


def test_a_newer_schema_is_refused(new_database: Callable[[], str]) -> None:
    url = new_database()
    run_blocking(opened(url).close())
    rows(url, "INSERT INTO memorist.migrations (version, name, needs) VALUES (9999, 'later', 9999) RETURNING 1")
    with pytest.raises(SchemaError, match="9999"):
        opened(url)


def test_tables_of_someone_else_are_refused_and_left_alone(new_database: Callable[[], str]) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA memorist; CREATE TABLE memorist.threads (x int)")
    with pytest.raises(SchemaError, match="did not create"):
        opened(url)
    assert rows(url, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'memorist'") == [("threads",)]


def test_a_failed_migration_leaves_nothing_behind(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist.errors import StoreError
    from memorist.stores.postgres import schema

    first = migrations()[0]
    broken = first._replace(sql="CREATE TABLE memorist.half (x int); SELECT 1 / 0")
    monkeypatch.setattr(schema, "migrations", lambda: [broken])
    url = new_database()
    with pytest.raises(StoreError, match="undone"):
        opened(url)
    monkeypatch.undo()
    assert rows(url, "SELECT to_regclass('memorist.half') IS NULL") == [(True,)]
    run_blocking(opened(url).close())


def test_who_may_not_migrate_is_told_how(new_database: Callable[[], str], login: Callable[..., str]) -> None:
    url = new_database()
    with pytest.raises(SchemaError, match="memorist migrate"):
        opened(login(url, "memorist_app"))

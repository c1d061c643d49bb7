"""The same store over tables that were created with partitions by org."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from click.testing import CliRunner

from memorist.cli.main import cli
from memorist.errors import UsageError
from memorist.messages.message import Message
from memorist.records import Fact, FactVersion
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put, Scan
from memorist.stores.codec import kinds
from memorist.stores.memory import MemoryStore
from memorist.stores.migrations import Migration
from memorist.stores.postgres import PostgresStore, schema
from memorist_testing.properties import difference
from memorist_testing.samples import NOW, append, fact, thread

PARTS = 4


@pytest.fixture
def split(new_database: Callable[[], str]) -> Iterator[tuple[str, PostgresStore]]:
    """A partitioned database with rows of ten orgs."""
    url = new_database()
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.create_partitioned(PARTS))
    for n in range(10):
        org = f"o{n}"
        changes = [Put(thread(org)), append(org, "one", "two"), Put(fact(org, value=1)), Put(fact(org, value=2))]
        run_blocking(store.apply(changes, now=NOW))
    yield url, store
    run_blocking(store.close())


def test_rows_spread_over_the_partitions(split: tuple[str, PostgresStore]) -> None:
    url, store = split
    assert run_blocking(store.orgs()) == [f"o{n}" for n in range(10)]
    for n in range(10):
        assert [m.text for m in run_blocking(store.scan(Scan(Message, (f"o{n}", "t")), now=NOW))] == ["one", "two"]
        fact_row = run_blocking(store.get(Fact, (f"o{n}", "global", "k"), now=NOW))
        assert fact_row is not None and fact_row.version == 2
        assert len(run_blocking(store.scan(Scan(FactVersion, (f"o{n}",)), now=NOW))) == 1
    with psycopg.connect(url) as connection:
        counts = [connection.execute(f"SELECT count(*) FROM memorist.facts_{n}").fetchone() for n in range(PARTS)]  # pyright: ignore
    assert sum(count[0] for count in counts if count) == 10
    assert sum(bool(count and count[0]) for count in counts) > 1


def test_random_operations_answer_as_the_reference_store_does(split: tuple[str, PostgresStore]) -> None:
    _, store = split
    reference = MemoryStore()
    for seed in range(25):
        assert difference(store, reference, run_blocking, seed, range(40)) is None


def test_the_fence_stands_around_the_whole_and_each_part(split: tuple[str, PostgresStore]) -> None:
    url, _ = split
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT relname::text, relkind::text FROM pg_class WHERE relnamespace = 'memorist'::regnamespace "
            "AND relkind IN ('r', 'p') AND relrowsecurity AND relforcerowsecurity"
        ).fetchall()
        names = {kind.table.name for kind in kinds()}
        parts = {(f"{name}_{n}", "r") for name in names for n in range(PARTS)}
        assert set(tables) == {(name, "p") for name in names} | parts
        connection.execute("SET ROLE memorist_app")
        connection.execute("SELECT set_config('memorist.org', 'o1', true)")
        assert connection.execute("SELECT DISTINCT org FROM memorist.facts").fetchall() == [("o1",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM memorist.facts_0")


def test_a_read_of_one_org_touches_one_part(split: tuple[str, PostgresStore]) -> None:
    url, _ = split
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute("PREPARE one(text) AS SELECT * FROM memorist.messages WHERE org = $1 AND thread = 't'")
        plan = "\n".join(row[0] for row in connection.execute("EXPLAIN (ANALYZE) EXECUTE one('o3')"))
    assert f"Subplans Removed: {PARTS - 1}" in plan


def test_doctor_names_the_split_tables(split: tuple[str, PostgresStore]) -> None:
    _, store = split
    report = run_blocking(store.diagnose(deep=True))
    assert set(report["partitioned"]) == {kind.table.name for kind in kinds()}
    assert report["damaged"] == {} and [text.split()[0] for text in report["problems"]] == ["fsync"]
    run_blocking(store.scrub())


def test_partitions_are_refused_where_there_are_tables(new_database: Callable[[], str]) -> None:
    url = new_database()
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    with pytest.raises(UsageError, match="export"):
        run_blocking(store.create_partitioned(PARTS))
    run_blocking(store.close())


def test_the_command_creates_partitions_and_the_next_open_uses_them(new_database: Callable[[], str]) -> None:
    url = new_database()
    run = CliRunner().invoke(cli, ["--url", url, "migrate", "--partitions", "3"])
    assert run.exit_code == 0, run.output
    again = CliRunner().invoke(cli, ["--url", url, "migrate"])
    assert again.exit_code == 0, again.output
    refused = CliRunner().invoke(cli, ["--url", url, "migrate", "--partitions", "3"])
    assert isinstance(refused.exception, UsageError) and "export" in str(refused.exception)
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'memorist.facts'::regclass"
        ).fetchone()
    assert row == (3,)


def test_a_later_migration_partitions_its_tables_too(
    split: tuple[str, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = split
    sql = """-- needs: 1
CREATE TABLE memorist.notes (
  org text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (org, id)
) WITH (fillfactor = 70);
SELECT memorist.fence('notes');
"""
    every = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: [*every, Migration(len(every) + 1, "notes", 1, sql)])
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    run_blocking(store.close())
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT c.reloptions, c.relforcerowsecurity FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = 'memorist.notes'::regclass"
        ).fetchall()
    assert rows == [(["fillfactor=70"], True)] * PARTS

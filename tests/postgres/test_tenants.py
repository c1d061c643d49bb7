"""One org per transaction: what raw SQL under the application's role can reach, and ids made to break out."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import msgspec
import psycopg
import pytest

from memorist.errors import SchemaError
from memorist.records import Fact, Job, Record, StateEntry
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Delete, DeleteRange, Increment, Put, Scan
from memorist.stores.codec import kinds
from memorist.stores.postgres import PostgresStore
from memorist_testing.samples import ADVERSARIAL as HARD
from memorist_testing.samples import NOW, WHEN, entry, fact
from tests.redis_store.test_tenants import OPERATIONS, work
from tests.servers.postgres import Postgres

TABLES = [kind.table.name for kind in kinds()]
ADVERSARIAL = [
    "a", "a ", " a", "A", "a:b", "a:b:c", "a%", "a_", "%", "_", "*", "?", "{a}", "{", "}", "[a]", "a'", "a''", '"a"',
    "a\\", "\\", "a;b", "a--", "/*a*/", "$1", "$$", "'; DROP TABLE memorist.facts; --", "a\tb", "a\nb", "é", "e\u0301",
    "ａ", "а", "a\u200b", "\u202ea", "\U0001f600", "NULL", "null", "on", "off", "default", "DEFAULT", "memorist.org",
    "0", "00", "1e0", "a,b", "(a)", "a\x01b", "\x7f", "ﬀ", "ff", "İ", "i", "ß", "ss", "\ufffe", "a" * 500,
]  # fmt: skip


@pytest.fixture
def orgs() -> tuple[str, str]:
    return f"mine-{uuid4().hex[:8]}", f"other-{uuid4().hex[:8]}"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url, runtime=BlockingRuntime())
    run_blocking(store.open())
    yield store
    run_blocking(store.close())


def put(store: PostgresStore, *records: Record) -> None:
    run_blocking(store.apply([Put(record) for record in records], now=NOW))


@pytest.fixture
def raw(postgres_url: str, login: Callable[..., str]) -> Iterator[Callable[..., Any]]:
    """Raw SQL as a user who holds nothing but the application's role, in the name of an org (or of none)."""
    connection = psycopg.connect(login(postgres_url, "memorist_app"), autocommit=True)

    def run(org: str | None, text: str, *args: Any) -> Any:
        with connection.transaction():
            if org is not None:
                connection.execute("SELECT set_config('memorist.org', %s, true)", (org,))
            cursor = connection.execute(text, args)  # pyright: ignore[reportArgumentType, reportCallIssue]
            return cursor.fetchall() if cursor.description else cursor.rowcount

    yield run
    connection.close()


def test_every_table_is_fenced_for_its_owner_too(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute(
            "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class "
            "WHERE relnamespace = 'memorist'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migrations'"
        ).fetchall()
    assert sorted(tables) == [(name, True, True) for name in sorted(TABLES)]


@pytest.mark.parametrize("name", TABLES)
def test_without_an_org_no_row_is_seen(raw: Callable[..., Any], name: str) -> None:
    assert raw(None, f'SELECT count(*) FROM memorist."{name}"') == [(0,)]
    assert raw("", f'SELECT count(*) FROM memorist."{name}"') == [(0,)]


def test_raw_sql_sees_one_org(raw: Callable[..., Any], store: PostgresStore, orgs: tuple[str, str]) -> None:
    own, other = orgs
    put(store, fact(own), fact(other))
    assert raw(own, "SELECT DISTINCT org FROM memorist.facts") == [(own,)]
    assert raw(own, "SELECT count(*) FROM memorist.facts WHERE org = %s", other) == [(0,)]
    assert raw(own, "UPDATE memorist.facts SET value = '0' WHERE org = %s", other) == 0
    assert raw(own, "DELETE FROM memorist.facts WHERE org = %s", other) == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw(own, "UPDATE memorist.facts SET org = %s", other)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw(own, "INSERT INTO memorist.links VALUES (%s, 's', 'k', 't', 0)", other)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw(own, "TRUNCATE memorist.facts")


def test_a_taken_key_of_another_org_gives_no_hint(
    raw: Callable[..., Any], store: PostgresStore, orgs: tuple[str, str]
) -> None:
    own, other = orgs
    put(store, fact(other))
    refusals = []
    for key in ("k", "not-there"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
            raw(own, "INSERT INTO memorist.state VALUES (%s, 'global', %s, '1', 0, 0, NULL, 1)", other, key)
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]


def test_the_application_cannot_go_across_orgs(raw: Callable[..., Any]) -> None:
    for call in ("all_orgs()", "purge_expired(0, 1)", "claim_jobs('q', 'o', 0, 1, 1)", "fence('facts')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            raw("any", f"SELECT * FROM memorist.{call}")
    raw("any", "SELECT set_config('memorist.upkeep', 'on', false)")
    assert raw(None, "SELECT count(*) FROM memorist.facts") == [(0,)]


def test_the_org_of_one_transaction_is_gone_in_the_next(
    raw: Callable[..., Any], store: PostgresStore, orgs: tuple[str, str]
) -> None:
    put(store, fact(orgs[0]))
    assert raw(orgs[0], "SELECT count(*) FROM memorist.facts") == [(1,)]
    assert raw(None, "SELECT count(*) FROM memorist.facts") == [(0,)]


def test_an_application_user_does_all_but_go_across_orgs(
    postgres_url: str, login: Callable[..., str], orgs: tuple[str, str]
) -> None:
    store = PostgresStore(login(postgres_url, "memorist_app"), runtime=BlockingRuntime())
    run_blocking(store.open())
    put(
        store,
        fact(orgs[0]),
        Job(org=orgs[0], queue="q", ns="global", item="i", run_at=WHEN, created_at=WHEN, updated_at=WHEN),
    )
    assert run_blocking(store.get(Fact, (orgs[0], "global", "k"), now=NOW)) is not None
    assert len(run_blocking(store.claim("q", owner="w", now=NOW, lease=1, org=orgs[0]))) == 1
    with pytest.raises(SchemaError, match="memorist_worker"):
        run_blocking(store.orgs())
    run_blocking(store.close())


def test_a_worker_user_goes_across_orgs(postgres_url: str, login: Callable[..., str], orgs: tuple[str, str]) -> None:
    store = PostgresStore(login(postgres_url, "memorist_worker"), runtime=BlockingRuntime())
    run_blocking(store.open())
    queue = f"q{orgs[0]}"
    for org in orgs:
        put(store, Job(org=org, queue=queue, ns="global", item="i", run_at=WHEN, created_at=WHEN, updated_at=WHEN))
    claimed = run_blocking(store.claim(queue, owner="w", now=NOW, lease=1, limit=5))
    assert {job.org for job in claimed} == set(orgs) <= set(run_blocking(store.orgs()))
    run_blocking(store.close())


def test_ids_made_to_break_out_stay_inside(store: PostgresStore) -> None:
    mark = uuid4().hex[:8]
    names = [f"{name}{mark}"[:500] for name in ADVERSARIAL]
    for org in names:
        put(store, *(entry(org, key, [org, key]) for key in names[:20]))
    for org in names:
        for key in names[:20]:
            row = run_blocking(store.get(StateEntry, (org, "global", key), now=NOW))
            assert row is not None and row.value == [org, key]
        listed = run_blocking(store.scan(Scan(StateEntry, (org,)), now=NOW))
        assert [row.key for row in listed] == sorted(names[:20])
        assert {row.org for row in listed} == {org}
        by_keys = run_blocking(store.get_many(StateEntry, [(org, "global", key) for key in names[:20]], now=NOW))
        assert [row.value for row in by_keys if row is not None] == [[org, key] for key in names[:20]]
    dropped = names[::2]
    for org in dropped:
        assert run_blocking(store.apply([DeleteRange(StateEntry, (org,))], now=NOW)) == [20]
    for org in names[1::2]:
        assert len(run_blocking(store.scan(Scan(StateEntry, (org,)), now=NOW))) == 20


def test_a_batch_of_two_orgs_writes_each_under_its_own(store: PostgresStore, orgs: tuple[str, str]) -> None:
    own, other = orgs
    changes = [Put(entry(own, "a", 1)), Increment(entry(other, "a", 2)), Delete(StateEntry, (own, "global", "b"))]
    assert run_blocking(store.apply(changes, now=NOW))[1:] == [2, False]
    for org, value in ((own, 1), (other, 2)):
        row = run_blocking(store.get(StateEntry, (org, "global", "a"), now=NOW))
        assert row is not None and row.value == value


def test_an_owner_without_roles_is_fenced_too(
    new_database: Callable[[], str], postgres_server: Postgres, login: Callable[..., str], orgs: tuple[str, str]
) -> None:
    url = new_database()
    owned = login(url)
    user, database = owned.split("//")[1].split("@")[0], url.rpartition("/")[2]
    with psycopg.connect(postgres_server.url_for(database="postgres"), autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{database}" OWNER TO "{user}"')  # pyright: ignore
    store = PostgresStore(owned, runtime=BlockingRuntime())
    run_blocking(store.open())
    put(store, fact(orgs[0]), fact(orgs[1]))
    assert set(orgs) == set(run_blocking(store.orgs()))
    assert run_blocking(store.purge(now=NOW)) == {}
    run_blocking(store.close())
    with psycopg.connect(owned) as connection:
        assert connection.execute("SELECT count(*) FROM memorist.facts").fetchone() == (0,)
        connection.execute("SELECT set_config('memorist.org', %s, true)", (orgs[0],))
        assert connection.execute("SELECT org FROM memorist.facts").fetchall() == [(orgs[0],)]
        connection.rollback()
    with psycopg.connect(postgres_server.url_for(database="postgres"), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{database}" WITH (FORCE)')  # pyright: ignore
        connection.execute(f'CREATE DATABASE "{database}"')  # pyright: ignore


def test_no_row_of_one_org_is_ever_seen_in_another(store: PostgresStore, orgs: tuple[str, str]) -> None:
    near = [f"{orgs[0]}{odd}"[:500] for odd in HARD[:60]] + [f"{odd[:400]}{orgs[0]}" for odd in HARD[:20]]
    assert work(store, [orgs[0], *near], 11, OPERATIONS) > OPERATIONS // 20


def test_the_harness_sees_a_store_that_mixes_orgs(postgres_url: str, orgs: tuple[str, str]) -> None:
    class Careless(PostgresStore):
        async def scan(self, scan: Any, *, now: int) -> Any:
            org, *rest = scan.prefix
            return await super().scan(msgspec.structs.replace(scan, prefix=(org.casefold(), *rest)), now=now)

    store = Careless(postgres_url, runtime=BlockingRuntime())
    run_blocking(store.open())
    with pytest.raises(AssertionError):
        work(store, [f"{orgs[0]}a", f"{orgs[0]}A"], 11, OPERATIONS)
    run_blocking(store.close())

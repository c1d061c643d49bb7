"""Checks the server on `open`, and runs migrations. Each migration is recorded in the transaction that applies it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ...errors import SchemaError, StoreError, StoreUnavailable, UsageError
from ..migrations import Migration, migrations_in, refuse_newer
from .pipeline import Failed, Lost
from .session import Session
from .upkeep import make_once_script, run_patiently
from .vectors import add_vectors

OLDEST_SERVER_VERSION = 140_000
MAX_PARTITIONS = 1024
_FOLDER = Path(__file__).parent / "migrations"
APP, WORKER = "memorist_app", "memorist_worker"

_STATE_SQL = b"""
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_user::text,
  r.rolsuper, r.rolbypassrls, pg_is_in_recovery(), to_regclass('memorist.migrations') IS NOT NULL,
  to_regclass('memorist.threads') IS NOT NULL,
  coalesce(
    (SELECT pg_has_role(n.nspowner, 'MEMBER') FROM pg_namespace n WHERE n.nspname = 'memorist'),
    has_database_privilege(current_database(), 'CREATE')
  ),
  coalesce((SELECT pg_has_role(a.oid, m.how) FROM pg_roles a WHERE a.rolname = 'memorist_app'), false),
  coalesce((SELECT pg_has_role(w.oid, m.how) FROM pg_roles w WHERE w.rolname = 'memorist_worker'), false),
  (SELECT n.nspname::text FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'vector'),
  EXISTS (
    -- The last index that vectors.py builds.
    SELECT FROM pg_index WHERE indexrelid = to_regclass('memorist.entries_near_1536') AND indisvalid
  ),
  (SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('memorist.threads'))
FROM pg_roles r,
  -- Since Postgres 16, a member of a role is not always allowed to SET it.
  (SELECT CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END) AS m(how)
WHERE r.rolname = current_user
"""
_CREATE_TABLE = re.compile(r"^CREATE TABLE memorist\.(\w+) \((.*?)\n\)( WITH \([^)]*\))?;", re.DOTALL | re.MULTILINE)
_VERSION_SQL = b"SELECT coalesce(max(version), 0), coalesce(max(needs), 0) FROM memorist.migrations"


class Server(NamedTuple):
    """Holds the server's answers about itself, the connecting user's rights and the schema, in the same order as
    `_STATE_SQL`."""

    version: int
    encoding: str
    user: str
    superuser: bool
    bypasses: bool
    standby: bool
    recorded: bool
    tables: bool
    owner: bool
    app: bool
    worker: bool
    vector_home: str | None
    vectors: bool
    partitions: int
    """This is the number of hash partitions per table, or 0 if tables are not partitioned."""
    schema: int = 0
    needs: int = 0


def migrations() -> list[Migration]:
    """Return every migration, in order."""
    return migrations_in(_FOLDER)


async def look(session: Session) -> Server:
    """Ask the server for its version, the user's rights and the version of the schema."""
    server = Server(*(await session.query(_STATE_SQL))[0])
    if not server.recorded:
        return server
    # A statement that names a missing table fails as a whole, so the version needs a statement of its own.
    try:
        schema, needs = (await session.query(_VERSION_SQL))[0]
    except SchemaError as cause:
        raise SchemaError(f"user {server.user} may not read the tables; grant it {APP}") from cause
    return server._replace(schema=schema, needs=needs)


async def prepare(session: Session, *, partitions: int = 0) -> Server:
    """Check the server, bring its schema up to date, and switch to the application's role. With `partitions`, the
    schema must not exist yet, and it is created with that many hash partitions per table."""
    if not 0 <= partitions <= MAX_PARTITIONS:
        raise UsageError(f"a table can have 1 to {MAX_PARTITIONS} partitions")
    server = await look(session)
    if server.tables and not server.recorded:
        # Another process may have migrated between the statement's two look-ups in the catalogue.
        server = await look(session)
    _refuse(server)
    latest = migrations()[-1].number
    refuse_newer(server.schema, server.needs, latest)
    if partitions and server.schema:
        raise UsageError(
            "this database already has its tables, and partitions are chosen when tables are created; "
            "export the data, run migrate --partitions on an empty database, and import it there"
        )
    if server.schema < latest:
        if server.standby or not server.owner:
            raise SchemaError(
                f"the schema has version {server.schema}, but this version of Memorist needs {latest}; "
                "run: memorist migrate"
            )
        await _migrate(session, server.schema, partitions or server.partitions)
        server = await look(session)
    if not server.vectors and server.owner and not server.standby and await add_vectors(session, server.vector_home):
        server = await look(session)
    session.assume(*roles(server))
    return server


def roles(server: Server) -> tuple[str | None, str | None]:
    """Return the roles to switch to.

    An ordinary user who is subject to row-level security and has the grants needs none.
    """
    # Superusers and roles with BYPASSRLS are exempt from row-level security, even if it is forced, and an owner has the
    # policy `upkeep`. The application's role has neither.
    if server.owner or server.superuser or server.bypasses:
        return (APP if server.app else None, WORKER if server.worker else None)
    return None, None


def _refuse(server: Server) -> None:
    if server.version < OLDEST_SERVER_VERSION:
        raise SchemaError(
            f"Postgres {server.version // 10000} is too old; {OLDEST_SERVER_VERSION // 10000} or newer is needed"
        )
    if server.encoding != "UTF8":
        raise SchemaError(f"the database is encoded in {server.encoding}; create one with ENCODING 'UTF8'")
    if server.tables and not server.recorded:
        raise SchemaError("this database has a schema `memorist` that Memorist did not create; use another database")


async def _migrate(session: Session, schema: int, partitions: int) -> None:
    for migration in migrations():
        if migration.number > schema:
            await _run(session, _script(migration, partitions))


def _script(migration: Migration, partitions: int) -> str:
    number, name = migration.number, migration.name
    # Another process may have applied the migration while this one waited for the lock, so the script looks again.
    unseen = f"NOT EXISTS (SELECT FROM memorist.migrations WHERE version = {number})"
    record = f"INSERT INTO memorist.migrations (version, name, needs) VALUES ({number}, '{name}', {migration.needs});"
    return make_once_script(unseen, add_partitions(migration.sql, partitions) if partitions else migration.sql, record)


def add_partitions(sql: str, partitions: int) -> str:
    """Return the same migration, but split each table that it creates into hash partitions by org."""

    def split(table: re.Match[str]) -> str:
        name, columns, options = table.groups(default="")
        # A partitioned table has no storage of its own, so its options belong to the partitions.
        parts = "".join(
            f"CREATE TABLE memorist.{name}_{part} PARTITION OF memorist.{name} "
            f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part}){options};\n"
            for part in range(partitions)
        )
        return f"CREATE TABLE memorist.{name} ({columns}\n) PARTITION BY HASH (org);\n{parts}"

    return _CREATE_TABLE.sub(split, sql)


async def _run(session: Session, sql: str) -> None:
    try:
        await run_patiently(session, sql)
    except Failed as failed:
        if failed.state == "53200":
            raise StoreError(
                "a migration was undone: the server has too few locks for so many tables; set "
                "max_locks_per_transaction to 4 times the number of partitions, and restart it"
            ) from failed
        raise StoreError(f"a migration failed and was undone ({failed.state}: {failed.message})") from failed
    except Lost as lost:
        raise StoreUnavailable(f"the connection broke during a migration: {lost}") from lost

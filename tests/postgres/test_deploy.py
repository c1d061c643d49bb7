"""The deployment page, run from top to bottom on servers of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memorist import Memory
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.postgres import PostgresStore
from tests.servers.ports import free_port
from tests.servers.postgres import Postgres, binaries, start_postgres

PAGE = Path(__file__).parents[2] / "docs" / "deploy-postgres.md"
BLOCK = re.compile(r"^```(sql|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def server() -> Iterator[Postgres]:
    server = start_postgres(fsync=True)
    yield server
    server.stop()


def environment(server: Postgres, folder: Path, standby: int) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORIST_", "PG"))}
    paths = f"{Path(sys.executable).parent}{os.pathsep}{binaries()}{os.pathsep}{inherited['PATH']}"
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "postgres", "PGDATABASE": "postgres"}
    return inherited | where | {"PATH": paths, "STANDBY_PORT": str(standby), "HOME": str(folder)}


def run(kind: str, body: str, folder: Path, names: dict[str, str]) -> str:
    command = ["psql", "-v", "ON_ERROR_STOP=1", "-q"] if kind == "sql" else ["bash", "-euo", "pipefail"]
    body = body if kind == "sql" else body.replace("psql -d", "psql -v ON_ERROR_STOP=1 -d")
    ended = subprocess.run(command, input=body, cwd=folder, env=names, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, f"{body}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def test_every_command_of_the_page_works(server: Postgres, tmp_path: Path) -> None:
    standby: Postgres | None = None
    names = environment(server, tmp_path, free_port())
    try:
        for kind, body in BLOCK.findall(PAGE.read_text("utf-8")):
            if "$STANDBY_PORT" in body and standby is None:
                standby = server.standby()
                names["STANDBY_PORT"] = str(standby.port)
            output = run(kind, body, tmp_path, names)
            if "facts get" in body or "facts list" in body:
                assert "green" in output, body
    finally:
        if standby is not None:
            standby.stop()
    url = server.url_for("web", "memorist_copy")
    store = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(store.open())
    report = run_blocking(store.diagnose())
    run_blocking(store.close())
    assert report["text_search"] == "index" and report["vectors"] == "pgvector"
    assert report["problems"] == []
    store = PostgresStore(server.url_for("postgres", "memorist_big"), runtime=BlockingRuntime())
    run_blocking(store.open())
    assert "facts" in run_blocking(store.diagnose())["partitioned"]
    run_blocking(store.close())


def test_a_standby_reads_and_says_that_it_cannot_write(server: Postgres) -> None:
    from memorist.errors import StoreUnavailable
    from memorist.records import StateEntry
    from memorist.stores.base import Put
    from memorist_testing.samples import NOW, entry

    store = PostgresStore(server.url, runtime=BlockingRuntime())
    run_blocking(store.open())
    run_blocking(store.apply([Put(entry("o", "k", 7))], now=NOW))
    run_blocking(store.close())
    quiet: dict[str, Any] = {"org": "o", "embedder": None, "counter": "estimate", "worker": False}
    with Memory(server.url, **quiet) as memory:
        memory.threads.append("t", "I live in Rome.", create="user:ada")
        assert memory.recall("Rome") != []
        memory.threads.append("t", "I have a dog called Rex.")
    standby = server.standby()
    try:
        with Memory(standby.url, **quiet) as memory:
            hits = memory.recall("Where do I live? And my dog?", kinds="message")
            assert [hit.text for hit in hits] == ["I live in Rome."]
            assert [
                problem
                for problem in memory.doctor().problems
                if problem.startswith("the index: ") and "25006" in problem
            ] != []
        replica = PostgresStore(standby.url, runtime=BlockingRuntime())
        run_blocking(replica.open())
        row = run_blocking(replica.get(StateEntry, ("o", "global", "k"), now=NOW))
        assert row is not None and row.value == 7
        with pytest.raises(StoreUnavailable, match="25006"):
            run_blocking(replica.apply([Put(entry("o", "k", 8))], now=NOW))
        run_blocking(replica.close())
    finally:
        standby.stop()


def test_an_owner_cannot_dump_what_the_fence_hides(server: Postgres, tmp_path: Path) -> None:
    store = PostgresStore(server.url, runtime=BlockingRuntime())
    run_blocking(store.open())
    run_blocking(store.close())
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN IN ROLE memorist_app")
    names = environment(server, tmp_path, 0) | {"PGUSER": "plain"}
    ended = subprocess.run(
        ["pg_dump", "-d", "memorist", "-t", "memorist.facts", "--data-only"],
        env=names,
        capture_output=True,
        text=True,
    )
    assert ended.returncode != 0 and "row-level security" in ended.stderr

"""Processes of this version and of the next, on one store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.migrations.next_version import SOURCE, make_next_version
from tests.servers.postgres import Postgres
from tests.stores.conftest import Place, hot_server, store_options  # noqa: F401  # fixtures

ON_SERVERS = ("sqlite", "postgres", "redis", "redis-cluster", "redis-before-sqlite", "redis-before-postgres")


class Process:
    """One version of the package, running."""

    def __init__(self, source: Path, org: str, options: dict[str, Any]) -> None:
        arguments = {name: str(value) for name, value in options.items()}
        program = str(Path(__file__).with_name("program.py"))
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", program, org, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source)},
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        assert self._out.readline().strip() == "ready"

    def begin(self, *command: Any) -> None:
        """Send a command without waiting for its answer."""
        self._in.write(json.dumps(command) + "\n")
        self._in.flush()

    def answer(self) -> Any:
        """The answer to the oldest command not answered yet."""
        answer = json.loads(self._out.readline())
        assert "error" not in answer, answer["error"]
        return answer["ok"]

    def __call__(self, *command: Any) -> Any:
        self.begin(*command)
        return self.answer()

    def close(self) -> None:
        """End the process as a user would."""
        self._in.close()
        self._process.wait(60)
        self._out.close()


Run = Callable[[str], Process]


@pytest.fixture(scope="session")
def next_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next version of the package."""
    return make_next_version(tmp_path_factory.mktemp("versions"))


@pytest.fixture
def other_database(postgres_server: Postgres) -> str:
    """A database of its own: the next version migrates it."""
    name = f"t{uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.url_for(database="postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # pyright: ignore[reportArgumentType, reportCallIssue]
    return postgres_server.url_for(database=name)


@pytest.fixture(params=ON_SERVERS)
def run(request: pytest.FixtureRequest, store_options: Place, next_source: Path) -> Iterator[Run]:  # noqa: F811
    """Starts a process of a version, `old` or `new`, on one store."""
    org, running = f"o{uuid4().hex[:8]}", []
    own = request.param == "postgres"
    options = {"url": request.getfixturevalue("other_database")} if own else store_options(request.param)

    def start(version: str) -> Process:
        running.append(Process(next_source if version == "new" else SOURCE, org, options))
        return running[-1]

    yield start
    for process in running:
        process.close()

"""A database of its own for each test that changes more than rows, and users with little to their name."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest

from tests.servers.postgres import Postgres


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> str:
    """The database that tests with an org of their own may share."""
    return postgres_server.url


@pytest.fixture
def new_database(postgres_server: Postgres) -> Iterator[Callable[[], str]]:
    """Makes empty databases, dropped after the test."""
    names: list[str] = []

    def make() -> str:
        names.append(f"t{uuid4().hex[:12]}")
        _command(postgres_server, f'CREATE DATABASE "{names[-1]}"')
        return postgres_server.url_for(database=names[-1])

    yield make
    for name in names:
        _command(postgres_server, f'DROP DATABASE "{name}" WITH (FORCE)')


def _command(server: Postgres, text: str) -> None:
    with psycopg.connect(server.url_for(database="postgres"), autocommit=True) as connection:
        connection.execute(text)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.fixture
def login(postgres_server: Postgres) -> Iterator[Callable[..., str]]:
    """Makes users who hold the given roles; answers the URL for one of them."""
    users: list[str] = []

    def make(url: str, *roles: str) -> str:
        users.append(f"u{uuid4().hex[:12]}")
        _command(postgres_server, f'CREATE ROLE "{users[-1]}" LOGIN')
        for role in roles:
            _command(postgres_server, f'GRANT "{role}" TO "{users[-1]}"')
        return url.replace("//postgres@", f"//{users[-1]}@")

    yield make
    for name in users:
        _command(postgres_server, f'DROP ROLE "{name}"')

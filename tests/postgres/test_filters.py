"""Filters on Postgres: the server picks the rows, and nothing that a user wrote is in the text of a statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from memorist.errors import CorruptRecord
from memorist.filters import parse_filter
from memorist.ports import to_datetime
from memorist.records import Fact, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Put, Scan
from memorist.stores.postgres import PostgresStore
from memorist.stores.postgres.filters import translate
from memorist.stores.postgres.rows import Reader
from memorist_testing.samples import NOW, fact

HOSTILE = "x'\"; DROP TABLE memorist.facts; --$1"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres_url, runtime=BlockingRuntime())
    run_blocking(opened.open())
    yield opened
    run_blocking(opened.close())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each reading of records took from the server."""
    counts: list[int] = []
    records = Reader.records

    async def counted(self: Any, kind: Any, rows: Any) -> Any:
        counts.append(len(rows))
        return await records(self, kind, rows)

    monkeypatch.setattr(Reader, "records", counted)
    return counts


def listed(store: PostgresStore, org: str, where: dict[str, Any], **more: Any) -> list[str]:
    scan = Scan(Fact, (org, "global"), where=parse_filter(where), **more)
    return [fact.key for fact in run_blocking(store.scan(scan, now=NOW))]


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ({"n": {"$gte": 1990}}, [f"k{n}" for n in range(1990, 2000)]),
        ({"n": {"$in": [3, 5.0, "7", None]}}, ["k0003", "k0005"]),
        ({"$not": {"$or": [{"n": {"$gt": 0}}, {"deep.list": {"$contains": "no"}}]}}, ["k0000"]),
        ({"created_at": {"$gt": to_datetime(NOW + 1998)}}, ["k1999"]),
        ({"sources": ["t#7"]}, ["k0007"]),
    ],
    ids=["range", "in", "not", "time", "list"],
)
def test_only_rows_that_pass_leave_the_server(
    store: PostgresStore, org: str, read: list[int], where: dict[str, Any], keys: list[str]
) -> None:
    rows = [
        fact(org, f"k{n:04}", {"n": n, "deep": {"list": ["yes", n]}}, sources=(f"t#{n}",)) for n in range(2000)
    ]  # fmt: skip
    timed = [Put(type(row)(**{**_fields(row), "created_at": to_datetime(NOW + n)})) for n, row in enumerate(rows)]
    run_blocking(store.apply(timed, now=NOW))
    assert listed(store, org, where) == keys
    assert read == [len(keys)]
    read.clear()
    assert listed(store, org, where, limit=2, reverse=True) == keys[::-1][:2]
    assert read == [min(2, len(keys))]


def _fields(row: Fact) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def test_a_nul_in_json_and_huge_numbers_are_compared_in_python(store: PostgresStore, org: str, read: list[int]) -> None:
    values = [{"v": "a\u0000b"}, {"v": 2**53 + 1}, {"v": float(2**53)}, {"v": "\\u0000"}]
    run_blocking(store.apply([Put(fact(org, f"k{n}", value)) for n, value in enumerate(values)], now=NOW))
    assert listed(store, org, {"v": "a\u0000b"}) == ["k0"]
    assert listed(store, org, {"v": 2**53 + 1}) == ["k1"]
    assert listed(store, org, {"v": "\\u0000"}, limit=1) == ["k3"]
    assert listed(store, org, {"v": {"$gt": 2**53 + 1}}) == []
    assert sum(read) > 4, "more rows came than passed"


def test_names_and_values_of_a_filter_are_parameters() -> None:
    condition = parse_filter(
        {
            HOSTILE: HOSTILE,
            f"a.{HOSTILE}.0": {"$in": [HOSTILE], "$contains": HOSTILE, "$gt": HOSTILE},
            "$not": {"metadata": {HOSTILE: [HOSTILE]}},
        }
    )
    assert condition is not None
    translated = translate(condition, Thread, 5)
    assert "DROP" not in translated.sql + translated.source
    assert translated.exact
    assert sum(b"DROP" in (cell or b"") for cell in translated.cells) >= 6


def test_a_damaged_row_in_the_way_of_a_filter_is_named(new_database: Any) -> None:
    url = new_database()
    opened = PostgresStore(url, runtime=BlockingRuntime())
    run_blocking(opened.open())
    run_blocking(opened.apply([Put(fact("o", key, {"n": 1})) for key in "ab"], now=NOW))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE memorist.facts SET value = '{\"n\": ' WHERE key = 'b'")
    with pytest.raises(CorruptRecord):
        listed(opened, "o", {"n": 1})
    run_blocking(opened.close())

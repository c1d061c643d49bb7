"""Adversarial work of many tenants on every store: nobody reads, writes, finds or learns of what is another's."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorist.engine.recalling import Recalling
from memorist.records import Job
from memorist.scope import Scope
from memorist.testing import FakeClock
from tests.stores.conftest import STORES, OpenOn
from tests.stores.tenants import Work

OPERATIONS = 102_000 if os.environ.get("MEMORIST_SOAK") else 3_000
VECTOR_OPERATIONS = 12_000 if os.environ.get("MEMORIST_SOAK") else 600
ROUND = 3_000
QUIET: dict[str, Any] = {"embedder": None, "extract": None}


@pytest.mark.parametrize("name", STORES)
def test_no_tenant_meets_another(name: str, open_on: OpenOn, clock: FakeClock, org: str, tmp_path: Path) -> None:
    memory = open_on(name, all_orgs=True, **QUIET)
    for start in range(0, OPERATIONS, ROUND):
        work = Work(memory, clock, f"{org}-{start}", seed=start)
        work.run(ROUND)
        work.sweep(tmp_path)
        assert work.seen["rows"] > ROUND // 4 and work.seen["hits"] > ROUND // 10, "too little was there to be mixed up"
        assert work.seen["recalls after a removal"] > ROUND // 30 and work.seen["expired"] > 10, "too little went"


@pytest.mark.parametrize("name", ["memory", "sqlite", "postgres"])
def test_vectors_of_one_tenant_are_not_found_by_another(
    name: str, open_on: OpenOn, org: str, tmp_path: Path, clock: FakeClock
) -> None:
    memory = open_on(name, all_orgs=True, extract=None)
    for start in range(0, VECTOR_OPERATIONS, 600):
        work = Work(memory, clock, f"{org}-{start}", seed=5 + start)
        work.run(600)
        work.sweep(tmp_path)
        assert work.seen["hits"] > 20


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], str]], None]:
    """Gives every handle an org that went through a function."""

    def bend(change: Callable[[str], str]) -> None:
        narrow = Scope.narrow
        monkeypatch.setattr(
            Scope, "narrow", lambda self, org=None, *rest: narrow(self, None if org is None else change(org), *rest)
        )

    return bend


@pytest.mark.parametrize("name", STORES)
def test_the_harness_sees_a_dropped_org(name: str, open_on: OpenOn, org: str, plant: Any, clock: FakeClock) -> None:
    plant(lambda _: org)
    with pytest.raises(AssertionError, match="operation"):
        Work(open_on(name, all_orgs=True, **QUIET), clock, org, seed=1).run(ROUND)


@pytest.mark.parametrize(
    "careless",
    [
        str.casefold,
        str.strip,
        lambda org: unicodedata.normalize("NFC", org),
        lambda org: org.replace("\\", ""),
        lambda org: org.replace("%", "_"),
        lambda org: org.replace("{", "").replace("}", ""),
        lambda org: org.rstrip(":"),
    ],
    ids=["case", "space", "twin", "escape", "wildcard", "brace", "separator"],
)
def test_the_harness_sees_two_orgs_taken_for_one(
    careless: Any, open_on: OpenOn, org: str, plant: Any, clock: FakeClock
) -> None:
    plant(careless)
    with pytest.raises(AssertionError, match="operation"):
        Work(open_on("memory", all_orgs=True, **QUIET), clock, org, seed=1).run(2 * ROUND)


def test_the_harness_sees_a_user_who_may_touch_all(
    open_on: OpenOn, org: str, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    monkeypatch.setattr(Scope, "may_write", lambda self, ns: True)
    with pytest.raises(AssertionError, match="operation"):
        Work(open_on("memory", all_orgs=True, **QUIET), clock, org, seed=1).run(ROUND)


def test_the_harness_sees_a_recall_over_all_users(
    open_on: OpenOn, org: str, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    async def everywhere(self: Recalling, namespaces: Any) -> list[str]:
        return sorted({job.ns for job in await self._core.scan(Job, "index")})

    monkeypatch.setattr(Recalling, "_namespaces", everywhere)
    with pytest.raises(AssertionError, match="operation"):
        Work(open_on("memory", all_orgs=True, **QUIET), clock, org, seed=1).run(ROUND)


def test_the_harness_sees_a_recall_of_what_is_gone(
    open_on: OpenOn, org: str, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    real, hits_by_query = Recalling.recall, dict[str, list[Any]]()

    async def again(self: Recalling, query: str, **options: Any) -> list[Any]:
        hits = hits_by_query.setdefault(repr((self._core.org, self._core.scope.user, options)), [])
        hits += await real(self, query, **options)
        return hits

    monkeypatch.setattr(Recalling, "recall", again)
    with pytest.raises(AssertionError, match="recall gave what is gone"):
        Work(open_on("memory", all_orgs=True, **QUIET), clock, org, seed=1).run(ROUND)


def test_the_sweep_sees_a_row_in_the_wrong_org(open_on: OpenOn, org: str, tmp_path: Path, clock: FakeClock) -> None:
    work = Work(open_on("memory", all_orgs=True, **QUIET), clock, org, seed=1)
    work.run(200)
    work.handle(work.orgs[3], None).facts.set("global", "stray", "o1x n0x river train 7")
    with pytest.raises(AssertionError, match="holds texts of"):
        work.sweep(tmp_path)

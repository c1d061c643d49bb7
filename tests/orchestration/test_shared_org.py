"""A handle of one org that also reads the common knowledge of a shared one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from memorist import AsyncMemory, Forbidden, Memory, UsageError
from memorist.stores.memory import MemoryStore

OPTIONS: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False}
PLACES = ("memory", "sqlite", "postgres", "postgres-fenced", "redis", "redis-cluster", "tiered")


@pytest.fixture(params=PLACES)
def settings(request: pytest.FixtureRequest, tmp_path: Any, org: str) -> Iterator[dict[str, Any]]:
    """Where a shared org and two users' orgs live; the shared one knows how refunds are made."""
    name = request.param
    servers = {"postgres": "postgres_server", "redis": "redis_server", "redis-cluster": "redis_cluster"}
    where: dict[str, Any] = {"url": str(tmp_path / "memory.db")}
    if name == "memory":
        where = {"url": MemoryStore()}
    elif name == "postgres-fenced":
        where = {"url": _application(request.getfixturevalue("postgres_server").url)}
    elif name in servers:
        where = {"url": request.getfixturevalue(servers[name]).url}
    elif name == "tiered":
        where["hot"] = request.getfixturevalue("redis_server").url
    with Memory(**where, org=org, **OPTIONS) as acme:
        acme.facts.set("global", "refund.policy", "Refunds are made within thirty days of buying")
        acme.facts.set("workflow:support", "refund.code", "Refunds over a thousand need the code heron")
        acme.facts.set("user:secret", "refund.secret", "Refunds of the board are paid twice")
        acme.jobs.drain(seconds=20)
        acme.recall("refunds")
    yield {**where, "org": f"{org}-u1", "shared": org, **OPTIONS}


def _application(url: str) -> str:
    """The URL of a user with the application's role alone, who is under row-level security; a superuser is not."""
    name = f"u{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN IN ROLE memorist_app").format(sql.Identifier(name)))
    return url.replace("//postgres@", f"//{name}@")


def test_recall_sees_the_shared_org_and_names_it(settings: dict[str, Any]) -> None:
    with Memory(**settings) as memory:
        memory.facts.set("global", "refund.mine", "My refund of the blue lamp is still open")
        hits = memory.recall("refund")
        assert {(hit.org, hit.id) for hit in hits} == {
            (settings["org"], "global/refund.mine"),
            (settings["shared"], "global/refund.policy"),
        }
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert len(memory.recall("refund", top_k=1)) == 1
        assert len({hit.org for hit in memory.recall("refund", top_k=1, offset=1)}) == 1
        assert "thirty days" in memory.context("When are refunds made?").text()
        assert memory.facts.get("global", "refund.policy") is None, "only recall and contexts look there"


def test_what_was_granted_is_seen_too_and_no_more(settings: dict[str, Any]) -> None:
    with Memory(**settings, read=["workflow:support"]) as memory:
        texts = " ".join(hit.text for hit in memory.recall("refunds"))
        assert "heron" in texts and "thirty days" in texts and "paid twice" not in texts
        only = memory.recall("refunds", namespaces=["workflow:support", "user:secret"])
        assert [hit.namespace for hit in only] == ["workflow:support"]
        ada = memory.scope(user="ada")
        assert "thirty days" in " ".join(hit.text for hit in ada.recall("refunds"))


def test_nothing_is_written_to_the_shared_org(settings: dict[str, Any]) -> None:
    with Memory(**{**settings, "org": settings["shared"], "shared": None}) as acme:
        before = acme.stats()
        with Memory(**settings) as memory:
            memory.facts.set("global", "refund.policy", "Refunds are never made")
            memory.recall("refunds")
            memory.forget(fact=("global", "refund.policy"))
        assert acme.stats() == before
        policy = acme.facts.get("global", "refund.policy")
        assert policy is not None and "thirty" in str(policy.value)


def test_what_was_just_shared_is_found(settings: dict[str, Any]) -> None:
    with Memory(**{**settings, "org": settings["shared"], "shared": None}) as acme:
        acme.threads.append("news", "The spring sale begins on Monday.", create="global")
    with Memory(**settings, user="ada") as memory:
        assert [(hit.org, hit.id) for hit in memory.recall("spring sale")] == [(settings["shared"], "news#1")]
        assert "begins on Monday" in memory.context("When is the spring sale?").text()


def test_the_awaiting_facade_does_the_same(settings: dict[str, Any]) -> None:
    async def recalled() -> list[str]:
        async with AsyncMemory(**settings) as memory:
            return [hit.org for hit in await memory.recall("refunds")]

    assert asyncio.run(recalled()) == [settings["shared"]]


def test_a_view_of_a_shared_org_may_only_read() -> None:
    from memorist.scope import Scope

    view = Scope("u-1", shared="acme", read=("workflow:docs",)).view()
    assert view is not None and view.org == "acme"
    assert view.readable("global") == "global" and view.readable("workflow:docs") == "workflow:docs"
    for refused in (lambda: view.readable("user:ada"), lambda: view.writable("global"), lambda: view.whole_org("x")):
        with pytest.raises(Forbidden):
            refused()
    with pytest.raises(UsageError, match="another org"):
        Scope("acme", shared="acme")


def test_an_operator_can_take_a_handle_on_the_shared_org_itself(settings: dict[str, Any]) -> None:
    """It needs no second view of its own rows."""
    with Memory(**{**settings, "all_orgs": True}) as memory:
        acme = memory.scope(org=settings["shared"])
        assert {hit.id for hit in acme.recall("refund policy", namespaces=["global"])} == {"global/refund.policy"}
        assert memory.scope(org=f"{settings['shared']}-u2").recall("refund policy")[0].org == settings["shared"]

"""Every operation, asked by strangers: another org, another user, a missing role, an expired key, forged headers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from memorist.protocol.keys import ROLES, ApiKey
from memorist.protocol.operations import OPERATIONS, Operation, parameters_of

from .running import Running, running

CANARY = "canary-5e1f of the bicycle"
ORG = "victim"
# What a stranger would send in each place to get at what is ada's, or to break it.
SAMPLES: dict[str, Any] = {
    "ns": "user:ada", "key": "secret", "keys": ["secret"], "value": "stolen", "items": {"secret": "stolen"},
    "id": "t-ada", "ids": ["t-ada"], "users": ["ada"], "user": "ada", "messages": ["stolen"],
    "message_id": "t-ada#1", "message": "t-ada#1",
    "content": "likes crime", "query": "bicycle",
    "tools": [], "input": "bicycle", "item": "t-ada#1", "task_id": "job-ada",
    "task_ids": ["job-ada"], "checkpoint": {"task_id": "job-ada", "step": 9}, "text": "stolen", "doc": {}, "ttl": 5,
    "action": "steal", "sessions": [None], "type": "order", "owner": "eve", "fence": 1, "step": 1, "session": "s",
    "number": 1, "room_tokens": 10,
    "operations": [{"operation": "facts.delete", "arguments": {"ns": "user:ada", "key": "secret"}}],
    "last": {"operation": "facts.get", "arguments": {"ns": "user:ada", "key": "secret"}}, "older_than": 1, "at": 1,
    "name": "log.jsonl", "prefix": ["secret"], "preference": "x", "data": "stolen", "limit": 5,
    "said": "stolen", "version": 1, "plan": {"id": "p", "ns": "user:ada"},
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {
    "records.get": {"key": ["secret"]}, "records.put": {"key": ["secret"]}, "records.delete": {"key": ["secret"]},
    "records.get_many": {"keys": [["secret"]]}, "records.put_many": {"items": [{"key": ["secret"], "data": 1}]},
    "records.delete_range": {"prefix": ["secret"]}, "entity_cache.look": {"id": "1"}, "keys.rotate": {"id": "KEY"},
    "keys.revoke": {"id": "KEY"}, "erasing.forget": {"user": "ada"}, "outbox.wait": {"ids": ["t-ada#1"]},
    "facts.delete_range": {"prefix": "secret"}, "analyses.run": {"name": "x"}, "analyses.get": {"name": "x"},
    "documents.get_many": {"ids": ["d-ada"]}, "documents.get": {"id": "d-ada"}, "documents.delete": {"id": "d-ada"},
    "working.get": {"user": "ada"}, "working.set": {"user": "ada"}, "working.clear": {"user": "ada"},
    "working.update": {"user": "ada", "scratchpad": "stolen"}, "working.record_action": {"user": "ada"},
    "profile.get": {"user": "ada"}, "threads.fork": {"at": 1}, "threads.report": {"usage": {"prompt_tokens": 9}},
    "functions.keep": {"remember": {"namespace": "user:ada", "key": "secret"}, "thread": "t-ada"},
}  # fmt: skip


APART = tuple(
    f'{{"table":"{table}"'
    for table in (
        "audit", "jobs", "entries", "links", "receipts", "index_progress", "derivations", "pins", "request_logs",
        "namespace_stats",
        "epochs", "watermarks",
    )
)  # fmt: skip
"""Rows that say who did what, or that follow from others."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("strangers") / "memory.db") as started:
        asyncio.run_coroutine_threadsafe(_furnish(started), started.loop).result(60)  # type: ignore[arg-type]  # it runs
        yield started


async def _furnish(server: Running) -> None:
    ada = server.memory.scope(org=ORG, user="ada")
    await ada.facts.set("user:ada", "secret", CANARY)
    await ada.threads.create("user:ada", CANARY, id="t-ada")
    await ada.threads.append("t-ada", CANARY)
    await ada.state.set("secret", CANARY)
    await ada.records.put("user:ada", ("secret",), CANARY)
    await ada.learnings.add(f"prefers {CANARY}")
    await ada.working.update(scratchpad=CANARY)
    await ada.documents.add("user:ada", CANARY, id="d-ada")
    await ada.tasks.save({"task_id": "job-ada", "ns": "user:ada", "state": CANARY})


def belongings(server: Running) -> list[str]:
    """What is ada's, row by row."""
    with ask(server, server.key(org=ORG)) as client:
        rows = client.get("/v1/export").text.splitlines()
    return [row for row in rows if re.search(r"\bada\b", row) and not row.startswith(APART)]


def ask(server: Running, key: str, **headers: str) -> httpx.Client:
    return httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {key}", **headers}, timeout=60)


def send(client: httpx.Client, operation: Operation) -> httpx.Response:
    samples = {**SAMPLES, **OWN.get(operation.name, {})}
    parameters = [
        parameter
        for parameter in parameters_of(operation)
        if parameter.required or parameter.name in OWN.get(operation.name, {})
    ]
    query = {
        parameter.name: _text(samples[parameter.name]) for parameter in parameters if parameter.location == "query"
    }
    body = {
        parameter.name: samples[parameter.name]
        for parameter in parameters_of(operation)
        if parameter in parameters and parameter.location == "body"
    }
    if any(parameter.kind == "many" and parameter.name == "messages" for parameter in parameters_of(operation)):
        body["messages"] = ["stolen"]
    if any(parameter.kind == "fields" for parameter in parameters_of(operation)):
        body = OWN[operation.name]
    if operation.upload:
        return client.post(operation.path, params=query, content=b"x", headers={"content-type": operation.upload})
    if operation.name == "stream.follow":
        with client.stream("GET", operation.path) as reply:
            return httpx.Response(reply.status_code)
    return client.request(operation.method, operation.path, params=query, json=body if operation.has_body else None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else httpx.Response(200, json=value).text


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_strangers_get_nothing_and_break_nothing(server: Running, operation: Operation) -> None:
    """An operation without a sample for each of its parameters fails here: none is without such a case."""
    before = belongings(server)
    assert sum(CANARY in row for row in before) >= 7
    everything = [role for role in ROLES if role != "admin"] if operation.role != "admin" else list(ROLES)
    strangers = {
        "another org": ask(server, server.key(org="stranger", roles=everything)),
        "another user": ask(server, server.key(org=ORG, user="eve", roles=everything)),
        "another user by header": ask(
            server, server.key(org=ORG, user="eve", roles=everything), **{"memorist-scope": '{"user":"ada"}'}
        ),
        "another org by header": ask(
            server, server.key(org="stranger", roles=everything),
            **{"memorist-scope": f'{{"org":"{ORG}"}}', "x-org": ORG, "x-user": "ada", "x-forwarded-user": "ada"},
        ),
    }  # fmt: skip
    for who, client in strangers.items():
        with client:
            answer = send(client, operation)
        assert CANARY not in answer.text, who
        assert answer.status_code < 500 or answer.status_code == 501, (who, answer.text)
        if "header" in who:
            assert answer.status_code == 403, (who, answer.text)
    assert belongings(server) == before


@pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if not operation.admits], ids=lambda operation: operation.name
)
def test_a_missing_role_and_an_expired_key_are_refused(server: Running, operation: Operation) -> None:
    lacking = [role for role in ROLES if role not in (operation.role, "admin")]
    with ask(server, server.key(org=ORG, roles=lacking)) as client:
        assert send(client, operation).status_code == 403
    expired = server.key(org=ORG, roles=list(ROLES), ttl=3600)
    _expire(server, expired)
    with ask(server, expired) as client:
        assert send(client, operation).status_code == 401


def _expire(server: Running, key: str) -> None:
    """Let the time of a key pass."""
    keys = server.app.state.server.keys
    until, api_key = keys._cache.get(key.split("_")[1], (0.0, None))
    assert server.loop is not None
    api_key = api_key or asyncio.run_coroutine_threadsafe(keys.find(key.split("_")[1]), server.loop).result(30)
    assert isinstance(api_key, ApiKey) and api_key.expires_at is not None
    ended = {name: getattr(api_key, name) for name in api_key.__struct_fields__}
    ended["expires_at"] = api_key.expires_at - timedelta(hours=2)
    keys._cache[api_key.id] = (until or 1e18, ApiKey(**ended))

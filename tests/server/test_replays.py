"""A write sent twice under one Idempotency-Key is done once, and the second answer has the shape of the first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from memorist import Memory
from memorist.protocol.operations import OPERATIONS, Operation, parameters_of, takes_key
from memorist.records import Candidate
from memorist.server.openapi import document
from memorist.stores.base import Put

from .running import Running, running

KEYED = [operation for operation in OPERATIONS if takes_key(operation) and operation.name != "erasing.forget"]
LOST = {"threads.pop", "working.undo_action", "facts.unforget", "review.approve"}
"""What is gone with the first answer: the second says that it was done, and that nobody knows more."""
SAMPLES: dict[str, Any] = {
    "ns": "user:ada", "key": "home", "value": "Rome", "items": {"home": "Rome", "work": "Oslo"}, "prefix": "h",
    "id": "t", "message": "t#1", "messages": ["hello"], "content": "likes tea", "ids": ["t#1"], "text": "a page",
    "doc": {"scratchpad": "x"}, "user": "ada", "action": "read", "checkpoint": {"task_id": "job", "step": 1},
    "task_id": "job", "data": {"n": 1}, "owner": "me", "fence": 1, "type": "order", "session": "s", "number": 1,
    "version": 1,
    "at": 1, "room_tokens": 1000, "step": 1, "ttl": 60, "title": "renamed", "input": "where?", "said": "Rome",
    "usage": {"prompt_tokens": 9},
    "operations": [{"operation": "state.increment", "arguments": {"key": "n"}}],
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {
    "records.put": {"key": ["a", 1]}, "records.delete": {"key": ["a", 1]}, "records.delete_range": {"prefix": ["a"]},
    "records.put_many": {"items": [{"key": ["b"], "data": 1}, {"key": ["c"], "data": {"base64": "AAE="}}]},
    "threads.update": {"title": "renamed"}, "threads.fork": {"at": 1}, "state.delete": {"key": "n"},
    "learnings.reinforce": {"id": "LEARNING"}, "learnings.weaken": {"id": "LEARNING"},
    "learnings.delete": {"id": "LEARNING"}, "learnings.used": {"ids": ["LEARNING"]}, "documents.add": {"id": "d"},
    "documents.delete": {"id": "d"}, "working.update": {"scratchpad": "y"}, "state.increment": {"key": "n"},
    "learnings.update": {"id": "LEARNING", "content": "likes tea"}, "events.update": {"id": "EVENT", "text": "Tea"},
    "events.cancel": {"id": "EVENT"}, "memories.update": {"id": "fact:home", "value": "Oslo", "ns": "user:ada"},
    "memories.undo": {"id": "fact:home", "ns": "user:ada"},
    "events.delete": {"id": "EVENT"}, "memories.delete": {"id": "fact:home"}, "review.reject": {"id": "CANDIDATE"},
    "review.edit": {"id": "CANDIDATE", "text": "Lives in Oslo"}, "review.approve": {"id": "CANDIDATE"},
    "plans.apply": {"plan": "PLAN"}, "plans.undo": {"id": "APPLIED"}, "facts.unforget": {"key": "REQUEST"},
    "entity_cache.keep": {"id": "7"}, "entity_cache.lease": {"id": "7"}, "entity_cache.give_back": {"id": "7"},
    "threads.create": {"id": "new"}, "threads.delete_messages": {"ids": ["t#1"]}, "leases.save": {"done": ["a"]},
    "working.add_turn": {"messages": [{"role": "user", "content": "hello"}]},
    "functions.keep": {"remember": {"namespace": "user:ada", "key": "last"}, "thread": "t"},
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("replays") / "memory.db") as started:
        yield started


@pytest.fixture
def client(server: Running, org: str) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {server.key(org=org)}", "memorist-scope": '{"user":"ada"}'}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as http_client:
        yield http_client


@pytest.fixture
def furnish(server: Running, org: str, client: httpx.Client) -> Callable[[Operation], dict[str, Any]]:
    """Stores something to change; returns what stands for the names in `OWN`."""
    return partial(_furnish, server, org, client)


def _furnish(server: Running, org: str, client: httpx.Client, operation: Operation) -> dict[str, Any]:
    put, post = client.put, client.post
    put("/v1/fact", params={"ns": "user:ada", "key": "home"}, json={"value": "Porto"}).raise_for_status()
    post("/v1/threads", json={"ns": "user:ada", "id": "t"}).raise_for_status()
    post("/v1/thread/messages", params={"id": "t"}, json={"messages": ["one", "two", "three"]}).raise_for_status()
    put("/v1/state", params={"key": "n"}, json={"value": 4}).raise_for_status()
    put("/v1/record", params={"ns": "user:ada", "key": '["a",1]'}, json={"data": 1}).raise_for_status()
    client.patch("/v1/working", json={"scratchpad": "first"}).raise_for_status()
    post("/v1/working/actions", json={"action": "open"}).raise_for_status()
    if operation.name != "documents.add":
        post("/v1/documents", json={"ns": "user:ada", "text": "words", "id": "d"}).raise_for_status()
    if operation.noun == "leases" and operation.call != "take":
        lease = {"owner": "me", "lease": 60}
        post("/v1/task/lease", params={"task_id": "job"}, json=lease).raise_for_status()
    if operation.name == "tasks.delete":
        put("/v1/task", json={"checkpoint": {"task_id": "job"}}).raise_for_status()
    names: dict[str, Any] = {}
    if operation.noun == "events" and operation.call != "add":
        names["EVENT"] = post("/v1/events", json={"text": "Lunch", "ns": "user:ada"}).raise_for_status().json()["id"]
    if operation.noun == "review":
        names["CANDIDATE"] = _candidate(server, org)
    if operation.noun == "plans":
        for key in ("drink", "beverage"):  # an empty plan is not stored, and so cannot be undone
            tea = {"value": "green tea", "text": "Ada drinks green tea."}
            put("/v1/fact", params={"ns": "user:ada", "key": key}, json=tea).raise_for_status()
        names["PLAN"] = post("/v1/tidy", json={"ns": "user:ada"}).raise_for_status().json()
        names["APPLIED"] = post("/v1/tidy", json={"ns": "user:ada"}).raise_for_status().json()["id"]
    if operation.name == "plans.undo":
        post("/v1/tidy/apply", json={"plan": {**names["PLAN"], "id": names["APPLIED"]}}).raise_for_status()
    if operation.name == "facts.unforget":
        names["REQUEST"] = _request_to_forget(server, org)
    learned = post("/v1/learnings", json={"content": "likes coffee"}).raise_for_status()
    return {**names, "LEARNING": learned.json()["id"]}


def _candidate(server: Running, org: str) -> str:
    """The id of a new candidate, as a memory writer leaves it for review."""
    core = server.memory.scope(org=org, user="ada")._core
    proposal = {"op": "add", "kind": "fact", "turn": 0, "quote": "one", "key": "town", "value": "Oslo", "text": "Oslo"}
    at = core.at()
    candidate = Candidate(
        org=org, ns="user:ada", id="c", kind="fact", text="Oslo", proposal=proposal, sources=("t#1",), created_at=at,
        updated_at=at,
    )  # fmt: skip
    assert server.loop is not None
    asyncio.run_coroutine_threadsafe(core.apply(Put(candidate)), server.loop).result(30)
    return candidate.id


def _request_to_forget(server: Running, org: str) -> str:
    """The key of a request to forget, made in words through a memory that reads facts from messages."""
    with Memory(server.store_url, org=org, worker=False, embedder=None, counter="estimate") as memory:
        memory.threads.append("asks", "I live in Oslo.", create="user:ada")
        receipts = memory.threads.append("asks", "Forget that I live in Oslo.")
    return receipts[0].ended[-1].removeprefix("user:ada/")


def send(client: httpx.Client, operation: Operation, names: Mapping[str, Any], owner: str) -> httpx.Response:
    own = OWN.get(operation.name, {})
    samples = {**SAMPLES, **own, **({"owner": owner} if owner else {})}
    parameters = [
        parameter
        for parameter in parameters_of(operation)
        if parameter.required or parameter.name in own or parameter.kind == "many"
    ]
    query = {
        parameter.name: _text(samples[parameter.name], names)
        for parameter in parameters
        if parameter.location == "query"
    }
    body = {
        parameter.name: _named(samples[parameter.name], names)
        for parameter in parameters
        if parameter.location == "body"
    }
    if any(parameter.kind == "fields" for parameter in parameters) or operation.name == "working.update":
        body = own
    headers = {"idempotency-key": "once"}
    return client.request(
        operation.method, operation.path, params=query, json=body if operation.has_body else None, headers=headers
    )


def _named(value: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def _text(value: Any, names: Mapping[str, Any]) -> str:
    sample = _named(value, names)
    return sample if isinstance(sample, str) else httpx.Response(200, json=sample).text


def stored(client: httpx.Client) -> list[str]:
    """What the org has, row by row, but for what only says when.

    A job to index a thread only says that somebody should look there: a repeated append may leave another.
    """
    rows = client.get("/v1/export", headers={"memorist-scope": "{}"}).text.splitlines()
    tables = ("audit", "index_progress", "namespace_stats", "epochs", "watermarks")
    notes = (*(f'{{"table":"{table}"' for table in tables), '"queue":"index"', '{"rows":')
    return [row for row in rows if not any(note in row for note in notes)]


@pytest.mark.parametrize("operation", KEYED, ids=lambda operation: operation.name)
def test_the_second_answer_has_the_shape_of_the_first(
    client: httpx.Client, furnish: Callable[[Operation], dict[str, Any]], operation: Operation
) -> None:
    if operation.noun == "entity_cache":
        client.headers.pop("memorist-scope")
    names, owner = furnish(operation), ""
    if operation.name in ("entity_cache.keep", "entity_cache.give_back"):
        leased = client.post("/v1/entity/lease", params={"type": "order", "id": "7"}, json={}).raise_for_status()
        owner = leased.json()["owner"]
    first = send(client, operation, names, owner)
    assert first.status_code == 200, first.text
    rows = stored(client)
    second = send(client, operation, names, owner)
    assert stored(client) == rows
    if operation.name in LOST:
        assert (second.status_code, second.json()["title"]) == (409, "UnknownOutcome")
        return
    assert second.status_code == 200, second.text
    schema = document()["paths"][operation.path][operation.method.lower()]["responses"]["200"]["content"]
    whole = {**schema["application/json"]["schema"], "components": document()["components"]}
    for answer in (first, second):
        assert [error.message for error in Draft202012Validator(whole).iter_errors(answer.json())] == []
    if set(first.json()) == {"result"} and operation.noun not in ("leases", "entity_cache"):
        assert second.json() == first.json()


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/v1/fact", {"ns": "user:ada", "key": "no"}),
        ("/v1/record", {"ns": "user:ada", "key": '["no"]'}),
        ("/v1/learning", {"id": "no"}),
        ("/v1/task", {"task_id": "no"}),
        ("/v1/working", {"session": "no"}),
    ],
)
def test_a_no_is_the_same_no_the_second_time(client: httpx.Client, path: str, params: dict[str, str]) -> None:
    answers = [client.request("DELETE", path, params=params, headers={"idempotency-key": "once"}) for _ in range(2)]
    assert [answer.text for answer in answers] == ['{"result":false}'] * 2


def wipe(client: httpx.Client) -> None:
    """Deletes all that a request may have written, so that nothing is left to answer from."""
    for fact in client.get("/v1/facts", params={"ns": "user:ada"}).json()["items"]:
        client.delete("/v1/fact", params={"ns": "user:ada", "key": fact["key"], "history": "false"}).raise_for_status()
    for key in ("home", "work"):
        client.delete("/v1/fact", params={"ns": "user:ada", "key": key, "history": "false"}).raise_for_status()
    for thread in client.get("/v1/threads", params={"ns": "user:ada"}).json()["items"]:
        client.delete("/v1/thread", params={"id": thread["id"]}).raise_for_status()
    for learning in client.get("/v1/learnings").json()["items"]:
        client.delete("/v1/learning", params={"id": learning["id"]}).raise_for_status()
    for event in client.get("/v1/events/list", params={"ns": "user:ada"}).json()["items"]:
        client.delete("/v1/event", params={"id": event["id"], "ns": "user:ada"}).raise_for_status()
    for candidate in client.get("/v1/review", params={"ns": "user:ada"}).json()["items"]:
        client.post("/v1/review/reject", params={"id": candidate["id"], "ns": "user:ada"}, json={}).raise_for_status()
    for session in ({}, {"session": "s"}):
        client.delete("/v1/working", params=session).raise_for_status()
    client.delete("/v1/state", params={"key": "n"}).raise_for_status()
    client.delete("/v1/task", params={"task_id": "job"}).raise_for_status()
    for key in ('["a",1]', '["b"]', '["c"]'):
        client.delete("/v1/record", params={"ns": "user:ada", "key": key}).raise_for_status()


@pytest.mark.parametrize("operation", KEYED, ids=lambda operation: operation.name)
def test_a_repeated_request_whose_row_is_gone_gets_a_valid_answer_or_a_clear_error(
    client: httpx.Client, furnish: Callable[[Operation], dict[str, Any]], operation: Operation
) -> None:
    if operation.noun in ("entity_cache", "leases"):
        return  # their rows are leases, which end by themselves
    names = furnish(operation)
    assert send(client, operation, names, "").status_code == 200
    wipe(client)
    second = send(client, operation, names, "")
    if second.status_code != 200:
        assert second.status_code in (404, 409), second.text
        return
    schema = document()["paths"][operation.path][operation.method.lower()]["responses"]["200"]["content"]
    whole = {**schema["application/json"]["schema"], "components": document()["components"]}
    assert [error.message for error in Draft202012Validator(whole).iter_errors(second.json())] == []

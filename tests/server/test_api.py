"""The HTTP API over a real server and a real file: what it answers, and whom it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from memorist import AsyncMemory, Memory
from memorist.errors import Conflict, Forbidden, InvalidNamespace, InvalidValue, NotFound, UsageError
from memorist.protocol.keys import ROLES
from memorist.protocol.operations import OPERATIONS, Operation, parameters_of
from memorist.server.app import Options
from memorist.server.limits import Rate
from memorist.server.openapi import document

from .running import FAST, Running, running

NS = "user:ada"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("served") / "memory.db") as started:
        yield started


@pytest.fixture
def remote(server: Running, org: str) -> Iterator[Memory]:
    with Memory(server.url, api_key=server.key(org=org)) as memory:
        yield memory


def http(server: Running, key: str | None = None, **headers: str) -> httpx.Client:
    authorization = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(base_url=server.url, headers={**authorization, **headers})


def test_a_program_moves_behind_a_server_by_changing_its_url(remote: Memory) -> None:
    fact = remote.facts.set(NS, "home", {"city": "Rome"}, ttl=60, confidence=0.8)
    assert remote.facts.get(NS, "home") == fact
    assert remote.facts.get(NS, "work") is None
    assert [fact.key for fact in remote.facts.list(NS)] == ["home"]
    thread = remote.threads.create(NS, "A talk")
    receipts = remote.threads.append(thread.id, "I live in Rome.", {"role": "assistant", "content": "Noted."})
    assert [receipt.message.seq for receipt in receipts] == [1, 2]
    assert [message.text for message in remote.threads.recent(thread.id)] == ["I live in Rome.", "Noted."]
    assert (remote.state.increment("n"), remote.state.increment("n", 4), remote.state.get("n")) == (1, 5, 5)
    assert remote.recall("Rome")[0].kind in ("fact", "message")
    assert remote.forget(user="ada").total > 0
    assert remote.facts.list(NS) == []


async def test_the_awaited_client_is_the_same(server: Running, org: str) -> None:
    async with AsyncMemory(server.url, api_key=server.key(org=org)) as memory:
        await memory.facts.set(NS, "home", "Rome")
        fact = await memory.facts.get(NS, "home")
        assert fact is not None
        assert fact.value == "Rome"


def test_errors_come_back_as_the_same_classes_with_their_facts(remote: Memory) -> None:
    remote.facts.set(NS, "k", 1)
    with pytest.raises(Conflict) as conflict:
        remote.facts.set(NS, "k", 2, expect=5)
    assert (conflict.value.expected, conflict.value.actual) == (5, 1)
    with pytest.raises(InvalidNamespace):
        remote.facts.get("nonsense", "k")
    with pytest.raises(InvalidValue):
        remote.facts.set(NS, "k", float("nan"))
    with pytest.raises(NotFound):
        remote.threads.append("no such thread", "x")


def test_versions_are_etags(server: Running, org: str) -> None:
    with http(server, server.key(org=org)) as client:
        params = {"ns": NS, "key": "k"}
        assert client.put("/v1/fact", params=params, json={"value": 1}).headers["etag"] == '"1"'
        assert client.put("/v1/fact", params=params, json={"value": 2}, headers={"if-match": '"1"'}).status_code == 200
        refused = client.put("/v1/fact", params=params, json={"value": 3}, headers={"if-match": '"1"'})
        assert (refused.status_code, refused.headers["content-type"]) == (412, "application/problem+json")
        assert (
            client.put("/v1/fact", params=params, json={"value": 3}, headers={"if-none-match": "*"}).status_code == 412
        )


def test_a_write_sent_twice_under_one_key_is_done_once(server: Running, org: str) -> None:
    with http(server, server.key(org=org)) as client:
        once = {"idempotency-key": "abc"}
        first = client.post("/v1/state/increment", params={"key": "n"}, json={"by": 3}, headers=once)
        again = client.post("/v1/state/increment", params={"key": "n"}, json={"by": 3}, headers=once)
        assert (first.status_code, again.status_code) == (200, 200)
        assert client.get("/v1/state", params={"key": "n"}).json()["value"] == 3
        other = client.post("/v1/state/increment", params={"key": "n"}, json={"by": 4}, headers=once)
        assert other.status_code == 422
        thread = client.post("/v1/threads", json={"ns": NS}, headers={"idempotency-key": "t"}).json()["id"]
        for _ in range(2):
            answer = client.post(
                "/v1/thread/messages",
                params={"id": thread},
                json={"messages": ["hi"]},
                headers={"idempotency-key": "m"},
            )
            assert answer.status_code == 200
        assert len(client.get("/v1/thread/messages", params={"id": thread}).json()["items"]) == 1


def test_lists_go_on_where_they_ended(server: Running, org: str) -> None:
    with http(server, server.key(org=org)) as client:
        client.post("/v1/facts", params={"ns": NS}, json={"items": {f"k{n}": n for n in range(5)}})
        page = client.get("/v1/facts", params={"ns": NS, "limit": 3}).json()
        rest = client.get("/v1/facts", params={"ns": NS, "limit": 3, "after": page["next"]}).json()
        assert [fact["key"] for fact in page["items"] + rest["items"]] == [f"k{n}" for n in range(5)]
        assert rest["next"] is None
        assert client.get("/v1/facts", params={"ns": NS, "limit": 501}).status_code == 422


def called(client: httpx.Client, operation: Operation) -> httpx.Response:
    """The operation with something in each required place."""
    required = [parameter for parameter in parameters_of(operation) if parameter.required]
    samples = {"ns": NS, "key": "k", "value": 1, "limit": 1}
    query = {
        parameter.name: samples.get(parameter.name, "x") for parameter in required if parameter.location == "query"
    }
    body = {parameter.name: samples.get(parameter.name, "x") for parameter in required if parameter.location == "body"}
    return client.request(operation.method, operation.path, params=query, json=body if operation.has_body else None)


@pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if not operation.admits], ids=lambda operation: operation.name
)
def test_every_operation_needs_a_key_and_its_role(server: Running, org: str, operation: Operation) -> None:
    with http(server) as client:
        assert called(client, operation).status_code == 401
    lacking = [role for role in ROLES if role not in (operation.role, "admin")]
    with http(server, server.key(org=org, roles=lacking)) as client:
        refused = called(client, operation)
        assert (refused.status_code, refused.json()["status"]) == (403, 403)


def test_what_another_org_has_is_not_there(server: Running, org: str) -> None:
    with http(server, server.key(org=org)) as own, http(server, server.key(org=f"{org}-2")) as theirs:
        own.put("/v1/fact", params={"ns": NS, "key": "k"}, json={"value": "SECRET"})
        absent = theirs.get("/v1/fact", params={"ns": NS, "key": "k"})
        never = theirs.get("/v1/fact", params={"ns": NS, "key": "other"})
        assert (absent.status_code, never.status_code) == (404, 404)
        assert absent.json()["detail"] == never.json()["detail"]
        for forged in ({"x-org": org}, {"x-memorist-org": org}):
            assert theirs.get("/v1/fact", params={"ns": NS, "key": "k"}, headers=forged).status_code == 404
        assert theirs.get("/v1/fact", params={"ns": NS, "key": "k", "org": org}).status_code == 422


def test_a_users_key_reaches_that_user_alone(server: Running, org: str) -> None:
    with http(server, server.key(org=org)) as client:
        client.put("/v1/fact", params={"ns": "user:bob", "key": "k"}, json={"value": "SECRET"})
    with http(server, server.key(org=org, user="ada")) as client:
        refused = client.get("/v1/fact", params={"ns": "user:bob", "key": "k"})
        assert refused.status_code in (403, 404, 422)
        assert "SECRET" not in refused.text


def test_requests_that_cannot_be_read_say_why(server: Running, org: str) -> None:
    with http(server, server.key(org=org)) as client:
        params = {"ns": NS, "key": "k"}
        assert client.put("/v1/fact", params=params, content=b"{nonsense").status_code == 400
        assert client.put("/v1/fact", params=params, content=b"[1]").status_code == 400
        assert client.put("/v1/fact", params=params, json={"value": 1, "surprise": 2}).status_code == 422
        assert (
            client.put("/v1/fact", params=params, content=b"x", headers={"content-type": "text/plain"}).status_code
            == 415
        )
        assert client.get("/v1/fact", params={"ns": NS}).status_code == 400
        assert client.get("/v1/nothing").status_code == 404
        both = {"if-none-match": "*", "if-match": "nonsense"}
        assert client.put("/v1/fact", params=params, json={"value": 1}, headers=both).status_code == 400
        nameless = {"user": "ada", "key": ""}
        assert client.put("/v1/profile/preference", params=nameless, json={"value": 1}).status_code == 422
        client.put("/v1/task", json={"checkpoint": {"task_id": "job"}}).raise_for_status()
        assert client.get("/v1/task/history", params={"task_id": "job", "n": -(2**70)}).status_code == 422
        assert client.get("/v1/task/history", params={"task_id": "job", "n": 2**70}).status_code == 200
        assert client.get("/v1/task/history", params={"task_id": "job", "n": "1.0"}).status_code == 422
        assert client.get("/v1/namespaces", params={"limit": "0.0"}).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        b'{"value": 1, "value": 2}',
        b'{"value": {"a": [{"b": 1, "c": 2, "b": 3}]}}',
        b'{"value" : 1,"\\u0076alue"\n:2}',
        b'{"value": {"a\\\\": 1, "a\\\\": 2}}',
        b'{"value": "it says \\"x\\": 1", "value": 2}',
    ],
)
def test_a_name_that_stands_twice_is_refused(server: Running, org: str, body: bytes) -> None:
    with http(server, server.key(org=org)) as client:
        params = {"ns": NS, "key": "k"}
        refused = client.put("/v1/fact", params=params, content=body)
        assert (refused.status_code, refused.json()["type"]) == (400, "urn:memorist:usage-error")
        assert "occurs twice" in refused.json()["detail"]
        assert client.get("/v1/fact", params=params).status_code == 404


def test_names_may_stand_once_in_each_object_and_in_texts(server: Running, org: str) -> None:
    value = {"a": {"a": [{"a": 1}, {"a": 2}], '"': ":"}, "text": 'JSON: {"a": 1, "a": 2}', "a\\": 1, "": '": ": :'}
    with http(server, server.key(org=org)) as client:
        client.put("/v1/fact", params={"ns": NS, "key": "k"}, json={"value": value}).raise_for_status()
        assert client.get("/v1/fact", params={"ns": NS, "key": "k"}).json()["value"] == value
        twice = client.get("/v1/facts", params={"ns": NS, "where": '{"a":1,"a":2}'})
        assert (twice.status_code, twice.json()["type"]) == (400, "urn:memorist:usage-error")
        for scope in ('{"user":"ada","user":"eve"}', '{"read":' + "[" * 1900):
            refused = client.get("/v1/facts", params={"ns": NS}, headers={"memorist-scope": scope})
            assert refused.status_code in (400, 422)


def test_foreign_hosts_and_origins_are_refused(server: Running, org: str) -> None:
    key = server.key(org=org)
    with http(server, key, host="evil.example") as client:
        assert client.get("/v1/facts", params={"ns": NS}).status_code == 403
    with http(server, key, origin="https://evil.example") as client:
        assert client.get("/v1/facts", params={"ns": NS}).status_code == 403


def test_health_is_tried_and_told(server: Running) -> None:
    with http(server) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"ready": True, "problems": []})
        figures = client.get("/metrics").text
        assert "memorist_requests_total" in figures
        assert NS not in figures


def test_a_key_that_asks_too_often_is_told_when_to_come_back(tmp_path: Any) -> None:
    slow = Options(usual=Rate(0.01, 2), heavy=FAST)
    with running(tmp_path / "m.db", slow) as started, http(started, started.key(org="o")) as client:
        answers = [client.get("/v1/facts", params={"ns": NS}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert int(answers[-1].headers["retry-after"]) > 30


def test_a_revoked_or_wrong_key_is_refused_in_the_same_words(server: Running, org: str) -> None:
    key = server.key(org=org, roles=["admin"])
    id = key.split("_")[1]
    with http(server, key) as client:
        assert client.delete("/v1/keys", params={"id": id}).json() == {"result": True}
        revoked = client.get("/v1/me")
    with http(server, f"rk_{id}_wrong") as client:
        wrong = client.get("/v1/me")
    assert (revoked.status_code, revoked.json()["detail"]) == (wrong.status_code, wrong.json()["detail"])


def test_the_document_describes_every_operation() -> None:
    openapi = document()
    listed = {(method.upper(), path) for path, methods in openapi["paths"].items() for method in methods}
    assert listed == {(operation.method, operation.path) for operation in OPERATIONS}
    text = msgspec.json.encode(openapi).decode()
    for name in set(re.findall(r"#/components/schemas/(\w+)", text)):
        assert name in openapi["components"]["schemas"]


def test_what_the_server_decides_cannot_be_chosen_by_a_client(server: Running) -> None:
    for option in (
        {"embedder": None}, {"model": "x"}, {"hot": "redis://h"}, {"all_orgs": True}, {"extract": None},
        {"counter": "estimate"},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            Memory(server.url, api_key="rk_a_b", **option)  # type: ignore[arg-type]


def test_a_client_opened_for_a_user_is_the_handle_of_that_user(server: Running, org: str) -> None:
    with Memory(server.url, api_key=server.key(org=org), user="ada", read=["agent:a"]) as ada:
        ada.facts.set("user:ada", "city", "Rome")
        assert (ada.user, ada.facts.get("agent:a", "k")) == ("ada", None)
        for other in ("user:eve", "agent:b"):
            with pytest.raises(Forbidden):
                ada.facts.get(other, "city")
    with Memory(server.url, api_key=server.key(org=org, user="ada"), user="eve") as wrong, pytest.raises(Forbidden):
        wrong.facts.get("user:eve", "city")

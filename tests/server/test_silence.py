"""No request keeps the loop that answers connections from its work."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist.context import reading
from memorist.engine import gating, portable
from memorist.engine.documents import chunking
from memorist.engine.documents.documents import Documents
from memorist.engine.limits import CallLimits
from memorist.gate import secrets
from memorist.gate.passing import admit_record, mask_message
from memorist.gate.policy import Gate
from memorist.mcp.http import mcp_parts
from memorist.mcp.server import Options as Tools
from memorist.mcp.tools import chosen_sets
from memorist.messages.message import Message
from memorist.server.app import Options
from memorist.server.limits import Rate

from .running import FAST, Running, running

LARGE = "The pump in hall seven ran for nine hours. " * 1_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "memory.db", parts=mcp_parts()) as started:
        yield started


def client(server: Running, **options: Any) -> httpx.Client:
    headers = {"authorization": f"Bearer {server.key(org='acme', **options)}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=60)


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a recall": ("/v1/recall", {"query": "pump"}),
    "a context": ("/v1/context", {"input": "pump", "thread": "talk", "budget": 4_000}),
    "a large message": ("/v1/thread/messages?id=talk", {"messages": [LARGE]}),
    "a large document": ("/v1/documents", {"ns": "user:ada", "text": LARGE}),
    "a view of the inspector": ("/v1/inspect/overview", {}),
    "a tool": (
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x"}}},
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_may_take_long_runs_beside_the_loop(server: Running, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, body = REQUESTS[name]
    with client(server) as http:
        http.post("/v1/thread/messages?id=talk", json={"messages": ["The pump ran."], "create": "user:ada"})
        threads: set[int] = set()
        store = server.memory._core.store
        for method in ("get", "get_many", "scan", "apply"):
            monkeypatch.setattr(store, method, noting(getattr(store, method), threads))
        # The key is looked up on the loop itself; it is cached since the request before.
        answer = http.post(path, json=body, headers={"accept": "application/json, text/event-stream"})
        assert answer.status_code == 200, answer.text
        assert threads
        assert server._thread.ident not in threads


def test_an_export_searches_messages_for_secrets_beside_the_loop(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()

    def mask(gate: Gate, message: Message) -> Message:
        threads.add(threading.get_ident())
        return mask_message(gate, message)

    monkeypatch.setattr(portable, "mask_message", mask)
    with client(server) as http:
        http.post("/v1/thread/messages?id=talk", json={"messages": ["The pump ran."], "create": "user:ada"})
        assert "The pump ran." in http.get("/v1/export").text
    assert threads
    assert server._thread.ident not in threads


def test_an_import_is_checked_beside_the_loop(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def admit(*args: Any, **options: Any) -> Any:
        threads.add(threading.get_ident())
        return admit_record(*args, **options)

    with client(server) as http:
        facts = {f"fact {number}": "pump" for number in range(120)}
        http.post("/v1/facts?ns=user:ada", json={"items": facts}).raise_for_status()
        rows = http.get("/v1/export").content
        monkeypatch.setattr(gating, "admit_record", admit)
        answer = http.post("/v1/import", content=rows, headers={"content-type": "application/jsonl"})
        assert answer.status_code == 200, answer.text
    assert threads
    assert server._thread.ident not in threads


def noting(method: Any, threads: set[int]) -> Any:
    async def call(*args: Any, **options: Any) -> Any:
        threads.add(threading.get_ident())
        return await method(*args, **options)

    return call


def test_health_is_answered_while_a_document_is_cut(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    cut = Documents._chunks

    def slowly(self: Documents, *args: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        return cut(self, *args)

    monkeypatch.setattr(Documents, "_chunks", slowly)
    with client(server) as http, client(server) as other:
        answers: list[httpx.Response] = []
        sending = threading.Thread(
            target=lambda: answers.append(http.post("/v1/documents", json={"ns": "user:ada", "text": LARGE}))
        )
        sending.start()
        try:
            assert begun.wait(30)
            assert other.get("/healthz").status_code == 200
            assert other.post("/v1/recall", json={"query": "pump"}).status_code == 200
        finally:
            go_on.set()
            sending.join()
        assert answers[0].status_code == 200


@pytest.mark.parametrize(("repeats", "is_apart"), [(10, False), (6_000, True)])
def test_a_context_out_of_a_long_message_is_assembled_beside_the_lane(
    server: Running, repeats: int, is_apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    assemble = reading.assemble

    def noting_thread(*args: Any) -> Any:
        names.append(threading.current_thread().name)
        return assemble(*args)

    monkeypatch.setattr(reading, "assemble", noting_thread)
    text = "The pump in hall seven ran for nine hours. " * repeats
    with client(server, user="ada") as http:
        http.post("/v1/thread/messages?id=log", json={"messages": [text], "create": "user:ada"})
        answer = http.post("/v1/context", json={"input": "pump", "budget": 4_000})
        assert answer.status_code == 200, answer.text
    (name,) = names
    assert (name != "memorist-lane") is is_apart


def test_repeated_chunks_are_named_in_linear_time() -> None:
    repeats: dict[str, int] = {}
    pieces = [chunking.Piece(0, 1, "the same", None, 2)] * 3
    from memorist.engine.documents.documents import _part

    names = [_part(piece, repeats) for piece in pieces]
    assert names == [names[0], f"{names[0]}-2", f"{names[0]}-3"]
    assert len(repeats) == 1


def test_a_tool_that_recalls_counts_as_heavy(tmp_path: Path) -> None:
    options = Options(usual=FAST, heavy=Rate(0.001, 2), bad_keys=FAST)
    body = REQUESTS["a tool"][1]
    with running(tmp_path / "memory.db", options, mcp_parts()) as server, client(server) as http:
        answers = [http.post("/mcp", json=body, headers={"accept": "application/json"}).json() for _ in range(3)]
    assert [answer["result"].get("isError", False) for answer in answers] == [False, False, True]
    assert "Limited" in answers[2]["result"]["content"][0]["text"]


def test_a_lane_stops_with_its_server(server: Running) -> None:
    async def name() -> str:
        return threading.current_thread().name

    assert server.loop is not None
    lane = server.app.state.server.lane
    ran = asyncio.run_coroutine_threadsafe(lane.run(name), server.loop).result(30)
    assert ran == "memorist-lane"
    server.stop()
    assert not any(thread.name == "memorist-lane" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/context", {"input": "pump", "budget": 2_001}, 413),
        ("/v1/context", {"input": "pump", "budget": 2_000}, 200),
        ("/v1/context", {"input": "pump", "budget": "gpt-4.1"}, 200),
        ("/v1/recall", {"query": "pump", "top_k": 91, "offset": 10}, 413),
        ("/v1/recall", {"query": "pump", "top_k": 90, "offset": 10}, 200),
        ("/v1/inspect/context", {"input": "pump", "user": "ada", "budget": 2_001}, 413),
    ],
)
def test_a_request_asks_for_no_more_than_the_server_allows(
    tmp_path: Path, path: str, body: dict[str, Any], status: int
) -> None:
    options = Options(usual=FAST, heavy=FAST, bad_keys=FAST, limits=CallLimits(budget_tokens=2_000, hits=100))
    with running(tmp_path / "memory.db", options) as server, client(server) as http:
        answer = http.post(path, json=body)
        assert answer.status_code == status, answer.text
        if status == 413:
            assert answer.json()["type"].endswith("too-large")
            assert "this server allows" in answer.json()["detail"]


def test_a_tool_asks_for_no_more_than_the_server_allows(tmp_path: Path) -> None:
    options = Options(usual=FAST, heavy=FAST, bad_keys=FAST, limits=CallLimits(budget_tokens=2_000))
    parts = mcp_parts(Tools(sets=chosen_sets("all")))
    arguments = {"name": "build_context", "arguments": {"input": "pump", "budget_tokens": 2_001}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    with running(tmp_path / "memory.db", options, parts) as server, client(server) as http:
        answer = http.post("/mcp", json=call, headers={"accept": "application/json"}).json()
    assert answer["result"]["isError"]
    assert "this server allows" in answer["result"]["content"][0]["text"]


def test_a_long_text_is_searched_for_secrets_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """One search of a regular expression keeps all other threads waiting until it ends."""
    lengths: list[int] = []
    choose = secrets.patterns_for
    monkeypatch.setattr(secrets, "patterns_for", lambda text: [*choose(text), lengths.append(len(text))][:-1])
    text = "The pump in hall seven ran. " * 50_000 + "password: Xk9-mvW3-qq7"
    masked, kinds = secrets.mask_secrets(text)
    assert kinds
    assert "mvW3" not in masked
    assert max(lengths) <= secrets.PIECE_CHARACTERS + secrets.OVERLAP_CHARACTERS

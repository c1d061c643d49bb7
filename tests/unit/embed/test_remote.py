"""Embedding services, spoken to over HTTP on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from memorist.embed import http, open_embedder
from memorist.errors import ModelError, UsageError
from memorist.runtime import run_blocking


class Service(ThreadingHTTPServer):
    """Answers as the services do, out of order, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.failures: list[int] = []
        self.broken = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers.get("Authorization")))
        if self.server.failures:
            self._answer(self.server.failures.pop(0), {"error": {"message": "no"}})
            return
        items = [
            {"object": "embedding", "index": i, "embedding": [float(len(text)), 1.0]}
            for i, text in enumerate(body["input"])
        ]
        if self.server.broken:
            items = items[:-1]
        self._answer(200, {"object": "list", "data": items[::-1], "model": body["model"], "usage": {"total_tokens": 1}})

    def _answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("provider", ["openai", "voyage"])
def test_vectors_come_back_in_the_order_of_the_texts(service: Service, provider: str) -> None:
    embedder = open_embedder(f"{provider}:some-model@{service.url}", blocking=True)
    assert embedder is not None
    vectors = run_blocking(embedder.embed(["a", "four", ""]))
    assert [round(float(v[0] / v[1])) for v in vectors] == [1, 4, 1]
    path, body, _ = service.asked[0]
    assert (path, body["model"], body["input"]) == ("/v1/embeddings", "some-model", ["a", "four", " "])
    assert (embedder.name, embedder.dimensions) == (f"{provider}:some-model", 2)


def test_many_texts_go_in_batches(service: Service) -> None:
    embedder = open_embedder(f"openai:m@{service.url}", blocking=True)
    assert embedder is not None
    vectors = embedder.embed_now([str(i) for i in range(600)])
    assert len(vectors) == 600
    assert [len(body["input"]) for _, body, _ in service.asked] == [256, 256, 88]


def test_the_key_goes_in_the_header_and_nowhere_else(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", "made-up-key")
    embedder = open_embedder(f"voyage:m@{service.url}", blocking=True)
    assert embedder is not None
    embedder.embed_now(["a"])
    assert service.asked[0][2] == "Bearer made-up-key"
    assert "made-up-key" not in embedder.name


def test_a_service_without_a_key_is_refused_when_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_embedder("openai:text-embedding-3-small", blocking=True)


def test_a_busy_service_is_asked_again(service: Service) -> None:
    service.failures = [429, 503]
    embedder = open_embedder(f"openai:m@{service.url}", blocking=True)
    assert embedder is not None
    assert len(embedder.embed_now(["a"])) == 1
    assert len(service.asked) == 3


def test_a_refusal_is_an_error_at_once_and_carries_no_text(service: Service) -> None:
    service.failures = [401]
    embedder = open_embedder(f"openai:m@{service.url}", blocking=True)
    assert embedder is not None
    with pytest.raises(ModelError, match="check the API key") as caught:
        embedder.embed_now(["a secret"])
    assert "secret" not in str(caught.value)
    assert len(service.asked) == 1


def test_too_few_vectors_are_an_error(service: Service) -> None:
    service.broken = True
    embedder = open_embedder(f"openai:m@{service.url}", blocking=True)
    assert embedder is not None
    with pytest.raises(ModelError, match="1 embeddings for 2 texts"):
        embedder.embed_now(["a", "b"])


def test_an_unreachable_service_is_an_error_after_some_tries() -> None:
    waits: list[float] = []
    with pytest.raises(ModelError, match="could not be read"):
        http.post("http://127.0.0.1:9/embeddings", {}, {}, sleep=waits.append)
    assert [top / 2 <= wait <= top for wait, top in zip(waits, (0.5, 1.0, 2.0), strict=True)] == [True] * 3

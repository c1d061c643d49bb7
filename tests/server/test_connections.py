"""What a client may hold of the server without a key: a bounded head, and a bounded time to finish a request."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from memorist.server.connections import BoundedProtocol

from .running import Running, running

HEAD = b"POST /v1/recall HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(BoundedProtocol, "silent_seconds", 0.2)
    with running(tmp_path / "memory.db") as started:
        yield started


def answer(server: Running, *parts: bytes) -> bytes:
    """All that the server says until it closes the connection."""
    at = urlsplit(server.url)
    heard = b""
    with socket.create_connection((at.hostname, at.port), timeout=60) as client:
        try:
            for part in parts:
                client.sendall(part)
            while part := client.recv(65536):
                heard += part
        except ConnectionError:  # it was closed while we were still sending
            pass
    return heard


def test_an_endless_header_is_refused(server: Running) -> None:
    heard = answer(server, HEAD + b"X-A: ", *[b"a" * 65536] * 400)
    assert heard == b"" or heard.startswith(b"HTTP/1.1 431 ")
    assert httpx.get(f"{server.url}/healthz").status_code == 200


def test_a_header_a_little_too_long_is_answered(server: Running) -> None:
    heard = answer(server, HEAD + b"X-A: " + b"a" * BoundedProtocol.head_bytes)
    assert heard.startswith(b"HTTP/1.1 431 ") and b"connection: close" in heard


@pytest.mark.parametrize("head", [b"", b"GET /healthz HT", HEAD], ids=["nothing", "half a line", "half a head"])
def test_a_client_that_does_not_finish_its_head_is_let_go(server: Running, head: bytes) -> None:
    assert answer(server, head).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_does_not_finish_its_body_is_let_go(server: Running) -> None:
    key = server.key().encode()
    head = HEAD + b"Authorization: Bearer " + key + b"\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"
    assert answer(server, head + b'{"query": ').startswith(b"HTTP/1.1 408 ")


def test_a_stream_of_events_may_be_silent(server: Running) -> None:
    headers = {"authorization": f"Bearer {server.key()}"}
    wait = httpx.Timeout(5, read=1.0)
    with (
        pytest.raises(httpx.ReadTimeout),
        httpx.stream("GET", f"{server.url}/v1/events", headers=headers, timeout=wait) as stream,
    ):
        assert stream.status_code == 200
        for _ in stream.iter_raw():
            pass

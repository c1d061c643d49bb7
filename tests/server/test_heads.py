"""What the server refuses before it reads a request: long heads, two hosts, pages of other origins; who may probe."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist.server.health import PROBE_ORG

from .running import Running, running


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "memory.db") as started:
        yield started


def send(server: Running, head: bytes) -> bytes:
    """The answer to raw bytes, sent at once."""
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(head)
        connection.settimeout(10)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def test_a_head_of_seventy_kilobytes_is_refused_although_it_comes_whole(server: Running) -> None:
    long = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nx-long: %s\r\n\r\n" % (b"a" * 70_000)
    assert send(server, long).startswith(b"HTTP/1.1 431")
    assert send(server, long.replace(b"a" * 10_000, b"")).startswith(b"HTTP/1.1 200")


def test_a_request_has_one_host(server: Running) -> None:
    two = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
    assert send(server, two).startswith(b"HTTP/1.1 403")


def test_a_request_has_at_most_one_origin(server: Running) -> None:
    host = server.url.removeprefix("http://").encode()
    head = b"GET /healthz HTTP/1.1\r\nhost: %s\r\norigin: http://%s\r\n%sconnection: close\r\n\r\n"
    assert send(server, head % (host, host, b"")).startswith(b"HTTP/1.1 200")
    assert send(server, head % (host, host, b"origin: http://evil.example\r\n")).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    ("scheme", "status"), [("http", 200), ("https", 200), ("ftp", 403), ("chrome-extension", 403), ("file", 403)]
)
def test_an_origin_of_a_foreign_scheme_is_refused(server: Running, scheme: str, status: int) -> None:
    origin = server.url.replace("http", scheme, 1)
    assert httpx.get(f"{server.url}/healthz", headers={"origin": origin}).status_code == status


def test_many_probes_of_strangers_write_one_row(server: Running) -> None:
    async def ask() -> list[int]:
        async with httpx.AsyncClient() as http:
            answers = await asyncio.gather(*(http.get(f"{server.url}/readyz") for _ in range(20)))
        return [answer.status_code for answer in answers]

    async def probe() -> Any:
        return await server.memory.scope(org=PROBE_ORG).records.get("global", ("probe",))

    assert asyncio.run(ask()) == [200] * 20
    assert server.loop is not None
    assert asyncio.run_coroutine_threadsafe(probe(), server.loop).result(30).version == 1

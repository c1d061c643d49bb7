"""A stream ends with the key that it was opened with."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist.server.api import events
from memorist.server.views import live

from .running import Running, running


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(events, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.05)
    with running(tmp_path / "memory.db") as started:
        yield started


def on_loop(server: Running, work: Any) -> Any:
    assert server.loop is not None
    return asyncio.run_coroutine_threadsafe(work, server.loop).result(30)


@pytest.mark.parametrize("path", ["/v1/events", "/v1/inspect/live"])
@pytest.mark.parametrize("busy", [False, True])
def test_a_stream_ends_once_its_key_is_revoked(server: Running, path: str, busy: bool) -> None:
    key = server.key(org="acme")
    keys = server.app.state.server.keys
    headers = {"authorization": f"Bearer {key}"}
    handle = server.memory.scope(org="acme")
    with httpx.stream("GET", f"{server.url}{path}", headers=headers, timeout=30) as answer:
        assert answer.status_code == 200
        parts = answer.iter_raw()
        assert next(parts)
        assert on_loop(server, keys.revoke(key.split("_")[1]))
        if busy:
            on_loop(server, handle.facts.set("user:ada", "home", "a secret place"))
        rest = b"".join(parts)  # ends, or the test times out
    assert b"user:ada" not in rest


def test_a_stream_ends_once_its_key_expires(server: Running) -> None:
    key = server.key(org="acme", ttl=1)
    headers = {"authorization": f"Bearer {key}"}
    with httpx.stream("GET", f"{server.url}/v1/events", headers=headers, timeout=30) as answer:
        assert answer.status_code == 200
        assert b"".join(answer.iter_raw()).startswith(b"retry:")

"""The server as a process: it stops gracefully, and what it acknowledged is there once, whatever happened to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist import Memory
from memorist.errors import MemoristError

NS = "user:ada"
FAILING = """
import contextlib, sys
from starlette.applications import Starlette
from memorist.server.process import serve

@contextlib.asynccontextmanager
async def lifespan(app):
    raise RuntimeError("no such store")
    yield

def make():
    if sys.argv[1] == "make":
        raise RuntimeError("no such store")
    return Starlette(lifespan=lifespan)

serve(make, host="127.0.0.1", port=0, workers=2)
"""


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _memorist(*args: str) -> list[str]:
    return [sys.executable, "-m", "memorist", *args]


@contextmanager
def _serving(path: Path, port: int, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    command = _memorist("--url", str(path), "serve", "--port", str(port), "--no-worker", *more)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until_ready(port)
        yield process
    finally:
        process.kill()
        process.wait(30)


def _until_ready(port: int) -> None:
    for _ in range(1200):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise AssertionError("the server did not come up")


@pytest.fixture
def key(tmp_path: Path) -> str:
    process = subprocess.run(
        _memorist("--url", str(tmp_path / "m.db"), "keys", "create"), capture_output=True, text=True, check=True
    )
    return process.stdout.strip()


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_acknowledged_is_there_once(tmp_path: Path, key: str, stop: signal.Signals) -> None:
    """Writers go on through a kill and a restart: retries bring lost requests in, and none twice."""
    port, acknowledged, ended = _port(), [], threading.Event()

    def write(number: int) -> None:
        with Memory(f"http://127.0.0.1:{port}", api_key=key) as memory:
            for turn in range(1000):
                if ended.is_set():
                    return
                text = f"{number}-{turn}"
                try:
                    memory.threads.append(f"t{number}", text, create=NS)
                except MemoristError:
                    time.sleep(0.02)
                else:
                    acknowledged.append(text)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    with _serving(tmp_path / "m.db", port) as first:
        for writer in writers:
            writer.start()
        while len(acknowledged) < 30:
            time.sleep(0.01)
        os.kill(first.pid, stop)
        first.wait(60)
    reached = len(acknowledged)
    with _serving(tmp_path / "m.db", port):
        while len(acknowledged) < reached + 30:
            time.sleep(0.01)
        ended.set()
        for writer in writers:
            writer.join(60)
    with Memory(tmp_path / "m.db", worker=False) as memory:
        stored: list[Any] = [m.text for n in range(3) for m in memory.threads.messages(f"t{n}")]
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)


def test_several_workers_share_one_file(tmp_path: Path, key: str) -> None:
    port = _port()
    with _serving(tmp_path / "m.db", port, "--workers", "2") as process:
        with Memory(f"http://127.0.0.1:{port}", api_key=key) as memory:
            assert [memory.state.increment("n") for _ in range(20)] == list(range(1, 21))
        process.terminate()
        assert process.wait(60) == 0


@pytest.mark.parametrize("where", ["make", "lifespan"])
def test_a_worker_that_cannot_start_says_why_and_fails(tmp_path: Path, where: str) -> None:
    script = tmp_path / "failing.py"
    script.write_text(FAILING)
    ended = subprocess.run(
        [sys.executable, str(script), where], capture_output=True, text=True, check=False, timeout=60
    )
    assert "no such store" in ended.stderr
    assert ended.returncode == {"make": 1, "lifespan": 3}[where]


def test_a_worker_that_is_killed_fails_the_server(tmp_path: Path, key: str) -> None:
    with _serving(tmp_path / "m.db", _port(), "--workers", "2") as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        assert process.wait(60) == 1


def test_port_0_chooses_a_port_and_names_it(tmp_path: Path) -> None:
    command = _memorist("--url", str(tmp_path / "memory.db"), "serve", "--port", "0", "--no-worker")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(":")[2])
        assert port and f":{port}/login?code=" in process.stderr.readline()
        _until_ready(port)
    finally:
        process.kill()
        process.communicate(timeout=30)


def test_another_address_than_loopback_needs_a_key(tmp_path: Path) -> None:
    refused = subprocess.run(
        _memorist("--url", str(tmp_path / "none.db"), "serve", "--host", "0.0.0.0", "--port", "1"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "keys create" in refused.stderr

"""A server whose disk is full, and a network that loses answers: what was acknowledged is there, once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import httpx
import pytest

from memorist import Memory
from memorist.errors import MemoristError, StoreError
from tests.faults.disk import Disk, Event, watched

from .running import Running, running

NS = "user:ada"


@contextmanager
def losing_answers(url: str, lose: Any) -> Iterator[tuple[str, list[str]]]:
    """An address that passes requests on and cuts the connection instead of answering where `lose(number)` says so."""
    target, paths, lock = urlsplit(url), list[str](), threading.Lock()

    class Forward(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            connection = HTTPConnection(target.hostname or "", target.port or 80, timeout=60)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            with lock:
                paths.append(self.path.partition("?")[0])
                number = len(paths)
            if lose(number):
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("content-length", str(len(data)))
            self.send_header("content-type", answer.headers["content-type"])
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _forward

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the test looks at what is stored."""

    forward = ThreadingHTTPServer(("127.0.0.1", 0), Forward)
    threading.Thread(target=forward.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{forward.server_address[1]}", paths
    finally:
        forward.shutdown()
        forward.server_close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("faults") / "memory.db") as started:
        yield started


def test_answers_that_are_lost_are_asked_for_again_and_nothing_is_done_twice(server: Running, org: str) -> None:
    """Every other answer is lost: each write reaches the server twice."""
    key = server.key(org=org)
    with losing_answers(server.url, lambda number: number % 2 == 1) as (url, paths), Memory(url, api_key=key) as memory:
        thread = memory.threads.create(NS)
        for number in range(20):
            memory.threads.append(thread.id, f"message {number}")
            assert memory.facts.set(NS, "count", number).version == number + 1
            assert memory.state.increment("n") == number + 1
            with memory.batch() as batch:
                batch.state.increment("batched")
                batch.records.put(NS, ("r", number), number)
            memory.learnings.add(f"likes {number}", user="ada")
            memory.records.put_many(NS, {("many", number): number})
        with memory.session(user="ada") as talk:
            talk.add("I live in Porto.", "Noted.")
        memory.facts.delete(NS, "count")
        forked = memory.threads.fork(thread.id, at=3)
        assert memory.records.delete_range(NS, ("many",)) == 20
    assert len(paths) > 250
    with Memory(server.url, api_key=key) as memory:
        assert [message.text for message in memory.threads.messages(thread.id)] == [f"message {n}" for n in range(20)]
        assert (memory.state.get("n"), memory.state.get("batched")) == (20, 20)
        assert len(memory.records.scan(NS, ("r",))) == 20
        assert sorted(learning.content for learning in memory.learnings.list(user="ada")) == sorted(
            f"likes {n}" for n in range(20)
        )
        assert len(memory.threads.messages(talk.thread)) == 2
        assert len(memory.threads.messages(forked.id)) == 3
        assert len(memory.facts.history(NS, "count")) in (0, 20, 21)


def test_where_every_answer_is_lost_the_caller_is_told_that_nobody_knows(server: Running, org: str) -> None:
    key = server.key(org=org)
    with losing_answers(server.url, lambda number: True) as (url, paths), Memory(url, api_key=key) as memory:
        with pytest.raises(MemoristError) as caught:
            memory.state.increment("n")
        assert type(caught.value).__name__ == "UnknownOutcome"
        assert paths == ["/v1/state/increment"] * 3
    with Memory(server.url, api_key=key) as memory:
        assert memory.state.get("n") == 1


def _full(disk: Disk, folder: Path) -> None:
    """No file may grow any more."""

    def refuse(event: Event) -> None:
        file = folder / (event.file or "")
        size = file.stat().st_size if file.exists() else 0
        if event.kind == "write" and not file.name.endswith("-shm") and event.offset + len(event.data) > size:
            raise apsw.FullError

    disk.before = refuse


def test_a_full_disk_is_said_and_what_was_acknowledged_is_there_once(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    failed = 0
    with watched() as disk, running(tmp_path / "memory.db") as server:
        key = server.key(org="full")
        with Memory(server.url, api_key=key) as memory, httpx.Client(base_url=server.url, timeout=60) as plain:
            for number in range(60):
                if number == 20:
                    _full(disk, tmp_path)
                if number == 40:
                    disk.before = lambda event: None
                try:
                    memory.threads.append("t", f"{number} " + "x" * 5000, create=NS)
                except StoreError as refused:
                    failed += 1
                    assert "xxx" not in str(refused)
                else:
                    acknowledged.append(str(number))
                if number == 39:
                    assert plain.get("/healthz").status_code == 200
                    assert plain.get("/readyz").status_code == 503
                    assert [message.text.split()[0] for message in memory.threads.messages("t")] == acknowledged
            stored = [message.text.split()[0] for message in memory.threads.messages("t")]
    assert failed > 0
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert acknowledged[-20:] == [str(number) for number in range(40, 60)]

"""A local server of the OpenAI protocol whose answers come too late, each time in another way."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memorist.models import Model
from memorist.models.openai import open_openai
from memorist.models.retry import Retry

TIMEOUT = 0.03
"""Seconds that the client waits for an answer."""
LATE = 5.0
"""Seconds that the server takes, unless the client is gone or the test is over before."""
TEXT = "Ada lives in Lisbon and mends nets near the pier."
ANSWER = json.dumps({"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}).encode()


class SlowServer:
    """Where it listens, how often it was asked, and the word that ends every wait."""

    def __init__(self) -> None:
        self.url, self.asked, self.over = "", 0, threading.Event()

    def model(self, number: int, *, blocking: bool) -> Model:
        """A client of it that gives up soon; `number` says how the answer is late."""
        way = ("silent", "dripping", "headers", "late")[number % 4]
        retry = Retry(attempts=1 + number % 3, first=0.001)
        return open_openai(
            "slow", blocking=blocking, base_url=f"{self.url}/{way}", retry=retry, timeout=TIMEOUT + number % 5 / 1000
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    slow: SlowServer

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        self.slow.asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.close_connection = True
        way = self.path.split("/")[1]
        try:
            getattr(self, f"_{way}")()
        except OSError:
            return  # the client did not wait

    def _silent(self) -> None:
        """Takes the question and says nothing."""
        self.slow.over.wait(LATE)

    def _late(self) -> None:
        """The right answer, when nobody waits for it."""
        self.slow.over.wait(LATE)
        self._head()
        self.wfile.write(ANSWER)

    def _headers(self) -> None:
        """Begins at once and then stops."""
        self._head()
        self.slow.over.wait(LATE)

    def _dripping(self) -> None:
        """A byte now and then, so that no single read takes long."""
        self._head()
        for index in range(len(ANSWER)):
            self.wfile.write(ANSWER[index : index + 1])
            self.wfile.flush()
            if self.slow.over.wait(TIMEOUT / 4):
                return

    def _head(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.flush()


@contextmanager
def slow_server() -> Iterator[SlowServer]:
    """The server, running."""
    slow = SlowServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"slow": slow}))
    http.daemon_threads = True
    slow.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield slow
    finally:
        slow.over.set()
        http.shutdown()
        http.server_close()
        thread.join()

"""A local HTTP server that speaks the wire formats of model providers, errors and streams included."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Reply:
    """What the server says next: a status, headers, a body in pieces, and a wait before each piece."""

    def __init__(
        self,
        body: Any = None,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        pieces: list[bytes] | None = None,
        wait: threading.Event | None = None,
        drop: bool = False,
        endless: bytes | None = None,
        kind: str = "application/json",
    ) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.pieces = [raw] if pieces is None else pieces
        self.status, self.headers, self.wait, self.drop, self.endless, self.kind = (
            status,
            headers or {},
            wait,
            drop,
            endless,
            kind,
        )


class WireServer:
    """Answers each request with the next reply of its script, and remembers what was asked."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def say(self, *replies: Reply) -> None:
        self.script.extend(replies)

    def reply(self, path: str) -> Reply:
        """What to answer a request to this path."""
        return self.script.pop(0)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wire: WireServer

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        content = self.rfile.read(size)
        is_json = self.headers.get("content-type", "application/json").startswith("application/json")
        self.wire.requests.append(json.loads(content) if content and is_json else {})
        self.wire.paths.append(self.path)
        self.wire.headers.append({name.lower(): value for name, value in self.headers.items()})
        reply = self.wire.reply(self.path)
        try:
            self._answer(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST

    def _answer(self, reply: Reply) -> None:
        if reply.wait is not None:
            reply.wait.wait(10)
        if reply.drop:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in {"content-type": reply.kind, "connection": "close", **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in reply.pieces:
            self.wfile.write(piece)
            self.wfile.flush()
        while reply.endless is not None:
            self.wfile.write(reply.endless)
            self.wfile.flush()
            if len(reply.endless) < 100:
                time.sleep(0.01)
        self.close_connection = True


@contextmanager
def serving(wire: WireServer | None = None) -> Iterator[WireServer]:
    """A server on a free port of the loopback."""
    wire = wire or WireServer()
    handler = type("Handler", (_Handler,), {"wire": wire})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    wire.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def anthropic_answer(text: str = "", *, data: Any = None, stop: str = "end_turn") -> dict[str, Any]:
    """A Messages API response."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    if data is not None:
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": "answer", "input": data})
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001", "content": blocks,
        "stop_reason": stop, "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 5},
    }  # fmt: skip


def openai_answer(text: str | None = "", *, stop: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    """A chat completions response."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "llama3",
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        "usage": {
            "prompt_tokens": 16, "completion_tokens": 7, "total_tokens": 23,
            "prompt_tokens_details": {"cached_tokens": 5},
        },
    }  # fmt: skip


def anthropic_stream(*pieces: str, error: str | None = None) -> list[bytes]:
    """The events of a Messages API stream."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": anthropic_answer()}, {"type": "ping"}]
    events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for piece in pieces:
        events.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    if error:
        events.append({"type": "error", "error": {"type": error, "message": "try later"}})
    else:
        events.append({"type": "content_block_stop", "index": 0})
        events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}})
        events.append({"type": "message_stop"})
    return [f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events]


def openai_stream(*pieces: str) -> list[bytes]:
    """The events of a chat completions stream."""
    events = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events]
    return [*lines, b"data: [DONE]\n\n"]

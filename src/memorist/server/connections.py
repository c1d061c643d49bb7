"""Limits the size of a request's head and the time for which a request may remain incomplete.

Uvicorn limits neither. Anyone who can reach the port could therefore fill the memory with one endless header, or keep
any number of connections open by sending nothing.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

HEAD_BYTES = 64 * 1024
"""A head that is still incomplete after this many bytes is answered with 431."""
_HEADER_MARKS = len(b": \r\n")
SILENT_SECONDS = 30.0
"""The time that a client may take to send a head, or stay silent within a body, before it receives a 408."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection if a head is too long or a request stalls."""

    head_bytes = HEAD_BYTES
    silent_seconds = SILENT_SECONDS
    _in_head = True
    _head = 0
    _lines = 0
    _timer: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        # Only a head that is still incomplete after parsing: the bytes that completed one may have been part of the
        # body.
        if self._in_head and self._head > self.head_bytes:
            self._refuse(431, f"A request line with its headers may have {self.head_bytes} bytes.")

    def on_message_begin(self) -> None:
        self._in_head = True
        self._wait()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines += len(name) + len(value) + _HEADER_MARKS
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        # A head that arrived in one piece, or together with the body, is measured here.
        lines, self._lines = self._lines + len(self.url), 0
        self._in_head, self._head = False, 0
        self._wait()
        if lines > self.head_bytes:
            self._refuse(431, f"A request line with its headers may have {self.head_bytes} bytes.")
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._wait()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._head = True, 0
        self._stop()
        super().on_message_complete()

    def _wait(self) -> None:
        self._stop()
        self._timer = self.loop.call_later(self.silent_seconds, self._silent)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _silent(self) -> None:
        if self.flow.read_paused:
            # Reading is paused because the application is slower than the client, so the client waits for us.
            self._wait()
        else:
            self._refuse(408, f"The request is incomplete, and nothing arrived for {self.silent_seconds:g} seconds.")

    def _refuse(self, status: int, reason: str) -> None:
        """Close the connection, with an answer if none has begun."""
        self._stop()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            lines = (
                b"content-type: text/plain; charset=utf-8", b"content-length: %d" % len(reason), b"connection: close",
            )  # fmt: skip
            self.transport.write(STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n\r\n" + reason.encode())
        self.transport.close()

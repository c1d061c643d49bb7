"""A small TCP proxy on loopback that loses replies, stays silent, is slow or resets, as it is told."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from types import TracebackType

MODES = ("pass", "cut-reply", "black-hole", "slow", "reset")
_NO_LINGER = struct.pack("ii", 1, 0)


class Proxy:
    """Stands between a client and a server; set `mode` at any time.

    `pass` forwards. `cut-reply` forwards requests, drops the reply and closes. `black-hole` takes everything and says
    nothing. `slow` delays replies by `delay` seconds. `reset` ends connections with RST.
    `only`, a function of a request's bytes, limits cutting to some requests; `cuts` counts what was cut.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.mode = "pass"
        self.delay = 0.2
        self.only: Callable[[bytes], bool] | None = None
        self.cuts = 0
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and end every connection."""
        # Shutting down wakes the thread that waits in accept; closing alone would not.
        _quietly(lambda: self._listener.shutdown(socket.SHUT_RDWR))
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        """End every connection there is now."""
        with self._lock:
            current, self._open = self._open, set()
        for connection in current:
            _end(connection)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self.mode == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            client.close()
            return
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        for connection in (client, server):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open |= {client, server}
        wire = _Wire()
        threading.Thread(target=self._replies, args=(client, server, wire), daemon=True).start()
        self._requests(client, server, wire)

    def _requests(self, client: socket.socket, server: socket.socket, wire: _Wire) -> None:
        try:
            while data := client.recv(1 << 16):
                wire.request = data
                if self.mode == "reset":
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
                    break
                if self.mode != "black-hole":
                    server.sendall(data)
        except OSError:
            pass  # the other side has gone: so does this one
        self._finish(client, server)

    def _replies(self, client: socket.socket, server: socket.socket, wire: _Wire) -> None:
        try:
            while data := server.recv(1 << 16):
                mode = self.mode
                if mode == "black-hole":
                    continue
                if mode == "cut-reply" and (self.only is None or self.only(wire.request)):
                    with self._lock:
                        self.cuts += 1
                    break
                if mode == "slow":
                    time.sleep(self.delay)
                client.sendall(data)
        except OSError:
            pass  # the other side has gone: so does this one
        self._finish(client, server)

    def _finish(self, *ends: socket.socket) -> None:
        with self._lock:
            self._open -= set(ends)
        for connection in ends:
            _end(connection)


class _Wire:
    """What was last asked on a connection."""

    request = b""


def _end(connection: socket.socket) -> None:
    _quietly(lambda: connection.shutdown(socket.SHUT_RDWR))
    connection.close()


def _quietly(action: Callable[[], None]) -> None:
    try:
        action()
    except OSError:
        return  # already closed

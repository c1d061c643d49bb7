"""A proxy on loopback that counts how often client and server take turns, cuts a reply, or goes silent."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Forwards to one port; `mode` is pass, cut (the next reply is lost with its connection), drop (only the
    reply is lost) or silent."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.mode = "pass"
        self.cuts = 0
        self.turns = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def stop_listening(self) -> None:
        """From now on nobody new is let in."""
        with contextlib.suppress(OSError):  # wakes the thread in accept; closing alone would not
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        """Stop listening and drop every connection."""
        self.stop_listening()
        for connection in self._sockets:
            _end(connection)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            self._sockets += [client, server]
            spoke = ["server"]
            for source, target, who in ((client, server, "client"), (server, client, "server")):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pump, args=(source, target, who, spoke), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, who: str, spoke: list[str]) -> None:
        with contextlib.suppress(OSError):  # either side may close at any time: that ends the pair
            while data := source.recv(65536):
                if who == "server" and self.mode == "cut":
                    self.mode, self.cuts = "pass", self.cuts + 1
                    break
                if who == "server" and self.mode == "drop":
                    self.mode = "pass"
                    continue
                if who == "server" and self.mode == "silent":
                    continue
                if who == "client" and spoke[0] == "server":
                    self.turns += 1
                spoke[0] = who
                target.sendall(data)
        _end(source)
        _end(target)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # already closed by the other pump
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def proxied(port: int) -> Iterator[Turns]:
    """A proxy for the time of a test."""
    proxy = Turns(port)
    try:
        yield proxy
    finally:
        proxy.close()

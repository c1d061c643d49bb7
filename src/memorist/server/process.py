"""Runs the server in one process, or in several that share a socket and a store."""

from __future__ import annotations

import os
import signal
import socket
import traceback
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn

from ..errors import Unsupported
from .connections import BoundedProtocol

if TYPE_CHECKING:
    from starlette.applications import Starlette

DRAIN_SECONDS = 30


class Serving(uvicorn.Server):
    """Marks the server as draining on a signal. /readyz then answers 503, event streams end, and other requests
    finish.
    """

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        app: Any = self.config.app
        app.state.server.draining = True
        super().handle_exit(sig, frame)


def serve(make: Callable[[], Starlette], *, host: str, port: int, workers: int = 1, **settings: object) -> None:
    """Serve until a signal stops the server. `make` builds the application in each process, after the fork."""
    # The socket is bound before the fork, so that all workers accept connections from the same queue.
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as shared:
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        shared.bind((host.strip("[]"), port))
        if workers == 1:
            _run(make, shared, settings)
        else:
            _run_many(make, shared, workers, settings)


def configured(app: Starlette, **settings: Any) -> uvicorn.Config:
    """Return the uvicorn configuration for the application."""
    return uvicorn.Config(
        app, http=BoundedProtocol, ws="none", log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS, **settings,
    )  # fmt: skip


def _run(make: Callable[[], Starlette], shared: socket.socket, settings: Mapping[str, object]) -> None:
    Serving(configured(make(), **settings)).run(sockets=[shared])


def _run_many(
    make: Callable[[], Starlette], shared: socket.socket, workers: int, settings: Mapping[str, object]
) -> None:
    """Fork the workers, forward signals to them and wait.

    If one dies, all of them are stopped and the code of the first one is this process's, so that a supervisor notices.
    """
    if not hasattr(os, "fork"):
        raise Unsupported("several workers need a system with fork; start several servers instead")
    children = []
    for _ in range(workers):
        child = os.fork()
        # The child must never return into the parent's code, not even after an error.
        if child == 0:
            code = 1
            try:
                _run(make, shared, settings)
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
            except KeyboardInterrupt:
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)

    is_stopping = False

    def stop(sig: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        is_stopping = True
        stop_children()

    def stop_children() -> None:
        for child in children:
            os.kill(child, signal.SIGTERM)

    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, stop)
    first, status = os.wait()
    died = not is_stopping
    children.remove(first)
    stop_children()
    for child in children:
        os.waitpid(child, 0)
    if died:
        # A worker that a signal ended has a negative code, which no process can exit with.
        code = os.waitstatus_to_exitcode(status)
        raise SystemExit(code if code > 0 else 1)

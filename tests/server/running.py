"""A real server on loopback, for as long as a test module needs one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import uvicorn

from memorist import AsyncMemory
from memorist.protocol.parts import MakePart
from memorist.server.app import Options, make_app
from memorist.server.auth import Keys
from memorist.server.limits import Rate
from memorist.server.process import configured

FAST = Rate(1e9, 1e9)


class Running:
    """A server in a thread, and a way to make keys for it."""

    def __init__(
        self, url: Any, options: Options | None = None, parts: Iterable[MakePart] = (), **settings: Any
    ) -> None:
        self.store_url = url
        self.clock: Callable[[], datetime] | None = None
        settings = {"embedder": None, "counter": "estimate", "extract": None, "worker": False, **settings}
        self.memory = AsyncMemory(url, all_orgs=True, clock=lambda: self.clock() if self.clock else _now(), **settings)
        self.app = make_app(self.memory, options or Options(usual=FAST, heavy=FAST, bad_keys=FAST), parts)
        self._server = uvicorn.Server(configured(self.app, port=0, lifespan="on"))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(self._server.serve())
        while not self._server.started and not task.done():  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)
        self._ready.set()
        await task

    @property
    def url(self) -> str:
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def key(self, **options: Any) -> str:
        """A new key, made by the server's own loop."""
        roles = options.pop("roles", ("reader", "writer", "forget", "operator"))
        keys: Keys = self.app.state.server.keys
        assert self.loop is not None
        created = asyncio.run_coroutine_threadsafe(keys.create(roles=roles, **options), self.loop).result(30)
        return created.key

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(30)

    def stop(self) -> None:
        self.app.state.server.draining = True
        self._server.should_exit = True
        self._thread.join(30)


def _now() -> datetime:
    from datetime import UTC

    return datetime.now(UTC)


@contextmanager
def running(
    url: Any, options: Options | None = None, parts: Iterable[MakePart] = (), **settings: Any
) -> Iterator[Running]:
    """A server over a store, stopped at the end."""
    server = Running(url, options, parts, **settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()

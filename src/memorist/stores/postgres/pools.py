"""Manages psycopg's connection pools, one per process and event loop.

A connection and the locks of a pool belong to the event loop that created them. A pool shared by two loops would wait
forever. A connection inherited through a fork belongs to the parent, and using or closing it would break the parent's
connection.

psycopg's blocking and async classes have the same methods. Those of the blocking classes return a value, and those of
the async classes a coroutine, so every result goes through `Runtime.resolve`.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolClosed, PoolTimeout
from psycopg_pool.pool_async import StopWorker
from psycopg_pool.sched_async import AsyncScheduler

from ...errors import StoreTimeout, StoreUnavailable
from ...runtime import Runtime, run_blocking
from ..homes import Homes
from .options import Options
from .pipeline import Exchange, Failed, Lost, Reply, State, Step

CONNECTION_LOOK_SECONDS = 1.0
"""The time that a caller waits for a connection before it checks whether the server refuses new ones."""
_PROBE_STEPS = [Step(b"SELECT 1", ())]
_log = logging.getLogger("memorist.postgres")


class _BlockingConnection(psycopg.Connection[TupleRow]):
    state: State
    """The pool sets this before anyone uses the connection."""


class _LoopConnection(psycopg.AsyncConnection[TupleRow]):
    state: State


_Pooled = _BlockingConnection | _LoopConnection
Connection = psycopg.Connection[TupleRow] | psycopg.AsyncConnection[TupleRow]
"""A connection of psycopg. The methods of its two classes have the same names and arguments."""


class Client:
    """Runs transactions on the connections of one pool."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self._options = options
        self._runtime = runtime
        self._errors_seen = 0
        """The number of failures to connect that a caller has already examined."""
        self.connections: weakref.WeakSet[_Pooled] = weakref.WeakSet()
        """All connections that the pool has opened."""
        configure: Callable[[_Pooled], object] = self._configure
        check: Callable[[_Pooled], object] = self._check
        if runtime.blocking:
            configure, check = _stepped(self._configure), _stepped(self._check)
        # The two classes take the same options, which a type checker cannot know.
        pool_type: Any = ConnectionPool if runtime.blocking else partial(_LoopPool, runtime)
        self._pool = pool_type(
            options.conninfo,
            connection_class=_BlockingConnection if runtime.blocking else _LoopConnection,
            # Each exchange is its own implicit transaction, so psycopg must not send a BEGIN before it.
            kwargs={"autocommit": True},
            min_size=0,
            max_size=options.pool_size,
            configure=configure,
            check=check,
            name="memorist",
            open=False,
        )

    async def open(self) -> None:
        """Start the pool. It connects when a connection is needed."""
        await self._runtime.resolve(self._pool.open())

    async def close(self) -> None:
        """Close the pool. Connections in use are closed when they are returned."""
        await self._runtime.resolve(self._pool.close())

    def abandon(self) -> None:
        """Close the connections of a pool that can no longer be used because its loop has ended."""
        for connection in list(self.connections):
            # psycopg's own close must be awaited on the connection's loop, which has ended. This just closes the
            # socket.
            connection.pgconn.finish()

    async def run(self, steps: Sequence[Step], prepare: bool, seconds: float) -> list[Reply]:
        """Run one transaction on a connection of the pool. Raises Failed, Lost or StoreError."""
        connection = await self._take()
        try:
            return await self._exchange(connection, steps, prepare, seconds)
        finally:
            # `settle` has closed a connection with unread replies, and the pool replaces closed ones.
            await self._runtime.resolve(self._pool.putconn(connection))

    async def _take(self) -> _Pooled:
        # The pool keeps trying to connect for minutes and reports no reason. So check every second whether it failed,
        # and connect once directly to raise the reason.
        options = self._options
        until = time.monotonic() + options.statement_timeout
        while True:
            try:
                connection: _Pooled = await self._runtime.resolve(self._pool.getconn(CONNECTION_LOOK_SECONDS))
                return connection
            except PoolClosed as closed:
                raise _closed_error(options) from closed
            except PoolTimeout as busy:
                errors = self._pool.get_stats().get("connections_errors", 0)
                # Without new errors, the pool is merely busy. More connections would make that worse.
                if errors > self._errors_seen:
                    async with separate_connection(
                        options, self._runtime
                    ):  # raises the reason, unless the server is back
                        self._errors_seen = errors
                if time.monotonic() > until:
                    text = f"all {options.pool_size} connections to {options.address} were busy"
                    text = f"{text} for {options.statement_timeout:g} s; raise pool_size"
                    raise StoreTimeout(text) from busy

    async def _exchange(self, connection: _Pooled, steps: Sequence[Step], prepare: bool, seconds: float) -> list[Reply]:
        # If the caller is cancelled, psycopg cancels the statement on the server and reads the replies. If that fails,
        # it closes the connection.
        with Exchange(connection.state, steps, prepare, seconds) as exchange:
            return await self._runtime.resolve(connection.wait(exchange.run(), timeout=seconds))

    async def _configure(self, connection: _Pooled) -> None:
        connection.state = State(connection)
        self.connections.add(connection)

    async def _check(self, connection: _Pooled) -> None:
        if connection.state.may_be_dead():
            await self._exchange(connection, _PROBE_STEPS, False, self._options.connect_timeout)


def _stepped(function: Callable[[_Pooled], Coroutine[object, None, None]]) -> Callable[[_Pooled], None]:
    return lambda connection: run_blocking(function(connection))


class _LoopPool(AsyncConnectionPool[_LoopConnection]):
    """Extends psycopg's pool, so that all its tasks end if they are cancelled. psycopg's own workers log a cancellation
    while they connect and go on, and a loop that ends without `close` would wait for them forever."""

    def __init__(self, runtime: Runtime, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._runtime = runtime

    def _start_workers(self) -> None:
        self._sched = _LoopScheduler(self._runtime)
        super()._start_workers()

    async def worker(self, q: Any) -> None:  # type: ignore[override]  # psycopg calls it on the instance
        while not isinstance(task := await q.get(), StopWorker):
            try:
                # A task swallows the cancellation too, so `task.run` may just return.
                with self._runtime.cancellable():
                    await task.run()
            except Exception as error:
                _log.warning("a task of the connection pool failed (%s)", type(error).__name__)


class _LoopScheduler(AsyncScheduler):
    """Extends psycopg's scheduler, so that it also ends if it is cancelled just as it is given something to do. Python
    3.11's `wait_for` drops that cancellation, and the scheduler would sleep for minutes before it looks again."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        wait_timeout = self._event.wait_timeout

        async def wait(seconds: float) -> bool:
            with runtime.cancellable():
                return await wait_timeout(seconds)

        self._event.wait_timeout = wait  # type: ignore[method-assign, assignment]


class Pools:
    """Holds the pools of one store, one for each process and event loop that uses it."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self._options = options
        self._runtime = runtime
        self._homes = Homes(runtime, partial(_open, options, runtime), Client.close, Client.abandon)
        self._prepare = options.prepare
        self.round_trips = 0
        # Without this, the pool of a memory that was dropped without `close` would live until the interpreter exits,
        # and delay the exit while it waits for its threads. It must not refer to `self`, which would keep that alive.
        weakref.finalize(self, self._homes.abandon_all, os.getpid())

    def open(self) -> None:
        """Accept work again, after `close`."""
        self._homes.open()

    async def close(self) -> None:
        """Close every pool of this process. Connections in use are closed when they are returned."""
        await self._homes.close()

    def stop_preparing(self) -> bool:
        """Stop using prepared statements. Return False if they were already off."""
        was, self._prepare = self._prepare, False
        return was

    async def run(self, steps: Sequence[Step], seconds: float) -> list[Reply]:
        """Run one transaction on a connection of this process and event loop. Raises Failed, Lost or StoreError."""
        if self._homes.closed:
            raise _closed_error(self._options)

        self.round_trips += 1
        return await self._homes.use(lambda client: client.run(steps, self._prepare, seconds))

    async def script(self, *texts: str) -> None:
        """Run several scripts in sequence on a separate connection. Raises StoreUnavailable, Failed or Lost."""
        async with separate_connection(self._options, self._runtime) as connection:
            for text in texts:
                await run_script(connection, self._runtime, text)


@asynccontextmanager
async def separate_connection(options: Options, runtime: Runtime) -> AsyncIterator[Connection]:
    """Yield a connection outside the pools, which is closed at the end.

    Raises StoreUnavailable with the driver's reason, which contains no password.
    """
    connection_type = psycopg.Connection if runtime.blocking else psycopg.AsyncConnection
    address = options.address
    connection: Connection
    try:
        connection = await runtime.resolve(
            connection_type.connect(options.conninfo, autocommit=True, prepare_threshold=None)
        )
    except psycopg.errors.ConnectionTimeout as cause:
        limit = options.connect_timeout
        raise StoreUnavailable(f"Postgres at {address} did not answer within {limit:.0f} s", place=address) from cause
    except psycopg.Error as cause:
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        reason = lines[0] if lines else type(cause).__name__
        raise StoreUnavailable(f"Postgres at {address} cannot be reached: {reason}", place=address) from cause
    try:
        yield connection
    finally:
        await runtime.resolve(connection.close())


async def run_script(connection: Connection, runtime: Runtime, text: str) -> None:
    """Run several statements passed as one string. Raises Failed or Lost."""
    try:
        executed: object = connection.execute(text.encode())
        await runtime.resolve(executed)
    except psycopg.Error as error:
        if error.sqlstate is None or connection.closed:
            raise Lost(str(error).strip(), was_sent=True) from error
        raise Failed(error) from error


def _closed_error(options: Options) -> StoreUnavailable:
    return StoreUnavailable("this store was closed", place=options.address)


async def _open(options: Options, runtime: Runtime) -> Client:
    client = Client(options, runtime)
    await client.open()
    return client

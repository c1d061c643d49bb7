"""Manages psycopg's connection pools, one per process and event loop, and provides a blocking and an async client for
them.

A connection and the locks of a pool belong to the event loop that created them. A pool shared by two loops would wait
forever. A connection inherited through a fork belongs to the parent, and using or closing it would break the parent's
connection.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolClosed, PoolTimeout

from ...errors import StoreTimeout, StoreUnavailable
from ...runtime import Runtime, run_blocking
from ..homes import Homes
from .options import Options
from .pipeline import Exchange, Failed, Lost, Reply, State, Step

LOOK_SECONDS = 1.0
"""The time that a caller waits for a connection before it checks whether the server refuses new ones."""
_PROBE = [Step(b"SELECT 1", ())]


class BlockingConnection(psycopg.Connection[TupleRow]):
    """Represents a pooled connection of a blocking store."""

    state: State


class AsyncConnection(psycopg.AsyncConnection[TupleRow]):
    """Represents a pooled connection of an async store. When its caller is cancelled, psycopg cancels the statement on
    the server and reads the replies. If that fails, the connection is closed."""

    state: State


class Client(Protocol):
    """Holds a pool of one process and event loop, and single connections for upkeep."""

    connections: weakref.WeakSet[Any]
    """These are all connections that the pool has opened."""
    errors_seen: int
    """This is the number of `connect_errors` that a caller has already examined."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def take(self, seconds: float) -> Any:
        """Return a connection from the pool, or raise PoolTimeout."""
        ...

    async def give_back(self, connection: Any) -> None: ...

    async def exchange(self, connection: Any, steps: Sequence[Step], prepare: bool, seconds: float) -> list[Reply]: ...

    def connect_errors(self) -> int:
        """Return the number of times that the pool failed to connect."""
        ...

    async def connect(self) -> Any:
        """Return a connection outside the pool, for scripts. Raises psycopg's error."""
        ...

    async def script(self, connection: Any, sql: str) -> None:
        """Run several statements passed as one string."""
        ...

    async def end(self, connection: Any) -> None:
        """Close a connection opened by `connect`."""
        ...


class BlockingClient:
    """Uses psycopg's blocking connections and never suspends."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self.errors_seen = 0
        self._pool = ConnectionPool(
            options.conninfo,
            connection_class=BlockingConnection,
            # Each exchange is its own implicit transaction, so psycopg must not send a BEGIN before it.
            kwargs={"autocommit": True},
            min_size=0,
            max_size=options.pool_size,
            configure=self._configure,
            check=self._check,
            name="memorist",
            open=False,
        )

    def _configure(self, connection: BlockingConnection) -> None:
        connection.state = State(connection)
        self.connections.add(connection)

    def _check(self, connection: BlockingConnection) -> None:
        if connection.state.may_be_dead():
            run_blocking(self.exchange(connection, _PROBE, False, self._options.connect_timeout))

    async def open(self) -> None:
        self._pool.open()

    async def close(self) -> None:
        self._pool.close()

    async def take(self, seconds: float) -> BlockingConnection:
        return self._pool.getconn(seconds)

    async def give_back(self, connection: BlockingConnection) -> None:
        self._pool.putconn(connection)

    async def exchange(
        self, connection: BlockingConnection, steps: Sequence[Step], prepare: bool, seconds: float
    ) -> list[Reply]:
        with Exchange(connection.state, steps, prepare, seconds) as exchange:
            return connection.wait(exchange.run(), timeout=seconds)

    def connect_errors(self) -> int:
        return self._pool.get_stats().get("connections_errors", 0)

    async def connect(self) -> psycopg.Connection[TupleRow]:
        return psycopg.Connection.connect(self._options.conninfo, autocommit=True, prepare_threshold=None)

    async def script(self, connection: psycopg.Connection[TupleRow], sql: str) -> None:
        connection.execute(sql.encode())

    async def end(self, connection: psycopg.Connection[TupleRow]) -> None:
        connection.close()


class _LoopPool(AsyncConnectionPool[AsyncConnection]):
    """Extends psycopg's pool, so that its workers also end if they are cancelled while connecting. Otherwise, they
    would swallow the cancellation, and a loop that ends without `close` would wait for them forever."""

    runtime: Runtime

    async def worker(self, q: Any) -> None:  # type: ignore[override]  # psycopg calls it on the instance
        await super().worker(_Tasks(q, self.runtime))  # type: ignore[arg-type]  # it only calls `get`


class _Tasks:
    """Represents a pool's queue of tasks, for one worker."""

    def __init__(self, queue: Any, runtime: Runtime) -> None:
        self._queue = queue
        self._cancellable = runtime.cancellable()
        self._cancellable.__enter__()

    async def get(self) -> Any:
        # Raises the cancellation that the previous task swallowed, before waiting for the next one.
        self._cancellable.__exit__(None, None, None)
        return await self._queue.get()


class AsyncClient:
    """Uses psycopg's async connections."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self._options = options
        self.connections: weakref.WeakSet[AsyncConnection] = weakref.WeakSet()
        self.errors_seen = 0
        self._pool = _LoopPool(
            options.conninfo,
            connection_class=AsyncConnection,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=options.pool_size,
            configure=self._configure,
            check=self._check,
            name="memorist",
            open=False,
        )

        self._pool.runtime = runtime

    async def _configure(self, connection: AsyncConnection) -> None:
        connection.state = State(connection)
        self.connections.add(connection)

    async def _check(self, connection: AsyncConnection) -> None:
        if connection.state.may_be_dead():
            await self.exchange(connection, _PROBE, False, self._options.connect_timeout)

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    async def take(self, seconds: float) -> AsyncConnection:
        return await self._pool.getconn(seconds)

    async def give_back(self, connection: AsyncConnection) -> None:
        await self._pool.putconn(connection)

    async def exchange(
        self, connection: AsyncConnection, steps: Sequence[Step], prepare: bool, seconds: float
    ) -> list[Reply]:
        with Exchange(connection.state, steps, prepare, seconds) as exchange:
            return await connection.wait(exchange.run(), timeout=seconds)

    def connect_errors(self) -> int:
        return self._pool.get_stats().get("connections_errors", 0)

    async def connect(self) -> psycopg.AsyncConnection[TupleRow]:
        return await psycopg.AsyncConnection.connect(self._options.conninfo, autocommit=True, prepare_threshold=None)

    async def script(self, connection: psycopg.AsyncConnection[TupleRow], sql: str) -> None:
        await connection.execute(sql.encode())

    async def end(self, connection: psycopg.AsyncConnection[TupleRow]) -> None:
        await connection.close()


class Pools:
    """Holds the pools of one store, one for each process and event loop that uses it."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self._options = options
        self._homes: Homes[Client] = Homes(runtime, partial(_open, options, runtime), _close, _abandon)
        self._prepare = options.prepare
        self._closed = False
        self.round_trips = 0
        # Without this, the pool of a memory that was dropped without `close` would live until the interpreter exits,
        # and delay the exit while it waits for its threads.
        weakref.finalize(self, self._homes.abandon_all, os.getpid())

    def open(self) -> None:
        """Accept work again, after `close`."""
        self._closed = False
        self._homes.open()

    async def close(self) -> None:
        """Close every pool of this process. Connections in use are closed when they are returned."""
        self._closed = True
        await self._homes.close()

    def stop_preparing(self) -> bool:
        """Stop using prepared statements. Return False if they were already off."""
        was, self._prepare = self._prepare, False
        return was

    async def run(self, steps: Sequence[Step], seconds: float) -> list[Reply]:
        """Run one transaction on a connection of this process and event loop. Raises Failed, Lost or StoreError."""
        client = await self.client()
        connection = await self._take(client)
        try:
            self.round_trips += 1
            return await client.exchange(connection, steps, self._prepare, seconds)
        finally:
            # `settle` has closed a connection with unread replies, and the pool replaces closed ones.
            await client.give_back(connection)

    async def client(self) -> Client:
        """Return the client of this process and event loop."""
        if self._closed:
            raise StoreUnavailable("this store was closed", place=self._options.address)
        return await self._homes.clients()

    async def _take(self, client: Client) -> object:
        # The pool keeps trying to connect for minutes and reports no reason. So check every second whether it failed,
        # and connect once directly to raise the reason.
        until = time.monotonic() + self._options.statement_timeout
        while True:
            try:
                return await client.take(LOOK_SECONDS)
            except PoolClosed as closed:
                raise StoreUnavailable("this store was closed", place=self._options.address) from closed
            except PoolTimeout as busy:
                errors = client.connect_errors()
                if errors > client.errors_seen:
                    await client.end(await self.connect(client))  # raises the reason, unless the server is back
                    client.errors_seen = errors
                if time.monotonic() > until:
                    text = f"all {self._options.pool_size} connections to {self._options.address} were busy"
                    raise StoreTimeout(f"{text} for {self._options.statement_timeout:g} s; raise pool_size") from busy

    async def connect(self, client: Client) -> Any:
        """Return a connection outside the pool.

        Raises StoreUnavailable with the driver's reason, which contains no password.
        """
        address = self._options.address
        try:
            return await client.connect()
        except psycopg.errors.ConnectionTimeout as cause:
            limit = self._options.connect_timeout
            raise StoreUnavailable(
                f"Postgres at {address} did not answer within {limit:.0f} s", place=address
            ) from cause
        except psycopg.Error as cause:
            lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
            reason = lines[0] if lines else type(cause).__name__
            raise StoreUnavailable(f"Postgres at {address} cannot be reached: {reason}", place=address) from cause

    async def script(self, *texts: str) -> None:
        """Run several scripts in sequence on a separate connection. Raises Failed or Lost."""
        client = await self.client()
        connection = await self.connect(client)
        try:
            for text in texts:
                await client.script(connection, text)
        except psycopg.Error as error:
            if error.sqlstate is None or connection.closed:
                raise Lost(str(error).strip(), sent=True) from error
            raise Failed(0, error.sqlstate, error.diag.message_primary or "") from error
        finally:
            await client.end(connection)


async def _open(options: Options, runtime: Runtime) -> Client:
    client: Client = BlockingClient(options) if runtime.blocking else AsyncClient(options, runtime)
    await client.open()
    return client


async def _close(client: Client) -> None:
    await client.close()


def _abandon(client: Client) -> None:
    """Close the connections of a pool that can no longer be used because its loop has ended."""
    for connection in list(client.connections):
        # psycopg's own close must be awaited on the connection's loop, which has ended. This just closes the socket.
        connection.pgconn.finish()

"""Client processes for fault tests: each writes through a Memory of its own and says what was acknowledged."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import apsw

from memorist import Memory
from memorist.messages.message import Message
from memorist.records import Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Load
from memorist.stores.sqlite import SqliteStore

SOAK = bool(os.environ.get("MEMORIST_SOAK"))
# A server that has imported us forks each client in milliseconds, clean of pytest's threads and files.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.faults.clients", "tests.faults.scenario"])


@contextmanager
def client(target: Any, *args: Any) -> Iterator[tuple[int, Connection]]:
    """A running client and the end of the pipe it speaks into; it is killed at the end if it still runs."""
    hear, speak = processes.Pipe(duplex=False)
    process = processes.Process(target=target, args=(*args, speak), daemon=True)
    process.start()
    speak.close()
    try:
        yield process.pid or 0, hear
    finally:
        process.kill()
        process.join()
        hear.close()


def heard(hear: Connection) -> Iterator[Any]:
    """What a client said, until it ended."""
    while True:
        try:
            yield hear.recv()
        except (EOFError, ConnectionResetError):
            return


def append_on(url: str, start: int, keyed: bool, die_at: int | None, speak: Connection) -> None:
    """Append numbered messages, each with a count in the same batch, and say each number once it is durable."""
    memory = Memory(url, embedder=None, counter="estimate")
    number = start
    while True:
        with memory.batch() as batch:
            batch.threads.append("t", f"m{number}", key=f"k{number}" if keyed else None)
            batch.state.increment("count")
        if number == die_at:
            os.kill(os.getpid(), signal.SIGKILL)  # committed, and nobody told
        speak.send(number)
        number += 1


def write_share(url: str, me: int, writes: int, threads: int, speak: Connection) -> None:
    """Write to one hot thread and to many others in turn; say what was given for each, or the error."""
    try:
        memory = Memory(url, embedder=None, counter="estimate")
        speak.send("ready")
        acknowledged = []
        for i in range(writes):
            thread = "hot" if i % 2 else f"t{(me * 37 + i) % threads}"
            [receipt] = memory.threads.append(thread, f"{me}:{i}")
            acknowledged.append((thread, receipt.message.seq, f"{me}:{i}"))
            if i % 10 == 0:
                memory.state.increment("count")
        memory.close()
        speak.send(acknowledged)
    except Exception as error:
        speak.send(f"{type(error).__name__}: {error}")


def write_share_naively(url: str, me: int, writes: int, threads: int, speak: Connection) -> None:
    """The planted bug: read the length, then write at length + 1, with nothing held in between."""
    store = SqliteStore(url, runtime=BlockingRuntime(), durability="normal")
    run_blocking(store.open())
    speak.send("ready")
    acknowledged = []
    for i in range(writes):
        thread = run_blocking(store.get(Thread, ("default", "hot"), now=0))
        assert thread is not None
        fields = {name: getattr(thread, name) for name in thread.__struct_fields__} | {"length": thread.length + 1}
        at = thread.created_at
        message = Message(thread="hot", seq=thread.length + 1, role="user", content=f"{me}:{i}", created_at=at)
        run_blocking(store.apply([Load(message), Load(Thread(**fields))], now=0))
        acknowledged.append(("hot", message.seq, f"{me}:{i}"))
    speak.send(acknowledged)


def open_first(folder: str, rounds: int, barrier: Any, speak: Connection) -> None:
    """Open files that are not there yet at the same moment as the others, and write into each."""
    for number in range(rounds):
        barrier.wait()
        try:
            with Memory(f"{folder}/{number}.db", embedder=None, counter="estimate", durability="normal") as memory:
                memory.threads.create("global", id="t")
                memory.threads.append("t", "hello")
            speak.send("ok")
        except Exception as error:
            speak.send(f"{type(error).__name__}: {error}")


def open_first_naively(folder: str, rounds: int, barrier: Any, speak: Connection) -> None:
    """The planted bug: make the tables with no lock taken and no patience."""
    for number in range(rounds):
        barrier.wait()
        try:
            connection = apsw.Connection(f"{folder}/{number}.db")
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("CREATE TABLE notes (text)")
            connection.close()
            speak.send("ok")
        except apsw.Error as error:
            speak.send(f"{type(error).__name__}: {error}")

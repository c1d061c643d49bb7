"""Client processes that write to one thread of a server, each through a memory of its own."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

from memorist import Memory
from memorist.messages.message import Message
from memorist.records import Thread
from memorist.runtime import run_blocking
from memorist.stores.base import Load

Share = list[tuple[int, str]]
# A server that has imported us forks each client in milliseconds, clean of pytest's threads and connections.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.stores.clients"])


def write(options: dict[str, Any], me: int, each: int, start: Any, speak: Connection) -> None:
    """Append a share, partly in batches and partly with a key; say what numbers were given."""
    with Memory(**options) as memory:
        start.wait()
        share: Share = []
        for number in range(each):
            texts = [f"{me}:{number}:{part}" for part in range(1 + number % 3)]
            key = f"{me}:{number}" if number % 4 == 0 else None
            receipts = memory.threads.append("hot", *texts, key=key)
            if key is not None:
                again = memory.threads.append("hot", *texts, key=key)
                assert [receipt.message.seq for receipt in again] == [receipt.message.seq for receipt in receipts]
            share += [(receipt.message.seq, receipt.message.text) for receipt in receipts]
        speak.send(share)


def write_naively(options: dict[str, Any], me: int, each: int, start: Any, speak: Connection) -> None:
    """The planted bug: read the length, then write at the next place with nothing held in between."""
    with Memory(**options) as memory:
        start.wait()
        store, share = memory._core.store, []
        for number in range(each):
            thread = run_blocking(store.get(Thread, (memory.org, "hot"), now=0))
            assert thread is not None
            fields = {name: getattr(thread, name) for name in thread.__struct_fields__} | {"length": thread.length + 1}
            message = Message(
                org=memory.org, thread="hot", seq=thread.length + 1, role="user", content=f"{me}:{number}",
                created_at=thread.created_at,
            )  # fmt: skip
            run_blocking(store.apply([Load(message), Load(Thread(**fields))], now=0))
            share.append((message.seq, f"{me}:{number}"))
        speak.send(share)

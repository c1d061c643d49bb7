"""Blocking threads.

Made by scripts/generate-blocking from engine/threads.py; change that, then run the script.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence

from ..engine.threads import MessageReceipt, Place
from ..engine.threads import Threads as EngineThreads
from ..messages import Given, Message
from ..ports import Ttl
from ..records import Summary, Thread
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json


class Threads:
    """Conversations."""

    def __init__(self, engine: EngineThreads) -> None:
        self._engine = engine

    def create(
        self,
        ns: Ns,
        title: str | None = None,
        *,
        id: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        ttl: Ttl | None = None,
    ) -> Thread:
        """A new thread; one that exists under this id and namespace is given back as it is."""
        return run_blocking(self._engine.create(ns, title, id=id, metadata=metadata, ttl=ttl))

    def get(self, id: str) -> Thread | None:
        """The thread, without its messages; None where there is none."""
        return run_blocking(self._engine.get(id))

    def get_many(self, ids: Iterable[str]) -> builtins.list[Thread | None]:
        """Several threads in one read, in the order of their ids given; None where there is none."""
        return run_blocking(self._engine.get_many(ids))

    def append(self, id: str, *messages: Given, key: str | None = None) -> builtins.list[MessageReceipt]:
        """Add messages at the end, all or none; with a `key`, doing it again does nothing and says so."""
        return run_blocking(self._engine.append(id, *messages, key=key))

    def messages(
        self,
        id: str,
        limit: int | None = None,
        *,
        before: Place | None = None,
        after: Place | None = None,
        roles: Sequence[str] | None = None,
    ) -> builtins.list[Message]:
        """Messages in order. With `before` alone the `limit` nearest to it, else the first `limit` from the start."""
        return run_blocking(self._engine.messages(id, limit, before=before, after=after, roles=roles))

    def recent(self, id: str, n: int = 10) -> builtins.list[Message]:
        """The newest n messages, the newest last."""
        return run_blocking(self._engine.recent(id, n))

    def message(self, id: str) -> Message | None:
        """One message by its id."""
        return run_blocking(self._engine.message(id))

    def delete_messages(self, id: str, *, ids: Sequence[str] | None = None, before: Place | None = None) -> int:
        """Take messages out of the log for good, by id or all before a place; how many went.

        What was derived from them stays; `forget` removes that too.
        """
        return run_blocking(self._engine.delete_messages(id, ids=ids, before=before))

    def delete(self, id: str) -> bool:
        """Remove a thread with its messages, summaries and index entries; whether there was one."""
        return run_blocking(self._engine.delete(id))

    def summaries(self, id: str) -> builtins.list[Summary]:
        """The summaries of a thread, oldest first, each with the range it stands for."""
        return run_blocking(self._engine.summaries(id))

    def list(
        self, ns: Ns, *, limit: int | None = None, after: str | None = None, reverse: bool = False
    ) -> list[Thread]:
        """Threads of a namespace in the order of their ids, which for ids given by us is the order of making."""
        return run_blocking(self._engine.list(ns, limit=limit, after=after, reverse=reverse))

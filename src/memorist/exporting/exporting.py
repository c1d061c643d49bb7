"""Writes threads, facts and documents in the formats of other tools."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeVar

from ..engine.core import Core
from ..engine.gating import policy_of
from ..engine.portable import Progress, Transfer, new_file
from ..errors import UsageError
from ..gate.passing import mask_message
from ..gate.policy import Gate
from ..messages.message import Message
from ..records import Document, Fact, Record, Thread
from ..scope import Ns
from . import langgraph, markdown
from .lines import write_anthropic, write_openai

To = Literal["memorist", "openai", "anthropic", "markdown", "langgraph"]
PAGE_ROWS = 500
R = TypeVar("R", bound=Record)


class Exporting:
    """Exports an org, or one namespace of it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._counts: Counter[str] = Counter()

    async def export(
        self, path: str | os.PathLike[str], *, to: To, namespace: Ns | None, progress: Progress | None
    ) -> Transfer:
        """Write the org, or one namespace of it, to a file or folder. A file appears only when it is complete."""
        if to == "memorist":
            raise UsageError("the memorist format contains a whole org; choose another format to export one namespace")
        self._core.scope.whole_org("export and import")
        if self._core.batch is not None:
            raise UsageError("an export cannot be part of a batch")
        space = None if namespace is None else self._core.scope.readable(namespace)
        target = Path(path)
        if to == "markdown":
            await self._markdown(target, space, progress)
        elif to == "langgraph":
            await self._langgraph(target, space, progress)
        elif to in ("openai", "anthropic"):
            await self._lines(target, to, space, progress)
        else:
            raise UsageError("an export's format is memorist, openai, anthropic, markdown or langgraph")
        return Transfer(self._counts.total(), dict(sorted(self._counts.items())))

    async def _lines(self, target: Path, to: str, space: str | None, progress: Progress | None) -> None:
        write = write_openai if to == "openai" else write_anthropic
        with new_file(target) as file:
            async for thread in self._threads(space):
                self._counts["messages"] += await write(file, thread, self._messages)
                self._tick("threads", progress)

    async def _langgraph(self, target: Path, space: str | None, progress: Progress | None) -> None:
        with new_file(target) as new:
            # SQLite opens the file by its name, which Windows does not allow while it is open here.
            new.close()
            with closing(sqlite3.connect(new.name, check_same_thread=False)) as file:
                file.executescript(langgraph.SCHEMA)
                async for thread in self._threads(space):
                    messages = [message async for page in self._messages(thread) for message in page]
                    langgraph.put_thread(file, thread, messages)
                    self._counts["messages"] += len(messages)
                    self._tick("threads", progress)
                async for fact in self._rows(Fact, space, lambda fact: fact.ns):
                    langgraph.put_fact(file, fact)
                    self._tick("facts", progress)
                file.commit()

    async def _markdown(self, target: Path, space: str | None, progress: Progress | None) -> None:
        await self._core.runtime.offload(markdown.made_folder, target)
        async for thread in self._threads(space):
            name = f"{markdown.file_name(thread.id)}.md"
            with new_file(markdown.folder_of(target, thread.ns, "threads") / name) as file:
                file.write(markdown.heading(thread).encode())
                async for page in self._messages(thread):
                    file.write("".join(map(markdown.spoken, page)).encode())
                    self._counts["messages"] += len(page)
            self._tick("threads", progress)
        async for document in self._rows(Document, space, lambda document: document.ns):
            name = f"{markdown.file_name(document.id)}.md"
            with new_file(markdown.folder_of(target, document.ns, "documents") / name) as file:
                file.write(markdown.written(document).encode())
            self._tick("documents", progress)
        facts_by_ns: dict[str, list[Fact]] = {}
        async for fact in self._rows(Fact, space, lambda fact: fact.ns):
            facts_by_ns.setdefault(fact.ns, []).append(fact)
            self._tick("facts", progress)
        for ns, facts in facts_by_ns.items():
            with new_file(markdown.folder_of(target, ns, "") / "facts.md") as file:
                file.write(f"# Facts of {ns}\n\n{markdown.fact_lines(facts)}".encode())

    def _tick(self, what: str, progress: Progress | None) -> None:
        self._counts[what] += 1
        if progress is not None:
            progress(self._counts.total(), None)

    async def _threads(self, space: str | None) -> AsyncIterator[Thread]:
        async for thread in self._rows(Thread, space, lambda thread: thread.ns):
            yield thread

    async def _rows(self, record_type: type[R], space: str | None, ns: Callable[[R], str]) -> AsyncIterator[R]:
        """Yield the rows of one kind, from one namespace or from all of them, a page at a time."""
        after = None
        while True:
            rows = await self._core.scan(record_type, after=after, limit=PAGE_ROWS)
            for row in rows:
                if space is None or ns(row) == space:
                    yield row
            if len(rows) < PAGE_ROWS:
                return
            after = rows[-1].row_key[1:]

    async def _messages(self, thread: Thread) -> AsyncIterator[list[Message]]:
        after = 0
        gate = await policy_of(self._core)
        while page := await self._core.scan(Message, thread.id, after=(after,), limit=PAGE_ROWS):
            yield await self._core.runtime.offload(_masked, gate, page)
            after = page[-1].seq


def _masked(gate: Gate, messages: list[Message]) -> list[Message]:
    return [mask_message(gate, message) for message in messages]

"""Writes checked items. The threads, messages and facts of a batch are written in one transaction, and documents one by
one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from ..engine.core import Core
from ..engine.documents.documents import Documents
from ..engine.index_jobs import index_job
from ..errors import Conflict
from ..messages.message import Message
from ..records import Document
from ..stores.base import Append, Change, Put
from .checking import Checked
from .facts import FactChanges
from .items import DocumentItem, FactItem, MessageItem, Problem, ThreadItem
from .report import Tally
from .threads import KnownThreads, State, digest

_replace = msgspec.structs.replace


class Plan:
    """Holds the changes of one batch, and the counts to add once they are committed."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.added: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.problems: list[Problem] = []


class Writer:
    """Writes one import. The actor of `core` is `import`."""

    def __init__(self, core: Core, source: str, tally: Tally, default_at: datetime) -> None:
        self._core = core
        self._source = source
        self._tally = tally
        self._at = default_at
        """The time for items without one of their own: when the file was last changed."""
        self._threads = KnownThreads(core, source)
        self._facts = FactChanges(core, source, default_at)
        self._documents = Documents(core)

    async def write(self, batch: Sequence[Checked]) -> None:
        """Commit a batch. After a conflict with another process, it is planned again."""
        plan: Plan = await self._core.retry(lambda: self._commit(batch))
        self._tally.added.update(plan.added)
        self._tally.known.update(plan.known)
        for problem in plan.problems:
            self._tally.problem(problem.place, problem.reason)
        self._threads.trim()
        for entry in batch:
            if isinstance(entry.item, DocumentItem):
                await self._write_document(entry.item, entry.ns)
        self._core.shared.wrote()

    async def _commit(self, batch: Sequence[Checked]) -> Plan:
        plan = await self._plan(batch)
        try:
            if plan.changes:
                await self._core.apply(*plan.changes)
        except Conflict:
            self._threads.forget()
            raise
        return plan

    async def _plan(self, batch: Sequence[Checked]) -> Plan:
        plan = Plan()
        await self._find_threads(batch)
        messages_by_thread: dict[str, list[Message]] = {}
        for entry in batch:
            if isinstance(entry.item, MessageItem):
                self._plan_message(plan, entry.item, entry.message, messages_by_thread)
            elif isinstance(entry.item, ThreadItem):
                await self._plan_thread(plan, entry.item)
        for name, messages in messages_by_thread.items():
            self._plan_append(plan, name, messages)
        facts = [(entry.item, entry.ns) for entry in batch if isinstance(entry.item, FactItem)]
        if facts:
            await self._facts.plan(facts, plan.changes, plan.added, plan.known)
        return plan

    async def _find_threads(self, batch: Sequence[Checked]) -> None:
        threads: dict[str, tuple[ThreadItem | None, str]] = {}
        for entry in batch:
            item = entry.item
            if isinstance(item, ThreadItem):
                if self._threads.get(item.id) is None and threads.get(item.id, (None,))[0] is None:
                    threads[item.id] = item, entry.ns
            elif (
                isinstance(item, MessageItem) and item.thread not in threads and self._threads.get(item.thread) is None
            ):
                threads[item.thread] = None, entry.ns
        if threads:
            await self._threads.load(threads)

    async def _plan_thread(self, plan: Plan, item: ThreadItem) -> None:
        state = self._threads.get(item.id)
        if state is None:
            plan.problems.append(Problem(item.position, "another thread already has its id"))
        elif state.new is item:
            plan.changes += await self._threads.making(state, self._at)
            plan.added["threads"] += 1
        else:
            plan.known["threads"] += 1

    def _plan_message(
        self, plan: Plan, item: MessageItem, message: Message | None, messages_by_thread: dict[str, list[Message]]
    ) -> None:
        state = self._threads.get(item.thread)
        if state is None or message is None:
            plan.problems.append(Problem(item.position, "its thread could not be imported"))
        elif state.add(digest(item.key)):
            messages_by_thread.setdefault(item.thread, []).append(self._stamp(message, state))
            plan.added["messages"] += 1
        else:
            plan.known["messages"] += 1

    def _stamp(self, message: Message, state: State) -> Message:
        count, name = self._core.shared.counting
        at = message.created_at or self._at
        return _replace(
            message, org=self._core.org, thread=state.id, tokens=count(message), counter=name, created_at=at
        )

    def _plan_append(self, plan: Plan, name: str, messages: list[Message]) -> None:
        state = self._threads.get(name)
        assert state is not None
        last = max(message.created_at or self._at for message in messages)
        job = index_job(self._core.org, state.ns, f"thread:{state.id}", self._core.at())
        plan.changes += [
            # The thread's `updated_at` is the time of its last message, not of the import.
            Append(self._core.org, state.id, tuple(messages), last),
            Put(job, absent=True),
            *self._threads.marking(state),
        ]

    async def _write_document(self, item: DocumentItem, ns: str) -> None:
        """Add a document under its own id, and replace one from the same source. If the id is taken, use another."""
        document = await self._core.get(Document, ns, item.id)
        id = item.id if document is None or document.source == self._source else f"{self._source}/{item.id}"
        at = item.created_at or self._at
        new = self._documents._new(ns, item.text, item.title, self._source, item.metadata, id, None)
        _, added = await self._documents._store(_replace(new, created_at=at, updated_at=at), again=False)
        (self._tally.added if added else self._tally.known)["documents"] += 1

"""Counts rows for `stats`, and creates the `doctor` report on the store, the queues and all problems."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec

from ..errors import CorruptRecord, MemoristError
from ..filters import Test
from ..kinds import KINDS
from ..records import Derivation, Entry, Learning, NamespaceStats, Record, StateEntry, Thread, as_dict, view_of
from ..stores.base import Diagnoses
from ..values import Json, JsonObject
from .core import Core
from .derive.indexing import INDEX
from .derive.limits import tokens_today
from .derive.outbox import Backlog, Jobs
from .facts.corrections import replaced_corrections
from .retaining import RetentionState, retention_states
from .versions import DELETED

T = TypeVar("T")
PAGE_ROWS = 1000
STUCK_SECONDS = 3600.0


class Turns(msgspec.Struct, frozen=True):
    """Counts the turns of ended sessions."""

    to_dict = as_dict

    persisted: int
    """This counts turns from which facts and learnings are derived."""
    passing: int
    """This counts turns that `should_persist` excluded from derivation."""


class ReadingCost(msgspec.Struct, frozen=True):
    """Reports the cost of extracting memories with a model, for all threads that still exist."""

    to_dict = as_dict

    calls: int
    messages: int
    """This counts the users' messages sent in those calls."""
    input_tokens: int
    output_tokens: int
    input_tokens_per_1000: int
    """Tokens read per 1,000 messages. This is zero before the first call, or if the provider did not report any."""
    output_tokens_per_1000: int
    cached_tokens: int = 0
    """This counts the input tokens that came from the provider's prompt cache."""
    accepted: int = 0
    """This counts items stored, ended or confirmed."""
    refused: int = 0
    accepted_per_1000: int = 0
    refused_per_1000: int = 0
    tokens_today: int = 0
    """This counts the tokens used by the org's model since midnight (UTC), if `Extraction(daily_tokens=…)` sets a
    limit."""


class Stats(msgspec.Struct, frozen=True):
    """Counts the stored records by kind, and how many of them are indexed."""

    to_dict = as_dict

    org: str
    threads: int
    messages: int
    message_tokens: int
    summaries: int
    facts: int
    events: int
    learnings: int
    documents: int
    tasks: int
    turns: Turns
    reading: ReadingCost
    indexed: int
    """This counts entries that recall can find."""
    waiting: dict[str, int]
    """This counts pending jobs, by queue."""
    dead_letters: int
    """This counts abandoned jobs."""
    namespaces: list[str]


class Diagnosis(msgspec.Struct, frozen=True):
    """Holds the `doctor` report on the store, the embedder, the queues and all problems."""

    to_dict = as_dict

    store: str
    details: dict[str, Json]
    """These are the versions, settings and sizes that the store reports."""
    embedder: str | None
    queues: list[Backlog]
    retention: list[RetentionState]
    """These are the org's retention rules, each with the number of rows that the next collection will delete."""
    problems: list[str]
    """Each problem, and what to do about it. The list is empty if there are none."""


class Health:
    """Counts rows and checks the health of a memory."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def stats(self) -> Stats:
        """Count this org's stored records by kind, and how many of them are indexed."""
        core = self._core
        rows_by_table = {
            kind.record.table.name: await self._visible(_counted(kind.record)) for kind in KINDS if kind.counted
        }
        namespaces = [stats for stats in await core.scan(NamespaceStats) if core.scope.may_read(stats.ns)]
        queues = await Jobs(core).backlog()
        counts = {table: len(rows) for table, rows in rows_by_table.items()}
        counts["learnings"] = sum(row.status != DELETED for row in rows_by_table["learnings"])
        named = {row.ns for table in ("threads", "facts") for row in rows_by_table[table]}
        return Stats(
            org=core.org,
            threads=counts["threads"],
            messages=sum(thread.length - thread.start for thread in rows_by_table["threads"]),
            message_tokens=sum(thread.tokens for thread in rows_by_table["threads"]),
            summaries=counts["summaries"],
            facts=counts["facts"],
            events=counts["events"],
            learnings=counts["learnings"],
            documents=counts["documents"],
            tasks=counts["tasks"],
            turns=await self._turns(),
            reading=await self._reading({thread.id for thread in rows_by_table["threads"]}),
            indexed=sum(stats.entries for stats in namespaces),
            waiting={queue.queue: queue.waiting for queue in queues},
            dead_letters=sum(queue.dead for queue in queues),
            namespaces=sorted(named | {stats.ns for stats in namespaces}),
        )

    async def _turns(self) -> Turns:
        from .sessions.session import PASSED, PERSISTED

        entries = await self._visible(StateEntry, Test(("key",), "$in", (PERSISTED, PASSED)))
        return Turns(
            *(
                sum(entry.value for entry in entries if entry.key == key and isinstance(entry.value, int))
                for key in (PERSISTED, PASSED)
            )
        )

    async def _reading(self, threads: set[str]) -> ReadingCost:
        """Return the cost of model calls, summed over the threads that this handle may read."""
        costs = [row.cost for row in await self._core.scan(Derivation) if row.thread in threads]
        names = ("calls", "messages", "input_tokens", "output_tokens", "cached_tokens", "accepted", "refused")
        sums = {name: sum(cost.get(name, 0) for cost in costs) for name in names}
        per_1000 = 1000 / sums["messages"] if sums["messages"] else 0
        rates = ("input_tokens", "output_tokens", "accepted", "refused")
        return ReadingCost(
            **sums,
            **{f"{name}_per_1000": round(sums[name] * per_1000) for name in rates},
            tokens_today=await tokens_today(self._core),
        )

    async def _visible(self, record_type: type[Record], where: Test | None = None) -> list[Any]:
        """Return the rows of a kind in the namespaces that this handle can see."""
        rows: list[Any] = await self._core.listed(record_type, where=where)
        return [row for row in rows if self._core.scope.may_read(row.ns)]

    async def doctor(self, *, deep: bool = False) -> Diagnosis:
        """Return a report on the store, the queues and the failed parts, with all problems in one list."""
        core = self._core
        core.scope.whole_org("doctor")
        if deep:
            core.scope.check_files("a deep check")
        await core.shared.open()
        store = core.store
        report: JsonObject = {}
        if isinstance(store, Diagnoses) and not core.scope.tenant:
            report = dict(await store.diagnose(deep=deep))
        problems = list(report.pop("problems", ()))
        queues = await _sound(Jobs(core).backlog(), [], problems)
        for queue in queues:
            if queue.dead:
                reasons = "; ".join(queue.errors)
                problems.append(f"{queue.dead} dead letters in {queue.queue}: {reasons}; retry with --retry-dead")
            if queue.failing:
                reasons = "; ".join(queue.reasons)
                problems.append(f"{queue.failing} jobs in {queue.queue} failed and will be tried again: {reasons}")
            if queue.waiting and queue.lag_seconds > STUCK_SECONDS:
                problems.append(f"{queue.queue} lags {queue.lag_seconds:.0f} s behind; start `memorist worker`")
        if not any(queue.queue == "index" and queue.waiting for queue in queues):
            core.shared.problems.pop(INDEX, None)  # another process has written what this one could not
        if not core.scope.tenant:  # what failed for one org, and why, is no business of another
            problems += [f"{part}: {problem}" for part, problem in core.shared.problems.items()]
        if replaced := await _sound(replaced_corrections(core), [], problems):
            keys = ", ".join(dict.fromkeys(replacement.fact.key for replacement in replaced[:3]))
            problems.append(
                f"{len(replaced)} facts replaced a correction this week (such as {keys}); look at them with "
                "`memorist facts history`, and correct or restore them"
            )
        embedder = await _sound(self._embedder(problems), None, problems)
        retention: list[RetentionState] = await _sound(retention_states(core), [], problems)
        return Diagnosis(str(report.pop("store", store.name)), report, embedder, queues, retention, problems)

    async def _embedder(self, problems: list[str]) -> str | None:
        """Return the name of the embedder, and add problems if another one computed the stored vectors, or if another
        version of the analysis or stemmer produced the stored terms."""
        from ..recall.analyze import analysis_version

        core = self._core
        try:
            embedder = core.shared.embedder
        except MemoristError as problem:
            problems.append(f"embedder: {problem}")
            return None
        spaces = await core.scan(NamespaceStats, limit=PAGE_ROWS)
        outdated = [stats.ns for stats in spaces if stats.analysis != analysis_version()]
        if outdated:
            problems.append(
                f"{len(outdated)} namespaces (such as {outdated[0]}) were indexed by another version or "
                "stemmer; run `memorist reindex`"
            )
        if embedder is None:
            return None
        for stats in spaces:
            # The oldest and the newest entry are enough: a new embedder computes vectors from some stamp on.
            oldest = await core.scan(Entry, stats.ns, index="by_stamp", limit=1)
            newest = await core.scan(Entry, stats.ns, index="by_stamp", limit=1, reverse=True)
            others = [entry.embedder for entry in oldest + newest if entry.embedder not in (None, embedder.name)]
            if others:
                problems.append(
                    f"vectors of {stats.ns} were made by {others[0]}, not {embedder.name}: recall compares them by "
                    "that one where its name says how to open it, else by words; run `memorist process vectors`"
                )
                break
        return str(embedder.name)


def _counted(record_type: type[Record]) -> type[Record]:
    """Return the columns of a kind that `stats` needs."""
    needed = {Thread: ("length", "start", "tokens"), Learning: ("status",)}
    return view_of(record_type, "ns", *needed.get(record_type, ()))


async def _sound(reading: Awaitable[T], otherwise: T, problems: list[str]) -> T:
    """Return the result of a read. If the rows it needs are damaged, return `otherwise` and add a problem to the
    report."""
    try:
        return await reading
    except CorruptRecord as damaged:
        if str(damaged) not in problems:
            problems.append(str(damaged))
        return otherwise

"""Processors are maintenance jobs on a store.

Each is incremental, idempotent and safe to run on two machines at once.

`process(memory)` works with either facade. It returns a Report for a blocking Memory, and an awaitable for an
AsyncMemory.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, overload

import msgspec

from ..errors import Conflict, UsageError
from ..ids import new_id
from ..ports import ModelSpec, Ttl
from ..records import Entry, Fact, Job, NamespaceStats, Ref, Sweep, Thread, as_dict, view_of
from ..runtime import run_blocking
from ..stores.base import Change, Delete, Expect, Put
from .core import Core
from .derive.deriving import REREAD
from .derive.folding import Folding
from .derive.indexing import Draft, analyse_drafts, drafts_of
from .derive.outbox import Jobs, Outbox
from .forgetting.guard import epochs
from .idempotency import collect_keys
from .index_jobs import job_end
from .records import collect_uploads
from .retaining import apply_retention
from .statistics import count_entries

if TYPE_CHECKING:
    from ..blocking.memory import Memory
    from ..embed.opening import Vectors
    from ..memory import AsyncMemory

PAGE_ROWS = 500
CLAIMED_JOBS = 16
JOB_LEASE_MICROSECONDS = 600_000_000
Progress = Callable[[str, int], Any]


def _ignore(name: str, count: int) -> None:
    """Do nothing, because nobody asked for the progress."""


class Report(msgspec.Struct, frozen=True):
    """Represents a processor's report: how many items it examined and changed, along with counts and notes."""

    to_dict = as_dict

    processor: str
    seen: int = 0
    changed: int = 0
    counts: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class Processor:
    """This is the base class of maintenance jobs; subclasses implement `run`."""

    name = "processor"

    @overload
    def process(self, memory: Memory) -> Report: ...

    @overload
    def process(self, memory: AsyncMemory) -> Coroutine[object, None, Report]: ...

    def process(self, memory: Memory | AsyncMemory) -> Report | Coroutine[object, None, Report]:
        """Run on a memory. Return a Report or, for an AsyncMemory, an awaitable that returns one."""
        work = self._report_on(memory._core)
        return run_blocking(work) if memory._core.runtime.blocking else work

    async def _report_on(self, core: Core) -> Report:
        # Not `run`, because a server runs its own processors.
        [report] = await core.part(Processing).process(self)
        return report

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        """Do the work, as a coroutine."""
        raise NotImplementedError


class Processes(Protocol):
    """Represents a user's own processor: any object with `process(memory)`, which may return a Report, text or
    nothing."""

    def process(self, memory: Any, /) -> object: ...


ProcessorSpec = str | Processor | Processes | type[Processor] | type[Processes]
"""The values that `memory.process` accepts: a name known to `memorist process`, a processor, or its class."""


class TtlGarbageCollector(Processor):
    """Removes expired rows, pieces of records whose writers died, old idempotency keys, and rows older than the org's
    retention rules allow. Of these, only the last kind can still be read before removal.
    """

    name = "gc"

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        await core.shared.open()
        total: dict[str, int] = {}
        while counts := await core.store.purge(now=core.now()):
            for table, count in counts.items():
                total[table] = total.get(table, 0) + count
            progress(self.name, sum(counts.values()))
            # A purge removes at most 1000 rows per table, so fewer in every table mean that none are left.
            if max(counts.values()) < 1000:
                break
        if uploads := await collect_uploads(core):
            total["uploads"] = uploads
        if replays := await collect_keys(core):
            total["replays"] = replays
        for kind, count in (await apply_retention(core)).items():
            total[f"retained {kind}s"] = count
        removed = sum(total.values())
        return Report(self.name, removed, removed, total)


class FactExtractor(Processor):
    """Works through the `derive` queue, extracting facts and learnings from users' messages."""

    name = "facts"

    def __init__(self, model: ModelSpec = None) -> None:
        self._model = model

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        outbox, count = Outbox(core.shared, core.org, model=_open_model(core, self._model)), 0
        await outbox.drain(("index",))
        while claimed := await outbox.step(("derive", REREAD)):
            count += claimed
            progress(self.name, claimed)
        derive = (await Jobs(core).backlog())[1]
        notes = [f"{derive.dead} dead letters; see `memorist doctor`"] if derive.dead else []
        notes += [f"{derive.failing} will be tried again; see `memorist doctor`"] if derive.failing else []
        return Report(self.name, count, count, notes=tuple(notes))


class VectorIndexer(Processor):
    """Runs waiting index jobs, then rebuilds every entry that another analysis or embedder produced. It can be resumed.

    It works page by page while the memory is in use. A rewritten entry gets a new stamp, so the remaining work is
    always at the beginning.
    """

    name = "reindex"

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        count, maker, changed = await _index(core), index_version(core).maker, 0
        async for stats in _changed_spaces(core, "embed", maker):
            changed += await self.reindex(core, stats.ns, progress)
        await _record_sweep(core, "embed", maker)
        notes = ("no embedder: recall is lexical",) if core.shared.embedder is None else ()
        return Report(self.name, count, changed, notes=notes)

    async def reindex(self, core: Core, ns: str, progress: Progress = _ignore) -> int:
        """Rebuild a namespace's outdated entries, starting at the last run's watermark, and return how many were
        rebuilt.
        """
        stats, sweep = await core.get(NamespaceStats, ns), await core.get(Sweep, ns, "embed")
        version = index_version(core)
        if stats is None:
            return 0
        start = sweep.position if sweep is not None and sweep.maker == version.maker else 0
        # Rebuilt entries get higher stamps, so without this bound the loop would meet them again.
        target, changed, pages = stats.stamp, 0, 0
        after: tuple[Any, ...] = (start,)
        while start < target and (page := await core.scan(Entry, ns, index="by_stamp", after=after, limit=PAGE_ROWS)):
            page = [entry for entry in page if entry.stamp <= target]
            if not page:
                break
            written = await self._page(core, ns, page)
            changed, pages = changed + written, pages + (written > 0)
            last = page[-1]
            after = (last.stamp, last.kind, last.parent, last.id)
            # One less, because the entries of one batch share a stamp, and the page may end among them.
            await core.apply(Put(_sweep(core, "embed", ns, last.stamp - 1, version.maker)))
            progress(self.name, len(page))
        fresh = await core.get(NamespaceStats, ns)
        # If only we wrote, the newer stamps are our own and need no look; otherwise the next run looks at them.
        ours = fresh if fresh is not None and fresh.stamp == target + pages else None
        if ours is not None and ours.analysis != version.analysis:
            ours = await self._record_analysis(core, ours, version.analysis)
        await _finish_namespace(core, _sweep(core, "embed", ns, ours.stamp if ours else target, version.maker), ours)
        return changed

    async def _record_analysis(self, core: Core, stats: NamespaceStats, version: str) -> NamespaceStats | None:
        """Record that all entries of a namespace come from this analysis.

        Return None if it was written to in the meantime.
        """
        fresh = msgspec.structs.replace(stats, analysis=version)
        try:
            results = await core.apply(Expect(NamespaceStats, stats.row_key, stats.version), Put(fresh))
        except Conflict:
            return None
        return msgspec.structs.replace(fresh, version=results.stored(fresh).version)

    async def _page(self, core: Core, ns: str, page: Sequence[Entry]) -> int:
        """Rebuild the outdated entries of a page, and return how many were rebuilt."""
        version, embedder = index_version(core), core.shared.embedder
        keys = [entry.row_key[1:] for entry in page if not version.matches(entry)]
        while keys:
            # Read before the entries: what is forgotten after this line must not come back as a rebuilt entry.
            guards = await epochs(core, Ref("namespace", ns))
            stats = await core.get(NamespaceStats, ns)
            entries = [entry for entry in await core.get_many(Entry, keys) if entry is not None]
            drafts = await drafts_of(core, entries)
            if stats is None or not drafts:
                return 0
            vectors = None if embedder is None else await embedder.embed([draft.text for draft in drafts])
            if await self._written(core, stats, entries, drafts, vectors, guards):
                return len(drafts)
        return 0

    async def _written(
        self,
        core: Core,
        stats: NamespaceStats,
        held: Sequence[Entry],
        drafts: Sequence[Draft],
        vectors: Vectors | None,
        guards: Sequence[Change],
    ) -> bool:
        """Write entries. Return False if something in the namespace has been forgotten since they were read.

        Entries whose record was deleted in the meantime are deleted again."""
        from ..recall.vectors import encode_many

        stamp, old = stats.stamp + 1, {entry.row_key: entry for entry in held}
        encoded = None if vectors is None else encode_many(vectors)
        name = index_version(core).embedder
        entries, _ = await core.runtime.call(analyse_drafts, drafts, encoded, name, stamp, stats.languages)
        if encoded is None:  # without an embedder, the vectors of an earlier one stay
            entries = [
                msgspec.structs.replace(entry, embedder=before.embedder, vector=before.vector)
                for entry in entries
                if (before := old[entry.row_key])
            ]
        replaced = [old[entry.row_key] for entry in entries]
        counted = count_entries(stats, entries, replaced)
        changes: list[Change] = [
            Expect(NamespaceStats, stats.row_key, stats.version),
            *guards,
            Put(msgspec.structs.replace(counted, stamp=stamp, updated_at=core.at())),
            *(Put(entry) for entry in entries),
        ]
        try:
            await core.apply(*changes)
        except Conflict:
            return False
        # The guards are those of the namespace alone, so a single record may have been deleted while it was embedded.
        indexed_keys = {draft.entry.row_key for draft in await drafts_of(core, entries)}
        deletions = [Delete(Entry, entry.row_key) for entry in entries if entry.row_key not in indexed_keys]
        if deletions:
            await core.apply(*deletions)
        return True


class IndexVersion(msgspec.Struct, frozen=True):
    """Identifies the analysis and, if there is one, the embedder that currently create entries."""

    analysis: str
    embedder: str | None

    @property
    def maker(self) -> str:
        """This is the analysis and the embedder as one text, in the form stored by a `Sweep`."""
        return f"{self.analysis} {self.embedder or ''}".strip()

    def matches(self, entry: Entry) -> bool:
        """Return whether this analysis and embedder produced an entry."""
        return entry.analysis == self.analysis and self.embedder in (None, entry.embedder)


def index_version(core: Core) -> IndexVersion:
    """Return the analysis and the embedder that this memory uses to create entries."""
    from ..recall.analyze import analysis_version

    embedder = core.shared.embedder
    return IndexVersion(analysis_version(), None if embedder is None else embedder.name)


class Summarizer(Processor):
    """Folds threads that exceed a token limit by writing a summary of their oldest part. Nothing is deleted."""

    name = "summarizer"

    def __init__(
        self, model: ModelSpec = None, *, max_tokens: int = 8000, compact_at: float = 0.8, compact_to: float = 0.5
    ) -> None:
        self._model, self._room, self._at, self._to = model, max_tokens, compact_at, compact_to
        self.last = True
        """Whether this is the last processor in the run to use the `fold` jobs, in which case it deletes them."""

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        model = _open_model(core, self._model) or core.shared.model
        seen = changed = 0
        async for thread in _grown_threads(core, self.last):
            seen += 1
            if thread.tokens > self._at * self._room:
                folded = await Folding(core).fold(
                    thread.id, room_tokens=self._room, compact_at=self._at, compact_to=self._to, model=model
                )
                changed += folded is not None
            progress(self.name, 1)
        return Report(self.name, seen, changed)


class TokenLimiter(Summarizer):
    """Keeps the unfolded part of each thread below a token limit by folding the oldest messages."""

    name = "limiter"

    def __init__(self, max_tokens: int = 4000, model: ModelSpec = None) -> None:
        if max_tokens < 1:
            raise UsageError("max_tokens must be at least 1")
        super().__init__(model, max_tokens=max_tokens, compact_at=1.0, compact_to=0.5)


class Archiver(Processor):
    """Folds messages older than a given age into a summary, even in threads that are still in use. You can still read
    the messages."""

    name = "archiver"

    def __init__(self, after: str | Ttl = "30d", model: ModelSpec = None) -> None:
        self._age = int(_age(after).total_seconds() * 1e6)
        self._model = model

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        await _index(core)
        model = _open_model(core, self._model) or core.shared.model
        store: Any = core.store
        limit, owner, seen, changed = core.now() - self._age, f"archiver-{new_id()}", 0, 0
        # A job's run_at is the time of the oldest unfolded message; claiming with now=limit finds those old enough.
        while jobs := await store.claim(
            "archive", owner=owner, now=limit, lease=JOB_LEASE_MICROSECONDS, limit=CLAIMED_JOBS, org=core.org
        ):
            for job in jobs:
                # At most once per thirtieth of the age, so that a thread in use does not cost a summary per message.
                changed += await Folding(core).archive(job, limit, pause=self._age // 30, model=model)
                seen += 1
                progress(self.name, 1)
        return Report(self.name, seen, changed)


class Deduplicator(Processor):
    """Merges facts in one namespace that have the same value and whose keys differ only in case, spacing or
    punctuation."""

    name = "dedup"

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        await _index(core)
        seen = changed = 0
        async for stats in _changed_spaces(core, "dedup"):
            compared, merged = await self._namespace(core, stats)
            seen, changed = seen + compared, changed + merged
            progress(self.name, compared)
        await _record_sweep(core, "dedup")
        return Report(self.name, seen, changed)

    async def _namespace(self, core: Core, stats: NamespaceStats) -> tuple[int, int]:
        from .facts.facts import Facts

        ns, sweep = stats.ns, await core.get(Sweep, stats.ns, "dedup")
        fresh = sweep is None or sweep.position < stats.stamp
        facts = await core.scan(Fact, ns) if fresh else []
        facts_by_content: dict[tuple[str, bytes], Fact] = {}
        merged = 0
        for fact in facts:
            content = (_folded(fact.key), _folded_value(fact.value))
            same = facts_by_content.setdefault(content, fact)
            if same is not fact:
                worse = min(same, fact, key=lambda candidate: (candidate.confidence, candidate.updated_at))
                await Facts(core).delete(ns, worse.key)
                facts_by_content[content] = fact if worse is same else same
                merged += 1
        await _finish_namespace(core, _sweep(core, "dedup", ns, stats.stamp), stats)
        return len(facts), merged


class Tidier(Processor):
    """Makes a tidy-up plan for each user and applies it. `plans.undo` undoes a plan. With `dry_run` it only counts."""

    name = "tidier"

    def __init__(self, model: ModelSpec = None, *, dry_run: bool = False) -> None:
        self._model, self._dry_run = model, dry_run

    async def run(self, core: Core, progress: Progress = _ignore) -> Report:
        from .tidying import Plans

        await _index(core)
        model = _open_model(core, self._model) or core.shared.model
        seen = changed = 0
        notes: list[str] = []
        async for stats in _changed_spaces(core, "tidy"):
            ns = stats.ns
            if not ns.startswith("user:"):
                await core.apply(Delete(Job, (core.org, "tidy", ns, ns)))
                continue
            plan = await Plans(core)._make_plan(ns, model)
            seen += len(plan.versions)
            if plan.lines:
                notes.append(f"{ns}: {len(plan.lines)} lines, plan {plan.id}")
            if not self._dry_run:
                changed += len((await Plans(core).apply(plan)).lines) if plan.lines else 0
                await _finish_namespace(core, _sweep(core, "tidy", ns, stats.stamp), stats)
            progress(self.name, len(plan.versions))
        if not self._dry_run:
            await _record_sweep(core, "tidy")
        return Report(self.name, seen, changed, notes=tuple(notes))


Embedder = VectorIndexer
"""This is another name of `VectorIndexer`. Models that embed text have the type `memorist.types.Embedder`."""

PROCESSORS: dict[str, Callable[[], Processor]] = {
    "gc": TtlGarbageCollector,
    "facts": FactExtractor,
    "reindex": VectorIndexer,
    "summarizer": Summarizer,
    "limiter": TokenLimiter,
    "archiver": Archiver,
    "dedup": Deduplicator,
    "tidier": Tidier,
}
"""Processors, by the names that `memorist process` accepts."""


class Processing:
    """Runs processors on a handle."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def process(self, *processors: ProcessorSpec, progress: Progress | None = None) -> list[Report]:
        """Run processors in order: names, classes or objects, including your own with `process(memory)`."""
        core = self._core
        core.scope.whole_org("maintenance")
        chosen = [_as_processor(processor) for processor in processors or ("gc", "facts", "reindex")]
        folding = [processor for processor in chosen if isinstance(processor, Summarizer)]
        for processor in folding:
            processor.last = processor is folding[-1]
        return [await _ran(core, processor, progress or _ignore) for processor in chosen]


async def _ran(core: Core, processor: Any, progress: Progress) -> Report:
    name = str(getattr(processor, "name", type(processor).__name__))
    with core.shared.events.span("process", org=core.org, processor=name):
        if isinstance(processor, Processor):
            return await processor.run(core, progress)
        report = await core.runtime.resolve(processor.process(core.facade()))
    return report if isinstance(report, Report) else Report(name, notes=() if report is None else (str(report),))


def _as_processor(spec: object) -> object:
    if isinstance(spec, str):
        if spec not in PROCESSORS:
            raise UsageError(f"there is no processor {spec!r}; use one of {', '.join(PROCESSORS)}")
        return PROCESSORS[spec]()
    processor = spec() if isinstance(spec, type) else spec
    if not callable(getattr(processor, "process", None)):
        raise UsageError(f"{type(processor).__name__} is not a processor: it has no process(memory)")
    return processor


def _open_model(core: Core, model: ModelSpec) -> Any:
    """Return a processor's own model, opened for this memory's runtime, or None if it has none."""
    if model is None:
        return None
    from ..models import open_model

    return open_model(model, blocking=core.runtime.blocking, call=core.runtime.offload)


async def _grown_threads(core: Core, last: bool) -> AsyncIterator[Thread]:
    """Yield threads that have grown since the last run. The indexer creates a `fold` job for each, and the `last`
    processor that uses the job deletes it.
    """
    await _index(core)
    after: tuple[str, str] | None = None
    while jobs := await core.scan(Job, "fold", after=after, limit=PAGE_ROWS):
        after = (jobs[-1].ns, jobs[-1].item)
        for job in jobs:
            thread = await core.get(Thread, job.item.partition(":")[2])
            if thread is not None:
                yield thread
            if last or thread is None:
                await _end(core, job, thread)


async def _end(core: Core, job: Job, thread: Thread | None) -> None:
    """Delete a job unless its thread has grown since it was read. In that case, the next run repeats it."""
    unchanged = [] if thread is None else [Expect(Thread, thread.row_key, thread.version)]
    with suppress(Conflict):
        await core.apply(*unchanged, *job_end(job))


async def _index(core: Core) -> int:
    """Run the waiting index jobs, which create the jobs of the other processors, and return how many there were."""
    return await Outbox(core.shared, core.org).drain(("index",))


async def _changed_spaces(core: Core, queue: str, maker: str | None = None) -> AsyncIterator[NamespaceStats]:
    """Yield the statistics of the namespaces to process: those for which the indexer has created a job or, until the
    first full run has finished, all of them.
    """
    whole = await core.get(Sweep, "", queue)
    if whole is None or whole.maker != maker:
        names = [stats.ns for stats in await core.scan(view_of(NamespaceStats))]
    else:
        names = [job.ns for job in await core.scan(Job, queue)]
    for ns in names:
        # Read one by one, because a run over many namespaces takes a while and each must begin at its newest entry.
        stats = await core.get(NamespaceStats, ns)
        if stats is None:
            await core.apply(Delete(Job, (core.org, queue, ns, ns)))
        else:
            yield stats


async def _record_sweep(core: Core, queue: str, maker: str | None = None) -> None:
    """Record that a full run over all namespaces has finished, so that later runs follow the jobs."""
    whole = await core.get(Sweep, "", queue)
    if whole is None or whole.maker != maker:
        await core.apply(Put(_sweep(core, queue, "", 0, maker)))


async def _finish_namespace(core: Core, sweep: Sweep, stats: NamespaceStats | None) -> None:
    """Write the watermark of a namespace, and delete its job unless something was written there in the meantime."""
    if stats is not None:
        done = Delete(Job, (core.org, sweep.processor, sweep.ns, sweep.ns))
        try:
            await core.apply(Expect(NamespaceStats, stats.row_key, stats.version), Put(sweep), done)
        except Conflict:
            pass  # the job stays for the next run
        else:
            return
    await core.apply(Put(sweep))


def _sweep(core: Core, queue: str, ns: str, position: int, maker: str | None = None) -> Sweep:
    return Sweep(org=core.org, ns=ns, processor=queue, position=position, maker=maker, updated_at=core.at())


def _age(age: str | float | timedelta) -> timedelta:
    if isinstance(age, timedelta):
        return age
    if isinstance(age, int | float):
        return timedelta(seconds=age)
    match = re.fullmatch(r"(\d+)\s*([smhdw])", age.strip())
    if match is None:
        raise UsageError("an age is a number with s, m, h, d or w, such as '30d'")
    return timedelta(seconds=int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[match[2]])


def _folded(key: str) -> str:
    return re.sub(r"[\W_]+", "", key).casefold()


def _folded_value(value: object) -> bytes:
    from ..values import fingerprint_json

    return fingerprint_json(" ".join(value.split()).casefold() if isinstance(value, str) else value)

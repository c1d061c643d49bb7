"""Indexes records for recall. A worker, or the next recall, turns jobs in the `index` queue into entries.

One transaction per batch writes the entries, moves the watermarks and deletes the jobs, so a crash leaves nothing half
indexed. The namespace's mark counts batches (`stamp`) and contains the statistics that ranking needs. A compare-and-set
on its version makes concurrent indexers of one namespace take turns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from time import monotonic

import msgspec

from ...backoff import pause
from ...errors import Conflict, ModelError
from ...filters import parse_filter
from ...gate.passing import mask_text, mask_values
from ...gate.policy import Gate
from ...kinds import FINDABLE, MEMORIES, Kind, chunk_text, entry_of, own_fields
from ...messages.message import Message, split_message_id
from ...messages.privacy import open_text
from ...records import (
    SUPERSEDED,
    Chunk,
    Derivation,
    Document,
    Entry,
    Fact,
    FactVersion,
    IndexProgress,
    Job,
    Key,
    NamespaceStats,
    Record,
    Summary,
    Thread,
)
from ...stores.base import Change, Delete, Expect, Load, Put, refused_row
from ...values import fingerprint_json
from ..core import Core
from ..facts.facts import FORGOTTEN
from ..gating import policy_of
from ..index_jobs import index_job, job_end, ready_job
from ..statistics import count_entries, expiry_jobs, replaced_entries

BATCH_ENTRIES = 500
FIRST_BATCH_ENTRIES = 64
"""The first batch of a recall is small. After that batch, recall can tell whether others are currently writing."""
MAX_SCANNED_MESSAGES = 200
"""How many of a thread's newest messages a recall searches without an index while somebody keeps writing to the
thread."""
MAX_SCANNED_MATCHES = 20
"""How many of them become candidates, starting with those that contain the most words from the question."""
MAX_SMALL_BACKLOG = 4
"""A backlog of at most this many messages, such as a single turn, is always indexed."""
MAX_CONTEXT_TERMS = 60
"""How many terms from the previous turn to index together with a turn; more would outweigh the turn's own terms."""
MAX_VERSIONS = 16
"""How many earlier versions of a fact to search for the messages that stated them."""
LANGUAGE_CHARACTERS = 400
"""How many characters are used to detect a text's language."""
FOLDABLE_TOKENS = 500
MAX_LOST_RACES = 8
"""How many times `catch_up` retries jobs that others changed in the meantime. All retries together take about a third
of a second."""
INDEX = "the index"
"""The name of the part that `doctor` reports while the store refuses to write entries."""
_ALIVE = parse_filter({"status": {"$ne": "dead"}})


class Draft(msgspec.Struct, frozen=True):
    """Represents a new entry without terms or a vector, and the text from which to compute them."""

    entry: Entry
    text: str


class IndexWork(msgspec.Struct):
    """Holds the work of a batch of jobs: the entries to write, and the changes that go with them."""

    drafts: list[Draft] = msgspec.field(default_factory=list)
    changes: list[Change] = msgspec.field(default_factory=list)
    ends: list[Change] = msgspec.field(default_factory=list)
    """These are changes that end the threads' jobs, provided that no thread has grown since it was read."""
    touched: list[Entry] = msgspec.field(default_factory=list)
    """These are existing entries whose metadata changes."""


class Indexer:
    """Turns index jobs into entries."""

    def __init__(self, core: Core, *, until: float | None = None) -> None:
        self._core = core
        self._until = until
        """The time on the monotonic clock at which to stop after the current batch."""
        self._batch = BATCH_ENTRIES
        self.left: dict[str, int] = {}
        """The last indexed message of each thread whose remaining messages were left for later because somebody keeps
        writing."""
        self.busy: dict[str, bool] = {}
        """The threads that others keep writing to. The value is True if a thread grew while it was being indexed, and
        False if another process left a backlog."""
        self._goals: dict[str, int] = {}
        """By item: the length of a thread when its job was first read. Messages appended later wait for the next call,
        because indexing would otherwise never finish while someone keeps writing."""

    async def catch_up(self, namespaces: Sequence[str], *, threads: bool = True) -> int:
        """Run the index jobs waiting in these namespaces, and return how many entries were written.

        Jobs added in the meantime are left for later. Without `threads`, jobs of threads are left for later too.
        """
        total = 0
        for ns in namespaces:
            self._batch = FIRST_BATCH_ENTRIES
            # Read without a claim, so several processes may index the same jobs. The guards in `_commit` let one of
            # them win, and the others find the entries there.
            jobs = await self._core.scan(Job, "index", ns, where=_ALIVE)
            items = [job for job in jobs if not job.item.startswith("thread:")]
            talks = [job for job in jobs if job.item.startswith("thread:")] if threads else []
            total += await self._finish(ns, [*[job for job in talks if not await self._rests(job)], *items])
        return total

    async def _rests(self, job: Job) -> bool:
        """Return whether a busy thread was indexed so recently that this recall only searches the unindexed rest."""
        id = job.item.partition(":")[2]
        until, grew = self._core.shared.busy_threads.get((self._core.org, id), (0.0, False))
        return monotonic() < until and await self._leaves(id, grew=grew)

    async def _finish(self, ns: str, jobs: Sequence[Job]) -> int:
        """Run a namespace's jobs, and retry those that others changed in the meantime, up to a limit."""
        total, lost = await self.run(ns, jobs)
        for attempt in range(MAX_LOST_RACES):
            if not lost or self._is_late():
                break
            await self._core.runtime.sleep(pause(attempt, first=0.001, longest=0.1))
            # A job that is gone was done by whoever got there first.
            rows = await self._core.get_many(Job, [job.row_key[1:] for job in lost])
            waiting = [job for job in rows if job is not None and job.status != "dead"]
            versions = {job.row_key: job.version for job in lost}
            # A job that changes all the time must not make the others of its batch fail with it.
            steady = [job for job in waiting if job.version == versions[job.row_key]]
            lost = []
            for group in (steady, [job for job in waiting if job.version != versions[job.row_key]]):
                written, again = await self.run(ns, group)
                total, lost = total + written, lost + again
        return total

    def _is_late(self) -> bool:
        return self._until is not None and monotonic() > self._until

    async def run(self, ns: str, jobs: Sequence[Job]) -> tuple[int, list[Job]]:
        """Work through the jobs of one namespace, batch by batch.

        Return how many entries were written, and the jobs in batches that others interfered with.
        """
        # Messages first: a fact that is indexed with them marks those that stated its earlier values.
        left = sorted(jobs, key=lambda job: not job.item.startswith("thread:"))
        total, lost = 0, list[Job]()
        while left:
            plan, count = IndexWork(), 0
            more = False
            while count < len(left) and len(plan.drafts) < self._batch and not more:
                more = await self._plan(left[count], plan)
                count += 0 if more else 1
            written = await self._commit(ns, plan)
            if written is None:
                # The job that is half done is tried again with the others: this batch did not move its watermark.
                lost += left[: count + more]
                count += more
            total, left = total + (written or 0), left[count:]
            if self._core.shared.closing or self._is_late():
                break  # the remaining jobs stay in the outbox for the next worker
            if more and left and await self._leaves_rest(left[0]):
                left = left[1:]
            if not any(self.busy.values()):
                self._batch = BATCH_ENTRIES
        return total, lost

    async def _leaves_rest(self, job: Job) -> bool:
        """Return whether the rest of a thread is left for later, because somebody keeps writing to it."""
        id = job.item.partition(":")[2]
        thread = await self._core.get(Thread, id)
        goal = self._goals.get(job.item)  # None for a document, or a thread whose turn has not come
        if self._until is None or thread is None or goal is None or thread.length <= goal:
            return False
        self.busy[id] = True
        return await self._leaves(id, grew=True)

    async def _leaves(self, id: str, *, grew: bool) -> bool:
        """Leave the rest of a thread for later, unless it is short or this process wrote some of it.

        This process's own messages are left only if the thread `grew` in the meantime and the search without an index
        reads all of them, so that a program always finds what it has stored.
        """
        thread, progress = await self._core.get(Thread, id), await self._core.get(IndexProgress, id)
        position = progress.position if progress else 0
        waiting = (thread.length if thread else 0) - position
        is_own = self._core.shared.appended_length(self._core.org, id) > position
        if waiting <= MAX_SMALL_BACKLOG or (is_own and not (grew and waiting <= MAX_SCANNED_MESSAGES)):
            return False
        self.left[id] = position
        return True

    async def _plan(self, job: Job, plan: IndexWork) -> bool:
        """Add a job's work to the plan, and return whether part of the job is left for the next batch."""
        kind, _, item = job.item.partition(":")
        if kind == "thread":
            return await self._thread(job, item, plan)
        registered = FINDABLE.get(kind)
        findable = None if registered is None else registered.findable
        if registered is not None and findable is not None and findable.make_entry is not None:
            await self._row(job, registered, item, plan)
        elif kind == "document":
            await self._document(job, item, plan)
        elif kind == "summary":
            await self._summary(job, item, plan)
        # Setting the record again also writes its job again, so a value that is outdated by now fails this batch.
        plan.changes += job_end(job)
        return False

    async def _thread(self, job: Job, id: str, plan: IndexWork) -> bool:
        core = self._core
        # The thread is read before its messages: an append in between makes them more than `length` says, which is
        # harmless. In the other order, an empty page would move the watermark past messages that nobody has seen.
        thread = await core.get(Thread, id)
        progress, derivation = await core.get(IndexProgress, id), await core.get(Derivation, id)
        if thread is None or thread.ns != job.ns:
            plan.changes += [Delete(Job, job.row_key)]
            if thread is not None:
                # The thread was created again in another namespace since the append: move its job there.
                plan.changes.append(Put(index_job(thread.org, thread.ns, job.item, core.at()), absent=True))
            return False
        indexed = progress.position if progress else 0
        room = self._batch - len(plan.drafts)
        # Start one message earlier, because a message is indexed together with the one before it.
        messages = await core.scan(Message, id, after=(max(indexed - 1, 0),), limit=room + 1)
        before = messages[0] if messages and messages[0].seq <= indexed else None
        fresh = [message for message in messages if message.seq > indexed][:room]
        for message in fresh:
            if draft := _message_draft(thread, message, before):
                plan.drafts.append(draft)
            before = message
        # Deleted messages leave gaps: with no message left, the watermark moves past them to the end.
        reached = fresh[-1].seq if fresh else thread.length
        goal = self._goals.setdefault(job.item, thread.length)
        if goal - indexed > MAX_SMALL_BACKLOG and core.shared.appended_length(core.org, id) <= indexed:
            self.busy.setdefault(id, False)
        is_partial = reached < thread.length and bool(fresh)
        more = is_partial and reached < goal
        position = reached if is_partial else thread.length
        # Redacting or forgetting an indexed message moves the watermark back, which must fail this batch.
        plan.changes += [
            Expect(IndexProgress, (core.org, id), progress.version if progress else 0),
            Put(IndexProgress(org=core.org, thread=id, position=position, updated_at=core.at())),
        ]
        if fresh:
            plan.changes.append(_archive_job_change(thread, job.item, fresh[0]))
        # Forgetting the thread deletes this job, and forgetting a message rewrites it: both must fail this batch.
        plan.changes.append(Expect(Job, job.row_key, job.version))
        if not is_partial:
            # The job is deleted only if nothing was appended since the thread was read.
            plan.ends += [Expect(Thread, thread.row_key, thread.version), Delete(Job, job.row_key)]
        if not more:
            plan.changes += await self._revival_changes(job, derivation)
            plan.changes += _follow_up_jobs(thread, job.item, core.shared.derives)
        return more

    async def _revival_changes(self, job: Job, derivation: Derivation | None) -> list[Change]:
        """Return changes that revive the dead derive job of a thread that has new messages. Its error stays visible."""
        if derivation is None or not derivation.stuck:
            return []
        core, at = self._core, self._core.at()
        dead = await core.get(Job, "derive", job.ns, job.item)
        if dead is None or dead.status != "dead":
            return []
        return [
            Expect(Job, dead.row_key, dead.version),
            Put(msgspec.structs.replace(ready_job(dead, at), error=dead.error)),
            Expect(Derivation, derivation.row_key, derivation.version),
            Put(msgspec.structs.replace(derivation, stuck=False, updated_at=at)),
        ]

    async def _row(self, job: Job, kind: Kind, id: str, plan: IndexWork) -> None:
        """Plan the entry of a record that is indexed on its own, such as a fact."""
        findable = kind.findable
        assert findable is not None
        record = await self._core.get(kind.record, job.ns, id)
        draft = None if record is None else draft_of(kind, record)
        if record is None or draft is None:
            name = f"{job.ns}/{id}" if kind.record is Fact else id
            plan.changes.append(Delete(Entry, (job.org, job.ns, findable.entry, "", name)))
            if kind.record is Fact and record is None:
                await self._mark_ended(job.ns, id, plan)
            return
        if isinstance(record, Fact) and record.indexed is None:
            await self._mark_superseded(record, plan)
        plan.drafts.append(draft)

    async def _mark_superseded(self, fact: Fact, plan: IndexWork) -> None:
        """Mark the messages that stated an earlier value of a fact as superseded by the fact.

        Messages that stated the current value lose the mark, in case the fact was changed back.
        """
        if fact.version < 2:
            return
        old = await self._core.scan(FactVersion, fact.ns, fact.key, reverse=True, limit=MAX_VERSIONS)
        same = fingerprint_json(fact.value)
        true = {id for version in old if fingerprint_json(version.value) == same for id in version.sources}
        await self._mark(fact, old, true.union(fact.sources), plan)

    async def _mark_ended(self, ns: str, key: str, plan: IndexWork) -> None:
        """Mark the messages that stated a retracted fact with the fact's id."""
        old = await self._core.scan(FactVersion, ns, key, reverse=True, limit=MAX_VERSIONS)
        if old and old[0].status == "restored":
            await self._mark(old[0], old, {id for version in old for id in version.sources}, plan)
        if not old or old[0].status != "retracted":
            return
        # The statement that ended a fact stays true; a request to forget must not be recalled as a statement itself.
        true = set() if key.startswith(FORGOTTEN) else set(old[0].sources[-1:])
        await self._mark(old[0], old, true, plan)

    async def _mark(self, fact: Fact, old: Sequence[FactVersion], true: set[str], plan: IndexWork) -> None:
        """Mark the messages behind versions of a fact, except the `true` ones. This covers indexed messages and those
        in the plan.
        """
        source_ids = dict.fromkeys(id for version in old for id in version.sources)
        parts = {id: split_message_id(id) for id in source_ids}
        keys = [(fact.ns, "message", thread_seq[0], id) for id, thread_seq in parts.items() if thread_seq is not None]
        entries = await self._core.get_many(Entry, keys)
        plan.touched += [
            marked for entry in entries if entry and (marked := _mark_entry(entry, fact.id, true)) is not None
        ]
        # The messages of this batch have no stored entries yet, and no later job would mark them.
        for position, draft in enumerate(plan.drafts):
            if draft.entry.kind == "message" and draft.entry.id in source_ids:
                entry = _mark_entry(draft.entry, fact.id, true) or draft.entry
                plan.drafts[position] = Draft(entry, draft.text)

    async def _document(self, job: Job, id: str, plan: IndexWork) -> None:
        document = await self._core.get(Document, job.ns, id)
        drafts: list[Draft] = []
        for chunk in await self._core.scan(Chunk, job.ns, id) if document is not None else ():
            assert document is not None
            entry = entry_of(
                document, "document", id, chunk.id, seq=chunk.position, role="document", trust=document.trust,
                source=document.source, created_at=document.updated_at, metadata=document.metadata,
            )  # fmt: skip
            drafts.append(Draft(entry, chunk_text(document, chunk)))
        await self._replace(job.ns, "document", id, drafts, plan)

    async def _summary(self, job: Job, thread: str, plan: IndexWork) -> None:
        drafts: list[Draft] = []
        # Only the newest summary is indexed, because it includes the ones before it.
        for summary in await self._core.scan(Summary, thread, reverse=True, limit=1):
            entry = entry_of(
                summary, "summary", thread, summary.id, seq=summary.last, role="summary", trust="assistant",
                created_at=summary.created_at, source=f"{thread}#{summary.last}",
            )  # fmt: skip
            drafts.append(Draft(entry, summary.text))
        await self._replace(job.ns, "summary", thread, drafts, plan)

    async def _replace(self, ns: str, kind: str, parent: str, drafts: Sequence[Draft], plan: IndexWork) -> None:
        """Plan the entries of a document's chunks or of a thread's summary, in place of those that they had before."""
        stored = {entry.id: entry for entry in await self._core.scan(Entry, ns, kind, parent)}
        for draft in drafts:
            old = stored.pop(draft.entry.id, None)
            # The id of a chunk is a hash of its text, and a summary is never rewritten, so an entry that has the same
            # id and place can stay with its vector.
            if old is None or old.seq != draft.entry.seq:
                plan.drafts.append(draft)
        plan.changes += [Delete(Entry, entry.row_key) for entry in stored.values()]

    async def _commit(self, ns: str, plan: IndexWork) -> int | None:
        """Write a batch. Return how many entries it contains, or None if others interfered."""
        core = self._core
        # Read before the texts are embedded, which may take seconds: if another process indexes meanwhile, this batch
        # fails and its jobs are read again.
        current = await core.get(NamespaceStats, ns)
        stats = current or NamespaceStats(org=core.org, ns=ns, updated_at=core.at())
        stamp = stats.stamp + 1
        entries, languages = await self._finish_entries(plan.drafts, stamp, stats.languages)
        changes: list[Change] = [Expect(NamespaceStats, stats.row_key, stats.version)]
        replaced = await replaced_entries(core, ns, entries, plan.changes)
        if entries or replaced:
            at = core.at()
            counted = count_entries(stats, entries, replaced)
            counted = msgspec.structs.replace(
                counted, stamp=stamp, languages=languages, analysis=_version_of(stats), updated_at=at
            )
            changes.append(Put(counted))
            changes += [Put(index_job(core.org, ns, ns, at, queue), absent=True) for queue in _sweeps(entries)]
            changes += expiry_jobs(core.org, ns, entries, at)
        # Loaded, because a Put would keep the time of the entry before: a fact set again is as new as its last version.
        changes += [Load(entry) for entry in entries]
        fresh = {entry.row_key for entry in entries}
        # Caches load what has a newer stamp, so an entry that is only marked needs the new stamp too.
        changes += [Put(msgspec.structs.replace(e, stamp=stamp)) for e in plan.touched if e.row_key not in fresh]
        try:
            await self._apply([*changes, *plan.changes], plan.ends)
        except Conflict:
            # Another process indexed or deleted meanwhile: the jobs are read again.
            return None
        core.shared.problems.pop(INDEX, None)
        return len(entries)

    async def _apply(self, changes: Sequence[Change], ends: Sequence[Change]) -> None:
        """Commit a batch and end its jobs. If one of the threads has grown, the jobs stay so that the rest is indexed
        later.
        """
        threads = {(change.kind.table.name, change.key) for change in ends if isinstance(change, Expect)}
        try:
            await self._core.apply(*changes, *ends)
        except Conflict as conflict:
            refused = refused_row(conflict)
            if refused not in threads:
                raise
            self.busy.update((str(key[1]), True) for table, key in threads if (table, key) == refused)
            # Without the ends, because somebody who keeps writing would make every attempt fail.
            await self._core.apply(*changes)

    async def _finish_entries(
        self, drafts: Sequence[Draft], stamp: int, languages: dict[str, int]
    ) -> tuple[list[Entry], dict[str, int]]:
        """Return the entries with their terms (and vectors, if the embedder answers), and the number of texts per
        language.
        """
        if not drafts:
            return [], languages
        # No index holds a secret, whether the message that it stands in is masked or not.
        gate = await policy_of(self._core)
        drafts = await self._core.runtime.call(lambda: [_mask_draft(gate, draft) for draft in drafts])
        vectors, name = await self._vectors([draft.text for draft in drafts])
        return await self._core.runtime.call(analyse_drafts, drafts, vectors, name, stamp, languages)

    async def _vectors(self, texts: Sequence[str]) -> tuple[list[bytes] | None, str | None]:
        from ...recall.vectors import encode_many

        embedder = self._core.shared.embedder
        if embedder is None:
            return None, None
        try:
            return encode_many(await embedder.embed(texts)), embedder.name
        except ModelError as problem:
            # Found by words only, until `memorist reindex` adds a vector.
            self._core.shared.note("embedder", problem)
            return None, None


def _version_of(stats: NamespaceStats) -> str:
    """Return the version of the analysis that produced a namespace's oldest entries, or the current version if it has
    no entries.
    """
    from ...recall.analyze import analysis_version

    return stats.analysis if stats.entries else analysis_version()


def usual_language(namespaces: Sequence[dict[str, int]]) -> str | None:
    """Return the Snowball name of the most frequent language in some namespaces."""
    counts = Counter[str]()
    for languages in namespaces:
        counts.update(languages)
    return max(counts, key=lambda name: (counts[name], name)) if counts else None


def _mask_draft(gate: Gate, draft: Draft) -> Draft:
    entry = draft.entry
    if entry.metadata or entry.context_terms:
        entry = msgspec.structs.replace(
            entry, metadata=mask_values(gate, entry.metadata), context_terms=mask_text(gate, entry.context_terms)
        )
    return Draft(entry, mask_text(gate, draft.text))


def analyse_drafts(
    drafts: Sequence[Draft], vectors: list[bytes] | None, name: str | None, stamp: int, seen: dict[str, int]
) -> tuple[list[Entry], dict[str, int]]:
    """Return entries with their terms, signals and vectors, and the number of texts per language."""
    from ...recall.analyze import analysis_version, signals, stemmer_of, token_string

    out, version = [], analysis_version()
    languages = dict(seen)
    for draft in drafts:
        if (language := stemmer_of(draft.text[:LANGUAGE_CHARACTERS])) is not None:
            languages[language] = languages.get(language, 0) + 1
    usual = usual_language([languages])
    for i, draft in enumerate(drafts):
        around = token_string(draft.entry.context_terms, usual=usual).split(" ")
        out.append(
            msgspec.structs.replace(
                draft.entry,
                stamp=stamp,
                terms=token_string(draft.text, usual=usual),
                context_terms=" ".join(around[:MAX_CONTEXT_TERMS]),
                signals=signals(draft.text),
                analysis=version,
                embedder=name,
                vector=None if vectors is None else vectors[i],
            )
        )
    return out, languages


def draft_of(kind: Kind, record: Record) -> Draft | None:
    """Return the entry and text of a record that is indexed on its own, or None if it is not indexed."""
    findable = kind.findable
    assert findable is not None
    assert findable.make_entry is not None
    text = (findable.sought or findable.text)(record) if findable.live(record) else ""
    if not text.strip():
        return None
    return Draft(findable.make_entry(record), text)


def _mark_entry(entry: Entry, fact: str, true: set[str]) -> Entry | None:
    """Return a message's entry with or without the mark of a fact, or None if the entry is already correct."""
    if (entry.metadata.get(SUPERSEDED) == fact) == (entry.id not in true):
        return None
    metadata = {name: value for name, value in entry.metadata.items() if name != SUPERSEDED}
    if entry.id not in true:
        metadata[SUPERSEDED] = fact
    return msgspec.structs.replace(entry, metadata=metadata)


def _archive_job_change(thread: Thread, item: str, oldest: Message) -> Change:
    """Return the archive job of a thread, dated like the oldest message that the archiver has not processed yet."""
    at = oldest.created_at or thread.created_at
    return Put(index_job(thread.org, thread.ns, item, at, "archive"), absent=True)


def _sweeps(entries: Sequence[Entry]) -> list[str]:
    """Return the queues of the processors to run on a namespace once it contains something new."""
    kinds = {entry.kind for entry in entries}
    return [
        "embed",
        *(["dedup"] if "fact" in kinds else []),
        *(["tidy"] if not kinds.isdisjoint(kind.name for kind in MEMORIES) else []),
    ]


def _follow_up_jobs(thread: Thread, item: str, derives: bool) -> list[Change]:
    """Return the jobs that follow indexing a thread: deriving from it, and folding it if it is long."""
    at = thread.updated_at
    changes: list[Change] = []
    if derives:
        changes.append(Put(index_job(thread.org, thread.ns, item, at, "derive"), absent=True))
    if thread.tokens >= FOLDABLE_TOKENS:
        changes.append(Put(index_job(thread.org, thread.ns, item, at, "fold"), absent=True))
    return changes


def _message_draft(thread: Thread, message: Message, before: Message | None) -> Draft | None:
    text = open_text(message)
    if not text.strip() or message.role in ("system", "developer"):
        return None
    entry = entry_of(
        message, "message", thread.id, message.id, seq=message.seq, role=message.role, speaker=message.name,
        trust=message.trust_level, metadata=own_fields(message.metadata), ns=thread.ns,
        created_at=message.created_at or thread.created_at, expires_at=message.expires_at,
    )  # fmt: skip
    # context_terms holds plain text until the batch is analysed.
    return Draft(msgspec.structs.replace(entry, context_terms=open_text(before) if before else ""), text)


async def unindexed_drafts(core: Core, threads: Mapping[str, int], terms: Sequence[str]) -> list[Draft]:
    """Return drafts of unindexed messages that seem to contain one of the terms, best first.

    This reads each thread's newest `MAX_SCANNED_MESSAGES` after its last indexed message.
    """
    matches: list[tuple[int, Draft]] = []
    for id, position in threads.items():
        thread = await core.get(Thread, id)
        if thread is None:
            continue
        messages = await core.scan(Message, id, after=(position,), reverse=True, limit=MAX_SCANNED_MESSAGES)
        counts = await core.runtime.call(_count_terms, [message.text for message in messages], terms)
        for index, count in counts.items():
            if draft := _message_draft(thread, messages[index], None):
                matches.append((count, draft))
    gate = await policy_of(core)
    best = sorted(matches, key=lambda match: (-match[0], -match[1].entry.seq))[:MAX_SCANNED_MATCHES]
    return [_mask_draft(gate, draft) for _, draft in best]


def _count_terms(texts: Sequence[str], terms: Sequence[str]) -> dict[int, int]:
    """Return how many of the terms each text seems to contain, by the text's index. Texts that contain none are left
    out."""
    from ...recall.analyze import fold, normalise

    # A stem may end otherwise than its word ("citi", city), and has no accents.
    starts = sorted({term if len(term) < 4 else term[:-1] for term in terms}, key=len, reverse=True)
    plain = [text.lower() if text.isascii() else fold(normalise(text)) for text in texts]
    ends = list(accumulate(len(text) + 1 for text in plain))
    # One search over all texts: to start one for each takes longer than the search.
    pattern = re.compile("|".join(map(re.escape, starts)) or r"(?!)")
    matches = {(bisect_right(ends, match.start()), match[0]) for match in pattern.finditer("\n".join(plain))}
    return Counter(index for index, _ in matches)


async def drafts_of(core: Core, entries: Sequence[Entry]) -> list[Draft]:
    """Return stored entries and the texts from which to rebuild them. Entries of deleted records are left out."""
    drafts: list[Draft] = []
    gate = await policy_of(core)
    for kind in {entry.kind for entry in entries}:
        findable = FINDABLE[kind].findable
        assert findable is not None
        own = [entry for entry in entries if entry.kind == kind]
        keys = [findable.key(entry.ns, entry.parent, entry.seq, entry.id) for entry in own]
        records = await core.get_many(FINDABLE[kind].record, keys)
        around = await _load_surroundings(core, kind, own)
        for entry, record in zip(own, records, strict=True):
            draft = None if record is None else _draft_again(FINDABLE[kind], entry, record, around)
            if draft is not None:
                drafts.append(_mask_draft(gate, draft))
    return drafts


async def _load_surroundings(core: Core, kind: str, entries: Sequence[Entry]) -> dict[Key, Record | None]:
    """Return the context needed to index an entry: the previous message, or a chunk's document."""
    if kind == "message":
        before = [(entry.parent, entry.seq - 1) for entry in entries if entry.seq > 1]
        return dict(zip(before, await core.get_many(Message, before), strict=True))
    if kind == "document":
        keys = list(dict.fromkeys((entry.ns, entry.parent) for entry in entries))
        return dict(zip(keys, await core.get_many(Document, keys), strict=True))
    return {}


def _draft_again(kind: Kind, entry: Entry, record: Record, around: Mapping[Key, Record | None]) -> Draft | None:
    findable = kind.findable
    assert findable is not None
    if findable.make_entry is not None:
        fresh = draft_of(kind, record)
        return None if fresh is None else Draft(msgspec.structs.replace(entry, context_terms=""), fresh.text)
    text, context = findable.text(record), ""
    if isinstance(record, Message):
        before = around.get((entry.parent, entry.seq - 1))
        context = open_text(before) if isinstance(before, Message) else ""
    elif isinstance(record, Chunk):
        document = around.get((entry.ns, entry.parent))
        text = chunk_text(document, record) if isinstance(document, Document) else ""
    return Draft(msgspec.structs.replace(entry, context_terms=context), text) if text.strip() else None

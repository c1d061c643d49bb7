"""A model checker of forgetting: random programs of writing, deriving, copying, deleting, expiring, folding and
forgetting, by the blocking and the async handle of one memory.

Actors are engine coroutines over a store that gives way at every call, so a scheduler with a seed decides who goes
next: each seed is one interleaving, the same on every run. Everything of one user, ids included, holds a canary.
Afterwards no row of the org may hold it, nor what either handle keeps in RAM, and what belongs to another user must
still be there.

    python -m tests.faults.forgetting_model --runs 100000 [--on postgres]
"""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec

from memorist.engine.core import Core
from memorist.engine.derive.deriving import Deriver, subject_of
from memorist.engine.derive.folding import Folding
from memorist.engine.derive.indexing import Indexer
from memorist.engine.derive.progress import BatchResult
from memorist.engine.derive.reading import Reading
from memorist.engine.documents.documents import Documents
from memorist.engine.facts.facts import Facts
from memorist.engine.forgetting import erase
from memorist.engine.forgetting.forget import Forgetting
from memorist.engine.index_jobs import index_job
from memorist.engine.learnings import Learnings
from memorist.engine.sessions.inject import Basis, Injection, Output, Remember
from memorist.engine.sessions.session import AsyncSession
from memorist.engine.shared import Parts, Shared
from memorist.engine.state import State
from memorist.engine.threads.threads import Threads
from memorist.engine.tidying import Plan, PlanLine, Plans
from memorist.engine.working import WorkingMemory
from memorist.errors import MemoristError
from memorist.extract.extracted import Extracted
from memorist.kinds import RECORDS
from memorist.messages.message import ATTACHED, Message
from memorist.records import Chunk, Document, Fact, Job, Learning, Summary, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.scope import Scope
from memorist.stores.base import Put, Scan
from memorist.stores.memory import MemoryStore
from memorist.stores.opening import open_store
from memorist.testing import FakeClock

CANARY = "zqxada"
USER = CANARY
NS = f"user:{USER}"
THREADS = (f"{CANARY}-a", f"{CANARY}-b")
FORKS = (f"{CANARY}-fork", f"{CANARY}-twig")
DOCUMENT = f"{CANARY}-doc"
ELSEWHERE = ("user:bob", "workflow:w", "agent:x")
TTL = 50.0
Step = Callable[[], Awaitable[Any]]


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Give way to the scheduler."""
    yield


class Interleaved:
    """A store that gives way before each call."""

    def __init__(self, store: Any) -> None:
        self._store = store
        for name in ("get", "get_many", "scan", "apply", "purge", "claim"):
            setattr(self, name, self._giving_way(getattr(store, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @staticmethod
    def _giving_way(method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            await _turn()
            return await method(*args, **kwargs)

        return call


class _Lock:
    def __init__(self) -> None:
        self._held = False

    async def __aenter__(self) -> None:
        while self._held:
            await _turn()
        self._held = True

    async def __aexit__(self, *_: object) -> None:
        self._held = False


class Turns(BlockingRuntime):
    """The blocking runtime, but for waiting: that gives way."""

    async def sleep(self, seconds: float) -> None:
        await _turn()

    def lock(self) -> Any:
        return _Lock()


class Read(msgspec.Struct, frozen=True):
    """Something an actor has read, to derive from: its id in lineage and its text."""

    kind: str
    namespace: str
    id: str
    source: str
    trust: str = "user"


class _Reading(Reading):
    """Derives a fact from each message, with no language in it."""

    async def _extract(self, message: Message, owner: Any, earlier: Any) -> list[Extracted]:
        return [Extracted(kind="fact", key=f"said{message.seq}", value=message.text, confidence=0.9, text=message.text)]


class _Reader(Deriver):
    async def _read(self, thread: Thread, messages: Any, mark: Any, *, by_rules: bool = False) -> BatchResult:
        return await _Reading(self._core, thread, subject_of(thread), None).by_rules(messages)


class _Planned(msgspec.Struct, frozen=True):
    first: int
    last: int
    messages: tuple[Message, ...] = ()


class _Digest(msgspec.Struct, frozen=True):
    text: str
    method: str = "extractive"
    note: str | None = None


class Beside:
    """Tells each of two handles on one store of the other, as `opening.Twin` does."""

    def __init__(self, first: Shared, second: Shared) -> None:
        self._pair = (first, second)

    def beside(self, shared: Shared) -> Shared:
        return self._pair[shared is self._pair[0]]


class World:
    """One org, its two users, and what can happen to them."""

    def __init__(self, store: Any, seed: int) -> None:
        self.random = Random(seed)
        self.clock = FakeClock()
        self.org = f"m{seed}"
        self.twins = [Shared(store, Turns(), self.clock, Parts(embedder=None, counter="estimate")) for _ in range(2)]
        for shared in self.twins:
            shared.is_open = True
            shared.twin = Beside(*self.twins)
        self.cores = [Core(shared, Scope(self.org)) for shared in self.twins]
        self._number = 0
        self._patience = self.random.choice((0.0, 0.9))

    @property
    def core(self) -> Core:
        """The org's handle for blocking or for awaiting callers."""
        return self.random.choice(self.cores)

    @property
    def ada(self) -> Core:
        """The user's own handle, one of both too."""
        return Core(self.random.choice(self.twins), Scope(self.org, USER))

    def text(self) -> str:
        self._number += 1
        return f"{CANARY} said {self._number}."

    # -- what a user does

    async def talk(self) -> None:
        thread = self.random.choice(THREADS)
        await Threads(self.core).create(NS, id=thread, ttl=self.random.choice((None, None, TTL)))
        await Threads(self.core).append(thread, self.text(), self.text())

    async def note(self) -> None:
        await Facts(self.core).set(NS, self.random.choice("pq"), self.text())

    async def document(self) -> None:
        await Documents(self.core).add(
            NS, self.text(), id=DOCUMENT, source=self.random.choice((None, f"{CANARY}.txt")),
            ttl=self.random.choice((None, TTL)),
        )  # fmt: skip

    async def keep(self) -> None:
        await State(self.ada).set("seen", self.text())
        await WorkingMemory(self.ada).add_turn({"role": "user", "text": self.text()})

    async def converse(self) -> None:
        """A session: it creates or resumes a thread; its turn carries what was recalled for it."""
        talk = AsyncSession(self.core, self.random.choice(THREADS), user=USER)
        question = self.text()
        if self.random.random() < 0.3:
            await talk.context(question)
        await talk.add(question, self.text())

    async def fork(self) -> None:
        """A copy of a thread, or of a copy."""
        source = self.random.choice((*THREADS, *FORKS))
        await Threads(self.core).fork(source, self.random.choice((None, 1)), new_id=self.random.choice((None, *FORKS)))

    async def spawn(self) -> None:
        """A thread made for another one, whose words it repeats, in a namespace that is not hers."""
        parent = self.random.choice(THREADS)
        texts = [message.text for message in await self.core.scan(Message, parent)]
        await Threads(self.core).create("workflow:w", id=f"{parent}-child", parent=parent)
        await Threads(self.core).append(f"{parent}-child", *texts[-1:], self.text())

    # -- what is derived

    async def read(self) -> Read | None:
        """Read something of hers, or derived from it; what it is derived from is decided by what is there."""
        core, kind = (
            self.core,
            self.random.choice(("message", "thread", "summary", "fact", "chain", "learning", "chunk", "document")),
        )
        thread = self.random.choice(THREADS)
        if kind in ("message", "thread"):
            messages = await core.scan(Message, thread)
            if messages:
                message = self.random.choice(messages)
                return Read("message", NS, message.id, message.id if kind == "message" else thread)
        elif kind == "summary":
            summaries = await core.scan(Summary, thread)
            if summaries:
                return Read("summary", NS, summaries[-1].id, summaries[-1].id)
        elif kind == "fact":
            fact = await core.get(Fact, NS, self.random.choice("pq"))
            if fact is not None:
                return Read("fact", NS, fact.id, fact.id)
        elif kind == "chain":
            ns = self.random.choice(ELSEWHERE)
            fact = await core.get(Fact, ns, self.random.choice("kl"))
            if fact is not None and CANARY in str(fact.value):
                return Read("fact", ns, fact.id, fact.id)
        elif kind == "learning":
            learnings = [row for row in await core.scan(Learning, NS) if CANARY in row.content]
            if learnings:
                return Read("learning", NS, learnings[0].id, f"{NS}/{learnings[0].id}")
        elif kind == "chunk":
            chunks = await core.scan(Chunk, NS, DOCUMENT)
            if chunks:
                return Read("document", NS, chunks[0].id, chunks[0].id)
        else:
            document = await core.get(Document, NS, DOCUMENT)
            if document is not None:
                names = (DOCUMENT, f"{NS}/{DOCUMENT}", document.source or DOCUMENT)
                return Read("document", NS, DOCUMENT, self.random.choice(names))
        return None

    async def derive_fact(self) -> None:
        read = await self.read()
        if read is not None:
            ns, key = self.random.choice(ELSEWHERE), self.random.choice("kl")
            await Facts(self.core).set(ns, key, self.text(), source=read.source)

    async def derive_learning(self) -> None:
        read = await self.read()
        if read is not None:
            await Learnings(self.core).add(self.text(), source=read.source, user=self.random.choice(("bob", USER)))

    async def tidy(self) -> None:
        """A plan that makes one learning of several, and keeps their texts for undoing it."""
        learnings = (await self.core.scan(Learning, NS))[:3]
        if len(learnings) > 1:
            ids = [f"learning:{row.id}" for row in learnings]
            versions = {id: row.version for id, row in zip(ids, learnings, strict=True)}
            line = PlanLine(op=self.random.choice(("merge", "learn")), ids=ids, before=[], text=self.text())
            await Plans(self.core).apply(Plan(id=self.random.choice("uv"), ns=NS, lines=[line], versions=versions))

    async def derive_in_batch(self) -> None:
        read = await self.read()
        if read is not None:
            batch = self.core.batched()
            await Facts(batch).set("workflow:w", "k", self.text(), source=read.source)
            await self.core.commit(batch)

    async def task(self) -> None:
        """A function with memory: what it recalled goes into its output."""
        since, read = self.clock(), await self.read()
        if read is None or read.id != read.source:
            return
        thread = self.random.choice((None, "job"))
        text = self.text()
        output = Output(text, text, remember=Remember("workflow:w", "last"), thread=thread)
        await Injection(self.core).keep(output, Basis.of(since, [read]))

    async def carry(self) -> None:
        """A message of bob's that carries a copy of what was recalled for it."""
        read = await self.read()
        if read is not None:
            carried = {"text": self.text(), "tokens": 3, "sources": [read.source]}
            await Threads(self.core).append(
                "bobtalk", Message(role="user", content="go on", metadata={ATTACHED: carried})
            )

    async def fold(self) -> None:
        folding, thread = Folding(self.core), self.random.choice(THREADS)
        read = await folding._start(thread)
        if read is None:
            return
        after = read.previous.last if read.previous else 0
        read.messages.extend(await self.core.scan(Message, thread, after=(after,)))
        if read.messages:
            await _turn()  # the model takes its time
            before = read.previous.text if read.previous else ""
            digest = _Digest(f"{before} {read.messages[-1].text}")
            await folding._write(read, _Planned(read.messages[0].seq, read.messages[-1].seq), digest)

    async def extract(self) -> None:
        thread = await self.core.get(Thread, self.random.choice(THREADS))
        if thread is not None:
            job = index_job(self.org, thread.ns, f"thread:{thread.id}", self.core.at(), "derive")
            await self.core.apply(Put(job, absent=True))
            job_row = await self.core.get(Job, *job.row_key[1:])
            if job_row is not None:
                await _Reader(self.core).run(job_row)

    async def index(self) -> None:
        await Indexer(self.core).catch_up([NS, *ELSEWHERE])

    # -- what ends it

    async def delete(self) -> None:
        what = self.random.randrange(6)
        if what == 0:
            await Threads(self.core).delete(self.random.choice(THREADS))
        elif what == 1:
            await Facts(self.core).delete(NS, self.random.choice("pq"))
        elif what == 2:
            await Documents(self.core).delete(NS, DOCUMENT)
        elif what == 3:
            await Threads(self.core).delete_messages(self.random.choice(THREADS), before=3)
        elif what == 4:
            for learning in (await self.core.scan(Learning, NS))[:1]:
                await Learnings(self.core).delete(learning.id, user=USER)
        else:
            await Facts(self.core).delete(self.random.choice(ELSEWHERE), self.random.choice("kl"))

    async def expire(self) -> None:
        self.clock.advance(TTL + 1)
        await self.core.store.purge(now=self.core.now())

    async def forget_part(self) -> None:
        thread = self.random.choice(THREADS)
        named: dict[str, Any] = self.random.choice(
            ({"thread": thread}, {"message": f"{thread}#1"}, {"fact": (NS, "p")}, {"source": f"{thread}#2"})
        )
        if "message" in named and self.random.random() < 0.3:
            await Threads(self.core).redact(named["message"])
        else:
            await Forgetting(self.core).forget(**named)

    async def forget_own(self) -> None:
        await Forgetting(self.ada).forget(user=USER)

    async def forget(self) -> None:
        await Forgetting(self.core).forget(user=USER)

    # -- running

    def writes(self) -> list[Step]:
        return [self.talk, self.talk, self.note, self.document, self.keep, self.converse, self.fork]

    def derives(self) -> list[Step]:
        facts = [self.derive_fact] * 3
        return [
            *facts,
            self.derive_learning,
            self.derive_learning,
            self.tidy,
            self.derive_in_batch,
            self.task,
            self.carry,
            self.spawn,
            self.fold,
            self.extract,
            self.index,
        ]

    def ends(self) -> list[Step]:
        return [self.delete, self.delete, self.expire, self.forget_part]

    async def several(self, steps: list[Step], count: int) -> None:
        for _ in range(count):
            try:
                await self.random.choice(steps)()
            except MemoristError as problem:
                _check_expected(problem)

    async def bob(self) -> None:
        """What must not go."""
        await Threads(self.core).create("user:bob", id="bobtalk")
        await Threads(self.core).append("bobtalk", "bob's own words")
        await Facts(self.core).set("user:bob", "own", "bob's", source="bobtalk#1")

    def play(self) -> None:
        """One program: some history, then actors at once, and at the end everything of the user forgotten."""
        everything = [*self.writes(), *self.derives(), *self.ends()]
        self.drive([self.bob()])
        self.drive([self.several([*self.writes(), *self.derives()], 4 + self.random.randrange(5))])
        if self.random.random() < 0.5:
            self.drive([self.several(everything, 3)])
        # Either the user is forgotten while others derive, and nothing may be left; or anything happens at once (the
        # user forgets themselves, and goes on writing), and the org forgets them in the end.
        late = self.random.random() < 0.5
        steps = [*self.derives(), *self.ends()] if late else everything
        others = [self.several(steps, 1 + self.random.randrange(2)) for _ in range(1 + self.random.randrange(3))]
        forgets: list[Step] = [self.forget] if late else [self.forget_own, self.forget, self.forget_part]
        self.drive([*others, self.several(forgets, 1)])
        if not late:
            self.drive([self.several([self.forget], 1)])

    def play_part(self) -> list[str]:
        """Another program: one thread is forgotten while it is forked, talked in and summed up; returns the tables that
        then hold a text of it."""
        thread = self.random.choice(THREADS)
        steps = [
            *self.writes(),
            self.fork,
            self.fork,
            self.fold,
            self.carry,
            self.extract,
            self.index,
            self.derive_learning,
        ]
        self.drive([self.bob(), self.talk(), self.several(steps, 6)])
        texts: list[str] = []
        self.drive([self._texts_of(thread, texts)])
        beside = [self.fork, self.fold, self.carry, self.spawn, self.task, self.extract]
        others = [self.several(beside, 2) for _ in range(2)]
        self.drive([*others, self._forget_thread(thread)])
        remains: list[str] = []
        self.drive([self._rows_with(texts, remains)])
        return remains

    async def _texts_of(self, thread: str, texts: list[str]) -> None:
        texts += [message.text for message in await self.core.scan(Message, thread)]

    async def _forget_thread(self, thread: str) -> None:
        if await self.core.get(Thread, thread) is not None:
            await Forgetting(self.core).forget(thread=thread)

    async def _rows_with(self, texts: list[str], remains: list[str]) -> None:
        for kind in RECORDS:
            for row in await self.core.store.scan(Scan(kind, (self.org,)), now=0):
                remains += [f"{kind.table.name}: {row}" for text in texts if text in repr(row)]

    def drive(self, actors: list[Coroutine[Any, Any, Any]]) -> None:
        """Step actors in a random order until all have ended. In half of the worlds an actor goes on for a while before
        another one does, so that much happens between two calls of the others."""
        actor = None
        while actors:
            if actor not in actors or self.random.random() >= self._patience:
                actor = self.random.choice(actors)
            try:
                actor.send(None)
            except StopIteration:
                actors.remove(actor)

    def remains(self) -> list[str]:
        """Tables that still hold something of the user, and what of another user is missing."""
        remains: list[str] = []
        self.drive([self._collect_remains(remains)])
        return remains

    async def _collect_remains(self, remains: list[str]) -> None:
        store = self.core.store
        for shared in self.twins:
            if CANARY in repr([shared.threads, shared.jobs, shared.indexes.keys(self.org)]):
                remains.append(f"RAM: {shared.threads} {shared.jobs}")
        for kind in RECORDS:
            for row in await store.scan(Scan(kind, (self.org,)), now=0):
                if CANARY in repr(row):
                    remains.append(f"{kind.table.name}: {row}")
        if await self.core.get(Fact, "user:bob", "own") is None or await self.core.get(Message, "bobtalk", 1) is None:
            remains.append("something of bob's is gone")


def _check_expected(problem: MemoristError) -> None:
    """Gone meanwhile, or written by another: what a caller is told. Anything else is a finding."""
    from memorist.errors import Conflict, NotFound

    if not isinstance(problem, Conflict | NotFound):
        raise problem


def check(store: Any, seed: int) -> list[str]:
    """Play one interleaving; what it left."""
    world = World(Interleaved(store), seed)
    # An erasure of many things takes several commits, and others write between them.
    with patch.object(erase, "THINGS_PER_COMMIT", 2 if seed % 3 else erase.THINGS_PER_COMMIT):
        if seed % 4 == 3:
            return world.play_part()
        world.play()
        return world.remains()


def main() -> int:
    """Many interleavings on one store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--on", choices=PLACES, default="memory", help="the store; servers are started for it")
    options = parser.parse_args()
    bad = 0
    with opened(options.on) as next_store:
        for count, seed in enumerate(range(options.first, options.first + options.runs), 1):
            remains = check(next_store(), seed)
            if remains:
                bad += 1
                print(f"seed {seed}: {remains[:3]}", flush=True)
            if count % 5000 == 0:
                print(f"{count} interleavings on {options.on}, {bad} left something", flush=True)
    print(f"{options.runs} interleavings on {options.on} from seed {options.first}, {bad} left something", flush=True)
    return 1 if bad else 0


PLACES = ("memory", "sqlite", "postgres", "redis", "redis-cluster", "redis-before-sqlite", "redis-before-postgres")


@contextmanager
def opened(store_name: str) -> Iterator[Callable[[], Any]]:
    """What gives the store for the next interleaving: a new one in RAM, else one store for all."""
    if store_name == "memory":
        yield MemoryStore
        return
    with ExitStack() as stack:
        durable = store_name.rpartition("redis-before-")[2]
        url = _started(durable, stack)
        hot = _started("redis", stack) if durable != store_name else None
        store: Any = open_store(url, hot, BlockingRuntime(), "normal")
        run_blocking(store.open())
        stack.callback(lambda: run_blocking(store.close()))
        yield lambda: store


def _started(name: str, stack: ExitStack) -> str:
    """The address of a file or server of its own, which ends with the stack."""
    from tests.servers.postgres import start_postgres
    from tests.servers.redis import start_redis, start_redis_cluster

    if name == "sqlite":
        return str(Path(stack.enter_context(TemporaryDirectory())) / "model.db")
    start: Callable[[], Any] = {
        "postgres": start_postgres,
        "redis": lambda: start_redis(aof="everysec"),
        "redis-cluster": lambda: start_redis_cluster(aof="everysec"),
    }[name]
    server = start()
    stack.callback(server.stop)
    return str(server.url)


if __name__ == "__main__":
    sys.exit(main())

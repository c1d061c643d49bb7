"""AsyncMemory: memory and context for agents, awaited. It is the declaration of the public API.

`blocking/memory.py` holds the blocking `Memory`, which `scripts/generate-blocking` writes from this class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from .engine.audit import Audit
from .engine.core import Core, register_facades
from .engine.derive.outbox import Jobs, Waiting
from .engine.documents.documents import Documents
from .engine.entities import Entities
from .engine.events import Events
from .engine.facts.facts import Facts
from .engine.forgetting.forget import Erasure, FactRef, Forgetting, Scrubbing
from .engine.forgetting.provenance import Provenance, Traceable, Why
from .engine.gating import Gating
from .engine.health import Diagnosis, Health, Stats
from .engine.hooks import Listens
from .engine.learnings import Learnings
from .engine.memories import Memories
from .engine.namespaces import Namespaces
from .engine.noun import Noun
from .engine.portable import AsyncExport, Portable, Progress, Transfer
from .engine.processors import Processing, ProcessorSpec, Report
from .engine.processors import Progress as ProcessProgress
from .engine.profile import Profile
from .engine.recalling import Recalling, Spaces
from .engine.records import Records
from .engine.remembering import Remembering, Understood
from .engine.review import Review
from .engine.sessions.assembling import Assembling, Recall
from .engine.sessions.inject import AsyncTask, Injection, Remember
from .engine.sessions.session import AsyncSession, Ended, Turn
from .engine.sessions.tools import ToolRecall
from .engine.state import State
from .engine.tasks.tasks import Tasks
from .engine.threads.receipts import MessageReceipt
from .engine.threads.threads import Threads
from .engine.tidying import AsyncPlan, Plans
from .engine.watching import AsyncWatch
from .engine.working import Working, WorkingMemory
from .filters import Where
from .gate.policy import Gate
from .opening import Durability, Extract, Opening, Url
from .ports import Clock, CounterSpec, EmbedderSpec, ModelSpec, RerankerSpec, When
from .recall.hit import Hit
from .scope import Actor, Kind, Ns
from .stores.base import Scrubbed
from .values import Json

if TYPE_CHECKING:
    from .blocking.memory import Memory
    from .context.context import Context
    from .context.given import About, BudgetSpec, Item, Layout, Prompt, Tool
    from .context.plan import Policy
    from .exporting.exporting import To
    from .gate.encryption import Encryption
    from .importing.report import ImportReport

T = TypeVar("T")


class AsyncMemory(Listens):
    """Memory and context for agents, awaited."""

    facts = Noun(Facts)
    threads = Noun(Threads)
    state = Noun(State)
    events = Noun(Events)
    learnings = Noun(Learnings)
    memories = Noun(Memories)
    review = Noun(Review)
    gate = Noun(Gating)
    plans = Noun(Plans)
    profile = Noun(Profile)
    working: Noun[WorkingMemory[Working]] = Noun(WorkingMemory)
    entities = Noun(Entities)
    documents = Noun(Documents)
    records = Noun(Records)
    tasks = Noun(Tasks)
    audit = Noun(Audit)
    jobs = Noun(Jobs)

    def __init__(
        self,
        url: Url = None,
        *,
        hot: Url = None,
        read_url: str | None = None,
        api_key: str | None = None,
        org: str = "default",
        user: str | None = None,
        read: Sequence[Ns] = (),
        write: Sequence[Ns] = (),
        shared: str | None = None,
        all_orgs: bool = False,
        actor: Actor = "user",
        durability: Durability = "full",
        embedder: EmbedderSpec = "default",
        reranker: RerankerSpec = None,
        model: ModelSpec = None,
        counter: CounterSpec = None,
        clock: Clock | None = None,
        extract: Extract | None = "auto",
        worker: bool = True,
        record_bytes: int | None = None,
        gate: Gate | None = None,
        encryption: Encryption | None = None,
    ) -> None:
        """Open a memory: in RAM, or over the file, server or cluster that `url` names; the README explains each option.

        `org` is the tenant, `user` makes a handle for one of its users, and `all_orgs` one that may hand out handles on
        any org. `embedder=None` leaves recall lexical; without a `model`, facts are taken from messages by local rules.
        `gate` says what may be written, in orgs that have no policy of their own; `encryption` seals content at rest.
        """
        opening = Opening(
            url, hot, read_url, api_key, org, user, read, write, shared, all_orgs, actor, durability,
            embedder, reranker, model, counter, clock, extract, worker, record_bytes, gate, encryption,
        )  # fmt: skip
        self._core = opening.core(blocking=False)

    def _make_noun(self, name: str, noun_type: Callable[..., T]) -> T:
        return self._core.part(noun_type)

    @classmethod
    def _over(cls, core: Core) -> Self:
        handle = cls.__new__(cls)
        handle._core = core
        return handle

    @property
    def org(self) -> str:
        """The tenant this handle is for."""
        return self._core.org

    @property
    def user(self) -> str | None:
        """The user this handle is for, if it is for one."""
        return self._core.scope.user

    @property
    def aio(self) -> AsyncMemory:
        """This handle for callers that await, over the same store; usable from any thread and event loop."""
        return AsyncMemory._over(self._core.beside(blocking=False))

    @property
    def blocking(self) -> Memory:
        """This handle for callers that block, over the same store; usable from any thread."""
        memory: Memory = self._core.beside(blocking=True).facade()
        return memory

    def scope(
        self,
        *,
        org: str | None = None,
        user: str | None = None,
        actor: Actor | None = None,
        read: Sequence[Ns] | None = None,
        write: Sequence[Ns] | None = None,
    ) -> Self:
        """A narrower handle over the same connection; it can never be widened.

        A user's handle reads and writes `user:<id>` and reads `global`. `read` and `write` grant it more: namespaces,
        or all that begin so (`agent:*`). Narrowed again, the lists can only get shorter.

        Raises `Forbidden` where it would reach more than this handle does.

        Examples:
            >>> ada = memory.scope(user="ada", read=["workflow:review"])
            >>> ada.user
            'ada'
        """
        return self._over(self._core.narrowed(self._core.scope.narrow(org, user, actor, read, write)))

    async def namespaces(
        self,
        kind: Kind | None = None,
        *,
        prefix: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
    ) -> list[str]:
        """List the namespaces that hold something and that this handle may read, sorted; the next page is `after` the
        last.

        `prefix` is the beginning of the id if a `kind` is given, else of the whole namespace.

        Examples:
            >>> memory.namespaces("user")
            ['user:ada']
        """
        return await self._core.part(Namespaces).namespaces(
            kind, prefix=prefix, limit=limit, after=after, reverse=reverse
        )

    async def recall(
        self,
        query: str,
        *,
        namespaces: Spaces = None,
        kinds: Sequence[str] | str | None = None,
        top_k: int = 10,
        offset: int = 0,
        max_tokens: int | None = None,
        after: When | None = None,
        before: When | None = None,
        where: Where | None = None,
        min_score: float | None = None,
        vector: Sequence[float] | None = None,
        expand: bool = False,
        hops: int = 1,
        as_of: When | None = None,
    ) -> list[Hit]:
        """Find what matters most for a query, best first; everything written before the call is searched.

        `expand` also searches for other wordings that the memory's model proposes; with `hops` over 1 the model says
        what is still missing, and that is searched for too. `as_of` answers what was known at that time, from history.

        Examples:
            >>> hit = memory.recall("where does she live?", namespaces="user:ada", top_k=1)[0]
            >>> hit.kind, hit.text
            ('message', 'I live in Lisbon.')
        """
        return await self._core.part(Recalling).recall(
            query,
            namespaces=namespaces,
            kinds=kinds,
            top_k=top_k,
            offset=offset,
            max_tokens=max_tokens,
            after=after,
            before=before,
            where=where,
            min_score=min_score,
            vector=vector,
            expand=expand,
            hops=hops,
            as_of=as_of,
        )

    async def context(
        self,
        input: Prompt | None,
        *,
        thread: str | None = None,
        system: Prompt | None = None,
        tools: Iterable[Tool] | None = None,
        pinned_tools: Sequence[str] = (),
        budget: BudgetSpec | None = None,
        policy: Policy | None = None,
        recall: Recall | Spaces | bool | Sequence[Item] = True,
        profile: About = True,
        scratchpad: Json = None,
        layout: Layout = "cached",
        as_of: When | None = None,
        stash: int | None = None,
    ) -> Context:
        """Assemble the request for an input: within the token budget, valid for the provider, with recalled memory.

        `recall` is true (everything this handle reaches), a `Recall`, namespaces, ready items, or false. The budget is
        8,000 tokens unless given. With `as_of`, history, profile and memory are those of that time. Tool results of the
        thread over `stash` tokens are sent as previews, and the request carries the tools `read_more` and
        `search_history` (run them with `memorist.read_back.ReadBack`). If the tools exceed the budget's `tools`,
        those named in `pinned_tools` and the most relevant others are sent, with `find_tool` to find the rest (run it
        with `memorist.tool_finder.ToolFinder`).

        Raises `BudgetError` where what must be kept exceeds the budget.

        Examples:
            >>> request = memory.context("Where does she live?", thread="talk", system="Be brief.", budget=2000)
            >>> [message["role"] for message in request.messages()][-3:]
            ['user', 'assistant', 'user']
        """
        return await self._core.part(Assembling).context(
            input, thread=thread, system=system, tools=tools, pinned_tools=pinned_tools, budget=budget, policy=policy,
            recall=recall, profile=profile, scratchpad=scratchpad, layout=layout, as_of=as_of, stash=stash,
        )  # fmt: skip

    async def find_tools(self, query: str, tools: Sequence[Tool], *, top_k: int = 5) -> list[Tool]:
        """Find the tools that do what a query asks for, best first, by their names, descriptions and parameters.

        Args:
            query: What the tool should do.
            tools: Definitions in the shape of OpenAI or Anthropic.
            top_k: How many to return.

        Examples:
            >>> weather = {"name": "get_weather", "description": "The weather of a city.", "input_schema": {}}
            >>> mail = {"name": "send_mail", "description": "Sends an email.", "input_schema": {}}
            >>> memory.find_tools("write to Bob by email", [weather, mail], top_k=1)[0]["name"]
            'send_mail'
        """
        return await self._core.part(ToolRecall).find(query, tools, top_k)

    def session(
        self,
        thread: str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        budget: BudgetSpec = 8000,
        policy: Policy | None = None,
        layout: Layout = "cached",
        system: Prompt | None = None,
        compact_at: float = 0.8,
        compact_to: float = 0.5,
        stash: int | None = None,
        should_persist: Callable[[Turn], bool] | None = None,
        on_turn_end: Callable[[Turn], object] | None = None,
        on_session_end: Callable[[Ended], object] | None = None,
    ) -> AsyncSession:
        """One run of a conversation, as a context manager: it continues a thread, or starts one.

        Examples:
            >>> with memory.session(user="ada", budget=4000) as talk:
            ...     receipts = talk.add("I prefer short answers.", "Noted.")
        """
        return self._core.kind(AsyncSession)(
            self._core, thread, user=user, agent=agent, budget=budget, policy=policy, layout=layout, system=system,
            compact_at=compact_at, compact_to=compact_to, stash=stash, should_persist=should_persist,
            on_turn_end=on_turn_end, on_session_end=on_session_end,
        )  # fmt: skip

    def watch(self, namespaces: Sequence[Ns] | None = None, *, kinds: Sequence[str] | None = None) -> AsyncWatch:
        """Notices of changes that this and other processes make from then on: kind and namespace, never content.

        Examples:
            >>> changes = memory.watch(["user:ada"], kinds=["fact"])
        """
        return self._core.kind(AsyncWatch)(self._core, namespaces, kinds)

    async def process(self, *processors: ProcessorSpec, progress: ProcessProgress | None = None) -> list[Report]:
        """Run maintenance processors in order: objects, classes or names; none means the usual ones.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> [report.processor for report in memory.process("gc", "dedup")]
            ['gc', 'dedup']
        """
        return await self._core.part(Processing).process(*processors, progress=progress)

    async def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Wait until messages are indexed and facts were derived from them (or that failed); returns updated receipts.

        Examples:
            >>> receipts = memory.threads.append("talk", "I moved to Porto.")
            >>> memory.wait(receipts)[0].derived
            'done'
        """
        return await self._core.part(Waiting).wait(receipts, timeout=timeout)

    def task(
        self,
        *,
        recall: Recall | Spaces | bool = None,
        remember: Remember | None = None,
        thread: str | None = None,
    ) -> AsyncTask:
        """Decorate a function with memory: recalled items are passed as `recalled`, and its output is stored if it
        succeeds.

        Examples:
            >>> from memorist import Recall, Remember
            >>> @memory.task(recall=Recall("user:ada"), remember=Remember("workflow:review", key="last"))
            ... def review(text: str, recalled: list = ()) -> dict:
            ...     return {"verdict": "fine"}
            >>> review("a report"), memory.facts.get("workflow:review", "last").value
            ({'verdict': 'fine'}, {'verdict': 'fine'})
        """
        return self._core.kind(Injection)(self._core).task(recall=recall, remember=remember, thread=thread)

    async def stats(self) -> Stats:
        """Count what is stored, by kind, and how much of it is indexed.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> memory.stats().messages
            2
        """
        return await self._core.part(Health).stats()

    async def doctor(self, *, deep: bool = False) -> Diagnosis:
        """Check the store and the outbox: versions, settings, sizes and problems; `deep` reads and checks every row.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> memory.doctor().problems
            []
        """
        return await self._core.part(Health).doctor(deep=deep)

    def batch(self) -> AsyncBatch:
        """Collect changes of any kind and commit them together at the end of the block, or not at all.

        Examples:
            >>> with memory.batch() as batch:
            ...     fact = batch.facts.set("global", "release", "1.2")
            ...     count = batch.state.increment("releases")
            >>> memory.facts.get("global", "release").value
            '1.2'
        """
        return AsyncBatch(self)

    async def remember(
        self,
        messages: Prompt,
        *,
        user: str | None = None,
        thread: str | None = None,
        infer: bool = True,
        key: str | None = None,
    ) -> Understood:
        """Store words, read them at once, and return what was understood.

        Args:
            messages: A text, a message, or a list of messages, as the user said them.
            user: Whose memory; by default the handle's own user.
            thread: The thread to append to; by default one of the user's own for such notes.
            infer: Whether facts, events and preferences are taken from the words. If not, each message is stored as a
                learning, word for word.
            key: Makes the call idempotent: a second call with the same key stores nothing and returns the same answer.

        Returns:
            The receipts, the memories that were taken from the words, what waits for review, what was ended, and what
            was refused and why.

        Examples:
            >>> understood = memory.remember("I live in Lisbon.", user="ada")
            >>> [(item.key, item.value) for item in understood.stored]
            [('location', 'Lisbon')]
        """
        return await self._core.part(Remembering).remember(messages, user=user, thread=thread, infer=infer, key=key)

    async def tidy(self, *, user: str | None = None, dry_run: bool = True) -> AsyncPlan:
        """Make a plan that tidies up what is remembered of a user; apply it with `plan.apply()`, or `dry_run=False`.

        The plan merges duplicates. With a model it also ends what is no longer true, rewords what is long, and states
        habits that several memories show. `plan.undo()` puts everything back.

        Examples:
            >>> memory.tidy(user="ada").lines
            []
        """
        ns = None if user is None else f"user:{user}"
        plan = AsyncPlan(self.plans, await self.plans.make(ns=ns))
        if not dry_run:
            await plan.apply()
        return plan

    async def forget(
        self,
        *,
        user: str | None = None,
        thread: str | None = None,
        message: str | None = None,
        fact: FactRef | None = None,
        source: str | None = None,
        physical: bool = False,
        shred: bool = False,
        preview: bool = False,
    ) -> Erasure:
        """Remove one thing and all that was derived from it; `physical` also rewrites a SQLite file without its bytes.

        `shred` also destroys the key of an encrypted user, so that no backup and no export of theirs can be read; the
        report's `shredded` names the destroyed keys.

        On a server `physical` is refused, because its files hold other tenants' data too; an operator runs `scrub`. A
        `preview` counts what would be removed and removes nothing.

        Raises `NotFound` if it does not exist, `Unsupported` for `physical` on a server.

        Examples:
            >>> memory.forget(user="ada", preview=True).counts["messages"]
            2
            >>> memory.forget(user="ada").complete
            True
        """
        return await self._core.part(Forgetting).forget(
            user=user,
            thread=thread,
            message=message,
            fact=fact,
            source=source,
            physical=physical,
            shred=shred,
            preview=preview,
        )

    async def scrub(self) -> Scrubbed:
        """Rewrite the store's files without the bytes of deleted rows; an operator's command.

        On a server it locks or slows all tenants, and needs a handle opened with `all_orgs=True`.

        Raises `Forbidden` on any other handle.

        Examples:
            >>> report = Memory("memory://", all_orgs=True).scrub()
        """
        return await self._core.part(Scrubbing).scrub()

    async def why(self, item: Traceable) -> Why:
        """Trace a fact, learning, summary, hit or id back to the messages it was derived from.

        Raises `NotFound` if it does not exist.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon", source="talk#1")
            >>> [message.text for message in memory.why("user:ada/city").messages]
            ['I live in Lisbon.']
        """
        return await self._core.part(Provenance).why(item)

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        to: To = "memorist",
        namespace: Ns | None = None,
        progress: Progress | None = None,
    ) -> Transfer:
        """Write every row of this org to a file of JSON lines, which `import_` loads; or to another tool's format.

        `openai` and `anthropic` write JSON lines with one thread each; `markdown` a folder; `langgraph` a SQLite file
        for its saver and store. These formats can be limited to one namespace. Raises `Forbidden` on a user's handle.

        Examples:
            >>> memory.export("chats.jsonl", to="openai").counts["messages"]
            2
        """
        if to == "memorist" and namespace is None:
            return await self._core.part(Portable).export(path, progress=progress)
        from .exporting.exporting import Exporting

        return await self._core.part(Exporting).export(path, to=to, namespace=namespace, progress=progress)

    def export_lines(self) -> AsyncExport:
        """Stream the lines of an export, some at a time; no file is written.

        Examples:
            >>> lines = b"".join(memory.export_lines())
        """
        return AsyncExport(self._core)

    async def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Load a file that `export` wrote; for a damaged file the error names the line, and nothing is changed.

        Raises `InvalidValue` for a damaged file, `Forbidden` on a user's handle.

        Examples:
            >>> written = memory.export("everything.jsonl")
            >>> Memory("memory://").import_("everything.jsonl").rows == written.rows
            True
        """
        return await self._core.part(Portable).import_(path, progress=progress)

    async def import_from(
        self,
        path: str | os.PathLike[str],
        *,
        kind: str = "auto",
        namespace: Ns | None = None,
        users: Mapping[str, str] | None = None,
        mapping: str | os.PathLike[str] | Mapping[str, Json] | None = None,
        source: str | None = None,
        dry_run: bool = False,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import another tool's conversations, facts and documents, with their times, ids and authors.

        Everything is read before anything is written; `dry_run` stops there. Importing again, or after a kill, adds
        only what is missing. `kind` is the format, detected by default. `namespace` receives everything; `users` and a
        `mapping` (a TOML or JSON file, or a dict) map users and namespaces of the source to yours. `strict` refuses a
        source of which any part cannot be imported. `forget(source=report.source)` undoes the import.

        Raises `CorruptRecord`, with the place, for a source that cannot be read; nothing is written then.

        Examples:
            >>> from pathlib import Path
            >>> written = Path("talk.jsonl").write_text('{"role": "user", "content": "I live in Oslo."}', "utf-8")
            >>> memory.import_from("talk.jsonl", namespace="user:eve").added["messages"]
            1
        """
        from .importing.importing import Importing

        return await self._core.part(Importing).import_from(
            path, kind=kind, namespace=namespace, users=users, mapping=mapping, source=source, dry_run=dry_run,
            strict=strict, progress=progress,
        )  # fmt: skip

    async def close(self) -> None:
        """Finish work in progress and close the store; after this, every call on any handle is refused.

        Closing a batch does nothing: `with task.batch() as batch` leaves the memory open.

        Examples:
            >>> memory.close()
        """
        if self._core.batch is None:
            await self._core.shared.close()

    async def __aenter__(self) -> Self:
        await self._core.shared.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncBatch:
    """A context manager that collects changes and commits them together when the block ends without an error."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._inner: AsyncMemory | None = None

    async def __aenter__(self) -> AsyncMemory:
        self._inner = AsyncMemory._over(self._memory._core.batched())
        return self._inner

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._inner is not None:
            await self._memory._core.commit(self._inner._core)


def _blocking_over(core: Core) -> Memory:
    from .blocking.memory import Memory

    return Memory._over(core)


register_facades(blocking=_blocking_over, awaited=AsyncMemory._over)

"""AsyncMemory is the async interface to memory and context for agents. It declares the public API.

`blocking/memory.py` contains the blocking `Memory`, which `scripts/generate-blocking` generates from this class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from .engine.audit import Audit
from .engine.core import Core
from .engine.derive.outbox import Jobs, Waiting
from .engine.documents.documents import Documents
from .engine.entities import Entities
from .engine.events import Events
from .engine.facts.facts import Facts
from .engine.forgetting.forget import Erasure, FactRef, Forgetting
from .engine.gating import Gating
from .engine.health import Diagnosis, Health, Stats
from .engine.hooks import Listens
from .engine.learnings import Learnings
from .engine.memories import Memories
from .engine.namespaces import Namespaces
from .engine.noun import Noun, core_of, register_facades
from .engine.portable import AsyncExport, Portable, Progress, Transfer
from .engine.processors import Processing, ProcessorSpec, Report
from .engine.processors import Progress as ProcessProgress
from .engine.profile import Profile
from .engine.provenance import Provenance, Traceable, Why
from .engine.recalling import Recalling, Spaces
from .engine.records import Records
from .engine.remembering import Remembering, Understood
from .engine.review import Review
from .engine.scrubbing import Scrubbing
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
from .scope import Actor, NamespaceKind, Ns
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
    """Provides memory and context for agents through methods that you await."""

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
        """Open a memory in RAM, or on the file, server or cluster that `url` names. The README explains each option.

        `org` is the tenant, `user` creates a handle for one of its users, and `all_orgs` creates a handle that can open
        any org. With `embedder=None`, recall uses only words; without a `model`, local rules extract facts from
        messages. `gate` is the policy for orgs that do not have their own; `encryption` encrypts content at rest.
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
        """This is the tenant that this handle belongs to."""
        return self._core.org

    @property
    def user(self) -> str | None:
        """This is the user to whom this handle is limited, or None for a handle on the whole org."""
        return self._core.scope.user

    @property
    def aio(self) -> AsyncMemory:
        """This is the same handle for async callers, over the same store. You can use it from any thread and event
        loop."""
        return AsyncMemory._over(self._core.beside(blocking=False))

    @property
    def blocking(self) -> Memory:
        """This is the same handle for blocking callers, over the same store. You can use it from any thread."""
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
        """Return a narrower handle over the same connection. A handle can never be widened again.

        A user's handle reads and writes `user:<id>` and reads `global`. `read` and `write` grant it more namespaces.

        Args:
            org: The tenant. Only a handle opened with `all_orgs=True` can choose another one.
            user: The user to limit the handle to.
            actor: Who makes the changes, for the audit trail: an agent (`agent:planner`), `user`, `assistant`, `tool`,
                `import` or `processor`. Text from an agent has the same trust as the assistant's words.
            read: Namespaces that the handle may read, such as `workflow:review`, or `agent:*` for all of a kind.
            write: Namespaces that the handle may read and write.

        Returns:
            The narrower handle.

        Raises:
            Forbidden: The new handle would have more access than this one.

        Examples:
            >>> ada = memory.scope(user="ada", read=["workflow:review"])
            >>> ada.user
            'ada'
        """
        return self._over(self._core.narrowed(self._core.scope.narrow(org, user, actor, read, write)))

    async def namespaces(
        self,
        kind: NamespaceKind | None = None,
        *,
        prefix: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
    ) -> list[str]:
        """List the non-empty namespaces that this handle may read, in order.

        Args:
            kind: List only this kind: `user`, `agent`, `workflow` or `global`.
            prefix: The beginning of the id if you pass a `kind`, otherwise of the whole namespace.
            limit: The maximum number to return.
            after: The last namespace of the previous page.
            reverse: Whether to list in reverse order.

        Returns:
            The namespaces, such as `user:ada`.

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
        """Find the memories most relevant to a query, best first. Everything written before the call is searched.

        Args:
            query: A question or a few words.
            namespaces: Where to search; by default everywhere this handle may read.
            kinds: Return only these kinds: `message`, `fact`, `event`, `learning`, `summary`, `document`.
            top_k: How many hits to return.
            offset: How many hits to skip, for the next page.
            max_tokens: Return only the best hits that fit into this many tokens.
            after: Return only items that are newer than this time.
            before: Return only items that are older than this time.
            where: A filter on metadata and fields, such as `{"berths": {"$gte": 2}}`.
            min_score: Leave out hits with a lower score. By default, nothing is returned for an unknown subject; 0
                always returns the best hits.
            vector: The query's vector, if you have already computed it.
            expand: Also search for other wordings, which the memory's model proposes.
            hops: With more than 1, the model names missing information, and recall searches for that too.
            as_of: Answer with the memories as they were at this time.

        Returns:
            Hits with their text, score, source and reasons.

        Raises:
            InvalidFilter: `where` is not a valid filter.

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
        """Build a request for an input, including recalled memory. It fits the token budget and is valid for the
        provider.

        Args:
            input: What the user says now; None to continue after a tool result.
            thread: The conversation whose history to send.
            system: The system prompt.
            tools: Tool definitions, in OpenAI's or Anthropic's format.
            pinned_tools: Names of tools to send even if all tools together exceed the budget's `tools`. The request
                then contains these, the most relevant others, and `find_tool` for the rest
                (`memorist.tool_finder.ToolFinder`).
            budget: A number of tokens or a `TokenBudget`; 8,000 by default.
            policy: What to leave out of the history when it does not fit.
            recall: True for everything this handle may read, a `Recall`, namespaces, ready-made items, or False.
            profile: Whether to include the user's profile.
            scratchpad: The agent's notes, placed after the input.
            layout: `cached` keeps the beginning of requests stable for the provider's prompt cache; `standard` does
                not.
            as_of: Use history, profile and memory as they were at this time.
            stash: Send tool results of the thread over this many tokens as previews, with the tools `read_more` and
                `search_history` to open them (`memorist.read_back.ReadBack`).

        Returns:
            A context. `messages()`, `anthropic()` and `responses()` render it, and `explain()` says what was left out
            and why.

        Raises:
            BudgetError: The parts that must be sent are larger than the budget.

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
        """Find the tools whose names, descriptions and parameters best match a query, best first.

        Args:
            query: What the tool should do.
            tools: Definitions in OpenAI's or Anthropic's format.
            top_k: How many to return.

        Returns:
            The definitions of the tools, in the format in which you passed them.

        Examples:
            >>> weather = {"name": "get_weather", "description": "The weather of a city.", "input_schema": {}}
            >>> mail = {"name": "send_mail", "description": "Sends an email.", "input_schema": {}}
            >>> memory.find_tools("write to Bob by email", [weather, mail], top_k=1)[0]["name"]
            'send_mail'
        """
        return await self._core.part(ToolRecall).find_tools(query, tools, top_k=top_k)

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
        compact_at: float = 0.9,
        compact_to: float = 0.5,
        stash: int | None = None,
        should_persist: Callable[[Turn], bool] | None = None,
        on_turn_end: Callable[[Turn], object] | None = None,
        on_session_end: Callable[[Ended], object] | None = None,
    ) -> AsyncSession:
        """Open a conversation as a context manager. It continues the thread you name, or starts a new one.

        Args:
            thread: The id of the conversation; created if it does not exist.
            user: The user who takes part. Defaults to the user of this handle.
            agent: The agent that takes part, if its own namespace should be recalled too.
            budget: The token budget of a request, as a number or a `TokenBudget`.
            policy: What to leave out of the history when it does not fit.
            layout: `cached` keeps the beginning of requests stable for the provider's prompt cache.
            system: The system prompt of every request.
            compact_at: Fold the oldest messages when they fill this share of the budget.
            compact_to: Fold until the history fills only this share.
            stash: Send tool results over this many tokens as previews.
            should_persist: Decides whether a turn is stored; by default small talk is not.
            on_turn_end: Called after each stored turn.
            on_session_end: Called when the session has ended.

        Returns:
            The session, to use in a `with` block.

        Examples:
            >>> with memory.session(user="ada", budget=4000) as talk:
            ...     receipts = talk.add("I prefer short answers.", "Noted.")
        """
        return self._core.part(
            AsyncSession, thread, user=user, agent=agent, budget=budget, policy=policy, layout=layout, system=system,
            compact_at=compact_at, compact_to=compact_to, stash=stash, should_persist=should_persist,
            on_turn_end=on_turn_end, on_session_end=on_session_end,
        )  # fmt: skip

    def watch(self, namespaces: Sequence[Ns] | None = None, *, kinds: Sequence[str] | None = None) -> AsyncWatch:
        """Start watching for changes made by this and other processes. Notices contain the kind and the namespace,
        never content.

        Args:
            namespaces: Watch only these namespaces.
            kinds: Watch only these kinds, such as `fact`.

        Returns:
            The watch, which you can iterate over.

        Examples:
            >>> changes = memory.watch(["user:ada"], kinds=["fact"])
        """
        return self._core.part(AsyncWatch, namespaces, kinds)

    async def process(self, *processors: ProcessorSpec, progress: ProcessProgress | None = None) -> list[Report]:
        """Run maintenance processors in order and return a report from each.

        Args:
            processors: Objects, classes or names such as `"gc"`. By default, the usual ones run.
            progress: Called with each report.

        Returns:
            One report per processor.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> [report.processor for report in memory.process("gc", "dedup")]
            ['gc', 'dedup']
        """
        return await self._core.part(Processing).process(*processors, progress=progress)

    async def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Wait until messages have been indexed and facts extracted from them, and return the updated receipts.

        Args:
            receipts: The receipts that `append` returned.
            timeout: The maximum number of seconds to wait.

        Returns:
            The updated receipts, in the same order.

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
        """Wrap a function so that it receives recalled items and its result is stored if it succeeds.

        Args:
            recall: What to recall for the function's input. The items are passed as `recalled` if it has that
                parameter.
            remember: Where to store the result as a fact.
            thread: The thread to append the input and the output to.

        Returns:
            A decorator for the function.

        Examples:
            >>> from memorist import Recall, Remember
            >>> @memory.task(recall=Recall("user:ada"), remember=Remember("workflow:review", key="last"))
            ... def review(text: str, recalled: list = ()) -> dict:
            ...     return {"verdict": "fine"}
            >>> review("a report"), memory.facts.get("workflow:review", "last").value
            ({'verdict': 'fine'}, {'verdict': 'fine'})
        """
        return self._core.part(Injection).task(recall=recall, remember=remember, thread=thread)

    async def stats(self) -> Stats:
        """Count the stored records by kind, and how many of them are indexed.

        Returns:
            The counts.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.stats().messages
            2
        """
        return await self._core.part(Health).stats()

    async def doctor(self, *, deep: bool = False) -> Diagnosis:
        """Check the store and the waiting jobs: versions, settings, sizes and problems.

        Args:
            deep: Whether to read every row and verify its checksum.

        Returns:
            The report, with all problems in one list.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.doctor().problems
            []
        """
        return await self._core.part(Health).doctor(deep=deep)

    def batch(self) -> AsyncBatch:
        """Collect changes of any kind, and commit them atomically at the end of the block.

        Returns:
            The batch, to use in a `with` block.

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
        """Store a user's statement, process it immediately, and return what was understood.

        Args:
            messages: A text, a message, or a list of messages, in the user's own words.
            user: The user whose memory it is. Defaults to the user of this handle.
            thread: The thread to append to. By default, each user has a separate thread for such notes.
            infer: Whether to derive facts, events and preferences. If not, each message is stored word for word as a
                learning.
            key: Makes the call idempotent: a second call with the same key stores nothing and returns the same result.

        Returns:
            The receipts, the stored memories, those that are waiting for review, those that ended, and those that were
                refused,
            with the reason.

        Examples:
            >>> understood = memory.remember("I live in Lisbon.", user="ada")
            >>> [(item.key, item.value) for item in understood.stored]
            [('location', 'Lisbon')]
        """
        return await self._core.part(Remembering).remember(messages, user=user, thread=thread, infer=infer, key=key)

    async def tidy(self, *, user: str | None = None, dry_run: bool = True) -> AsyncPlan:
        """Make a plan for tidying up a user's memories. Nothing changes until you call `plan.apply()`.

        The plan merges duplicates. With a model, it also ends memories that are no longer true, shortens long ones, and
        states habits evident from several memories. `plan.undo()` restores everything.

        Args:
            user: The user whose memories to tidy up. Defaults to the user of this handle.
            dry_run: Pass False to apply the plan immediately.

        Returns:
            The plan.

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
        """Delete one thing and everything derived from it.

        Name exactly one of `user`, `thread`, `message`, `fact` and `source`.

        Args:
            user: The id of a user: everything in `user:<id>`.
            thread: The id of a thread.
            message: A message, or its id.
            fact: A fact, `(namespace, key)`, or `"namespace/key"`. On a user's handle, its key is enough.
            source: The name of an import or a document's source.
            physical: Also rewrite a SQLite file, so that the deleted bytes are gone. On a server, an operator runs
                `scrub`.
            shred: Also destroy the encryption key of the user, so that nobody can read backups and exports anymore.
            preview: Count what would be deleted, and delete nothing.

        Returns:
            A report of what was deleted, whether it is complete, and what was verified.

        Raises:
            NotFound: It does not exist.
            Unsupported: You passed `physical` for a server, whose files also contain other tenants' data.

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
        """Rewrite the store's files without the bytes of deleted rows. This command is for operators.

        On a server, it slows down or locks out all tenants, so it needs a handle opened with `all_orgs=True`.

        Returns:
            The files that were rewritten, and those that were not.

        Raises:
            Forbidden: This handle was not opened with `all_orgs=True`.

        Examples:
            >>> report = Memory("memory://", all_orgs=True).scrub()
        """
        return await self._core.part(Scrubbing).scrub()

    async def why(self, item: Traceable) -> Why:
        """Trace a fact, learning, summary, hit or id back to the messages from which it was derived.

        Args:
            item: The record, a hit, or an id such as `user:ada/city`. An id of `memory.memories`, such as `fact:city`,
                is looked up in this handle's own namespace.

        Returns:
            Every step of the derivation, down to the messages.

        Raises:
            NotFound: It does not exist.

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
        """Write every row of this org to a file: as JSON lines for `import_`, or in another tool's format.

        Args:
            path: The file or folder to write.
            to: `openai` or `anthropic` (JSON lines, one thread each), `markdown` (a folder), or `langgraph` (a SQLite
                file for its saver and store).
            namespace: With `to`, export only this namespace.
            progress: Called with the number of rows processed so far and the total.

        Returns:
            The number of rows by table.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.export("chats.jsonl", to="openai").counts["messages"]
            2
        """
        if to == "memorist" and namespace is None:
            return await self._core.part(Portable).export(path, progress=progress)
        from .exporting.exporting import Exporting

        return await self._core.part(Exporting).export(path, to=to, namespace=namespace, progress=progress)

    def export_lines(self) -> AsyncExport:
        """Stream the lines of an export without writing a file.

        Returns:
            The lines, which you can iterate over.

        Examples:
            >>> lines = b"".join(memory.export_lines())
        """
        return AsyncExport(self._core)

    async def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Load a file written by `export`. If the file is damaged, nothing is changed.

        Args:
            path: The file.
            progress: Called with the number of rows processed so far and the total.

        Returns:
            The number of rows by table.

        Raises:
            InvalidValue: The file is damaged; the error names the line.
            Forbidden: This is a user's handle.

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
        """Import another tool's conversations, facts and documents, including their times, ids and authors.

        Everything is read before anything is written. If you import again, even after an interruption, only the missing
        items are added. `forget(source=report.source)` undoes the import.

        Args:
            path: A file, a folder or a database URL.
            kind: The format, such as `chatgpt` or `mem0`; detected by default.
            namespace: Put everything into this namespace.
            users: The users of the source, each with the user here that they become.
            mapping: Users and namespaces, as a TOML or JSON file or a dict.
            source: The name of the import, for `forget`.
            dry_run: Only read and count.
            strict: Import nothing if any part cannot be imported.
            progress: Called with the number of items processed so far and the total.

        Returns:
            Counts, samples, and the parts that could not be imported.

        Raises:
            CorruptRecord: The source cannot be read; the error names the position, and nothing is
                written.

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
        """Finish work in progress and close the store. Any later call on one of its handles raises an error.

        Closing a batch does nothing, so `with task.batch() as batch` leaves the memory open.

        Examples:
            >>> memory.close()
        """
        if self._core.batch is None:
            await self._core.shared.close()

    async def __aenter__(self) -> Self:
        await self._core.shared.open()
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncBatch:
    """Collects changes and commits them together when the `with` block ends without an error."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._inner: AsyncMemory | None = None

    async def __aenter__(self) -> AsyncMemory:
        self._inner = AsyncMemory._over(self._memory._core.batched())
        return self._inner

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is None and self._inner is not None:
            await self._memory._core.commit(self._inner._core)


def stepped(memory: Memory | AsyncMemory) -> AsyncMemory:
    """Return the async handle over blocking parts, for code that runs the handle's coroutines with `run_blocking`."""
    return AsyncMemory._over(core_of(memory).beside(blocking=True))


def _blocking_over(core: Core) -> Memory:
    from .blocking.memory import Memory

    return Memory._over(core)


register_facades(blocking=_blocking_over, awaited=AsyncMemory._over)

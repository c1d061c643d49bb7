"""Blocking memory.

Made by scripts/generate-blocking from memory.py; change that, then run the script.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..engine.core import Core
from ..engine.forgetting.forget import Erasure, FactRef
from ..engine.forgetting.provenance import Traceable, Why
from ..engine.health import Diagnosis, Stats
from ..engine.hooks import Listens
from ..engine.noun import Noun
from ..engine.portable import Progress, Transfer
from ..engine.processors import ProcessorSpec, Report
from ..engine.processors import Progress as ProcessProgress
from ..engine.recalling import Spaces
from ..engine.remembering import Understood
from ..engine.sessions.assembling import Recall
from ..engine.sessions.inject import BlockingTask, Remember, stepped
from ..engine.sessions.session import Ended, Turn
from ..engine.threads.receipts import MessageReceipt
from ..engine.working import Working
from ..filters import Where
from ..gate.policy import Gate
from ..memory import AsyncBatch, AsyncMemory, T
from ..opening import Durability, Extract, Opening, Url
from ..ports import Clock, CounterSpec, EmbedderSpec, ModelSpec, RerankerSpec, When
from ..recall.hit import Hit
from ..runtime import run_blocking
from ..scope import Actor, Kind, Ns
from ..stores.base import Scrubbed
from ..values import Json
from .audit import Audit
from .documents import Documents
from .entities import Entities
from .events import Events
from .export import Export
from .facts import Facts
from .gate import Gating
from .jobs import Jobs
from .learnings import Learnings
from .memories import Memories
from .plans import Plans, TidyPlan
from .profile import Profile
from .records import Records
from .review import Review
from .session import Session
from .state import State
from .tasks import Tasks
from .threads import Threads
from .watch import Watch
from .working import WorkingMemory

if TYPE_CHECKING:
    from ..context.context import Context
    from ..context.given import About, BudgetSpec, Item, Layout, Prompt, Tool
    from ..context.plan import Policy
    from ..exporting.exporting import To
    from ..gate.encryption import Encryption
    from ..importing.report import ImportReport


class Memory(Listens):
    """Memory and context for agents, blocking. Works in threads, inside a running loop and after a fork."""

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
            url,
            hot,
            read_url,
            api_key,
            org,
            user,
            read,
            write,
            shared,
            all_orgs,
            actor,
            durability,
            embedder,
            reranker,
            model,
            counter,
            clock,
            extract,
            worker,
            record_bytes,
            gate,
            encryption,
        )
        self._core = opening.core(blocking=True)
        self._engine = AsyncMemory._over(self._core)
        run_blocking(self._core.shared.open())

    def _make_noun(self, name: str, noun_type: Callable[..., T]) -> T:
        return noun_type(getattr(self._engine, name))

    @classmethod
    def _over(cls, core: Core) -> Self:
        handle = cls.__new__(cls)
        handle._core = core
        handle._engine = AsyncMemory._over(core)
        return handle

    @property
    def org(self) -> str:
        """The tenant this handle is for."""
        return self._engine.org

    @property
    def user(self) -> str | None:
        """The user this handle is for, if it is for one."""
        return self._engine.user

    @property
    def aio(self) -> AsyncMemory:
        """This handle for callers that await, over the same store; usable from any thread and event loop."""
        return self._engine.aio

    @property
    def blocking(self) -> Memory:
        """This handle for callers that block, over the same store; usable from any thread."""
        return self._engine.blocking

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
        return self._over(self._engine.scope(org=org, user=user, actor=actor, read=read, write=write)._core)

    def namespaces(
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
        return run_blocking(self._engine.namespaces(kind, prefix=prefix, limit=limit, after=after, reverse=reverse))

    def recall(
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
        return run_blocking(
            self._engine.recall(
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
        )

    def context(
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
        return run_blocking(
            self._engine.context(
                input,
                thread=thread,
                system=system,
                tools=tools,
                pinned_tools=pinned_tools,
                budget=budget,
                policy=policy,
                recall=recall,
                profile=profile,
                scratchpad=scratchpad,
                layout=layout,
                as_of=as_of,
                stash=stash,
            )
        )

    def find_tools(self, query: str, tools: Sequence[Tool], *, top_k: int = 5) -> list[Tool]:
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
        return run_blocking(self._engine.find_tools(query, tools, top_k=top_k))

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
    ) -> Session:
        """One run of a conversation, as a context manager: it continues a thread, or starts one.

        Examples:
            >>> with memory.session(user="ada", budget=4000) as talk:
            ...     receipts = talk.add("I prefer short answers.", "Noted.")
        """
        return Session(
            self._engine.session(
                thread,
                user=user,
                agent=agent,
                budget=budget,
                policy=policy,
                layout=layout,
                system=system,
                compact_at=compact_at,
                compact_to=compact_to,
                stash=stash,
                should_persist=should_persist,
                on_turn_end=on_turn_end,
                on_session_end=on_session_end,
            )
        )

    def watch(self, namespaces: Sequence[Ns] | None = None, *, kinds: Sequence[str] | None = None) -> Watch:
        """Notices of changes that this and other processes make from then on: kind and namespace, never content.

        Examples:
            >>> changes = memory.watch(["user:ada"], kinds=["fact"])
        """
        return Watch(self._engine.watch(namespaces, kinds=kinds))

    def process(self, *processors: ProcessorSpec, progress: ProcessProgress | None = None) -> list[Report]:
        """Run maintenance processors in order: objects, classes or names; none means the usual ones.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> [report.processor for report in memory.process("gc", "dedup")]
            ['gc', 'dedup']
        """
        return run_blocking(self._engine.process(*processors, progress=progress))

    def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Wait until messages are indexed and facts were derived from them (or that failed); returns updated receipts.

        Examples:
            >>> receipts = memory.threads.append("talk", "I moved to Porto.")
            >>> memory.wait(receipts)[0].derived
            'done'
        """
        return run_blocking(self._engine.wait(receipts, timeout=timeout))

    def task(
        self, *, recall: Recall | Spaces | bool = None, remember: Remember | None = None, thread: str | None = None
    ) -> BlockingTask:
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
        return stepped(self._engine.task(recall=recall, remember=remember, thread=thread))

    def stats(self) -> Stats:
        """Count what is stored, by kind, and how much of it is indexed.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> memory.stats().messages
            2
        """
        return run_blocking(self._engine.stats())

    def doctor(self, *, deep: bool = False) -> Diagnosis:
        """Check the store and the outbox: versions, settings, sizes and problems; `deep` reads and checks every row.

        Raises `Forbidden` on a user's handle.

        Examples:
            >>> memory.doctor().problems
            []
        """
        return run_blocking(self._engine.doctor(deep=deep))

    def batch(self) -> Batch:
        """Collect changes of any kind and commit them together at the end of the block, or not at all.

        Examples:
            >>> with memory.batch() as batch:
            ...     fact = batch.facts.set("global", "release", "1.2")
            ...     count = batch.state.increment("releases")
            >>> memory.facts.get("global", "release").value
            '1.2'
        """
        return Batch(self._engine.batch())

    def remember(
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
        return run_blocking(self._engine.remember(messages, user=user, thread=thread, infer=infer, key=key))

    def tidy(self, *, user: str | None = None, dry_run: bool = True) -> TidyPlan:
        """Make a plan that tidies up what is remembered of a user; apply it with `plan.apply()`, or `dry_run=False`.

        The plan merges duplicates. With a model it also ends what is no longer true, rewords what is long, and states
        habits that several memories show. `plan.undo()` puts everything back.

        Examples:
            >>> memory.tidy(user="ada").lines
            []
        """
        return TidyPlan(run_blocking(self._engine.tidy(user=user, dry_run=dry_run)))

    def forget(
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
        return run_blocking(
            self._engine.forget(
                user=user,
                thread=thread,
                message=message,
                fact=fact,
                source=source,
                physical=physical,
                shred=shred,
                preview=preview,
            )
        )

    def scrub(self) -> Scrubbed:
        """Rewrite the store's files without the bytes of deleted rows; an operator's command.

        On a server it locks or slows all tenants, and needs a handle opened with `all_orgs=True`.

        Raises `Forbidden` on any other handle.

        Examples:
            >>> report = Memory("memory://", all_orgs=True).scrub()
        """
        return run_blocking(self._engine.scrub())

    def why(self, item: Traceable) -> Why:
        """Trace a fact, learning, summary, hit or id back to the messages it was derived from.

        Raises `NotFound` if it does not exist.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon", source="talk#1")
            >>> [message.text for message in memory.why("user:ada/city").messages]
            ['I live in Lisbon.']
        """
        return run_blocking(self._engine.why(item))

    def export(
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
        return run_blocking(self._engine.export(path, to=to, namespace=namespace, progress=progress))

    def export_lines(self) -> Export:
        """Stream the lines of an export, some at a time; no file is written.

        Examples:
            >>> lines = b"".join(memory.export_lines())
        """
        return Export(self._engine.export_lines())

    def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Load a file that `export` wrote; for a damaged file the error names the line, and nothing is changed.

        Raises `InvalidValue` for a damaged file, `Forbidden` on a user's handle.

        Examples:
            >>> written = memory.export("everything.jsonl")
            >>> Memory("memory://").import_("everything.jsonl").rows == written.rows
            True
        """
        return run_blocking(self._engine.import_(path, progress=progress))

    def import_from(
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
        return run_blocking(
            self._engine.import_from(
                path,
                kind=kind,
                namespace=namespace,
                users=users,
                mapping=mapping,
                source=source,
                dry_run=dry_run,
                strict=strict,
                progress=progress,
            )
        )

    def close(self) -> None:
        """Finish work in progress and close the store; after this, every call on any handle is refused.

        Closing a batch does nothing: `with task.batch() as batch` leaves the memory open.

        Examples:
            >>> memory.close()
        """
        run_blocking(self._engine.close())

    def __enter__(self) -> Self:
        run_blocking(self._engine.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._engine.__aexit__(kind, error, trace))


class Batch:
    """A context manager that collects changes and commits them together when the block ends without an error."""

    def __init__(self, engine: AsyncBatch) -> None:
        self._engine = engine

    def __enter__(self) -> Memory:
        return Memory._over(run_blocking(self._engine.__aenter__())._core)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._engine.__aexit__(kind, error, trace))

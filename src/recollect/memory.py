"""Memory blocks, AsyncMemory awaits: two facades over one engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from . import blocking
from .engine.assembling import Assembling
from .engine.audit import Audit
from .engine.core import Core, Shared
from .engine.documents import Documents
from .engine.entities import Entities
from .engine.events import Listens
from .engine.facts import Facts
from .engine.forgetting.forget import Erasure, Forgetting
from .engine.forgetting.provenance import Provenance, Why
from .engine.health import Health
from .engine.inject import Injection, Remember, stepped
from .engine.learnings import Learnings
from .engine.outbox import InProcess, Jobs
from .engine.portable import Portable, Progress, Transfer
from .engine.processors import Progress as ProcessProgress
from .engine.processors import Report, run_all
from .engine.profile import Profile
from .engine.recall.recalling import Recalling, Spaces
from .engine.records import Records
from .engine.session import Ended, Session, Turn
from .engine.state import State
from .engine.tasks.tasks import Tasks
from .engine.threads import MessageReceipt, Threads
from .engine.working import Working, WorkingMemory
from .records import Fact
from .runtime import BlockingRuntime, Runtime, run_blocking
from .scope import Scope
from .stores.opening import open_store

if TYPE_CHECKING:
    from .context.context import Context
    from .recall.hit import Hit

Durability = Literal["full", "normal"]
Url = str | os.PathLike[str] | None


def _open(
    runtime: Runtime, url: Any, hot: Any, scope: Scope, durability: str, clock: Any, worker: bool, **parts: Any
) -> Core:
    shared = Shared(open_store(url, hot, runtime, durability), runtime, clock, **parts)
    if worker:
        shared.worker = InProcess(shared)
        shared.wrote = shared.worker.wake
    return Core(shared, scope)


class AsyncMemory(Listens):
    """Memory and context for agents, awaited."""

    def __init__(
        self,
        url: Url = None,
        *,
        hot: Url = None,
        org: str = "default",
        user: str | None = None,
        actor: str = "user",
        durability: Durability = "full",
        embedder: Any = "default",
        model: Any = None,
        counter: Any = None,
        clock: Any = None,
        extract: Literal["auto", "rules"] | None = "auto",
        worker: bool = True,
        record_bytes: int | None = None,
    ) -> None:
        scope = Scope(org, user, actor, root=org == "default")
        from .loop_runtime import AsyncRuntime

        parts = {
            "embedder": embedder, "model": model, "counter": counter, "extract": extract, "worker": worker,
            "record_bytes": record_bytes,
        }  # fmt: skip
        self._bind(_open(AsyncRuntime(), url, hot, scope, durability, clock, **parts, batch=AsyncMemory._over))

    def _bind(self, core: Core) -> None:
        self._core = core
        self.facts = Facts(core)
        self.threads = Threads(core)
        self.state = State(core)
        self.learnings = Learnings(core)
        self.profile = Profile(core)
        self.working: WorkingMemory[Working] = WorkingMemory(core)
        self.entities = Entities(core)
        self.documents = Documents(core)
        self.records = Records(core)
        self.tasks = Tasks(core)
        self.audit = Audit(core)
        self._forgetting = Forgetting(core)
        self._provenance = Provenance(core)
        self._portable = Portable(core)
        self._recalling = Recalling(core)
        self._assembling = Assembling(core)
        self._injection = Injection(core)
        self._health = Health(core)
        self.jobs = Jobs(core)

    @classmethod
    def _over(cls, core: Core) -> Self:
        made = cls.__new__(cls)
        made._bind(core)
        return made

    @property
    def org(self) -> str:
        """The tenant this handle is for."""
        return self._core.org

    @property
    def user(self) -> str | None:
        """The user this handle is for, if it is for one."""
        return self._core.scope.user

    def scope(self, *, org: str | None = None, user: str | None = None, actor: str | None = None) -> Self:
        """A narrower handle over the same connection; it can never be widened."""
        return self._over(self._core.narrowed(self._core.scope.narrow(org, user, actor)))

    async def recall(
        self,
        query: str,
        *,
        namespaces: Spaces = None,
        kinds: Sequence[str] | str | None = None,
        top_k: int = 10,
        max_tokens: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        where: Mapping[str, Any] | None = None,
        min_score: float | None = None,
    ) -> list[Hit]:
        """The hits that matter most for a query, best first; what was written before the call is found."""
        return await self._recalling.recall(
            query,
            namespaces=namespaces,
            kinds=kinds,
            top_k=top_k,
            max_tokens=max_tokens,
            after=after,
            before=before,
            where=where,
            min_score=min_score,
        )

    async def context(
        self,
        input: Any,
        *,
        thread: str | None = None,
        system: Any = None,
        tools: Iterable[Any] | None = None,
        budget: Any = None,
        policy: Any = None,
        recall: Any = True,
        scratchpad: Any = None,
        layout: str = "standard",
    ) -> Context:
        """The request for an input: within the budget, valid for the provider, with what is remembered."""
        return await self._assembling.context(
            input, thread=thread, system=system, tools=tools, budget=budget, policy=policy, recall=recall,
            scratchpad=scratchpad, layout=layout,
        )  # fmt: skip

    def session(
        self,
        thread: str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        budget: Any = 8000,
        policy: Any = None,
        layout: str = "cached",
        system: Any = None,
        compact_at: float = 0.8,
        compact_to: float = 0.5,
        should_persist: Callable[[Turn], bool] | None = None,
        on_turn_end: Callable[[Turn], Any] | None = None,
        on_session_end: Callable[[Ended], Any] | None = None,
    ) -> Session:
        """One run of a conversation; use it as `async with`."""
        return Session(
            self._core, thread, user=user, agent=agent, budget=budget, policy=policy, layout=layout, system=system,
            compact_at=compact_at, compact_to=compact_to, should_persist=should_persist, on_turn_end=on_turn_end,
            on_session_end=on_session_end,
        )  # fmt: skip

    async def process(self, *processors: Any, progress: ProcessProgress | None = None) -> list[Report]:
        """Run maintenance processors in order: objects, classes or names; none means the usual ones."""
        return await run_all(self._core, processors, progress)

    async def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Until the messages are indexed and derived from (or given up on); how they stand then."""
        return await self.jobs.wait(receipts, timeout=timeout)

    def task(
        self, *, recall: Any = None, remember: Remember | None = None, thread: str | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Gives a function memory: what is recalled comes in as `recalled`, its output is kept, failing keeps none."""
        return self._injection.task(recall=recall, remember=remember, thread=thread)

    async def stats(self) -> dict[str, Any]:
        """What is remembered here, by kind, and how far it is indexed."""
        return await self._health.stats()

    async def doctor(self, *, deep: bool = False) -> dict[str, Any]:
        """What stands under this memory, and everything that is wrong with it under `problems`."""
        return await self._health.doctor(deep=deep)

    def batch(self) -> AsyncBatch:
        """Collects changes of any kind and commits them together at the end of `async with`, or not at all."""
        return AsyncBatch(self)

    async def forget(
        self,
        *,
        user: str | None = None,
        thread: str | None = None,
        message: str | None = None,
        fact: str | tuple[str, str] | Fact | None = None,
        source: str | None = None,
        physical: bool = False,
    ) -> Erasure:
        """Remove one thing and all that was derived from it; `physical` removes it from the store's files as well."""
        return await self._forgetting.forget(
            user=user, thread=thread, message=message, fact=fact, source=source, physical=physical
        )

    async def why(self, item: Any) -> Why:
        """Where a fact, learning, summary, hit or id came from, back to the messages."""
        return await self._provenance.why(item)

    async def export(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Write every row of this org to a file of JSON lines."""
        return await self._portable.export(path, progress=progress)

    async def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Load a file that `export` wrote; a damaged one names its line and changes nothing."""
        return await self._portable.import_(path, progress=progress)

    async def close(self) -> None:
        """Finish what is under way and let go of the store."""
        await self._core.shared.close()

    async def __aenter__(self) -> Self:
        await self._core.shared.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncBatch:
    """Changes on their way to one commit."""

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


class Memory(Listens):
    """Memory and context for agents, blocking. Works in threads, inside a running loop and after a fork."""

    def __init__(
        self,
        url: Url = None,
        *,
        hot: Url = None,
        org: str = "default",
        user: str | None = None,
        actor: str = "user",
        durability: Durability = "full",
        embedder: Any = "default",
        model: Any = None,
        counter: Any = None,
        clock: Any = None,
        extract: Literal["auto", "rules"] | None = "auto",
        worker: bool = True,
        record_bytes: int | None = None,
    ) -> None:
        scope = Scope(org, user, actor, root=org == "default")
        parts = {
            "embedder": embedder, "model": model, "counter": counter, "extract": extract, "worker": worker,
            "record_bytes": record_bytes,
        }  # fmt: skip
        self._bind(_open(BlockingRuntime(), url, hot, scope, durability, clock, **parts, batch=Memory._over))
        run_blocking(self._core.shared.open())

    def _bind(self, core: Core) -> None:
        self._core = core
        self._twin = AsyncMemory._over(core)
        self.facts = blocking.Facts(self._twin.facts)
        self.threads = blocking.Threads(self._twin.threads)
        self.state = blocking.State(self._twin.state)
        self.learnings = blocking.Learnings(self._twin.learnings)
        self.profile = blocking.Profile(self._twin.profile)
        self.working: blocking.WorkingMemory[Working] = blocking.WorkingMemory(self._twin.working)
        self.entities = blocking.Entities(self._twin.entities)
        self.documents = blocking.Documents(self._twin.documents)
        self.records = blocking.Records(self._twin.records)
        self.tasks = blocking.Tasks(self._twin.tasks)
        self.audit = blocking.Audit(self._twin.audit)
        self.jobs = blocking.Jobs(self._twin.jobs)

    @classmethod
    def _over(cls, core: Core) -> Self:
        made = cls.__new__(cls)
        made._bind(core)
        return made

    @property
    def org(self) -> str:
        """The tenant this handle is for."""
        return self._core.org

    @property
    def user(self) -> str | None:
        """The user this handle is for, if it is for one."""
        return self._core.scope.user

    def scope(self, *, org: str | None = None, user: str | None = None, actor: str | None = None) -> Self:
        """A narrower handle over the same connection; it can never be widened."""
        return self._over(self._core.narrowed(self._core.scope.narrow(org, user, actor)))

    def recall(
        self,
        query: str,
        *,
        namespaces: Spaces = None,
        kinds: Sequence[str] | str | None = None,
        top_k: int = 10,
        max_tokens: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        where: Mapping[str, Any] | None = None,
        min_score: float | None = None,
    ) -> list[Hit]:
        """The hits that matter most for a query, best first; what was written before the call is found."""
        return run_blocking(
            self._twin.recall(
                query,
                namespaces=namespaces,
                kinds=kinds,
                top_k=top_k,
                max_tokens=max_tokens,
                after=after,
                before=before,
                where=where,
                min_score=min_score,
            )
        )

    def context(
        self,
        input: Any,
        *,
        thread: str | None = None,
        system: Any = None,
        tools: Iterable[Any] | None = None,
        budget: Any = None,
        policy: Any = None,
        recall: Any = True,
        scratchpad: Any = None,
        layout: str = "standard",
    ) -> Context:
        """The request for an input: within the budget, valid for the provider, with what is remembered."""
        return run_blocking(
            self._twin.context(
                input, thread=thread, system=system, tools=tools, budget=budget, policy=policy, recall=recall,
                scratchpad=scratchpad, layout=layout,
            )
        )  # fmt: skip

    def session(
        self,
        thread: str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        budget: Any = 8000,
        policy: Any = None,
        layout: str = "cached",
        system: Any = None,
        compact_at: float = 0.8,
        compact_to: float = 0.5,
        should_persist: Callable[[Turn], bool] | None = None,
        on_turn_end: Callable[[Turn], Any] | None = None,
        on_session_end: Callable[[Ended], Any] | None = None,
    ) -> blocking.Session:
        """One run of a conversation; use it as `with`."""
        made = self._twin.session(
            thread, user=user, agent=agent, budget=budget, policy=policy, layout=layout, system=system,
            compact_at=compact_at, compact_to=compact_to, should_persist=should_persist, on_turn_end=on_turn_end,
            on_session_end=on_session_end,
        )  # fmt: skip
        return blocking.Session(made)

    def process(self, *processors: Any, progress: ProcessProgress | None = None) -> list[Report]:
        """Run maintenance processors in order: objects, classes or names; none means the usual ones."""
        return run_blocking(self._twin.process(*processors, progress=progress))

    def wait(
        self, receipts: MessageReceipt | Iterable[MessageReceipt], *, timeout: float | None = 30.0
    ) -> list[MessageReceipt]:
        """Until the messages are indexed and derived from (or given up on); how they stand then."""
        return run_blocking(self._twin.wait(receipts, timeout=timeout))

    def task(
        self, *, recall: Any = None, remember: Remember | None = None, thread: str | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Gives a function memory: what is recalled comes in as `recalled`, its output is kept, failing keeps none."""
        return stepped(self._twin._injection.task(recall=recall, remember=remember, thread=thread))

    def stats(self) -> dict[str, Any]:
        """What is remembered here, by kind, and how far it is indexed."""
        return run_blocking(self._twin.stats())

    def doctor(self, *, deep: bool = False) -> dict[str, Any]:
        """What stands under this memory, and everything that is wrong with it under `problems`."""
        return run_blocking(self._twin.doctor(deep=deep))

    def batch(self) -> Batch:
        """Collects changes of any kind and commits them together at the end of the `with` block, or not at all."""
        return Batch(self)

    def forget(
        self,
        *,
        user: str | None = None,
        thread: str | None = None,
        message: str | None = None,
        fact: str | tuple[str, str] | Fact | None = None,
        source: str | None = None,
        physical: bool = False,
    ) -> Erasure:
        """Remove one thing and all that was derived from it; `physical` removes it from the store's files as well."""
        return run_blocking(
            self._twin.forget(user=user, thread=thread, message=message, fact=fact, source=source, physical=physical)
        )

    def why(self, item: Any) -> Why:
        """Where a fact, learning, summary, hit or id came from, back to the messages."""
        return run_blocking(self._twin.why(item))

    def export(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Write every row of this org to a file of JSON lines."""
        return run_blocking(self._twin.export(path, progress=progress))

    def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Load a file that `export` wrote; a damaged one names its line and changes nothing."""
        return run_blocking(self._twin.import_(path, progress=progress))

    def close(self) -> None:
        """Finish what is under way and let go of the store."""
        run_blocking(self._twin.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Batch:
    """Changes on their way to one commit."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._inner: Memory | None = None

    def __enter__(self) -> Memory:
        self._inner = Memory._over(self._memory._core.batched())
        return self._inner

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._inner is not None:
            run_blocking(self._memory._core.commit(self._inner._core))


def run_with_memory(
    agent: Any,
    input: str,
    *,
    memory: Memory | AsyncMemory,
    user: str | None = None,
    org: str | None = None,
    **more: Any,
) -> Any:
    """Run an agent (a function, or an object with run/invoke) with what is remembered, and record the turn.

    Gives the agent's output; with an AsyncMemory, an awaitable of it.
    """
    handle = memory.scope(org=org) if org is not None else memory
    work = Injection(handle._core).run(agent, input, user=user, **more)
    if isinstance(handle, Memory):
        return run_blocking(work).output

    async def answered() -> Any:
        return (await work).output

    return answered()

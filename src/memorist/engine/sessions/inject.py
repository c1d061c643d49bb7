"""Runs any agent or function with memory. Recalled text, fenced as data, is passed in, and the turn is recorded."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast, overload

import msgspec

from ...errors import UsageError
from ...kinds import source_of
from ...messages.message import Message, text_of
from ...ports import Ttl
from ...runtime import run_blocking
from ...scope import Ns
from ...values import Json
from ..core import Core
from ..derive.carried import based_on
from ..facts.facts import Facts
from ..recalling import Recalling, Spaces
from ..state import State
from ..threads.threads import Threads
from ..trust import lowest_trust
from .assembling import Assembling, Recall, recall_spec

if TYPE_CHECKING:
    from ...context.context import Context
    from ...recall.hit import Hit

P = ParamSpec("P")
T = TypeVar("T")
METHODS = ("run", "invoke", "arun", "ainvoke")
TASK_HITS = 8
MAX_QUERY_CHARACTERS = 4000
"""How much of a task's texts is used to search for memories."""
OWN_THREAD = "memorist.thread"
"""The state key of the thread that a scope's agents continue."""


class Remember(msgspec.Struct, frozen=True):
    """Stores a task's output as a fact under a key."""

    namespace: Ns
    key: str
    ttl: Ttl | None = None
    confidence: float = 1.0


class Answer(msgspec.Struct, frozen=True):
    """Represents an agent's output, and the thread in which its turn was recorded."""

    output: Any
    thread: str
    context: Context


class Runs(Protocol):
    """Represents an agent with `run`."""

    @property
    def run(self) -> Callable[..., object]: ...


class Invokes(Protocol):
    """Represents an agent with `invoke`."""

    @property
    def invoke(self) -> Callable[..., object]: ...


class RunsAsync(Protocol):
    """Represents an agent with `arun`."""

    @property
    def arun(self) -> Callable[..., object]: ...


class InvokesAsync(Protocol):
    """Represents an agent with `ainvoke`."""

    @property
    def ainvoke(self) -> Callable[..., object]: ...


Agent = Callable[..., object] | Runs | Invokes | RunsAsync | InvokesAsync
"""The values that `run_with_memory` accepts: a sync or async function, or an object with run, invoke, arun or
ainvoke."""


class AsyncTask(Protocol):
    """Represents a decorator that returns awaitable functions with their original parameters."""

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[object, None, T]], /
    ) -> Callable[P, Coroutine[object, None, T]]: ...

    @overload
    def __call__(self, function: Callable[P, T], /) -> Callable[P, Coroutine[object, None, T]]: ...


class BlockingTask(Protocol):
    """Represents a decorator that keeps plain functions plain and async functions async."""

    def __call__(self, function: Callable[P, T], /) -> Callable[P, T]: ...


class Basis(msgspec.Struct, frozen=True):
    """Records what a task's output is based on: the items recalled for it, and the time when the recall began."""

    since: datetime
    sources: tuple[str, ...] = ()
    """These are the lineage ids of the hits."""
    trust: str | None = None
    """This is the lowest trust level of the hits, or None if there are no hits."""

    @classmethod
    def of(cls, since: datetime, hits: Sequence[Hit]) -> Basis:
        """Create the record from the hits of a recall that began at a given time."""
        sources = dict.fromkeys(source_of(hit.kind, hit.namespace, hit.id) for hit in hits)
        return cls(since, tuple(sources), lowest_trust([str(hit.trust) for hit in hits]) if hits else None)

    def lowered(self, own: str) -> str:
        """Return the lower of the output's own trust and the lowest trust of everything it is based on."""
        return own if self.trust is None else lowest_trust([own, self.trust])

    def message(self, text: str) -> Message:
        """Return the output as a message that names its sources, so that forgetting one of them also deletes the
        message."""
        message = Message(role="assistant", content=text)
        return based_on(message, self.sources, [self.trust] if self.trust else []) if self.sources else message


class Output(msgspec.Struct, frozen=True):
    """Describes what a call to a task stores in memory: a fact, an exchange in a thread, or both."""

    value: Json
    text: str
    """This is the output as text."""
    asked: str = ""
    """These are the texts with which the function was called."""
    remember: Remember | None = None
    thread: str | None = None


class Injection:
    """Runs agents and functions with memory."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def run(
        self,
        agent: Agent,
        input: str,
        *,
        user: str | None = None,
        thread: str | None = None,
        **options: Any,
    ) -> Answer:
        """Call an agent with the user's context, then record the turn. `options` are those of `memory.context`.

        If the agent raises an error, nothing is recorded.
        """
        core = self._core.narrowed(self._core.scope.narrow(user=user)) if user else self._core
        threads = core.part(Threads)
        call = _callable(agent, core.runtime.blocking)
        if thread is None:
            thread = await self._own_thread(core)
        context = await core.part(Assembling).context(input, thread=thread, **options)
        # No transaction is open while the agent runs, because it may take minutes and use the memory itself.
        output = await _called(core, agent, call, input, context)
        if thread is None:
            # Only now, so that an agent that fails leaves no empty thread.
            thread = (await threads.create(core.scope.own())).id
            await core.part(State).set(OWN_THREAD, thread)
        await threads.append(
            thread, Message(role="user", content=input), Message(role="assistant", content=_output_text(output))
        )
        return Answer(output, thread, context)

    @staticmethod
    async def _own_thread(core: Core) -> str | None:
        """Return the thread that this scope's agents continue, or None before the first turn is recorded."""
        thread = await core.part(State).get(OWN_THREAD)
        is_stored = isinstance(thread, str) and await core.part(Threads).get(thread) is not None
        return str(thread) if is_stored else None

    def task(
        self,
        *,
        recall: Recall | Spaces | bool = None,
        remember: Remember | None = None,
        thread: str | None = None,
    ) -> AsyncTask:
        """Return a decorator that adds memory to a function; see `Memory.task`."""

        def wrap(function: Callable[..., object]) -> Callable[..., object]:
            takes = "recalled" in inspect.signature(function).parameters

            async def run(*args: object, **kwargs: object) -> object:
                texts = [value for value in (*args, *kwargs.values()) if isinstance(value, str)]
                recalled = Basis(self._core.at())
                spec = recall_spec(recall)
                if spec is not None and takes and "recalled" not in kwargs:
                    if not texts:
                        raise UsageError("a task with recall needs at least one text argument to search for")
                    recalled, kwargs["recalled"] = await self.recall("\n".join(texts)[:MAX_QUERY_CHARACTERS], spec)
                output = await _run(self._core, function, args, kwargs)
                if remember is not None or thread is not None:
                    text = _output_text(output)
                    value = cast(Json, output) if _is_json(output) else text
                    await self.keep(Output(value, text, "\n".join(texts), remember, thread), recalled)
                return output

            return functools.wraps(function)(run)

        return cast(AsyncTask, wrap)

    async def recall(self, query: str, spec: Recall) -> tuple[Basis, list[Hit]]:
        """Return the memories recalled for a task's query, and the sources of its output."""
        since = self._core.at()
        options: dict[str, Any] = msgspec.structs.asdict(spec) | {
            "top_k": TASK_HITS if spec.top_k is None else spec.top_k
        }
        hits = await self._core.part(Recalling).recall(query, **options)
        return Basis.of(since, hits), hits

    async def keep(self, output: Output, recalled: Basis) -> bool:
        """Store the output as a fact and the exchange as messages in one commit, each with its sources.

        Return False if there is no fact to store, because one of its sources was forgotten in the meantime.
        """
        batch, is_stored = self._core.batched(), True
        if (remember := output.remember) is not None:
            facts, space = Facts(batch), self._core.scope.writable(remember.namespace)
            fact = facts._new(space, remember.key, output.value, remember.ttl, remember.confidence, None)
            fact = msgspec.structs.replace(fact, sources=recalled.sources, trust=recalled.lowered(fact.trust))
            # A source that was forgotten while the function ran still counts as forgotten if its id is in use again.
            is_stored = (await facts._derive(fact, since=recalled.since)).status != "rejected"
        if output.thread is not None:
            asked = [Message(role="user", content=output.asked)] if output.asked else []
            thread = await Threads(self._core).get(output.thread)
            own = self._core.scope.own() if thread is None else None
            await Threads(batch).append(output.thread, *asked, recalled.message(output.text), create=own)
        await self._core.commit(batch)
        return is_stored


def _callable(agent: Agent, blocking: bool) -> Callable[..., object]:
    # An agent object is often callable too, with other arguments than its `run`.
    if callable(agent) and not any(hasattr(agent, name) for name in METHODS):
        return agent
    order = METHODS if blocking else ("arun", "ainvoke", "run", "invoke")
    for name in order:
        method: Callable[..., object] | None = getattr(agent, name, None)
        if callable(method) and not (blocking and inspect.iscoroutinefunction(method)):
            return method
    if callable(agent):
        return agent
    raise UsageError(
        f"{type(agent).__name__} cannot be run: give a function, or an object with {', '.join(METHODS)}"
        + ("; async ones need AsyncMemory" if blocking else "")
    )


async def _called(core: Core, agent: Agent, call: Callable[..., object], input: str, context: Context) -> object:
    """Call an agent with whichever it accepts: the context, the messages or the system prompt. If it accepts none of
    these, pass one text.
    """
    try:
        names = set(inspect.signature(call).parameters)
    except (TypeError, ValueError):  # a builtin without a signature
        names = set()
    if "context" in names:
        return await _run(core, call, (input,), {"context": context})
    if "messages" in names:
        return await _run(core, call, (), {"messages": context.messages()})
    own = getattr(agent, "system", None)
    if "system" in names:
        return await _run(core, call, (input,), {"system": _system(own, context)})
    if isinstance(own, str) and call is not agent:
        import copy

        # Change a copy, because another call of the same agent may run at the same time with another context.
        twin = copy.copy(agent)
        setattr(twin, "system", _system(own, context))  # noqa: B010
        return await _run(core, getattr(twin, call.__name__), (input,), {})
    return await _run(core, call, (context.text(),), {})


def _system(own: object, context: Context) -> str:
    """Return an agent's own system prompt, followed by the user's profile, recalled items and recent history."""
    from ...context.fence import HISTORY_NOTE, fence
    from ...context.render import transcript

    parts = [own if isinstance(own, str) else "", *(message.text for message in context.system_messages)]
    memory_messages = (context.profile_message, context.memory_message, context.summary_message)
    parts += [message.text for message in memory_messages if message is not None]
    if context.history:
        parts.append(fence("recent_history", HISTORY_NOTE, transcript(context.history)))
    return "\n\n".join(part for part in parts if part)


async def _run(
    core: Core, function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> object:
    """Run a user's sync or async function. A sync function runs in another thread if there is an event loop."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    output = await core.runtime.offload(lambda: function(*args, **kwargs))
    return await output if inspect.isawaitable(output) else output


def _output_text(output: object) -> str:
    if isinstance(output, str):
        return output
    for name in ("content", "output", "text", "final_output"):
        text = output.get(name) if isinstance(output, dict) else getattr(output, name, None)
        if isinstance(text, str | list):
            return text_of(text)
    return msgspec.json.encode(output).decode() if _is_json(output) else str(output)


def _is_json(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | dict)


def stepped(wrap: AsyncTask) -> BlockingTask:
    """Return the decorator for a blocking memory. Plain functions stay plain, and async functions stay async."""

    def decorate(function: Callable[..., object]) -> Callable[..., object]:
        wrapped = wrap(function)
        if inspect.iscoroutinefunction(function):
            return wrapped
        return functools.wraps(function)(lambda *args, **kwargs: run_blocking(wrapped(*args, **kwargs)))

    return cast(BlockingTask, decorate)

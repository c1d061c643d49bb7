"""A session is one run of a conversation over a thread.

The thread contains the whole conversation. Facts and learnings are derived from the turns that `should_persist`
accepts. At the end, the conversation is folded into a summary for recall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ...backoff import pause
from ...errors import UsageError
from ...ids import new_id
from ...messages.message import PASSING, Given, Message, as_message
from ...messages.reports import Reported, RequestReport
from ...records import Job, Summary, as_dict
from ...values import Json
from ..core import Core
from ..derive.folding import Folding
from ..derive.outbox import QUEUES, Outbox
from ..recalling import Spaces
from ..state import State
from ..threads.appending import keyed
from ..threads.receipts import MessageReceipt
from ..threads.threads import PARENT, Threads
from .assembling import Recall, Request, checked_budget
from .children import MAX_SOURCES, ChildResult, with_child_sources

if TYPE_CHECKING:
    from ...context.context import Context
    from ...context.given import BudgetSpec, Item, Layout, Prompt, Tool
    from ...context.plan import Policy
    from .settings import Prefix

PERSISTED, PASSED = "memorist.turns.persisted", "memorist.turns.passing"
"""State keys under which each user's turns in ended sessions are counted."""


MIN_ARCHIVED_TOKENS = 200
"""A shorter conversation is not folded at the end, because its summary would hardly be shorter."""
MIN_HISTORY_PART = 4
"""A thread is folded as if history had at least this fraction of the request."""
END_SECONDS = 30.0
"""How long `end` processes the session's messages, or waits for a worker to process them."""


class Turn(msgspec.Struct, frozen=True):
    """Holds the messages of one exchange."""

    to_dict = as_dict

    messages: tuple[Message, ...]
    number: int

    @property
    def text(self) -> str:
        """This is the user's text."""
        return "\n".join(message.text for message in self.messages if message.role == "user")


class SessionState(msgspec.Struct, frozen=True):
    """Represents a snapshot of a session: its ids, counts, window policy and token limit."""

    to_dict = as_dict

    session_id: str
    thread: str
    messages: int
    window: str
    max_tokens: int
    turns: int
    persisted: int
    """This counts turns from which facts and learnings are derived."""
    passing: int
    """This counts turns that `should_persist` excluded from derivation."""
    folded_to: int
    """This is the last message covered by a summary."""


class Ended(msgspec.Struct, frozen=True):
    """Holds the result of a session."""

    to_dict = as_dict

    thread: str
    """This is None or empty if no turn was added to a new session."""
    turns: int
    summary: Summary | None
    derived: int
    """These are the jobs run at the end."""


def worth_keeping(turn: Turn) -> bool:
    """Decide whether to store a turn. This is the default `should_persist`, which excludes small talk and turns without
    words from the user.
    """
    from ...languages.small_talk import is_small_talk

    return any(character.isalnum() for character in turn.text) and not is_small_talk(turn.text)


class AsyncSession:
    """Represents one conversation over a thread."""

    id: str
    """The id of this run of the conversation. It is stored in the thread's metadata."""

    def __init__(
        self,
        core: Core,
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
        isolated: bool = False,
        should_persist: Callable[[Turn], bool] | None = None,
        on_turn_end: Callable[[Turn], object] | None = None,
        on_session_end: Callable[[Ended], object] | None = None,
    ) -> None:
        self.id = new_id()
        self._user = user or core.scope.user
        self._core = core.narrowed(core.scope.narrow(user=user)) if user else core
        self._threads = self._core.part(Threads)
        self._agent = agent
        self._thread = new_id() if thread is None else thread
        self._is_stored: bool | None = False if thread is None else None
        """Whether the thread exists, or None if the session has not looked for it yet. A new id is not looked up."""
        self._budget = checked_budget(core, budget)
        self._policy = policy
        self._layout: Layout = layout
        self._system = system
        self._compact = (compact_at, compact_to)
        self._stash = stash
        self._isolated = isolated
        """Whether the session's contexts leave out the profile and recall only items that are explicitly requested."""
        self._should_persist = should_persist
        self._on_turn_end = on_turn_end
        self._on_session_end = on_session_end
        self._sent: Context | None = None
        """The last context, for comparison with the next one."""
        self._asked = ""
        """The input of the last context, until a turn contains it."""
        self._model: str | None = None
        """The model of the last reported usage, whose price determines the cost of a broken cache."""
        self._prefix: Prefix | None = None
        """The beginning of the last request."""
        self.earlier_tools: list[str] = []
        """The tools of the last request, if there were too many to send them all."""
        self._turns = self._persisted = 0
        self._ended: Ended | None = None

    @property
    def thread(self) -> str:
        """This is the id of the thread. If it does not exist yet, `with`, `start` or the first turn creates it."""
        return self._thread

    async def start(self) -> Self:
        """Create the thread now if it does not exist, instead of waiting for the first turn.

        Returns:
            The session itself.

        Examples:
            >>> talk = memory.session(user="ada").start()
            >>> memory.threads.get(talk.thread).length
            0
        """
        if not await self._exists():
            ns, metadata = self._origin()
            await self._threads.create(ns, id=self.thread, metadata=metadata)
            self._is_stored = True
        return self

    async def add(self, *messages: Given | Sequence[Given], key: str | None = None) -> list[MessageReceipt]:
        """Store a turn: the user's message, the assistant's message, and any tool calls and results between them.

        Plain texts alternate between user and assistant. The whole turn is stored in one transaction, which also
        creates the thread if it is new.

        Args:
            messages: Texts, or messages in OpenAI's or Anthropic's format.
            key: Makes the call idempotent.

        Returns:
            One receipt per message.

        Raises:
            InvalidValue: No provider would accept the turn, for example a tool result without its call.

        Examples:
            >>> with memory.session(user="ada") as talk:
            ...     receipts = talk.add("I live in Lisbon.", "Noted.")
            >>> memory.facts.get("user:ada", "location").value
            'Lisbon'
        """
        self._check_open()
        turn = Turn(await self._turn_messages(spoken_messages(messages)), self._turns + 1)
        keep = await self._is_kept(turn)
        receipts = await self._append(turn, keep, key)
        self._is_stored = True
        # The number grows only after the append, so a turn that is added again after an error has the same key.
        self._turns += 1
        self._persisted += keep
        if self._on_turn_end is not None:
            await self._core.runtime.resolve(self._on_turn_end(turn))
        return receipts

    async def _is_kept(self, turn: Turn) -> bool:
        """Return whether facts and learnings are derived from a turn."""
        if self._should_persist is None:
            return worth_keeping(turn)
        runtime = self._core.runtime
        # In another thread, because it may ask a model, and the event loop must not wait for that.
        return bool(await runtime.resolve(await runtime.offload(self._should_persist, turn)))

    async def context(
        self,
        input: Prompt | None,
        *,
        system: Prompt | None = None,
        tools: Iterable[Tool] | None = None,
        pinned_tools: Sequence[str] = (),
        budget: BudgetSpec | None = None,
        policy: Policy | None = None,
        recall: Recall | Spaces | bool | Sequence[Item] = True,
        scratchpad: Json = None,
        layout: Layout | None = None,
    ) -> Context:
        """Build the request for the next input. If the thread exceeds its token limit, its oldest part is folded first.

        If the tools exceed the budget's `tools`, a session keeps sending the tools chosen for its first request, so
        that the prompt cache can serve them. Tools that the model calls or finds with `find_tool` are added.

        Args:
            input: What the user says now.
            system: The system prompt; by default the session's.
            tools: Tool definitions, in OpenAI's or Anthropic's format.
            pinned_tools: Names of tools that are always sent.
            budget: The budget; by default the session's.
            policy: The policy; by default the session's.
            recall: What to recall, as in `memory.context`.
            scratchpad: Notes of the agent, placed after the input.
            layout: The layout; by default the session's.

        Returns:
            The context, ready to render for a provider.

        Raises:
            BudgetError: The parts that must be sent are larger than the budget.

        Examples:
            >>> with memory.session(user="ada", budget=2000) as talk:
            ...     request = talk.context("Where do I live?", system="Be brief.")
            >>> request.tokens <= 2000
            True
        """
        self._check_open()
        layout = layout or self._layout
        request = Request(
            input=input, system=self._system if system is None else system, tools=tools, pinned_tools=pinned_tools,
            earlier_tools=self.earlier_tools if layout == "cached" else (),
            budget=self._budget if budget is None else budget, policy=policy or self._policy,
            recall=False if self._isolated and recall is True else recall, profile=not self._isolated,
            scratchpad=scratchpad, layout=layout, stash=self._stash,
        )  # fmt: skip
        context = self._compared(await self._assemble(request))
        self._asked = input if isinstance(input, str) else ""
        return context

    async def child(
        self,
        brief: str,
        *,
        id: str | None = None,
        agent: str | None = None,
        system: Prompt | None = None,
        budget: BudgetSpec | None = None,
        policy: Policy | None = None,
        stash: int | None = None,
        isolated: bool = True,
    ) -> AsyncSession:
        """Start a session for a sub-agent in its own thread, which begins with a brief.

        Its contexts contain the brief and its own turns, but nothing from this conversation. Forgetting this thread
        also forgets the child's thread. Use `result` to return the child's answer to the parent.

        Args:
            brief: The sub-agent's task, which is in every context of the child.
            id: The id of the child's thread; a new one by default.
            agent: The name of the sub-agent.
            system: The system prompt of the child.
            budget: The child's budget; this session's by default.
            policy: The child's policy; this session's by default.
            stash: Send tool results over this many tokens as previews.
            isolated: Whether to leave out the user's profile and recalled memory.

        Returns:
            The session of the sub-agent.

        Examples:
            >>> talk = memory.session("talk", user="ada")
            >>> helper = talk.child("Find the opening hours of the museum.")
            >>> receipts = helper.add("Look it up.", "It opens at ten.")
            >>> result = helper.result("The museum opens at ten.")
            >>> receipts = talk.add("When does it open?", [result.message()], "At ten.")
        """
        self._check_open()
        if not brief.strip():
            raise UsageError("a child session needs a brief")
        # The child's thread names this one as its parent, so this one must exist first.
        await self.start()
        own = await self._threads.get(self.thread)
        ns = own.ns if own is not None else self._origin()[0]
        about = {"agent": agent} if agent else {}
        thread = await self._threads.create(ns, id=id or new_id(), metadata=about, parent=self.thread)
        # The key keeps the brief from being added twice if the caller repeats the call with the same id.
        await self._threads.append(
            thread.id, {"role": "user", "content": brief, "pinned": True}, key=f"{thread.id}/brief"
        )
        return self._core.part(
            AsyncSession, thread.id, agent=agent, budget=self._budget if budget is None else budget,
            policy=policy or self._policy, layout=self._layout, system=system, compact_at=self._compact[0],
            compact_to=self._compact[1], stash=self._stash if stash is None else stash, isolated=isolated,
        )  # fmt: skip

    async def result(self, text: str) -> ChildResult:
        """Return this child session's answer to its parent, and the messages on which it is based.

        Args:
            text: The answer.

        Returns:
            The result, which you can add to the parent's next turn.

        Raises:
            UsageError: The session is not a child.

        Examples:
            >>> helper = memory.session("talk", user="ada").child("Count the chairs.", id="helper")
            >>> helper.result("There are six.").sources
            ('helper#1',)
        """
        thread = await self._threads.get(self.thread)
        if thread is None or PARENT not in thread.metadata:
            raise UsageError("this session is not a child; create one with session.child(brief)")
        messages = await self._threads.messages(self.thread, MAX_SOURCES)
        return ChildResult(text, self.thread, tuple(message.id for message in messages))

    async def usage(self, reported: Reported, *, model: str | None = None) -> RequestReport:
        """Record the cost of this session's last request, and return a report on what broke the prompt cache.

        Args:
            reported: The response from OpenAI, Anthropic or Gemini, or its `usage`.
            model: The model that answered, which determines the prices.

        Returns:
            The report of the request.

        Raises:
            UsageError: The session has not built a context yet, or its thread has not been written yet.

        Examples:
            >>> talk = memory.session("talk")
            >>> request = talk.context("Where do I live?")
            >>> talk.usage({"prompt_tokens": 90, "completion_tokens": 8}, model="gpt-5").input_tokens
            90
        """
        if self._sent is None:
            raise UsageError("no context was assembled in this session yet")
        if not await self._exists():
            raise UsageError("add a turn first: the thread of this session is not written yet")
        from ...context.usage import read_usage

        self._model = model
        counted = msgspec.structs.asdict(read_usage(reported))
        return await self._threads.report(self.thread, counted, pieces=self._sent.pieces, model=model)

    async def _assemble(self, request: Request) -> Context:
        """Assemble a context, and fold the thread before if it exceeds its token limit."""
        from ...context.reading import as_tools
        from .assembly import Assembly

        if request.tools is not None:
            # They are read twice, and may come from an iterator.
            request = msgspec.structs.replace(request, tools=as_tools(request.tools))
        room = self._history_room(request)
        if await self._exists():
            request = msgspec.structs.replace(request, thread=self.thread)
            # If the store refuses the summary, the context is still built, and its window drops the oldest messages.
            with self._core.shared.reading_on("summaries of sessions"):
                await self._fold(room)
        assembly = Assembly(self._core, int(self._compact[0] * room), self._prefix)
        context = await assembly.assemble(request)
        self._prefix = assembly.prefix
        return context

    def _compared(self, context: Context) -> Context:
        """Return the context, including its first difference from the session's previous request."""
        from ...context.read_tools import tool_name

        self.earlier_tools = [tool_name(tool) for tool in context.tools] if context.account.tools_left else []
        # The copy below would hash all messages again, so the session keeps the context whose pieces are computed.
        before, self._sent = self._sent, context
        if before is None:
            return context
        from ...context.report import find_break, priced
        from ...context.usage import price_of

        broken = priced(find_break(before.pieces, context.pieces), price_of(self._model))
        return context if broken is None else replace(context, broken=broken)

    async def state(self) -> SessionState:
        """Return a snapshot of the session: its turns, how much of it is folded, and its cache.

        Returns:
            The snapshot.

        Examples:
            >>> with memory.session("talk") as talk:
            ...     talk.state().messages
            2
        """
        exists = await self._exists()
        past = await self._threads.summaries(self.thread) if exists else []
        thread = await self._threads.get(self.thread) if exists else None
        window = type(self._policy).__name__ if self._policy is not None else "SlidingWindow"
        return SessionState(
            self.id, self.thread, thread.length - thread.start if thread else 0, window, self._budget.total,
            self._turns, self._persisted, self._turns - self._persisted, past[-1].last if past else 0,
        )  # fmt: skip

    async def end(self) -> Ended:
        """End the session: store a summary and derive memories from the conversation. You can call this more than once.

        Returns:
            The summary, and the session's counts.

        Examples:
            >>> talk = memory.session(user="ada")
            >>> receipts = talk.add("I live in Lisbon.", "Noted.")
            >>> talk.end().turns
            1
        """
        if self._ended is not None:
            return self._ended
        # Set before the hook runs, so that a hook that fails or calls `end` does not end the session twice.
        self._ended = await self._conclude() if await self._exists() else Ended("", 0, None, 0)
        if self._on_session_end is not None:
            await self._core.runtime.resolve(self._on_session_end(self._ended))
        return self._ended

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is None:
            await self.end()

    # -- parts

    async def _exists(self) -> bool:
        """Return whether the thread exists. An id passed by the caller is looked up once."""
        if self._is_stored is None:
            self._is_stored = await self._threads.get(self.thread) is not None
        return self._is_stored

    def _origin(self) -> tuple[str, dict[str, Any]]:
        """Return the namespace and metadata of a thread that this session creates."""
        ns = f"user:{self._user}" if self._user else f"agent:{self._agent}" if self._agent else "global"
        about = {key: value for key, value in (("user", self._user), ("agent", self._agent)) if value}
        return ns, {**about, "session": self.id}

    async def _turn_messages(self, messages: list[Message]) -> tuple[Message, ...]:
        """Return the messages of a turn as they are stored, with recalled items and the sources of child results."""
        sourced = await with_child_sources(self._core, self.thread, messages)
        return tuple(self._attached(message) for message in sourced)

    async def _append(self, turn: Turn, keep: bool, key: str | None) -> list[MessageReceipt]:
        """Store a turn, and its thread if it is new, in one transaction."""
        messages = turn.messages if keep else [_passing(message) for message in turn.messages]
        key = key or f"{self.id}/{turn.number}"
        if await self._exists():
            return await self._threads.append(self.thread, *messages, key=key)
        ns, metadata = self._origin()
        thread = self._threads._new(ns, None, self.thread, metadata, None)
        return await self._threads._append_new(thread, keyed(messages, key))

    async def _conclude(self) -> Ended:
        """Archive the conversation, count its turns and derive memories from it."""
        summary = await self._archive()
        await self._count()
        return Ended(self.thread, self._turns, summary, await self._derive())

    async def _derive(self) -> int:
        """Run due jobs, and wait while a worker holds a job for this thread. Jobs waiting for a retry are left
        alone.
        """
        outbox, tries, end = Outbox(self._core.shared, self._core.org), 0, monotonic() + END_SECONDS
        # A worker that holds the thread's job may have read it before the last turn, so what it leaves is run after it.
        jobs = await outbox.drain(seconds=END_SECONDS)
        while monotonic() < end and await self._in_hand():
            tries += 1
            await self._core.runtime.sleep(pause(tries, first=0.005, longest=0.2))
            jobs += await outbox.drain(seconds=END_SECONDS)
        return jobs

    async def _in_hand(self) -> bool:
        """Return whether a worker holds a job for this thread."""
        thread = await self._threads.get(self.thread)
        keys = [(queue, thread.ns, f"thread:{thread.id}") for queue in QUEUES] if thread is not None else []
        jobs = await self._core.get_many(Job, keys)
        return any(job is not None and job.status == "running" for job in jobs)

    def _history_room(self, request: Request) -> int:
        """Return how many tokens history may use beside the system prompt and the tools, so that a thread is folded
        before its window drops messages."""
        from ...context.measure import count_tools, stored_tokens
        from ...context.reading import instruction_messages

        room, counter = self._budget.window_tokens, self._core.shared.counter
        if request.system is not None:
            room -= sum(stored_tokens(message, counter) for message in instruction_messages(request.system))
        if request.tools:
            tokens = count_tools(request.tools, counter)
            room -= tokens if self._budget.tools is None else min(tokens, self._budget.tools)
        return max(room, self._budget.request_tokens // MIN_HISTORY_PART)

    async def _fold(self, room: int) -> None:
        thread = await self._threads.get(self.thread)
        # The whole thread's tokens are an upper bound of its unfolded part, so short threads need no reading.
        if thread is not None and thread.tokens > self._compact[0] * room:
            await Folding(self._core).fold(
                self.thread,
                room_tokens=room,
                compact_at=self._compact[0],
                compact_to=self._compact[1],
                stash=self._stash,
                model=self._core.shared.model,
            )

    async def _archive(self) -> Summary | None:
        """Fold the older half of the conversation if it is long enough, and return the newest summary, if any."""
        thread = await self._threads.get(self.thread)
        if thread is None or thread.tokens < MIN_ARCHIVED_TOKENS:
            return None
        folded = await Folding(self._core).fold(
            self.thread, room_tokens=thread.tokens, compact_at=0.5, compact_to=0.45, model=self._core.shared.model
        )
        if folded is not None:
            return folded
        past = await self._core.scan(Summary, self.thread, reverse=True, limit=1)
        return past[0] if past else None

    async def _count(self) -> None:
        """Add the session's turns to the counters that `stats` shows."""
        state = State(self._core)
        for key, turns in ((PERSISTED, self._persisted), (PASSED, self._turns - self._persisted)):
            if turns:
                await state.increment(key, turns)

    def _attached(self, message: Message) -> Message:
        """Return the user's message with its recalled items attached, so that later requests send the same bytes."""
        if self._sent is None or message.role != "user" or not self._asked or message.text != self._asked:
            return message
        # Attached only once: the same words later belong to another request.
        self._asked = ""
        return self._sent.attach(message)

    def _check_open(self) -> None:
        if self._ended is not None:
            raise UsageError("the session has ended; start another one over the same thread")


def spoken_messages(items: Iterable[Any]) -> list[Message]:
    """Return the messages of a turn. Plain texts alternate between user and assistant, starting with the user."""
    out: list[Message] = []
    for item in items:
        if isinstance(item, str):
            last = next((m.role for m in reversed(out) if m.role in ("user", "assistant")), "assistant")
            out.append(Message(role="assistant" if last == "user" else "user", content=item))
        elif isinstance(item, list | tuple):
            out += [as_message(message) for message in item]
        else:
            out.append(as_message(item))
    if not out:
        raise UsageError("a turn needs at least one message")
    return out


def _passing(message: Message) -> Message:
    """Return a message marked so that nothing is derived from it. It stays in the thread."""
    return msgspec.structs.replace(message, metadata={**message.metadata, PASSING: True})

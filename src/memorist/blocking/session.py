"""Blocking session.

Made by scripts/generate-blocking from engine/sessions/session.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..engine.recalling import Spaces
from ..engine.sessions.assembling import Recall
from ..engine.sessions.children import ChildResult
from ..engine.sessions.session import AsyncSession, Ended, SessionState
from ..engine.threads.receipts import MessageReceipt
from ..messages.message import Given
from ..messages.reports import Reported, RequestReport
from ..runtime import run_blocking
from ..values import Json

if TYPE_CHECKING:
    from ..context.context import Context
    from ..context.given import BudgetSpec, Item, Layout, Prompt, Tool
    from ..context.plan import Policy


class Session:
    """Represents one conversation over a thread."""

    def __init__(self, engine: AsyncSession) -> None:
        self._engine = engine

    @property
    def id(self) -> str:
        """The id of this run of the conversation. It is stored in the thread's metadata."""
        return self._engine.id

    @property
    def thread(self) -> str:
        """This is the id of the thread. If it does not exist yet, `with`, `start` or the first turn creates it."""
        return self._engine.thread

    def start(self) -> Self:
        """Create the thread now if it does not exist, instead of waiting for the first turn.

        Returns:
            The session itself.

        Examples:
            >>> talk = memory.session(user="ada").start()
            >>> memory.threads.get(talk.thread).length
            0
        """
        run_blocking(self._engine.start())
        return self

    def add(self, *messages: Given | Sequence[Given], key: str | None = None) -> list[MessageReceipt]:
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
        return run_blocking(self._engine.add(*messages, key=key))

    def context(
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
        return run_blocking(
            self._engine.context(
                input,
                system=system,
                tools=tools,
                pinned_tools=pinned_tools,
                budget=budget,
                policy=policy,
                recall=recall,
                scratchpad=scratchpad,
                layout=layout,
            )
        )

    def child(
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
    ) -> Session:
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
        return Session(
            run_blocking(
                self._engine.child(
                    brief,
                    id=id,
                    agent=agent,
                    system=system,
                    budget=budget,
                    policy=policy,
                    stash=stash,
                    isolated=isolated,
                )
            )
        )

    def result(self, text: str) -> ChildResult:
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
        return run_blocking(self._engine.result(text))

    def usage(self, reported: Reported, *, model: str | None = None) -> RequestReport:
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
        return run_blocking(self._engine.usage(reported, model=model))

    def state(self) -> SessionState:
        """Return a snapshot of the session: its turns, how much of it is folded, and its cache.

        Returns:
            The snapshot.

        Examples:
            >>> with memory.session("talk") as talk:
            ...     talk.state().messages
            2
        """
        return run_blocking(self._engine.state())

    def end(self) -> Ended:
        """End the session: store a summary and derive memories from the conversation. You can call this more than once.

        Returns:
            The summary, and the session's counts.

        Examples:
            >>> talk = memory.session(user="ada")
            >>> receipts = talk.add("I live in Lisbon.", "Noted.")
            >>> talk.end().turns
            1
        """
        return run_blocking(self._engine.end())

    def __enter__(self) -> Self:
        run_blocking(self._engine.__aenter__())
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self._engine.__aexit__(error_type, error, trace))

"""Implements `run_with_memory`, which runs any agent with recalled memory and records the turn."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any, overload

from .engine.noun import core_of
from .engine.sessions.inject import Injection
from .runtime import run_blocking
from .values import Json

if TYPE_CHECKING:
    from .blocking.memory import Memory
    from .context.given import BudgetSpec, Layout, Prompt, Tool
    from .context.plan import Policy
    from .engine.sessions.inject import Agent
    from .memory import AsyncMemory


@overload
def run_with_memory(
    agent: Agent,
    input: str,
    *,
    memory: Memory,
    user: str | None = None,
    org: str | None = None,
    thread: str | None = None,
    budget: BudgetSpec = 8000,
    system: Prompt | None = None,
    tools: Iterable[Tool] | None = None,
    policy: Policy | None = None,
    scratchpad: Json = None,
    layout: Layout = "cached",
) -> Any: ...


@overload
def run_with_memory(
    agent: Agent,
    input: str,
    *,
    memory: AsyncMemory,
    user: str | None = None,
    org: str | None = None,
    thread: str | None = None,
    budget: BudgetSpec = 8000,
    system: Prompt | None = None,
    tools: Iterable[Tool] | None = None,
    policy: Policy | None = None,
    scratchpad: Json = None,
    layout: Layout = "cached",
) -> Awaitable[Any]: ...


def run_with_memory(
    agent: Agent,
    input: str,
    *,
    memory: Memory | AsyncMemory,
    user: str | None = None,
    org: str | None = None,
    thread: str | None = None,
    budget: BudgetSpec = 8000,
    system: Prompt | None = None,
    tools: Iterable[Tool] | None = None,
    policy: Policy | None = None,
    scratchpad: Json = None,
    layout: Layout = "cached",
) -> object:
    """Run an agent (a function, or an object with run/invoke) with recalled memory, and record the turn.

    Returns the agent's output or, with an AsyncMemory, an awaitable.
    """
    handle = memory.scope(org=org) if org is not None else memory

    async def answered() -> object:
        answer = await core_of(handle).part(Injection).run(
            agent, input, user=user, thread=thread, budget=budget, system=system, tools=tools, policy=policy,
            scratchpad=scratchpad, layout=layout,
        )  # fmt: skip
        return answer.output

    return run_blocking(answered()) if core_of(handle).runtime.blocking else answered()

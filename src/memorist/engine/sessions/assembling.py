"""Describes what a request to a model is assembled from, and assembles it.

The assembly itself is imported with the first request, because programs that only store should start quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...errors import UsageError
from ...filters import Where
from ...ports import When, as_datetime
from ...scope import Namespace
from ...values import Json
from ..core import Core
from ..past import core_at
from ..recalling import Spaces

if TYPE_CHECKING:
    from ...context.budget import TokenBudget
    from ...context.context import Context
    from ...context.given import About, BudgetSpec, Item, Layout, Prompt, Tool
    from ...context.plan import Policy

DEFAULT_BUDGET = 8000
"""The tokens of a request whose budget is not passed."""
MIN_ITEMS, MAX_ITEMS, ITEM_TOKENS = 12, 100, 30
"""How many items to recall by default: as many as may fit, within these bounds."""


class Recall(msgspec.Struct, frozen=True):
    """Describes what to recall for a context or a task: where to search, and how many items to return."""

    namespaces: Spaces = None
    top_k: int | None = None
    """This is the number of items. None means as many relevant items as fit."""
    kinds: tuple[str, ...] | None = None
    min_score: float | None = None
    """This is the minimum score of an item. None means the relevance floor, and 0 means no floor."""
    where: Where | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Holds what a request to a model is assembled from; see `Memory.context`."""

    input: Prompt | None
    thread: str | None = None
    system: Prompt | None = None
    tools: Iterable[Tool] | None = None
    pinned_tools: Sequence[str] = ()
    earlier_tools: Sequence[str] = ()
    """These are the names of the tools of the previous request, which are sent again."""
    budget: BudgetSpec | None = None
    policy: Policy | None = None
    recall: Recall | Spaces | bool | Sequence[Item] = True
    """This is True (everything this handle may read), a `Recall`, namespaces, ready-made items, or False."""
    profile: About = True
    """This is True (the profile of this handle's user), False, or lines to add to the profile."""
    scratchpad: Json = None
    layout: Layout = "cached"
    stash: int | None = None


class Assembling:
    """Assembles the requests to a model."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def context(self, input: Prompt | None, *, as_of: When | None = None, **options: Any) -> Context:
        """Assemble the request for an input within the budget.

        `options` are fields of a `Request`. With `as_of`, the request uses the history, profile and memory as they were
        at that time.
        """
        from .assembly import Assembly

        core = self._core if as_of is None else core_at(self._core, as_datetime(as_of, "as_of"))
        return await Assembly(core).assemble(Request(input=input, **options))


def max_items(budget: TokenBudget) -> int:
    """Return how many items to recall for a budget by default."""
    room: int = budget.request_tokens if budget.memory is None else budget.memory
    return max(MIN_ITEMS, min(MAX_ITEMS, room // ITEM_TOKENS))


def recall_spec(recall: Recall | Spaces | bool | Sequence[Item]) -> Recall | None:
    """Return what to recall, or None to recall nothing. Items passed by the program itself count as an ordinary
    recall.
    """
    if recall is None or recall is False:
        return None
    if isinstance(recall, Recall):
        return recall
    if recall is True or (isinstance(recall, list | tuple) and not all(isinstance(space, str) for space in recall)):
        return Recall()
    if not isinstance(recall, str | Namespace | list | tuple):
        raise UsageError(f"recall= is True, False, namespaces, a Recall or items; got {type(recall).__name__}")
    return Recall(namespaces=cast("Spaces", tuple(recall) if isinstance(recall, list) else recall))


def checked_budget(core: Core, budget: BudgetSpec | None) -> TokenBudget:
    """Return a TokenBudget for a number, a model's name or an existing budget.

    The window of a named model is reduced to the server's limit, while a number beyond it is refused.
    """
    from ...context.budget import TokenBudget, as_budget, model_window

    if isinstance(budget, bool):
        raise UsageError("a budget is a number of tokens, a model's name or a TokenBudget")
    limit = core.shared.limits.budget_tokens
    if isinstance(budget, str) and limit is not None:
        return TokenBudget(min(model_window(budget), limit))
    checked = as_budget(DEFAULT_BUDGET if budget is None else budget)
    core.shared.limits.check_budget(checked)
    return checked

"""Limits the size of one call. A server sets these limits on its memory; a program's own memory has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..errors import TooLarge

if TYPE_CHECKING:
    from ..context.budget import TokenBudget


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the limits for a single call, where None means no limit."""

    budget_tokens: int | None = None
    """This is the maximum total budget of a context."""
    hits: int | None = None
    """This is the maximum sum of `top_k` and `offset` in a recall."""

    def check_budget(self, budget: TokenBudget) -> None:
        """Raise TooLarge if a budget exceeds the limit."""
        if self.budget_tokens is not None and budget.total > self.budget_tokens:
            raise TooLarge(
                f"the budget is {budget.total} tokens; this server allows {self.budget_tokens} per request",
                limit=self.budget_tokens,
            )

    def check_hits(self, hits: int) -> None:
        """Raise TooLarge if a recall asks for too many hits."""
        if self.hits is not None and hits > self.hits:
            raise TooLarge(f"top_k plus offset is {hits}; this server allows at most {self.hits}", limit=self.hits)


NO_LIMITS = CallLimits()

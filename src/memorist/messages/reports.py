"""What is recorded of a request to a model: its parts, what it cost, and what broke the prompt cache."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from ..records import as_dict

Reported = Any
"""Usage as a provider reports it: its answer or the `usage` in it, an object of its SDK or a dict."""


class Piece(msgspec.Struct, frozen=True):
    """One part of a request, in the order it is sent: a tool, a system message, or a message."""

    to_dict = as_dict

    section: str
    name: str
    """A tool's name, a message's id, or the number of the part in its section."""
    digest: str
    """A hash of the bytes; the content itself is not kept."""
    tokens: int


class Break(msgspec.Struct, frozen=True):
    """The first part of a request that differs from the request before, from which on a cache serves nothing."""

    to_dict = as_dict

    section: str
    """`tools`, `system`, `profile`, `summary`, `memory`, `history`; `model` if another model was asked; `provider` if
    nothing differs but the cache did not serve it."""
    name: str
    change: Literal["changed", "added", "removed", "moved", "expired"]
    tokens: int
    """Tokens behind the break that the request before had too, and that were processed again."""
    cost: float | None = None
    """What these tokens cost over the price of cached ones, in dollars; None without a price."""

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", ${self.cost:.4f}"
        return f"{self.section} {self.name} {self.change}: {self.tokens:,} tokens not served from the cache{cost}"


class RequestReport(msgspec.Struct, frozen=True):
    """What one request to a model cost."""

    to_dict = as_dict

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    written_tokens: int
    shared_tokens: int
    """Tokens of the prefix that it shares with the request before, by our count."""
    model: str | None = None
    cost: float | None = None
    """In dollars; None if the table of prices does not have the model."""
    broken: Break | None = None
    at: datetime | None = None

    @property
    def uncached_tokens(self) -> int:
        """Input tokens that neither came from the cache nor were written to it."""
        return max(0, self.input_tokens - self.cached_tokens - self.written_tokens)

    @property
    def cached_share(self) -> float:
        """The share of the input that the cache served."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

"""Records a request to a model: its parts, its cost, and what broke the prompt cache."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from ..records import as_dict

Reported = Any
"""Usage as a provider reports it. This can be its response or the `usage` in it, as an SDK object or a dict."""


class Piece(msgspec.Struct, frozen=True):
    """Represents one part of a request, such as a tool, a system message or another message. Parts are in the order in
    which they are sent."""

    to_dict = as_dict

    section: str
    name: str
    """This is a tool's name, a message's id, or the number of the part in its section."""
    digest: str
    """This is a hash of the bytes. The content itself is not stored."""
    tokens: int


class Break(msgspec.Struct, frozen=True):
    """Describes the first part of a request that differs from the previous request. After that point, a cache serves
    nothing."""

    to_dict = as_dict

    section: str
    """This is `tools`, `system`, `profile`, `summary`, `memory`, `history` or `compaction`. It is `model` if a
    different model was used, and `provider` if nothing differs but the cache did not serve it."""
    name: str
    change: Literal["changed", "added", "removed", "moved", "expired"]
    tokens: int
    """This many tokens of the previous request had to be processed again: those after the break that both requests
    contain, and a changed part itself, as far as both versions are long."""
    cost: float | None = None
    """This is the extra cost of these tokens over cached ones, in dollars, or None if the price is unknown."""

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", ${self.cost:.{4 if self.cost >= 0.001 else 6}f}"
        return f"{self.section} {self.name} {self.change}: {self.tokens:,} tokens not served from the cache{cost}"


class RequestReport(msgspec.Struct, frozen=True):
    """Reports the cost of one request to a model."""

    to_dict = as_dict

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    written_tokens: int
    shared_tokens: int
    """This is our count of the tokens in the prefix shared with the previous request."""
    model: str | None = None
    cost: float | None = None
    """This is the cost in dollars, or None if the price table does not contain the model."""
    broken: Break | None = None
    at: datetime | None = None

    @property
    def uncached_tokens(self) -> int:
        """This many input tokens were neither read from the cache nor written to it."""
        return max(0, self.input_tokens - self.cached_tokens - self.written_tokens)

    @property
    def cached_share(self) -> float:
        """This is the share of the input that the cache served."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

"""Defines token budgets, which limit the size of a request in total and per section."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from ..errors import UsageError

MAX_TOKENS = 1 << 40
"""The largest budget, far larger than any model's window."""
CACHED_MEMORY_PART = 4
"""In the cached layout, the window always leaves a quarter of the room for memory. If the window made
room for the items of each turn, it would begin with a different message on each turn."""
STAYING_MEMORY_PART, MIN_STAYING_TOKENS = 16, 400
"""In a session, where recalled items stay in the history, the window leaves this fraction of the request for those of
the next turn, but at least this many tokens."""
_CEILINGS = ("system", "profile", "memory", "tools", "history", "input")
SECTIONS = ("system", "profile", "memory", "tools", "history", "input", "scratchpad")
# Published context windows by model name; the longest matching prefix of a name is used.
MODEL_WINDOWS = {
    "claude-3": 200_000,
    "claude-haiku": 200_000,
    "claude-opus": 200_000,
    "claude-sonnet": 200_000,
    "command-r": 128_000,
    "deepseek": 128_000,
    "gemini-1.5-pro": 2_097_152,
    "gemini-1.5-flash": 1_048_576,
    "gemini-2": 1_048_576,
    "gemini-3": 1_048_576,
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-1106": 128_000,
    "gpt-4-0125": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "gpt-oss": 131_072,
    "llama-3": 8_192,
    "llama-3.1": 128_000,
    "llama-3.2": 128_000,
    "llama-3.3": 128_000,
    "mistral-large": 128_000,
    "mistral-small": 128_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "qwen2.5": 131_072,
    "qwen3": 131_072,
}


class TokenBudget(msgspec.Struct, frozen=True):
    """Holds a total and a ceiling for each section. Memory can use the tokens that history does not need, and vice
    versa.

    `profile` is the ceiling of the profile block. By default it is a sixth of the total, but at most 600 tokens.
    `output_reserve` stays free for the answer: the whole request has at most `total - output_reserve` tokens.
    """

    total: int
    system: int | None = None
    profile: int | None = None
    memory: int | None = None
    tools: int | None = None
    history: int | None = None
    input: int | None = None
    output_reserve: int = 0

    def __post_init__(self) -> None:
        for name in _CEILINGS:
            if getattr(self, name) is not None:
                _check(name, getattr(self, name))
        _check("total", self.total)
        _check("output_reserve", self.output_reserve)
        if self.total < 1:
            raise UsageError("a budget needs a total of at least 1 token")
        if self.output_reserve >= self.total:
            raise UsageError(f"output_reserve ({self.output_reserve}) leaves nothing of the total ({self.total})")

    @property
    def request_tokens(self) -> int:
        """This is the maximum number of tokens in the whole request."""
        return self.total - self.output_reserve

    @property
    def profile_tokens(self) -> int:
        """This is the maximum number of tokens in the profile block."""
        return min(self.total // 6, 600) if self.profile is None else self.profile

    @property
    def staying_memory_tokens(self) -> int:
        """This is how many tokens a session always leaves for memory."""
        least = max(self.request_tokens // STAYING_MEMORY_PART, MIN_STAYING_TOKENS)
        return min(self.request_tokens // CACHED_MEMORY_PART, least)

    @property
    def window_tokens(self) -> int:
        """This is the maximum number of tokens in a session's history, which leaves the rest of the request for
        memory."""
        window = self.request_tokens - self.staying_memory_tokens
        return window if self.history is None else min(window, self.history)

    def ceiling(self, section: str) -> int | None:
        """Return the ceiling of a section, or None if it has none."""
        limit = getattr(self, section, None)
        return limit if isinstance(limit, int) else None

    @classmethod
    def for_model(cls, model: str, **options: Any) -> TokenBudget:
        """Return a budget for the published context window of a model."""
        return cls(model_window(model), **options)


def model_window(model: str) -> int:
    """Return the published context window of a model; a provider prefix such as `openai/` is ignored."""
    name = model.rsplit("/", 1)[-1].lower()
    name = name.rsplit(".", 1)[-1] if name.startswith(("anthropic.", "us.anthropic.", "eu.anthropic.")) else name
    prefixes = [prefix for prefix in MODEL_WINDOWS if name == prefix or name.startswith(prefix)]
    if not prefixes:
        raise UsageError(
            f"no window is known for the model {model[:64]!r}; pass the total yourself: TokenBudget(total)",
            model=model,
        )
    return MODEL_WINDOWS[max(prefixes, key=len)]


def as_budget(budget: TokenBudget | int | str) -> TokenBudget:
    """Return a budget for a token limit or a model's name; a budget is returned unchanged."""
    if isinstance(budget, TokenBudget):
        return budget
    if isinstance(budget, str):
        return TokenBudget.for_model(budget)
    # Only what can be a number is looked up in the cache, because other values may not be hashable.
    return _of_tokens(budget) if isinstance(budget, int) else TokenBudget(budget)


@lru_cache(64, typed=True)  # True and 1.0 equal 1, but are no budgets
def _of_tokens(total: int) -> TokenBudget:
    return TokenBudget(total)


@lru_cache(64)
def section_ceilings(budget: TokenBudget) -> dict[str, int | None]:
    """Return the ceiling of every section, or None for those that have none."""
    return {name: budget.ceiling(name) for name in SECTIONS}


def _check(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TOKENS:
        raise UsageError(f"{name} must be a whole number of tokens, from 0 to {MAX_TOKENS}")

"""Reads the token usage that providers report, and computes its cost from a price table that users can edit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from ..errors import UsageError
from ..ports import Usage
from ..values import JsonMapping

PRICES_VARIABLE = "MEMORIST_PRICES"
"""The environment variable that names a file of prices."""
_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the price of a model in US dollars per million tokens."""

    input: float
    cached: float
    output: float
    written: float | None = None
    """This is the price of tokens written to the cache, or None if they cost the same as other input."""

    def cost(self, usage: Usage) -> float:
        """Return the cost of a request in dollars."""
        plain = max(0, usage.input_tokens - usage.cached_tokens - usage.written_tokens)
        written = self.input if self.written is None else self.written
        dollars = plain * self.input + usage.cached_tokens * self.cached + usage.written_tokens * written
        return (dollars + usage.output_tokens * self.output) / _MILLION


Prices = Mapping[str, Price | Mapping[str, float]]
"""Prices, keyed by the beginning of a model's name."""


def price_of(model: str | None, prices: Prices | None = None) -> Price | None:
    """Return the price of a model from `prices`, the file in MEMORIST_PRICES or the installed table, in that order."""
    if not model:
        return None
    own = {name: _price(price) for name, price in (prices or {}).items()}
    path = os.environ.get(PRICES_VARIABLE)
    for table in (own, _read_file(path) if path else {}, _installed()):
        names = [name for name in table if model.startswith(name)]
        if table is _installed():
            names = [name for name in names if _is_same_model(model, name)]
        if names:
            return table[max(names, key=len)]
    return None


def _is_same_model(model: str, name: str) -> bool:
    """Return whether a name refers to an installed model, with or without a suffix such as a date.

    `gpt-5.6` is not `gpt-5`, because it has its own prices.
    """
    rest = model[len(name) :]
    return not rest or not (rest[0].isalnum() or rest[0] == ".")


def _price(price: Price | Mapping[str, float]) -> Price:
    return price if isinstance(price, Price) else _converted(dict(price), Price)


def _converted(value: object, kind: object) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as wrong:
        raise UsageError(f"a price has input, cached, output and optionally written: {wrong}") from wrong


@lru_cache(8)
def _read_file(path: str) -> dict[str, Price]:
    import tomllib

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise UsageError(f"{PRICES_VARIABLE} does not name a readable TOML file: {problem}") from problem
    prices: dict[str, Price] = _converted(table, dict[str, Price])
    return prices


@lru_cache(1)
def _installed() -> dict[str, Price]:
    import tomllib

    text = files("memorist.context").joinpath("prices.toml").read_text("utf-8")
    prices: dict[str, Price] = _converted(tomllib.loads(text), dict[str, Price])
    return prices


def read_usage(reported: object) -> Usage:
    """Return the usage from an OpenAI (chat or Responses), Anthropic or Gemini response, or from its `usage`."""
    if isinstance(reported, Usage):
        return reported
    fields = _fields(reported)
    for name in ("usage", "usage_metadata"):
        if fields.get(name) is not None:
            return read_usage(fields[name])
    if "prompt_token_count" in fields:
        return _usage(fields, "prompt_token_count", "candidates_token_count", fields.get("cached_content_token_count"))
    if "cache_read_input_tokens" in fields or "cache_creation_input_tokens" in fields:
        # Anthropic's input_tokens are those that neither came from the cache nor were written to it.
        read = _number(fields.get("cache_read_input_tokens"))
        creation = _number(fields.get("cache_creation_input_tokens"))
        whole = _number(fields.get("input_tokens")) + read + creation
        return _with_compactions(Usage(whole, _number(fields.get("output_tokens")), read, creation), fields)
    kind = "prompt" if "prompt_tokens" in fields else "input"
    if f"{kind}_tokens" not in fields:
        raise UsageError("usage is a provider's answer or its `usage`, including the number of input tokens")
    details = _fields(fields.get(f"{kind}_tokens_details") or {})
    cached = fields.get("cached_tokens") or details.get("cached_tokens")
    written = fields.get("written_tokens") or details.get("cache_write_tokens")
    output = "completion_tokens" if kind == "prompt" else "output_tokens"
    return _usage(fields, f"{kind}_tokens", output, cached, written)


def _with_compactions(usage: Usage, fields: JsonMapping) -> Usage:
    """Add the tokens used by Anthropic's compactions, which are billed but missing from the totals of a response."""
    for iteration in map(_fields, fields.get("iterations") or ()):
        if iteration.get("type") == "compaction":
            spent = read_usage({"cache_read_input_tokens": 0, **iteration})
            usage = Usage(
                usage.input_tokens + spent.input_tokens,
                usage.output_tokens + spent.output_tokens,
                usage.cached_tokens + spent.cached_tokens,
                usage.written_tokens + spent.written_tokens,
            )
    return usage


def _usage(fields: JsonMapping, whole: str, output: str, cached: object, written: object = 0) -> Usage:
    return Usage(_number(fields.get(whole)), _number(fields.get(output)), _number(cached), _number(written))


def _fields(value: Any) -> JsonMapping:
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "model_dump"):
        return dict(value.model_dump())
    return dict(getattr(value, "__dict__", {}))


def _number(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError("token counts of a usage are whole numbers, zero or more")
    return value

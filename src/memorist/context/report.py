"""Reports what a request cost, how much of it a provider's prompt cache served, and what broke its prefix."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from ..messages.compactions import compacted_by
from ..messages.message import Message
from ..messages.reports import Break, Piece, RequestReport
from ..ports import Usage
from ..values import JsonMapping, compact_json
from .measure import count_tools, stored_tokens
from .read_tools import tool_name
from .tokens import Counter
from .usage import Price, Prices, price_of, read_usage

if TYPE_CHECKING:
    from .context import Context

MIN_CACHED_TOKENS = 1024
"""Providers do not cache shorter prefixes."""
COMPACTION = "compaction"
"""The section of a message that contains a provider's compaction item."""
EXPECTED_SHARE = 0.5
"""If less than this share of an unchanged prefix came from the cache, the provider had evicted it."""


def pieces_of(context: Context, counter: Counter) -> tuple[Piece, ...]:
    """Return the parts of a request as providers cache them: tools, system prompt and messages."""
    pieces = [_tool_piece(tool, number, counter) for number, tool in enumerate(context.tools, 1)]
    for number, message in enumerate(context.system_messages, 1):
        pieces.append(_message_piece("system", f"#{number}", message, counter))
    for number, message in enumerate(context.view, 1):
        pieces.append(_message_piece(_section(context, message), message.id or f"#{number}", message, counter))
    return tuple(pieces)


def _tool_piece(tool: JsonMapping, number: int, counter: Counter) -> Piece:
    return Piece("tools", tool_name(tool) or f"#{number}", _digest(compact_json(tool)), count_tools([tool], counter))


def _message_piece(section: str, name: str, message: Message, counter: Counter) -> Piece:
    return Piece(section, name, _digest(compact_json(message.openai())), stored_tokens(message, counter))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _section(context: Context, message: Message) -> str:
    for section in ("profile", "memory", "summary", "scratchpad"):
        if message is getattr(context, f"{section}_message"):
            return section
    if compacted_by(message) is not None:
        return COMPACTION
    return "input" if any(message is part for part in context.input) else "history"


def shared_tokens(before: Sequence[Piece], after: Sequence[Piece]) -> int:
    """Return the number of tokens in the prefix that two requests share."""
    return sum(piece.tokens for piece in after[: shared_length(before, after)])


def shared_length(before: Sequence[Piece], after: Sequence[Piece]) -> int:
    """Return the number of parts in the prefix that two requests share."""
    length = 0
    for old, new in zip(before, after, strict=False):
        if old.digest != new.digest:
            break
        length += 1
    return length


def find_break(before: Sequence[Piece], after: Sequence[Piece]) -> Break | None:
    """Return the first different part, or None if the previous request, except its notes, is a prefix of this one."""
    index = shared_length(before, after)
    rest, new = before[index:], after[index:]
    if not rest or rest[0].section == "scratchpad":
        return None
    earlier = {piece.digest for piece in rest}
    lost = sum(piece.tokens for piece in new if piece.digest in earlier)
    if not new:
        return Break(rest[0].section, rest[0].name, "removed", lost)
    comes_later = any(piece.digest == rest[0].digest for piece in new)
    was_later = new[0].digest in earlier
    if comes_later and was_later:
        return Break(new[0].section, new[0].name, "moved", lost)
    if comes_later:
        return Break(new[0].section, new[0].name, "added", lost)
    if was_later or rest[0].section != new[0].section:
        return Break(rest[0].section, rest[0].name, "removed", lost)
    return Break(new[0].section, new[0].name, "changed", lost + min(rest[0].tokens, new[0].tokens))


def _new_compaction(before: Sequence[Piece], after: Sequence[Piece]) -> Piece | None:
    """Return a provider's compaction that was not in the previous request, or None."""
    earlier = {piece.name for piece in before if piece.section == COMPACTION}
    return next((piece for piece in after if piece.section == COMPACTION and piece.name not in earlier), None)


def priced(broken: Break | None, price: Price | None) -> Break | None:
    """Return a break with the extra cost of its tokens, if the price of the model is known."""
    if broken is None or price is None:
        return broken
    # Tokens that the cache does not serve are written to it again.
    again = price.input if price.written is None else price.written
    return msgspec.structs.replace(broken, cost=broken.tokens * (again - price.cached) / 1_000_000)


def report_request(
    reported: object,
    *,
    before: Sequence[Piece] = (),
    after: Sequence[Piece] = (),
    model: str | None = None,
    model_before: str | None = None,
    prices: Prices | None = None,
    at: datetime | None = None,
) -> RequestReport:
    """Return a report on a request, based on the provider's usage and a comparison with the previous request."""
    usage: Usage = read_usage(reported)
    price = price_of(model, prices)
    shared = shared_tokens(before, after)
    broken = find_break(before, after)
    if before and model_before is not None and model != model_before:
        broken = Break("model", str(model), "changed", shared)
    elif broken is None and shared >= MIN_CACHED_TOKENS and usage.cached_tokens < EXPECTED_SHARE * shared:
        lost = shared - usage.cached_tokens
        compaction = _new_compaction(before, after)
        # The provider's own item replaces the messages before it, which both requests still contain.
        name = None if compaction is None else compaction.name
        broken = Break("provider", "cache", "expired", lost) if name is None else Break(COMPACTION, name, "added", lost)
    broken = priced(broken, price)
    return RequestReport(
        usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.written_tokens, shared, model,
        None if price is None else price.cost(usage), broken, at,
    )  # fmt: skip

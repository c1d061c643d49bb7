"""Decides when to fold a stored thread. Later requests then contain a summary instead of its oldest messages.

It uses hysteresis: nothing is folded until history uses `compact_at` of the room. Then enough is folded to bring
history down to `compact_to`. Between two folds, each request starts with the bytes of the previous one, so prompt
caches keep working. A `Fold` is only a plan; the caller stores the summary before it leaves out the messages.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..errors import UsageError
from ..messages.message import Message
from .plan import Digest, total_tokens
from .summaries import MIN_SUMMARY_TOKENS, Completer, extractive, summarize, summary_tokens
from .tokens import Counter, open_counter
from .units import Unit, messages_of

COMPACT_AT, COMPACT_TO = 0.8, 0.5
UNFOLDED_UNITS = 2
"""How many of the newest units are never folded."""
SUMMARY_SHARE = 0.4
"""The share of `compact_to` that the summary itself may use."""


class Fold(msgspec.Struct, frozen=True):
    """Represents a range of a thread that one summary will replace."""

    first: int
    last: int
    """These are the positions of the first and last folded message. Later requests start after `last`."""
    messages: tuple[Message, ...]
    """These are the messages to summarise, oldest first and without pinned ones."""
    pinned: tuple[Message, ...]
    """These are the pinned messages in the range with their tool exchanges, which stay in every later request."""
    tokens: int
    """This is the number of tokens in the folded messages and the previous summary."""
    max_tokens: int
    """This is the maximum number of tokens in the new summary's text."""
    previous: str | None = None


def plan_fold(
    units: Sequence[Unit],
    room_tokens: int,
    *,
    previous: str | None = None,
    counter: Counter | None = None,
    compact_at: float = COMPACT_AT,
    compact_to: float = COMPACT_TO,
) -> Fold | None:
    """Return the next fold of a thread's units, or None while they use less than `compact_at` of the room."""
    if not 0 < compact_to < compact_at <= 1:
        raise UsageError("compact_to must be above 0 and below compact_at, which is at most 1")
    counter = counter or open_counter()
    before = summary_tokens(previous, counter) if previous else 0
    total = before + total_tokens(units)
    if total <= compact_at * room_tokens:
        return None
    share = int(compact_to * room_tokens * SUMMARY_SHARE)
    cut = _count_folded_units(units, int(compact_to * room_tokens) - share)
    return fold_of(units[:cut], share, previous=previous, counter=counter)


def fold_of(
    units: Sequence[Unit], max_tokens: int, *, previous: str | None = None, counter: Counter | None = None
) -> Fold | None:
    """Return a fold of all these units into a summary that uses at most `max_tokens` in a request.

    It is also used for a long thread that was never folded. Such a thread is folded page by page, oldest first, and
    each fold includes the previous summary.
    """
    counter = counter or open_counter()
    folded = [unit for unit in units if not unit.pinned]
    if not folded:
        return None
    tokens = total_tokens(folded) + (summary_tokens(previous, counter) if previous else 0)
    most = min(max_tokens, tokens - 1) - summary_tokens("<", counter)  # with the number that markup needs
    if most < MIN_SUMMARY_TOKENS:
        return None
    return Fold(
        units[0].position,
        max(unit.last for unit in units),
        tuple(messages_of(folded)),
        tuple(messages_of(unit for unit in units if unit.pinned)),
        tokens,
        most,
        previous,
    )


def _count_folded_units(units: Sequence[Unit], target_tokens: int) -> int:
    """Return how many of the oldest units to fold. The rest fits the target and starts with a user's turn."""
    cut = len(units)
    tail = 0
    while cut > 0 and (tail + units[cut - 1].tokens <= target_tokens or len(units) - cut < UNFOLDED_UNITS):
        cut -= 1
        tail += units[cut].tokens
    turn = next((index for index in range(cut, len(units) - UNFOLDED_UNITS) if units[index].role == "user"), cut)
    cut = turn if turn - cut <= 8 else cut
    last = max((unit.last for unit in units[:cut]), default=-1)
    while cut < len(units) and units[cut].position <= last:
        # A message with a tool result and other text makes two units; they are folded together.
        last = max(last, units[cut].last)
        cut += 1
    return cut


async def write_fold(fold: Fold, *, model: Completer | None = None, counter: Counter | None = None) -> Digest | None:
    """Return the summary of a fold, or None if no summary is shorter than the messages, in which case nothing is
    folded.

    Without a model this never suspends, so a blocking client can run it.
    """
    counter = counter or open_counter()
    digest = None
    if model is not None:
        digest = await summarize(model, fold.previous, fold.messages, fold.max_tokens, counter=counter)
    if digest is None:
        digest = extractive(fold.messages, fold.previous, fold.max_tokens, counter)
    if digest is None or summary_tokens(digest.text, counter) >= fold.tokens:
        return None
    return digest

"""Counts the tokens that an org's model has used today, and defines the error for exceeding the daily limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ...errors import ModelError
from ...records import Watermark
from ...stores.base import Expect, Put
from ..core import Core


class OverLimit(ModelError):
    """Raised if the org has used up today's tokens. The model may be called again at `until`."""

    until: datetime


def next_day(at: datetime) -> datetime:
    """Return the midnight (UTC) after a time."""
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day + timedelta(days=1)


async def tokens_today(core: Core) -> int:
    """Return how many tokens the org's model has read and written today."""
    mark = await core.get(Watermark, "tokens", "")
    return mark.position if mark is not None and _is_today(core, mark) else 0


async def count_tokens(core: Core, tokens: int) -> None:
    """Add tokens to today's count."""

    async def attempt() -> None:
        mark = await core.get(Watermark, "tokens", "")
        before = mark.position if mark is not None and _is_today(core, mark) else 0
        after = Watermark(org=core.org, name="tokens", position=before + tokens, updated_at=core.at())
        await core.apply(Expect(Watermark, after.row_key, mark.version if mark else 0), Put(after))

    # Two workers that count at once must not lose one of the counts, because the limit is about money.
    await core.retry(attempt)


def _is_today(core: Core, mark: Watermark) -> bool:
    return mark.updated_at.astimezone(UTC).date() == core.at().astimezone(UTC).date()

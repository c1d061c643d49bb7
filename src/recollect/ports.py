"""What users may plug in: a clock, a token counter, an embedder, a language model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from .errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FLOAT_EXACT = (1 << 33) * 1_000_000
"""Below this many microseconds (the year 2242) seconds in a float are nearer to their microsecond than to the next."""

Clock = Callable[[], datetime]
"""Anything called with nothing that answers an aware datetime. Order never comes from it."""


def to_micros(when: datetime) -> int:
    """Microseconds since the epoch; naive datetimes are refused, they mean nothing between machines."""
    if when.tzinfo is None:
        raise UsageError("a naive datetime; pass an aware one, such as datetime.now(timezone.utc)")
    return (when - EPOCH) // MICROSECOND


def to_datetime(micros: int) -> datetime:
    """An aware UTC datetime."""
    if 0 <= micros < FLOAT_EXACT:
        return datetime.fromtimestamp(micros / 1e6, UTC)  # half the cost of adding to the epoch
    return EPOCH + timedelta(microseconds=micros)


def ttl_micros(ttl: float | timedelta | None) -> int | None:
    """A time to live in microseconds; seconds or timedelta in."""
    if ttl is None:
        return None
    if isinstance(ttl, timedelta):
        micros = ttl // MICROSECOND
    elif isinstance(ttl, int | float) and not isinstance(ttl, bool) and abs(ttl) < 1e12:
        micros = int(ttl * 1_000_000)
    else:
        raise UsageError("ttl must be seconds or a timedelta")
    if micros <= 0:
        raise UsageError("ttl must be positive")
    return micros


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens of text; `name` is stored beside the counts it made."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors; name and dimensions are stored beside each vector."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[Any] | Awaitable[NDArray[Any]]: ...

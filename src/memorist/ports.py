"""Protocols for what users plug in (clock, token counter, embedder, reranker, model), and conversions of times."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from .errors import InvalidValue, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FLOAT_EXACT = (1 << 33) * 1_000_000
"""Below this many microseconds (the year 2242) a float of seconds is precise enough to round-trip to the
microsecond."""

Clock = Callable[[], datetime]
"""A function without arguments that returns an aware datetime. Rows are never ordered by it."""

When = datetime | str
"""A moment: an aware datetime, or the same as ISO text (`2026-11-16T09:30:00Z`; a date alone is its midnight, UTC)."""

Ttl = float | timedelta
"""A duration: seconds or a timedelta."""


_last = EPOCH, 0
"""The moment that was last converted: the rows of one commit mostly share one, and converting costs as much as a row
of other cells."""


def as_datetime(when: When, what: str = "a time") -> datetime:
    """An aware datetime from one, or from ISO text; text without an offset is UTC."""
    if isinstance(when, datetime):
        to_micros(when)
        return when
    if not isinstance(when, str):
        raise InvalidValue(f"{what} is an aware datetime or ISO text, not {type(when).__name__}")
    try:
        read = datetime.fromisoformat(when)
    except ValueError as cause:
        raise InvalidValue(f"{what} is not ISO text such as 2026-11-16T09:30:00Z") from cause
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def as_micros(when: When | None, what: str = "a time") -> int | None:
    """The same in microseconds since the epoch; None stays None."""
    return None if when is None else to_micros(as_datetime(when, what))


def to_micros(when: datetime) -> int:
    """Microseconds since the epoch; a naive datetime is refused, because it is ambiguous between machines."""
    global _last
    moment, micros = _last
    if when is not moment:
        if when.tzinfo is None:
            raise UsageError("a naive datetime; pass an aware one, such as datetime.now(timezone.utc)")
        micros = (when - EPOCH) // MICROSECOND
        _last = when, micros
    return micros


def to_datetime(micros: int) -> datetime:
    """An aware UTC datetime."""
    if 0 <= micros < FLOAT_EXACT:
        return datetime.fromtimestamp(micros / 1e6, UTC)  # half the cost of adding to the epoch
    return EPOCH + timedelta(microseconds=micros)


def ttl_micros(ttl: Ttl | None) -> int | None:
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
    def name(self) -> str:
        """The tokenizer's name; counts stored under another name are computed again."""
        ...

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors; name and dimensions are stored beside each vector."""

    @property
    def name(self) -> str:
        """The model's name; only vectors made under the same name are compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[Any] | Awaitable[NDArray[Any]]:
        """One row of numbers for each text, in their order."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Reads a query and texts together and scores each text; used on the best candidates of a recall."""

    @property
    def name(self) -> str:
        """The model's name, shown in the reasons of a hit."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float] | Awaitable[Sequence[float]]:
        """How well each text answers the query, in their order; more is better."""
        ...


Messages = Sequence[Mapping[str, Any]]


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the provider counted them; zero where it did not say."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """How many of the input tokens the provider's prompt cache served."""
    written_tokens: int = 0
    """How many of them were written to the cache."""


class Completion(msgspec.Struct, frozen=True):
    """An answer: its text, its parsed JSON when a schema was asked for (None if it was not JSON), and its cost."""

    text: str
    data: Any = None
    usage: Usage = Usage()
    model: str = ""
    stop: str = "end"
    """`end`, `length` (cut off at max_tokens) or `refusal`."""


@runtime_checkable
class Model(Protocol):
    """A language model. Both flavours have coroutine methods; those of a blocking one never suspend."""

    @property
    def name(self) -> str:
        """The model's name, shown in receipts and reports."""
        ...

    @property
    def blocking(self) -> bool:
        """Whether its coroutines can be stepped without an event loop."""
        ...

    async def complete(
        self,
        messages: Messages,
        *,
        system: str | None = None,
        max_tokens: int,
        schema: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """One answer; raises ModelError with `retryable`, `status` and `reason`, and without any content."""
        ...

    def stream(
        self, messages: Messages, *, system: str | None = None, max_tokens: int, timeout: float | None = None
    ) -> AsyncIterator[str]:
        """The answer's text as it comes."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


EmbedderSpec = str | Embedder | Callable[[Sequence[str]], Any] | None
"""What `embedder=` takes: a name, an object, a function from texts to vectors, or None (recall is lexical)."""

RerankerSpec = str | Reranker | Callable[[str, Sequence[str]], Any] | None
"""What `reranker=` takes: a name, an object, a function from a question and texts to numbers, or None (no reranker)."""

ModelSpec = str | Model | Callable[[str], Any] | None
"""What `model=` takes: `provider:id`, an object with `complete`, a function from text to text, or None (rules)."""

CounterSpec = str | TokenCounter | Callable[[str], int] | None
"""What `counter=` takes: the name of an encoding, an object, a function from text to a number, or None (o200k_base)."""

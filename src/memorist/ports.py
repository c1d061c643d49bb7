"""Defines the protocols for parts that users plug in (clock, token counter, embedder, reranker, model), and time
conversions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from .errors import InvalidValue, UsageError
from .values import JsonMapping, JsonObject

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MAX_EXACT_FLOAT_MICROS = (1 << 33) * 1_000_000
"""Below this many microseconds (the year 2242), a time in seconds as a float is exact to the microsecond."""

Clock = Callable[[], datetime]
"""A function without arguments that returns an aware datetime. Stores never order rows by its times."""

When = datetime | str
"""A time: an aware datetime, or ISO text such as `2026-11-16T09:30:00Z`. A date alone means midnight UTC."""

Ttl = float | timedelta
"""A duration, as a number of seconds or a timedelta."""


_last = EPOCH, 0
"""The most recently converted time. Most rows of a commit share the same time, and converting it takes as long as
converting all other cells of a row."""


def as_datetime(when: When, what: str = "a time") -> datetime:
    """Return a time as an aware datetime. ISO text without an offset is treated as UTC."""
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
    """Convert a time to microseconds since the epoch. None stays None."""
    return None if when is None else to_micros(as_datetime(when, what))


def to_micros(when: datetime) -> int:
    """Convert a datetime to microseconds since the epoch.

    Raises:
        UsageError: The datetime is naive, so its meaning would depend on the machine.
    """
    global _last
    # Both are read and written as one tuple, so that no thread sees the time of one call with the result of another.
    moment, micros = _last
    if when is not moment:
        if when.tzinfo is None:
            raise UsageError("the datetime is naive; pass an aware one, such as datetime.now(timezone.utc)")
        micros = (when - EPOCH) // MICROSECOND
        _last = when, micros
    return micros


def to_datetime(micros: int) -> datetime:
    """Convert microseconds since the epoch to an aware UTC datetime."""
    if 0 <= micros < MAX_EXACT_FLOAT_MICROS:
        return datetime.fromtimestamp(micros / 1e6, UTC)  # half the cost of adding to the epoch
    return EPOCH + timedelta(microseconds=micros)


def ttl_micros(ttl: Ttl | None) -> int | None:
    """Convert a time to live, in seconds or as a timedelta, to microseconds."""
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
    """Counts the tokens of a text. Its `name` is stored with each count."""

    @property
    def name(self) -> str:
        """The name of the tokenizer. Counts stored under another name are recomputed."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in a text."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Converts texts to unit vectors. Its name and dimensions are stored with each vector."""

    @property
    def name(self) -> str:
        """The name of the model. Only vectors with the same name are compared."""
        ...

    @property
    def dimensions(self) -> int:
        """This is the number of dimensions of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[Any] | Awaitable[NDArray[Any]]:
        """Return one vector per text, in the same order."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores how well each text answers a query. Recall applies it to the best candidates."""

    @property
    def name(self) -> str:
        """The name of the model, shown in the reasons of a hit."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float] | Awaitable[Sequence[float]]:
        """Return one score per text, in the same order. A higher score is better."""
        ...


Messages = Sequence[JsonMapping]


class Usage(msgspec.Struct, frozen=True):
    """Holds the token counts reported by the provider; unreported counts are zero."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """This is the number of input tokens that came from the provider's prompt cache."""
    written_tokens: int = 0
    """This is the number of input tokens written to the cache."""


class Completion(msgspec.Struct, frozen=True):
    """Represents a model's answer, with its token usage. If the request had a schema, `data` is the parsed JSON, or
    None if the answer was not JSON.
    """

    text: str
    data: Any = None
    usage: Usage = Usage()
    model: str = ""
    stop: str = "end"
    """This is the reason the answer ended: `end`, `length` (cut off at max_tokens) or `refusal`."""


@runtime_checkable
class Model(Protocol):
    """Represents a language model. Its methods are coroutines; those of a blocking model never suspend."""

    @property
    def name(self) -> str:
        """The name of the model, shown in receipts and reports."""
        ...

    @property
    def blocking(self) -> bool:
        """This is True if the coroutines run without an event loop."""
        ...

    async def complete(
        self,
        messages: Messages,
        *,
        system: str | None = None,
        max_tokens: int,
        schema: JsonObject | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Ask the model for one answer.

        Args:
            messages: The conversation, in OpenAI's format.
            system: The system prompt.
            max_tokens: The maximum number of tokens in the answer.
            schema: A JSON schema for the answer.
            timeout: The maximum number of seconds to wait.

        Returns:
            The answer; `data` is its parsed JSON if you passed a schema.

        Raises:
            ModelError: The call failed. The error has `retryable`, `status` and `reason`, and contains no content.
        """
        ...

    def stream(
        self, messages: Messages, *, system: str | None = None, max_tokens: int, timeout: float | None = None
    ) -> AsyncIterator[str]:
        """Yield the text of the answer as it arrives."""
        ...

    async def close(self) -> None:
        """Close the model's connections."""
        ...


EmbedderSpec = str | Embedder | Callable[[Sequence[str]], Any] | None
"""The type of `embedder=`: a name, an object, a function from texts to vectors, or None for lexical recall."""

RerankerSpec = str | Reranker | Callable[[str, Sequence[str]], Any] | None
"""The type of `reranker=`: a name, an object, a function from a query and texts to scores, or None."""

ModelSpec = str | Model | Callable[[str], Any] | None
"""The type of `model=`: `provider:id`, an object with `complete`, a function from text to text, or None for rules."""

CounterSpec = str | TokenCounter | Callable[[str], int] | None
"""The type of `counter=`: an encoding's name, an object, a function from text to int, or None for o200k_base."""

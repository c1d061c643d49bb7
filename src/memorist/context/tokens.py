"""Provides token counters: exact OpenAI encodings that work offline, an estimate, a Hugging Face tokenizer, or any
function.

`open_counter` creates one from a name, an object or a callable. A counter remembers the size of the last request
assembled with it, so that `calibrate(reported_tokens)` can compare it with the provider's count.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable
from typing import Any, cast

from ..errors import UsageError
from ..ports import TokenCounter
from ..text_pieces import PIECE_CHARACTERS, text_pieces

DEFAULT_COUNTER = "o200k_base"
ENCODINGS = ("o200k_base", "cl100k_base")
CHARACTERS_PER_TOKEN = 4
_MEMO_ENTRIES = 1 << 16
_LOOK_AFTER = 1_000_000
"""How many characters to count between two checks of the tokenizer's cache. This limits how much the cache can grow in
between."""
_CACHED_WORDS = 1 << 14
SPECIAL = "<|"
"""The beginning of every special token (`<|endoftext|>`). In a user's text, such a token is counted as plain text."""
_ID_BYTES = 4
"""The number of bytes per token in a flat buffer. Encoding to one takes half as long as encoding to a list of ids, but
it includes special tokens."""
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.25, 8.0


class Counter:
    """Counts the tokens in texts, and compares its counts with those that a provider reports."""

    exact = True

    def __init__(self, name: str, encode: Callable[[str], int]) -> None:
        self._name = name
        self.count_once = encode
        """Do the same as `count`, but without caching the result; use it for texts that are counted only once."""
        self._memo: dict[tuple[int, int], int] = {}
        self._last = 0
        self.drift = 1.0
        """Reported tokens divided by counted tokens, as of the last `calibrate`."""

    @property
    def name(self) -> str:
        """The name stored with each count. Only a counter with the same name reuses a stored count."""
        return self._name

    def count(self, text: str) -> int:
        """Return the number of tokens in a text. Counts are cached by the hash and length of the text, not by the text
        itself."""
        key = (hash(text), len(text))
        count = self._memo.get(key)
        if count is None:
            count = self.count_once(text)
            if len(self._memo) >= _MEMO_ENTRIES:
                self._memo.clear()
            self._memo[key] = count
        return count

    def assembled(self, tokens: int) -> None:
        """Remember the size of an assembled request for the next `calibrate`."""
        self._last = tokens

    def calibrate(self, reported_tokens: int, *, counted_tokens: int | None = None) -> float:
        """Compare the provider's token count for the last request with ours, and return reported ÷ counted."""
        counted = self._last if counted_tokens is None else counted_tokens
        if counted <= 0:
            raise UsageError("nothing was counted yet; assemble a request first, or pass counted_tokens=")
        if reported_tokens <= 0:
            raise UsageError("reported_tokens must be positive")
        self.drift = reported_tokens / counted
        return self.drift


class Estimate(Counter):
    """Estimates tokens as a quarter of the characters, times a factor learned from providers' counts."""

    exact = False

    def __init__(self) -> None:
        super().__init__("estimate", self._estimate)
        self.factor = 1.0
        self._calibrations = 0

    @property
    def name(self) -> str:
        """The name, which includes the factor, so that counts with another factor are recomputed."""
        return "estimate" if self.factor == 1.0 else f"estimate*{self.factor:g}"

    def count(self, text: str) -> int:
        """Return a quarter of the number of characters, rounded up, times the factor."""
        self._last = tokens = self._estimate(text)
        return tokens

    def _estimate(self, text: str) -> int:
        return -int(-len(text) * self.factor // CHARACTERS_PER_TOKEN)

    def calibrate(self, reported_tokens: int, *, counted_tokens: int | None = None) -> float:
        """Adjust the factor to the provider's count: fully the first time, and by half the difference after that."""
        drift = super().calibrate(reported_tokens, counted_tokens=counted_tokens)
        target = self.factor * drift
        factor = target if self._calibrations == 0 else (self.factor + target) / 2
        self._calibrations += 1
        self.factor = round(min(_LARGEST_FACTOR, max(_SMALLEST_FACTOR, factor)), 3)
        return drift


_opened: dict[str, Counter] = {}


def open_counter(spec: object = None) -> Counter:
    """Open a counter by name (`o200k_base`, `cl100k_base`, `estimate`), or from a tokenizer or a function."""
    if isinstance(spec, Counter):
        return spec
    if spec is None or (isinstance(spec, str) and spec in ENCODINGS):
        return _load_encoding(spec or DEFAULT_COUNTER)
    if spec == "estimate":
        return Estimate()
    if isinstance(spec, str):
        raise UsageError(f"there is no counter {spec[:64]!r}; use one of {', '.join(ENCODINGS)} or estimate")
    if hasattr(spec, "encode"):
        return _tokenizer(spec)
    if hasattr(spec, "count") and hasattr(spec, "name"):
        own = cast(TokenCounter, spec)
        return Counter(own.name, own.count)
    if callable(spec):
        function = cast(Callable[[str], int], spec)
        return Counter(_function_name(function), _checked(function))
    raise UsageError(f"a counter is a name, a tokenizer or a function, not {type(spec).__name__}")


def _load_encoding(name: str) -> Counter:
    """Return this process's only counter for an encoding, since loading the ranks takes tens of milliseconds."""
    encoding = _opened.get(name)
    if encoding is None:
        encoding = _opened[name] = Encoding(name)
    return encoding


class Encoding(Counter):
    """Represents an exact encoding, which loads its ranks when it first counts a text."""

    def __init__(self, name: str) -> None:
        super().__init__(name, self._exact)
        self._tokenizer: Any = None
        self._uncounted = 0
        """The number of characters counted since the tokenizer's cache was last checked."""

    @property
    def cached_words(self) -> int:
        """This is the number of words with more than one token that the tokenizer has cached."""
        return 0 if self._tokenizer is None else int(self._tokenizer.cache_len)

    def _look_at_cache(self) -> None:
        """Clear the tokenizer's word cache when it is too large, since it has no limit of its own.

        Reading its length takes longer than counting a message, because it goes through the whole cache, so this is
        done rarely.
        """
        self._uncounted = 0
        if self._tokenizer.cache_len > _CACHED_WORDS:
            self._tokenizer.clear_cache()

    def _exact(self, text: str) -> int:
        if self._tokenizer is None:
            import splintr

            self._tokenizer = splintr.Tokenizer.from_pretrained(self._name)
        if len(text) > PIECE_CHARACTERS:
            return sum(map(self._exact, text_pieces(text)))
        self._uncounted += len(text)
        if self._uncounted > _LOOK_AFTER:
            self._look_at_cache()
        try:
            if SPECIAL in text:
                return len(self._tokenizer.encode_ordinary(text))
            return len(self._tokenizer.encode_flat(text)) // _ID_BYTES
        except UnicodeEncodeError:
            # Lone surrogates cannot be encoded as UTF-8; count the question mark that is sent in their place.
            return self._exact(text.encode("utf-8", "replace").decode())


def _tokenizer(tokenizer: Any) -> Counter:
    """Count with a tokenizer, ignoring special tokens, by calling tiktoken's `encode_ordinary` or a suitable
    `encode`."""
    encode = getattr(tokenizer, "encode_ordinary", tokenizer.encode)
    options = {"add_special_tokens": False} if _takes(encode, "add_special_tokens") else {}
    return Counter(_tokenizer_name(tokenizer), lambda text: len(encode(text, **options)))


def _takes(function: Callable[..., object], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # compiled, without a signature: Hugging Face's, which has the option
        return True
    return any(parameter.name == name or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _tokenizer_name(tokenizer: Any) -> str:
    """Return a name that identifies the vocabulary, so that counts from another tokenizer are not reused."""
    name = getattr(tokenizer, "name_or_path", None) or getattr(tokenizer, "name", None)
    if isinstance(name, str) and name:
        return f"hf:{name}"
    if hasattr(tokenizer, "to_str"):
        return f"hf:{zlib.crc32(tokenizer.to_str().encode()):08x}"
    return f"hf:{type(tokenizer).__qualname__}:{id(tokenizer):x}"


def _function_name(function: Callable[[str], int]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    if "<" in name or not hasattr(function, "__qualname__"):
        # All lambdas are called `<lambda>`; the id keeps their stored counts apart.
        return f"function:{name}:{id(function):x}"
    return f"function:{getattr(function, '__module__', '')}.{name}"


def _checked(function: Callable[[str], int]) -> Callable[[str], int]:
    def count(text: str) -> int:
        tokens = function(text)
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise UsageError("a counting function must return a whole number of tokens, zero or more")
        return tokens

    return count

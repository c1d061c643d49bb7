"""Parses a question into terms, speakers' names, dates and the kind of answer it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

import msgspec

from memorist.dates import DateRange, parse_dates
from memorist.languages import language_of, rules
from memorist.languages.stemmed import STOP_WORDS
from memorist.ports import EPOCH, to_datetime, to_micros
from memorist.recall.analyze import (
    MAX_WORD_CHARACTERS,
    is_unspaced,
    normalise,
    query_terms,
    stemming_language,
    tokens,
    words,
)

Interval = tuple[int, int]
Span = tuple[int, int]
_FLAGS = re.IGNORECASE
_DAY = timedelta(days=1)
ROLE_NAMES = frozenset({"assistant", "ai", "bot", "chatbot", "model", "system", "tool", "user", "human"})
"""Speaker names that do not identify a person."""
_RULES = rules("en", "query", "talk")
_MOMENTS = rules("en", "moments", "talk")
_PERSONAL = _RULES.words("personal")
_HOW_TO = _RULES.how_to
_PAST = _RULES.past
_ASKS_ASSISTANT = _RULES.asks_assistant
_PART_END = re.compile(
    r"(?<=[.!?;:\n])[\s\"'”’)\]]+|[。！？；\n]+|,?\s+and (?=(?:what|when|where|which|who|whose|why|how)\b)", _FLAGS
)
_SENTENCE = re.compile(r"[^.!?？؟。！]+[.!?？؟。！]*")
_ASKS = re.compile(r"[?？؟]")
MAX_TERMS = 256
"""If a question has more terms, only the rarest are searched, from anywhere in the question."""
MAX_CHARS = 16_000
"""If a question is longer, half this many characters are read from each end, because the actual question comes before
or after any pasted text."""
MAX_PARTS = 4
MIN_PART_TERMS = 2
"""A part with fewer terms is searched only together with the rest."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a parsed question."""

    text: str
    terms: tuple[str, ...]
    """These are the terms to look up in the text index, without stop words, speakers' names and dates."""
    rarity: tuple[float, ...]
    """This is how informative each term is in general: 0 for everyday words ("thanks"), and about 1 for rarer ones
    ("violin")."""
    pairs: frozenset[tuple[str, str]]
    """These terms are adjacent in the question."""
    embed_text: str
    """This is the text to embed, without speakers' names and dates, which would dominate the vector."""
    parts: tuple[tuple[str, ...], ...] = ()
    """If a question has several parts, these are the terms of each part, which are also searched separately. Otherwise
    the list is empty."""
    part_texts: tuple[str, ...] = ()
    """This is the text to embed for each part."""
    speakers: tuple[str, ...] = ()
    """These are the speakers that the question is about, in order of mention."""
    dates: tuple[Interval, ...] = ()
    past: bool = False
    """This is True if the question is about the past, so that superseded records are not ranked lower."""
    asks: bool = False
    """This is True if the text is a question, rather than a statement or a request."""
    bare: bool = False
    """This is True if the question can be understood on its own, rather than as the next turn of a conversation."""
    personal: bool = False
    """This is True if the question may be about the asker or somebody they know. Such a question says "I", "my" or
    "she", or is not in English, since verbs may express this in other languages."""
    asks_assistant: bool = False
    """This is True if the question asks for the assistant's own words."""
    language: str = "english"
    """This is the Snowball name of the guessed language. If the question is too short, it is the scope's usual
    language."""
    now: int = 0


def analyse(
    text: str, *, speakers: Iterable[str] = (), now: int = 0, language: str | None = None, usual: str | None = None
) -> Query:
    """Parse a question. `speakers` are the names that occur in the scope, and `now` is the time of the question in
    microseconds.

    `usual` is the language of the scope, which is used if the question is too short for its language to be guessed.
    """
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]} {text[-MAX_CHARS // 2 :]}"
    named, aliases = _speakers_in(text, speakers)
    bare = _without(text, aliases)
    dates, spans = find_dates(bare, now)
    core = bare
    for start, end in sorted(spans, reverse=True):
        core = core[:start] + " " + core[end:]
    core = " ".join(core.split())
    for question in (core, bare, text):
        terms = query_terms(question, language, usual)
        if terms:
            break
    parts = _parts(question, language, usual)
    spoken = language or stemming_language(question, usual)
    return Query(
        text=text,
        terms=tuple(terms),
        rarity=_rarity(question, terms, spoken, usual),
        pairs=frozenset(pairwise(tokens(question, language, usual)[: 2 * MAX_TERMS])),
        embed_text=question,
        parts=tuple(terms_of_part for _, terms_of_part in parts),
        part_texts=tuple(part for part, _ in parts),
        speakers=tuple(named),
        dates=tuple(dates),
        past=bool(_PAST.search(text)),
        asks=bool(_ASKS.search(text)),
        bare=_is_bare_question(text),
        personal=spoken != "english" or not text.isascii() or not _PERSONAL.isdisjoint(words(_HOW_TO.sub(" ", text))),
        asks_assistant=bool(_ASKS_ASSISTANT.search(text)),
        language=spoken,
        now=now,
    )


def _rarity(text: str, terms: Iterable[str], *languages: str | None) -> tuple[float, ...]:
    """Return the rarity of each term, which is that of the rarest word with this stem, or its own in scripts without
    spaces."""
    from memorist.embed.wordllama import word_rarity

    spoken = [word for word in dict.fromkeys(words(text)) if len(word) <= MAX_WORD_CHARACTERS]
    by_term: dict[str, float] = {}
    for word, value in zip(spoken, word_rarity(spoken), strict=True):
        for language in dict.fromkeys((*languages, "english")):
            for term in tokens(word, language) if language else ():
                by_term[term] = max(value, by_term.get(term, 0.0))
    terms = list(terms)
    own = dict(zip(terms, word_rarity(terms), strict=True))
    return tuple(own[term] if is_unspaced(term) else by_term.get(term, own[term]) for term in terms)


def _is_bare_question(text: str) -> bool:
    """Return whether a text consists of one question and at most one other sentence."""
    sentences = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    return len(sentences) <= 2 and any(part.endswith(("?", "？", "؟")) for part in sentences)


def _parts(text: str, language: str | None, usual: str | None) -> list[tuple[str, tuple[str, ...]]]:
    """Return the parts of a question with their terms, or only the longest if there are many. A question with a single
    part has none."""
    parts = [(part, tuple(query_terms(part, language, usual))) for part in _PART_END.split(text) if part.strip()]
    parts = [(part, terms) for part, terms in parts if len(terms) >= MIN_PART_TERMS]
    if len(parts) < 2:
        return []
    return sorted(parts, key=lambda part: -len(part[1]))[:MAX_PARTS]


def content(text: str) -> str:
    """Return a text without English stop words, or unchanged if nothing would be left."""
    listed = STOP_WORDS["english"]
    spoken = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text)
    return " ".join(word for word in spoken if normalise(word) not in listed) or text


def _speakers_in(text: str, speakers: Iterable[str]) -> tuple[list[str], set[str]]:
    """Return the speakers that a text mentions, in order, and the words that mention them.

    A speaker is recognised by any word of their name, or by a capitalised short form of the first one.
    """
    spoken = [word[:-2] if word.endswith("'s") else word for word in words(text)]
    position_of = {word: i for i, word in reversed(list(enumerate(spoken)))}
    capital = {normalise(word) for word in re.findall(r"\b[^\W\d_]+", text) if word[:1].isupper()}
    first_positions: dict[str, int] = {}
    aliases: set[str] = set()
    for speaker in speakers:
        parts = _names(speaker)
        if not parts or parts[0] in ROLE_NAMES:
            continue
        for word in position_of:
            short = len(word) >= 3 and word in capital and parts[0].startswith(word)
            if short or (word in parts and (word in capital or len(word) > 3)):
                first_positions[speaker] = min(first_positions.get(speaker, len(spoken)), position_of[word])
                aliases.add(word)
    return sorted(first_positions, key=lambda name: first_positions[name]), aliases


@lru_cache(4096)
def _names(speaker: str) -> tuple[str, ...]:
    """Return the words of a speaker's name. They are cached, because questions are about the same few people."""
    return tuple(words(speaker))


def _without(text: str, names: Iterable[str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(name)}(?:['’]s)?(?!\w)", " ", text, flags=_FLAGS)
    return " ".join(text.split())


def find_dates(text: str, now: int) -> tuple[list[Interval], list[Span]]:
    """Return the time intervals that a text mentions, and their character spans in it.

    Stored statements are from the past, so a future time ("what do I have next Friday") produces no interval, and its
    words are searched for like any others. A bare weekday means the last one only if the question is in the past tense.
    """
    at = to_datetime(now)
    lang = language_of(text) or "en"
    intervals: list[Interval] = []
    spans: list[Span] = []
    for date in parse_dates(text, at, prefer="past", lang=lang):
        start, end = _widen_interval(date, at)
        if start >= end or start > at or (lang == "en" and _any_weekday(date, text)):
            continue
        intervals.append((to_micros(start), to_micros(end)))
        spans.append(date.span)
    return intervals, spans


def _any_weekday(date: DateRange, text: str) -> bool:
    """Return whether a date is only the name of a weekday and the question is not in the past tense."""
    return (
        date.grain == "day"
        and not _MOMENTS.said.search(date.text)
        and date.text.isalpha()
        and not _MOMENTS.past.search(text)
    )


def _widen_interval(date: DateRange, now: datetime) -> tuple[datetime, datetime]:
    """Return the interval to search for a parsed date. It covers whole days, is widened for "two weeks ago" and is
    open-ended for "since"."""
    start, end = date.start, date.end
    if date.grain in ("minute", "hour"):  # people rarely remember the minute at which something was said
        start = start.replace(hour=0, minute=0, second=0, microsecond=0)
        end = start + _DAY
    if date.approximate and date.grain == "day" and _MOMENTS.weeks.search(date.text):
        start, end = start - 3 * _DAY, end + 3 * _DAY
    if date.relation == "since":
        return start, max(now, end) + _DAY
    if date.relation == "after":
        return end, max(now, end) + _DAY
    if date.relation in ("before", "until"):
        return EPOCH, start if date.relation == "before" else end
    return start, end

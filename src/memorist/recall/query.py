"""Parses a question into terms, speakers' names, dates and the kind of answer it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import msgspec

from memorist.languages import rules
from memorist.languages.stemmed import STOP_WORDS
from memorist.recall.analyze import normalise, query_terms, stemming_language, tokens, words
from memorist.recall.entry import ASSISTANT_NAMES
from memorist.recall.moments import Interval, find_dates

_FLAGS = re.IGNORECASE
_RULES = rules("en", "query", "talk")
_FORMS = _RULES.each("forms")
"""Patterns of questions whose answer is gathered from several records (an order, a summary, a count, a list)."""
_PAST = _RULES.past
_GREETS = _RULES.greets
_SENTENCES = re.compile(r"[^.!?？。！]+[.!?？。！]*")
_ASKING = _RULES.asking
BARE_WORDS = 60
"""The most words of a bare question (see `Query.bare`)."""
_KINDS = _RULES.each("kinds")
_ASKS_ASSISTANT = _RULES.asks_assistant
MAX_TERMS = 48
"""Only so many terms of a question are searched: a pasted page is no better a question for being long."""
MAX_CHARS = 4_000
"""Of a longer question half as many characters are read from each end, where a pasted text has its question."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed question."""

    text: str
    terms: tuple[str, ...]
    """Terms to search the text index for: without stop words, speakers' names and dates."""
    pairs: frozenset[tuple[str, str]]
    """Terms that stand side by side in the question."""
    embed_text: str
    """The text to embed: without speakers' names and dates, which would dominate the vector."""
    content_text: str = ""
    """The same without stop words, for embedders that only average word vectors."""
    speakers: tuple[str, ...] = ()
    """Speakers asked about, in order of mention."""
    dates: tuple[Interval, ...] = ()
    kind: str = "other"
    form: str = "one"
    """`order`, `summary`, `count` and `list` gather their answer from several records; `one` from a single one."""
    past: bool = False
    """Whether it asks how things were, so that superseded records are not ranked down."""
    bare: bool = False
    """Whether it can be understood by itself, rather than as the next turn of a conversation."""
    asks_assistant: bool = False
    language: str = "english"
    """Its language by its Snowball name, guessed; the scope's usual one where it is too short."""
    now: int = 0


def analyse(
    text: str, *, speakers: Iterable[str] = (), now: int = 0, language: str | None = None, usual: str | None = None
) -> Query:
    """Parse a question; `speakers` are the names seen in the scope, `now` is when it is asked, in microseconds.

    `usual` is the language of the scope, used for a question too short to guess its language from.
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
    for kept in (core, bare, text):
        terms = query_terms(kept, language, usual)
        if terms:
            break
    ordered = tokens(kept, language, usual)[: 2 * MAX_TERMS]
    return Query(
        text=text,
        terms=tuple(terms[:MAX_TERMS]),
        pairs=frozenset(pairwise(ordered)),
        embed_text=kept,
        content_text=content(kept),
        speakers=tuple(named),
        dates=tuple(dates),
        kind=next((name for name, pattern in _KINDS if pattern.search(text)), "other"),
        form=next((name for name, pattern in _FORMS if pattern.search(text)), "one"),
        past=bool(_PAST.search(text)),
        bare=_bare(text),
        asks_assistant=bool(_ASKS_ASSISTANT.search(text)),
        language=language or stemming_language(kept, usual),
        now=now,
    )


def _bare(text: str) -> bool:
    """Whether a text is a question with at most one other sentence, without a greeting."""
    if len(text.split()) > BARE_WORDS or _GREETS.match(text):
        return False
    parts = [part.strip() for part in _SENTENCES.findall(text) if part.strip()]
    asking = [part for part in parts if part.endswith(("?", "？")) or _ASKING.match(part)]
    return bool(asking) and len(parts) <= 2


def content(text: str) -> str:
    """A text without English stop words; unchanged where nothing would be left."""
    listed = STOP_WORDS["english"]
    found = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text)
    return " ".join(word for word in found if normalise(word) not in listed) or text


def _speakers_in(text: str, speakers: Iterable[str]) -> tuple[list[str], set[str]]:
    """The speakers a text mentions, in order, and the words it mentions them by.

    A speaker is recognised by any word of their name, or by a capitalised short form of the first one.
    """
    spoken = [word[:-2] if word.endswith("'s") else word for word in words(text)]
    place = {word: i for i, word in reversed(list(enumerate(spoken)))}
    capital = {normalise(word) for word in re.findall(r"\b[^\W\d_]+", text) if word[:1].isupper()}
    found: dict[str, int] = {}
    aliases: set[str] = set()
    for speaker in speakers:
        parts = _names(speaker)
        if not parts or parts[0] in ASSISTANT_NAMES or parts[0] in ("user", "human"):
            continue
        for word in place:
            short = len(word) >= 3 and word in capital and parts[0].startswith(word)
            if short or (word in parts and (word in capital or len(word) > 3)):
                found[speaker] = min(found.get(speaker, len(spoken)), place[word])
                aliases.add(word)
    return sorted(found, key=lambda name: found[name]), aliases


@lru_cache(4096)
def _names(speaker: str) -> tuple[str, ...]:
    """The words of a speaker's name; cached, since questions are about the same few people."""
    return tuple(words(speaker))


def _without(text: str, names: Iterable[str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(name)}(?:['’]s)?(?!\w)", " ", text, flags=_FLAGS)
    return " ".join(text.split())

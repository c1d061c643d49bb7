"""Topics: one kind of fact about a user each, with the patterns, phrases and questions of a language for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from .files import codes, read, topic_files

Lane = Literal["identity", "contact", "safety", "wish", "fact"]
"""The purpose of a fact: who the user is, how to reach them, safety, standing wishes, everything else."""


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """One table of a topic file; `key` may end in a slot that a pattern fills (`likes.{thing}`)."""

    name: str
    lang: str
    file: str
    key: str
    about: str = ""
    """One line of description, for people and for a model's prompt."""
    lane: Lane = "fact"
    importance: float = 0.5
    """From 0 to 1: the priority when not all facts fit."""
    single: bool = True
    """Whether a user has one value, which a new one supersedes; otherwise there is one fact per thing."""
    kind: Literal["fact", "preference", "pattern"] = "fact"
    value: str | bool = ""
    """The slot that holds the value (or alternatives, of which a pattern has one); true where the key is the fact."""
    suffix: str = ""
    """Appended to the value: "I teach chemistry" gives "chemistry teacher"."""
    sure: float = 0.8
    prefer: Literal["past", "future"] = "future"
    """Whether a date without a year is taken as past or future."""
    since: bool = False
    """Whether a date in the sentence is the start of the fact ("since March")."""
    wish: bool = False
    """Whether it is a wish by nature, so that "I want to" does not make it hypothetical."""
    tell: str = "{thing}: {value}"
    """How the fact is written in a prompt."""
    tell_not: str = ""
    """How it is written when its value is false."""
    ask: tuple[str, ...] = ()
    """Questions that the fact answers."""
    say: tuple[str, ...] = ()
    """Patterns that state the fact."""
    deny: tuple[str, ...] = ()
    """Patterns that negate it, which is a fact with the value false: "I don't like {thing}"."""
    retract: tuple[str, ...] = ()
    """Patterns that end the fact: "I no longer …"."""
    unless: tuple[str, ...] = ()
    """Words that prevent a match if the sentence has them."""
    fires: dict[str, Any] = {}
    """Test sentences, and the value that each must give."""
    silent: tuple[str, ...] = ()
    """Test sentences that must not match."""
    retracts: dict[str, Any] = {}
    """Test sentences that must end a fact, and the value they name (or the key's last part); true where none is."""

    @property
    def stem(self) -> str:
        """The fixed part of the key: `allergy` of `allergy.{thing}`."""
        return self.key.partition(".{")[0]

    def tell_value(self, value: Any, key: str) -> str:
        """The fact as a short statement without its subject: "lives in Porto", "dislikes black coffee"."""
        thing = key.removeprefix(self.stem).lstrip(".").replace("_", " ").replace(".", " ") or self.name
        if value is False:
            return (self.tell_not or "not: {thing}").format(thing=thing, value=thing)
        said = thing if value is True else plain(value)
        return self.tell.format(thing=thing, value=said)


def plain(value: Any) -> str:
    """A value as text: a list with commas, an amount with its unit."""
    if isinstance(value, dict) and "amount" in value:
        return f"{value['amount']} {value.get('unit', '')}".strip()
    if isinstance(value, dict):
        return ", ".join(f"{name}: {plain(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value)
    return str(value)


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages that facts are extracted from; English first."""
    return tuple(code for code in codes() if topic_files(code))


@cache
def topics(lang: str = "en") -> tuple[Topic, ...]:
    """All topics of a language, in the order of their files; fields such as lane and importance default to English."""
    return tuple(
        _made(lang, file, name, table) for file in topic_files(lang) for name, table in read(lang, file).items()
    )


_SHARED = (
    "key", "about", "lane", "importance", "single", "kind", "value", "suffix", "sure", "prefer", "since", "wish",
    "tell", "tell_not", "ask",
)  # fmt: skip


def _made(lang: str, file: str, name: str, table: dict[str, Any]) -> Topic:
    base = _english().get(name) if lang != "en" else None
    shared = {field: getattr(base, field) for field in _SHARED} if base else {}
    fields: dict[str, Any] = {"key": name, **shared, **table}

    fields = {field: tuple(value) if isinstance(value, list) else value for field, value in fields.items()}
    fields.setdefault("single", "{" not in fields["key"])
    return msgspec.convert({**fields, "name": name, "lang": lang, "file": file}, Topic)


@cache
def _english() -> dict[str, Topic]:
    return {topic.name: topic for topic in topics("en")}


@cache
def _by_stem(lang: str) -> dict[str, Topic]:
    out: dict[str, Topic] = {}
    for topic in topics(lang):
        out.setdefault(topic.stem, topic)
    return out


def topic_of(key: str, lang: str = "en") -> Topic | None:
    """The topic of a key, by its longest known prefix: `allergy.peanuts` belongs to `allergy`."""
    parts = key.split(".")
    for code in dict.fromkeys((lang, "en")):
        known = _by_stem(code) if code in languages() else {}
        found = _longest(parts, known)
        if found is not None:
            return found
    return None


def _longest(parts: Sequence[str], known: dict[str, Topic]) -> Topic | None:
    stems: Iterable[str] = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((known[stem] for stem in stems if stem in known), None)

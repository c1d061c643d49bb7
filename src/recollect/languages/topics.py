"""Topics: one kind of fact each, with how it is said, told and asked for in a language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from .files import codes, read, topic_files

Lane = Literal["identity", "contact", "safety", "wish", "fact"]
"""What a fact is for: who the user is, how to reach them, what must not be missed, what they ask for, all else."""


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """One table of a topic file; `key` names the slots that its last part is made of (`likes.{thing}`)."""

    name: str
    lang: str
    file: str
    key: str
    about: str = ""
    """One line for people and for the prompt of a model."""
    lane: Lane = "fact"
    importance: float = 0.5
    """From 0 to 1: what to keep when there is room for few."""
    single: bool = True
    """One value per person, so that a new one supersedes; else one fact per thing."""
    kind: Literal["fact", "preference", "pattern"] = "fact"
    value: str | bool = ""
    """The slot that holds the value, or several of which one stands in a pattern; true where the key says it all."""
    suffix: str = ""
    """Put behind the value: "chemistry" taught makes a "chemistry teacher"."""
    sure: float = 0.8
    prefer: Literal["past", "future"] = "future"
    """Which way a date without a year goes."""
    since: bool = False
    """Whether a date beside it says since when it holds."""
    wish: bool = False
    """Whether it is a wish itself, so that "I want to" does not speak against it."""
    tell: str = "{thing}: {value}"
    tell_not: str = ""
    """How false is told."""
    ask: tuple[str, ...] = ()
    say: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """Says that it is not so, which is a fact of its own: "I don't like {thing}"."""
    retract: tuple[str, ...] = ()
    """Says that it is no longer so: the fact ends."""
    unless: tuple[str, ...] = ()
    """Words of the sentence that speak against it: it is then not read."""
    fires: dict[str, Any] = {}
    silent: tuple[str, ...] = ()
    retracts: dict[str, Any] = {}
    """Sentences that end a fact, and the value they name (or the key's last part); true where none is named."""

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
    """A value as one would write it: a list with commas, an amount with its unit."""
    if isinstance(value, dict) and "amount" in value:
        return f"{value['amount']} {value.get('unit', '')}".strip()
    if isinstance(value, dict):
        return ", ".join(f"{name}: {plain(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value)
    return str(value)


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages that facts are read in; English first."""
    return tuple(code for code in codes() if topic_files(code))


@cache
def topics(lang: str = "en") -> tuple[Topic, ...]:
    """All topics of a language, in the order of their files; lane, importance and such come from English."""
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
    """The topic of a key, by its longest known beginning: `allergy.peanuts` is `allergy`."""
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

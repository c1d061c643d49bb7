"""Defines topics, which are the kinds of facts about a user, with their keys, their lanes and their wording in a
prompt."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

import msgspec

from ..values import JsonObject
from .files import codes, read_shared, rules_exist

_DAY = re.compile(r"(?P<year>\d{4}|-)-(?P<month>0[1-9]|1[0-2])-(?P<day>[0-3]\d)")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
Lane = Literal["identity", "contact", "safety", "wish", "fact"]
"""The purpose of a fact: who the user is, how to reach them, safety, standing wishes, or anything else."""


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Holds one table of `topics.toml`. A `key` may end in a slot, with one fact per thing (`likes.{thing}`)."""

    name: str
    key: str
    about: str = ""
    """This is a one-line description for people."""
    lane: Lane = "fact"
    importance: float = 0.5
    """This is the priority, from 0 to 1, that decides which facts are kept if not all of them fit."""
    tell: str = "{thing}: {value}"
    """This is the wording of the fact in a prompt."""
    tell_not: str = ""
    """This is the wording if the value is false."""
    tell_only: str = ""
    """This is the wording if the value is just true, so that only the thing is known."""
    dated: bool = False
    """This is True if the prompt says when the fact was stated, because facts such as an age do not stay true."""
    ask: tuple[str, ...] = ()
    """These are questions that the fact answers."""

    @property
    def single(self) -> bool:
        """This is True if a user has only one value, which a new one replaces. Otherwise there is one fact per
        thing."""
        return "{" not in self.key

    @property
    def stem(self) -> str:
        """This is the fixed part of the key, such as `allergy` in `allergy.{thing}`."""
        return self.key.partition(".{")[0]

    def tell_value(self, value: object, key: str) -> str:
        """Return the fact as a short statement without its subject, such as "lives in Porto" or "dislikes black
        coffee"."""
        parts = key.removeprefix(self.stem).lstrip(".").split(".")
        if self.single and parts[0] and parts[-1].replace("_", " ") != plain(value).casefold():
            # `employer.previous` is not the employer, so only its own key tells what it is.
            return f"{key.replace('.', ' ').replace('_', ' ')}: {plain(value)}"
        if len(parts) > 1 and isinstance(value, str):  # relation.sister.maria: the name is the value
            parts = parts[:-1]
        thing = " ".join(parts).replace("_", " ") or self.name
        if value is False:
            return (self.tell_not or "not: {thing}").format(thing=thing, value=thing)
        template = self.tell_only if value is True and self.tell_only else self.tell
        words = thing if value is True else plain(value)
        if self.name in ("birthday", "date"):
            words = _in_full(words)
        return template.format(thing=thing, value=words, a="an" if thing[:1] in "aeiou" else "a")


def _in_full(date: str) -> str:
    """Return `--03-05` as "5 March" and `1990-03-05` as "5 March 1990", and anything else unchanged."""
    match = _DAY.fullmatch(date)
    if match is None:
        return date
    words = f"{int(match['day'])} {_MONTHS[int(match['month']) - 1]}"
    return words if match["year"] == "-" else f"{words} {match['year']}"


def plain(value: object) -> str:
    """Return a value as text: a list with commas, or an amount with its unit."""
    if isinstance(value, dict) and "amount" in value:
        return f"{value['amount']} {value.get('unit', '')}".strip()
    if isinstance(value, dict):
        return ", ".join(f"{name}: {plain(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value)
    return str(value)


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages from which facts are extracted, English first."""
    return tuple(code for code in codes() if rules_exist(code))


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics, in the order of their file."""
    tables: JsonObject = read_shared("topics")
    return tuple(msgspec.convert({"key": name, **table, "name": name}, Topic) for name, table in tables.items())


def topic_named(name: str) -> Topic | None:
    """Return the topic with the given name."""
    return next((topic for topic in topics() if topic.name == name), None)


@cache
def _by_stem() -> dict[str, Topic]:
    return {topic.stem: topic for topic in reversed(topics())}


def topic_of(key: str) -> Topic | None:
    """Return the topic of a key, by its longest known prefix: `allergy.peanuts` belongs to `allergy`."""
    parts, by_stem = key.split("."), _by_stem()
    stems = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((by_stem[stem] for stem in stems if stem in by_stem), None)

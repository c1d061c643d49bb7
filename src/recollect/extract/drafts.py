"""From patterns that fit a clause to drafts of facts: the slots are read, the key is made, the value is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import product
from typing import Any, Literal

import msgspec

from ..dates import parse_dates
from ..languages import UNSPACED, Topic, topics, words
from .extracted import Clause
from .keys import slug
from .matcher import Match, Matcher
from .pattern import Pattern, compiled
from .phrases import phrases
from .slots import Around, Reading, read
from .tokens import BREAK, Token, tokens

Sense = Literal["say", "deny", "retract"]
_SLOT = re.compile(r"\{([\w|]+)\}")
_SENSES: tuple[Sense, ...] = ("say", "deny", "retract")


class Draft(msgspec.Struct, frozen=True):
    """A fact before its evidence is attached; `rule` is the id of the pattern it comes from."""

    key: str
    value: Any
    confidence: float
    rule: str
    sense: Sense = "say"
    kind: str = "fact"
    """Or the kind of learning that the clause is."""
    valid_at: datetime | None = None
    wished: bool = False
    """It is itself a wish ("I want to run a marathon"), so that a wish does not speak against it."""


class Refusal(msgspec.Struct, frozen=True):
    """A pattern that fits without giving a fact, and why."""

    rule: str
    reason: str


class Room(msgspec.Struct, frozen=True):
    """All patterns of a language, ready to match, and what each belongs to."""

    lang: str
    matcher: Matcher
    owners: dict[str, tuple[Topic, Sense]]
    classes: dict[str, dict[str, str]]
    negation: frozenset[str]
    skipped: frozenset[str]
    """Adverbs and commas, which are no part of what fills a slot when they stand before it."""


@cache
def room(lang: str) -> Room:
    """The compiled patterns of a language; made when the first sentence in it comes."""
    lists = words(lang)
    classes = {
        name: {_folded(said, lang): gives for said, gives in found.items()} for name, found in lists.classes.items()
    }
    patterns: list[Pattern] = []
    owners: dict[str, tuple[Topic, Sense]] = {}
    for topic in topics(lang):
        for sense in _SENSES:
            for number, source in enumerate(getattr(topic, sense), start=1):
                id = f"{lang}/{topic.file}#{topic.name}.{sense}.{number}"
                patterns.append(compiled(id, source, lang, lists.table("macros"), lists.classes))
                owners[id] = topic, sense
    matcher = Matcher(patterns, lists.set("after"), lists.set("adverbs"))
    return Room(lang, matcher, owners, classes, lists.set("negation"), lists.set("adverbs") | {BREAK})


def _folded(text: str, lang: str) -> str:
    return " ".join(token.word for token in tokens(text, lang))


def drafts(clause: Clause, at: datetime) -> tuple[list[Draft], list[Refusal]]:
    """What a clause states, and what fitted without stating anything."""
    lang, text, sentence = clause.lang, clause.text, clause.sentence
    here = room(lang)
    cut = tokens(text, lang)
    negated = any(token.word in here.negation for token in cut)
    said: frozenset[str] | None = None
    found: list[Draft] = []
    refused: list[Refusal] = []
    for match in here.matcher.matches(cut):
        topic, sense = here.owners[match.pattern.id]
        if negated and not match.pattern.words & here.negation and not _behind(match, cut, here.negation):
            refused.append(Refusal(match.pattern.id, "the clause is negated"))
            continue
        if topic.unless:
            said = said or frozenset(token.word for token in tokens(sentence, lang))
            if said.intersection(topic.unless) or (lang in UNSPACED and any(word in sentence for word in topic.unless)):
                refused.append(Refusal(match.pattern.id, "the sentence has a word that speaks against it"))
                continue
        around = Around(phrases(lang), at, sentence, topic.prefer, clause.before)
        slots = _read(match, cut, text, around, here)
        if isinstance(slots, str):
            refused.append(Refusal(match.pattern.id, slots))
            continue
        made = list(_made(topic, sense, match, slots, text, around))
        found += made
        if not made:
            refused.append(Refusal(match.pattern.id, "nothing is named"))
    return found, refused


def _behind(match: Match, cut: Sequence[Token], negation: frozenset[str]) -> bool:
    """Whether what is negated stands behind all that the pattern reads."""
    first = next(at for at, token in enumerate(cut) if token.word in negation)
    return first >= match.end > 0


def _read(
    match: Match, cut: Sequence[Token], clause: str, around: Around, here: Room
) -> dict[str, list[Reading]] | str:
    """The readings of each slot; a reason where one could not be read."""
    out: dict[str, list[Reading]] = {}
    for name, first, last in match.slots:
        listed = here.classes.get(name.rstrip("0123456789"))
        if listed is not None:
            said = " ".join(token.word for token in cut[first:last] if token.word != BREAK)
            gives = listed.get(said, listed.get(said.split(" ")[-1], said))
            if gives == said and here.lang != "en":
                gives = clause[cut[first].start : cut[last - 1].end]  # as written
            out[name] = [Reading(gives, slug(gives))]
            continue
        while first < last - 1 and cut[first].word in here.skipped:
            first += 1
        text = clause[cut[first].start : cut[last - 1].end if last < len(cut) else len(clause)]
        found = [] if _other_subject(text, name, here.lang) else read(name.rstrip("0123456789"), text, around)
        if not found:
            return f"what stands in its place is no {{{name}}}"
        out[name] = found
    return out


_LOOSE = ("text", "aim", "decided", "phrase", "work")


def _other_subject(text: str, name: str, lang: str) -> bool:
    """Whether a slot holds a topic particle, so that the sentence is about somebody else: 妹は横浜に…"""
    return lang == "ja" and name not in _LOOSE and ("は" in text or "には" in text)


def _made(
    topic: Topic, sense: Sense, match: Match, slots: dict[str, list[Reading]], clause: str, around: Around
) -> Iterator[Draft]:
    """One draft for each thing that the key names."""
    for name in str(topic.value).split("|"):
        if f"{name}|" in f"{topic.key}|".replace("}", "|").replace("{", "|") and name in slots and len(slots[name]) > 1:
            for reading in slots[name]:  # each of several has a value of its own
                yield from _made(topic, sense, match, {name: [reading]}, clause, around)
            return
    if topic.kind != "fact":
        yield Draft(topic.kind, clause, topic.sure, match.pattern.id, sense, topic.kind)
        return
    value, gives = _value(topic, slots, match.pattern.gives)
    if sense == "deny":
        value = False
    since = _since(clause, around) if topic.since and sense == "say" else None
    keys = _keys(topic, slots, gives)
    if sense == "retract":
        value, keys = _ended(topic, slots, value, keys)
    for key in keys:
        yield Draft(key, value, topic.sure, match.pattern.id, sense, valid_at=since, wished=topic.wish)


def _ended(topic: Topic, slots: dict[str, list[Reading]], value: Any, keys: list[str]) -> tuple[Any, list[str]]:
    """What ends: the fact of a key, or any of the topic's (`pet.*`) that has the value named."""
    if keys:
        return (None if value is True else value), keys
    first = next(iter(slots.values()), None)
    if first is None:
        return None, []
    named = first[0].part.replace("_", " ") if first[0].value is True else first[0].value
    return named, [f"{topic.stem}.*"]


def _value(topic: Topic, slots: dict[str, list[Reading]], gives: str | None) -> tuple[Any, str | None]:
    """The value, and what is left of the constant for the key."""
    keyed = _SLOT.findall(topic.key)
    if topic.value is True:
        return True, gives
    named = next((slots[name] for name in str(topic.value).split("|") if name in slots), None)
    if named is None and not keyed:
        # A topic with one value takes the constant, else whatever slot the pattern has.
        if gives is not None:
            return (int(gives) if gives.isdecimal() else gives), None
        named = next(iter(slots.values()), None)
    if named is None:
        return True, gives
    value = named[0].value
    if value is True and not keyed:
        value = named[0].part.replace("_", " ").capitalize() if topic.name == "native_language" else named[0].part
    return (f"{value}{topic.suffix}" if topic.suffix else value), gives


def _keys(topic: Topic, slots: dict[str, list[Reading]], gives: str | None) -> list[str]:
    """The keys that a match names: the parts of a template that were said, or the constant in their place."""
    if "{" not in topic.key:
        return [topic.key]
    groups = []
    for group in topic.key.removeprefix(f"{topic.stem}.").split("."):
        names = (name for names in _SLOT.findall(group) for name in names.split("|") if name in slots)
        said = [[reading.part for reading in slots[name]] for name in names]
        fixed = _SLOT.sub("", group).strip("_")
        said += [[fixed]] if fixed else [] if said or not gives else [[slug(gives)]]
        groups.append(["_".join(filter(None, parts)) for parts in product(*said)])
    return [f"{topic.stem}.{'.'.join(filter(None, parts))}" for parts in product(*groups) if any(parts)]


def _since(clause: str, around: Around) -> datetime | None:
    found = [date.start for date in parse_dates(clause, around.at, lang=around.lang) if date.start <= around.at]
    return found[0] if found else None

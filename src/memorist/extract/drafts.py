"""From patterns that fit a clause to facts: the slots are read, the key is made, the value is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import product
from typing import Any

from ..languages import Topic, standing, words
from .clause import Clause
from .extracted import Extracted
from .keys import slug
from .matcher import Match, matcher
from .phrases import phrases
from .slots import Around, Reading, read
from .tokens import BREAK, Token, tokens

Slots = dict[str, list[Reading]]
_SLOT = re.compile(r"\{([\w|]+)\}")
_LOOSE = ("text", "aim", "decided", "phrase", "work")


def drafts(clause: Clause, at: datetime) -> tuple[list[Extracted], dict[str, str]]:
    """What the patterns that fit a clause read from it, and why others gave nothing, by the pattern's id."""
    cut, negation = tokens(clause.text, clause.lang), words(clause.lang).set("negation")
    negated = next((at for at, token in enumerate(cut) if token.word in negation), None)
    found: list[Extracted] = []
    refused: dict[str, str] = {}
    for match in matcher(clause.lang).matches(cut):
        around = Around(phrases(clause.lang), at, clause.sentence, match.pattern.topic.prefer, clause.before)
        slots = _against(match, clause, negated) or _read(match, cut, clause, around)
        made = [] if isinstance(slots, str) else list(_made(match, slots, clause, around))
        found += made
        if not made:
            refused[match.pattern.id] = slots if isinstance(slots, str) else "nothing is named"
    return found, refused


def _against(match: Match, clause: Clause, negated: int | None) -> str:
    """What speaks against a pattern that fits: doubt, a negation up to where it ends, or a word of `unless`."""
    lists, topic = words(clause.lang), match.pattern.topic
    if clause.unsure and not topic.wish:
        return "a guess, a wish or something past"
    own = negated is None or match.pattern.words & lists.set("negation")
    if not own and not (negated or 0) >= match.end > 0:
        return "the clause is negated"
    if topic.unless and standing(topic.unless, clause.lang).search(clause.sentence):
        return "the sentence has a word that speaks against it"
    return ""


def _read(match: Match, cut: Sequence[Token], clause: Clause, around: Around) -> Slots | str:
    """The readings of each slot; a reason where one could not be read."""
    out: Slots = {}
    here = matcher(clause.lang)
    for numbered, first, last in match.slots:
        name = numbered.rstrip("0123456789")
        listed = here.classes.get(name)
        while listed is None and first < last - 1 and cut[first].word in here.skip:
            first += 1
        text = clause.text[cut[first].start : cut[last - 1].end if listed or last < len(cut) else len(clause.text)]
        if listed is not None:
            said = tuple(token.word for token in cut[first:last] if token.word != BREAK)
            spelled = " ".join(said)
            gives = listed.get(said, listed.get(said[-1:], spelled))
            gives = text if gives == spelled and clause.lang != "en" else gives  # as written
            out[numbered] = [Reading(gives, slug(gives))]
        # A topic particle says that the sentence is about somebody else: 妹は横浜に…
        elif clause.lang == "ja" and name not in _LOOSE and "は" in text:
            out[numbered] = []
        else:
            out[numbered] = read(name, text, around)
        if not out[numbered]:
            return f"{text[:40]!r} is no {{{name}}}"
    return out


def _made(match: Match, slots: Slots, clause: Clause, around: Around) -> Iterator[Extracted]:
    """A fact for each thing that the key names, or the learning that the clause is."""
    topic, sense, rule = match.pattern.topic, match.pattern.sense, match.pattern.id
    for name in str(topic.value).split("|"):
        if name in _named(topic.key) and len(slots.get(name, ())) > 1:
            for reading in slots[name]:  # each of several has a value of its own
                yield from _made(match, {name: [reading]}, clause, around)
            return
    if topic.kind != "fact":
        yield clause.learning(topic.kind, clause.full or clause.text, topic.sure, rule)
        return
    value, gives = _value(topic, slots, match.pattern.gives)
    keys = _keys(topic, slots, gives)
    if sense == "retract":
        value, keys = _ended(topic, slots, value, keys)
    dates = around.dates(clause.text, "past") if topic.since and sense == "say" else []
    since = next((date.start for date in dates if date.start <= around.at), None)
    for key in keys:
        said = False if sense == "deny" else value
        yield clause.fact(key, said, topic.sure, rule, since=since, ends=sense == "retract")


def _named(template: str) -> list[str]:
    """The names of the slots in a key's template."""
    return [name for names in _SLOT.findall(template) for name in names.split("|")]


def _ended(topic: Topic, slots: Slots, value: Any, keys: list[str]) -> tuple[Any, list[str]]:
    """What ends: the fact of a key, or any of the topic's (`pet.*`) that has the value named."""
    if keys:
        return (None if value is True else value), keys
    first = next(iter(slots.values()), None)
    if first is None:
        return None, []
    named = first[0].part.replace("_", " ") if first[0].value is True else first[0].value
    return named, [f"{topic.stem}.*"]


def _value(topic: Topic, slots: Slots, gives: str | None) -> tuple[Any, str | None]:
    """The value, and what is left of the constant for the key."""
    keyed = "{" in topic.key
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


def _keys(topic: Topic, slots: Slots, gives: str | None) -> list[str]:
    """The keys that a match names: the parts of a template that were said, or the constant in their place."""
    if "{" not in topic.key:
        return [topic.key]
    groups = []
    for group in topic.key.removeprefix(f"{topic.stem}.").split("."):
        said = [[reading.part for reading in slots[name]] for name in _named(group) if name in slots]
        fixed = _SLOT.sub("", group).strip("_")
        said += [[fixed]] if fixed else [] if said or not gives else [[slug(gives)]]
        groups.append(["_".join(filter(None, parts)) for parts in product(*said)])
    return [f"{topic.stem}.{'.'.join(filter(None, parts))}" for parts in product(*groups) if any(parts)]

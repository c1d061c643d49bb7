"""The rule-based extractor: what a user's message says of the user, with no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from msgspec.structs import replace

from ..dates import number, parse_dates
from ..errors import UsageError
from ..languages import language_of, languages, rules
from .amounts import amount
from .clause import Clause
from .clauses import statements
from .drafts import drafts
from .extracted import Extracted
from .keys import slug
from .phrases import phrases
from .sentences import sentences
from .standing import habit, standing_instruction

MIN_UNKNOWN = 3
"""A scrap of fewer words is no evidence of an unknown language."""
MAX_CLAUSES = 80
"""Clauses read of a message: more than anybody states, and a bound of the work on hostile text."""
MAX_RESTARTS = 3
TRUSTED = frozenset({"user"})
"""Only what the user typed; text of tools, the web and documents is evidence, never the user's word."""
_VAGUE, _NAMED = ("my.", "owns.", "favorite."), ("relation.", "pet.")
_JESTED = (
    *("role", "studies", "school", "employer", "age", "marital_status", "nationality"),
    *("allergy.", "relation.", "owns.", "number.", "condition."),
)
"""The keys of what jokes are made of: "I have a PhD in procrastination, lol"."""


def extract(
    text: str,
    *,
    role: str,
    trust: str,
    at: datetime,
    speaker: str | None = None,
    previous: Sequence[Extracted] = (),
) -> list[Extracted]:
    """Facts and learnings that a message states about its writer; nothing unless a user said it in their own words.

    `previous` is what the message before gave, so that "no, I meant Munich" finds what it corrects.
    """
    if at.tzinfo is None:
        raise UsageError("a naive datetime; pass an aware one, such as datetime.now(timezone.utc)")
    if role != "user" or trust not in TRUSTED:
        return []
    found: list[tuple[Extracted, int]] = []
    for place, clause in enumerate(_clauses(text)):
        known = [*previous, *(item for item, _ in found)]
        items = read_clause(clause, at, known)
        found += [(replace(item, speaker=speaker) if speaker else item, place) for item in items]
    return _settled(found)


def _clauses(text: str) -> Iterator[Clause]:
    """The statements of a message, each in the language of its sentence, else of the one before it."""
    before, spoken, count = "", "", 0
    for sentence in sentences(text):
        spoken = language_of(sentence.own) or spoken or language_of(text) or "en"
        if spoken in languages() and count < MAX_CLAUSES:
            found = statements(sentence, spoken, before)[0]
            yield from found[: MAX_CLAUSES - count]
            count += len(found)
        before = sentence.own


def unread(text: str) -> bool:
    """Whether a message has sentences in a language that nothing is known of, and none in one that is."""
    found = [(language_of(one.own), len(one.own.split())) for one in sentences(text)]
    known = any(lang in languages() for lang, _ in found)
    return bool(found) and not known and any(lang is not None or size >= MIN_UNKNOWN for lang, size in found)


def read_clause(clause: Clause, at: datetime, known: Sequence[Extracted]) -> Iterator[Extracted]:
    """What a clause says: its facts, else what it asks for, a habit, a correction, or what to remember.

    `known` is what the clauses and the message before it said.
    """
    told, lang = rules(clause.lang, "reading"), clause.lang
    asked = None if clause.scrap else standing_instruction(clause.full, clause.sentence, lang)
    if asked is not None:
        yield clause.learning("preference", asked, 0.8)
        return
    clause = unhedged(clause)
    found = _drafts(clause, at)
    wish = next((item for item in found if item.kind == "learning"), None)
    if wish or found:
        yield from [wish] if wish else _facts(found, clause)
    elif clause.unsure or clause.scrap:
        return
    elif habit(clause.text, lang):
        yield clause.learning("pattern", clause.full, 0.6)
    elif clause.correction:
        yield from _corrected(clause, at, known)
    elif clause.rejected and len(clause.rejected.split()) <= 2 and told.it_is.match(clause.text):
        yield clause.learning("correction", clause.full, 0.7)  # "it's Jon, not John": of whom cannot be told
    elif clause.remember and told.states.search(clause.text):
        yield clause.learning("preference", clause.full.removeprefix("that "), 0.8)


def unhedged(clause: Clause) -> Clause:
    """A clause without a wish or a guess at its end; marked as unsure where all of it is one."""
    told = rules(clause.lang, "reading")
    if not told.unsure.search(clause.text):
        return clause
    head = told.hedged_later.sub("", clause.text)
    text = head if told.own_start.match(head) else clause.text
    return replace(clause, text=text, unsure=bool(told.unsure.search(text)))


def is_jest(clause: Clause) -> bool:
    """Whether the sentence of a clause laughs at itself."""
    return bool(rules(clause.lang, "reading").jest.search(clause.sentence))


def _facts(found: Sequence[Extracted], clause: Clause) -> Iterator[Extracted]:
    """The facts of a clause, without the vague reading of what another pattern names better, what ends, and jokes."""
    jest = is_jest(clause)
    named = any(isinstance(item.value, str | list) and item.key.startswith(_NAMED) for item in found)
    better = any(not item.key.startswith(_VAGUE) and not item.retracted and item.value is not False for item in found)
    chosen = {slug(str(item.value)) for item in found if item.key.startswith("uses.") and item.value is not True}
    ended = {item.key for item in found if item.retracted}  # "we lost our cat Tigger" names the cat too
    for item in found:
        unnamed = item.value is True and item.key.startswith(_NAMED) and named
        vague = item.key.startswith(_VAGUE) and better
        again = item.key.removeprefix("uses.tool.") in chosen
        over = item.key in ended and not item.retracted
        if not (unnamed or vague or again or over or (jest and item.key.startswith(_JESTED))):
            yield item


def _drafts(clause: Clause, at: datetime) -> list[Extracted]:
    """What a clause states; where it begins with something else, what it states from the next "I" or "my" on."""
    told = rules(clause.lang, "reading")
    text = told.aside.sub("", clause.text)
    found = drafts(replace(clause, text=text), at)[0]
    for restart in () if found or clause.scrap else islice(told.restart.finditer(text), MAX_RESTARTS):
        if told.hedged.search(text, 0, restart.end()):
            break
        found = drafts(replace(clause, text=text[restart.end() :]), at)[0]
        if found:
            break
    return found


def _corrected(clause: Clause, at: datetime, known: Sequence[Extracted]) -> Iterator[Extracted]:
    """A bare "I mean Tuesday" takes the place of the newest value of its kind; else the correction itself is kept."""
    for item in reversed(known):
        value = _same_kind(item, clause, at) if item.kind == "fact" else None
        if value is not None:
            yield clause.fact(item.key, value, item.confidence, item.rule)
            return
    if (clause.rejected is not None or clause.meant) and not rules(clause.lang, "reading").negated.search(clause.text):
        yield clause.learning("correction", clause.full, 0.7)


def _same_kind(item: Extracted, clause: Clause, at: datetime) -> Any:
    """What a fragment says, if it could stand where this fact's value stands."""
    bare, lang = rules(clause.lang, "reading").bare_value.sub("", clause.text), clause.lang
    if len(bare.split()) > 4 or isinstance(item.value, bool):
        return None
    dates = parse_dates(clause.text, at, prefer="future", lang=lang)
    if item.key.startswith("date.") or item.key == "birthday":
        return dates[0].iso if dates else None
    if isinstance(item.value, dict):
        said = amount(bare, lang)
        return {**item.value, "amount": said} if isinstance(said, int | float) else said
    if isinstance(item.value, int | float):
        return number(bare, lang)
    if dates or number(bare, lang) is not None or not isinstance(item.value, str):
        return None
    return phrases(lang).cut(bare, most=4) or None


def _settled(found: Sequence[tuple[Extracted, int]]) -> list[Extracted]:
    """One reading per key: a later clause's if it corrects or is as sure, else the surer."""
    chosen: dict[str, tuple[Extracted, int]] = {}
    for item, place in found:
        old, before = chosen.get(item.key, (None, -1))
        sure, known = item.confidence, old.confidence if old else 0
        if old is None or item.correction or sure > known or (place != before and sure == known):
            chosen.pop(item.key, None)
            chosen[item.key] = item, place
    return [item for item, _ in chosen.values()]

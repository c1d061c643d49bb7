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
from .clauses import statements
from .drafts import Draft, drafts
from .extracted import Clause, Extracted, LearningType
from .keys import learning_key, slug
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
_VAGUE = ("my.", "owns.", "favorite.")
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
    lang = clause.lang
    asked = None if clause.scrap else standing_instruction(clause.full, clause.sentence, lang)
    if asked is not None:
        yield _learning("preference", asked, clause, 0.8)
        return
    if is_unsure(clause):
        clause = replace(clause, text=_until_hedged(clause))
    unsure = is_unsure(clause)
    found = [draft for draft in _drafts(clause, at) if draft.wished or not unsure]
    wish = next((draft for draft in found if draft.kind != "fact"), None)
    if wish is not None:
        yield _learning("preference", clause.full, clause, 0.8, wish.rule)
    elif found:
        yield from _facts(found, clause)
    elif unsure or clause.scrap:
        return
    elif habit(clause.text, lang):
        yield _learning("pattern", clause.full, clause, 0.6)
    elif clause.correction:
        yield from _corrected(clause, at, known)
    elif _is_name_corrected(clause):
        yield _learning("correction", clause.full, clause, 0.7)
    elif clause.remember and rules(lang, "reading").states.search(clause.text):
        yield _learning("preference", clause.full.removeprefix("that "), clause, 0.8)


def is_unsure(clause: Clause) -> bool:
    """Whether a clause is a wish, a guess or something that is over."""
    return bool(rules(clause.lang, "reading").unsure.search(clause.text))


def _until_hedged(clause: Clause) -> str:
    """The text of a clause without a wish or a guess at its end."""
    told = rules(clause.lang, "reading")
    head = told.hedged_later.sub("", clause.text)
    return head if told.own_start.match(head) else clause.text


def _is_name_corrected(clause: Clause) -> bool:
    """It's Jon, not John: which name it is cannot be told, but the correction can."""
    named = clause.rejected is not None and len(clause.rejected.split()) <= 2
    return named and bool(rules(clause.lang, "reading").it_is.match(clause.text))


def is_jest(clause: Clause) -> bool:
    """Whether the sentence of a clause laughs at itself."""
    return bool(rules(clause.lang, "reading").jest.search(clause.sentence))


def _facts(drafts: Sequence[Draft], clause: Clause) -> Iterator[Extracted]:
    """The facts of a clause, without the vague reading of what another pattern names better, and without jokes."""
    jest = is_jest(clause)
    named = any(isinstance(draft.value, str | list) and draft.key.startswith(("relation.", "pet.")) for draft in drafts)
    better = any(not draft.key.startswith(_VAGUE) and draft.sense == "say" for draft in drafts)
    chosen = {slug(str(draft.value)) for draft in drafts if draft.key.startswith("uses.") and draft.value is not True}
    for draft in drafts:
        unnamed = draft.value is True and draft.key.startswith(("relation.", "pet.")) and named
        vague = draft.key.startswith(_VAGUE) and better
        again = draft.key.removeprefix("uses.tool.") in chosen
        if not (unnamed or vague or again or (jest and draft.key.startswith(_JESTED))):
            yield _fact(draft, clause)


def _drafts(clause: Clause, at: datetime) -> list[Draft]:
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


def _fact(draft: Draft, clause: Clause) -> Extracted:
    return Extracted(
        kind="fact",
        key=draft.key,
        value=draft.value,
        confidence=draft.confidence,
        correction=clause.correction,
        rejected=clause.rejected,
        text=clause.sentence,
        span=clause.span,
        valid_at=draft.valid_at,
        retracted=draft.sense == "retract",
        rule=draft.rule,
        lang=clause.lang,
    )


def _learning(kind: LearningType, content: str, clause: Clause, confidence: float, rule: str = "") -> Extracted:
    made = _fact(Draft(learning_key(kind, content), content, confidence, rule), clause)
    return replace(made, kind="learning", type=kind)


def _corrected(clause: Clause, at: datetime, known: Sequence[Extracted]) -> Iterator[Extracted]:
    """A bare "I mean Tuesday" takes the place of the newest value of its kind; else the correction itself is kept."""
    for item in reversed(known):
        value = _same_kind(item, clause, at) if item.kind == "fact" else None
        if value is not None:
            yield _fact(Draft(item.key, value, item.confidence, item.rule), clause)
            return
    if (clause.rejected is not None or clause.meant) and not rules(clause.lang, "reading").negated.search(clause.text):
        yield _learning("correction", clause.full, clause, 0.7)


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

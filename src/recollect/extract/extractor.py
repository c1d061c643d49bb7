"""The rule-based extractor: what a user's message says of the user, with no model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from ..dates import number, parse_dates
from ..errors import UsageError
from ..languages import language_of, languages
from . import plain
from .amounts import amount
from .drafts import Draft, drafts
from .extracted import Extracted, LearningType
from .keys import slug
from .phrases import phrases
from .reading import MAX_CLAUSES, Clause, english, is_unsure, sentences, until_hedged
from .standing import habit, learning_key, standing_instruction
from .subject import plainly

MIN_UNKNOWN = 3
"""A scrap of fewer words is no evidence of an unknown language."""
TRUSTED = frozenset({"user"})
"""Only what the user typed; text of tools, the web and documents is evidence, never the user's word."""

_LOUD_NEGATION = re.compile(r"\b(?:not|never|no|nobody|nothing|none|neither|nor|no longer|hardly)\b|n't\b", re.I)


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
    found: list[Extracted] = []
    order: list[int] = []
    for place, (clause, lang) in enumerate(_clauses(text)):
        reader = _read if lang == "en" else _read_listed
        found.extend(reader(clause, at, [*previous, *found], lang))
        order += [place] * (len(found) - len(order))
    return [msgspec.structs.replace(item, speaker=speaker) if speaker else item for item in _settled(found, order)]


def _clauses(text: str) -> Iterator[tuple[Clause, str]]:
    """The statements of a message, each with its language: that of its sentence, else of the one before it."""
    before, spoken, count = "", language_of(text) or "en", 0
    for own, sentence, span in sentences(text):
        spoken = language_of(own) or spoken
        if spoken in languages() and count < MAX_CLAUSES:
            found = statements(own, sentence, span, spoken, before)[0]
            yield from ((clause, spoken) for clause in found[: MAX_CLAUSES - count])
            count += len(found)
        before = own


def statements(own: str, sentence: str, span: tuple[int, int], lang: str, before: str = "") -> tuple[list[Clause], str]:
    """The clauses of a sentence in which its writer states something, and why there are none where that is so."""
    return english(own, sentence, span, before) if lang == "en" else plain.statements(own, span, lang, before)


def unread(text: str) -> bool:
    """Whether a message has sentences in a language that nothing is known of, and none in one that is."""
    found = [(language_of(own), len(own.split())) for own, _, _ in sentences(text)]
    known = any(lang in languages() for lang, _ in found)
    return bool(found) and not known and any(lang is not None or size >= MIN_UNKNOWN for lang, size in found)


def _read_listed(clause: Clause, at: datetime, known: Sequence[Extracted], lang: str) -> Iterator[Extracted]:
    """What a clause in a language other than English says."""
    found = drafts(clause.text, clause.sentence, at, lang, clause.before)[0]
    asked = next((draft for draft in found if draft.kind != "fact"), None)
    if asked is not None:
        yield msgspec.structs.replace(_as_learning("preference", clause.full, clause, 0.8), rule=asked.rule, lang=lang)
    elif not found and clause.correction:
        yield from (item for item in _corrected(clause, at, known, lang) if item.kind == "fact")
    else:
        for draft in _told_apart(found, clause):
            yield msgspec.structs.replace(_fact(draft, clause), lang=lang)


def _read(clause: Clause, at: datetime, known: Sequence[Extracted], lang: str = "en") -> Iterator[Extracted]:
    asked = None if clause.scrap else standing_instruction(clause.full, clause.sentence)
    if asked is not None:
        yield _as_learning("preference", asked, clause, 0.8)
        return
    if is_unsure(clause.text):
        clause = replace(clause, text=until_hedged(clause.text))
    unsure = is_unsure(clause.text)
    found = [draft for draft in _drafts(clause, at) if draft.wished or not unsure]
    if unsure and not found:
        return
    if not found and clause.scrap:
        return
    if not found and (habit(clause.text) or habit(plainly(clause.text))):
        yield _as_learning("pattern", clause.full, clause, 0.6)
        return
    if not found and clause.correction:
        yield from _corrected(clause, at, known)
        return
    if not found and _is_name_corrected(clause):
        yield _as_learning("correction", clause.full, clause, 0.7)
        return
    if not found and clause.remember and _STATES.search(clause.text):
        yield _as_learning("preference", re.sub(r"^that ", "", clause.full), clause, 0.8)
        return
    for draft in _told_apart(found, clause):
        yield _fact(draft, clause)


_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|like|love|hate|need|want|prefer|use|work|live|go|don't|can't)\b|'(?:s|re|m)\b",
    re.I,
)
_IT_IS = re.compile(r"(?:it's|it is|that's) (?-i:[A-Z0-9])\S*(?: \S+)?", re.I)


def _is_name_corrected(clause: Clause) -> bool:
    """It's Jon, not John: which name it is cannot be told, but the correction can."""
    return clause.rejected is not None and len(clause.rejected.split()) <= 2 and bool(_IT_IS.fullmatch(clause.text))


_VAGUE = ("my.", "owns.", "favorite.")
_JEST = re.compile(r"\b(?:lol|lmao|rofl|ha(?:ha)+h?|he(?:he)+|jk|just kidding)\b|[\U0001f602\U0001f923]", re.I)
_JESTED = (
    "role",
    "studies",
    "school",
    "employer",
    "allergy.",
    "relation.",
    "age",
    "owns.",
    "number.",
    "marital_status",
    "nationality",
    "condition.",
)
"""What jokes are made of: "I have a PhD in procrastination, lol"."""


def is_jest(sentence: str) -> bool:
    """Whether a sentence laughs at itself."""
    return bool(_JEST.search(sentence))


def _told_apart(drafts: Sequence[Draft], clause: Clause) -> Iterator[Draft]:
    """Without the vague reading of what another rule names better, and without jokes."""
    jest = is_jest(clause.sentence)
    named = any(isinstance(draft.value, str | list) and draft.key.startswith(("relation.", "pet.")) for draft in drafts)
    better = any(not draft.key.startswith(_VAGUE) and draft.sense == "say" for draft in drafts)
    chosen = {slug(str(draft.value)) for draft in drafts if draft.key.startswith("uses.") and draft.value is not True}
    for draft in drafts:
        if draft.value is True and draft.key.startswith(("relation.", "pet.")) and named:
            continue
        if draft.key.startswith(_VAGUE) and better:
            continue
        if draft.key.removeprefix("uses.tool.") in chosen:
            continue
        if not (jest and draft.key.startswith(_JESTED)):
            yield draft


def _drafts(clause: Clause, at: datetime) -> list[Draft]:
    """What a clause states; where it begins with something else, what it states from the next "I" or "my" on."""
    text = _ASIDE.sub("", clause.text)
    found = drafts(text, clause.sentence, at, "en", clause.before)[0]
    for restart in () if found or clause.scrap else islice(_RESTART.finditer(text), MAX_RESTARTS):
        if _HEDGED.search(text, 0, restart.end()):
            break
        found = drafts(text[restart.end() :], clause.sentence, at, "en", clause.before)[0]
        if found:
            break
    return found


MAX_RESTARTS = 3
_RESTART = re.compile(
    r"(?:,|\b(?:that|because|why|where|since|now|so|and|but|as|though|out|means|given|plus|which))\s+"
    r"(?:(?:now|also|just|still) )?(?=(?:I|we|my|our|I'm|I've|we're|we've)\s)",
    re.I,
)
_HEDGED = re.compile(
    r"\b(?:said|says?|told|tells?|think|thinks|thought|believes?|wish\w*|hopes?|hoping|if|imagine|dreams?|pretend|would|could"
    r"|might|maybe|when|before|until|ask(?:s|ed)?|whether|assum\w+|heard|reads?|wrote|claims?|not|never|n't|suppose\w*)\b|n't\b",
    re.I,
)


# "For design work I use Figma": what the statement is about does not change who states it.
_ASIDE = re.compile(
    r"^(?:for|at|in|on|with|as for|after|since|before) [\w' -]{2,40}?,? (?=(?:I|we|my|our)(?:'m|'ve|'re)? )", re.I
)


def _fact(draft: Draft, clause: Clause, *, correction: bool = False) -> Extracted:
    return Extracted(
        kind="fact",
        key=draft.key,
        value=draft.value,
        confidence=draft.confidence,
        correction=correction or clause.correction,
        rejected=clause.rejected,
        text=clause.sentence,
        span=clause.span,
        valid_at=draft.valid_at,
        retracted=draft.sense == "retract",
        rule=draft.rule,
    )


def _as_learning(kind: LearningType, content: str, clause: Clause, confidence: float) -> Extracted:
    return Extracted(
        kind="learning",
        key=learning_key(kind, content),
        value=content,
        confidence=confidence,
        type=kind,
        correction=clause.correction,
        rejected=clause.rejected,
        text=clause.sentence,
        span=clause.span,
    )


def _corrected(clause: Clause, at: datetime, known: Sequence[Extracted], lang: str = "en") -> Iterator[Extracted]:
    """A bare "I mean Tuesday" takes the place of the newest value of its kind; else the correction itself is kept."""
    for item in reversed(known):
        value = _same_kind(item, clause.text, at, lang) if item.kind == "fact" else None
        if value is not None:
            made = _fact(Draft(item.key, value, item.confidence, item.rule), clause, correction=True)
            yield msgspec.structs.replace(made, lang=lang)
            return
    if (clause.rejected is not None or clause.meant) and not _LOUD_NEGATION.search(clause.text):
        yield _as_learning("correction", clause.full, clause, 0.7)


def _same_kind(item: Extracted, text: str, at: datetime, lang: str = "en") -> Any:
    """What a fragment says, if it could stand where this fact's value stands."""
    bare = re.sub(r"^(?:it's|it is|on|in|at|the|an?) ", "", text, flags=re.I)
    if len(bare.split()) > 4 or isinstance(item.value, bool):
        return None
    dates = parse_dates(text, at, prefer="future", lang=lang)
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


def _settled(found: Sequence[Extracted], order: Sequence[int]) -> list[Extracted]:
    """One reading per key: a later clause's if it corrects or is as sure, else the surer."""
    chosen: dict[str, tuple[Extracted, int]] = {}
    for item, place in zip(found, order, strict=True):
        old, before = chosen.get(item.key, (None, -1))
        if (
            old is None
            or item.correction
            or item.confidence > old.confidence
            or (place != before and item.confidence == old.confidence)
        ):
            chosen.pop(item.key, None)
            chosen[item.key] = item, place
    return [item for item, _ in chosen.values()]

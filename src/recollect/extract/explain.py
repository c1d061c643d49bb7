"""Why a text gives what it gives: each sentence, what was taken from it by which pattern, and what was not and why."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..languages import language_of, languages
from .drafts import drafts
from .extractor import extract
from .plain import statements
from .reading import english, is_unsure, sentences


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found, or one reason why nothing was."""

    sentence: str
    lang: str | None
    said: str
    """The clause that was read; empty where the sentence was not read at all."""
    found: str = ""
    """`key = value`, or the learning."""
    rule: str = ""
    why: str = ""
    """Why nothing was taken."""


def explain(text: str, at: datetime, *, role: str = "user", trust: str = "user") -> list[Step]:
    """The steps of extraction on a text, in its order."""
    if (role, trust) != ("user", "user"):
        return [Step(sentence=text[:200], lang=None, said="", why="only a user's own words are read")]
    out: list[Step] = []
    spoken, before, end = language_of(text) or "en", "", 0
    for own, sentence, span in sentences(text):
        if text[end : span[0]].strip():
            masked = text[end : span[0]].strip()[:200]
            out.append(
                Step(sentence=masked, lang=None, said="", why="quoted, pasted or code: not the writer's own words")
            )
        spoken, end = language_of(own) or spoken, span[1]
        out += _of_sentence(own, sentence, span, spoken, before, at)
        before = own
    if text[end:].strip(" .!?。！？\n"):
        out.append(_masked(text[end:]))
    return out


def _masked(text: str) -> Step:
    return Step(sentence=text.strip()[:200], lang=None, said="", why="quoted, pasted or code: not the writer's words")


def _of_sentence(own: str, sentence: str, span: tuple[int, int], lang: str, before: str, at: datetime) -> list[Step]:
    if lang not in languages():
        return [Step(sentence=sentence, lang=lang, said="", why="no patterns for this language")]
    found = extract(sentence, role="user", trust="user", at=at)
    out = [
        Step(
            sentence=sentence,
            lang=item.lang,
            said=item.text,
            found=f"{item.key} ends" if item.retracted else f"{item.key} = {item.value!r}",
            rule=item.rule or "standing instruction or habit",
        )
        for item in found
    ]
    listed, why = (english(own, sentence, span, before), "") if lang == "en" else statements(own, span, lang, before)
    if not listed:
        reason = why or "a question, a supposition or somebody else's words"
        return out or [Step(sentence=sentence, lang=lang, said="", why=reason)]
    fired = {step.rule for step in out}
    for clause in listed:
        if lang == "en" and is_unsure(clause.text):
            out.append(Step(sentence=sentence, lang=lang, said=clause.text, why="a guess, a wish or something past"))
            continue
        refused = drafts(clause.text, clause.sentence, at, lang, clause.before)[1]
        near = [one for one in refused if one.rule not in fired]
        out += [Step(sentence=sentence, lang=lang, said=clause.text, rule=one.rule, why=one.reason) for one in near]
        if not near and not found:
            out.append(Step(sentence=sentence, lang=lang, said=clause.text, why="no pattern fits"))
    return out

"""Why a text gives what it gives: what was taken from each sentence by which pattern, what almost was, and why not."""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from ..languages import language_of, languages, rules
from .drafts import Draft, drafts, room
from .extractor import extract, is_jest, statements
from .reading import Clause, is_unsure, sentences
from .tokens import tokens

QUOTED = "quoted, pasted or code: not the writer's own words"
_SUBJECT = rules("en", "explain")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found, one that almost was, or one reason why nothing was."""

    sentence: str
    lang: str | None
    said: str = ""
    """The clause that was read; empty where the sentence was not read at all."""
    found: str = ""
    """`key = value`, or the learning."""
    near: str = ""
    """What a pattern would have given, were it not for `why`."""
    rule: str = ""
    why: str = ""
    """Why nothing was taken."""


def explain(text: str, at: datetime, *, role: str = "user", trust: str = "user") -> list[Step]:
    """The steps of extraction on a text, in its order."""
    if (role, trust) != ("user", "user"):
        return [Step(sentence=text[:200], lang=None, why="only a user's own words are read")]
    out: list[Step] = []
    spoken, before, end = language_of(text) or "en", "", 0
    for own, sentence, span in sentences(text):
        out += _masked(text[end : span[0]], at)
        spoken, end = language_of(own) or spoken, span[1]
        out += _of_sentence(own, sentence, span, spoken, before, at)
        before = own
    return out + _masked(text[end:], at)


def _masked(text: str, at: datetime) -> list[Step]:
    """What was passed over as somebody else's words, and what it would have given."""
    shown = text.strip(" \n.!?。！？\"'“”«»„`>「」")
    if not any(char.isalnum() for char in shown):
        return []
    found = extract(shown, role="user", trust="user", at=at)
    steps = [
        Step(sentence=shown[:200], lang=item.lang, said=item.text, near=_told(item), rule=item.rule, why=QUOTED)
        for item in found
    ]
    return steps or [Step(sentence=shown[:200], lang=None, why=QUOTED)]


def _of_sentence(own: str, sentence: str, span: tuple[int, int], lang: str, before: str, at: datetime) -> list[Step]:
    if lang not in languages():
        return [Step(sentence=sentence, lang=lang, why="no patterns for this language")]
    found = extract(sentence, role="user", trust="user", at=at)
    out = [
        Step(
            sentence=sentence,
            lang=item.lang,
            said=item.text,
            found=_told(item),
            rule=item.rule or "standing instruction or habit",
        )
        for item in found
    ]
    listed, why = statements(own, sentence, span, lang, before)
    if not listed and not found:
        whole = Clause(" ".join(own.split()), sentence, span, before=before)
        return _almost(whole, lang, at, why) or [Step(sentence=sentence, lang=lang, why=why)]
    fired = {step.rule for step in out}
    for clause in listed:
        out += [step for step in _of_clause(clause, lang, at, silent=not found) if step.rule not in fired]
    return out


def _of_clause(clause: Clause, lang: str, at: datetime, *, silent: bool) -> list[Step]:
    """What speaks against the patterns that fit a clause; of a silent sentence also those that nearly fit."""
    step = Step(sentence=clause.sentence, lang=lang, said=clause.text)
    if lang == "en" and is_unsure(clause.text):
        why = "a guess, a wish or something past"
        return _almost(clause, lang, at, why) or [msgspec.structs.replace(step, why=why)]
    drafted, refused = drafts(clause.text, clause.sentence, at, lang, clause.before)
    if drafted and silent:
        why = "a joke" if is_jest(clause.sentence) else "another reading of the sentence is better"
        return [_nearly(step, draft, why) for draft in drafted]
    out = [msgspec.structs.replace(step, rule=one.rule, why=one.reason) for one in refused]
    if not silent:
        return out
    out = _of_somebody(clause, lang, at) or out
    return out or _almost(clause, lang, at, "the pattern begins in the midst of the clause") or [_nearest(step, lang)]


def _of_somebody(clause: Clause, lang: str, at: datetime) -> list[Step]:
    """What an English clause about somebody else would have given of the writer: "my sister lives in Porto"."""
    somebody = _SUBJECT.somebody.match(clause.text) if lang == "en" else None
    if somebody is None:
        return []
    said = f"I {_SUBJECT.third_person.sub(_first_person, clause.text[somebody.end() :], count=1)}"
    found = _almost(
        msgspec.structs.replace(clause, text=said), lang, at, f"said of somebody else: {somebody[0].strip()}"
    )
    return [msgspec.structs.replace(step, said=clause.text) for step in found]


def _almost(clause: Clause, lang: str, at: datetime, why: str) -> list[Step]:
    """What patterns give from the first word on from which one fits, had nothing spoken against the sentence."""
    step, first = Step(sentence=clause.sentence, lang=lang, said=clause.text), room(lang).matcher.first_words()
    for token in tokens(clause.text, lang)[:40]:
        if token.word in first:
            found = drafts(clause.text[token.start :], clause.sentence, at, lang, clause.before)[0]
            if found:
                return [_nearly(step, draft, why) for draft in found]
    return []


def _nearest(step: Step, lang: str) -> Step:
    """The pattern that went furthest into a clause, and where it stopped."""
    cut = tokens(step.said, lang)
    patterns, stopped = room(lang).matcher.nearest(cut)
    said = {token.word for token in cut[:stopped]}
    best = max(patterns, key=lambda pattern: len(pattern.words & said), default=None)
    if best is None or len(best.words & said) < 2:
        return msgspec.structs.replace(step, why="no pattern fits")
    word = repr(step.said[cut[stopped].start : cut[stopped].end]) if stopped < len(cut) else "its end"
    return msgspec.structs.replace(step, rule=best.id, why=f"no pattern fits; `{best.source}` does up to {word}")


def _nearly(step: Step, draft: Draft, why: str) -> Step:
    ends = draft.sense == "retract"
    near = f"{draft.key} ends" if ends else f"{draft.key} = {draft.value!r}"
    return msgspec.structs.replace(step, near=near, rule=draft.rule, why=why)


def _told(item: object) -> str:
    ends, key, value = (getattr(item, name) for name in ("retracted", "key", "value"))
    return f"{key} ends" if ends else f"{key} = {value!r}"


def _first_person(match: re.Match[str]) -> str:
    """lives: live, is: am, has: have."""
    listed: str | None = _SUBJECT.table("verbs").get(match[0].lower())
    return listed or match[0].removesuffix("s")

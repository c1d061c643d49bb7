"""Why a text gives what it gives: what was taken from each sentence by which pattern, what almost was, and why not."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec.structs import replace

from ..languages import language_of, languages, rules
from .clause import Clause
from .clauses import statements
from .drafts import drafts
from .extracted import Extracted
from .extractor import extract, is_jest, read_clause, unhedged
from .matcher import matcher
from .rewrite import rewriter
from .sentences import sentences
from .tokens import tokens


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found, one that almost was, or one reason why nothing was."""

    sentence: str
    lang: str | None
    said: str = ""
    """The clause that was read, or the beginning of what was not read at all."""
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
    known: list[Extracted] = []
    spoken, before, end = language_of(text) or "en", "", 0
    for sentence in sentences(text):
        own, written, span = sentence
        out += _masked(text[end : span[0]], at)
        spoken, end = language_of(own) or spoken, span[1]
        if spoken in languages():
            clauses, why = statements(sentence, spoken, before)
            whole = Clause(" ".join(own.split()), written, span, before=before, lang=spoken)
            out += _of_clauses(clauses, at, known) if clauses else _almost(whole, at, why) or [_step(whole, why=why)]
        else:
            out.append(Step(sentence=written, lang=spoken, said=written[:80], why="no patterns for this language"))
        before = own
    return out + _masked(text[end:], at)


def _masked(text: str, at: datetime) -> list[Step]:
    """What was passed over as somebody else's words, and what it would have given."""
    shown = text.strip(" \n.!?。！？\"'“”«»„`>「」")
    if not any(char.isalnum() for char in shown):
        return []
    step = Step(sentence=shown[:200], lang=None, said=shown[:80], why="quoted, pasted, forwarded, code, said in a game")
    found = extract(shown, role="user", trust="user", at=at)
    return [replace(step, lang=one.lang, said=one.text, near=_told(one), rule=one.rule) for one in found] or [step]


def _of_clauses(clauses: list[Clause], at: datetime, known: list[Extracted]) -> list[Step]:
    """What the clauses of a sentence give; of those that give nothing, why."""
    given = [(clause, list(read_clause(clause, at, known))) for clause in clauses]
    told = [clause.text for clause, found in given if found]
    out = []
    for clause, found in given:
        known += found
        out += [_step(clause, found=_told(one), rule=one.rule or "standing instruction or habit") for one in found]
        # Parts of a clause are read again on their own; they need no reason where the clause gave something.
        if not clause.scrap and not any(clause.text in text or text in clause.text for text in told):
            out += _silent(clause, at)
    return out


def _silent(clause: Clause, at: datetime) -> list[Step]:
    """Why a clause gives nothing: what was said against a pattern that fits, else the one that comes nearest."""
    if unhedged(clause).unsure:
        why = "a guess, a wish or something past"
        return _almost(clause, at, why) or [_step(clause, why=why)]
    found, refused = drafts(clause, at)
    return (
        _near(clause, found, "a joke" if is_jest(clause) else "another reading of the sentence is better")
        or _of_somebody(clause, at)
        or [_step(clause, rule=rule, why=why) for rule, why in refused.items()]
        or _almost(clause, at, "the pattern begins in the midst of the clause")
        or [_nearest(clause)]
    )


def _of_somebody(clause: Clause, at: datetime) -> list[Step]:
    """What a clause about somebody else would have given of the writer: "my sister lives in Porto"."""
    told = rules(clause.lang, "explain")
    somebody = told.somebody.match(clause.text)
    if somebody is None:
        return []
    verb = rewriter(clause.lang).first_person
    said = f"I {told.finite.sub(lambda found: verb(found[0]), clause.text[somebody.end() :], count=1)}"
    found = _almost(replace(clause, text=said), at, f"said of somebody else: {somebody[0].strip()}")
    return [replace(step, said=clause.text) for step in found]


def _almost(clause: Clause, at: datetime, why: str) -> list[Step]:
    """What patterns give from the first word on from which one fits, had nothing spoken against the sentence."""
    first = matcher(clause.lang).first_words()
    starts = (token.start for token in tokens(clause.text, clause.lang)[:40] if token.word in first)
    found = (drafts(replace(clause, text=clause.text[start:]), at)[0] for start in starts)
    return _near(clause, next(filter(None, found), []), why)


def _nearest(clause: Clause) -> Step:
    """The pattern that went furthest into a clause, and where it stopped."""
    cut = tokens(clause.text, clause.lang)
    patterns, stopped = matcher(clause.lang).nearest(cut)
    said = {token.word for token in cut[:stopped]}
    best = max(patterns, key=lambda pattern: len(pattern.words & said), default=None)
    if best is None or len(best.words & said) < 2:
        return _step(clause, why="no pattern fits")
    word = repr(clause.text[cut[stopped].start : cut[stopped].end]) if stopped < len(cut) else "its end"
    return _step(clause, rule=best.id, why=f"no pattern fits; `{best.source}` does up to {word}")


def _near(clause: Clause, found: list[Extracted], why: str) -> list[Step]:
    return [_step(clause, near=_told(one), rule=one.rule, why=why) for one in found]


def _step(clause: Clause, **more: str) -> Step:
    return Step(sentence=clause.sentence, lang=clause.lang, said=clause.text, **more)


def _told(found: Extracted) -> str:
    return f"{found.key} ends" if found.retracted else f"{found.key} = {found.value!r}"

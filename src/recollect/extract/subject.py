"""Restores the writer as the subject: "Been a nurse since 2010", "me and my wife have …", "our team tracks …".

People leave out the "I", speak for their team or say what they are in a row of scraps; the rules read plain
first-person statements, so those are restored here.
"""

from __future__ import annotations

import re

from ..languages import rules

_RULES = rules("en", "subject")
_ELIDED = _RULES.pairs("elided")
_SCRAPS = _RULES.pairs("scraps")
_PARTICIPLES = _RULES.table("participles")
_FIRST_PERSON = _RULES.table("first_person")


def unset(text: str) -> str:
    """Removes a time or circumstance at the start: "since last year I've been …"."""
    return _RULES.setting.sub("", text)


def untailed(text: str) -> str:
    """Removes a tag at the end: "…, no contest", "…, believe it or not"."""
    for _ in range(2):
        if "," not in text and "-" not in text and "–" not in text and "—" not in text:
            break
        text = _RULES.tail.sub("", text)
    return text


def _reworded(text: str) -> str:
    """Rewrites form-like lines, cleft sentences, quantifiers and settings as a plain statement."""
    text = _RULES.parted.sub(r"I \g<what> with \g<who>", _RULES.quantified.sub("", text))
    form = _RULES.form.match(text)
    if form:
        return f"my {form['label'].lower()} is {form['x']}"
    signed = _RULES.signed.match(text)
    if signed:
        return f"I'm {signed['x']}"
    cleft = _RULES.cleft.match(text)
    if cleft:
        return f"{cleft['who']} {cleft['verb']} {cleft['x']}"
    return text


def restore(text: str) -> list[str]:
    """Rewrites a sentence's start in the first person; two statements if it names a person beside the writer."""
    myself = _RULES.myself.match(text)
    if myself:
        text = text[myself.end() :]
        text = text if re.match(r"(?:I|my|name|the name|call|this)\b", text, re.I) else f"I'm {text}"
    apposed = _RULES.apposed.match(text)
    if apposed:
        return [f"{apposed['own']} {apposed['who']} is {apposed['name']}"]
    spoken = _RULES.participle.match(text)
    if spoken:
        return [f"{_PARTICIPLES[spoken['verb'].lower().strip()]} {spoken['x']}", text[spoken.end() :]]
    someone = _RULES.someone.match(text)
    if someone:
        said = _RULES.finite.sub(
            lambda found: _FIRST_PERSON.get(found[0].lower(), _RULES.plain_verb.sub(_base, found[0])),
            someone["x"],
            count=1,
        )
        return [f"I {said}" if not said.startswith("'m") else f"I{said}", text[someone.end() :].strip()]
    text = _reworded(_RULES.setting.sub("", text))
    joint = _RULES.joint.match(text)
    if joint:
        who = re.sub(r"^(?:me|myself) and |,? and (?:I|me|myself)$", "", joint["who"], flags=re.I)
        who = _RULES.small_name.sub(r"\1 is called \2", who)
        return [f"we {text[joint.end() :]}".replace("we '", "we'"), who]
    us = _RULES.us.match(text)
    if us:
        return [f"we {us['adverb'] or ''}{_RULES.plain_verb.sub(_base, us['verb'])}{text[us.end() :]}"]
    here = _RULES.here.match(text)
    if (here and here["x"].islower()) or (here and " " in here["x"]):
        return [text, f"I'm a {here['x'][0].lower()}{here['x'][1:]}{text[here.end() :]}"]
    for pattern, subject in _ELIDED:
        if pattern.match(text):
            return [f"{subject}{text[0].lower()}{text[1:]}"]
    return [_RULES.happen.sub(r"\1 ", _RULES.copula.sub("I'm ", text))]


def _base(match: re.Match[str]) -> str:
    return "y" if match[0] == "ies" else ""


def scraps(piece: str) -> list[str]:
    """Completes fragments of a list ("I'm Jonas, 27, from Malmö") or a shortened clause to statements."""
    out: list[str] = []
    piece = piece.rstrip(" .!")
    if _RULES.introduced.match(piece):
        patterns = _SCRAPS if _RULES.named.match(piece) else _SCRAPS[:-1]
        for part in _RULES.commas.split(piece)[1:5]:
            out += next((pattern.sub(said, part) for pattern, said in patterns if pattern.fullmatch(part)), "").split(
                "\n"
            )
    out += [f"I'm {reduced['x']}" for said in [piece, *out] if (reduced := _RULES.reduced.match(said))]
    return [piece, *(item for item in out if item)]


def with_owner(piece: str, before: str) -> str:
    """Repeats "my" where a piece leaves it to the one before it: "my email is …, number is …"."""
    if _RULES.owned.match(before):
        return _RULES.my_too.sub(r"my \g<x>", piece)
    return piece


def plainly(clause: str) -> str:
    """Removes adverbs that do not change the meaning: "I'm currently based in …"."""
    return _RULES.plainly.sub(r"\g<who> ", clause, count=1)

"""From a sentence to the clauses in which its writer states something.

What is asked, supposed, wished or said by somebody else is left out here, so that patterns only ever see statements.
A language needs no more than word lists for that (`languages/forms.toml` says how they are used); English has finer
expressions of its own under the same names, and more of them: one that a language lacks never matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec.structs import replace

from ..languages import UNSPACED, Rules, rules
from .clause import Clause
from .matcher import matcher
from .rewrite import rewriter
from .sentences import Sentence

_EDGES = " ,;:.!…()，。、；：！"
_MARKUP = re.compile(r"^[-*•]\s+|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")


@cache
def _boundary(lang: str) -> re.Pattern[str]:
    """Where a new clause begins; in most languages, before a word that some pattern begins with."""
    found = rules(lang, "reading")
    return found.boundary if lang == "en" else found.formed("boundary", first=matcher(lang).first_words())


def statements(sentence: Sentence, lang: str, before: str = "") -> tuple[list[Clause], str]:
    """The clauses of a sentence in which its writer states something, and why there are none where that is so."""
    told = rules(lang, "reading")
    whole = told.agreed.sub("", normalise(sentence.own, told))
    bare, correction, remember = opening(whole, told)
    asked = told.asked_for_good.match(bare)
    if asked:
        bare = bare[asked.end() :].rstrip(" ?")
    if correction:
        bare = told.the_own.sub("my ", bare)
    why = _silence(whole, bare, told)
    if why:
        return [], why
    meant = correction and bool(told.meant.search(whole[: len(whole) - len(bare)]))
    frame = Clause("", *sentence[1:], correction, before=before, remember=remember, meant=meant, lang=lang)
    found = [clause for start in rewriter(lang).restore(bare) for clause in _clauses(start, frame, told)]
    return found, "" if found else "a question, a supposition or somebody else's words"


def normalise(text: str, told: Rules) -> str:
    """Normalises quotes and spaces, and restores what people leave out: apostrophes (dont), commas, letters (pls)."""
    text = told.run_on.sub(r"\g<0>,", " ".join(text.replace("’", "'").replace("‘", "'").replace("**", "").split()))
    spelled, shorthand = told.table("spelled"), told.table("shorthand")
    text = told.apostrophes.sub(lambda found: found.expand(spelled[found.lastgroup or ""]), _MARKUP.sub("", text))
    return told.short.sub(lambda found: shorthand[found[0]], text)


def opening(text: str, told: Rules) -> tuple[str, bool, bool]:
    """Strips greetings and asides from the start; also whether they announce a correction or ask to remember."""
    correction = remember = False
    for _ in range(4):
        marked = told.correction.match(text)
        aside = marked or told.opening.match(text) or told.own_saying.match(text)
        if not aside or aside.end() >= len(text):
            break
        correction = correction or bool(marked)
        remember = remember or bool(not marked and told.remember.search(aside[0]))
        text = text[aside.end() :]
    return text, correction, remember


def _silence(whole: str, bare: str, told: Rules) -> str:
    """Why a sentence states nothing about its writer (a question, a supposition …); empty where it may."""
    if told.sarcasm.match(whole):
        return "irony"
    if _is_question(bare, told):
        return "a question"
    if told.supposed.match(bare) or told.ordered.match(bare):
        return "a supposition, an order or a game"
    if told.reported.match(bare):
        return "what somebody else says or thinks"
    return "a guess, a wish, a joke or something past" if told.musing.search(bare) else ""


def _is_question(sentence: str, told: Rules) -> bool:
    if told.question.search(sentence):
        return True
    if told.order_start.match(sentence):
        return False
    if told.question_start.match(sentence) and (sentence.endswith("?") or told.asks.match(sentence)):
        return True
    if not sentence.endswith("?"):
        return False
    last = _boundary(told.lang).split(sentence)[-1]
    stated = last != sentence and told.question_start.match(opening(last, told)[0])
    return not stated or bool(told.tag.search(sentence))


def _clauses(text: str, frame: Clause, told: Rules) -> Iterator[Clause]:
    """The clauses of a statement, up to one that is somebody else's or a supposition."""
    rewrite, before = rewriter(told.lang), ""
    for piece, repaired in _pieces(text, told):
        if told.was_asked.match(piece):
            continue
        if told.reported.match(piece) or told.supposed.match(piece):
            break
        owned = rewrite.owned.match(before)  # "my email is …, number is …": "my" goes for both
        before = rewrite.setting.sub("", piece)
        before = rewrite.my_too.sub("my ", before) if owned else before
        first, *rest = rewrite.scraps(before)
        yield from _clause(first, replace(frame, correction=frame.correction or repaired), told)
        for scrap in rest:
            yield from _clause(scrap, replace(frame, correction=False, meant=False, remember=False, scrap=True), told)


def _pieces(sentence: str, told: Rules) -> Iterator[tuple[str, bool]]:
    """Splits a sentence where a new subject starts; true marks a piece that corrects the one before it."""
    begin, repaired = 0, False
    for end, after in [*(found.span() for found in told.repair.finditer(sentence)), (len(sentence), 0)]:
        for piece in _split(sentence[begin:end], told):
            yield piece, repaired
            repaired = False
        begin, repaired = after, True


def _split(text: str, told: Rules) -> list[str]:
    """Pieces with a subject each: "I live in Oslo and work at Nokia" gives the second its "I" back."""
    if told.standing.match(text):
        return [text]
    out: list[str] = []
    pieces = _boundary(told.lang).split(text)
    if len(pieces) > 1 and told.lang != "en" and (told.lang in UNSPACED or " " not in pieces[0]):
        pieces.insert(0, text)  # "Paula y yo …" is no list of clauses
    for piece in pieces:
        first, *rest = told.ellipsis.split(piece) if told.own_start.match(opening(piece, told)[0]) else [piece]
        if rest and told.infinitive.search(first):  # "I'd love to visit and take part": the second is wished too
            first, rest = piece, []
        out += [first, *(f"{'I am' if told.doing.match(part) else 'I'} {part}" for part in rest)]
    return [piece for piece in (item.strip() for item in out) if piece]


def _clause(piece: str, frame: Clause, told: Rules) -> Iterator[Clause]:
    rest, corrected, _ = opening(piece, told)
    meant = frame.meant or bool(corrected and told.meant.search(piece[: len(piece) - len(rest)]))
    corrected = corrected or frame.correction
    rest = rewriter(told.lang).untailed(rest.strip(_EDGES))
    if not rest or rest.endswith("?") or (told.asks.match(rest) and not told.order_start.match(rest)):
        return
    contrast = told.contrast.search(rest) or (told.bare_contrast.search(rest) if corrected else None)
    text = rest[: contrast.start()].strip(" ,") if contrast else rest
    if text:
        meant = meant and not text.startswith(("to ", "by ", "it "))
        rejected = contrast[1].strip(_EDGES) if contrast else None
        yield replace(frame, text=text, full=rest, correction=corrected, rejected=rejected, meant=meant)

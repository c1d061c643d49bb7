"""From a sentence to the clauses in which its writer states something, by the word lists of any language.

English has finer rules of its own (`reading`); a language needs no more than these lists to be read: what opens a
question, a supposition or a report, what shows a guess or a joke, what is only said before a statement, what corrects.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec.structs import replace

from ..languages import words
from .clause import Clause
from .drafts import room
from .phrases import any_of
from .tokens import UNSPACED, tokens

_EDGES = " ,;:.!…，。、；：！"
_ASKED = re.compile(r"[?？]\W*$|^\W*¿")
_NEVER = re.compile(r"(?!)")


class _Lists:
    """The lists of one language, compiled."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.question = self._starts("questions")
        self.asked = self._ends("question_ends")
        self.foreign = self._starts("suppose", "reported", "orders", "sarcasm")
        self.unsure = self._holds("unsure", "jest")
        self.opening = self._opening("openers")
        self.correction = self._opening("corrections")
        self.contrast = self._contrast()
        self.boundary = self._boundary()
        self.standing = self._starts("standing")

    def _any(self, *names: str) -> str:
        return any_of(tuple(word for name in names for word in words(self.lang).list(name)))

    def _starts(self, *names: str) -> re.Pattern[str]:
        found = self._any(*names)
        edge = "" if self.lang in UNSPACED else r"(?!\w)"
        return re.compile(rf"^\W*(?:{found}){edge}", re.I) if found else _NEVER

    def _ends(self, name: str) -> re.Pattern[str]:
        found = self._any(name)
        return re.compile(rf"(?:{found})\W*$", re.I) if found else _NEVER

    def _holds(self, *names: str) -> re.Pattern[str]:
        found = self._any(*names)
        edges = ("", "") if self.lang in UNSPACED else (r"(?<!\w)", r"(?!\w)")
        return re.compile(rf"{edges[0]}(?:{found}){edges[1]}", re.I) if found else _NEVER

    def _opening(self, name: str) -> re.Pattern[str]:
        listed = words(self.lang).list(name)
        if not listed:
            return _NEVER
        if self.lang in UNSPACED:
            return re.compile(rf"^(?:(?:{any_of(listed)})[\s,，、。.!！:：;-]*)+(?=\S)")
        # A single word corrects only with a comma behind it: "no, …" is not "no soy …".
        short = tuple(word for word in listed if " " not in word) if name == "corrections" else ()
        long = tuple(word for word in listed if word not in short)
        parts = [rf"(?:{any_of(long)})[\s,.!:;—–-]+"] if long else []
        parts += [rf"(?:{any_of(short)})\s*[,.!:;—–-]+\s*"] if short else []
        return re.compile(rf"^[¡\s]*(?:{'|'.join(parts)})+(?=\S)", re.I)

    def _contrast(self) -> re.Pattern[str]:
        found = self._any("contrasts")
        space = r"\s*" if self.lang in UNSPACED else r"\s+"
        return re.compile(rf"[,，、]\s*(?:{found}){space}([^,;.，。]{{1,60}})$", re.I) if found else _NEVER

    def _boundary(self) -> re.Pattern[str]:
        if self.lang in UNSPACED:
            return re.compile(r"[，,；;]\s*")
        first = any_of(tuple(room(self.lang).matcher.first_words()))
        joins = self._any("joins")
        return re.compile(
            rf"\s*[,;:–—]\s*(?:(?:{joins})\s+)?(?=(?:{first})(?!\w))|\s+(?:{joins})\s+(?=(?:{first})(?!\w))", re.I
        )


@cache
def _lists(lang: str) -> _Lists:
    return _Lists(lang)


def statements(sentence: str, span: tuple[int, int], lang: str, before: str = "") -> tuple[list[Clause], str]:
    """The clauses of a sentence, and why there are none where that is so."""
    lists = _lists(lang)
    text = " ".join(sentence.replace("’", "'").split())
    if _ASKED.search(text) or lists.asked.search(text) or lists.question.match(text):
        return [], "a question"
    if lists.foreign.match(text):
        return [], "a supposition, an order, a report or irony"
    if lists.unsure.search(text):
        return [], "a guess, a wish, a joke or something past"
    bare, corrected = _opened(text, lists)
    if lists.foreign.match(bare) or lists.question.match(bare):
        return [], "a supposition, an order, a report or a question"
    contrast = lists.contrast.search(bare.strip(_EDGES))
    rejected = contrast[1].strip(_EDGES) if contrast else None
    full = bare.strip(_EDGES)
    stated = full[: contrast.start()] if contrast else full
    whole = bool(lists.standing.match(stated))  # "from now on, …" is one wish
    pieces = [stated] if whole else [piece.strip(_EDGES) for piece in lists.boundary.split(stated)]
    if len(pieces) > 1 and (lang in UNSPACED or " " not in pieces[0]):
        pieces.insert(0, stated)  # "Paula and I …" is no list of clauses
    frame = Clause("", sentence, span, corrected, rejected=rejected, before=before, lang=lang)
    out = []
    for piece in pieces:
        if piece and tokens(piece, lang):
            text = _opened(piece, lists)[0].strip(_EDGES) or piece
            out.append(replace(frame, text=text, full=text if len(pieces) > 1 else full))
    return out, "" if out else "nothing is left of it"


def _opened(text: str, lists: _Lists) -> tuple[str, bool]:
    """A sentence without what is only said before it, and whether that corrects something."""
    corrected = False
    for _ in range(3):
        marked = lists.correction.match(text)
        opened = marked or lists.opening.match(text)
        if not opened or opened.end() >= len(text):
            break
        text, corrected = text[opened.end() :], corrected or bool(marked)
    return text, corrected

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
from .phrases import any_of, listed
from .tokens import UNSPACED, tokens

_EDGES = " ,;:.!…，。、；：！"
_ASKED = re.compile(r"[?？]\W*$|^\W*¿")
_OPENING = r"^(?:%[\s,，、。.!！:：;-]*)+(?=\S)"


class _Lists:
    """The lists of one language, compiled."""

    def __init__(self, lang: str) -> None:
        starts = r"^\W*%(?!\w)", r"^\W*%"
        self.lang = lang
        self.question = listed(lang, starts[0], "questions", unspaced=starts[1])
        self.asked = listed(lang, r"%\W*$", "question_ends", unspaced=r"%\W*$")
        self.foreign = listed(lang, starts[0], "suppose", "reported", "orders", "sarcasm", unspaced=starts[1])
        self.unsure = listed(lang, r"(?<!\w)%(?!\w)", "unsure", "jest")
        self.standing = listed(lang, starts[0], "standing", unspaced=starts[1])
        self.opening = listed(lang, r"^[¡\s]*(?:%[\s,.!:;—–-]+)+(?=\S)", "openers", unspaced=_OPENING)
        self.correction = self._correction()
        rejected = r"[,，、]\s*%{}([^,;.，。]{{1,60}})$"
        self.contrast = listed(lang, rejected.format(r"\s+"), "contrasts", unspaced=rejected.format(r"\s*"))
        self.boundary = self._boundary()

    def _correction(self) -> re.Pattern[str]:
        """What opens a correction; a single word only with a comma behind it: "no, …" is not "no soy …"."""
        found = words(self.lang).list("corrections")
        short, long = ([word for word in found if (" " in word) is spaced] for spaced in (False, True))
        form = rf"^[¡\s]*(?:(?:{any_of(long)})[\s,.!:;—–-]+|(?:{any_of(short)})\s*[,.!:;—–-]+\s*)+(?=\S)"
        if self.lang in UNSPACED or not (short and long):
            return listed(self.lang, form, "corrections", unspaced=_OPENING)
        return re.compile(form, re.I)

    def _boundary(self) -> re.Pattern[str]:
        """Where a new clause begins: before a word that some pattern begins with."""
        first, joins = (
            any_of(found) for found in (room(self.lang).matcher.first_words(), words(self.lang).list("joins"))
        )
        spaced = rf"\s*[,;:–—]\s*(?:(?:{joins})\s+)?(?=(?:{first})(?!\w))|\s+(?:{joins})\s+(?=(?:{first})(?!\w))"
        return re.compile(r"[，,；;]\s*" if self.lang in UNSPACED else spaced, re.I)


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

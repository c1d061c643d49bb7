"""Splits a message into the clauses in which its writer states something.

What is quoted, pasted, asked, supposed, wished or said by somebody else is taken out here, so that the rules
only ever see statements.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..languages import rules
from .clause import Clause
from .subject import restore, scraps, unset, untailed, with_owner

_RULES = rules("en", "reading")
_SHORTHAND = _RULES.table("shorthand")
MAX_TEXT = 20_000
"""Characters read of a message; what follows in a longer one is taken for pasted text."""
MAX_SENTENCE = 600
MAX_SENTENCES = 200
MAX_CLAUSES = 80
"""Clauses read of a message: more than anybody states, and a bound of the work on hostile text."""


_FENCES = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{0,500}`", re.S)
_QUOTED_LINES = re.compile(r"^[ \t]*(?:>|On .{0,80} wrote:|-{3,}|={3,}|From: |Sent: |To: |Subject: ).*$", re.M)
_JSON = re.compile(r"^[ \t]*[{\[,]*[ \t]*\"[\w -]{1,40}\"[ \t]*:.*$", re.M)
_TAGGED = re.compile(
    r"<([a-zA-Z][\w:-]{0,40})\b[^<>]{0,200}>.*?(?:</\1\s*>|\Z)|<[^<>\n]{1,200}>|\[/?[A-Z_]{3,}\]", re.S
)
_QUOTES = re.compile(
    r"\"([^\"\n]{0,600})\"|“([^”\n]{0,600})”|«([^»\n]{0,600})»|„([^“”\n]{0,600})[“”]|「([^」\n]{0,600})」|『([^』\n]{0,600})』|(?<![\w])['‘]((?:[^'’\n]|(?<=\w)['’](?=\w)){4,600})['’](?!\w)"
)
_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?](?!\s|$|[\"')\]])[^.!?。！？\n]*)*(?:[.!?]+[\"')\]]*|[。！？]+[」』”]*|\n|$)"
)
_ORDINAL = re.compile(r"(?<!\d)\d{1,2}\.$")  # 3. Mai


def sentences(text: str) -> list[tuple[str, str, tuple[int, int]]]:
    """Splits a message into sentences: each with others' words masked, as written, and its span."""
    text = text[:MAX_TEXT]
    own = mask(text)
    return [(own[start:end], text[start:end], (start, end)) for start, end in _sentences(own)[:MAX_SENTENCES]]


# Patterns of text that is not the writer's own, each with the characters without which it cannot match.
_FOREIGN = (
    (_FENCES, ("`", "~~~")),
    (_JSON, ('"',)),
    (_TAGGED, ("<", "[")),
    (_QUOTED_LINES, (">", ":", "---", "===")),
    (_RULES.speaker_lines, (": ",)),
)


def mask(text: str) -> str:
    """Blanks out quoted, fenced, tagged and pasted parts; offsets stay the same."""
    for pattern, signs in _FOREIGN:
        if any(sign in text for sign in signs):
            text = pattern.sub(lambda match: "\n" * len(match[0]), text)
    pasted = next(
        (
            found
            for found in (_RULES.pasted.finditer(text) if ":" in text else ())
            if not _RULES.own_words.search(text, max(0, found.start() - 40), found.start())
        ),
        None,
    )
    if pasted:
        text = text[: pasted.start()] + "\n" * (len(text) - pasted.start())
    return _QUOTES.sub(_unquote, text)


def _unquote(match: re.Match[str]) -> str:
    """Whether a quotation is kept: one or two words are a name, a few after "my role is" a title."""
    inner = match[match.lastindex or 0]
    size = len(inner.split())
    titled = 2 < size <= 4 and _RULES.titled.search(match.string, max(0, match.start() - 60), match.start())
    if (size <= 2 or titled) and not inner.lower().startswith(("i ", "i'm", "my ", "call me")):
        return f" {inner} "
    return "\n" * len(match[0])


LAST = 24
"""Characters in which the last word of a piece is looked for: more than the longest abbreviation."""
_MONTHS = frozenset("jan jän feb mär mrt maa apr mai mei jun jul aug sep okt oct nov dez dec".split())


def _sentences(text: str) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    begin = 0
    for match in _SENTENCE.finditer(text):
        end = match.end()
        last = text[max(begin, end - LAST) : end]  # not all of it: an abbreviation does not end a piece, which grows
        if _RULES.abbreviation.search(last) and end < len(text) and not last.endswith("\n"):
            continue
        if _ORDINAL.search(last) and text[end : end + LAST].lstrip()[:3].lower() in _MONTHS:
            continue
        piece = text[begin:end]
        if piece.strip() and len(piece) <= MAX_SENTENCE:
            out.append((begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())))
        begin = match.end()
    return out


def english(own: str, sentence: str, span: tuple[int, int], before: str) -> tuple[list[Clause], str]:
    """The clauses of an English sentence, and the reason if there are none."""
    whole = _RULES.agreed.sub("", normalise(own))
    bare, correction, remember = opening(whole)
    asked = _RULES.asked_for_good.match(bare)
    if asked:
        bare = bare[asked.end() :].rstrip(" ?")
    if correction:
        bare = _RULES.the_own.sub(r"my \1", bare)
    why = "irony" if _RULES.sarcasm.match(whole) else _silence(bare)
    if why:
        return [], why
    meant = correction and bool(_RULES.meant.search(whole[: len(whole) - len(bare)]))
    frame = Clause("", sentence, span, correction, before=before, remember=remember, meant=meant)
    found = [clause for start in restore(bare) for clause in _statements(start, frame)]
    return found, "" if found else "a question, a supposition or somebody else's words"


def _silence(bare: str) -> str:
    """Why a sentence states nothing about its writer (a question, a supposition …), or None."""
    if _is_question(bare):
        return "a question"
    if _RULES.supposed.match(bare):
        return "a supposition, an order or a game"
    if _RULES.reported.match(bare):
        return "what somebody else says or thinks"
    return "a musing" if _RULES.musing.search(bare) else ""


def _statements(text: str, frame: Clause) -> list[Clause]:
    out: list[Clause | None] = []
    before = ""
    for piece, repaired in _pieces(text):
        if _RULES.was_asked.match(piece):
            continue
        if _RULES.reported.match(piece) or _RULES.supposed.match(piece):
            break
        before = with_owner(unset(piece), before)
        first, *rest = scraps(before)
        out.append(_clause(first, replace(frame, correction=frame.correction or repaired)))
        plain = replace(frame, correction=False, meant=False, remember=False, scrap=True)
        out += [_clause(scrap, plain) for scrap in rest]
    return [clause for clause in out if clause is not None]


def _clause(piece: str, frame: Clause) -> Clause | None:
    rest, corrected, _ = opening(piece)
    meant = frame.meant or bool(corrected and _RULES.meant.search(piece[: len(piece) - len(rest)]))
    corrected = corrected or frame.correction
    rest = untailed(rest.strip(" ,;:.!()"))
    if not rest or rest.endswith("?") or (_asks(rest) and not _RULES.order_start.match(rest)):
        return None
    contrast = _RULES.contrast.search(rest) or (_RULES.bare_contrast.search(rest) if corrected else None)
    text = rest[: contrast.start()].strip(" ,") if contrast else rest
    if not text:
        return None
    return replace(
        frame,
        text=text,
        full=rest,
        correction=corrected,
        rejected=contrast[1].strip() if contrast else None,
        meant=meant and not text.startswith(("to ", "by ", "it ")),
    )


_MARKUP = re.compile(r"^[-*•]\s+|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")


def normalise(text: str) -> str:
    """Normalises quotes and spaces, and restores apostrophes that people leave out (dont)."""
    text = " ".join(text.replace("’", "'").replace("‘", "'").replace("**", "").split())
    text = _RULES.apostrophes.sub(_apostrophe, _MARKUP.sub("", text))
    return _RULES.short.sub(lambda found: _SHORTHAND[found[0]], text)


def _apostrophe(match: re.Match[str]) -> str:
    if match[1]:
        return "I'm"
    if match[2]:
        return f"{match[2]}'ve"
    return f"{match[3]}n't" if match[3] else f"{match[4]}'t"


def opening(text: str) -> tuple[str, bool, bool]:
    """Strips greetings and asides from the start; also whether they announce a correction or ask to remember."""
    correction = remember = False
    for _ in range(4):
        marked = _RULES.correction.match(text)
        if marked and marked.end() < len(text):
            text, correction = text[marked.end() :], True
            continue
        aside = _RULES.opening.match(text) or _RULES.own_saying.match(text)
        if not aside or aside.end() >= len(text):
            break
        remember = remember or any(word in aside[0].lower() for word in ("remember", "keep in mind", "forget"))
        text = text[aside.end() :]
    return text, correction, remember


def _is_question(sentence: str) -> bool:
    if _RULES.order_start.match(sentence):
        return False
    if _RULES.question_start.match(sentence) and (sentence.endswith("?") or _asks(sentence)):
        return True
    if not sentence.endswith("?"):
        return False
    last = _RULES.boundary.split(sentence)[-1]
    return bool(_RULES.tag.search(sentence)) or last == sentence or not _RULES.question_start.match(opening(last)[0])


def _asks(sentence: str) -> bool:
    return bool(_RULES.inverted.match(sentence) or _RULES.wh.match(sentence))


def _pieces(sentence: str) -> list[tuple[str, bool]]:
    """Splits a sentence where a new subject starts; true marks a piece that corrects the one before it."""
    out: list[tuple[str, bool]] = []
    begin = 0
    for repair in _RULES.repair.finditer(sentence):
        out.extend((piece, bool(begin)) for piece in _split(sentence[begin : repair.start()]))
        begin = repair.end()
    first = bool(begin)
    for piece in _split(sentence[begin:]):
        out.append((piece, first))
        first = False
    return out


def _split(text: str) -> list[str]:
    """Pieces with a subject each: "I live in Oslo and work at Nokia" gives the second its "I" back."""
    out: list[str] = []
    for piece in _RULES.boundary.split(text):
        if not _RULES.own_start.match(opening(piece)[0]):
            out.append(piece)
            continue
        first, *rest = _RULES.ellipsis.split(piece)
        if rest and _RULES.infinitive.search(
            first
        ):  # "I'd love to visit the temple and take part": the second is wished too
            out.append(piece)
            continue
        out += [first, *(f"{'I am' if part.split()[0].lower() in _DOING else 'I'} {part}" for part in rest)]
    return [piece for piece in (item.strip() for item in out) if piece]


_DOING = ("living", "based", "working", "studying", "using", "learning", "married", "allergic", "engaged")


def is_unsure(clause: str) -> bool:
    """Whether a clause is a wish, a guess or something that is over."""
    return bool(_RULES.unsure.search(clause))


def until_hedged(clause: str) -> str:
    """Removes a trailing clause that is a wish or a guess."""
    head = _RULES.hedged_later.sub("", clause)
    return head if _RULES.own_start.match(head) else clause

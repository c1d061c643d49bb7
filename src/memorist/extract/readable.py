"""Decides which words of a message are the user's own, so that facts, wishes and safety lines can be extracted from
them.

All code that derives memory from a message reads it through `readable_text`. Trust depends on the parts of a message,
not on its role, because the user did not write a tool result or a document in their message. Within the user's parts,
quotations, code, markup, lists and any text after a speaker's label are blanked out. If the whole text could be
somebody else's (a text to translate, a chat export, a letter, a game), nothing is readable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

import msgspec

from ..languages import languages
from ..languages.files import read, rules_exist
from ..messages.message import PASSING, Message, text_parts
from ..messages.privacy import blank_private, is_private, open_text
from .rules import rule_book

MAX_CHARACTERS = 4_000
"""A longer message counts as pasted text, because people rarely type that much about themselves."""
FOREIGN = "from a tool or a file, not said by the user"
"""The label that a model sees for parts of a user's message that the user did not write."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
"""Characters that show nothing, but cut words in two or hide a sign at the start of a line."""
_CONTROL = re.compile(
    r"<\|[\w ]{1,40}\|>|\[/?(?:INST|SYS)\]|<</?SYS>>|\bim_(?:start|end)\b|(?:\\n){2}"
    r"|^\s*#{2,}\s*(?:instruction|system|user|assistant|response|human|input)\b"
    r"|^\s*(?:user|human|assistant|system|ai|bot|chatgpt|customer|agent|me|you|caller|operator|patient|doctor"
    r"|interviewer|q|a|nutzer|benutzer|kunde|utilisateur|usuario|utente|usuário|gebruiker|用户|用戶|助手|ユーザー)\s*[:：]"
    r"|\d\d:\d\d:\d\d[,.]\d{3}\s*-->|^\s*WEBVTT\b"
    r"|^\s*\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s+\d{1,2}:\d\d.{0,12}?[-\]]\s*[^\n:]{1,40}:"
    r"|^\s*\[?\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]m)?\]?\s*[-–]?\s*[^\n:]{1,40}:"
    r"|<\?xml\b|<!doctype\b|&(?:quot|apos|[lr][sda]{1,2}quo|[lg]t|amp|nbsp|#\d{2,5}|#x[0-9a-f]{2,5});"
    r"|^[ \t]*(?:[$❯➜][ ]\w|>>> |\w+@[\w.-]+:[^\n]{0,40}[$#] |(?:PS )?[a-z]:\\[^\n]{0,60}>)",
    re.I | re.M,
)
"""Markers of prompts, transcripts, chat exports, subtitles, escaped markup and terminals."""
_CHAT_HEAD = re.compile(
    r"^[ \t]*[^\s.!?,:][^\n.!?,:]{0,40}?(?:[ \t]{2,}|[ \t]*[—–|•·][ \t]*|[ \t]+\[)[^\n.!?]{0,24}?\d{1,2}:\d\d(?::\d\d)?"
    r"(?:[ \t]?[ap]\.?m\.?)?\]?[ \t]*\n[ \t]*\S",
    re.I | re.M,
)
"""A line with only a speaker and a time, as in text copied from a chat: "Ada  2:03 PM"."""
_ROLE_HEAD = re.compile(
    r"^[ \t•·▪*–—-]*(?:[\[(<{][ \t]*[\w][\w #.'’-]{0,28}[\])>}]"  # [USER], [Speaker 1], [Verse 2]
    r"|(?:you|user|human|me|assistant|system|ai|bot|chatgpt|claude|customer|agent|caller|operator|patient|doctor"
    r"|interviewer|(?:speaker|person|participant)[ _]?\w{1,2})"
    r"|(?:[^\s@.!?,:][^\n@.!?,:]{0,30} )?(?:@|u/)\w[^\n.!?]{0,40}"  # a handle
    r"|(?-i:[A-ZÀ-ÞА-Я][\w.'’-]{0,20}(?: [A-ZÀ-ÞА-Я\d][\w.'’-]{0,20}){0,2}),? [\[(]?"  # a name and a time
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? )?\d{1,2}:\d\d[^\n.!?]{0,12}"
    r"|(?:[—–-] ?\w{3,9} (?:\w{2} )?|(?:\w{3,9}\.? \d{1,2}, \d{4}, )?)\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m| uhr)?"
    r"(?-i: [A-ZÀ-ÞА-Я]\w{0,20})?"
    r"|(?![^\n]*\b(?:i|we|my|our)\b)[^\n.!?]{0,40}?"
    r"(?:\b\d{1,2} ?(?:h|hr|hours?|m|min|minutes?|d|days?)\.? ago\b|[·•] ?\d{1,2} ?[hmdw]\b)"
    r"[^\n.!?]{0,20}"
    r")[ \t]*\n\s*\S",
    re.I | re.M,
)
"""A line that names the speaker or the time, above the words that were spoken."""
_NAME_HEAD = re.compile(
    r"^[ \t]*(?!(?:I|My|We|Hi|Hello|Hey|Thanks?|Ok|OK|Okay|Yes|No|Please|Also|Sorry)\b)"
    r"[A-ZÀ-ÞА-Я][\w.'’-]{0,20}(?: [A-ZÀ-ÞА-Я][\w.'’-]{0,20}){0,2}(?:[ \t]*\n[ \t]*\S|[ \t]+[-–—~»>][ \t]+\S)",
    re.M,
)
"""A name on its own line, or before a dash. Two such lines make a dialogue."""
_MAIL = re.compile(
    r"^[ \t]*(?:from|sent|subject|to|cc|von|gesendet|betreff|an|de|objet|à|envoyé|asunto|para|enviado|da|oggetto"
    r"|inviato|assunto|van|aan|onderwerp|发件人|收件人|主题|差出人|宛先|件名)[ \t]?[:：][^\n]*\S"
    r"|^[ \t]*-{2,}[ \t]*(?:original|forwarded|ursprüngliche|weitergeleitete|message|mensaje|messaggio|mensagem"
    r"|oorspronkelijk|doorgestuurd)"
    r"|^[ \t-]*begin forwarded message\b"
    r"|^.{0,80}\b(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev|написал\w?)\b[^\n.!?]{0,40}:\s*$",
    re.I | re.M,
)


def _patterns(*sources: tuple[str, int]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, flags) for pattern, flags in sources)


_MARKUP = _patterns(
    (r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|``.*?(?:``|''|\Z)|[`´][^`´]{0,2000}[`´]", re.S),
    (r"<!--.*?(?:-->|\Z)", re.S),
    (r"<([a-zA-Z][\w:-]{0,40})\b[^<>]{0,200}>.*?(?:</\1\s*>|\Z)|<[^<>\n]{1,200}>", re.S),
    (r"^[ \t]*[{\[][ \t]*$.*", re.M | re.S),
    (r"\[(\w{1,20})\b[^\]\n]{0,80}\].*?\[/\1\]|\[quote\b.*", re.S | re.I),
    (r"\[[^\]]{12,2000}\]|\[[^\]\n]{12,}|\{[^{}]{12,2000}\}", 0),
)
"""Text that is not a statement: code, comments, markup, JSON and captions."""
_RULES = _patterns(
    (
        r"^[ \t]*(?:(?![.!?]+[ \t]*$)[!-/:-@\[-`{-~]{2,}|[—–―─═]+|:{3,}\w*|begin)[ \t]*$.*|^[ \t]*(?:#\+\w+|%%).*",
        re.M | re.S | re.I,
    ),
    (r"^-- ?$.*", re.M | re.S),
)
"""Text that follows a rule, a signature marker or the beginning of a block."""
_FOREIGN_LINES = _patterns(
    (r"^[^\S\n]*[>|](?:.*\S.*(?:\n|\Z))+", re.M),
    (r"^(?: {4}|\t).*$|^[ \t]*(?://|/\*).*$|^\d+[,;|\t][\w\"].*$|^[ \t]*[\w -]{1,30}:[ \t]*\n[ \t]+\S.*$", re.M),
)
"""Quoted lines with the text directly after them, indented blocks, code comments and table rows."""
_LINES = _patterns(
    (r"^[ \t]*[#;%].*$|^[ \t]*[{}\[\]].*$|^.*[{}]\s*$|^[ \t]*(?:[-*•–—]|\d+[.)])[ \t].*$", re.M),
    (r"[{\[]\s*[\"'“]?\w+[\"'”]?\s*:.*", re.S),
    (r"^[ \t]*[-=_*]{3,}.*", re.M | re.S),
)
"""Lines that a model, unlike rules, can distinguish from statements: lists, headings, JSON and text after a rule."""
_PARAGRAPHS = re.compile(r"\S(?:.|\n(?!\s*\n))*")
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]\w+|my|me|we|our|ich|mein\w*|je|mon|ma|mes|yo|mis?|io|mi[oa]|eu|meu|minha|ik|mijn|always|never)\b"
    r"|\bj['’]|[我私僕俺]",
    re.I,
)
"""Words of a statement that somebody makes about themselves, or of a wish."""
_TITLED = re.compile(r"\s*(?:#{1,6}[ \t]+\S|={1,6}[^\n=]{1,80}={1,6}[ \t]*\n)")
"""A message that begins with a heading of Markdown or a wiki is a document, no matter whom it is about."""
_PAIRS = ("“”", "‟”", "””", "«»", "»«", "「」", "『』", "‹›", "›‹", "《》", "〈〉", "【】", "〔〕", "❝❞", "❛❜", "＂＂")
_QUOTES = re.compile(
    # An inch mark (5") opens no quotation.
    r"(?<!\d)\"([^\"]{0,4000})(?:\"|\Z)|„([^“”]{0,4000})(?:[“”]|\Z)|〝([^〞〟]{0,4000})(?:[〞〟]|\Z)|"
    + "|".join(f"{pair[0]}([^{pair[1]}]{{0,4000}})(?:{pair[1]}|\\Z)" for pair in _PAIRS)
    + r"|‚((?:.|\n){0,4000}?)(?:[‘’](?!\w)|'(?!\w)|\Z)"
    r"|''((?:.|\n){0,4000}?)''"
    r"|(?<![\w)])['‘’]((?:[^'’\n]|(?<=\w)['’](?=\w)){1,600})['’](?!\w)"
    # Over several lines, from a capital letter to the end of a sentence, so that an apostrophe is not taken for it.
    r"|(?<![\w)])['‘’](?=[A-ZÀ-Þ])((?:[^'’]|(?<=\w)['’](?=\w)){1,4000}(?<=[.!?…]))['’](?!\w)"
    # Emphasis around whole sentences.
    r"|(?<![\w*_])(?P<mark>[*_]{1,3})(?=[^\s*_])([^*_]{1,4000}[.!?…])(?P=mark)(?![\w*_])"
)
_ASIDE = re.compile(r"\(([^()]{1,400})\)|（([^（）]{1,400})）")
_POINTERS = re.compile(
    r"\b(?:this|that|these|those|it|following|below|above|found|saw|heard|left|wrote|written|says?|said|reads?|shows?"
    r"|dies\w*|das|folgend\w*|ceci|cela|cette|ça|suivant\w*|est[aeo]|es[ao]|siguiente|quest[aoe]|seguente|ist[oa]"
    r"|iss[oa]|seguinte|dit|deze|dat|volgende)\b|[这那此]|これ|この|それ|その|次の|以下",
    re.I,
)
"""Words that point at a text, so that an aside after them may be that text."""
_ASKING = re.compile(
    r"\b(?:i|i['’]\w+|my|we|our|any|can you|could you|what|which|where|how|recommend\w*|suggest\w*|ideas?|need"
    r"|ich|mein\w*|wir|je|mon|ma|mes|nous|yo|mi|mis|io|mio|mia|eu|meu|minha|ik|mijn|welche|quel\w*|qué|che"
    r"|que|welke)\b|\bj['’]|[我私僕俺]|什么|推荐|おすすめ|[?？]",
    re.I,
)
"""Words of a sentence in which the user speaks or asks, so that an aside in it is theirs."""
_COLON = re.compile(
    # Emoji (":smile:", ":D") are consumed first, so that their colons introduce nothing.
    r"(?<!\S):(?:[\w+-]+:|[DPpOo](?!\w))"
    r"|(?P<mark>(?<=[^\s:])[ \t]?:(?=\s|$|[*_])|(?<=\w):(?=[^\W\d_])|：|(?<=\w) ?=[ \t]*(?=[^\W\d_]))"
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
MAX_OPENING_CHARACTERS = 80
MAX_TITLE_WORDS = 8
MIN_OWN_WORDS = 3
"""How many of the user's own words must accompany a quoted title in a passage that a model cites."""
_LITERAL = re.compile(r"[^\s\"'“”]{1,24}")
"""A quotation this short is a literal or a name ('_b', "Ada"), not a statement."""
_INLINE_LITERAL = re.compile(r"`[^\s\"'“”`]{1,24}`")
"""The same, written as inline code in Markdown."""


class Reading(NamedTuple):
    """Holds the readable words of a text, with the rest blanked out in place, or the reason why nothing is readable."""

    text: str
    reason: str = ""


class _Signs(NamedTuple):
    whole: re.Pattern[str]
    reports: re.Pattern[str]
    letters: re.Pattern[str]


def readable_text(message: Message, owner: Collection[str] = ()) -> str:
    """Return the words of a message that are the user's own, with the rest replaced by blanks.

    Offsets are the same as in `message.text`. `owner` contains the names of the person the thread belongs to. A message
    with a different `name` was written by somebody else.
    """
    return read_message(message, owner).text


def read_message(message: Message, owner: Collection[str] = ()) -> Reading:
    """Do the same as `readable_text`, and return the reason if nothing is readable."""
    if message.role != "user" or message.author_trust != "user":
        return Reading("", f"the words of a {message.author_trust}")
    if message.metadata.get(PASSING) or is_private(message):
        return Reading("", "the message is to be kept out of memory")
    if message.name is not None and fold_name(message.name) not in {fold_name(name) for name in owner}:
        return Reading("", "another speaker's message")
    return read_text(blank_private(_own_text(message)))


def read_text(text: str) -> Reading:
    """Return the user's own words in a text that they wrote."""
    if not text.strip():
        return Reading("", "no text")
    if len(text) > MAX_CHARACTERS:
        return Reading("", "too long to be typed")
    text = text.replace("’", "'") if "’" in text else text
    signs = _signs()
    if _is_transcript(text):
        return Reading("", "a transcript, a chat export, subtitles, a prompt or a mail")
    if _is_json(text):
        return Reading("", "data")
    if _TITLED.match(text):
        return Reading("", "a document")
    if signs.whole.search(_visible(text)):
        return Reading("", "a text to work on, a game or a supposition")
    text = _INVISIBLE.sub(" ", text)
    masked = _without_letter(text, signs.letters)
    if masked is None:
        return Reading("", "a letter")
    for pattern in (*_MARKUP, *_RULES, *_FOREIGN_LINES, *_LINES):
        masked = pattern.sub(_blank, masked)
    masked = _without_introduced(_QUOTES.sub(_unquoted, masked))
    masked = _without_asides(masked)
    report = signs.reports.search(masked)
    if report:
        masked = masked[: report.start()] + "\n" * (len(masked) - report.start())
    return Reading(masked) if masked.strip() else Reading("", "quoted, pasted or code")


def quotable_text(message: Message) -> str:
    """Return the words that a model may cite as the user's own, without quotations, code and quoted lines.

    Unlike in `readable_text`, lists and labels stay, because a model can tell them apart. A text to work on, a
    transcript, an email or data is still left out.
    """
    text = blank_private(_own_text(message))
    signs = _signs()
    if _is_transcript(text) or _is_json(text) or signs.whole.search(_visible(text)):
        return ""
    if _TITLED.match(text):
        return ""
    own = _without_letter(_INVISIBLE.sub(" ", text), signs.letters)
    if own is None:
        return ""
    for pattern in (*_MARKUP, *_RULES, *_FOREIGN_LINES):
        own = pattern.sub(_blank, own)
    own = _PARAGRAPHS.sub(_without_reported, own)
    return _QUOTES.sub(_titled, own)


def _without_reported(paragraph: re.Match[str]) -> str:
    """Return a paragraph up to the words in it that somebody else may say about themselves."""
    text = paragraph[0]
    colons = (mark for mark in _COLON.finditer(text) if _introduces(text, mark))
    ends = [mark.end() for mark in (*_signs().reports.finditer(text), *colons)]
    end = min((end for end in ends if _FIRST_PERSON.search(text, end)), default=len(text))
    return text[:end] + "\n" * (len(text) - end)


def cites_quotation(text: str, cited: str) -> bool:
    """Return whether the cited words are a quotation in the text or little more than one: `"The Power"`, but not `I
    just finished "The Power"`."""
    words = " ".join(cited.split())
    if any(words in " ".join(match[0].split()) for match in _QUOTES.finditer(text) if not _is_literal(match)):
        return True
    quoted = any(not _is_literal(match) for match in _QUOTES.finditer(cited))
    return quoted and len(_QUOTES.sub(" ", cited).split()) < MIN_OWN_WORDS


def labelled_text(message: Message) -> str:
    """Return the text of a message for a model to read, with labels on the parts that the user did not write."""
    if message.role != "user" or isinstance(message.content, str):
        return open_text(message)
    if is_private(message):
        return ""
    parts = (
        blank_private(text).strip() if own else f"[{FOREIGN}: {text}]" for text, own in text_parts(message.content)
    )
    return "\n".join(part for part in parts if part)


def _own_text(message: Message) -> str:
    """Return the text of a message, with line breaks in place of the parts that the user did not write."""
    return "\n".join(part if own else "\n" * len(part) for part, own in text_parts(message.content))


def fold_name(name: str) -> str:
    """Return a speaker's name or a user's id in a normalised form for comparison."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", name).casefold()).strip()


def _visible(text: str) -> str:
    """Return a text as it looks to a reader: without invisible characters, and with wide letters as plain ones."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


def _is_transcript(text: str) -> bool:
    if _CONTROL.search(text) or _MAIL.search(text) or _CHAT_HEAD.search(text):
        return True
    if not text.isascii() and _CONTROL.search(_visible(text)):  # ＜｜User｜＞
        return True
    return bool(_ROLE_HEAD.search(text)) or len(_NAME_HEAD.findall(text)) > 1


def _is_json(text: str) -> bool:
    if text.strip()[:1] not in ("{", "["):
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _without_letter(text: str, letters: re.Pattern[str]) -> str | None:
    """Return the text without its closing signature, or None if it is a letter."""
    lines = [match.start() for match in letters.finditer(text)]
    begin = len(text) - len(text.lstrip())
    if not lines:
        return text
    if len(lines) > 1 or (begin < lines[0] <= len(text) * 0.3):
        return None
    if lines[0] <= begin:
        return text
    return text[: lines[0]] + "\n" * (len(text) - lines[0])


def _without_introduced(text: str) -> str:
    """Return the text without what a colon introduces, which may be somebody else's words.

    Any words before a colon may be a label, a title or a request ("Alice:", "Her bio:", "Which word is wrong:"). The
    exceptions are the words with which the rules of a language let a statement begin, such as "By the way:". What
    begins on the line of the colon ends with its paragraph. What begins below may have any number of paragraphs.
    """
    start = 0
    while colon := next((mark for mark in _COLON.finditer(text, start) if _introduces(text, mark)), None):
        begins_below = not text[colon.end() :].partition("\n")[0].strip()
        paragraph_end = None if begins_below else _BLANK_LINE.search(text, colon.end())
        start = paragraph_end.start() if paragraph_end else len(text)
        text = text[: colon.end()] + "\n" * (start - colon.end()) + text[start:]
    return text


def _introduces(text: str, colon: re.Match[str]) -> bool:
    return bool(colon["mark"]) and not _opens_statement(text, colon.end())


def _opens_statement(text: str, end: int) -> bool:
    """Return whether the words before a position, from the start of their sentence, only open a statement."""
    sentence = max(text.rfind(sign, 0, end - 1) for sign in "\n.!?…。！？") + 1
    opening = text[sentence : end + MAX_OPENING_CHARACTERS]
    return end - sentence <= MAX_OPENING_CHARACTERS and any(
        rule_book(code).end_of_opening(opening) >= end - sentence for code in languages() if rules_exist(code)
    )


def _without_asides(text: str) -> str:
    """Return the text without asides that may be somebody else's words: "The sign in the hall (I'm allergic to …)".

    An aside is the user's own if its sentence is the user's ("I need a recipe (I'm vegan)"), and points at no text.
    """
    out = text
    for aside in _ASIDE.finditer(text):
        words = aside[1] or aside[2]
        if not re.search(r"\s", words.strip()) and words.isascii():
            continue  # a name, an age or an abbreviation
        before = re.split(r"[.!?。！？\n]", text[: aside.start()])[-1]
        after = re.split(r"[.!?。！？\n]", text[aside.end() :])[0]
        outside = f"{before} {after}"
        closing = text[aside.end() : aside.end() + len(after) + 1]
        own = bool(_ASKING.search(outside) or closing.rstrip().endswith(("?", "？")))
        sentences = len(re.findall(r"[.!?。！？]\s*\S", words))
        if outside.strip() and own and not _POINTERS.search(outside) and not sentences:
            continue
        out = out[: aside.start()] + "\n" * len(aside[0]) + out[aside.end() :]
    return out


def _blank(match: re.Match[str]) -> str:
    return match[0] if _INLINE_LITERAL.fullmatch(match[0]) else "\n" * len(match[0])


def _unquoted(match: re.Match[str]) -> str:
    return match[0] if _is_literal(match) else "\n" * len(match[0])


def _titled(match: re.Match[str]) -> str:
    return match[0] if _is_literal(match) or _is_title(match[match.lastindex or 0]) else "\n" * len(match[0])


def _is_literal(match: re.Match[str]) -> bool:
    return bool(_LITERAL.fullmatch(match[match.lastindex or 0] or " "))


def _is_title(quotation: str) -> bool:
    """Return whether quoted words are the title of a work: a few words, capitalised like a title ("The Name of the
    Wind")."""
    words = quotation.strip(" .,;:!?").split()
    long = [word for word in words if len(word) > 3]
    return 0 < len(words) <= MAX_TITLE_WORDS and all(
        word[:1].isupper() or word[:1].isdigit() for word in (words[0], *long)
    )


@cache
def _signs() -> _Signs:
    """Return the combined markers of all languages, because a message in one language may ask about a text in
    another."""
    tables = [read(code, "readable") for code in languages()]

    def joined(*names: str) -> re.Pattern[str]:
        sources = [source for table in tables for name in names for source in table.get(name, ())]
        return re.compile("|".join(sources) or r"(?!)", re.I | re.M)

    return _Signs(joined("text_work", "games"), joined("reports"), joined("letters"))

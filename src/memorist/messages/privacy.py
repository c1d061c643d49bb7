"""Finds the private parts of a message: text between `<private>` tags, or all of it (`metadata={"private": True}`, or a
user who says "Don't remember this: …" in one of the nine languages of the rules).

Private text is stored and sent with its thread like any other text. It is not indexed, recalled, summarised or used to
derive memories.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from .parts import map_texts

if TYPE_CHECKING:
    from .message import Message

PRIVATE = "private"
"""The metadata key that keeps a whole message out of derived memory and recall."""
HIDDEN = "[private]"
"""The text that a summary contains in place of private words."""
_WITHHELD = re.compile(
    # "Don't remember this: …" and "…, but don't remember that." alone mean an earlier message, and rules read them.
    r"""(?:^|[.!?\n]\s*|\b(?:please|but|and)\b,?\s)(?:please\s)?(?:do\s?not|don['’]t)\s(?:remember|save|store|memori[sz]e)
        \s(?:this|that|any\sof\sthis)\b(?:\s*[:,;–—-]+|\s+but\b)\s*\w
      | \w\W*[,;.!?–—-]\s*(?:(?:but|and|so)\s)?(?:please\s)?(?:do\s?not|don['’]t)\s(?:remember|save|store|memori[sz]e)
        \s(?:this|that|it|any\sof\sthis)(?:,?\splease)?\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_NOT_TO_REMEMBER = (
    r"merke? dir (?:das|dies) (?:bitte )?nicht|(?:das|dies) (?:bitte )?nicht (?:merken|speichern)"
    r"|speichere? (?:das|dies) (?:bitte )?nicht"
    r"|ne (?:retiens|retenez|mémorise|mémorisez) pas (?:ça|cela|ceci)|n['’]enregistrez? pas (?:ça|cela|ceci)"
    r"|no (?:recuerdes?|guardes?|memorices?) (?:esto|eso)"
    r"|non (?:ricordare|memorizzare|salvare) (?:questo|ciò)|non (?:ricordarlo|memorizzarlo|salvarlo)"
    r"|não (?:se )?(?:lembres?|lembra) d?(?:isso|isto)|não (?:guardes?|memorizes?|salves?) (?:isso|isto)"
    r"|(?:onthoud|bewaar) (?:dit|dat) (?:alsjeblieft )?niet|sla (?:dit|dat) (?:alsjeblieft )?niet op"
    r"|(?:请)?(?:不要|别)(?:记住|记录|保存)(?:这个|这件事|这些|这句话|下面的话|以下内容)?"
    r"|(?:これ|それ|このこと|次のこと|以下のこと)(?:は|を)(?:覚えないで|記憶しないで|保存しないで)(?:ください|ね)?"
)
_POLITE = r"bitte|s['’]il (?:te|vous) pla[iî]t|por favor|per favore|alsjeblieft|拜托"
_JOINING = r"aber|und|mais|et|pero|y|ma|e|mas|maar|en|但|不过|でも|ただ"
_WITHHELD_ELSEWHERE = re.compile(
    rf"(?:^|[.!?。！？\n]\s*)(?:(?:{_POLITE}),?\s)?(?:{_NOT_TO_REMEMBER})(?:,?\s(?:{_POLITE}))?\s*[:：,，、;；–—-]+\s*\w"
    rf"|\w\W*?[,;.!?，。！？、–—-]\s*(?:(?:{_JOINING}),?\s?)?(?:(?:{_POLITE}),?\s)?(?:{_NOT_TO_REMEMBER})"
    rf"(?:,?\s(?:{_POLITE}))?\W*$",
    re.IGNORECASE,
)
"""The same requests in the other languages that have rules."""
_STEMS = (
    "merk", "speicher", "retien", "reten", "mémoris", "enregistr", "recuerd", "guard", "memori", "ricorda", "salva",
    "lembr", "salve", "onthoud", "bewaar", "sla d", "记", "保存", "覚え", "記憶",
)  # fmt: skip
_SPAN = re.compile(r"<private\b[^<>]{0,80}>.*?(?:</private\s*>|\Z)", re.IGNORECASE | re.DOTALL)


def is_private(message: Message) -> bool:
    """Return whether all of a message is private according to its metadata or the user's own words."""
    if message.metadata and message.metadata.get(PRIVATE):
        return True
    return message.role == "user" and _is_withheld(message.text)


def _is_withheld(text: str) -> bool:
    lowered = text.lower()
    if ("n't " in lowered or "n’t " in lowered or "not " in lowered) and _WITHHELD.search(text):
        return True
    return any(stem in lowered for stem in _STEMS) and _WITHHELD_ELSEWHERE.search(text) is not None


def blank_private(text: str) -> str:
    """Return the text with the parts between `<private>` tags replaced by line breaks, so that offsets stay the
    same."""
    return _SPAN.sub(lambda match: "\n" * len(match[0]), text) if "<" in text else text


def open_message(message: Message) -> Message:
    """Return the message without its private parts, for summarising."""
    if is_private(message):
        return msgspec.structs.replace(message, content=HIDDEN, extra={}, raw=None)
    content = map_texts(message.content, lambda text: _SPAN.sub(HIDDEN, text) if "<" in text else text)
    return message if content is message.content else msgspec.structs.replace(message, content=content, raw=None)


def open_text(message: Message) -> str:
    """Return the text of a message without its private parts."""
    if is_private(message):
        return ""
    text = message.text
    return _SPAN.sub("", text) if "<" in text else text

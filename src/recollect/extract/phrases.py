"""Pieces of a clause: names, lists, things, and where they end; by the word lists of a language."""

from __future__ import annotations

import re
from functools import cache

from ..languages import Words, words
from .tokens import UNSPACED

_NEVER = re.compile(r"(?!)")
_EDGES = ' ,;:.!?()"“”，。、；：！？（）「」'


class Phrases:
    """The lists of one language that say where a phrase begins and ends."""

    def __init__(self, lang: str) -> None:
        lists = words(lang)
        self.lang, self.lists = lang, lists
        self.joint = "" if lang in UNSPACED else " "
        self.ends = _tail(lists.list("ends"), lang)
        self.place_ends = _tail(lists.list("place_ends"), lang)
        self.thing_ends = _tail(lists.list("thing_ends"), lang)
        self.role_ends = _tail(lists.list("role_ends"), lang)
        self.articles = _head(lists.list("articles"), lang)
        self.qualifiers = _head(lists.list("qualifiers"), lang)
        self.before_place = _head(lists.list("before_place"), lang)
        self.separator = _separator(lists, lang)
        self.not_names = lists.set("not_names")
        self.particles = lists.set("particles")
        self.links = self.particles | lists.set("links")
        self.titles = lists.set("titles")

    def tail(self, name: str) -> re.Pattern[str]:
        """From the first word of a list to the end of a phrase."""
        found: re.Pattern[str] = getattr(self, name)
        return found

    def cut(self, phrase: str, *, most: int = 6) -> str:
        """A phrase up to where the sentence goes on to something else; nothing where it is too long for a name."""
        kept = self.ends.sub("", f" {phrase.strip()}").strip(_EDGES)
        return kept if self.length(kept) <= most else ""

    def length(self, text: str) -> int:
        """How many words; of a language without spaces, every three characters count as one."""
        return len(text.split()) if self.joint else (len(text) + 2) // 3

    def bare(self, phrase: str) -> str:
        """A phrase without an article or a word such as "some" before it."""
        text = self.qualifiers.sub("", phrase.strip(_EDGES))
        return self.articles.sub("", text) if not re.match(r"the [A-Z]", text) else text

    def listed(self, phrase: str, *, most: int = 5) -> list[str]:
        """The things a phrase lists, without articles and qualifiers."""
        items = (self.bare(self.cut(item, most=most + 1)) for item in self.separator.split(phrase))
        return [item for item in items if item and self.length(item) <= most]

    def person(self, phrase: str, *, most: int = 4) -> str | None:
        """The name a phrase begins with, by its capitals."""
        if not self.joint:
            return self._unspaced_name(phrase)
        out: list[str] = []
        for word in phrase.strip(" ,;:").split():
            bare = word.strip(',;:!?()"')
            plain = bare.rstrip(".").lower()
            if bare.endswith(("'s", "’s")):
                bare, plain = bare[:-2], plain[:-2]
            if not bare or not (bare[0].isupper() or (out and plain in self.particles)):
                break
            if plain in self.not_names and not out:
                break
            dotted = plain in self.titles or (len(plain) == 1 and bare.endswith("."))
            out.append(bare if dotted else bare.rstrip("."))
            closed = word[-1] in ",;:!?" or (word.endswith(".") and not dotted) or word.endswith(("'s", "’s"))
            if closed or len(out) == most:
                break
        while out and out[-1] in self.particles:
            out.pop()
        return " ".join(out) or None

    def _unspaced_name(self, phrase: str) -> str | None:
        name = self.cut(phrase, most=4)
        return name if 1 <= len(name) <= 12 and not any(word in name for word in self.not_names) else None

    def small_name(self, phrase: str) -> str | None:
        """A name written small, which only counts when it is the whole phrase."""
        bare = self.cut(phrase, most=2)
        fits = bool(bare) and all(word.isalpha() and word.lower() not in self.not_names for word in bare.split())
        return bare if fits else None

    def proper(self, phrase: str, *, most: int = 5) -> str | None:
        """The proper name a phrase begins with, with words such as "of" and "and" inside it."""
        if not self.joint:
            return self.cut(phrase, most=5) or None
        out: list[str] = []
        for word in phrase.strip(" ,;:").split():
            bare = word.strip(',;:!?()"')
            if not bare or not (is_capital(bare) or (out and bare.lower() in self.links)):
                break
            low = bare.lower().rstrip(".")
            if low in self.lists.set("not_proper") or (bare[0].isdigit() and out and out[-1] in self.links):
                break
            out.append(bare.rstrip("."))
            if word[-1] in ",;:!?" or len(out) == most:
                break
        while out and out[-1].lower() in self.links:
            out.pop()
        return " ".join(out) or None


def is_capital(word: str) -> bool:
    """Written with a capital or holding one (iPhone), or a digit first (3M)."""
    return bool(word) and (word[0].isupper() or any(char.isupper() for char in word[1:]) or word[0].isdigit())


def any_of(wordings: tuple[str, ...]) -> str:
    """A regular expression for one of some wordings, longest first."""
    return "|".join(re.escape(word) for word in sorted(wordings, key=len, reverse=True))


def _tail(wordings: tuple[str, ...], lang: str) -> re.Pattern[str]:
    """From the first of some wordings to the end."""
    if not wordings:
        return _NEVER
    edge = ("", "") if lang in UNSPACED else (r"\s+", r"(?![\w'])")
    return re.compile(rf"{edge[0]}(?:{any_of(wordings)}){edge[1]}.*$", re.I | re.S)


def _head(wordings: tuple[str, ...], lang: str) -> re.Pattern[str]:
    if not wordings:
        return _NEVER
    edge = "" if lang in UNSPACED else r"(?:\s+|(?<=['’]))"
    return re.compile(rf"^(?:(?:{any_of(wordings)}){edge})+", re.I)


def _separator(lists: Words, lang: str) -> re.Pattern[str]:
    ands = any_of(lists.list("ands")) or "(?!)"
    if lang in UNSPACED:
        return re.compile(rf"\s*(?:[,、，]|{ands})\s*")
    return re.compile(rf"\s*(?:,\s*(?:(?:{ands})\s)?|(?<!\S)(?:{ands})(?=\s))\s*", re.I)


@cache
def phrases(lang: str) -> Phrases:
    """The phrase lists of a language."""
    return Phrases(lang)

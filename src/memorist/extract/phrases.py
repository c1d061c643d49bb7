"""Pieces of a clause: names, lists, things, and where they end; by the word lists of a language."""

from __future__ import annotations

import re
from functools import cache

from ..languages import UNSPACED, Rules, words
from .keys import slug

_EDGES = ' ,;:.!?()"“”，。、；：！？（）「」'


class Phrases(Rules):
    """What says where a phrase begins and ends in one language: expressions of `forms.toml`, and word lists."""

    def __init__(self, lang: str) -> None:
        super().__init__(lang, "phrases")
        self.lists = words(lang)
        self.joint = "" if lang in UNSPACED else " "
        self.not_names, self.particles, self.titles = map(self.lists.set, ("not_names", "particles", "titles"))
        self.links = self.particles | self.lists.set("links")

    def starts(self, text: str, name: str) -> bool:
        """Whether a phrase begins with a word or wording of a list."""
        return bool(self.lists.standing(name).match(text))

    def holds(self, text: str, name: str) -> bool:
        """Whether a word or wording of a list stands in a phrase."""
        return bool(self.lists.standing(name).search(text))

    def knows(self, said: str, name: str) -> bool:
        """Whether a phrase, or its first word, is one of a list."""
        return not self.lists.set(name).isdisjoint((said.lower(), slug(said), slug(said).split("_")[0]))

    def cut(self, phrase: str, *, most: int = 6) -> str:
        """A phrase up to where the sentence goes on to something else; nothing where it is too long for a name."""
        kept = self.ends.sub("", f" {phrase.strip()}").strip(_EDGES)
        return kept if self.length(kept) <= most else ""

    def without_tail(self, phrase: str) -> str:
        """A phrase without the prepositions at its end."""
        parts = phrase.split() if self.joint else []
        while parts and parts[-1].lower() in self.lists.set("before_date"):
            parts.pop()
        return " ".join(parts) if self.joint else phrase

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
            name = self.cut(phrase, most=4)
            return name if 1 <= len(name) <= 12 and not any(word in name for word in self.not_names) else None
        out: list[str] = []
        for word in phrase.strip(" ,;:").split():
            bare = word.strip(',;:!?()"')
            plain = bare.rstrip(".").lower()
            if bare.endswith(("'s", "’s")):
                bare, plain = bare[:-2], plain[:-2]
            if not bare or not (bare[0].isupper() or (out and plain in self.particles)):
                break
            if plain in self.not_names and not out and plain not in self.titles:
                break
            dotted = plain in self.titles or (len(plain) == 1 and bare.endswith("."))
            out.append(bare if dotted else bare.rstrip("."))
            closed = word[-1] in ",;:!?" or (word.endswith(".") and not dotted) or word.endswith(("'s", "’s"))
            if closed or len(out) == most:
                break
        while out and (out[-1] in self.particles or out[-1].rstrip(".").lower() in self.titles & self.not_names):
            out.pop()
        return " ".join(out) or None

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


@cache
def phrases(lang: str) -> Phrases:
    """The phrase lists of a language."""
    return Phrases(lang)

"""Restores the writer as the subject: "Been a nurse since 2010", "me and my wife have …", "our team tracks …".

People leave out the "I", speak for their team or say what they are in a row of scraps; patterns read plain
first-person statements, so sentences are rewritten as such by the rules of a language's `reading.toml`.
"""

from __future__ import annotations

import re
from functools import cache

from ..languages import Rules

_GROUP = re.compile(r"\(\?P<\w+>")


class Rewriter(Rules):
    """The rewriting rules of one language; those of a language that has none change nothing."""

    def __init__(self, lang: str) -> None:
        super().__init__(lang, "subject")
        self._cleaned, self._restored, self._scraps = map(self.pairs, ("cleaned", "restored", "scraps"))
        starts = "|".join(_GROUP.sub("(?:", find.pattern) for find, _ in (*self._cleaned, *self._restored))
        self._any = re.compile(starts or "(?!)", re.I)

    def restore(self, text: str) -> list[str]:
        """Rewrites a sentence's start in the first person; two statements if it names a person beside the writer."""
        text = self.setting.sub("", text)
        if not self._any.match(text):
            return [text]
        for find, put in self._cleaned:
            found = find.match(text)
            text = self._filled(put, found) if found else text
        for find, put in self._restored:
            found = find.match(text)
            if found:
                return self._filled(put, found).split("\n")
        return [text]

    def _filled(self, put: str, found: re.Match[str]) -> str:
        said = {name: value or "" for name, value in found.groupdict().items()}
        if "small" in said:
            said["small"] = said["small"].lower()
        if "verb" in said:
            said["verb"] = self.first_person(said["verb"])
        return put.format(rest=found.string[found.end() :], text=found.string, **said)

    def first_person(self, verb: str) -> str:
        """A verb as one says it of oneself: lives becomes live, studies study, has have."""
        return self.table("first_person").get(verb.lower()) or self.third_person.sub(
            lambda ending: "y" if ending[0] == "ies" else "", verb
        )

    def scraps(self, piece: str) -> list[str]:
        """A piece, and the fragments it lists ("I'm Jonas, 27, from Malmö") completed to statements."""
        piece = piece.rstrip(" .!")
        said = [piece]
        if self.introduced.match(piece):
            rules = self._scraps if self.named.match(piece) else self._scraps[:-1]
            for part in self.commas.split(piece)[1:5]:
                said += [find.sub(put, part) for find, put in rules if find.fullmatch(part)][:1]
        return said + [f"I'm {reduced['x']}" for one in said if (reduced := self.reduced.match(one))]

    def untailed(self, text: str) -> str:
        """Removes a tag at the end: "…, no contest", "…, believe it or not"."""
        for _ in range(2):
            if "," not in text and "-" not in text and "–" not in text and "—" not in text:
                break
            text = self.tail.sub("", text)
        return text


@cache
def rewriter(lang: str) -> Rewriter:
    """The rewriting rules of a language."""
    return Rewriter(lang)

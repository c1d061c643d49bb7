"""A clause in which the writer of a message states something: what is read, and the evidence of what it gives."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from .extracted import Extracted, LearningType
from .keys import slug


class Clause(msgspec.Struct, frozen=True):
    """One statement: its text, the sentence it stands in, and where that sentence is in the message."""

    text: str
    sentence: str
    span: tuple[int, int]
    correction: bool = False
    full: str = ""
    """The clause with its "not Berlin" still on."""
    rejected: str | None = None
    """What the writer says it is not: "Munich, not Berlin"."""
    before: str = ""
    """The sentence before, for what refers back: "You misspelled my name. It's Catriona."."""
    remember: bool = False
    """The writer asked to have it remembered, so it is kept even where no pattern reads it."""
    scrap: bool = False
    """Restored from a scrap behind a comma, so it is no sentence of its own."""
    meant: bool = False
    """It was put as what the writer meant, so it corrects even where nothing is known."""
    unsure: bool = False
    """It is a wish, a guess or something that is over, so that only wishes are read from it."""
    lang: str = "en"

    def fact(
        self, key: str, value: Any, sure: float, rule: str, *, since: datetime | None = None, ends: bool = False
    ) -> Extracted:
        """A fact that the clause states, or that it `ends`; `rule` is the id of the pattern that read it."""
        return Extracted(
            kind="fact", key=key, value=value, confidence=sure, correction=self.correction, rejected=self.rejected,
            text=self.sentence, span=self.span, valid_at=since, retracted=ends, rule=rule, lang=self.lang,
        )  # fmt: skip

    def learning(self, type: LearningType, content: str, sure: float, rule: str = "") -> Extracted:
        """What the clause asks for, tells of a habit or corrects; its kind and first words make a stable key."""
        made = self.fact(f"{type}.{slug(content, words=8)}", content, sure, rule)
        return msgspec.structs.replace(made, kind="learning", type=type)

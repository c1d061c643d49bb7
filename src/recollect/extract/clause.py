"""A clause in which the writer of a message states something."""

from __future__ import annotations

import msgspec


class Clause(msgspec.Struct, frozen=True):
    """One statement: cleaned text, the sentence it stands in, and where that sentence is in the message."""

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
    """The writer asked to have it remembered, so it is kept even where no rule reads it."""
    scrap: bool = False
    """Restored from a scrap behind a comma, so it is no sentence of its own."""
    meant: bool = False
    """It was put as what the writer meant, so it corrects even where nothing is known."""
    lang: str = "en"

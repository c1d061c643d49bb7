"""What extraction reads, clauses, and what it gives: facts and learnings with their evidence."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

Kind = Literal["fact", "learning"]
LearningType = Literal["preference", "pattern", "correction"]


class Clause(msgspec.Struct, frozen=True):
    """One statement of a message's writer: its text, the sentence it stands in, and where that is in the message."""

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
    lang: str = "en"


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a user said of themselves; `value` is the fact's value, or the learning's content."""

    kind: Kind
    key: str
    value: Any
    confidence: float
    type: LearningType | None = None
    """The kind of learning; None for a fact."""
    correction: bool = False
    """Said to correct: it replaces what is known under its key, however sure that was."""
    inferred: bool = False
    """It follows from what was said, but was not said in so many words."""
    rejected: str | None = None
    """What the user said it is not ("Munich, not Berlin")."""
    text: str = ""
    """The sentence it was taken from."""
    span: tuple[int, int] = (0, 0)
    """Where that sentence is in the message."""
    valid_at: datetime | None = None
    """Since when it holds, where the user said so ("moved to Porto last month")."""
    speaker: str | None = None
    retracted: bool = False
    """It is no longer so: the fact ends, where its value is the one named (or none was named)."""
    rule: str = ""
    """The id of the pattern that read it: language, file, topic and number; empty for what a model read."""
    lang: str = "en"

"""What extraction returns: facts, learnings and requests to forget with their evidence, before anything is stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

LearningType = Literal["preference", "pattern", "correction"]


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a user said of themselves; `value` is the fact's value, or the learning's content.

    Of a request to forget, `value` is what to forget in the user's words; empty where it is what was said just before.
    """

    kind: Literal["fact", "learning", "forget"]
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
    """The id of the rule that read it: language, topic and number; empty for what a model read."""
    lang: str = "en"

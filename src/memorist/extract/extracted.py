"""Defines the results of extraction: facts, learnings and requests to forget with their evidence, before anything is
stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

LearningType = Literal["preference", "pattern", "correction"]
EVERYTHING = "*"
"""The value of a request to forget everything about the user."""


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """Holds one statement that a user made about themselves. `value` is the fact's value, or the learning's content.

    For a request to forget, `value` contains the user's description of what to forget. It is empty if the request
    refers to the previous statement, and `*` if it refers to everything about the user.
    """

    kind: Literal["fact", "learning", "forget"]
    key: str
    value: Any
    confidence: float
    type: LearningType | None = None
    """This is the kind of learning, or None for a fact."""
    correction: bool = False
    """This is True if the statement is a correction, which replaces the known value of its key no matter how certain
    that value was."""
    inferred: bool = False
    """This is True if the user implied the statement but did not make it explicitly."""
    rejected: str | None = None
    """This is the value that the user ruled out ("Munich, not Berlin")."""
    text: str = ""
    """This is the sentence that the statement was extracted from."""
    span: tuple[int, int] = (0, 0)
    """This is the position of the sentence in the message."""
    valid_at: datetime | None = None
    """This is the time from which the statement has been true, if the user mentioned it ("moved to Porto last
    month")."""
    speaker: str | None = None
    retracted: bool = False
    """This is True if the statement is no longer true. The fact ends if it has the named value, or if no value was
    named."""
    rule: str = ""
    """This is the id of the rule that matched: language, topic and number. It is empty for statements that a model
    extracted."""
    lang: str = "en"

    @property
    def is_everything(self) -> bool:
        """This is True if the user asked to forget everything about them."""
        return self.kind == "forget" and self.value == EVERYTHING

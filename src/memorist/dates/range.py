"""Defines `DateRange`, an interval of time found in a text."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from .calendar import Grain

Prefer = Literal["past", "future"]
Relation = Literal["in", "since", "until", "before", "after"]
Span = tuple[datetime, datetime]


class DateRange(msgspec.Struct, frozen=True):
    """Represents an interval of time found in a text. `start` is included, and `end` is not."""

    start: datetime
    end: datetime
    grain: Grain
    text: str
    span: tuple[int, int]
    relation: Relation = "in"
    """This is the preposition before the interval: "since March" is the interval March with the relation `since`."""
    approximate: bool = False
    yearless: bool = False
    """This is True if the text names only the month and day, so that the year was inferred."""

    @property
    def iso(self) -> str:
        """This is the interval as the shortest ISO 8601 text: a minute, a day, a month, a year, or an interval of
        days."""
        if self.grain in ("minute", "hour"):
            return self.start.strftime("%Y-%m-%dT%H:%M")
        if self.grain == "year":
            return f"{self.start.year:04d}"
        if self.grain == "month":
            return f"{self.start.year:04d}-{self.start.month:02d}"
        last = self.end - timedelta(days=1)
        first = self.start.date().isoformat()
        return first if last <= self.start else f"{first}/{last.date().isoformat()}"

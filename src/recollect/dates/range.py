"""A stretch of time that a text names."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from .calendar import Grain

Prefer = Literal["past", "future"]
Relation = Literal["in", "since", "until", "before", "after"]
Span = tuple[datetime, datetime]


class DateRange(msgspec.Struct, frozen=True):
    """A stretch of time that a text names: `start` is in it, `end` is not."""

    start: datetime
    end: datetime
    grain: Grain
    text: str
    span: tuple[int, int]
    relation: Relation = "in"
    """How the text uses it: "since March" names March and means March and all that followed."""
    approximate: bool = False
    yearless: bool = False
    """Month and day only: the year was chosen, not said."""

    @property
    def iso(self) -> str:
        """The shortest ISO 8601 text that says it: a minute, day, month, year, or an interval of days."""
        if self.grain in ("minute", "hour"):
            return self.start.strftime("%Y-%m-%dT%H:%M")
        if self.grain == "year":
            return f"{self.start.year:04d}"
        if self.grain == "month":
            return f"{self.start.year:04d}-{self.start.month:02d}"
        last = self.end - timedelta(days=1)
        first = self.start.date().isoformat()
        return first if last <= self.start else f"{first}/{last.date().isoformat()}"

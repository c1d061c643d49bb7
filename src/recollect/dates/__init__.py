"""Words for time: the one reader of dates, for extraction and for recall."""

from .calendar import number
from .range import DateRange, Prefer, Relation
from .reader import parse_dates

__all__ = ["DateRange", "Prefer", "Relation", "number", "parse_dates"]

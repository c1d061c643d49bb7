"""Parses dates and times in text; the one parser of extraction and recall."""

from .calendar import number
from .range import DateRange, Prefer, Relation
from .reader import parse_dates

__all__ = ["DateRange", "Prefer", "Relation", "number", "parse_dates"]

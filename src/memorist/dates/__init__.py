"""Parses dates and times in text. Extraction and recall share this parser."""

from .calendar import number
from .range import DateRange, Prefer, Relation
from .reader import parse_dates

__all__ = ["DateRange", "Prefer", "Relation", "number", "parse_dates"]

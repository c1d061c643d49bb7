"""Facts and learnings from what users say: by rule with no model, or through one (`recollect.extract.model`)."""

from __future__ import annotations

from .extracted import Extracted
from .extractor import TRUSTED, extract
from .keys import KEYS, slug
from .temporal import DateRange, parse_dates

__all__ = ["KEYS", "TRUSTED", "DateRange", "Extracted", "extract", "parse_dates", "slug"]

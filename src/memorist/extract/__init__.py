"""Extracts facts and learnings from users' messages, with rules or with a model (`memorist.extract.model`).

The names are loaded on first use, because reading a language's files takes a few tenths of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import load

if TYPE_CHECKING:
    from ..dates import DateRange, parse_dates
    from .extracted import Extracted
    from .extractor import extract
    from .keys import KEYS, slug
    from .readable import readable_text

__all__ = ["KEYS", "DateRange", "Extracted", "extract", "parse_dates", "readable_text", "slug"]
_HOME_OF = {
    "KEYS": "extract.keys",
    "DateRange": "dates",
    "Extracted": "extract.extracted",
    "extract": "extract.extractor",
    "parse_dates": "dates",
    "readable_text": "extract.readable",
    "slug": "extract.keys",
}


def __getattr__(name: str) -> object:
    return load(__name__, _HOME_OF, name)

"""Extracts facts and learnings from users' messages, with rules or with a model (`memorist.extract.model`).

The names are loaded on first use, because reading a language's files takes a few tenths of a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..dates import DateRange, parse_dates
    from .extracted import Extracted
    from .extractor import extract
    from .keys import KEYS, slug
    from .readable import readable_text

__all__ = ["KEYS", "DateRange", "Extracted", "extract", "parse_dates", "readable_text", "slug"]
_HOMES = {"Extracted": ".extracted", "KEYS": ".keys", "slug": ".keys", "DateRange": "..dates"}
_HOMES |= {"parse_dates": "..dates", "readable_text": ".readable"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, ".extractor"), __name__), name)

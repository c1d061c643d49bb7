"""Facts and learnings from what users say: by rule with no model, or through one (`recollect.extract.model`).

The names are loaded on first use: the rules are some 200 patterns, which take a few tenths of a second to compile.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..dates import DateRange, parse_dates
    from .extracted import Extracted
    from .extractor import TRUSTED, extract
    from .keys import KEYS, slug

__all__ = ["KEYS", "TRUSTED", "DateRange", "Extracted", "extract", "parse_dates", "slug"]

_HOMES = {
    "Extracted": "extracted",
    "TRUSTED": "extractor",
    "extract": "extractor",
    "KEYS": "keys",
    "slug": "keys",
    "DateRange": "..dates",
    "parse_dates": "..dates",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(
        import_module(f".{_HOMES[name]}" if not _HOMES[name].startswith(".") else _HOMES[name], __name__), name
    )

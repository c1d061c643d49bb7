"""Provides `analyze(path)`, a static analysis of how agent frameworks manage memory, and its reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorist_analyze.analysis import Analysis, analyze
    from memorist_analyze.markdown import as_markdown
    from memorist_analyze.report import as_dict, as_json

__all__ = ["Analysis", "analyze", "as_dict", "as_json", "as_markdown"]
_MODULES = {
    "Analysis": "analysis",
    "analyze": "analysis",
    "as_markdown": "markdown",
    "as_dict": "report",
    "as_json": "report",
}


def __getattr__(name: str) -> object:
    """Import the engine when it is first needed, because `memorist --help` loads this package only for its command."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"memorist_analyze.{_MODULES[name]}"), name)

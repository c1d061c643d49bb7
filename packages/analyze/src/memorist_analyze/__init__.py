"""Static analysis of how agent frameworks manage memory: `analyze(path)` and its reports."""

from __future__ import annotations

from memorist_analyze.analysis import Analysis, analyze
from memorist_analyze.markdown import as_markdown
from memorist_analyze.report import as_dict, as_json

__all__ = ["Analysis", "analyze", "as_dict", "as_json", "as_markdown"]

"""Helpers of the analyser's tests: write a checkout, analyse it."""

from __future__ import annotations

from pathlib import Path

from memorist_analyze.analysis import Analysis, analyze


def write(root: Path, files: dict[str, str]) -> Path:
    """A checkout with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def analyzed(root: Path, files: dict[str, str]) -> Analysis:
    """The analysis of a checkout with these files."""
    return analyze(write(root, files), name="sample", processes=1)


def strategies(analysis: Analysis) -> list[str]:
    """The strategies found, wired or not."""
    return sorted({f.strategy for f in [*analysis.eviction, *analysis.unwired]})

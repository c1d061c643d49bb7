"""Helpers of the analyser's tests: write a checkout, analyse it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memorist_analyze.analysis import Analysis, analyze
from memorist_analyze.findings import Finding, evictions
from memorist_analyze.rules import LOOSE_IDS


def write(root: Path, files: dict[str, str]) -> Path:
    """A checkout with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def analyzed(root: Path, files: dict[str, str]) -> Analysis:
    """The analysis of a checkout with these files, showing whatever a rule proposes, however probable it is."""
    analysis = analyze(write(root, files), name="sample", processes=1)
    return replace(analysis, eviction=proposed(analysis), unwired=proposed(analysis, wired=False), possible=[])


def proposed(analysis: Analysis, *, wired: bool = True) -> list[Finding]:
    """The candidates that a rule other than the loose ones proposes, however probable they are."""
    return [f for f in evictions(analysis.world) if f.rule not in LOOSE_IDS and f.wired == wired]


def strategies(analysis: Analysis) -> list[str]:
    """The strategies proposed, wired or not."""
    return sorted({f.strategy for f in [*proposed(analysis), *proposed(analysis, wired=False)]})

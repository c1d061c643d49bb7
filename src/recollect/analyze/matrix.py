"""Several frameworks side by side."""

from __future__ import annotations

from typing import Any

from recollect.analyze.analysis import Analysis

COLUMNS = ("order", "method", "eviction", "triggers", "tiers", "storage", "counting", "overflow", "checks")


def matrix(analyses: list[Analysis]) -> dict[str, Any]:
    """One row per framework, the same columns for all."""
    return {"columns": list(COLUMNS), "rows": {a.name: _row(a) for a in analyses}}


def _row(analysis: Analysis) -> dict[str, list[str]]:
    from recollect.analyze.checks import failures

    strategies: dict[str, bool] = {}
    for finding in analysis.eviction:
        strategies[finding.strategy] = strategies.get(finding.strategy, False) or finding.default_on
    triggers = {t for f in analysis.eviction for t in f.trigger}
    tiers: dict[str, None] = dict.fromkeys(t.tier for t in analysis.tiers)
    return {
        "order": analysis.assembly.order,
        "method": analysis.assembly.methods,
        "eviction": [f"{name}{' (default)' if on else ''}" for name, on in sorted(strategies.items())],
        "triggers": sorted(triggers),
        "tiers": list(tiers),
        "storage": sorted({s for t in analysis.tiers for s in t.storage}),
        "counting": analysis.tokens.counting,
        "overflow": analysis.tokens.overflow,
        "checks": sorted({f.rule for f in failures(analysis)}),
    }


def as_markdown(analyses: list[Analysis]) -> str:
    """The matrix as a Markdown table, one column per framework."""
    rows = matrix(analyses)["rows"]
    names = [a.name for a in analyses]
    lines = ["## Memory Orchestration Matrix", "", f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for column in COLUMNS:
        cells = [", ".join(rows[n][column]) or "not determined" for n in names]
        lines.append(f"| {column} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"

"""Converts an analysis to plain data, which `--json` prints."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from memorist_analyze.analysis import Analysis, analyze
from memorist_analyze.checks import verdicts
from memorist_analyze.findings import Finding
from memorist_analyze.support import Support

FORMAT = 2
_FINDING = (
    "id", "strategy", "trigger", "subject", "path", "line", "symbol", "default_on", "default_sure", "wired",
    "probability", "evidence", "rule", "twins", "by", "why",
)  # fmt: skip


def report_on(path: Path, *, name: str, time_limit: float) -> dict[str, Any]:
    """Analyse a folder and return its report. The server runs this if the package is installed."""
    analysis = analyze(path, name=name, time_limit=time_limit)
    report: dict[str, Any] = msgspec.to_builtins(as_dict(analysis), enc_hook=str)
    return report


def as_dict(analysis: Analysis) -> dict[str, Any]:
    """Return the report of one framework. `docs/analyze.md` describes its keys and values."""
    checkout = analysis.checkout
    denied = [finding_dict(f) for f in analysis.denied]
    return {
        "format": FORMAT,
        "name": analysis.name,
        "languages": analysis.languages,
        "packages": [p or "." for p in checkout.packages if p not in checkout.unneeded_adapters],
        "files": len(analysis.world.files),
        "set_aside": dict(sorted(checkout.aside.items())),
        "skipped": [{"path": path, "reason": reason} for path, reason in sorted(checkout.skipped)],
        "assembly": {
            "order": analysis.assembly.order,
            "methods": analysis.assembly.methods,
            "determined": analysis.assembly.determined,
            "slots": {slot: [asdict(p) for p in places] for slot, places in sorted(analysis.assembly.slots.items())},
            "locations": [asdict(p) for p in analysis.assembly.locations],
        },
        "map": analysis.map.files,
        "reading": [asdict(p) for p in analysis.map.reading],
        "eviction": [finding_dict(f) for f in analysis.eviction],
        "possible": [finding_dict(f) for f in analysis.possible],
        "unwired": [finding_dict(f) for f in analysis.unwired],
        **({"judged_by": analysis.judged_by, "denied": denied} if analysis.judged_by else {}),
        "tiers": [asdict(tier) for tier in analysis.tiers],
        "offered": {name: [asdict(p) for p in places[:4]] for name, places in analysis.offered.items()},
        "tokens": asdict(analysis.tokens),
        "checks": [{**asdict(verdict), "where": list(verdict.where)} for verdict in verdicts(analysis)],
    }


def finding_dict(finding: Finding) -> dict[str, Any]:
    """Return one eviction finding as plain data, with its slice."""
    return {**{name: getattr(finding, name) for name in _FINDING}, "slice": support_dict(finding.support)}


def support_dict(support: Support) -> dict[str, Any]:
    """Return the evidence slice of a finding as plain data."""
    data = asdict(support)
    return {"messages": data.pop("source"), **data}


def as_json(analyses: list[Analysis], *, compare: bool = False) -> str:
    """Return one framework's object, or `{"frameworks": …, "matrix": …}` for several."""
    from memorist_analyze.matrix import matrix

    if len(analyses) == 1 and not compare:
        data: dict[str, Any] = as_dict(analyses[0])
    else:
        data = {"format": FORMAT, "frameworks": {a.name: as_dict(a) for a in analyses}, "matrix": matrix(analyses)}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"

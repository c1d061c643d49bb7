"""Builds the comparison matrix, which has one row per framework and the same columns for all of them."""

from __future__ import annotations

from typing import Any

from memorist_analyze.analysis import Analysis
from memorist_analyze.checks import CANNOT_TELL, CHECKS, FAILS, verdicts

COLUMNS = ("order", "method", "eviction", "triggers", "tiers", "storage", "counting", "overflow", "checks")


def matrix(analyses: list[Analysis]) -> dict[str, Any]:
    """Return the matrix as plain data: `columns`, and `rows` by framework name."""
    return {"columns": list(COLUMNS), "rows": {a.name: _row(a) for a in analyses}}


def _row(analysis: Analysis) -> dict[str, list[str]]:
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
        "checks": [v.rule for v in verdicts(analysis) if v.status == FAILS],
    }


# The column headings of the small table have two letters, so that it fits on a screen.
_STRATEGIES = {
    "fifo_message_count": "FI", "token_window": "TW", "summarization": "SU", "vector_swap": "VS",
    "importance_scoring": "IM", "content_elision": "EL", "offload": "OF", "dedup": "DD", "reset": "RS",
    "provider_managed": "PM",
}  # fmt: skip
_COUNTING = {
    "tiktoken": "t", "tokenizer_model": "m", "provider_count_api": "p", "api_usage": "u", "length_estimate": "e",
    "litellm_counter": "l", "pluggable_callable": "c",
}  # fmt: skip
_TIERS = {"working": "w", "session": "s", "persistent": "p"}
_LEGEND = """● on by default  ○ optional  · none found
FI first in, first out  TW token window  SU summary  VS vector swap  IM importance  EL content elision  OF offload
DD deduplication  RS reset  PM left to the provider
tiers: w working, s session, p persistent, v by meaning  counting: t tiktoken, m model's tokenizer, p provider's API,
u usage of the answer, e estimate, l litellm, c callable
checks: + holds, - fails, ? cannot tell, in the order """


def as_markdown(analyses: list[Analysis]) -> str:
    """Return the matrix as a Markdown code block of at most eighty columns, one line per framework, with a legend."""
    width = max([9, *(len(a.name) for a in analyses)])
    width = min(width, 24)
    head = f"{'framework':{width}} {' '.join(_STRATEGIES.values())} tiers counting checks"
    lines = ["## Memory Orchestration Matrix", "", "```", head]
    lines += [_line(a, width) for a in analyses]
    legend = _LEGEND + ", ".join(c.id for c in CHECKS)
    return "\n".join([*lines, "```", "", "```", legend, "```"]) + "\n"


def _line(analysis: Analysis, width: int) -> str:
    marks: list[str] = []
    for strategy in _STRATEGIES:
        findings = [f for f in analysis.eviction if f.strategy == strategy]
        marks.append(" ●" if any(f.default_on for f in findings) else " ○" if findings else " ·")
    tiers = "".join(letter for tier, letter in _TIERS.items() if any(t.tier == tier for t in analysis.tiers))
    tiers += "v" if any("semantic" in t.retrieval for t in analysis.tiers) else ""
    counting = "".join(letter for name, letter in _COUNTING.items() if name in analysis.tokens.counting)
    signs = {FAILS: "-", CANNOT_TELL: "?"}
    checks = "".join(signs.get(v.status, "+") for v in verdicts(analysis))
    return f"{analysis.name[:width]:{width}} {' '.join(marks)} {tiers or '·':5} {counting or '·':8} {checks}"

"""The evidence pack: the functions a judge should read, each with its body, its callers and its guards.

`--evidence DIR` writes it for a person or an assistant; `--model` puts the same functions to a language model.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist_analyze.analysis import Analysis
from memorist_analyze.records import Function

MOST_CANDIDATES = 90
_MOST_LINES = 160
_TELLING = frozenset(
    "slice pop_front pop_other token_trim token_fill count_fill removal rebuild refill summary_put summary_field clear "
    "filter kept_in_loop sorted_cut score_sort content condensed shortened offload query_limit "
    "bounded_deque marked_out "
    "vector_put recalled trim_call provider paging ranked_cut".split()
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One function to be judged by a person or a model."""

    function: Function
    body: str
    callers: tuple[str, ...]
    conditions: tuple[str, ...]
    strategies: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The cache key of a verdict: a hash of the body alone, so that moving a function keeps its verdict."""
        return hashlib.sha256(self.body.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The candidate as data."""
        own = self.function
        return {
            "path": own.path, "symbol": own.symbol, "line": own.line, "end": own.end, "body": self.body,
            "callers": list(self.callers), "conditions": list(self.conditions), "rules_say": list(self.strategies),
            "does": [f"{e.kind} of {e.subject} at line {e.line}" for e in own.effects[:8]], "digest": self.digest,
        }  # fmt: skip


def candidates(analysis: Analysis) -> list[Candidate]:
    """At most `MOST_CANDIDATES` functions: those with findings first, then those with most effects on message lists."""
    found = _found(analysis)
    chosen = _ranked(analysis, found)[:MOST_CANDIDATES]
    return [_candidate(analysis, f, found.get(f.key, ())) for f in sorted(chosen, key=lambda f: (f.path, f.line))]


def without_finding(analysis: Analysis, most: int) -> list[Function]:
    """Functions without a finding that have most effects on message lists: the likeliest false negatives."""
    found = _found(analysis)
    return [f for f in _ranked(analysis, found) if f.key not in found][:most]


def _found(analysis: Analysis) -> dict[str, tuple[str, ...]]:
    """The strategies found, by function."""
    found: dict[str, tuple[str, ...]] = {}
    for finding in [*analysis.eviction, *analysis.unwired]:
        key = finding.function.key
        found[key] = (*found.get(key, ()), finding.strategy)
    return found


def _ranked(analysis: Analysis, found: dict[str, tuple[str, ...]]) -> list[Function]:
    weighed = [(_weight(f, found), f) for f in analysis.world.functions if f.name != "<module>"]
    weighed = [w for w in weighed if w[0] > 0]
    weighed.sort(key=lambda w: (-w[0], w[1].path, w[1].line))
    return [f for _, f in weighed]


def _weight(function: Function, found: dict[str, tuple[str, ...]]) -> int:
    told = [e for e in function.effects if e.kind in _TELLING and e.likeness >= 1]
    strong = sum(2 if e.likeness > 1 else 1 for e in told)
    return strong + 100 * (function.key in found) + (2 if strong and function.model_calls else 0)


def _candidate(analysis: Analysis, function: Function, strategies: tuple[str, ...]) -> Candidate:
    lines = (analysis.checkout.root / function.path).read_text(encoding="utf-8", errors="replace").split("\n")
    body = "\n".join(lines[function.line - 1 : min(function.end, function.line - 1 + _MOST_LINES)])
    callers = sorted({f"{f.path}:L{c.line} {f.symbol}" for c, f in analysis.world.callers.get(function.key, [])})
    conditions = [f"L{line}: {kind.replace('_', ' ')}" for kind, line in function.guards]
    return Candidate(function, body, tuple(callers[:8]), tuple(conditions[:8]), strategies)


def write_pack(analysis: Analysis, folder: Path) -> Path:
    """Write the pack of one framework: `NAME.evidence.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{analysis.name}.evidence.json"
    data = {"format": 1, "name": analysis.name, "candidates": [c.as_dict() for c in candidates(analysis)]}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    return path

"""Score the analyser's reports against hand-made truth: which findings hit, which sets agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from memorist_analyze.catalog import canonical

CORE = frozenset({"fifo_message_count", "token_window", "summarization", "vector_swap", "importance_scoring"})
NEAR_LINES = 10
LARGE_SYMBOL_LINES = 400
TRAP_LINES = 3

Record = dict[str, Any]


@dataclass
class Score:
    """Counts of one framework or of several."""

    entries: int = 0
    recalled: int = 0
    reported: int = 0
    right: int = 0
    traps: int = 0
    trapped: int = 0
    triggers: int = 0
    triggers_right: int = 0
    defaults: int = 0
    defaults_right: int = 0
    sets: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def recall(self) -> float:
        return self.recalled / self.entries if self.entries else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.reported if self.reported else 1.0

    @property
    def trap_rate(self) -> float:
        return self.trapped / self.traps if self.traps else 0.0

    def f1(self, name: str) -> float:
        counts = self.sets.get(name, Counter())
        total = 2 * counts["right"] + counts["extra"] + counts["missing"]
        return 2 * counts["right"] / total if total else 1.0

    def add(self, other: Score) -> None:
        """Add another framework's counts to this total."""
        for name in (
            "entries", "found", "reported", "right", "traps", "trapped", "triggers", "triggers_right", "defaults",
            "defaults_right",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, counts in other.sets.items():
            self.sets.setdefault(name, Counter()).update(counts)


def hits(finding: Record, location: Record) -> bool:
    """Does a finding lie at a place of the truth: same file, and inside its symbol or a few lines away?"""
    if finding["path"] != location["path"]:
        return False
    first, last = location.get("symbol_span", [location["line"]] * 2)
    inside = last - first <= LARGE_SYMBOL_LINES and first <= finding["line"] <= last
    return inside or abs(finding["line"] - location["line"]) <= NEAR_LINES


def in_scope(truth: Record, findings: Iterable[Record]) -> list[Record]:
    """Findings inside the paths the truth speaks of."""
    scope = tuple(truth.get("scope_paths") or [""])
    return [f for f in findings if f["path"].startswith(scope)]


def matched(truth: Record, finding: Record) -> list[Record]:
    """The entries of the truth that a finding hits with the same strategy."""
    return [
        e
        for e in truth["eviction"]
        if e["strategy"] == finding["strategy"] and any(hits(finding, location) for location in e["locations"])
    ]


def is_trap(truth: Record, finding: Record) -> bool:
    """Is a finding at one of the places that only look like memory management?"""
    return any(
        finding["path"] == n["path"] and abs(finding["line"] - n["line"]) <= TRAP_LINES for n in truth["negatives"]
    )


def score(truth: Record, report: Record, *, core: bool = True) -> Score:
    """Score one framework; findings nobody judged count as wrong."""
    result = Score()
    entries = [e for e in truth["eviction"] if e.get("wired", True) and (not core or e["strategy"] in CORE)]
    findings = [f for f in in_scope(truth, report["eviction"]) if not core or f["strategy"] in CORE]
    for entry in entries:
        near = [f for f in findings if f["strategy"] == entry["strategy"]]
        hit = [f for f in near if any(hits(f, location) for location in entry["locations"])]
        result.entries += 1
        result.recalled += bool(hit)
        if hit:
            result.triggers += 1
            result.triggers_right += any(set(f["trigger"]) & set(entry["trigger"]) for f in hit)
            if "default_on" in entry:
                result.defaults += 1
                result.defaults_right += any(f["default_on"] == entry["default_on"] for f in hit)
    for finding in {(f["path"], f["symbol"], f["strategy"]): f for f in reversed(findings)}.values():
        result.reported += 1
        result.right += bool(matched(truth, finding))
    every = in_scope(truth, report["eviction"])
    result.traps = len(truth["negatives"])
    result.trapped = sum(any(is_trap({"negatives": [n]}, f) for f in every) for n in truth["negatives"])
    for name, reported, theirs in _sets(truth, report):
        counts = Counter(right=len(reported & theirs), extra=len(reported - theirs), missing=len(theirs - reported))
        result.sets[name] = counts
    return result


def _sets(truth: Record, report: Record) -> Iterable[tuple[str, set[str], set[str]]]:
    yield "counting", set(report["tokens"]["counting"]), set(truth["tokens"]["counting"])
    yield "storage", _storage(report), _storage(truth)
    yield "slots", set(report["assembly"]["order"]), set(truth["assembly"]["order"])
    yield "tiers", {t["tier"] for t in report["tiers"]}, {t["tier"] for t in truth["tiers"]}
    yield "overflow", set(report["tokens"]["overflow"]), set(truth["tokens"]["overflow"])


def _storage(record: Record) -> set[str]:
    """Storages in use and on offer, each under its one name."""
    return {canonical(s) for t in record["tiers"] for s in t["storage"]} | {
        canonical(s) for s in record.get("offered", ())
    }


def order_agreement(truth: Record, report: Record) -> float:
    """Of the pairs of slots both orders have, the share that stand the same way round."""
    reported = list(dict.fromkeys(report["assembly"]["order"]))
    theirs = [s for s in dict.fromkeys(truth["assembly"]["order"]) if s in reported]
    pairs = [(a, b) for i, a in enumerate(theirs) for b in theirs[i + 1 :]]
    same = sum(reported.index(a) < reported.index(b) for a, b in pairs)
    return same / len(pairs) if pairs else 1.0

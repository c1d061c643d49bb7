"""Defines the manifest, which says what each section of a context contains, what was left out, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from ..values import JsonObject

if TYPE_CHECKING:
    from .units import Unit

_MARKS = {
    "system": "S",
    "profile": "U",
    "memory": "M",
    "tools": "T",
    "history": "H",
    "input": "I",
    "scratchpad": "P",
    "overhead": "+",
}


SCORED = ", scored "
"""Separates an item's reason from its score in `Outcome.reason`."""


MAX_LISTED_ITEMS = 8
"""The maximum number of items with the same fate and reason that `explain` names."""


class Outcome(msgspec.Struct, frozen=True):
    """Describes what happened to neighbouring units in one section, and why."""

    section: str
    action: str
    """kept, shortened, dropped, folded, elided, repaired or attached."""
    reason: str = ""
    first: int | None = None
    last: int | None = None
    units: int = 0
    tokens: int = 0
    ids: tuple[str, ...] = ()


class SectionReport(msgspec.Struct, frozen=True):
    """Holds the token total and the counts of one section."""

    name: str
    tokens: int
    ceiling: int | None = None
    kept: int = 0
    dropped: int = 0
    folded: int = 0
    elided: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """Describes an assembled request section by section: what it contains, what was left out, and why."""

    tokens: int
    budget_tokens: int
    output_reserve: int
    counter: str
    layout: str
    policy: str
    sections: tuple[SectionReport, ...]
    entries: tuple[Outcome, ...] = ()
    notes: tuple[str, ...] = ()

    def section(self, name: str) -> SectionReport:
        """Return the report on one section."""
        return next(report for report in self.sections if report.name == name)

    def to_dict(self) -> JsonObject:
        """Return the manifest as plain data, for JSON."""
        built: JsonObject = msgspec.to_builtins(self)
        return built

    def explain(self) -> str:
        """Return the manifest as lines of text, with figures and reasons but no content."""
        lines = [
            f"{self.tokens:,} of {self.budget_tokens - self.output_reserve:,} tokens "
            f"({self.counter}, {self.layout} layout, {self.policy})"
        ]
        lines += [_section_line(report) for report in self.sections if report.tokens or report.dropped]
        lines += _entry_lines(entry for entry in self.entries if entry.action != "kept")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def bar(self, width: int = 60) -> str:
        """Return a line that shows each section as letters and free room as dots, and a legend below it."""
        width = max(10, width)
        room = max(1, self.budget_tokens)
        drawn = [
            (report.name, _MARKS.get(report.name, "?"), report.tokens) for report in self.sections if report.tokens
        ]
        if self.output_reserve:
            drawn.append(("reserve", "R", self.output_reserve))
        line, reached, shown = "", 0, 0
        for _, mark, tokens in drawn:
            reached += tokens
            cells = max(1, round(reached * width / room) - shown)
            line += mark * cells
            shown += cells
        line = line[:width].ljust(width, "·")
        legend = "  ".join(f"{mark} {name} {tokens:,}" for name, mark, tokens in drawn)
        return f"[{line}] {self.tokens:,}/{room - self.output_reserve:,}\n {legend}"


def _section_line(report: SectionReport) -> str:
    counts = [f"{getattr(report, name)} {name}" for name in ("kept", "dropped", "folded", "elided")]
    shown = ", ".join(text for text in counts if not text.startswith("0 "))
    ceiling = f" of at most {report.ceiling:,}" if report.ceiling is not None else ""
    return f"  {report.name:<10} {report.tokens:>8,} tokens{ceiling}" + (f": {shown}" if shown else "")


def _entry_lines(entries: Iterable[Outcome]) -> list[str]:
    """Return one line for each action and reason. Recalled items with the same reason share a line that shows their
    best score."""
    groups: dict[tuple[str, str, str, int | None], list[Outcome]] = {}
    for entry in entries:
        reason = entry.reason.partition(SCORED)[0]
        groups.setdefault((entry.section, entry.action, reason, entry.first), []).append(entry)
    return [_group_line(reason, group) for (_, _, reason, _), group in groups.items()]


def _group_line(reason: str, group: list[Outcome]) -> str:
    first = group[0]
    where = "" if first.first is None else f" [{first.first}..{first.last}]"
    units, tokens = sum(entry.units for entry in group), sum(entry.tokens for entry in group)
    return f"  - {first.section}: {units} {first.action}{where}, {tokens:,} tokens: {reason}{_scored(group)}"


def _scored(group: list[Outcome]) -> str:
    """Return the recalled items of a group with their scores, naming the best `MAX_LISTED_ITEMS`."""
    ranked = sorted(
        ((entry.reason.partition(SCORED)[2], *entry.ids) for entry in group if SCORED in entry.reason),
        key=lambda entry: -float(entry[0]),
    )
    if not ranked:
        return ""
    more = f", {len(ranked) - MAX_LISTED_ITEMS} more below" if len(ranked) > MAX_LISTED_ITEMS else ""
    return SCORED + ", ".join(" ".join(entry) for entry in ranked[:MAX_LISTED_ITEMS]) + more


def runs(section: str, action: str, items: Iterable[tuple[Unit, str]]) -> list[Outcome]:
    """Return one entry per run of neighbouring units with the same reason."""
    out: list[Outcome] = []
    for unit, reason in items:
        ids = tuple(message.id for message in unit.messages if message.thread)
        last = out[-1] if out else None
        if last is not None and last.reason == reason and last.last is not None and unit.position - last.last <= 1:
            out[-1] = Outcome(
                section,
                action,
                reason,
                last.first,
                unit.last,
                last.units + 1,
                last.tokens + unit.tokens,
                last.ids + ids,
            )
        else:
            out.append(Outcome(section, action, reason, unit.position, unit.last, 1, unit.tokens, ids))
    return out

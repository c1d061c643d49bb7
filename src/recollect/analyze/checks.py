"""Rules for continuous integration: what `--fail-on` may refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recollect.analyze.analysis import Analysis
from recollect.analyze.findings import Finding

_CUTTING = ("fifo_message_count", "token_window", "importance_scoring")


@dataclass(frozen=True, slots=True)
class Check:
    """A property a framework should have."""

    id: str
    says: str
    find: Callable[[Analysis], Iterator[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that does not hold, and where."""

    rule: str
    message: str
    where: str


def _unbounded(analysis: Analysis) -> Iterator[tuple[str, str]]:
    history = [f for f in analysis.eviction if f.subject == "history" and f.default_on and f.strategy != "reset"]
    if not history:
        optional = [f for f in analysis.eviction if f.subject == "history" and f.strategy != "reset"]
        hint = f"; optional: {', '.join(sorted({f.strategy for f in optional}))}" if optional else ""
        yield f"nothing bounds the history unless the user asks for it{hint}", ""


def _orphans(analysis: Analysis) -> Iterator[tuple[str, str]]:
    for finding in analysis.eviction:
        if finding.strategy in _CUTTING and finding.subject == "history" and not _minds_tools(analysis, finding):
            yield "the cut does not look at tool calls and may separate a call from its result", _where(finding)


def _minds_tools(analysis: Analysis, finding: Finding) -> bool:
    if "minds_tools" in finding.function.marks:
        return True
    return any("minds_tools" in target.marks for _, target in analysis.world.callees.get(finding.function.key, []))


def _uncounted(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if not analysis.tokens.counting:
        yield "no code counts tokens", ""


def _estimated(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if analysis.tokens.counting == ["length_estimate"]:
        yield "tokens are only estimated from lengths", ""


def _unhandled(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if analysis.tokens.overflow == ["none"]:
        yield "nothing happens when the context is full", ""


def _dead(analysis: Analysis) -> Iterator[tuple[str, str]]:
    for finding in analysis.unwired:
        yield f"{finding.strategy} that nothing outside tests uses", _where(finding)


def _forgetful(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if not any(t.tier == "persistent" for t in analysis.tiers):
        yield "nothing is kept after the process ends", ""


def _where(finding: Finding) -> str:
    return f"{finding.path}:L{finding.line}"


CHECKS: tuple[Check, ...] = (
    Check("unbounded-history", "the history is bounded by default", _unbounded),
    Check("orphaned-tool-pairs", "every cut of the history minds tool calls and their results", _orphans),
    Check("no-token-counting", "tokens are counted somehow", _uncounted),
    Check("estimate-only", "tokens are not only estimated from lengths", _estimated),
    Check("no-overflow-handling", "something happens when the context is full", _unhandled),
    Check("dead-eviction", "no eviction code is unused", _dead),
    Check("no-persistent-tier", "something is kept after the process ends", _forgetful),
)


def failures(analysis: Analysis, only: tuple[str, ...] = ()) -> list[Failure]:
    """The checks that do not hold, in the order of the table."""
    return [
        Failure(check.id, message, where)
        for check in CHECKS
        if not only or check.id in only
        for message, where in check.find(analysis)
    ]

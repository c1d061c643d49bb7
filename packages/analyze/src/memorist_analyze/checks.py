"""Defines checks for continuous integration. `analyze --fail-on ID` exits with an error if one of these fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memorist_analyze.analysis import Analysis
from memorist_analyze.findings import Finding

_CUTTING = ("fifo_message_count", "token_window", "importance_scoring")


HOLDS, FAILS, CANNOT_TELL = "holds", "fails", "cannot tell"
# Mechanisms that limit the number of messages or tokens in the history.
_BOUNDING = ("fifo_message_count", "token_window", "summarization", "vector_swap", "provider_managed")


@dataclass(frozen=True, slots=True)
class Check:
    """Describes a property that a framework should have. `find` yields (message, location) for each violation. If there
    are violations, `doubt` may return a reason not to trust them. The verdict is then "cannot tell" instead of "fails".
    """

    id: str
    says: str
    find: Callable[[Analysis], Iterator[tuple[str, str]]]
    doubt: Callable[[Analysis], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Holds the message and the location of one violation of a check."""

    rule: str
    message: str
    where: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Holds the result of a check on one framework: `HOLDS`, `FAILS` or `CANNOT_TELL`, with a message and locations."""

    rule: str
    status: str
    message: str = ""
    where: tuple[str, ...] = ()


def _bounding(analysis: Analysis) -> list[Finding]:
    return [f for f in analysis.eviction if f.subject == "history" and f.strategy in _BOUNDING]


def _check_unbounded(analysis: Analysis) -> Iterator[tuple[str, str]]:
    history = _bounding(analysis)
    if not any(f.default_on for f in history):
        hint = f"; optional: {', '.join(sorted({f.strategy for f in history}))}" if history else ""
        yield f"nothing bounds the history unless the user asks for it{hint}", ""


def _perhaps_bounded(analysis: Analysis) -> str:
    """Return a doubt if a mechanism bounds the history but the code does not show whether it is on by default."""
    unsure = [f for f in _bounding(analysis) if not f.default_on and not f.default_sure]
    return f"{unsure[0].symbol} may be on by default ({_where(unsure[0])})" if unsure else ""


def _orphans(analysis: Analysis) -> Iterator[tuple[str, str]]:
    for finding in analysis.eviction:
        if finding.strategy in _CUTTING and finding.subject == "history" and not _minds_tools(analysis, finding):
            yield "the cut does not look at tool calls and may separate a call from its result", _where(finding)


def _minds_tools(analysis: Analysis, finding: Finding) -> bool:
    if "minds_tools" in finding.function.marks:
        return True
    return any("minds_tools" in target.marks for _, target in analysis.world.callees.get(finding.function.key, []))


def _check_uncounted(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if not analysis.tokens.counting:
        yield "no code counts tokens", ""


def _check_estimated(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if analysis.tokens.counting == ["length_estimate"]:
        yield "tokens are only estimated from lengths", ""


def _check_unhandled(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if analysis.tokens.overflow == ["none"]:
        yield "nothing happens when the context is full", ""


def _dead(analysis: Analysis) -> Iterator[tuple[str, str]]:
    for finding in analysis.unwired:
        yield f"{finding.strategy} that nothing outside tests uses", _where(finding)


def _forgetful(analysis: Analysis) -> Iterator[tuple[str, str]]:
    if not any(t.tier == "persistent" for t in analysis.tiers):
        yield "nothing is kept after the process ends", ""


def _nothing_seen(analysis: Analysis) -> str:
    """Return a doubt if no model call was found, because the code may be in another checkout."""
    return "" if analysis.world.model_depth else "no call of a language model was found"


def _where(finding: Finding) -> str:
    return f"{finding.path}:L{finding.line}"


CHECKS: tuple[Check, ...] = (
    Check("unbounded-history", "the history is bounded by default", _check_unbounded, _perhaps_bounded),
    Check("orphaned-tool-pairs", "every cut of the history minds tool calls and their results", _orphans),
    Check("no-token-counting", "tokens are counted somehow", _check_uncounted, _nothing_seen),
    Check("estimate-only", "tokens are not only estimated from lengths", _check_estimated),
    Check("no-overflow-handling", "something happens when the context is full", _check_unhandled, _nothing_seen),
    Check("dead-eviction", "no eviction code is unused", _dead),
    Check("no-persistent-tier", "something is kept after the process ends", _forgetful),
)


def verdicts(analysis: Analysis, only: tuple[str, ...] = ()) -> list[Verdict]:
    """Return the results of all checks, or of those in `only`, in the order of `CHECKS`."""
    results: list[Verdict] = []
    for check in CHECKS:
        if only and check.id not in only:
            continue
        against = list(check.find(analysis))
        doubt = check.doubt(analysis) if against else ""
        if not against:
            results.append(Verdict(check.id, HOLDS))
        elif doubt:
            results.append(Verdict(check.id, CANNOT_TELL, doubt))
        else:
            where = tuple(w for _, w in against if w)
            results.append(Verdict(check.id, FAILS, against[0][0], where))
    return results


def failures(analysis: Analysis, only: tuple[str, ...] = ()) -> list[Failure]:
    """Return the checks that fail, with one entry per location."""
    return [
        Failure(v.rule, v.message, where)
        for v in verdicts(analysis, only)
        if v.status == FAILS
        for where in (v.where or ("",))
    ]

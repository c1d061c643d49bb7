"""Writes an analysis as Markdown."""

from __future__ import annotations

from memorist_analyze.analysis import Analysis
from memorist_analyze.assembly import Place
from memorist_analyze.checks import verdicts
from memorist_analyze.findings import Finding
from memorist_analyze.support import Step

MAX_LISTED = 20

NAMES = {
    "fifo_message_count": "FIFO on message count",
    "token_window": "Token window",
    "summarization": "Summarisation",
    "vector_swap": "Vector swapping",
    "importance_scoring": "Importance",
    "content_elision": "Content elision",
    "offload": "Offload",
    "reset": "Reset",
    "dedup": "Deduplication",
    "provider_managed": "Provider-managed",
}


def as_markdown(analysis: Analysis) -> str:
    """Return the report of one framework."""
    parts = [
        f"## Memory Orchestration Analysis: {analysis.name}",
        _scope(analysis),
        "### Prerequisites",
        *_prerequisites(analysis),
        "### Context Assembly",
        *_assembly(analysis),
        "### Eviction Policy",
        *_eviction(analysis),
        "### Memory Tiers",
        *_tiers(analysis),
        "### Token Management",
        *_tokens(analysis),
        "### Checks",
        *_checks(analysis),
    ]
    return "\n\n".join(parts) + "\n"


def _scope(analysis: Analysis) -> str:
    lines = sum(analysis.languages.values())
    aside = ", ".join(f"{n} {reason}" for reason, n in sorted(analysis.checkout.aside.items())) or "nothing"
    text = f"{len(analysis.world.files)} files, {lines} lines read; set aside: {aside}."
    if analysis.checkout.skipped:
        text += f" Not read: {', '.join(f'`{p}` ({r})' for p, r in sorted(analysis.checkout.skipped)[:5])}."
    return text


def _assembly(analysis: Analysis) -> list[str]:
    assembly = analysis.assembly
    if not assembly.order:
        return ["Not determined: no function that builds a model's context was found."]
    sure = "" if assembly.determined else " (order not determined by the code: the usual one)"
    rows = [
        f"- **Order**: {' → '.join(assembly.order)}{sure}",
        f"- **Method**: {', '.join(assembly.methods)}",
        f"- **Location**: {_link(assembly.locations[0]) if assembly.locations else 'not determined'}",
    ]
    table = ["| slot | where | seen as |", "|---|---|---|"]
    for slot in assembly.order:
        places = assembly.slots.get(slot, [])
        table.append(
            f"| {slot} | {_link(places[0])} | {_code(places[0].why)} |" if places else f"| {slot} | not determined | |"
        )
    return ["\n".join(rows), "\n".join(table)]


def _eviction(analysis: Analysis) -> list[str]:
    parts: list[str] = []
    if analysis.eviction:
        table = ["| strategy | trigger | subject | default | probability | location |", "|---|---|---|---|---|---|"]
        parts += ["\n".join([*table, *(_row(f) for f in analysis.eviction)])]
        parts += ["\n".join(line for f in analysis.eviction for line in slice_lines(f))]
    else:
        parts.append("No mechanism that makes the context smaller is probable enough to be shown.")
    if analysis.possible:
        parts.append(f"Possible, please look ({len(analysis.possible)} less probable candidates):")
        parts.append("\n".join(_possible(f) for f in analysis.possible[:MAX_LISTED]))
    if analysis.denied:
        parts.append(f"Denied by {analysis.judged_by}:")
        parts.append("\n".join(f"- {_where(f)}: not {f.strategy}. {f.why}" for f in analysis.denied))
    if analysis.unwired:
        unused = ", ".join(f"{_where(f)}" for f in analysis.unwired)
        parts.append(f"Found but used by nothing outside tests: {unused}.")
    return parts


def slice_lines(finding: Finding) -> list[str]:
    """Return the evidence slice of a finding as a list with the source, the cut, the measure and the path to the
    model."""
    support = finding.support
    measure = f"{support.measure.note} at {_step(support.measure)}" if support.measure else "none seen"
    way = "; ".join(f"{s.note} {_step(s)}" for s in support.way[:4]) or "not seen"
    lines = [f"- **{finding.id}**: {_code(finding.evidence)}" + (f" (by {finding.by})" if finding.why else "")]
    if finding.why:
        lines.append(f"- why: {_code(finding.why)}")
    source = f"{support.source.note} {_step(support.source)}"
    return [*lines, f"- messages: {_code(source)}; measure: {_code(measure)}; read by the model: {_code(way)}"]


def _step(step: Step) -> str:
    return f"`{step.path}:L{step.line}`"


def _where(finding: Finding) -> str:
    return f"`{finding.path}:L{finding.line}` {finding.symbol}"


def _possible(finding: Finding) -> str:
    name = NAMES.get(finding.strategy, finding.strategy)
    return f"- {finding.probability:.2f} {name}: {_where(finding)}"


def _row(finding: Finding) -> str:
    default = ("on" if finding.default_on else "off") + ("" if finding.default_sure else "?")
    name = NAMES.get(finding.strategy, finding.strategy)
    trigger = ", ".join(finding.trigger)
    return f"| {name} | {trigger} | {finding.subject} | {default} | {finding.probability:.2f} | {_where(finding)} |"


def _prerequisites(analysis: Analysis) -> list[str]:
    """Return the files that matter, and the control loop to start reading from."""
    file_map = analysis.map
    if not file_map.files:
        return ["No file of this checkout asks a model or keeps messages."]
    table = [
        "| file | what it does |",
        "|---|---|",
        *(f"| `{p}` | {', '.join(r)} |" for p, r in file_map.files.items()),
    ]
    parts = ["\n".join(table)]
    if file_map.reading:
        parts.append("Read in this order, from the control loop on:")
        parts.append("\n".join(f"- {p.role}: {_link(p)}" for p in file_map.reading))
    return parts


def _tiers(analysis: Analysis) -> list[str]:
    if not analysis.tiers:
        return ["Not determined."]
    table = ["| tier | storage | capacity | retrieval | location |", "|---|---|---|---|---|"]
    for tier in analysis.tiers:
        where = _link(tier.locations[0]) if tier.locations else "not determined"
        table.append(
            f"| {tier.tier} | {', '.join(tier.storage)} | {_code(tier.capacity)} | "
            f"{', '.join(tier.retrieval)} | {where} |"
        )
    if analysis.offered:
        return ["\n".join(table), f"On offer, by adapters and extras: {', '.join(analysis.offered)}."]
    return ["\n".join(table)]


def _tokens(analysis: Analysis) -> list[str]:
    tokens = analysis.tokens
    rows = [
        f"- **Counting**: {', '.join(tokens.counting) or 'none found'}",
        f"- **Budget allocation**: {_code(tokens.budget)}",
        f"- **Overflow handling**: {', '.join(tokens.overflow)}",
    ]
    places = [f"- {_link(p)}: {_code(p.why)}" for p in tokens.locations[:10]]
    return ["\n".join(rows), "\n".join(places)] if places else ["\n".join(rows)]


def _checks(analysis: Analysis) -> list[str]:
    table = ["| check | answer | why |", "|---|---|---|"]
    for verdict in verdicts(analysis):
        places = ", ".join(f"`{w}`" for w in verdict.where[:4])
        why = _code(verdict.message) + (f" ({places})" if places else "")
        table.append(f"| {verdict.rule} | {verdict.status} | {why} |")
    return ["\n".join(table)]


def _link(location: Place) -> str:
    return f"`{location.path}:L{location.line}` {location.symbol}"


def _code(text: str) -> str:
    """Escape text from source code for a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")

"""An analysis as Markdown."""

from __future__ import annotations

from memorist_analyze.analysis import Analysis
from memorist_analyze.assembly import Place
from memorist_analyze.checks import verdicts
from memorist_analyze.findings import Finding

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
    """The report of one framework."""
    parts = [
        f"## Memory Orchestration Analysis: {analysis.name}",
        _scope(analysis),
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
    found = analysis.assembly
    if not found.order:
        return ["Not determined: no function that builds a model's context was found."]
    sure = "" if found.determined else " (order not determined by the code: the usual one)"
    rows = [
        f"- **Order**: {' → '.join(found.order)}{sure}",
        f"- **Method**: {', '.join(found.methods)}",
        f"- **Location**: {_link(found.locations[0]) if found.locations else 'not determined'}",
    ]
    table = ["| slot | where | seen as |", "|---|---|---|"]
    for slot in found.order:
        places = found.slots.get(slot, [])
        table.append(
            f"| {slot} | {_link(places[0])} | {_code(places[0].why)} |" if places else f"| {slot} | not determined | |"
        )
    return ["\n".join(rows), "\n".join(table)]


def _eviction(analysis: Analysis) -> list[str]:
    if not analysis.eviction:
        return ["No mechanism found that makes the context smaller."]
    table = ["| strategy | trigger | subject | default | confidence | location |", "|---|---|---|---|---|---|"]
    table += [_row(f) for f in analysis.eviction]
    notes = [f"- `{f.id}`: {f.evidence}" + (f" (by {f.by})" if f.by != "rules" else "") for f in analysis.eviction]
    parts = ["\n".join(table), "\n".join(notes)]
    if analysis.denied:
        parts.append(f"Denied by {analysis.judged_by}: {', '.join(f'`{f.id}`' for f in analysis.denied)}.")
    if analysis.unwired:
        unused = ", ".join(f"`{f.symbol}` ({f.path}:L{f.line})" for f in analysis.unwired)
        parts.append(f"Found but used by nothing outside tests: {unused}.")
    return parts


def _row(finding: Finding) -> str:
    default = ("on" if finding.default_on else "off") + ("" if finding.default_sure else "?")
    where = f"`{finding.path}:L{finding.line}` {finding.symbol}"
    name = NAMES.get(finding.strategy, finding.strategy)
    trigger = ", ".join(finding.trigger)
    return f"| {name} | {trigger} | {finding.subject} | {default} | {finding.confidence:.2f} | {where} |"


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
    found = analysis.tokens
    rows = [
        f"- **Counting**: {', '.join(found.counting) or 'none found'}",
        f"- **Budget allocation**: {_code(found.budget)}",
        f"- **Overflow handling**: {', '.join(found.overflow)}",
    ]
    places = [f"- {_link(p)}: {_code(p.why)}" for p in found.locations[:10]]
    return ["\n".join(rows), "\n".join(places)] if places else ["\n".join(rows)]


def _checks(analysis: Analysis) -> list[str]:
    table = ["| check | answer | why |", "|---|---|---|"]
    for verdict in verdicts(analysis):
        places = ", ".join(f"`{w}`" for w in verdict.where[:4])
        why = _code(verdict.message) + (f" ({places})" if places else "")
        table.append(f"| {verdict.rule} | {verdict.status} | {why} |")
    return ["\n".join(table)]


def _link(place: Place) -> str:
    return f"`{place.path}:L{place.line}` {place.symbol}"


def _code(text: str) -> str:
    """Escape text from source code for a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")

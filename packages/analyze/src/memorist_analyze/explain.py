"""The text of `analyze --explain`: the effect, the rule and its conditions, the trigger and the call path."""

from __future__ import annotations

from memorist.errors import NotFound
from memorist_analyze.analysis import Analysis
from memorist_analyze.conditions import CONDITIONS
from memorist_analyze.findings import Finding
from memorist_analyze.rules import RULES, Rule


def find(analysis: Analysis, wanted: str) -> Finding:
    """The finding whose id is given, or the only one whose id or symbol contains the text."""
    everything = [*analysis.eviction, *analysis.unwired]
    exact = [f for f in everything if f.id == wanted]
    near = exact or [f for f in everything if wanted in f.id or wanted in f.symbol or wanted == f.rule]
    if len(near) == 1 or exact:
        return near[0]
    if not near:
        known = ", ".join(f.id for f in everything) or "none"
        raise NotFound(f"no finding matches {wanted!r}; there are: {known}", finding=wanted)
    raise NotFound(
        f"{wanted!r} matches {len(near)} findings; give one id: {', '.join(f.id for f in near)}", finding=wanted
    )


def explain(analysis: Analysis, finding: Finding) -> str:
    """The derivation of a finding in numbered steps, each with file and line."""
    function, effect = finding.function, finding.effect
    rule = next(
        (r for r in RULES if r.id == finding.rule), Rule("model", finding.strategy, (), (), says="a model's verdict")
    )
    lines = [
        f"{finding.id}",
        f"  {finding.strategy} in {function.symbol}, confidence {finding.confidence:.2f}",
        "",
        f"1. What the code does: {effect.kind}",
        f"   {function.path}:L{effect.line}  {effect.evidence}",
        f"   on `{effect.subject}` (message-list score {effect.likeness}), which is then {effect.flow or 'kept'}",
        "",
        f"2. The rule: {rule.id}, {rule.says}",
    ]
    lines += [f"   holds   {name}: {_says(name)}" for name in rule.needs]
    lines += [f"   absent  {name}: {_says(name)}" for name in rule.unless]
    lines += ["", f"3. The trigger: {', '.join(finding.trigger)}"]
    lines += [f"   {function.path}:L{line}  compares a {kind.replace('_', ' ')}" for kind, line in function.guards]
    lines += _model_steps(analysis, finding)
    lines += _users(analysis, finding)
    default = "in use when nothing is asked for" if finding.default_on else "off until asked for"
    default += "" if finding.default_sure else " (a guess: nothing in the code shows who makes it)"
    lines += ["", f"6. By default: {default}"]
    if finding.twins:
        lines.append(f"   the same code again: {', '.join(finding.twins)}")
    return "\n".join(lines) + "\n"


def explanations(analysis: Analysis) -> list[dict[str, str]]:
    """Every finding with its explanation, in the form that the cache stores."""
    return [
        {"id": f.id, "symbol": f.symbol, "rule": f.rule, "text": explain(analysis, f)}
        for f in [*analysis.eviction, *analysis.unwired]
    ]


def _says(name: str) -> str:
    return (CONDITIONS[name].__doc__ or name).strip().split("\n")[0].rstrip(".")


def _model_steps(analysis: Analysis, finding: Finding) -> list[str]:
    steps = analysis.world.model_path(finding.function)
    if not steps:
        return ["", "4. The language model: none is reachable from here within three calls"]
    lines = ["", "4. The way to a language model"]
    return lines + [f"   {f.path}:L{line}  {f.symbol}" for f, line in steps]


def _users(analysis: Analysis, finding: Finding) -> list[str]:
    callers = analysis.world.callers.get(finding.function.key, [])
    lines = ["", "5. Who uses it"]
    if callers:
        found = sorted({(f.path, c.line, f.symbol) for c, f in callers})[:8]
        return lines + [f"   {path}:L{line}  {symbol}" for path, line, symbol in found]
    owner = finding.function.owner or finding.function.name
    places = sorted(p for p in analysis.world.references.get(owner, {}) if p != finding.path)[:8]
    return lines + ([f"   {p} refers to {owner}" for p in places] or ["   nothing outside tests"])

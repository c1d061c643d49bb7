"""Applies the rules to every function, merges hits that belong to one mechanism, and describes each as a `Finding`. A
finding has a strategy, a trigger and a subject (what is evicted), and says whether it is on by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from memorist_analyze import lineage_conditions, words
from memorist_analyze.calibration import probability
from memorist_analyze.conditions import CONDITIONS, Case
from memorist_analyze.records import Effect, Function
from memorist_analyze.rules import LOOSE_IDS, RULES, Rule
from memorist_analyze.support import Support, support_of
from memorist_analyze.world import World

# When several strategies fire in one function, a strategy on the left suppresses those on the right: they are steps of
# the same mechanism (a summarizer also slices the list, for example).
BEATS: dict[str, tuple[str, ...]] = {
    "importance_scoring": ("summarization", "token_window", "fifo_message_count"),
    "summarization": ("token_window", "fifo_message_count", "reset", "content_elision"),
    "token_window": ("fifo_message_count", "reset"),
    "fifo_message_count": ("reset",),
    "offload": ("content_elision",),
}
_HELPER_REACH = 3
_ELIDING = ("content_elision", "offload")
_ASYNC = re.compile(r"^(_*)(async_|a(?=[a-z_]{3}))|_?async$|Async$")
assert lineage_conditions  # imported because it registers conditions
Hit = tuple[Rule, Function, Effect]


@dataclass(slots=True)
class Finding:
    """Represents one eviction mechanism, or a candidate for one.

    `probability` is calibrated (`calibration.py`) and `support` is the slice of code behind it. `wired` is false if no
    code outside tests uses it. `default_sure` is false if `default_on` is a guess. `twins` are the locations of copies
    of the same code. `by` says whether the rules or a model decided; a model also explains its decision in `why`.
    """

    id: str
    strategy: str
    trigger: list[str]
    subject: str
    path: str
    line: int
    symbol: str
    default_on: bool
    default_sure: bool
    wired: bool
    probability: float
    evidence: str
    rule: str
    function: Function
    effect: Effect
    support: Support
    twins: list[str] = field(default_factory=list)
    by: str = "rules"
    why: str = ""


def evictions(world: World) -> list[Finding]:
    """Return all candidates of a checkout with their probability, in path and line order."""
    hits: list[Hit] = []
    for function in world.functions:
        if function.effects and function.name != "<module>":
            hits.extend(_propose(world, function))
    by_rule = [hit for hit in hits if hit[0].id not in LOOSE_IDS]
    merged = _one_mechanism(world, [_lift_to_caller(world, *hit) for hit in by_rule])
    claimed = {(rule.strategy, function.key) for rule, function, _ in merged}
    loose = [h for h in hits if h[0].id in LOOSE_IDS and (h[0].strategy, h[1].key) not in claimed]
    findings = [_finding(world, rule, function, effect) for rule, function, effect in (*merged, *loose)]
    findings = _merge_backends(world, _merge_doubles(world, _merge_twins(findings)))
    findings.sort(key=lambda f: (f.path, f.line, f.strategy))
    for finding in findings:
        finding.id = f"{finding.strategy}@{finding.path}:{finding.line}"
    return findings


def _propose(world: World, function: Function) -> list[Hit]:
    """Return the best rule for each strategy that the function may use. A loose rule is used only if no other rule
    fires."""
    best: dict[str, Hit] = {}
    for rule in RULES:
        if rule.strategy in best:
            continue
        holding = [e for e in function.effects if e.kind in rule.effects and holds(rule, Case(world, function, e))]
        if holding:
            best[rule.strategy] = (rule, function, min(holding, key=_distance))
    beaten = {weaker for s, hit in best.items() if hit[0].id not in LOOSE_IDS for weaker in BEATS.get(s, ())}
    return [hit for strategy, hit in best.items() if strategy not in beaten]


def _distance(effect: Effect) -> tuple[int, int]:
    """Return the sort key of an effect. The one that changes the stored messages most directly comes first."""
    order = ("replaced", "returned", "stored", "model")
    return (order.index(effect.flow) if effect.flow in order else len(order), effect.line)


def holds(rule: Rule, case: Case) -> bool:
    """Return whether a rule fires on this case, which requires all conditions in `needs` and none in `unless`."""
    return all(CONDITIONS[n](case) for n in rule.needs) and not any(CONDITIONS[n](case) for n in rule.unless)


def _lift_to_caller(world: World, rule: Rule, function: Function, effect: Effect) -> Hit:
    """Move a summarization finding from a helper without a model call to the only caller that creates the summary. If
    there is not exactly one such caller in the same file, the hit stays where it is.
    """
    if rule.strategy != "summarization" or function.key in world.model_depth:
        return rule, function, effect
    makers = [
        (c, f) for c, f in world.callers.get(function.key, []) if f.key in world.model_depth and f.path == function.path
    ]
    if len({f.key for _, f in makers}) != 1:
        return rule, function, effect
    call, maker = makers[0]
    return rule, maker, replace(effect, line=call.line, guards=call.guards or effect.guards)


def _one_mechanism(world: World, fired: list[Hit]) -> list[Hit]:
    """Keep one hit per mechanism. A function is dropped if the same strategy fired in a function it calls.

    For `content_elision`, it is the other way round. The helper that shortens the text is dropped if a caller that puts
    the short text into the message also fired. It is also dropped next to an offload if it creates the note or preview,
    or puts it into the message.
    """
    fired = list({(r.strategy, f.key): (r, f, e) for r, f, e in reversed(fired)}.values())[::-1]
    keys = {(rule.strategy, function.key) for rule, function, _ in fired}
    helpers = {
        key for rule, function, effect in fired if rule.strategy in _ELIDING for key in _below(world, function, effect)
    }
    shortening = {f.key for rule, f, e in fired if rule.strategy in _ELIDING and "instead" not in e.marks}
    remaining: list[Hit] = []
    for rule, function, effect in fired:
        if rule.strategy == "content_elision":
            above = {caller.key for _, caller in world.callers.get(function.key, []) if caller is not function}
            inner = function.key in helpers or bool(above & shortening)
            if not inner and not any(("offload", f.key) in keys for f in _makers(world, function, effect)):
                remaining.append((rule, function, effect))
            continue
        deeper = any(
            (rule.strategy, target.key) in keys and target.key != function.key
            for _, target in world.callees.get(function.key, [])
            if (rule.strategy, function.key) != (rule.strategy, target.key) and not _calls(world, target, function)
        )
        if not deeper:
            remaining.append((rule, function, effect))
    return remaining


def _below(world: World, function: Function, effect: Effect) -> set[str]:
    """Return the keys of the helpers that an effect's new value comes from, up to `_HELPER_REACH` calls below."""
    helpers: set[str] = set()
    edge = {f.key for f in _makers(world, function, effect)} - {function.key}
    for _ in range(_HELPER_REACH):
        helpers |= edge
        edge = {target.key for key in edge for _, target in world.callees.get(key, [])} - helpers - {function.key}
    return helpers


def _makers(world: World, function: Function, effect: Effect) -> list[Function]:
    """Return the functions that may produce an effect's new value: those called for it, or nested in the function."""
    called = [t for o in sorted(effect.fed) for t in world.summaries.targets(function, o.removeprefix("call:"))]
    nested = [f for f in world.functions_of.get(function.path, []) if f.symbol.startswith(f"{function.symbol}.")]
    return [*called, *nested]


def _calls(world: World, caller: Function, target: Function) -> bool:
    return any(f.key == target.key for _, f in world.callees.get(caller.key, []))


def _finding(world: World, rule: Rule, function: Function, effect: Effect) -> Finding:
    support = support_of(world, function, effect)
    return Finding(
        "",
        rule.strategy,
        triggers(world, function, effect),
        subject(function, effect),
        function.path,
        effect.line,
        function.symbol,
        *default_on(world, function),
        world.is_wired(function) and all(world.can_be_given(function, name) for name in _bounds(effect)),
        probability(rule, Case(world, function, effect), support),
        f"{rule.says}: `{effect.evidence}`",
        rule.id,
        function,
        effect,
        support,
    )


def _bounds(effect: Effect) -> list[str]:
    """Return the parameters that determine how much is kept."""
    return [mark.partition(":")[2] for mark in effect.marks if mark.startswith("bound:")]


def _merge_twins(findings: list[Finding]) -> list[Finding]:
    """Merge findings whose functions have the same fingerprint, or are the async and the blocking version of one
    method."""
    first: dict[tuple[str, ...], Finding] = {}
    unique: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (f.path, f.line)):
        own = finding.function
        bare = _ASYNC.sub(r"\1", own.name)
        keys: list[tuple[str, ...]] = [(finding.strategy, own.path, own.owner, bare)] if own.owner else []
        if own.shape:
            keys.append((finding.strategy, own.shape))
        original = next((first[key] for key in keys if key in first), None)
        if original is not None:
            original.twins.append(f"{finding.path}:L{finding.line}")
            continue
        first.update(dict.fromkeys(keys, finding))
        unique.append(finding)
    return unique


# Rules that match only part of a mechanism. They are dropped if another rule found the same strategy in the file.
_PARTIAL_RULES = frozenset(("summary.kept-aside",))
# Rules that describe a whole class, so that one finding per class is enough.
_CLASS_RULES = frozenset(("vector.indexed",))


def _merge_doubles(world: World, findings: list[Finding]) -> list[Finding]:
    """Merge repeated findings of one class, and drop partial findings next to a whole one."""
    whole = {(f.strategy, f.path) for f in findings if f.rule not in _PARTIAL_RULES}
    first: dict[tuple[str, ...], Finding] = {}
    unique: list[Finding] = []
    lasting = {(f.strategy, f.path, f.function.owner) for f in findings if not _makes_instance(f.function)}
    for finding in findings:
        if _makes_instance(finding.function) and (finding.strategy, finding.path, finding.function.owner) in lasting:
            continue
        near = {finding.path, *(f.path for _, f in world.callees.get(finding.function.key, []))}
        if finding.rule in _PARTIAL_RULES and any((finding.strategy, path) in whole for path in near):
            continue
        evidence = "" if finding.rule in _CLASS_RULES else finding.evidence
        key = (finding.strategy, finding.path, finding.function.owner, evidence)
        if finding.function.owner and key in first:
            first[key].twins.append(f"{finding.path}:L{finding.line}")
            continue
        first[key] = finding
        unique.append(finding)
    return unique


def _makes_instance(function: Function) -> bool:
    """Return whether a function is a second constructor, which fills a new object in the way its methods do later."""
    return "classmethod" in function.decorators and any(c.callee == "cls" for c in function.calls)


def _merge_backends(world: World, findings: list[Finding]) -> list[Finding]:
    """Merge the same method in storage classes with a common ancestor, because it is one mechanism with several
    backends."""
    stored = {file.path for file in world.files if file.storage}
    first: dict[tuple[str, str, str], Finding] = {}
    unique: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (not f.default_on, f.path, f.line)):
        family = _root(world, finding.function.owner) if finding.path in stored else ""
        key = (finding.strategy, finding.function.name, family)
        if family and key in first:
            first[key].twins.append(f"{finding.path}:L{finding.line}")
            continue
        first[key] = finding
        unique.append(finding)
    return unique


def _root(world: World, owner: str) -> str:
    """Return the first ancestor of a class that the checkout defines, or an empty string."""
    current, visited = owner, {owner}
    while True:
        bases = [b for c in world.classes.get(current, []) for b in c.bases if b in world.classes and b not in visited]
        if not bases:
            return current if current != owner else ""
        current = bases[0]
        visited.add(current)


def triggers(world: World, function: Function, effect: Effect) -> list[str]:
    """Return what triggers the mechanism: the guards before the effect, or those of its callers, up to two calls
    away."""
    trigger_kinds = [g for g in effect.guards if g != "char_count" or effect.kind == "content"]
    if any("overflow" in p.name.lower() or p.name in ("e", "error", "exception") for p in function.params):
        trigger_kinds.append("overflow_error")
    if effect.kind == "slice" and effect.marks & {"tail", "tail_const"} and "message_count" not in trigger_kinds:
        trigger_kinds.append("message_count")
    if not trigger_kinds:
        trigger_kinds.extend(_callers_guards(world, function))
    if _is_tool(world, function):
        trigger_kinds.append("agent_tool")
    if not trigger_kinds:
        trigger_kinds.append("explicit" if words.words(function.name)[:1] in (("clear",), ("reset",)) else "always")
    return list(dict.fromkeys(trigger_kinds))


def _callers_guards(world: World, function: Function) -> list[str]:
    guards: list[str] = []
    visited = {function.key}
    edge = [function]
    for _ in range(2):
        following: list[Function] = []
        for current in edge:
            for call, caller in world.callers.get(current.key, []):
                guards.extend(g for g in call.guards if g != "char_count" and g not in guards)
                if caller.key not in visited:
                    visited.add(caller.key)
                    following.append(caller)
        if guards:
            break
        edge = following
    if not guards and function.owner:
        guards.extend(_sibling_guards(world, function))
    return guards


def _sibling_guards(world: World, function: Function) -> list[str]:
    """Return the guards in a method of the same class that makes the decision, such as `should_condense` or
    `is_over_limit`."""
    for other in world.functions:
        if other.path == function.path and other.owner == function.owner and other is not function:
            low = other.name.lower()
            if low.lstrip("_").startswith(("should", "needs", "is_over", "too", "must")):
                return [k for k, _ in other.guards] or _find_returned_guard(other)
    return []


def _find_returned_guard(function: Function) -> list[str]:
    lengths = any(c.callee == "len" for c in function.calls)
    return ["message_count"] if lengths else []


def _is_tool(world: World, function: Function) -> bool:
    return any("tool" in words.words(d) for d in function.decorators) or "toolkit" in words.words(function.path)


def subject(function: Function, effect: Effect) -> str:
    """Return what is evicted: history, tool_result, memory_store, retrieved or attachment."""
    subject_words = set(words.words(effect.subject)) | set(words.words(function.name))
    if subject_words & {"tool", "tools", "observation", "observations", "output", "outputs", "result", "results"}:
        return "tool_result"
    if subject_words & {
        "image",
        "images",
        "attachment",
        "attachments",
        "media",
        "document",
        "documents",
        "file",
        "files",
    }:
        return "attachment"
    if (
        subject_words & {"tags", "retrieved", "chunks", "docs", "blocks", "nodes", "map"}
        and effect.kind == "score_sort"
    ):
        return "retrieved"
    if subject_words & {"facts", "memories", "entities", "knowledge"}:
        return "memory_store"
    if "memory" in words.words(function.name) and not any(
        words.name_likeness(p) > 1 for p in effect.subject.split(".")
    ):
        return "memory_store"
    return "history"


def default_on(world: World, function: Function) -> tuple[bool, bool]:
    """Return whether the mechanism is on with default settings, and whether the code shows it or this is a guess."""
    owner = function.owner
    if not owner:
        return world.is_wired(function), bool(world.callers.get(function.key))
    built = [(f, c) for f, c in world.built.get(owner, []) if f.path != function.path]
    if not built:
        own = [c for c in world.classes.get(owner, []) if c.path == function.path]
        is_variant = any(b in world.classes for c in own for b in c.bases)
        return not is_variant, False
    plain = ("__init__", "constructor", "<module>")
    default = any((f.name in plain or "default" in f.name) and not c.guards for f, c in built)
    return default, default or all(f.name not in plain for f, _ in built)

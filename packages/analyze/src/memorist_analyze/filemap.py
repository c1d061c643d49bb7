"""Finds the files that a reader needs, the role of each file, and the control loop to start from."""

from __future__ import annotations

from dataclasses import dataclass, field

from memorist_analyze import words
from memorist_analyze.assembly import Assembly, Place
from memorist_analyze.findings import Finding
from memorist_analyze.records import Function
from memorist_analyze.tiers import Tier
from memorist_analyze.tokens import Tokens
from memorist_analyze.world import World

_MAX_FILES = 24
_MAX_LOOPS = 3
_LOOP_REACH = 2


@dataclass(slots=True)
class FileMap:
    """Holds the files that matter, with their roles, and an order in which to read them, starting at the control
    loop."""

    files: dict[str, list[str]] = field(default_factory=dict)
    reading: list[Place] = field(default_factory=list)


def file_map(world: World, assembly: Assembly, evictions: list[Finding], tiers: list[Tier], tokens: Tokens) -> FileMap:
    """Collect the files behind a report, starting with those that have the most roles, and the order in which to read
    them."""
    loops = control_loops(world)
    roles: dict[str, list[str]] = {}
    for location in loops:
        _note(roles, location.path, "control loop")
    for location in assembly.locations:
        _note(roles, location.path, "assembles the context")
    for finding in evictions:
        _note(roles, finding.path, "evicts")
    for tier in tiers:
        for location in tier.locations:
            _note(roles, location.path, f"{tier.tier} memory")
    for location in tokens.locations:
        _note(roles, location.path, "counts tokens" if location.role == "count" else f"tokens: {location.role}")
    for function in world.functions:
        if function.model_calls and not words.draws_ui(function.path):
            _note(roles, function.path, "asks the model")
    ranked = sorted(roles, key=lambda path: (-len(roles[path]), path))[:_MAX_FILES]
    steps = [
        *loops[:1],
        *(Place(p.path, p.line, p.symbol, "assembly", p.why) for p in assembly.locations[:2]),
        *(Place(f.path, f.line, f.symbol, "eviction", f.strategy) for f in evictions[:4]),
        *(Place(p.path, p.line, p.symbol, "storage", p.why) for t in tiers for p in t.locations[:1]),
    ]
    return FileMap({path: roles[path] for path in ranked}, steps)


def control_loops(world: World) -> list[Place]:
    """Return the loops that ask a model and execute its calls, where a reader of an agent's code should start."""
    loops = [(f, line) for f in world.functions if (line := _asks_in_loop(world, f))]
    loops.sort(key=lambda pair: (-_weight(world, pair[0]), pair[0].path, pair[1]))
    return [Place(f.path, line, f.symbol, "control loop", "asks the model in a loop") for f, line in loops[:_MAX_LOOPS]]


def _asks_in_loop(world: World, function: Function) -> int:
    """Return the line of a call inside a loop that reaches a model, or 0."""
    direct = next((c.line for c in function.model_calls if c.in_loop), 0)
    if direct:
        return direct
    near = [c for c, f in world.callees.get(function.key, []) if world.model_depth.get(f.key, 9) <= _LOOP_REACH]
    return next((c.line for c in near if c.in_loop), 0)


def _weight(world: World, function: Function) -> int:
    """Return how closely a function resembles an agent's loop: it handles tools, has a matching name, and is not a
    retry."""
    named = set(words.words(function.symbol))
    handles = any({"tool", "tools"} & set(words.words(c.name)) for c in function.calls)
    runs = bool(named & {"run", "loop", "agent", "step", "turn", "execute", "chat", "stream", "main"})
    aside = bool(named & {"retry", "test", "batch", "eval", "evaluate", "embed"}) or function.path in world.screens
    return 3 * handles + 2 * runs + ("minds_tools" in function.marks) - 4 * aside


def _note(roles: dict[str, list[str]], path: str, role: str) -> None:
    own = roles.setdefault(path, [])
    if role not in own:
        own.append(role)

"""Computes the interprocedural backward slice from a model call, which shows the slots that reach it, their order, and
the lines that fill them. The parts of the request (`parts.py`) are resolved backwards over the call graph. A parameter
is resolved at the callers, a call at the return values of the callee, and a field at the methods that assign it. The
main call is the one that `_rank` puts first; calls that summarise or name a conversation rank lower.
"""

from __future__ import annotations

from dataclasses import dataclass

from memorist_analyze.records import Call, Function, Part
from memorist_analyze.slots import ORDER
from memorist_analyze.world import World

_MAX_DEPTH = 7
_MAX_CALLERS = 6
# Slots that a function returns if it is named after them, whatever its arguments: `build_system_prompt(messages)`.
_NAMED_SLOTS = ("system_prompt", "summary", "examples", "reminder")
# The smallest number of slots a slice needs before its order is reported.
MIN_SLOTS = 3


@dataclass(slots=True, frozen=True)
class Step:
    """Represents a slot of the slice, with the line that fills it."""

    slot: str
    path: str
    symbol: str
    line: int
    why: str


@dataclass(slots=True)
class Slice:
    """Represents one model call, with the slots that reach it, in order."""

    function: Function
    line: int
    steps: list[Step]

    @property
    def order(self) -> list[str]:
        """Return the slots in order of first occurrence, with tools moved after the system prompt, as providers render
        them."""
        slots = list(dict.fromkeys(step.slot for step in self.steps))
        if {"tools", "system_prompt"} <= set(slots):
            slots.remove("tools")
            slots.insert(slots.index("system_prompt") + 1, "tools")
        return slots


def main_slice(world: World, functions: list[Function]) -> Slice | None:
    """Return the slice of the main model call among these functions, or None if no slice shows enough slots."""
    best: Slice | None = None
    for function in functions:
        for line, parts in sorted(function.sent_parts.items()):
            candidate = Slice(function, line, _Walk(world).steps(function, parts))
            if len(candidate.order) >= MIN_SLOTS and (best is None or _rank(candidate) > _rank(best)):
                best = candidate
    return best


def _rank(candidate: Slice) -> tuple[bool, bool, int, int]:
    """Return the rank of a slice. A system prompt counts most, then tools, then the most slots in the fewest
    functions."""
    order = candidate.order
    places = len({(step.path, step.symbol) for step in candidate.steps})
    return (order[0] == "system_prompt", "tools" in order, len(order), -places)


class _Walk:
    """Performs one backward walk. A part that is being resolved is not entered again, which ends recursion."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: set[tuple[str, str, str]] = set()

    def steps(self, function: Function, parts: tuple[Part, ...], depth: int = 0) -> list[Step]:
        """Return the slots of a function's parts in order, without repetitions."""
        unique: list[Step] = []
        for part in parts:
            for step in self._part(function, part, depth):
                if not any(step.slot == other.slot for other in unique):
                    unique.append(step)
        return unique

    def _part(self, function: Function, part: Part, depth: int) -> list[Step]:
        if part.kind == "slot":
            return [Step(part.name, function.path, function.symbol, part.line, part.says)]
        request = (function.key, part.kind, part.name)
        if depth > _MAX_DEPTH or request in self._seen:
            return self._suggest_slot(function, part)
        self._seen.add(request)
        steps = {"param": self._param, "call": self._call, "field": self._field}[part.kind](function, part, depth)
        self._seen.discard(request)
        return steps

    def _suggest_slot(self, function: Function, part: Part) -> list[Step]:
        """Return the slot that the part's own name suggests, as a fallback if the part cannot be resolved."""
        return [Step(part.says, function.path, function.symbol, part.line, part.name)] if part.says else []

    def _param(self, function: Function, part: Part, depth: int) -> list[Step]:
        """Resolve a parameter at the callers. If there are several, use the one that yields the most slots."""
        names = [p.name for p in function.params]
        best = self._suggest_slot(function, part)
        for call, caller in self._world.callers.get(function.key, [])[:_MAX_CALLERS]:
            argument_parts = _argument(caller, call, names, part.name)
            steps = self.steps(caller, argument_parts, depth + 1)
            if len(steps) > len(best):
                best = steps
        return best

    def _call(self, function: Function, part: Part, depth: int) -> list[Step]:
        """Resolve a call at the return value of the callee, or at its arguments if those yield more slots."""
        best: list[Step] = []
        for target in self._world.summaries.targets(function, part.name):
            steps = self.steps(target, target.returned_parts, depth + 1)
            if len(steps) > len(best):
                best = steps
        inner = self.steps(function, part.inner, depth + 1)
        if not best or len(inner) > len(best):
            best = inner
        if best and part.says not in _NAMED_SLOTS:
            return best
        return [*(s for s in self._suggest_slot(function, part) if s.slot not in {b.slot for b in best}), *best]

    def _field(self, function: Function, part: Part, depth: int) -> list[Step]:
        """Resolve a field at all methods of the class that assign it. The slots are put into the conventional order."""
        steps = self._suggest_slot(function, part)
        if function.owner:
            for other in self._world.functions_of.get(function.path, []):
                if other.owner == function.owner and part.name in other.filled:
                    steps += self.steps(other, other.filled[part.name], depth + 1)
        unique = {step.slot: step for step in reversed(steps)}
        return sorted(unique.values(), key=lambda step: ORDER.index(step.slot))


def _argument(caller: Function, call: Call, names: list[str], param_name: str) -> tuple[Part, ...]:
    """Return the parts of a call's argument for a parameter, matched by name or by position."""
    handed = caller.handed.get(call.line, {})
    if param_name in handed:
        return handed[param_name]
    bound = [n for n in names if n not in ("self", "cls")]
    return handed.get(str(bound.index(param_name)), ()) if param_name in bound else ()

"""Builds the evidence slice of a candidate, which shows where the messages come from, what is cut, what triggers it,
and who reads the result. The path to the model is positive evidence, and is reported only if the code shows each step.
Without it, elision and offload are not shown by default, because most texts that programs shorten are read by people.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memorist_analyze import words
from memorist_analyze.records import Call, Effect, Function
from memorist_analyze.world import World

_MAX_CALLS_UP = 3  # calls from a helper up to the function that asks the model
_MAX_CALLS_TO_MODEL = 2  # calls from there down to the model call
_MAX_CALLERS = 12
_IN_PLACE = ("stored", "replaced")


@dataclass(frozen=True, slots=True)
class Step:
    """Represents one line of a slice."""

    path: str
    line: int
    symbol: str
    note: str


@dataclass(slots=True)
class Support:
    """Represents the slice of one candidate. `reader` says who reads the shortened text: `model` (the function sends
    it), `caller` (a caller passes it to a model), `field` (a method of the same class sends the field), `tool` (the
    model reads it as the result of a tool), or an empty string if the code does not show it. `way` contains the lines
    from the cut to the model call.
    """

    source: Step
    cut: Step
    measure: Step | None
    reader: str = ""
    way: list[Step] = field(default_factory=list)


def support_of(world: World, function: Function, effect: Effect) -> Support:
    """Return the slice that supports a candidate."""
    reader, way = _way_to_model(world, function, effect)
    cut = Step(function.path, effect.line, function.symbol, effect.evidence)
    return Support(_source(world, function, effect), cut, _measure(world, function, effect), reader, way)


def _source(world: World, function: Function, effect: Effect) -> Step:
    root, _, rest = effect.subject.partition(".")
    if any(p.name == root for p in function.params):
        for call, caller in world.callers.get(function.key, [])[:1]:
            return Step(caller.path, call.line, caller.symbol, f"hands over `{root}`")
        return Step(function.path, function.line, function.symbol, f"is given `{root}`")
    name = rest.partition(".")[0]
    if root in ("self", "this") and name:
        for record in world.classes.get(function.owner, []):
            if record.path == function.path and name in record.fields:
                return Step(record.path, record.fields[name][2], record.name, f"holds `{name}`")
        return Step(function.path, function.line, function.owner, f"holds `{name}`")
    return Step(function.path, function.line, function.symbol, f"makes `{effect.subject}`")


def _measure(world: World, function: Function, effect: Effect) -> Step | None:
    """Return the comparison that triggers the cut: before the cut, elsewhere in the function, or before a call to
    it."""
    own = [(kind, line) for kind, line in function.guards if line <= effect.line] or list(function.guards)
    for kind, line in reversed(own):
        if not effect.guards or kind in effect.guards:
            return Step(function.path, line, function.symbol, kind)
    for call, caller in world.callers.get(function.key, []):
        if call.guards:
            return Step(caller.path, call.line, caller.symbol, call.guards[0])
    return None


def _way_to_model(world: World, function: Function, effect: Effect) -> tuple[str, list[Step]]:
    if function.model_calls:
        model_call = next((c for c in function.model_calls if c.line >= effect.line), function.model_calls[0])
        return "model", [_step(function, model_call, "asks the model")]
    up = _from_callers(world, function, effect)
    if up:
        return "caller", up
    beside = _from_field(world, function, effect)
    if beside:
        return "field", beside
    if _is_tool(world, function):
        return "tool", [Step(function.path, function.line, function.symbol, "is a tool, whose answer the model reads")]
    return "", []


def _from_callers(world: World, function: Function, effect: Effect) -> list[Step]:
    """Return the chain of calls from a function that asks a model down to this one, if each call passes the shortened
    text on."""
    edge: list[tuple[Function, list[Step]]] = [(function, [])]
    visited = {function.key}
    in_place = effect.flow in _IN_PLACE
    for _ in range(_MAX_CALLS_UP):
        following: list[tuple[Function, list[Step]]] = []
        for current, steps in edge:
            for call, caller in world.callers.get(current.key, [])[:_MAX_CALLERS]:
                if caller.key in visited or not (in_place or _goes_on(caller, call)):
                    continue
                visited.add(caller.key)
                onward = [*steps, _step(caller, call, f"calls {current.name}")]
                if world.model_depth.get(caller.key, 9) <= _MAX_CALLS_TO_MODEL:
                    down = world.model_path(caller)
                    return [*onward, *(Step(f.path, line, f.symbol, "towards the model") for f, line in down)]
                following.append((caller, onward))
                if _is_tool(world, caller):
                    return [*onward, Step(caller.path, caller.line, caller.symbol, "is a tool")]
        edge = following
    return []


def _goes_on(caller: Function, call: Call) -> bool:
    """Return whether the caller returns the result, or passes it to another call that does more than log it."""
    result_origin = f"call:{call.callee}"
    return result_origin in caller.returned or any(
        result_origin in other.fed and other.callee != call.callee and not words.LOGGING.search(other.callee)
        for other in (*caller.calls, *caller.model_calls)
    ) or any(result_origin in e.fed for e in caller.effects)  # fmt: skip


def _from_field(world: World, function: Function, effect: Effect) -> list[Step]:
    """Return a method of the same class that sends the changed field to a model, or passes it to a function that
    does."""
    parts = effect.subject.split(".")
    if len(parts) < 2 or parts[0] not in ("self", "this") or not function.owner:
        return []
    for other in world.functions_of.get(function.path, []):
        if other.owner == function.owner and other is not function and parts[1] in other.exposed_fields:
            if world.model_depth.get(other.key, 9) <= _MAX_CALLS_TO_MODEL:
                down = world.model_path(other)
                return [Step(f.path, line, f.symbol, "towards the model") for f, line in down]
            for call, caller in world.callers.get(other.key, [])[:_MAX_CALLERS]:
                if world.model_depth.get(caller.key, 9) <= _MAX_CALLS_TO_MODEL:
                    return [_step(caller, call, f"reads `{parts[1]}`")]
    return []


def _is_tool(world: World, function: Function) -> bool:
    """Return whether a function is one of the agent's tools: decorated, listed in a table of tools, or in a class of
    tools."""
    if "dispatched" in function.marks:
        return True
    owners = {function.owner, *(b for c in world.classes.get(function.owner, []) for b in c.bases)}
    return any({"tool", "toolkit"} & set(words.words(name)[-1:]) for name in owners)


def _step(function: Function, call: Call, note: str) -> Step:
    return Step(function.path, call.line, function.symbol, note)

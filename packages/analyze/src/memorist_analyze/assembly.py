"""Determines which slots the model's context contains, their order, and how the context is built.

The order is that of a backward slice from the main model call (`slices.py`). A slot that is filled near a model call
but is not on the slice is inserted at its position in the conventional order (`slots.ORDER`). Without a slice, the
conventional order is reported and `determined` is false.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memorist_analyze import words
from memorist_analyze.records import Evidence, Function
from memorist_analyze.slices import Slice, main_slice
from memorist_analyze.slots import ORDER
from memorist_analyze.world import World

# Slots that are reported only when a function that returns messages fills them, or a concatenation shows them: their
# words alone are common and prove nothing.
_RARE_SLOTS = ("examples", "context_files", "reminder", "retrieved_memory")


@dataclass(slots=True)
class Place:
    """Represents a line of code, with its role in the report (a slot, `main_call`, `storage`, ...) and why it was
    chosen."""

    path: str
    line: int
    symbol: str
    role: str
    why: str


@dataclass(slots=True)
class Assembly:
    """Holds the order of the slots, how the prompt is built, and the lines that show it."""

    order: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    locations: list[Place] = field(default_factory=list)
    determined: bool = False
    slots: dict[str, list[Place]] = field(default_factory=dict)


def assembly(world: World) -> Assembly:
    """Determine the slots and their order from the functions near model calls in the call graph."""
    around = _around_model(world)
    hints_by_slot: dict[str, list[tuple[Function, Evidence]]] = {}
    for function in around:
        for hint in function.slots:
            hints_by_slot.setdefault(hint.value, []).append((function, hint))
    slots = {slot: places for slot, places in hints_by_slot.items() if _is_believable(slot, places)}
    best_slice = main_slice(world, around)
    result = Assembly(order=_order_slots(best_slice, slots), determined=best_slice is not None)
    result.methods = _methods(world, around)
    for slot, places in sorted(slots.items()):
        ranked = sorted(places, key=lambda p: (-_weight(p[0]), p[0].path, p[1].line))[:3]
        result.slots[slot] = [Place(f.path, e.line, f.symbol, slot, e.why) for f, e in ranked]
    for step in best_slice.steps if best_slice is not None else ():
        # The line on the slice comes first; lines that only mention the slot follow.
        filled_at = Place(step.path, step.line, step.symbol, step.slot, step.why)
        others = [p for p in result.slots.get(step.slot, []) if (p.path, p.line) != (step.path, step.line)]
        result.slots[step.slot] = [filled_at, *others][:3]
    result.locations = _locations(best_slice, around)
    return result


def _around_model(world: World) -> list[Function]:
    """Return the functions at most two calls away from a model call, and the message builders they call, up to three
    levels deep."""
    functions: dict[str, Function] = {}
    edge: list[Function] = []
    for function in world.functions:
        if function.name == "<module>" or _is_elsewhere(function.path):
            continue
        named = {"messages", "prompt", "context", "request"} & set(words.words(function.name))
        if world.model_depth.get(function.key, 9) <= 2 or (_builds(function) and named):
            functions[function.key] = function
            edge.append(function)
    for _ in range(3):
        following: list[Function] = []
        for function in edge:
            for _, target in world.callees.get(function.key, []):
                if target.key not in functions and _builds(target) and not _is_elsewhere(target.path):
                    functions[target.key] = target
                    following.append(target)
        edge = following
    return sorted(functions.values(), key=lambda f: (f.path, f.line))


def _is_elsewhere(path: str) -> bool:
    """Return whether a file's model calls belong to a user interface, data generation or evaluation, not to the
    agent."""
    return words.draws_ui(path) or bool(
        set(words.words(path))
        & {"datagen", "dataset", "datasets", "benchmark", "benchmarks", "evaluation", "evaluators"}
    )


def _builds(function: Function) -> bool:
    return "gives_messages" in function.marks or bool(
        {"prompt", "messages", "context", "memory", "format", "request"} & set(words.words(function.symbol))
    )


def _is_believable(slot: str, places: list[tuple[Function, Evidence]]) -> bool:
    if slot == "retrieved_memory":
        return len({f.path for f, _ in places}) >= 1 and any(_is_memory(f) for f, _ in places)
    if slot in _RARE_SLOTS:
        return any("gives_messages" in f.marks or e.why.startswith("concatenated") for f, e in places)
    return True


def _is_memory(function: Function) -> bool:
    name_words = set(words.words(function.path)) | set(words.words(function.symbol))
    return bool(name_words & {"memory", "memories", "context", "agent", "prompt", "chat", "coder", "messages"})


def _weight(function: Function) -> int:
    concatenations = sum(e.why.startswith("concatenated") for e in function.slots)
    return (
        3 * concatenations + len(function.slots) + 2 * bool(function.model_calls) + ("gives_messages" in function.marks)
    )


def _order_slots(best_slice: Slice | None, slots: dict[str, list[tuple[Function, Evidence]]]) -> list[str]:
    """Return the order of the slice, with missing slots inserted at their conventional positions."""
    present = [slot for slot in ORDER if slot in slots]
    if best_slice is None:
        return present
    order = best_slice.order
    for slot in present:
        if slot not in order:
            later = (
                at for at, other in enumerate(order) if ORDER.index(other) > ORDER.index(slot) and other != "tools"
            )
            order.insert(next(later, len(order)), slot)
    return order


def _methods(world: World, around: list[Function]) -> list[str]:
    methods: list[str] = []
    names = {c.name for f in around for c in f.calls}
    if names & {"render", "format", "format_messages", "from_template", "Template", "get_template", "replace"}:
        methods.append("template")
    if any("gives_messages" in f.marks for f in around):
        methods.append("message_list")
    builders = {"builder", "build", "compose", "assemble", "creator", "chunks"}
    if any(builders & set(words.words(f.symbol)) for f in around):
        methods.append("programmatic_builder")
    return methods or ["not determined"]


def _locations(best_slice: Slice | None, around: list[Function]) -> list[Place]:
    """Return up to twelve lines: the main model call, the line that fills each slot of its slice, and other model
    calls.
    """
    places: list[Place] = []
    if best_slice is not None:
        main = best_slice.function
        places.append(
            Place(main.path, best_slice.line, main.symbol, "main_call", f"{len(best_slice.order)} slots reach it")
        )
        places += [Place(s.path, s.line, s.symbol, s.slot, s.why) for s in best_slice.steps]
    for function in sorted(around, key=lambda f: (-_weight(f), f.path, f.line)):
        if function.model_calls and len(places) < 12:
            call = function.model_calls[0]
            places.append(Place(function.path, call.line, function.symbol, "model_call", call.callee))
    return places

"""Computes interprocedural function summaries, bottom-up over the call graph. A property ("returns text that a model
wrote", "returns a shorter text", ...) starts at the functions that have it themselves and propagates to callers that
return the result, so that a helper in another file counts like inlined code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from memorist_analyze.origins import MODEL
from memorist_analyze.records import Call, Effect, Function

if TYPE_CHECKING:
    from memorist_analyze.world import World

_MAX_CALL_DEPTH = 4
_HELPER_CALL_DEPTH = 1  # deeper down, the shortened text is only one piece of the result
_MEASURE_TYPES = ("bool", "boolean", "int", "number", "float", "None", "void")
_SIZE_GUARDS = frozenset(("token_count", "char_count"))


class Summaries:
    """Holds the properties of functions, propagated along the call graph. `model_text` and `shortens` contain the keys
    of functions that return text written by a model, and text shorter than their input.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._by_key = {f.key: f for f in world.functions}
        self._targets: dict[str, dict[str, list[Function]]] = {}
        for function in world.functions:
            by_callee: dict[str, list[Function]] = defaultdict(list)
            for call, target in world.callees[function.key]:
                by_callee[call.callee].append(target)
            self._targets[function.key] = by_callee

        self.model_text = self._spread(lambda f: MODEL in f.returned or self._returns_answer(f))
        self.shortens = self._spread(lambda f: "shortens_text" in f.marks, _HELPER_CALL_DEPTH)
        self.shortens_by_size = self._spread(lambda f: "shortens_text" in f.marks and _measures(f), _HELPER_CALL_DEPTH)
        self.asked_with = self._context_sources()
        self._derive()

    def _returns_answer(self, function: Function) -> bool:
        answer_origins = {f"call:{c.callee}" for c in function.model_calls}
        return bool(answer_origins & function.returned)

    def _spread(self, shows: Callable[[Function], bool], reach: int = _MAX_CALL_DEPTH) -> set[str]:
        """Return the functions with a property, and the callers that return their results, up to `reach` calls away."""
        keys = {f.key for f in self.world.functions if f.returns not in _MEASURE_TYPES and shows(f)}
        edge = set(keys)
        for _ in range(reach):
            following: set[str] = set()
            for key in sorted(edge):
                for call, caller in self.world.callers.get(key, []):
                    passed = f"call:{call.callee}" in caller.returned
                    if passed and caller.key not in keys and caller.returns not in _MEASURE_TYPES:
                        following.add(caller.key)
            keys |= following
            edge = following
        return keys

    def _context_sources(self) -> set[str]:
        """Return functions whose return value reaches a model call in a caller, or is returned by it and reaches one
        further up."""
        edge: set[str] = set()
        for function in self.world.functions:
            for model_call in function.model_calls:
                for origin in model_call.fed:
                    if origin.startswith("call:"):
                        edge |= {f.key for f in self.targets(function, origin[5:])}
        sources: set[str] = set()
        for _ in range(_MAX_CALL_DEPTH + 1):
            sources |= edge
            edge = {
                target.key
                for key in edge
                for call, target in self.world.callees.get(key, [])
                if f"call:{call.callee}" in self._by_key[key].returned
            } - sources
        return sources

    def _derive_taken(self, function: Function) -> None:
        """Add effects for a list that a helper sorts by score and this function cuts to a budget, or the other way
        round."""
        here = {e.kind for e in function.effects}
        for call, target in self.world.callees[function.key]:
            sorting_effects = [e for e in target.effects if e.kind == "score_sort" and e.flow == "returned"]
            filled = any(e.kind == "token_fill" and "gathers" in e.marks for e in function.effects)
            if sorting_effects and filled and "score_sort" not in here:
                function.effects.append(replace(sorting_effects[0], line=call.line, guards=call.guards))
                return
            sorted_here = [e for e in function.effects if e.kind == "score_sort" and e.flow == f"passed:{call.name}"]
            if sorted_here and any(e.kind == "token_fill" and "gathers" in e.marks for e in target.effects):
                target.effects.append(replace(sorted_here[0], line=target.line, flow="returned"))
                return

    def _derive(self) -> None:
        """Add offload effects if a helper saves a text that is too large and its answer goes into a note."""
        for function in self.world.functions:
            if function.name != "<module>":
                self._derive_taken(function)
            if function.name == "<module>" or any(e.kind == "offload" for e in function.effects):
                continue
            saved = [
                c
                for c, t in self.world.callees[function.key]
                if "writes_text" in t.marks and _SIZE_GUARDS & set(c.guards)
            ]
            short = [c for c, t in self.world.callees[function.key] if t.key in self.shortens]
            used_origins = [function.returned, *(c.fed for c in short), *(e.fed for e in function.effects)]
            noted_calls = [c for c in saved if short and any(f"call:{c.callee}" in fed for fed in used_origins)]
            if noted_calls:
                saving_call = noted_calls[0]
                marks = frozenset(("noted", "helpers"))
                note = f"{saving_call.callee}(…)"
                effect = Effect(
                    "offload",
                    saving_call.line,
                    saving_call.callee,
                    1,
                    note,
                    "stored",
                    saving_call.guards,
                    marks,
                    saving_call.fed,
                )
                function.effects.append(effect)

    def targets(self, function: Function, callee: str) -> list[Function]:
        """Return the definitions that a callee may refer to in a function (the edges of the call graph)."""
        return self._targets[function.key].get(callee, [])

    def made_by_model(self, function: Function, origins: frozenset[str], depth: int = 0) -> bool:
        """Return whether a value contains text that a model wrote, here, in a callee or in every caller."""
        if MODEL in origins:
            return True
        model_callees = {c.callee for c in function.model_calls}
        for origin in sorted(origins):
            kind, _, name = origin.partition(":")
            if kind == "call" and (name in model_callees or self._any(function, name, self.model_text)):
                return True
            if kind == "param" and depth < 2 and self._is_handed_in(function, name, depth):
                return True
        return False

    def _is_handed_in(self, function: Function, name: str, depth: int) -> bool:
        callers = self.world.callers.get(function.key, [])[:8]
        return bool(callers) and all(
            self.made_by_model(caller, _for_parameter(call, function, name), depth + 1) for call, caller in callers
        )

    def from_any(self, function: Function, origins: frozenset[str], having: set[str]) -> bool:
        """Return whether one of a value's origins leads to a function with a property (a set of keys)."""
        return any(self._any(function, o[5:], having) for o in origins if o.startswith("call:"))

    def _any(self, function: Function, callee: str, having: set[str]) -> bool:
        return any(f.key in having for f in self.targets(function, callee))

    def fate(self, function: Function, flow: str, depth: int = 0) -> str:
        """Return the sink of a value.

        `passed:NAME` is resolved through the parameters of the callee, three calls deep.
        """
        kind, _, name = flow.partition(":")
        if kind != "passed" or depth > 2:
            return flow
        best = flow
        for call, target in self.world.callees.get(function.key, []):
            if call.name == name and target.key != function.key:
                ends = [self.fate(target, f, depth + 1) for f in target.fates.values()]
                for end in ends:
                    if end == "returned" and f"call:{call.callee}" not in function.returned:
                        continue  # the helper returns it, and the caller only reads it
                    if end.partition(":")[0] in ("stored", "returned", "model", "replaced"):
                        return "stored" if end == "stored" else end
        return best


def _for_parameter(call: Call, function: Function, name: str) -> frozenset[str]:
    """Return the origins of all of a call's arguments, if the function has this parameter."""
    return call.fed if any(p.name == name for p in function.params) else frozenset()


def _measures(function: Function) -> bool:
    """Return whether the function compares a size with a limit."""
    return any(kind in _SIZE_GUARDS for kind, _ in function.guards)

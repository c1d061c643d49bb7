"""What functions do, told bottom-up, so that a helper in another file counts as if it stood in the caller.

Each property starts with the functions that show it themselves and spreads to those that pass the result on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.analyze.origins import MODEL
from recollect.analyze.records import Call, Effect, Function

if TYPE_CHECKING:
    from recollect.analyze.world import World

_REACH = 4
_MEASURED = ("bool", "boolean", "int", "number", "float", "None", "void")
_TOO_LARGE = frozenset(("token_count", "char_count"))
CUTTING = frozenset(
    ("slice", "token_fill", "token_trim", "count_fill", "filter", "kept_in_loop", "pop_front", "sorted_cut")
)


class Summaries:
    """Properties of functions that follow the call graph."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._targets: dict[str, dict[str, list[Function]]] = {}
        for function in world.functions:
            by_callee: dict[str, list[Function]] = defaultdict(list)
            for call, target in world.callees[function.key]:
                by_callee[call.callee].append(target)
            self._targets[function.key] = by_callee
        # Returns text a model made; the text or list that goes in comes back shorter; writes what goes in to a file.
        self.model_text = self._spread(lambda f: MODEL in f.returned or self._asked(f))
        self.shortens = self._spread(lambda f: "shortens_text" in f.marks)
        self.cuts = self._spread(lambda f: any(is_cut(e.kind, e.flow, e.marks) for e in f.effects))
        self._derive()

    def _asked(self, function: Function) -> bool:
        asked = {f"call:{c.callee}" for c in function.model_calls}
        return bool(asked & function.returned)

    def _spread(self, shows: Callable[[Function], bool]) -> set[str]:
        """Functions that show a property, and those that give back what such a function gave them."""
        found = {f.key for f in self.world.functions if f.returns not in _MEASURED and shows(f)}
        edge = set(found)
        for _ in range(_REACH):
            following: set[str] = set()
            for key in sorted(edge):
                for call, caller in self.world.callers.get(key, []):
                    passed = f"call:{call.callee}" in caller.returned
                    if passed and caller.key not in found and caller.returns not in _MEASURED:
                        following.add(caller.key)
            found |= following
            edge = following
        return found

    def _derive(self) -> None:
        """Effects that only show when helpers are known: a text saved by one and shortened by another."""
        for function in self.world.functions:
            if function.name == "<module>" or any(e.kind == "offload" for e in function.effects):
                continue
            saved: Call | None = None
            short = False
            for call, target in self.world.callees[function.key]:
                if "writes_text" in target.marks and _TOO_LARGE & set(call.guards):
                    saved = saved or call
                short = short or target.key in self.shortens
            if saved is not None and short:
                marks = frozenset(("noted", "helpers"))
                said = f"{saved.callee}(…)"
                effect = Effect("offload", saved.line, saved.callee, 1, said, "stored", saved.guards, marks, saved.fed)
                function.effects.append(effect)

    def targets(self, function: Function, callee: str) -> list[Function]:
        """The definitions a callee means in one function."""
        return self._targets[function.key].get(callee, [])

    def made_by_model(self, function: Function, origins: frozenset[str], depth: int = 0) -> bool:
        """Does a value with these origins hold something a model said?"""
        if MODEL in origins:
            return True
        asked = {c.callee for c in function.model_calls}
        for origin in sorted(origins):
            kind, _, name = origin.partition(":")
            if kind == "call" and (name in asked or self._any(function, name, self.model_text)):
                return True
            if kind == "param" and depth < 2 and self._handed_in(function, name, depth):
                return True
        return False

    def _handed_in(self, function: Function, name: str, depth: int) -> bool:
        callers = self.world.callers.get(function.key, [])[:8]
        return bool(callers) and all(
            self.made_by_model(caller, _for_parameter(call, function, name), depth + 1) for call, caller in callers
        )

    def from_any(self, function: Function, origins: frozenset[str], having: set[str]) -> bool:
        """Was a value given by a call of a function that has a property?"""
        return any(self._any(function, o[5:], having) for o in origins if o.startswith("call:"))

    def _any(self, function: Function, callee: str, having: set[str]) -> bool:
        return any(f.key in having for f in self.targets(function, callee))

    def fate(self, function: Function, flow: str, depth: int = 0) -> str:
        """Where a value ends, followed into the functions it is passed to."""
        kind, _, name = flow.partition(":")
        if kind != "passed" or depth > 2:
            return flow
        best = flow
        for call, target in self.world.callees.get(function.key, []):
            if call.name == name and target.key != function.key:
                ends = [self.fate(target, f, depth + 1) for f in target.fates.values()]
                for end in ends:
                    if end.partition(":")[0] in ("stored", "returned", "model", "replaced"):
                        return "stored" if end == "stored" else end
        return best


def _for_parameter(call: Call, function: Function, name: str) -> frozenset[str]:
    """What goes into a call; the arguments are not told apart."""
    return call.fed if any(p.name == name for p in function.params) else frozenset()


def is_cut(kind: str, flow: str, marks: frozenset[str]) -> bool:
    """Does an effect make a list shorter and hand it on?"""
    if kind not in CUTTING or flow == "read" or flow.startswith("passed"):
        return False
    return kind != "slice" or not marks & {"skip_known", "last"}

"""Builds the whole-program view of a checkout: symbol tables, the call graph, the distance to a model call, and dead
code."""

from __future__ import annotations

import re
from collections import defaultdict

from memorist_analyze import words
from memorist_analyze.records import Call, Class, File, Function
from memorist_analyze.summaries import Summaries
from memorist_analyze.words import bag

# Method names so common that a call is resolved only when its receiver matches the class.
_GENERIC = bag(
    "get set add run call put append pop update clear format items keys values join split load save read write close "
    "open copy create build process execute invoke handle send start stop reset init next print log info debug map "
    "filter find push insert remove delete list search query validate parse render apply main name type step chat "
    "forward emit on register from_dict to_dict from_defaults __init__ constructor tostring stringify warn error"
)
MODEL_REACH = 3
# If more classes have a method, a call resolves only if its receiver or package identifies the class.
_MAX_CLASSES_PER_METHOD = 6
_IDENTIFIER = re.compile(r"\w+")
_ALIAS = re.compile(r"(\w+)\s+as\s+(\w+)")


class World:
    """Holds the symbol tables and the call graph of all files in one checkout.

    `callees` and `callers` are the edges of the call graph by function key. `model_depth` is the number of calls
    from a function to a model call, up to `MODEL_REACH`; functions farther away are absent.
    """

    def __init__(self, files: list[File]) -> None:
        self.files = files
        self.functions: list[Function] = [f for file in files for f in file.functions]
        self.functions_of: dict[str, list[Function]] = {f.path: f.functions for f in files}
        self.by_name: dict[str, list[Function]] = defaultdict(list)
        self.by_class: dict[tuple[str, str], list[Function]] = defaultdict(list)
        self.classes: dict[str, list[Class]] = defaultdict(list)
        self.subclasses: dict[str, list[Class]] = defaultdict(list)
        self.imports: dict[str, set[str]] = {}
        self.packages = {f.path: f.package for f in files}
        self.screens = _screens(files)
        self.aliases: dict[str, dict[str, str]] = {}
        self._index()
        self.callees: dict[str, list[tuple[Call, Function]]] = {}
        self.callers: dict[str, list[tuple[Call, Function]]] = defaultdict(list)
        self._link()
        for function in self.functions:
            # A call judged by its keyword arguments is a model call only if the checkout does not define the callee.
            resolved_callees = {call.callee for call, _ in self.callees[function.key]}
            function.model_calls.extend(c for c in function.likely_model_calls if c.callee not in resolved_callees)
            function.likely_model_calls = []
        # The call sites that construct each class.
        self.built: dict[str, list[tuple[Function, Call]]] = defaultdict(list)
        for function in self.functions:
            for call in function.calls:
                if call.name in self.classes:
                    self.built[call.name].append((function, call))
        self.summaries = Summaries(self)
        self.model_depth = self._depths([f for f in self.functions if f.model_calls])

    def _index(self) -> None:
        self.references: dict[str, dict[str, int]] = defaultdict(dict)
        # Modules re-exported with `*`: all their public names are part of the API and count as used.
        self.starred: set[str] = set()
        for file in self.files:
            for name, count in file.references.items():
                self.references[name][file.path] = count
            for record in file.classes:
                self.classes[record.name].append(record)
                for base in record.bases:
                    self.subclasses[base].append(record)
            for module, names, _ in file.imports:
                if names == "*":
                    self.starred.add(module.rpartition("/")[2].split(".")[0 if "/" in module else -1])
            self.imports[file.path] = {n for _, names, _ in file.imports for n in _names(names)}
            self.aliases[file.path] = {
                new: old for _, names, _ in file.imports for old, new in _ALIAS.findall(names) if old != new
            }
        for function in self.functions:
            self.by_name[function.name].append(function)
            if function.owner:
                self.by_class[function.owner, function.name].append(function)

    def _link(self) -> None:
        nested: dict[tuple[str, str], list[Function]] = defaultdict(list)
        for function in self.functions:
            parent, _, _ = function.symbol.rpartition(".")
            if parent:
                nested[function.path, parent].append(function)
        for function in self.functions:
            links: list[tuple[Call, Function]] = []
            for call in function.calls:
                links.extend((call, target) for target in self.resolve(call, function) if target is not function)
            # A nested function counts as called by the enclosing one, which passes it to a runner or returns it.
            links.extend((Call(f.name, f.line), f) for f in nested.get((function.path, function.symbol), []))
            self.callees[function.key] = links
            for call, target in links:
                self.callers[target.key].append((call, function))

    def resolve(self, call: Call, caller: Function) -> list[Function]:
        """Return the definitions that a call may refer to, most likely first. The list is empty if the name is too
        common to tell."""
        name, owner = call.name, call.owner
        if not owner:
            name = self.aliases.get(caller.path, {}).get(name, name)
        candidates = self.by_name.get(name)
        if not candidates:
            return []
        if owner in ("self", "cls", "super", "this") and caller.owner:
            related = self._family(caller.owner, name)
            if related:
                return related[:6]
        if not owner:
            local = [f for f in candidates if f.path == caller.path and not f.owner]
            free = local or [f for f in candidates if not f.owner and name in self.imports.get(caller.path, ())]
            return free[:4]
        hint = set(words.words(owner.rpartition(".")[2])) - {"self"}
        matching = [f for f in candidates if f.owner and hint & _stems(f.owner)]
        own = self.packages.get(caller.path, "")
        matching.sort(key=lambda f: (-len(hint & _stems(f.owner)), self.packages.get(f.path, "") != own))
        if name.lower() in _GENERIC:
            return matching[:6]
        if len(candidates) > _MAX_CLASSES_PER_METHOD:
            candidates = [f for f in candidates if self.packages.get(f.path, "") == own]
        return (matching or (candidates if len(candidates) <= _MAX_CLASSES_PER_METHOD else []))[:6]

    def _family(self, owner: str, name: str) -> list[Function]:
        """Return the methods with this name in a class, its ancestors and its descendants, but not in its siblings."""
        methods: list[Function] = []
        for upward in (True, False):
            visited = {owner}
            queue = [owner]
            while queue:
                current = queue.pop(0)
                methods.extend(f for f in self.by_class.get((current, name), []) if f not in methods)
                related = (
                    [b for c in self.classes.get(current, []) for b in c.bases]
                    if upward
                    else [c.name for c in self.subclasses.get(current, [])]
                )
                for relative in related:
                    if relative not in visited and len(visited) < 40:
                        visited.add(relative)
                        queue.append(relative)
        return methods

    def _depths(self, sources: list[Function]) -> dict[str, int]:
        depth = {f.key: 0 for f in sources}
        edge = list(sources)
        for level in range(1, MODEL_REACH + 1):
            following: list[Function] = []
            for function in edge:
                for _, caller in self.callers.get(function.key, []):
                    if caller.key not in depth:
                        depth[caller.key] = level
                        following.append(caller)
            edge = following
        return depth

    def model_path(self, function: Function) -> list[tuple[Function, int]]:
        """Return the path to the nearest model call: each function with the line of its next call."""
        steps: list[tuple[Function, int]] = []
        current = function
        while current.key in self.model_depth:
            level = self.model_depth[current.key]
            if level == 0:
                steps.append((current, current.model_calls[0].line))
                return steps
            onward = [(c, f) for c, f in self.callees[current.key] if self.model_depth.get(f.key, 99) < level]
            if not onward:
                return steps
            call, target = onward[0]
            steps.append((current, call.line))
            current = target
        return steps

    def is_wired(self, function: Function) -> bool:
        """Return whether code outside tests uses the function for more than returning its result from a method that
        nothing calls.
        """
        return self._is_referred_to(function) and not self._only_answers_users(function, {function.key})

    def _only_answers_users(self, function: Function, visited: set[str]) -> bool:
        """Return whether a private function is called only by functions that return its result and that nothing refers
        to.
        """
        callers = {f.key: f for _, f in self.callers.get(function.key, [])}
        if (
            not function.name.startswith("_")
            or function.name.startswith("__")
            or not callers
            or callers.keys() & visited
        ):
            return False
        calls = [(c, f) for f in callers.values() for c in f.calls if c.name == function.name]
        if sum(self.references.get(function.name, {}).values()) > len(calls):
            return False
        if not all(f"call:{c.callee}" in f.returned for c, f in calls):
            return False
        visited |= callers.keys()
        return all(not self._is_referred_to(f) or self._only_answers_users(f, visited) for f in callers.values())

    def _is_referred_to(self, function: Function) -> bool:
        stem = function.path.rpartition("/")[2].partition(".")[0]
        if function.name == "<module>" or (stem in self.starred and not function.name.startswith("_")):
            return True
        if function.owner:
            records = [c for c in self.classes.get(function.owner, []) if c.path == function.path]
            elsewhere = any(p != function.path for p in self.references.get(function.owner, {}))
            within = self.references.get(function.owner, {}).get(function.path, 0) > 0
            if not (elsewhere or within or any(self._family_used(c) for c in records)):
                return False
            overrides = any(b in self.classes for c in records for b in c.bases)
            return (
                overrides
                or function.name.startswith("__")
                or bool(self.references.get(function.name))
                or bool(function.decorators)
            )
        return bool(self.references.get(function.name)) or bool(function.decorators)

    def is_used_by_screens(self, function: Function) -> bool:
        """Return whether only user interfaces use a class, and at least one of them does."""
        users = {p for p in self.references.get(function.owner, {}) if p != function.path and self.functions_of[p]}
        return bool(function.owner) and bool(users) and users <= self.screens

    def can_be_given(self, function: Function, name: str) -> bool:
        """Return whether code in the checkout can fill this parameter. This is not the case for an optional object that
        no code creates. A class counts as created if it is called, asked for an instance (`Options.parse(…)`),
        inherited from, or accepted by a function registered with a decorator, such as a route that a request fills.
        """
        param = next((p for p in function.params if p.name == name), None)
        if param is None or param.default != "None":
            return True
        kinds = [kind for kind in _IDENTIFIER.findall(param.annotation) if kind in self.classes]
        return not kinds or any(self._is_made(kind) for kind in kinds)

    def _is_made(self, kind: str) -> bool:
        if self.built.get(kind) or self.subclasses.get(kind):
            return True
        return any(
            any(c.owner.rpartition(".")[2] == kind for c in f.calls)
            or (
                any("(" in d for d in f.decorators) and any(kind in _IDENTIFIER.findall(p.annotation) for p in f.params)
            )
            for f in self.functions
        )

    def _family_used(self, record: Class) -> bool:
        return any(
            sub.name != record.name and self.references.get(sub.name) for sub in self.subclasses.get(record.name, [])
        )


def _screens(files: list[File]) -> set[str]:
    """Return the files that draw a user interface, and all files of folders or packages in which most files do."""
    drawn = {f.path for f in files if words.draws_ui(f.path, (module for module, _, _ in f.imports))}
    folders: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for folder in {file.path.rpartition("/")[0], file.package} - {""}:
            folders[folder].append(file.path)
    return drawn.union(*(p for p in folders.values() if 2 * sum(path in drawn for path in p) > len(p)))


def _names(text: str) -> list[str]:
    return [n for n in text.replace("{", " ").replace("}", " ").replace(",", " ").split() if n.isidentifier()]


def _stems(owner: str) -> set[str]:
    owner_words = set(words.words(owner))
    return owner_words | {w + "s" for w in owner_words}

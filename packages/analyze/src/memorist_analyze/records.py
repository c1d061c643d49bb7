"""The facts extracted from code as picklable records (they cross process boundaries): files, classes, functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from memorist_analyze.syntax import Param


@dataclass(slots=True)
class Effect:
    """Something a function does to a list of messages or to the content of one.

    `likeness` says how likely the subject is a message list (0 to 2), `flow` where the result goes (the sinks of
    `flow.py`), `guards` which conditions it depends on (`guards.py`), `marks` details that conditions test.
    """

    kind: str
    line: int
    subject: str
    likeness: int
    evidence: str
    flow: str = ""
    guards: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    fed: frozenset[str] = frozenset()  # origins of the new value, see `origins.py`


@dataclass(slots=True)
class Call:
    """One call site: the dotted callee, the names in its arguments, its guards, and the arguments' origins (`fed`)."""

    callee: str
    line: int
    args: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    fed: frozenset[str] = frozenset()
    in_loop: bool = False

    @property
    def name(self) -> str:
        """The called function's own name."""
        return self.callee.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The receiver: the dotted callee without the function's own name."""
        return self.callee.rpartition(".")[0]


@dataclass(slots=True)
class Evidence:
    """A line of code that shows one value: a counting method, a storage, a slot."""

    value: str
    line: int
    symbol: str
    why: str


@dataclass(slots=True, frozen=True)
class Part:
    """One part of a list of messages: a known slot, or a reference to be resolved by `slices.py`.

    `kind` is slot, param, call or field, and `name` which one. `says` is the evidence of a slot, or for a reference the
    slot that its own name suggests. `inner` are the parts in the arguments of a call.
    """

    kind: str
    name: str
    line: int
    says: str = ""
    inner: tuple[Part, ...] = ()


@dataclass(slots=True)
class Function:
    """Everything the rules need to know about one function."""

    path: str
    symbol: str
    name: str
    owner: str
    line: int
    end: int
    params: list[Param] = field(default_factory=list)
    returns: str = ""
    decorators: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    model_calls: list[Call] = field(default_factory=list)
    asked: list[Call] = field(default_factory=list)  # model calls judged by their keyword arguments alone
    effects: list[Effect] = field(default_factory=list)
    guards: list[tuple[str, int]] = field(default_factory=list)
    marks: frozenset[str] = frozenset()
    shape: str = ""
    exceptions: list[str] = field(default_factory=list)
    slots: list[Evidence] = field(default_factory=list)
    returned: frozenset[str] = frozenset()  # origins of the return value, see `origins.py`
    fates: dict[str, str] = field(default_factory=dict)  # the sink of each parameter, see `flow.py`
    shown: frozenset[str] = frozenset()  # message-list fields of the object that leave the function
    # The parts of lists by destination, see `parts.Sequences`.
    sent: dict[int, tuple[Part, ...]] = field(default_factory=dict)
    given: tuple[Part, ...] = ()
    filled: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    handed: dict[int, dict[str, tuple[Part, ...]]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The function's identifier, unique within one checkout."""
        return f"{self.path}:{self.symbol}:{self.line}"


@dataclass(slots=True)
class Class:
    """A class: its bases, and its fields as (annotation, default, line)."""

    path: str
    name: str
    line: int
    end: int
    bases: tuple[str, ...] = ()
    fields: dict[str, tuple[str, str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class File:
    """The facts of one file; `broken` is the reason when it could not be parsed."""

    path: str
    language: str
    lines: int
    package: str = ""
    broken: str = ""
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    imports: list[tuple[str, str, int]] = field(default_factory=list)
    references: dict[str, int] = field(default_factory=dict)
    counting: list[Evidence] = field(default_factory=list)
    storage: list[Evidence] = field(default_factory=list)
    budget: list[Evidence] = field(default_factory=list)
    constants: dict[str, tuple[str, int]] = field(default_factory=dict)
    dispatched: frozenset[str] = frozenset()  # methods in a dispatch table

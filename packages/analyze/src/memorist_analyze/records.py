"""Defines the facts extracted from code (files, classes, functions) as records that can be pickled, because they cross
process boundaries."""

from __future__ import annotations

from dataclasses import dataclass, field

from memorist_analyze.syntax import Param


@dataclass(slots=True)
class Effect:
    """Represents something that a function does to a list of messages or to a message's content. `likeness` says how
    likely it is that the subject is a message list (0 to 2), and `flow` says where the result goes (the sinks in
    `flow.py`). `guards` are the conditions that it depends on (`guards.py`), and `marks` are details that conditions
    test.
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
    """Describes one call site: the dotted callee, the names in its arguments, its guards, and the arguments' origins
    (`fed`)."""

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
    """Represents a line of code that is evidence for one value, such as a counting method, a storage or a slot."""

    value: str
    line: int
    symbol: str
    why: str


@dataclass(slots=True, frozen=True)
class Part:
    """Represents one part of a list of messages, which is a known slot or a reference that `slices.py` resolves. `kind`
    is slot, param, call or field, and `name` identifies it. `says` is the evidence for a slot or, for a reference, the
    slot that its own name suggests. `inner` contains the parts in the arguments of a call.
    """

    kind: str
    name: str
    line: int
    says: str = ""
    inner: tuple[Part, ...] = ()


@dataclass(slots=True)
class Function:
    """Holds everything that the rules need to know about one function."""

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
    likely_model_calls: list[Call] = field(default_factory=list)  # model calls judged by their keyword arguments alone
    effects: list[Effect] = field(default_factory=list)
    guards: list[tuple[str, int]] = field(default_factory=list)
    marks: frozenset[str] = frozenset()
    shape: str = ""
    exceptions: list[str] = field(default_factory=list)
    slots: list[Evidence] = field(default_factory=list)
    returned: frozenset[str] = frozenset()  # origins of the return value, see `origins.py`
    fates: dict[str, str] = field(default_factory=dict)  # the sink of each parameter, see `flow.py`
    exposed_fields: frozenset[str] = frozenset()  # message-list fields of the object that leave the function
    # The parts of lists by destination, see `parts.Sequences`.
    sent_parts: dict[int, tuple[Part, ...]] = field(default_factory=dict)
    returned_parts: tuple[Part, ...] = ()
    filled: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    handed: dict[int, dict[str, tuple[Part, ...]]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The function's identifier, unique within one checkout."""
        return f"{self.path}:{self.symbol}:{self.line}"


@dataclass(slots=True)
class Class:
    """Describes a class, with its bases, and its fields as (annotation, default, line)."""

    path: str
    name: str
    line: int
    end: int
    bases: tuple[str, ...] = ()
    fields: dict[str, tuple[str, str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class File:
    """Holds the facts of one file. If it could not be parsed, `broken` is the reason."""

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

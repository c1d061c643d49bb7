"""What the readers say about code: plain picklable records, one per function, class and file."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.analyze.syntax import Param


@dataclass(slots=True)
class Effect:
    """Something a function does to a list of messages or to the content of one."""

    kind: str
    line: int
    subject: str
    likeness: int
    evidence: str
    flow: str = ""
    guards: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    fed: frozenset[str] = frozenset()  # what the new value was made from, see `origins.py`


@dataclass(slots=True)
class Call:
    """One call site: the dotted callee, the names that go in, and what those were made from."""

    callee: str
    line: int
    args: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    fed: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The called function's own name."""
        return self.callee.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """What stands before the called name."""
        return self.callee.rpartition(".")[0]


@dataclass(slots=True)
class Evidence:
    """A line of code that supports one value: a counting method, a storage, a slot."""

    value: str
    line: int
    symbol: str
    why: str


@dataclass(slots=True, frozen=True)
class Part:
    """One part of a list of messages: a slot that the code shows, or where to look further.

    `kind` is slot, param, call or field, and `name` which one; `says` is what its own name suggests, or the evidence of
    a slot; `inner` are the parts that go into a call.
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
    asked: list[Call] = field(default_factory=list)  # calls that only what goes in says are of a model
    effects: list[Effect] = field(default_factory=list)
    guards: list[tuple[str, int]] = field(default_factory=list)
    marks: frozenset[str] = frozenset()
    shape: str = ""
    exceptions: list[str] = field(default_factory=list)
    slots: list[Evidence] = field(default_factory=list)
    returned: frozenset[str] = frozenset()  # what is given back was made from, see `origins.py`
    fates: dict[str, str] = field(default_factory=dict)  # where each parameter ends
    shown: frozenset[str] = frozenset()  # message lists of the object that are given on to someone
    # What goes to a model (by line), comes back, goes into fields and into calls (by line and argument): `parts.py`.
    sent: dict[int, tuple[Part, ...]] = field(default_factory=dict)
    given: tuple[Part, ...] = ()
    filled: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    handed: dict[int, dict[str, tuple[Part, ...]]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Unique within one checkout."""
        return f"{self.path}:{self.symbol}:{self.line}"


@dataclass(slots=True)
class Class:
    """A class: its bases, its fields with their annotations and defaults."""

    path: str
    name: str
    line: int
    end: int
    bases: tuple[str, ...] = ()
    fields: dict[str, tuple[str, str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class File:
    """All facts of one file."""

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
    carriers: frozenset[str] = frozenset()
    dispatched: frozenset[str] = frozenset()  # methods in a table from names to methods

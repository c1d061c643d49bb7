"""Describes the public API as data. It contains every operation with the types of its parameters and result, read by
reflection.

The engine's async classes are the only declaration. The table of HTTP operations (`operations.py`) is derived from it,
and the routes, the OpenAPI document, the remote client and the MCP tools are generated from that table.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec

from ..engine.noun import Noun
from ..scope import OMITTED
from ..values import JsonObject
from .access import Access, access_of


class Parameter(msgspec.Struct, frozen=True):
    """Represents one parameter of an operation."""

    name: str
    type: Any
    written: str
    """This is the type annotation as written in the source."""
    kind: str
    """This is `positional`, `keyword`, `many` (*args) or `fields` (**kwargs)."""
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        """This is True if a caller must pass the parameter."""
        return self.default in (inspect.Parameter.empty, OMITTED) and self.kind in ("positional", "keyword")


class Operation(msgspec.Struct, frozen=True):
    """Represents a public method: `facts.set`, or `recall` on the memory itself."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    result: Any
    written: str
    """This is the annotation of the result as written in the source."""
    doc: str
    awaited: bool
    access: Access
    """This is the access that the method needs. See `memorist.protocol.access`."""

    @property
    def group(self) -> str:
        """This is `facts` for `facts.set`; it is empty for a method of the memory itself."""
        return self.name.rpartition(".")[0]


_KINDS: dict[object, str] = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "many",
    inspect.Parameter.VAR_KEYWORD: "fields",
}


@cache
def operations() -> tuple[Operation, ...]:
    """Return every public method of a memory and of its groups, by name."""
    return tuple(sorted(_reflect_operations(), key=lambda operation: operation.name))


@cache
def by_name() -> dict[str, Operation]:
    """Return the operations as a dict by name."""
    return {operation.name: operation for operation in operations()}


def memory_class() -> type:
    """Return the class whose methods have no group: the public `AsyncMemory`, which is in a layer above this
    package."""
    import memorist

    return memorist.AsyncMemory


@cache
def groups() -> dict[str, type]:
    """Return the groups of a memory by name, with their classes."""
    return {name: noun.noun_type for name, noun in vars(memory_class()).items() if isinstance(noun, Noun)}


def _reflect_operations() -> Iterator[Operation]:
    for name, function in _methods(memory_class()):
        yield _operation(name, function)
    for group, kind in groups().items():
        for name, function in _methods(kind):
            yield _operation(f"{group}.{name}", function)


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name in dir(kind):
        value = getattr(kind, name)
        if not name.startswith("_") and inspect.isfunction(value):
            yield name, value


def _operation(name: str, function: Callable[..., object]) -> Operation:
    hints = typing.get_type_hints(function, localns=_names())
    signature = inspect.signature(function)
    parameters = tuple(
        Parameter(
            parameter.name, hints[parameter.name], str(parameter.annotation), _KINDS[parameter.kind], parameter.default
        )
        for parameter in list(signature.parameters.values())[1:]
    )
    return Operation(
        name,
        function,
        parameters,
        hints["return"],
        str(signature.return_annotation),
        inspect.getdoc(function) or "",
        inspect.iscoroutinefunction(function),
        access_of(name),
    )


@cache
def _names() -> JsonObject:
    """Return the types that are named in annotations but imported only under TYPE_CHECKING."""
    import memorist

    from ..context import given
    from ..context.context import Context
    from ..context.plan import Policy
    from ..engine.core import Core
    from ..exporting.exporting import To
    from ..importing.report import ImportReport

    facades = {"Memory": memorist.Memory, "AsyncMemory": memorist.AsyncMemory, "Core": Core}
    return {**vars(given), "Context": Context, "Policy": Policy, "ImportReport": ImportReport, "To": To, **facades}

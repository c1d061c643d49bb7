"""The nouns that requests are answered by: those of the memory, and working memory without a fixed template."""

from __future__ import annotations

from typing import Any

import msgspec

from ..engine.working import Working, WorkingMemory
from ..memory import AsyncMemory


def noun_of(memory: AsyncMemory, noun: str) -> Any:
    """The attribute of a memory that an operation's method belongs to; the memory itself if the name is empty."""
    if noun == "working":
        return UntypedWorking(memory._core)
    return getattr(memory, noun) if noun else memory


class UntypedWorking(WorkingMemory[Working]):
    """Working memory that keeps fields which `Working` does not have: they belong to a template of the client's, which
    checks them. Documents are returned as dicts."""

    def _checked(self, fields: dict[str, Any]) -> dict[str, Any]:
        own, known = _split(fields)
        return {**super()._checked(known), **own}

    def _typed(self, doc: dict[str, Any]) -> Any:
        own, known = _split(doc)
        return {**msgspec.to_builtins(super()._typed(known)), **own}


def _split(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a client's template, and those of `Working`."""
    own = {name: value for name, value in fields.items() if name not in Working.__struct_fields__}
    return own, {name: value for name, value in fields.items() if name not in own}

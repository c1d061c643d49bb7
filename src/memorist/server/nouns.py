"""Finds the nouns that answer requests: those of the memory, and working memory without a fixed template."""

from __future__ import annotations

from typing import Any

import msgspec

from ..engine.noun import core_of
from ..engine.working import Template, Working, WorkingMemory
from ..memory import AsyncMemory
from ..values import JsonObject


def noun_of(memory: AsyncMemory, noun: str) -> object:
    """Return the attribute of a memory that has an operation's method, or the memory itself if the name is empty."""
    if noun == "working":
        return WorkingMemory(core_of(memory), OpenTemplate(Working))
    return getattr(memory, noun) if noun else memory


class OpenTemplate(Template[Working]):
    """Provides a template that keeps fields that `Working` does not have. They belong to the client's template, which
    checks them. Documents are returned as dicts."""

    def check(self, fields: JsonObject) -> JsonObject:
        own, standard = _split(fields)
        return {**super().check(standard), **own}

    def read(self, doc: JsonObject) -> Any:
        own, standard = _split(doc)
        return {**msgspec.to_builtins(super().read(standard)), **own}


def _split(fields: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return the fields of a client's template, and those of `Working`."""
    own = {name: value for name, value in fields.items() if name not in Working.__struct_fields__}
    return own, {name: value for name, value in fields.items() if name not in own}

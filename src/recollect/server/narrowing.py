"""A request may ask to be seen as less than its key: one user of the org, fewer grants. It can never ask for more.

The remote client sends `memory.scope(user="ada")` so. The narrowing is the engine's own (`Scope.narrow`), which refuses
another org, another user, and grants that the key does not have; another actor than the key's is refused here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from ..errors import Forbidden, InvalidValue, UsageError
from .auth import ApiKey

if TYPE_CHECKING:
    from ..memory import AsyncMemory

NARROWED = "recollect-scope"
"""The header: a JSON object."""
MAX_CHARACTERS = 4000


class Narrowed(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a handle on a server was narrowed to."""

    org: str | None = None
    user: str | None = None
    actor: str | None = None
    read: list[str] | None = None
    write: list[str] | None = None

    def header(self) -> dict[str, str]:
        """The header that says it, in ASCII; none where nothing is narrowed."""
        said = json.dumps(msgspec.to_builtins(self))
        return {} if said == "{}" else {NARROWED: said}


def narrow(memory: AsyncMemory, key: ApiKey, header: str) -> AsyncMemory:
    """The memory as the request asks to see it."""
    if len(header) > MAX_CHARACTERS:
        raise InvalidValue(f"{NARROWED} may have {MAX_CHARACTERS} characters")
    try:
        asked = msgspec.json.decode(header, type=Narrowed)
    except msgspec.DecodeError as wrong:
        raise InvalidValue(f"{NARROWED} is a JSON object with user, read and write: {wrong}") from None
    if asked.actor is not None and asked.actor != key.actor:
        raise Forbidden("the actor is the key's; make a key for another actor")
    if asked.org is not None and asked.org != key.org:
        raise Forbidden("the org is the key's")
    try:
        return memory.scope(user=asked.user, read=asked.read, write=asked.write)
    except UsageError as wider:
        raise Forbidden(str(wider)) from None

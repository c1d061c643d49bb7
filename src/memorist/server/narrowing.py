"""Narrows a request's rights to one user of the org, or to fewer grants, according to its `Memorist-Scope` header. It
never widens them.

The remote client sends the header for `memory.scope(user="ada")`. The engine performs the narrowing (`Scope.narrow`),
and refuses another org, another user, and grants that the key does not have. An actor other than the key's is refused
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..errors import Forbidden, InvalidValue, UsageError
from ..protocol.keys import ApiKey
from ..protocol.narrowing import NARROWED, Narrowed
from .strict_json import strict_json

if TYPE_CHECKING:
    from ..memory import AsyncMemory

MAX_CHARACTERS = 4000


def narrow(memory: AsyncMemory, key: ApiKey, header: str) -> AsyncMemory:
    """Return the memory, narrowed according to the header."""
    if len(header) > MAX_CHARACTERS:
        raise InvalidValue(f"the header {NARROWED} may have at most {MAX_CHARACTERS} characters")
    try:
        narrowed = msgspec.convert(strict_json(header.encode()), Narrowed)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise InvalidValue(f"the header {NARROWED} is a JSON object with user, read and write: {wrong}") from None
    return narrow_to(memory, key, narrowed)


def narrow_to(memory: AsyncMemory, key: ApiKey, asked: Narrowed) -> AsyncMemory:
    """Return the memory with the rights that a request, or one operation of a batch, asks for."""
    if asked.actor is not None and asked.actor != key.actor:
        raise Forbidden("a request cannot change the actor of its key; use a key that was created for that actor")
    if asked.org is not None and asked.org != key.org:
        raise Forbidden("a request cannot change the org of its key; use a key of that org")
    try:
        return memory.scope(user=asked.user, read=asked.read, write=asked.write)
    except UsageError as wider:
        raise Forbidden(str(wider)) from None

"""Represents one request to a server noun: the server, the caller's key, and the memory that the key may access."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...engine.noun import core_of
from ..keys import ApiKey

if TYPE_CHECKING:
    from ...memory import AsyncMemory
    from ...server.app import Server


class Caller(msgspec.Struct, frozen=True):
    """Holds one request: the server, the caller's key, and a memory narrowed to the access rights of that key."""

    server: Server
    key: ApiKey
    memory: AsyncMemory


class ServerNoun:
    """This is the base of the nouns that only a server has."""

    def __init__(self, caller: Caller) -> None:
        self._server, self._key, self._memory = caller.server, caller.key, caller.memory
        self._core = core_of(caller.memory)

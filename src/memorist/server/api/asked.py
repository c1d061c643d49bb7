"""Represents one request to a server noun: the server, the caller's key, and the memory that the key may access."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...engine.core import Core
from ...engine.noun import core_of
from ...protocol.keys import ApiKey

if TYPE_CHECKING:
    from ...memory import AsyncMemory
    from ..app import Server


class Asked(msgspec.Struct, frozen=True):
    """Holds one request: the server, the caller's key, and a memory narrowed to the access rights of that key."""

    server: Server
    key: ApiKey
    memory: AsyncMemory

    @property
    def core(self) -> Core:
        """This is the engine under the memory."""
        return core_of(self.memory)


class ServerNoun:
    """This is the base of the nouns that only a server has."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._key = asked.key

    @property
    def _server(self) -> Server:
        return self._asked.server

    @property
    def _memory(self) -> AsyncMemory:
        return self._asked.memory

    @property
    def _core(self) -> Core:
        return self._asked.core

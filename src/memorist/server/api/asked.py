"""One request to a server noun: the server, the caller's key, and the memory that key may access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ...engine.core import Core
from ...protocol.keys import ApiKey

if TYPE_CHECKING:
    from ...memory import AsyncMemory
    from ..app import Server


class Asked(msgspec.Struct, frozen=True):
    """One request: the server, the caller's key, and a memory narrowed to what that key may access."""

    server: Any
    key: ApiKey
    memory: Any

    @property
    def core(self) -> Core:
        """The engine under the memory."""
        core: Core = self.memory._core
        return core


class ServerNoun:
    """The base of the nouns that only a server has."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._key = asked.key

    @property
    def _server(self) -> Server:
        server: Server = self._asked.server
        return server

    @property
    def _memory(self) -> AsyncMemory:
        memory: AsyncMemory = self._asked.memory
        return memory

    @property
    def _core(self) -> Core:
        return self._asked.core

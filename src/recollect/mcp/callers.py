"""Who calls a tool: a handle on the memory, and what its key may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..server.operations import ROLES, Role

if TYPE_CHECKING:
    from ..memory import AsyncMemory

LOCAL_USER = "me"
"""Whose memory it is where nobody is named: the person at this machine."""


class Caller(msgspec.Struct, frozen=True, eq=False):
    """A handle on the memory, the roles it has, and the user meant where a call names none."""

    memory: AsyncMemory
    user: str
    roles: frozenset[Role]
    id: str = "local"
    """The id of the key, for the log."""

    @property
    def own(self) -> str:
        """The namespace meant where a call names none."""
        return f"user:{self.user}"

    def may(self, role: Role) -> bool:
        """Whether the key has a role; an admin has all."""
        return role in self.roles or "admin" in self.roles


def local_caller(memory: AsyncMemory) -> Caller:
    """The caller on stdio: whoever started the process may do all that its handle may."""
    return Caller(memory, memory.user or LOCAL_USER, frozenset(ROLES))

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
    org: str = "default"

    @property
    def own(self) -> str:
        """The namespace meant where a call names none."""
        return f"user:{self.user}"

    def may(self, role: Role) -> bool:
        """Whether the key has a role; an admin has all."""
        return role in self.roles or "admin" in self.roles


def local_caller(memory: AsyncMemory) -> Caller:
    """The caller on stdio: whoever started the process may do all that its handle may."""
    return Caller(memory, memory.user or LOCAL_USER, frozenset(ROLES), org=memory.org)


class Me(msgspec.Struct, frozen=True):
    """What a server says of a key."""

    user: str | None = None
    roles: tuple[Role, ...] = ()


async def remote_caller(memory: AsyncMemory) -> Caller:
    """The caller where the memory is behind a server: what its key may do, the server says."""
    client = memory._core.shared.client  # type: ignore[attr-defined]  # a handle on a server has one
    answer = await client.send("GET", "/v1/me", query={}, body=None, headers={}, repeatable=True, writes=False)
    me = msgspec.json.decode(answer.body, type=Me)
    return Caller(memory, me.user or LOCAL_USER, frozenset(me.roles), id="remote", org=memory.org)


def is_remote(memory: AsyncMemory) -> bool:
    """Whether a memory is behind a server."""
    return hasattr(memory._core.shared, "client")

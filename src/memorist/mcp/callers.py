"""Represents the caller of a tool, with a narrowed memory and the roles of its key."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from ..agents.projects import Project
from ..engine.noun import core_of
from ..protocol.keys import ROLES, Role

if TYPE_CHECKING:
    from ..memory import AsyncMemory

LOCAL_USER = "me"
"""The user for calls that do not name one, which is the person at this machine."""


Work = Callable[[], Coroutine[object, None, Any]]


async def run_here(work: Work, heavy: bool) -> object:
    """Run a tool on the event loop that called it, without limits, because the caller started the process."""
    return await work()


class Caller(msgspec.Struct, frozen=True, eq=False):
    """Represents a narrowed memory, its roles, and the user for calls that do not name one."""

    memory: AsyncMemory
    user: str
    roles: frozenset[Role]
    id: str = "local"
    """This is the id of the key, for the log."""
    org: str = "default"
    run: Callable[[Work, bool], Coroutine[object, None, Any]] = run_here
    """This function runs work within the limits of the caller's key. The flag says whether the work counts as heavy."""
    project: Project | None = None
    """This is the repository whose notes the caller shares with the hooks of a coding agent."""

    @property
    def own(self) -> str:
        """This is the namespace for calls that do not name one."""
        return f"user:{self.user}"

    @property
    def namespaces(self) -> list[str]:
        """These are the namespaces that an id without a namespace may refer to, in this order."""
        return [self.own] if self.project is None else [self.own, self.project.namespace]

    def may(self, role: Role) -> bool:
        """Return whether the key has a role. An admin has all roles."""
        return role in self.roles or "admin" in self.roles


def local_caller(memory: AsyncMemory, project: Project | None = None) -> Caller:
    """Return the caller on stdio, who started the process and therefore has all roles."""
    return Caller(memory, memory.user or LOCAL_USER, frozenset(ROLES), org=memory.org, project=project)


async def remote_caller(memory: AsyncMemory, project: Project | None = None) -> Caller:
    """Return the caller for a remote memory, with the roles that the server reports for its key."""
    me = await core_of(memory).call("keys.me")  # type: ignore[attr-defined]  # a handle on a server has it
    return Caller(memory, me.user or LOCAL_USER, frozenset(me.roles), id="remote", org=memory.org, project=project)


def is_remote(memory: AsyncMemory) -> bool:
    """Return whether a memory is remote."""
    return hasattr(core_of(memory).shared, "client")

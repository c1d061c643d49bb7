"""API keys: admins manage those of their org, and every key can ask who it is (`me`)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ... import __version__
from ...errors import Forbidden, NotFound
from ...protocol.operations import Role
from ...scope import Actor
from ..auth import ApiKey, NewKey
from .asked import ServerNoun


class _KeyFields(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    org: str
    user: str | None
    actor: Actor
    roles: tuple[Role, ...]
    read: tuple[str, ...]
    write: tuple[str, ...]
    expires_at: datetime | None


class Me(_KeyFields, frozen=True, kw_only=True):
    """The org, user and rights of the key that asks."""

    version: str
    """The version of the server."""


class KnownKey(_KeyFields, frozen=True, kw_only=True):
    """An API key without its secret."""

    note: str
    created_at: datetime
    used_at: datetime | None = None
    """When it was last used, to the minute."""


class KeyRing(ServerNoun):
    """Makes, lists, rotates and revokes the keys of an org."""

    async def me(self) -> Me:
        """The org, user and rights of this key."""
        key, scope = self._key, self._core.scope
        return Me(
            id=key.id, org=scope.org, user=scope.user, actor=key.actor, roles=key.roles, read=scope.read,
            write=scope.write, expires_at=key.expires_at, version=__version__,
        )  # fmt: skip

    async def create(
        self,
        user: str | None = None,
        actor: Actor = "user",
        roles: list[Role] | None = None,
        read: list[str] | None = None,
        write: list[str] | None = None,
        note: str = "",
        ttl: float | None = None,
    ) -> NewKey:
        """Create a key of this org; the answer is the only place where its secret is shown."""
        self._whole_org()
        return await self._server.keys.create(
            org=self._key.org, user=user, actor=actor, roles=("reader", "writer") if roles is None else roles,
            read=read or (), write=write or (), note=note, ttl=ttl,
        )  # fmt: skip

    async def rotate(self, id: str) -> NewKey:
        """Replace the secret of a key; the old one ends at once here, and within 30 seconds on other servers."""
        await self._own(id)
        return await self._server.keys.rotate(id)

    async def revoke(self, id: str) -> bool:
        """Revoke a key, and end the browser sessions opened with it."""
        await self._own(id)
        return await self._server.keys.revoke(id)

    async def _own(self, id: str) -> ApiKey:
        self._whole_org()
        found = next((one for one in await self._server.keys.list() if one.id == id), None)
        if found is None or found.org != self._key.org:
            raise NotFound("there is no such key")
        return found

    def _whole_org(self) -> None:
        # A user's key could otherwise create one for another user or for the whole org: privilege escalation.
        if self._core.scope.user is not None:
            raise Forbidden("only a key for the whole org can manage keys; this one is a user's")

    async def list(self) -> list[KnownKey]:
        """The keys of this org, without their secrets."""
        self._whole_org()
        own = [one for one in await self._server.keys.list() if one.org == self._key.org]
        return [_known(one, self._server.keys.used_at(one.id)) for one in own]


def _known(key: ApiKey, used_at: datetime | None) -> KnownKey:
    fields = {name: getattr(key, name) for name in KnownKey.__struct_fields__ if name != "used_at"}
    return KnownKey(**fields, used_at=used_at)

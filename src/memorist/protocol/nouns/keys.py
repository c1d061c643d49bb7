"""Manages API keys. Admins manage the keys of their org, and every key can request its own details (`me`)."""

from __future__ import annotations

from datetime import datetime

from ... import __version__
from ...errors import Forbidden, NotFound
from ...scope import Actor
from ..keys import ApiKey, NewKey, Role
from ..server_nouns import KnownKey, Me
from .caller import ServerNoun


class KeyRing(ServerNoun):
    """Creates, lists, rotates and revokes the keys of an org."""

    async def me(self) -> Me:
        """Return the org, user and rights of this key."""
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
        """Create a key for this org. Only the answer shows its secret."""
        self._whole_org()
        return await self._server.keys.create(
            org=self._key.org, user=user, actor=actor, roles=("reader", "writer") if roles is None else roles,
            read=read or (), write=write or (), note=note, ttl=ttl,
        )  # fmt: skip

    async def rotate(self, id: str) -> NewKey:
        """Replace the secret of a key.

        The old secret stops working immediately on this server, and within 30 seconds on others.
        """
        await self._own(id)
        return await self._server.keys.rotate(id)

    async def revoke(self, id: str) -> bool:
        """Revoke a key, and end the browser sessions opened with it."""
        await self._own(id)
        return await self._server.keys.revoke(id)

    async def _own(self, id: str) -> ApiKey:
        self._whole_org()
        api_key = next((other for other in await self._server.keys.list() if other.id == id), None)
        if api_key is None or api_key.org != self._key.org:
            raise NotFound("there is no such key")
        return api_key

    def _whole_org(self) -> None:
        # Otherwise, a user's key could create a key for another user or for the whole org (privilege escalation).
        if self._core.scope.user is not None:
            raise Forbidden("only a key for the whole org can manage keys; this one is a user's")

    async def list(self) -> list[KnownKey]:
        """Return the keys of this org, without their secrets."""
        self._whole_org()
        own = [api_key for api_key in await self._server.keys.list() if api_key.org == self._key.org]
        return [_described(api_key, self._server.keys.used_at(api_key.id)) for api_key in own]


def _described(key: ApiKey, used_at: datetime | None) -> KnownKey:
    fields = {name: getattr(key, name) for name in KnownKey.__struct_fields__ if name != "used_at"}
    return KnownKey(**fields, used_at=used_at)

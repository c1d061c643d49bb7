"""Manages API keys. Each key has an org, optionally a user, and roles. A key is shown once, and only its SHA-256 is
stored.

A key has the form `rk_<id>_<secret>`. The id identifies the row, and the secret (256 random bits) is compared in
constant time. Org, user, actor and grants come from the key and never from a request. Keys are records in a separate
org.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from ..errors import NotFound, UsageError
from ..protocol.keys import KEYS_ORG, ROLES, ApiKey, NewKey, Role, Unauthorized
from ..scope import Actor, check_actor

if TYPE_CHECKING:
    from ..memory import AsyncMemory

CACHED_SECONDS = 30.0
"""The time for which other processes may still accept a revoked key, because they cache keys."""
MAX_CACHED_KEYS = 10_000
MAX_TTL_SECONDS = 100 * 366 * 86_400


class Keys:
    """Creates, lists, checks, rotates and revokes keys."""

    def __init__(self, memory: AsyncMemory) -> None:
        """Use a `memory` that can access every org."""
        self._records = memory.scope(org=KEYS_ORG).records
        self._cache: dict[str, tuple[float, ApiKey]] = {}
        self._changes = 0
        self._used: dict[str, float] = {}
        self._secret: bytes | None = None

    async def secret(self) -> bytes:
        """Return a random secret that all servers on this store share, so that one server can verify another's
        signatures."""
        if self._secret is None:
            # With `absent`, the first server to get here stores its secret, and all others read it.
            row = await self._records.put("global", ("secret",), secrets.token_bytes(32), absent=True)
            self._secret = bytes(row.data)
        return self._secret

    def used_at(self, id: str) -> datetime | None:
        """Return the time, to the minute, at which this process last saw the key used."""
        used = self._used.get(id)
        return None if used is None else datetime.fromtimestamp(used // 60 * 60, UTC)

    async def create(
        self,
        *,
        org: str = "default",
        user: str | None = None,
        actor: Actor = "user",
        roles: Iterable[str] = ("reader", "writer"),
        read: Iterable[str] = (),
        write: Iterable[str] = (),
        note: str = "",
        ttl: float | timedelta | None = None,
    ) -> NewKey:
        """Create a key. Only the returned record contains its secret."""
        checked = _roles(roles)
        if org == KEYS_ORG:
            raise UsageError("no key can be created for the org that contains the keys")
        check_actor(actor)
        id, secret = secrets.token_hex(6), _token()
        seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
        if seconds is not None and not 0 < seconds <= MAX_TTL_SECONDS:
            raise UsageError("a key must be valid for more than 0 seconds and at most a hundred years")
        now = datetime.now(UTC)
        key = ApiKey(
            id=id, digest=_digest(secret), org=org, user=user, actor=actor, roles=checked, read=tuple(read),
            write=tuple(write), note=note, created_at=now,
            expires_at=None if seconds is None else now + timedelta(seconds=seconds),
        )  # fmt: skip
        await self._records.put("global", ("key", id), msgspec.to_builtins(key), absent=True)
        return _shown(key, secret)

    async def list(self) -> list[ApiKey]:
        """List all keys, without their secrets."""
        return [_read(row.data) for row in await self._records.scan("global", ("key",))]

    async def rotate(self, id: str) -> NewKey:
        """Replace the secret of a key. The old one is invalid immediately."""
        row = await self._records.get("global", ("key", id))
        if row is None:
            raise NotFound(f"no key {id!r}")
        secret = _token()
        key = msgspec.structs.replace(_read(row.data), digest=_digest(secret))
        try:
            await self._records.put("global", ("key", id), msgspec.to_builtins(key), expect=row.version)
        finally:
            self._drop(id)
        return _shown(key, secret)

    async def revoke(self, id: str) -> bool:
        """Delete a key, and return whether it existed."""
        try:
            return await self._records.delete("global", ("key", id))
        finally:
            self._drop(id)

    async def any(self) -> bool:
        """Return whether there is at least one key."""
        return bool(await self._records.scan("global", ("key",), limit=1, keys_only=True))

    async def check(self, header: str | None) -> ApiKey:
        """Verify an Authorization header. Unauthorized has the same message whatever the problem is."""
        scheme, _, text = (header or "").partition(" ")
        prefix, _, rest = text.strip().partition("_")
        id, _, secret = rest.partition("_")
        if scheme.lower() != "bearer" or prefix != "rk" or not secret or not id.isalnum() or len(id) > 64:
            raise Unauthorized("a valid key is needed: Authorization: Bearer rk_…")
        key = await self.find(id)
        # Compare even if there is no such key, so that the response time does not reveal which ids exist.
        matches = hmac.compare_digest(key.digest if key else b"\0" * 32, _digest(secret))
        if key is None or not matches:
            raise Unauthorized("a valid key is needed: Authorization: Bearer rk_…")
        # In RAM only: a write per request would cost more than most requests.
        self._used[id] = time.time()
        return key

    async def find(self, id: str) -> ApiKey | None:
        """Return the unexpired key with this id, or None.

        It is cached, so a change made by another process is noticed within 30 seconds.
        """
        key = await self._load(id)
        return None if key is None or key.expired(datetime.now(UTC)) else key

    async def _load(self, id: str) -> ApiKey | None:
        now = time.monotonic()
        cached = self._cache.get(id)
        if cached is not None and cached[0] > now:
            return cached[1]
        changes = self._changes
        row = await self._records.get("global", ("key", id))
        if row is None:
            self._cache.pop(id, None)
            return None
        key = _read(row.data)
        if changes != self._changes:
            return key
        if len(self._cache) >= MAX_CACHED_KEYS:
            self._cache.clear()
        self._cache[id] = (now + CACHED_SECONDS, key)
        return key

    def _drop(self, id: str) -> None:
        # A request may have read the row before it changed. The count keeps it from caching what it read.
        self._changes += 1
        self._cache.pop(id, None)


def _token() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=").replace("_", "~")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _read(data: object) -> ApiKey:
    return msgspec.convert(data, ApiKey)


def _shown(key: ApiKey, secret: str) -> NewKey:
    return NewKey(
        key=f"rk_{key.id}_{secret}", id=key.id, org=key.org, user=key.user, actor=key.actor, roles=key.roles,
        expires_at=key.expires_at,
    )  # fmt: skip


def _roles(roles: Iterable[str]) -> tuple[Role, ...]:
    listed = [roles] if isinstance(roles, str) else [*roles]
    unknown = [role for role in listed if role not in ROLES]
    if unknown or not listed:
        raise UsageError(f"roles are {', '.join(ROLES)}")
    return tuple(role for role in ROLES if role in listed)

"""Represents API keys as data, which determine who sent a request and with which rights."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from ..errors import Forbidden, MemoristError, StoreUnavailable
from ..scope import Actor

KEYS_ORG = "memorist.keys"
"""The org that contains the keys as records. No key can be created for it."""
Role = Literal["reader", "writer", "forget", "operator", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "forget", "operator", "admin")


class Limited(StoreUnavailable):
    """Raised with status 429 if a key has sent too many requests."""


class Unauthorized(MemoristError):
    """Raised if the request has no valid key."""


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a stored key with all its properties and the digest of its secret, but not the secret itself."""

    id: str
    digest: bytes
    org: str
    user: str | None = None
    actor: Actor = "user"
    roles: tuple[Role, ...] = ("reader", "writer")
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    note: str = ""
    created_at: datetime
    expires_at: datetime | None = None

    def expired(self, now: datetime) -> bool:
        """Return whether the key has expired."""
        return self.expires_at is not None and self.expires_at <= now

    def check(self, role: Role) -> None:
        """Raise Forbidden unless the key has a role; `admin` includes all roles."""
        if role not in self.roles and "admin" not in self.roles:
            raise Forbidden(f"this key lacks the role {role}; it has {', '.join(self.roles)}")


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a new key with its secret, which is shown only here."""

    key: str
    id: str
    org: str
    user: str | None = None
    actor: Actor = "user"
    roles: tuple[Role, ...] = ()
    expires_at: datetime | None = None

"""Defines the records that the nouns of a server (`nouns/`) accept and return."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from ..context.context import Context
from ..engine.forgetting.forget import Erasure
from ..engine.watching import Notice
from ..recall.hit import Hit
from ..scope import Actor
from ..values import JsonObject
from .keys import Role
from .narrowing import Narrowed

Keep = int | Literal["all", "latest"]


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
    """Holds the org, user and rights of the caller's key."""

    version: str
    """This is the version of the server."""


class KnownKey(_KeyFields, frozen=True, kw_only=True):
    """Describes an API key without its secret."""

    note: str
    created_at: datetime
    used_at: datetime | None = None
    """This is when the key was last used, to the minute."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents one operation of a batch: its name, such as `facts.set`, and its arguments by name."""

    operation: str
    arguments: JsonObject = {}
    scope: Narrowed | None = None
    """Narrows the rights of this operation only, like the header `Memorist-Scope` those of a request."""


class Committed(msgspec.Struct, frozen=True):
    """Holds the result of a batch."""

    count: int
    results: list[Any]
    """This is the result of each operation, in order. The commit assigns sequence numbers, so they are not included
    yet."""
    replayed: bool = False
    """This is True if the idempotency key had been used before, so nothing was done this time."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a task whose lease a client holds, with the fencing token (`fence`) that its later requests must
    send."""

    task_id: str
    ns: str
    step: int
    fence: int
    owner: str | None
    leased_until: datetime | None
    version: int
    state: Any = None
    """This is sent only when the lease is acquired."""
    completed: tuple[str, ...] = ()
    """These are the completed subtasks. They are sent only when the lease is acquired."""
    saved: bool = False
    """This is True if the task has a saved state."""


class EntityView(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a cached entity and its state."""

    value: Any = None
    fresh: bool = False
    """This is True if the value has not expired."""
    stale: bool = False
    """This is True if there is a value but it has expired."""
    leased: bool = False
    """This is True if a client is currently loading it."""
    owner: str | None = None
    """This is the lease's token, to be sent with `keep` or `give_back`. Only the client that acquired the lease
    receives it."""
    version: int = 0


class Carried(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the memory recalled for a user's message, as `context` returned it, with the server's signature."""

    place: int
    """This is the index of the message in the turn."""
    kept: JsonObject
    proof: str
    """This is the HMAC that `context` returned with it."""


class SessionContext(msgspec.Struct, frozen=True):
    """Represents a context and the recalled memory to send back with its turn."""

    context: Context
    kept: JsonObject | None
    proof: str
    """This is an HMAC of `kept`, so that a client cannot store other memory with a message."""


class MadeFrom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes the sources of an output, as `recall` returned them. The client sends it back with the output."""

    since: str
    """This is the time when the recall began, by the server's clock. If a source has been forgotten since then, no fact
    is stored."""
    sources: list[str] = []
    trust: str | None = None
    """This is the lowest trust of the sources. It can lower the trust of the output, but never raise it."""


class Recalled(msgspec.Struct, frozen=True):
    """Contains the memories that a function receives, and the sources of its output."""

    hits: list[Hit]
    made: MadeFrom


class RememberAs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes the fact in which an output is stored."""

    namespace: str
    key: str
    ttl: float | None = None
    confidence: float = 1.0


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """Contains a preview with the code that confirms it, or (if `done`) the report on the deletion."""

    erasure: Erasure
    code: str | None = None
    """Send the same request again with this code within five minutes."""
    done: bool


class Checkout(msgspec.Struct, frozen=True):
    """Describes a folder that can be analysed, and whether a report on it exists."""

    name: str
    analysed: bool


class Watched(msgspec.Struct, frozen=True):
    """Holds the changes and the cursor (`seen`) to send with the next request."""

    notices: list[Notice]
    seen: dict[str, int]

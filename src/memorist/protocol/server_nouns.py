"""Declares the nouns that only a server has, which a client needs in addition to the methods of a memory.

`server/api/` implements them. The table of operations, the client and the OpenAPI document read their signatures here,
so that none of them imports the server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec

from ..context.context import Context
from ..engine.entities import ENTITY_TTL_SECONDS
from ..engine.forgetting.forget import Erasure
from ..engine.portable import Transfer
from ..engine.sessions.inject import TASK_HITS
from ..engine.sessions.session import Ended
from ..engine.threads.receipts import MessageReceipt
from ..engine.watching import Notice
from ..importing.report import ImportReport
from ..recall.hit import Hit
from ..records import Summary
from ..scope import Actor
from ..values import JsonObject
from .keys import NewKey, Role

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


class KeyRing(Protocol):
    """Creates, lists, rotates and revokes the keys of an org."""

    async def me(self) -> Me:
        """Return the org, user and rights of this key."""

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

    async def rotate(self, id: str) -> NewKey:
        """Replace the secret of a key.

        The old secret stops working immediately on this server, and within 30 seconds on others.
        """

    async def revoke(self, id: str) -> bool:
        """Revoke a key, and end the browser sessions opened with it."""

    async def list(self) -> list[KnownKey]:
        """Return the keys of this org, without their secrets."""


class Batches(Protocol):
    """Commits several writes in one transaction."""

    async def commit(self, operations: list[Step]) -> Committed:
        """Commit several writes in one transaction. If one fails, nothing is committed."""

    async def read(self, operations: list[Step], last: Step) -> Any:
        """Return the result of the operation `last` as if these writes were committed, without committing anything."""


class Leases(Protocol):
    """Acquires, renews and releases task leases, and saves steps under them."""

    async def take(
        self, task_id: str, owner: str, ns: str | None = None, lease: float = 60.0, keep: Keep | None = None
    ) -> Held:
        """Acquire the lease on a task and return its state. Returns 409 while another worker holds it.

        `owner` is a token chosen by the caller, unique to this run.
        """

    async def renew(self, task_id: str, owner: str, fence: int, lease: float = 60.0) -> Held:
        """Renew the lease without saving."""

    async def release(self, task_id: str, owner: str, fence: int) -> bool:
        """Release the lease after a failure. Nothing is saved, and another worker can continue immediately."""

    async def save(
        self,
        task_id: str,
        owner: str,
        fence: int,
        step: int,
        done: list[str] | None = None,
        state: Any = msgspec.UNSET,
        update: JsonObject | None = None,
        extend: dict[str, list[Any]] | None = None,
        effects: list[Step] | None = None,
        finish: bool = False,
        lease: float = 60.0,
        keep: Keep | None = None,
    ) -> Held:
        """Save a step and commit its effects (other writes) in one transaction. `finish` ends the task and its lease.

        Instead of sending a whole `state`, you can set top-level keys with `update` and append to top-level lists with
        `extend`.
        """


class EntityCache(Protocol):
    """Implements a read-through cache whose loads are coordinated by leases."""

    async def look(self, type: str, id: str) -> EntityView | None:
        """Return the cached entity, whether fresh or stale."""

    async def lease(self, type: str, id: str) -> EntityView:
        """Acquire the lease to load an entity. `owner` is set if you acquired it; otherwise, try again in a moment."""

    async def keep(
        self, type: str, id: str, owner: str, value: Any = None, ttl: float = ENTITY_TTL_SECONDS, stale: float = 0
    ) -> bool:
        """Store a value loaded under a lease. Returns False if the entity is no longer cached."""

    async def give_back(self, type: str, id: str, owner: str) -> bool:
        """Release a lease after a failed load. Returns False if the entity is no longer cached."""

    async def invalidate(self, type: str, id: str | None = None) -> int:
        """Remove one entity, or all entities of a type, and return how many were removed."""


class Turns(Protocol):
    """Stores session turns and builds their requests."""

    async def add(
        self,
        id: str,
        messages: list[str | JsonObject],
        session: str,
        number: int,
        keep: bool = True,
        key: str | None = None,
        carried: Carried | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> list[MessageReceipt]:
        """Append a turn to the thread, which is created if it does not exist. `number` counts the turns of the session.

        A new thread belongs to the `user` if there is one, otherwise to the `agent`, and otherwise to everyone
        (`global`). The call is idempotent, because session and number form its key. With `keep=false`, no facts or
        learnings are derived from it.
        """

    async def context(
        self,
        input: str | JsonObject | list[str | JsonObject] | None,
        id: str | None = None,
        system: str | JsonObject | list[str | JsonObject] | None = None,
        tools: list[JsonObject] | None = None,
        budget: int | str | JsonObject = 8000,
        policy: JsonObject | None = None,
        recall: bool | str | list[str | JsonObject] | JsonObject | None = True,
        scratchpad: Any = None,
        layout: Literal["standard", "cached"] = "cached",
        compact_at: float = 0.9,
        compact_to: float = 0.5,
        stash: int | None = None,
        pinned_tools: list[str] | None = None,
        earlier_tools: list[str] | None = None,
        profile: bool = True,
    ) -> SessionContext:
        """Assemble the request for the next input. A thread that has outgrown its room is summarised (folded) first.

        Without an `id`, this is the first request of a session whose thread has not been written yet.
        """

    async def fold(self, id: str, room_tokens: int, compact_at: float = 0.8, compact_to: float = 0.5) -> Summary | None:
        """Summarise (fold) a thread's oldest messages once history uses more than `compact_at` of the room."""

    async def end(self, id: str, session: str, turns: int = 0, persisted: int = 0) -> Ended:
        """End a session: archive it as a summary and extract facts and learnings."""


class Functions(Protocol):
    """Provides memory to functions that run on clients."""

    async def recall(
        self,
        query: str,
        namespaces: str | list[str] | None = None,
        top_k: int = TASK_HITS,
        kinds: list[str] | None = None,
        min_score: float | None = None,
        where: JsonObject | None = None,
    ) -> Recalled:
        """Recall memories for a function. Send `made` from the answer together with the function's output, so that the
        output can be traced and forgotten.
        """

    async def keep(
        self,
        value: Any,
        said: str,
        asked: str = "",
        remember: RememberAs | None = None,
        thread: str | None = None,
        made: MadeFrom | None = None,
    ) -> bool:
        """Store a function's output as a fact, and the exchange in a thread, in one commit, with all their sources.

        Returns False if no fact was stored because one of its sources was forgotten in the meantime.
        """


class Erasing(Protocol):
    """Forgets after a confirmation."""

    async def forget(
        self,
        user: str | None = None,
        thread: str | None = None,
        message: str | None = None,
        fact: str | None = None,
        source: str | None = None,
        physical: bool = False,
        shred: bool = False,
        code: str | None = None,
    ) -> Forgetting:
        """Forget one item and everything derived from it. Without a code, items are only counted, and a code is
        returned.

        The code can be used once within five minutes, for this key and this target. `physical` also removes the bytes
        from the store's files, which needs the operator role. `shred` also destroys the key of an encrypted user.
        """


class OutboxOf(Protocol):
    """Waits for the outbox."""

    async def wait(self, ids: list[str], timeout: float = 0.0) -> list[MessageReceipt]:
        """Wait up to `timeout` seconds (30 at most) until messages are indexed and processed, and return their
        receipts.
        """


class Transfers(Protocol):
    """Exports and imports an org."""

    async def export(self) -> AsyncIterator[bytes]:
        """Stream every row of this org as JSON lines. The last line contains the number of rows."""

    async def import_(self, request: Any) -> Transfer:
        """Load JSON lines that an export wrote. If a line is damaged, the error names it and nothing is written.

        The upload is buffered in a temporary file, so that everything is checked before anything is written.
        """

    async def import_from(
        self,
        name: str,
        kind: str = "auto",
        namespace: str | None = None,
        users: dict[str, str] | None = None,
        mapping: JsonObject | None = None,
        source: str | None = None,
        dry_run: bool = False,
        strict: bool = False,
        request: Any = None,
    ) -> ImportReport:
        """Import a file from another tool. The file is sent as the body, and `name` is its file name."""


class EventStream(Protocol):
    """Streams the events of an org."""

    async def follow(self, names: str = "", request: Any = None) -> AsyncIterator[bytes]:
        """Stream the events of this org as server-sent events, which contain ids and sizes but no content.

        `names` is a comma-separated list of the events to send. A client that reconnects with `Last-Event-ID` gets the
        events it missed, or a `missed` event if they are no longer buffered; it should then read its data again.
        """


class Analyses(Protocol):
    """Runs the analyser, and stores its reports as records of the org."""

    async def run(self, name: str) -> JsonObject:
        """Analyse one of the folders passed to `memorist serve --analyze`, and store the report."""

    async def get(self, name: str) -> JsonObject | None:
        """Return the last report on a folder."""

    async def list(self) -> list[Checkout]:
        """Return the folders that can be analysed, and whether a report on each exists."""


class Watching(Protocol):
    """Follows changes made by any process. A notice names the kind of record and the namespace."""

    async def look(
        self,
        seen: dict[str, int] | None = None,
        namespaces: list[str] | None = None,
        kinds: list[str] | None = None,
        timeout: float = 0.0,
    ) -> Watched:
        """Return the changes since the cursor `seen`, waiting up to `timeout` seconds (20 at most) for one.

        Without `seen`, it returns an initial cursor. If the next request comes within a minute, no change is missed.
        """


SERVER_NOUNS: Mapping[str, type] = {
    "keys": KeyRing,
    "batches": Batches,
    "leases": Leases,
    "entity_cache": EntityCache,
    "turns": Turns,
    "functions": Functions,
    "erasing": Erasing,
    "outbox": OutboxOf,
    "transfers": Transfers,
    "stream": EventStream,
    "analyses": Analyses,
    "watching": Watching,
}
"""The declarations by the name of the noun."""
